# How the gateway connects to Redis, keeps the connection, and uses it.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA ();
use FakeRedis qw(name_of token_of);
use Gateway;
use Http;
use Load;
use RedisServer;
use Wait qw(wait_until);

my $plans = 'plan free 1000r/h;';

# A gateway with this Redis, and the status of a request with a valid key.
sub gateway { my ($redis, %options) = @_; return Gateway->start(plans => $plans, redis_server => $redis, %options) }

sub status {
    my ($gateway) = @_;
    $gateway->import_key('k', id => 'k1', plan => 'free');
    return $gateway->get('/', 'k')->status;
}

# The connections of the workers, from CLIENT LIST, as hashes: those that send calls, and those that are subscribed to
# `events`.
sub clients {
    my ($redis) = @_;
    my @all = map { { /(\S+?)=(\S*)/g } } split /\n/, $redis->cmd('CLIENT', 'LIST');
    return grep { $_->{cmd} !~ /^client/ } @all;
}
sub callers   { return grep { $_->{sub} == 0 } clients(@_) }
sub listeners { return grep { $_->{sub} > 0 } clients(@_) }

subtest 'addresses' => sub {
    my $redis = RedisServer->start(tcp => 1);
    my %addresses = (
        'a unix socket' => $redis->address,
        'an address'    => '127.0.0.1:' . $redis->port,
        'a name'        => 'localhost:' . $redis->port,
    );
    for my $what (sort keys %addresses) {
        my $gateway = gateway($redis, server_address => $addresses{$what});
        is(status($gateway), 200, $what);
        $gateway->nginx->stop;
    }
};

subtest 'a name with several addresses' => sub {
    plan skip_all => 'needs an /etc/hosts of its own' unless Nginx->can_replace_hosts;
    my $redis = RedisServer->start(tcp => 1);    # on 127.0.0.1 only
    for my $last (2, 6) {
        # In any order: the resolver may sort the addresses.
        my $hosts = join '', "127.0.0.1 localhost\n", map { "127.0.0.$_ redis.test\n" } 2 .. $last, 1;
        my $gateway = gateway($redis, server_address => 'redis.test:' . $redis->port, hosts => $hosts, redis => 'timeout 200ms; connect_timeout 200ms;');
        is(status($gateway), 200, "served by the address of $last that Redis listens on");
        $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        is($gateway->get('/', 'k')->status, 200, '... at once, after the connection is lost');
        $gateway->nginx->reload;
        is($gateway->get('/', 'k')->status, 200, '... and after a reload');
        unlike($gateway->nginx->error_log, qr/unreachable|\[error\]/, 'the breaker has not opened');
        $redis->stop;
        wait_until('the breaker', sub { $gateway->get('/', 'new' . rand); $gateway->nginx->error_log =~ /unreachable/ });
        like($gateway->nginx->error_log, qr/unreachable: (?:connect\(\) to 127\.0\.0\.\d:\d+ failed \(111: Connection refused\)(?:; |$)){$last}/m,
            'if no address works, the log has a line for each');
        $redis->restart;
        $gateway->import_key('k', id => 'k1', plan => 'free');
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 2);
        $gateway->nginx->stop;
    }
};

subtest 'passwords' => sub {
    my $redis = RedisServer->start(password => 's3cret;#{$}', acl => ['user app on >app-secret ~t:* &t:* +@all']);
    my %right = (
        'of the default user'        => q(password 's3cret;#{$}';),
        'of a user'                  => 'username app; password app-secret;',
        'of a file'                  => 'username app; password_file app.password;',
    );
    for my $what (sort keys %right) {
        my $gateway = gateway($redis, redis => $right{$what}, files => { 'app.password' => "app-secret\n" });
        is(status($gateway), 200, $what);
        $gateway->subscribed(1);
        my $user = $right{$what} =~ /username/ ? 'app' : 'default';
        is_deeply([map { $_->{user} } callers($redis), listeners($redis)], [$user, $user], 'as this user');
        $gateway->nginx->stop;
    }
    my %wrong = (
        'a wrong one'  => ['password wrong;',                qr/\[error\].*tollgate: redis "main" is unreachable: WRONGPASS/],
        'a wrong user' => ['username nobody; password wrong;', qr/\[error\].*tollgate: redis "main" is unreachable: WRONGPASS/],
        'none'         => ['',                               qr/\[error\].*tollgate: redis "main" is unreachable: NOAUTH/],
    );
    for my $what (sort keys %wrong) {
        my ($directives, $line) = @{ $wrong{$what} };
        my $gateway = gateway($redis, redis => $directives);
        is(status($gateway), 503, "$what: 503");
        like($gateway->nginx->error_log, $line, 'the log has the reason');
        unlike($gateway->nginx->error_log, qr/wrong|cret/, 'the log has no password');
        $gateway->nginx->stop;
    }
    my $gateway = gateway($redis, redis => 'password later;');
    is(status($gateway), 503, 'a password that Redis does not have yet: 503');
    $redis->cmd('CONFIG', 'SET', 'requirepass', 'later');
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 2);
    pass('served within 2 s of Redis having it');
    $gateway->nginx->stop;
};

subtest 'databases and prefixes' => sub {
    my $redis = RedisServer->start;
    my $gateway = gateway($redis, redis => 'database 3;');
    $redis->cmd('SELECT', 3);
    is(status($gateway), 200, 'database 3');
    is_deeply([sort @{ $redis->cmd('KEYS', 't:quota:*') }], ['t:quota:{k1}:api'], 'the quota is in this database');
    $redis->cmd('SELECT', 0);
    is_deeply($redis->cmd('KEYS', '*'), [], 'and database 0 is empty');
    $gateway->nginx->stop;

    my $outside = gateway($redis, redis => 'database 99;');
    is(status($outside), 503, 'a missing database: 503');
    like($outside->nginx->error_log, qr/is unreachable: ERR DB index is out of range/, 'the log has the reason');
    $outside->nginx->stop;
};

subtest 'a Redis that starts later' => sub {
    my $redis = RedisServer->start(tcp => 1);
    for my $address ($redis->address, '127.0.0.1:' . $redis->port) {
        $redis->stop;
        my $gateway = gateway($redis, server_address => $address);
        is($gateway->get('/', 'k')->status, 503, '503 before');
        $redis->restart;
        $gateway->import_key('k', id => 'k1', plan => 'free');
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 2);
        pass('served within 2 s of its start');
        $gateway->nginx->stop;
    }
};

subtest 'tables in several Redis' => sub {
    my ($first, $second) = (RedisServer->start, RedisServer->start);
    # With `key_cache 0`, the second Redis is asked again for an unknown key. The first must not depend on it.
    my $gateway = gateway($first,
        redis  => 'on_failure deny;',
        http   => "tollgate_redis other { server @{[$second->address]}; prefix o:; timeout 2s; key_cache 0; on_failure deny; }
                   tollgate_plans search redis=other { plan free 7r/h; }",
        server => 'location /search { tollgate search; proxy_pass http://unix:%DIR%/upstream.sock; }',
    );
    is(status($gateway), 200, 'the first Redis knows the key');
    is($gateway->get('/search', 'k')->status, 401, 'the second does not');
    $second->cmd('HSET', 'o:key:' . Digest::SHA::sha256_hex('k'), qw(id k1 plan free state active));
    is($gateway->get('/search', 'k')->header('x-ratelimit-remaining'), 6, 'now it does, and counts by itself');
    $first->kill;
    is($gateway->get('/', 'k')->status, 503, 'the first is dead');
    is($gateway->get('/search', 'k')->status, 200, 'the second still serves');
    $gateway->nginx->stop;
};

subtest 'connections that Redis closes for being idle' => sub {
    my $redis = RedisServer->start(conf => ['timeout 1']);
    # A heartbeat is refused, and sent less and less often: it would keep a connection in use.
    $redis->cmd('ACL', 'SETUSER', 'default', '-zadd');
    my $gateway = gateway($redis, redis => 'on_failure deny;');
    my $three_more = sub {
        for my $round (1 .. 3) {
            my ($old) = callers($redis);
            wait_until('another connection', sub { my ($new) = callers($redis); $new && $new->{id} != $old->{id} });
        }
    };
    is(status($gateway), 200, 'served');
    $gateway->subscribed(1);
    $three_more->();
    is($gateway->get('/', 'k')->status, 200, 'served after three were closed without a request in between');
    $three_more->();
    $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    is($gateway->get('/', 'k')->status, 200, 'served at once when one more is killed');
    unlike($gateway->nginx->error_log, qr/\[error\]/, 'no error is logged');
    $gateway->nginx->stop;
};

subtest 'a connection that Redis closes when a call is made' => sub {
    my $redis = RedisServer->start;
    my $gateway = gateway($redis, redis => 'on_failure deny; key_cache 0;', table => 'lease=off');
    is(status($gateway), 200, 'served');
    $gateway->subscribed(1);
    my ($worker) = $gateway->nginx->workers;
    my $http = Http->connect($gateway);
    my $request = Http::format_request('GET', '/', { Authorization => 'Bearer k' });
    my $send = sub { $http->send($request) };
    $send->();
    is($http->response->status, 200, 'served over the connection that follows');
    my $close = sub { $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes') };
    for my $order ([$send, $close], [$close, $send]) {
        # The worker then has both events at once.
        kill STOP => $worker;
        $_->() for @$order;
        kill CONT => $worker;
        is($http->response->status, 200, $order->[0] == $send ? 'the request is first' : 'the end of the connection is first');
    }
    is($gateway->get('/', 'k')->header('x-ratelimit-remaining'), 995, 'each request is counted once');
    $gateway->nginx->stop;
};

subtest 'a connection that refuses writes' => sub {
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(redis => $redis->address);
    my $gateway = gateway($redis, server_address => $fake->address, redis => 'on_failure deny; key_cache 0;', table => 'lease=off');
    is(status($gateway), 200, 'served');
    $fake->refuse_writes;
    is($gateway->get('/', 'k')->status, 200, 'the call is sent on another connection');
    is($gateway->get('/', 'k')->header('x-ratelimit-remaining'), 997, 'each request is counted once');
    my $log = $gateway->nginx->error_log;
    like($log, qr/\[warn\] .*redis "main": send\(\) failed \(32: Broken pipe\)/, 'the log has the reason');
    unlike($log, qr/\[error\]/, 'no error is logged');
    $gateway->nginx->stop;
};

subtest 'a connection per worker for calls, and one of the node for events' => sub {
    my $redis = RedisServer->start;
    my $gateway = gateway($redis, workers => 3);
    is(status($gateway), 200, 'served');
    my $result = Load->run(servers => [$gateway->address], connections => 30, requests => 600, token => 'k');
    is_deeply($result->{status}, { 200 => 600 }, '600 more over 30 connections');
    $gateway->subscribed(3);
    is(scalar(callers($redis)), 3, 'three workers have three connections');
    is(scalar(listeners($redis)), 1, 'and one subscription');
    $gateway->nginx->stop;
    wait_until('none after the end', sub { !clients($redis) });
};

subtest 'commands of one turn are sent together' => sub {
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(redis => $redis->address);
    my $gateway = gateway($redis, server_address => $fake->address, redis => 'timeout 10s; key_cache 0;', table => 'lease=off');
    my %tokens = ('ten keys' => [map { "k$_" } 1 .. 10], 'one key' => [('k1') x 10]);
    $gateway->import_key($_, id => $_, plan => 'free') for @{ $tokens{'ten keys'} };
    for my $what (sort keys %tokens) {
        my @clients = map { { http => Http->connect($gateway), headers => { Authorization => "Bearer $_" } } } @{ $tokens{$what} };
        $_->{http}->request('GET', '/', $_->{headers}) for @clients;
        $gateway->subscribed(1);
        my ($worker) = $gateway->nginx->workers;
        kill STOP => $worker;
        $fake->reads;
        $_->{http}->send(Http::format_request('GET', '/', $_->{headers})) for @clients;
        kill CONT => $worker;
        is($_->{http}->response->status, 200, 'answered') for @clients;
        # Each second, a worker sends PING on the other connection, and the heartbeat of the node.
        my @reads = grep { @$_ } map { [grep { !/^(?:PING|nodes)$/ } @$_] } @{ $fake->reads };
        my $look_ups = $what eq 'one key' ? 1 : 10;    # look-ups of one key share a call
        is_deeply(\@reads, [[('lookup') x $look_ups], ['acquire']], "ten requests with $what: two writes");
    }
    $gateway->nginx->stop;
};

subtest 'a server that repeats unknown commands in its error' => sub {
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $redis->address,
        faults => {
            parrot => {
                answer => sub {
                    my ($name, @arguments) = @{ $_[0] };
                    return $name eq 'AUTH' ? "-ERR unknown command '$name', with args beginning with: '@arguments'\r\n" : undef;
                },
            },
        },
    );
    $fake->fault('parrot');
    my $gateway = gateway($redis, server_address => $fake->address, redis => 'password hunter2;');
    is(status($gateway), 503, 'answered with 503');
    like($gateway->nginx->error_log, qr/is unreachable: ERR unknown command 'AUTH'/, 'the log says why');
    unlike($gateway->nginx->error_log, qr/hunter2/, 'the log has no password');
    $gateway->nginx->stop;
};

subtest 'windows use the clock of Redis' => sub {
    my $redis = RedisServer->start;
    # The fake Redis answers with a time in 2001 and grants nothing. It has counted 2 units in the window that begins
    # then and 4 in the one before. After 7.5 s only a quarter of the 4 counts, which leaves room for the request.
    my $limited = pack 'q<*', 1_000_000_000_000_000, 0, 100_000_000, 2, 4;
    my $fake = FakeRedis->start(
        redis  => $redis->address,
        faults => {
            old => {
                answer => sub {
                    my ($command) = @_;
                    return undef if name_of($command) ne 'acquire';
                    return "*2\r\n" . join '', map { '$' . length($_) . "\r\n$_\r\n" } token_of($command), $limited;
                },
            },
        },
    );
    my $gateway = gateway($redis, plans => 'plan free 4r/10s window=sliding;', server_address => $fake->address);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $fake->fault('old');
    my $r = $gateway->get('/', 'k');
    is($r->status, 429, 'refused');
    is($r->header('retry-after'), 8, 'Retry-After is the rest by that clock, rounded up');
    is($r->header('x-ratelimit-reset'), 1000000008, 'the reset is by that clock too');
    $gateway->nginx->stop;
};

done_testing;
