# Clients close their connections while their requests wait for Redis. Nothing crashes or leaks, nothing is counted
# twice, and the next window grants its full limit.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(in_one_window);
use Http;
use Http2;
use Wait qw(becomes wait_until);

my $count = 500;
my $gateway = Gateway->start(
    plans  => 'plan free 5r/s 1000000r/d;',
    table  => 'lease=off',    # so that each request which waits for its quota waits for Redis
    redis  => 'timeout 60s; key_cache 1h;',
    events => 'worker_connections 4096;',
    http   => 'log_format status $status;',
    location => 'access_log %DIR%/access.log status;',
    server => <<'END',
        location = /status { stub_status; }
        location = /tollgate { tollgate_status; }
        listen 127.0.0.1:%PORT2% http2;
END
);
my ($nginx, $redis) = ($gateway->nginx, $gateway->redis);
my ($worker) = $nginx->workers;
$gateway->import_key('k', id => 'k1', plan => 'free');

# The number of connections without the one that asks, and how many of them wait for a response.
sub active { Http::http_get($nginx, '/status')->body =~ /Active connections: (\d+)/ ? $1 - 1 : die }
sub waiting { Http::http_get($nginx, '/status')->body =~ /Writing: (\d+)/ ? $1 - 1 : die }

sub descriptors { return scalar(my @all = glob "/proc/$worker/fd/*") }

sub resident {
    open my $file, '<', "/proc/$worker/status" or die "status: $!\n";
    return (map { /^RssAnon:\s+(\d+) kB/ ? $1 : () } <$file>)[0];
}

sub logged {
    my ($status) = @_;
    open my $file, '<', $nginx->dir . '/access.log' or return 0;
    return scalar grep { $_ == $status } <$file>;
}

sub granted_in_a_window {
    return in_one_window($redis, 1, sub { scalar grep { $gateway->get('/', 'k')->status == 200 } 1 .. 8 });
}

# The number of look-ups and of acquires so far.
sub asked { return @{ $gateway->get('/tollgate')->json->{redis}[0]{commands} }{qw(lookup acquire)} }

# A key of the same id that the gateway does not know: a request with it waits for its look-up.
my $new_keys = 0;
sub new_key {
    my $token = 'new' . ++$new_keys;
    $gateway->import_key($token, id => 'k1', plan => 'free');
    return $token;
}

# A known key whose window is not exhausted: a request with it waits for its acquire.
sub known_key {
    wait_until('a window that is not spent', sub { ($gateway->get('/', 'k')->header('X-RateLimit-Remaining') // 0) > 0 });
    return 'k';
}

# Sends requests on all connections while Redis is stalled, and closes all connections once all requests wait. Returns
# how many were logged with 499.
sub leave_together {
    my ($token, $stall, $resume) = @_;
    my $before = logged(499);
    $stall->();
    my @clients = map { Http->connect($nginx) } 1 .. $count;
    $_->send(Http::format_request('GET', '/', { Authorization => "Bearer $token" })) for @clients;
    wait_until('all to wait', sub { waiting() == $count });
    $_->close for @clients;
    wait_until('all to be gone', sub { active() == 0 });
    $resume->();
    return logged(499) - $before;
}

# Stops calls of both scripts.
my $pause_writes = sub { $redis->cmd('CLIENT', 'PAUSE', 600_000, 'WRITE') };
my $unpause = sub { $redis->cmd('CLIENT', 'UNPAUSE') };
sub counted { $gateway->count('k1', 'api', 86400) // 0 }

subtest 'while the key is looked up' => sub {
    my $granted = granted_in_a_window();
    my $before = counted();
    my ($lookups, $acquires) = asked();
    is(leave_together(new_key(), sub { $redis->sigstop }, sub { $redis->sigcont }), $count, 'each is logged with 499');
    my ($lookups_after, $acquires_after) = asked();
    cmp_ok($lookups_after, '>', $lookups, 'their keys were looked up');
    is($acquires_after, $acquires, '... and no acquire was sent');
    is(counted(), $before, 'nothing was counted');
    is(granted_in_a_window(), 5, 'the next window grants its full limit');
};

subtest 'while the quota is taken' => sub {
    my $token = known_key();
    my ($before, $lookups, $acquires) = (counted(), asked());
    is(leave_together($token, $pause_writes, $unpause), $count, 'each is logged with 499');
    # The call's units are counted until the settlement returns them.
    cmp_ok(counted() - $before, '<=', 5, 'at most one window is counted');
    becomes(sub { counted() }, $before, 'the units of that call are returned, and the requests that waited for it count nothing');
    is_deeply([asked()], [$lookups, $acquires + 2], 'one acquire was sent for all, one that returned its units, and no look-up');
    is(granted_in_a_window(), 5, 'the next window grants its full limit');
};

for my $case (['a key', \&new_key], ['a quota', \&known_key]) {
    my ($what, $key) = @$case;
    subtest "Redis is paused while it is asked for $what, and closes the connection" => sub {
        is(leave_together($key->(), $pause_writes, sub { $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal'); $unpause->() }),
            $count, 'each is logged with 499');
        is(granted_in_a_window(), 5, 'the next window grants its full limit');
    };
}

subtest 'again and again' => sub {
    my $leave = sub {
        leave_together(new_key(), $pause_writes, $unpause);
        leave_together(known_key(), $pause_writes, $unpause);
    };
    $leave->() for 1 .. 2;
    my ($memory, $descriptors) = (resident(), descriptors());
    $leave->() for 1 .. 3;
    ok(eval { wait_until('descriptors to be closed', sub { descriptors() <= $descriptors }) }, 'no file descriptor leaks');
    SKIP: {
        skip 'AddressSanitizer keeps what is freed', 1 if $ENV{TOLLGATE_SANITIZE};
        cmp_ok(resident() - $memory, '<', 512, 'no memory leaks: 3,000 requests take less than 512 KiB');
    }
    is(active(), 0, 'no connection leaks');
};

subtest 'half of the clients close, the others are answered' => sub {
    my $status = in_one_window($redis, 1, sub {
        my %status;
        my $token = known_key();
        $pause_writes->();
        my @clients = map { Http->connect($nginx) } 1 .. 40;
        $_->send(Http::format_request('GET', '/', { Authorization => "Bearer $token" })) for @clients;
        wait_until('all to wait', sub { waiting() == 40 });
        $clients[$_]->close for grep { $_ % 2 } 0 .. 39;
        wait_until('half to be gone', sub { active() == 20 });
        $unpause->();
        $status{ $clients[$_]->response->status }++ for grep { $_ % 2 == 0 } 0 .. 39;
        return \%status;
    });
    is(($status->{200} // 0) + ($status->{429} // 0), 20, 'each client that stayed has a response');
    cmp_ok($status->{200} // 0, '<=', 5, 'at most the limit is granted');
};

subtest 'HTTP/2 streams that are reset' => sub {
    my $before = logged(499);
    known_key();
    $pause_writes->();
    my $client = Http2->connect('127.0.0.1:' . $nginx->port(2));
    my @streams = map { $client->request([':path' => '/', authorization => 'Bearer k']) } 1 .. 100;
    wait_until('all to wait', sub { waiting() == 100 });
    $client->reset($_) for @streams;
    wait_until('all to be gone', sub { waiting() == 0 });
    is(logged(499) - $before, 100, 'each is logged with 499');
    $unpause->();
    like($client->status($client->request([':path' => '/', authorization => 'Bearer k'])), qr/^(200|429)$/, 'the connection still works');
    is(granted_in_a_window(), 5, 'the next window grants its full limit');
};

is_deeply([$nginx->workers], [$worker], 'the worker has not been replaced');
$nginx->stop;
done_testing;
