# nginx stops while requests wait for Redis, or runs out of connections.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Gateway;
use Http;
use Time::HiRes qw(time);
use Wait qw(wait_until free_port);

my $plans = 'plan much 1000000r/d;';
# The worker serves granted requests itself: an upstream in the same nginx would stop with it.
my $server = 'location = /status { stub_status; } location = /tollgate { tollgate_status; } location = /gif { tollgate api; empty_gif; }';

sub start_gateway {
    my $gateway = Gateway->start(plans => $plans, table => 'lease=off', server => $server, @_);
    $gateway->import_key('k', id => 'k1', plan => 'much');
    return $gateway;
}

# Sends so many requests that wait for Redis, which is stalled.
sub waiting_requests {
    my ($gateway, $count) = @_;
    my $waiting = sub { Http::http_get($gateway, '/status')->body =~ /Writing: (\d+)/ ? $1 - 1 : die };
    my @clients = map { Http->connect($gateway) } 1 .. $count;
    $_->send(Http::format_request('GET', '/gif', { Authorization => 'Bearer k' })) for @clients;
    wait_until('all to wait', sub { $waiting->() == $count });
    return @clients;
}

sub statuses { my %status; $status{ $_->response->status }++ for @_; return \%status }

# Sends the signal and does not wait.
sub quit { kill QUIT => $_[0]->nginx->pid }

# Fails if the worker does not exit, and lets the other subtests run. nginx->stop ends it later.
sub gone {
    my ($pid) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok(eval { wait_until("process $pid to end", sub { !kill 0 => $pid }); 1 }, 'the worker ends') || diag($@);
}

my $pause = sub { $_[0]->redis->cmd('CLIENT', 'PAUSE', 60_000, 'WRITE') };
my $unpause = sub { $_[0]->redis->cmd('CLIENT', 'UNPAUSE') };

subtest 'a graceful shutdown waits for Redis' => sub {
    my $gateway = start_gateway(redis => 'timeout 30s;');
    my ($worker) = $gateway->nginx->workers;
    $pause->($gateway);
    my @clients = waiting_requests($gateway, 20);
    quit($gateway);
    wait_until('the end to have begun', sub { $gateway->nginx->error_log =~ /gracefully shutting down/ });
    $unpause->($gateway);
    is_deeply(statuses(@clients), { 200 => 20 }, 'all that waited are answered');
    is($gateway->count('k1', 'api', 86400), 20, 'each is counted once');
    my $start = time;
    gone($worker);
    cmp_ok(time - $start, '<', 15, 'the worker ends long before the timeout');
    $gateway->nginx->stop;
};

subtest 'a reload waits for Redis' => sub {
    my $gateway = start_gateway(redis => 'timeout 30s;');
    my ($worker) = $gateway->nginx->workers;
    $pause->($gateway);
    my @clients = waiting_requests($gateway, 20);
    $gateway->nginx->reload;
    $unpause->($gateway);
    is_deeply(statuses(@clients), { 200 => 20 }, 'all that waited are answered');
    is($gateway->get('/', 'k')->status, 200, 'a request to the new worker is granted');
    is($gateway->count('k1', 'api', 86400), 21, 'each is counted once');
    gone($worker);
    $gateway->nginx->stop;
};

subtest 'a graceful shutdown waits at most the timeout' => sub {
    my $gateway = start_gateway(redis => 'timeout 1s;');
    my ($worker) = $gateway->nginx->workers;
    $pause->($gateway);
    my $start = time;
    my @clients = waiting_requests($gateway, 20);
    quit($gateway);
    is_deeply(statuses(@clients), { 503 => 20 }, 'all that waited are refused');
    # A stall of the worker extends the wait once: see deadline.hpp.
    cmp_ok(time - $start, '<', 3, 'within the timeout, twice at most, and a second');
    gone($worker);
    $gateway->nginx->stop;
};

for my $how (qw(quit reload)) {
    subtest "a worker that shuts down ($how) does not wait for the calls of requests that have ended" => sub {
        my $gateway = start_gateway(redis => 'timeout 30s;');
        my ($worker) = $gateway->nginx->workers;
        $pause->($gateway);
        my @clients = waiting_requests($gateway, 3);
        $how eq 'quit' ? quit($gateway) : $gateway->nginx->reload;
        wait_until('the end to have begun', sub { $gateway->nginx->error_log =~ /gracefully shutting down/ });
        $_->close for @clients;
        my $start = time;
        gone($worker);
        cmp_ok(time - $start, '<', 10, 'the worker ends long before the timeout');
        $unpause->($gateway);
        $gateway->nginx->stop;
    };
}

# Gets a lease, and returns how many requests were granted.
sub with_lease {
    my ($gateway, $seconds) = @_;
    my $granted = 0;
    wait_until('a lease', sub {
        # Several at once: a key with few requests gets no lease.
        my @clients = map { Http->connect($gateway) } 1 .. 8;
        $_->send(Http::format_request('GET', '/gif', { Authorization => 'Bearer k' })) for @clients;
        $granted += statuses(@clients)->{200} // 0;
        return ($gateway->count('k1', 'api', 86400) // 0) > $granted;
    }, $seconds);
    return $granted;
}

subtest 'a graceful shutdown returns leases at once' => sub {
    for my $round (1 .. 3) {
        my $gateway = start_gateway(table => '', redis => 'timeout 10s;');
        my $granted = with_lease($gateway);
        my ($worker) = $gateway->nginx->workers;
        quit($gateway);
        my $start = time;
        gone($worker);
        cmp_ok(time - $start, '<', 2, 'the worker ends soon');
        is($gateway->count('k1', 'api', 86400), $granted, 'Redis counts what was granted, and no lease');
        $gateway->nginx->stop;
    }
};

# Events that a worker posts when its shutdown begins run after timers. With a timeout this short, a command that also
# waits would time out before it is sent.
subtest 'a graceful shutdown returns leases before any timer' => sub {
    my ($gateway, $granted);
    # On a busy machine, commands time out and may be counted twice. So each attempt uses a new gateway.
    my $found = eval { wait_until('a lease, and no timeout', sub {
        $gateway = start_gateway(table => '', redis => 'timeout 5ms;');
        $granted = eval { with_lease($gateway, 2) } // return 0;
        my ($main) = @{ $gateway->get('/tollgate')->json->{redis} };
        return $gateway->count('k1', 'api', 86400) > $granted + 1 && !$main->{errors} && !$main->{quota_decisions}{alone};
    }, 15) };
    plan skip_all => 'this machine is too busy for a timeout of 5 ms' unless $found;
    my ($worker) = $gateway->nginx->workers;
    quit($gateway);
    gone($worker);
    is($gateway->count('k1', 'api', 86400), $granted, 'Redis counts what was granted, and no lease');
    $gateway->nginx->stop;
};

subtest 'a graceful shutdown without Redis' => sub {
    my $gateway = start_gateway();
    $gateway->redis->kill;
    is($gateway->get('/', 'k')->status, 503, 'refused');
    my ($worker) = $gateway->nginx->workers;
    quit($gateway);
    gone($worker);
    $gateway->nginx->stop;
};

for my $error (qw(OOM READONLY)) {
    subtest "a graceful shutdown with an error of Redis: $error" => sub {
        my $gateway = start_gateway(table => '');
        with_lease($gateway);
        my ($worker) = $gateway->nginx->workers;
        if ($error eq 'OOM') {
            $gateway->redis->cmd('CONFIG', 'SET', 'maxmemory', 1);
        } else {
            $gateway->redis->cmd('REPLICAOF', '127.0.0.1', free_port());
        }
        is($gateway->get('/gif', 'k')->status, 200, 'granted alone, which Redis is to be told') for 1 .. 20;
        quit($gateway);
        gone($worker);
        $gateway->nginx->stop;
    };
}

subtest 'worker_shutdown_timeout cuts the wait short' => sub {
    my $gateway = start_gateway(redis => 'timeout 60s;', main => 'worker_shutdown_timeout 200ms;');
    my ($worker) = $gateway->nginx->workers;
    $pause->($gateway);
    my @clients = waiting_requests($gateway, 20);
    quit($gateway);
    my @ended = grep { eval { $_->closed } } @clients;
    is(scalar(@ended), 20, 'all connections are closed');
    gone($worker);
    $gateway->nginx->stop;
};

for my $signal (qw(TERM INT)) {
    for my $known (0, 1) {
        my $which = $known ? 'known' : 'unknown';
        subtest "$signal while requests of $which keys wait" => sub {
            my $gateway = start_gateway(redis => 'timeout 60s;', workers => 2);
            if ($known) {
                $gateway->get('/gif', 'k') for 1 .. 8;
            }
            my @workers = $gateway->nginx->workers;
            $pause->($gateway);
            my @clients = waiting_requests($gateway, 20);
            kill $signal => $gateway->nginx->pid;
            gone($_) for @workers;
            $gateway->nginx->stop;
        };
    }

    subtest "$signal under load" => sub {
        for my $round (1 .. 3) {
            my $gateway = start_gateway(workers => 2);
            my @workers = $gateway->nginx->workers;
            my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 16, path => '/gif', token => 'k');
            wait_until('requests', sub { ($gateway->count('k1', 'api', 86400) // 0) > 100 });
            kill $signal => $gateway->nginx->pid;
            gone($_) for @workers;
            eval { $load->finish };    # its connections are refused at the end
            $gateway->nginx->stop;
        }
    };

    subtest "$signal in one process" => sub {
        my $gateway = start_gateway(redis => 'timeout 60s;', main => 'master_process off;', workers => 0);
        $gateway->get('/gif', 'k') for 1 .. 4;
        $pause->($gateway);
        my @clients = waiting_requests($gateway, 20);
        my $pid_file = $gateway->nginx->dir . '/nginx.pid';
        ok(-e $pid_file, 'it runs');
        kill $signal => $gateway->nginx->pid;
        $gateway->nginx->stop;
        ok(!-e $pid_file, 'it has stopped normally: its pid file is gone');
    };
}

subtest 'no connections left' => sub {
    my $gateway = start_gateway(
        redis  => 'timeout 5s;',
        events => 'worker_connections 16;',
        http   => 'keepalive_timeout 0;',
        expect => qr/worker_connections are not enough/,
    );
    my ($worker) = $gateway->nginx->workers;
    is($gateway->get('/', 'k')->status, 200, 'served');
    # Idle clients take all connections. The connection to Redis is lost meanwhile, and there is none left for a new
    # one.
    my @idle = map { Http->connect($gateway) } 1 .. 40;
    $gateway->redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    wait_until('a lack of connections', sub { $gateway->nginx->error_log =~ /worker_connections are not enough/ });
    $_->close for @idle;
    wait_until('service', sub { eval { $gateway->get('/', 'k')->status == 200 } });
    pass('served again after they are closed');
    is_deeply([$gateway->nginx->workers], [$worker], 'by the same worker');
    $gateway->nginx->stop;
};

done_testing;
