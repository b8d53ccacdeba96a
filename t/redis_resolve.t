# `server … resolve`: names that are resolved at run time, and servers with several addresses.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Certificates;
use Digest::SHA qw(sha256_hex);
use FakeDns;
use Gateway;
use IO::Socket::IP;
use Nginx;
use RedisServer;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Wait qw(becomes free_port wait_until);

my $plans = 'plan free 1000000r/h;';

sub now { return clock_gettime(CLOCK_MONOTONIC) }

# Two servers with the same port, at 127.0.0.1 and 127.0.0.2. Both have the key "k".
sub two_servers {
    my $first = RedisServer->start(tcp => 1);
    my $second = RedisServer->start(conf => ['port ' . $first->port, 'bind 127.0.0.2']);
    add_key($_) for $first, $second;
    return ($first, $second);
}

sub add_key {
    my ($redis) = @_;
    $redis->cmd('HSET', 't:key:' . sha256_hex('k'), qw(id k1 plan free state active), name => '');
}

# `on_failure deny` shows each call that fails as a 503; without leases, each request needs a call.
sub gateway {
    my ($redis, %options) = @_;
    my $dns = delete $options{dns};
    my $directives = delete $options{redis} // '';
    return Gateway->start(
        plans          => $plans,
        table          => 'lease=off',
        redis_server   => $redis,
        server_address => 'redis.test:' . $redis->port . ' resolve',
        redis          => "on_failure deny; $directives",
        http           => $dns ? 'resolver ' . $dns->address . ';' : '',
        %options,
    );
}

sub callers {
    my ($redis) = @_;
    my @all = map { { /(\S+?)=(\S*)/g } } split /\n/, $redis->cmd('CLIENT', 'LIST');
    return grep { $_->{cmd} !~ /^client/ && $_->{name} ne 'test' && $_->{flags} !~ /[SM]/ } @all;
}

sub count { return $_[0]->cmd('HGET', 't:quota:{k1}:api', '3600.count') // 0 }
sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /$pattern/g) }

subtest 'a new address, under load' => sub {
    for my $workers (1, 2) {
        my ($first, $second) = two_servers();
        Gateway::wait_for_room($first, 3600);
        my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 1);
        my $gateway = gateway($first, dns => $dns, workers => $workers);
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
        $gateway->subscribed($workers);
        my $before = count($first);
        my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, token => 'k');
        wait_until('the load', sub { count($first) > $before + 100 });
        my $change = now();
        $dns->names('redis.test' => ['127.0.0.2']);
        wait_until('calls to the second', sub { count($second) > 0 });
        cmp_ok(now() - $change, '<', 3.5, "$workers workers: followed within the TTL of 1 s and one second, with room for a busy machine");
        wait_until('the connections to the first to be closed', sub { !callers($first) });
        wait_until('the subscription', sub { $second->cmd('PUBSUB', 'NUMSUB', 't:events')->[1] == 1 });
        is(scalar(callers($second)), $workers + 1, 'each worker has its connection to the second, and one the subscription');
        my $now = count($second);
        wait_until('more load', sub { count($second) > $now + 100 });
        my $result = $load->finish;
        is_deeply([keys %{ $result->{status} }], [200], 'no request has failed');
        cmp_ok($result->{slowest}, '<', 2, 'none has waited for the timeout of 2 s');
        note(sprintf 'slowest: %.0f ms', 1000 * $result->{slowest});
        is(count($first) + count($second) - $before, $result->{status}{200}, 'each is counted once');
        is(lines($gateway, qr/tollgate: redis "main": moved from 127\.0\.0\.1:\d+ to 127\.0\.0\.2:\d+/), $workers, 'the log says so');
        is(lines($gateway, qr/\[(?:warn|error)\]/), 0, 'and nothing else is wrong');
        $gateway->nginx->stop;
    }
};

subtest 'a new address, over TLS' => sub {
    plan skip_all => 'this nginx has no SSL' unless Nginx->built_with('with-http_ssl_module');
    my $certificates = Certificates->new;
    $certificates->issue('server', 'DNS:redis.test');
    $certificates->issue('other', 'DNS:other.test');
    my $port = free_port();
    my ($first, $second, $other) = map {
        RedisServer->start(conf => ["bind 127.0.0.$_->[0]", $certificates->redis($_->[1], $port)]);
    } [1, 'server'], [2, 'server'], [3, 'other'];
    add_key($_) for $first, $second, $other;
    Gateway::wait_for_room($first, 3600);
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 1);
    my $gateway = gateway(
        $first, dns => $dns, server_address => "redis.test:$port resolve",
        redis => 'tls on; tls_ca ' . $certificates->certificate('ca') . ';',
    );
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    $gateway->subscribed(1);
    my $before = count($first);
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, token => 'k');
    wait_until('the load', sub { count($first) > $before + 100 });
    $dns->names('redis.test' => ['127.0.0.3']);
    wait_until('an attempt', sub { lines($gateway, qr/\[warn\].*the new address can't be used yet, the old connection remains: .*certificate/) });
    is(count($other), 0, 'a server with a certificate for another name gets no call');
    $dns->names('redis.test' => ['127.0.0.2']);
    wait_until('calls to the second', sub { count($second) > 0 });
    wait_until('the connections to the first to be closed', sub { !callers($first) });
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'no request has failed');
    is(count($first) + count($second) - $before, $result->{status}{200}, 'each is counted once');
    is(lines($gateway, qr/moved from 127\.0\.0\.1:\d+ to 127\.0\.0\.2:\d+/), 1, 'the log says so');
    $gateway->nginx->stop;
};

subtest 'a new address that does not serve' => sub {
    my ($first, $second) = two_servers();
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 1);
    my $gateway = gateway($first, dns => $dns);
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    $second->cmd('REPLICAOF', '127.0.0.1', $first->port);
    $dns->names('redis.test' => ['127.0.0.2']);
    wait_until('an attempt', sub { lines($gateway, qr/\[warn\].*the new address can't be used yet, the old connection remains: .*READONLY/) });
    is($gateway->get('/', 'k')->status, 200, 'the old one is used');
    $second->cmd('REPLICAOF', 'NO', 'ONE');
    wait_until('the move', sub { !callers($first) });
    is($gateway->get('/', 'k')->status, 200, 'the new one is used when it accepts writes');
    $second->stop;
    $dns->names('redis.test' => ['127.0.0.1']);
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    pass('an address that is dead is left for a new one');
    $gateway->nginx->stop;
};

subtest 'a name server that fails' => sub {
    my $redis = RedisServer->start(tcp => 1);
    add_key($redis);
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 1);
    my $gateway = gateway($redis, redis => 'resolver ' . $dns->address . '; resolver_timeout 500ms;');
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    my %reasons = (SERVFAIL => '2: Server failure', NXDOMAIN => '3: Host not found', silence => '110: Operation timed out');
    for my $failure (sort keys %reasons) {
        my $back = lines($gateway, qr/is resolved again/);
        my $log = length $gateway->nginx->error_log;
        $dns->queries;
        $dns->fail($failure);
        my $queries = 0;
        wait_until('two queries', sub { ($queries += $dns->queries) >= 2 });
        wait_until('the log', sub { substr($gateway->nginx->error_log, $log) =~ /could not be resolved/ });
        is($gateway->get('/', 'k')->status, 200, "$failure: served");
        my ($old) = callers($redis);
        $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        is($gateway->get('/', 'k')->status, 200, '... over a new connection too');
        my @said = substr($gateway->nginx->error_log, $log) =~ /(\[error\].*could not be resolved.*)/g;
        is(scalar @said, 1, '... and the log says so once');
        like($said[0], qr/tollgate: redis "main": "redis\.test" could not be resolved \(\Q$reasons{$failure}\E\); its last addresses remain in use/, '... with the reason');
        $dns->heal;
        wait_until('the end', sub { lines($gateway, qr/"redis\.test" is resolved again/) == $back + 1 });
    }
    $gateway->nginx->stop;
};

subtest 'several addresses, of which one is the master' => sub {
    my ($first, $second) = two_servers();
    my $port = $first->port;
    my %servers = (
        'two addresses'             => "127.0.0.1:$port 127.0.0.2:$port",
        'two addresses and resolve' => "127.0.0.1:$port 127.0.0.2:$port resolve",
        'a name with two addresses' => "redis.test:$port resolve",
        'two names'                 => "one.test:$port two.test:$port resolve",
    );
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1', '127.0.0.2'], 'one.test' => ['127.0.0.1'], 'two.test' => ['127.0.0.2'] }, ttl => 1);
    for my $what (sort keys %servers) {
        $second->cmd('REPLICAOF', 'NO', 'ONE');
        $first->cmd('REPLICAOF', '127.0.0.2', $port);
        wait_until('the replica', sub { $second->cmd('INFO', 'replication') =~ /state=online/ });
        my $gateway = gateway($first, dns => $dns, server_address => $servers{$what});
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }) if $what =~ /name/;
        is($gateway->get('/', 'k')->status, 200, "$what: served by the second, the first is a replica");
        wait_until('both connections', sub { callers($second) >= 1 });
        is(lines($gateway, qr/unreachable/), 0, '... and Redis is not taken to be unreachable');
        # A failover.
        $first->cmd('REPLICAOF', 'NO', 'ONE');
        $second->cmd('REPLICAOF', '127.0.0.1', $port);
        my $failed = 0;
        wait_until('service', sub { my $ok = $gateway->get('/', 'k')->status == 200; $failed++ unless $ok; return $ok }, 2);
        cmp_ok($failed, '<=', 1, '... after a failover by the first: at most the request that got READONLY has failed');
        is(lines($gateway, qr/unreachable/), 0, '... and Redis is not taken to be unreachable');
        $gateway->nginx->stop;
    }
};

subtest 'READONLY resolves a name at once' => sub {
    my ($first, $second) = two_servers();
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 3600);
    my $gateway = gateway($first, dns => $dns);
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    $dns->names('redis.test' => ['127.0.0.2']);
    $first->cmd('REPLICAOF', '127.0.0.2', $first->port);
    my $start = now();
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    cmp_ok(now() - $start, '<', 5, 'the new address is used, although the old answer is valid for an hour');
    cmp_ok(count($second), '>', 0, 'by the second');
    $gateway->nginx->stop;
};

subtest 'nginx starts while the name server is down' => sub {
    my $redis = RedisServer->start(tcp => 1);
    add_key($redis);
    my %names = (names => { 'redis.test' => ['127.0.0.1'] });
    for my $case (['no name server', sub { $_[0]->serve(%names) }], ['a silent one', sub { $_[0]->heal }], ['one that does not know the name', sub { $_[0]->heal }]) {
        my ($what, $repair) = @$case;
        my $dns = FakeDns->reserve;
        $dns->serve(%names, fail => $what =~ /silent/ ? 'silence' : 'NXDOMAIN') if $what !~ /^no/;
        my $gateway = gateway($redis, dns => $dns);
        is($gateway->get('/', 'k')->status, 503, "$what: 503");
        is(lines($gateway, qr/redis "main" is unreachable: no address is known/), 1, '... and the log says why');
        my $start = now();
        is($gateway->get('/', 'k')->status, 503, '... at once when that is known');
        cmp_ok(now() - $start, '<', 1, '... which is before the timeout of 2 s');
        $repair->($dns);
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 10);
        pass('... served when it answers');
        $gateway->nginx->stop;
    }
};

subtest 'the end of a worker while a name is being resolved' => sub {
    my $redis = RedisServer->start(tcp => 1);
    add_key($redis);
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 1);
    my $gateway = gateway($redis, dns => $dns, workers => 2);
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    $dns->fail('silence');
    $dns->queries;
    my $queries = 0;
    wait_until('pending resolutions', sub { ($queries += $dns->queries) >= 2 });
    my $start = now();
    $gateway->nginx->reload;
    $gateway->nginx->old_workers_gone;
    cmp_ok(now() - $start, '<', 15, 'a reload does not wait for the resolver_timeout of 30 s');
    $start = now();
    $gateway->nginx->stop;
    cmp_ok(now() - $start, '<', 15, 'nor does quitting, while no address is known');
};

subtest 'the resolver' => sub {
    my $redis = RedisServer->start(tcp => 1);
    add_key($redis);
    my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1'] }, ttl => 0);
    my $resolver = 'resolver ' . $dns->address;
    my $gateway = gateway($redis, redis => "$resolver;", server_address => 'Redis.TEST.:' . $redis->port . ' resolve');
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
    pass('inside the block; a name with capitals and a final dot');
    $dns->queries;
    my $start = now();
    my $queries = 0;
    wait_until('three queries', sub { ($queries += $dns->queries) >= 3 });
    cmp_ok($queries, '<=', now() - $start + 1, 'with a TTL of 0, one resolution a second');
    $gateway->nginx->stop;

    my $parameters = gateway($redis, redis => "$resolver valid=1h ipv6=off; resolver_timeout 5s;");
    wait_until('service', sub { $parameters->get('/', 'k')->status == 200 });
    pass('with the parameters of nginx');
    $parameters->nginx->stop;
};

subtest 'IPv6' => sub {
    plan skip_all => 'this machine has no ::1' unless IO::Socket::IP->new(Listen => 1, LocalHost => '::1');
    my $redis = RedisServer->start(tcp => 1, conf => ['bind ::1']);
    add_key($redis);
    my $dns = FakeDns->start(names => { 'redis.test' => ['::1'] }, ttl => 1);
    for my $address ('redis.test:' . $redis->port, '[::1]:' . $redis->port) {
        my $gateway = gateway($redis, dns => $dns, server_address => "$address resolve");
        wait_until('service', sub { $gateway->get('/', 'k')->status == 200 });
        pass($address);
        $gateway->nginx->stop;
    }
};

done_testing;
