# The effect of Redis's errors on the connection and the log.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Digest::SHA qw(sha256_hex);
use FakeRedis qw($CLOSE name_of token_of);
use Gateway;
use RedisServer;
use Time::HiRes qw(sleep time);
use Wait qw(wait_until free_port);

sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /^.*$pattern.*$/gm) }

# How to make Redis refuse all commands or all writes, and how to end it.
my %refusals = (
    OOM      => [sub { $_[0]->cmd('CONFIG', 'SET', 'maxmemory', 1) }, sub { $_[0]->cmd('CONFIG', 'SET', 'maxmemory', 0) }],
    READONLY => [sub { $_[0]->cmd('REPLICAOF', '127.0.0.1', free_port()) }, sub { $_[0]->cmd('REPLICAOF', 'NO', 'ONE') }],
    BUSY     => [
        sub {
            my ($redis) = @_;
            $redis->{busy} = $redis->connection;
            $redis->{busy}->send('EVAL', 'while true do end', 0);
            wait_until('a busy Redis', sub { !eval { $redis->connection->cmd('PING') } && $@ =~ /^BUSY/ });
        },
        sub { my ($redis) = @_; $redis->cmd('SCRIPT', 'KILL'); delete $redis->{busy} },
    ],
);
for my $code (sort keys %refusals) {
    my ($begin, $end) = @{ $refusals{$code} };
    subtest "$code under load" => sub {
        my $gateway = Gateway->start(
            plans         => 'plan free 1000000r/d;',
            table         => 'lease=off',
            redis_options => { conf => ['lua-time-limit 20'] },
        );
        $gateway->import_key('k', id => 'k1', plan => 'free');
        $gateway->get('/', 'k');
        my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, token => 'k');
        my $redis = $gateway->redis;
        $begin->($redis);
        wait_until('the breaker', sub { lines($gateway, qr/is unreachable/) });
        my $served = sub { my $count = 0; $count += $_->{verdicts}{degraded} for @{ $gateway->status->{requests} }; return $count };
        my $errors = $gateway->status->{redis}[0]{errors};
        wait_until('many requests', sub { $served->() > 500 });
        wait_until('probes that are refused', sub { $gateway->status->{redis}[0]{errors} >= $errors + 2 });
        $end->($redis);
        wait_until('service', sub { lines($gateway, qr/is back/) });
        my $result = $load->finish;
        is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
        is(lines($gateway, qr/\[error\].*redis "main" is unreachable: $code /), 1, 'one line when the breaker opens, with the reason');
        is(lines($gateway, qr/\[notice\].*redis "main" is back/), 1, '... and one when it closes, which is no error');
        is(lines($gateway, qr/\[error\]/), 1, '... and no other error');
        cmp_ok(lines($gateway, qr/\[warn\]/), '<=', 2, '... and few warnings');
        my $ttl = $redis->cmd('PTTL', 't:probe');
        cmp_ok($ttl, '>', 0, 'the key of the probe expires');
        cmp_ok($ttl, '<=', 60_000, '... within a minute');
        $gateway->nginx->stop;
    };
}

subtest 'a command that the user may not use' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/d;', table => 'lease=off');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->get('/', 'k');
    my $redis = $gateway->redis;
    my $connections = sub { join ' ', sort $redis->cmd('CLIENT', 'LIST') =~ /^id=(\d+) (?!.*cmd=client)/mg };
    my ($before, $start) = ($connections->(), time);
    $redis->cmd('ACL', 'SETUSER', 'default', '-hset');
    # The texts of Redis 7, and of Redis 8 and Valkey.
    my $refusals = sub { lines($gateway, qr/\[error\].*redis "main": ERR (?:The user executing the script can't run this command|ACL failure in script: User default)/) };
    my %status;
    wait_until('two lines', sub { $status{ $gateway->get('/', 'k')->status }++; $refusals->() >= 2 });
    cmp_ok($refusals->(), '<=', 1 + time - $start, 'is logged once a second');
    $redis->cmd('ACL', 'SETUSER', 'default', '+@all');
    is_deeply([keys %status], [200], 'all requests are granted by the node alone');
    is($connections->(), $before, 'no connection is lost');
    wait_until('the requests of the node', sub { $gateway->get('/', 'k'); $gateway->unsettled == 0 });
    unlike($gateway->nginx->error_log, qr/unreachable/, 'Redis is not taken to be unreachable');
    $gateway->nginx->stop;
};

subtest 'an error of one id is logged once a second' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/d;', table => 'lease=off', redis => 'on_failure deny;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->redis->cmd('SET', 't:quota:{k1}:api', 'not a hash');
    my $start = time;
    my $logged = sub { lines($gateway, qr/\[error\].*redis "main": WRONGTYPE/) };
    my %status;
    wait_until('three lines', sub { $status{ $gateway->get('/', 'k')->status }++; $logged->() >= 3 });
    cmp_ok($logged->(), '<=', 1 + time - $start, 'one line a second');
    is_deeply([keys %status], [503], 'all requests are refused');
    like($gateway->nginx->error_log, qr/WRONGTYPE .*\(\d+ errors were left out since the last line\)/, '... and it says how many were left out');
    unlike($gateway->nginx->error_log, qr/unreachable/, 'Redis is not taken to be unreachable');
    $gateway->nginx->stop;
};

my $text = "\e[31mred\a \x{ff}";
my $shown = qr/\\x1b\[31mred\\x07 \\xff/;
my $redis = RedisServer->start;
my $fake = FakeRedis->start(
    redis  => $redis->address,
    faults => {
        lookup  => { answer => sub { name_of($_[0]) eq 'lookup' ? "-ERR $text\r\n" : undef } },
        all     => { answer => sub { "-LOADING $text\r\n" } },
        channel => { answer => sub { $_[0][0] eq 'SUBSCRIBE' ? "-NOPERM $text\r\n" : undef } },
        # A time in 2001, and no reply to an acquire.
        clock => {
            answer => sub {
                my ($command) = @_;
                return undef if name_of($command) ne 'probe';
                return join '', "*3\r\n", map { '$' . length($_) . "\r\n$_\r\n" } token_of($command), 1_000_000_000, 0;
            },
            reply => sub { name_of($_[1]) eq 'acquire' ? $CLOSE : $_[0] },
        },
        'late clock' => {
            answer => sub {
                my ($command) = @_;
                return undef if name_of($command) ne 'probe';
                return join '', "*3\r\n", map { '$' . length($_) . "\r\n$_\r\n" } token_of($command), '9' x 18, 0;
            },
        },
        'no pong' => { reply => sub { name_of($_[1]) eq 'PING' ? () : $_[0] } },
    },
);

sub behind_fake {
    my ($fault, %options) = @_;
    $fake->fault($fault);
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;', redis_server => $redis, server_address => $fake->address, %options);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    return $gateway;
}

my %logged = (
    lookup  => qr/redis "main": ERR $shown/,
    all     => qr/redis "main" is unreachable: LOADING $shown/,
    channel => qr/redis "main" refuses the channel "t:events"; .*: NOPERM $shown/,
);
for my $fault (sort keys %logged) {
    subtest "control characters of Redis's text are escaped in the log: $fault" => sub {
        my $gateway = behind_fake($fault);
        $gateway->get('/', 'k');
        wait_until('the line', sub { lines($gateway, $logged{$fault}) });
        unlike($gateway->nginx->error_log, qr/[^\n\t -~]/, 'the log has no such bytes');
        $gateway->nginx->stop;
        $fake->heal;
    };
}

subtest 'the clock of Redis is known from the first probe' => sub {
    my $gateway = behind_fake('clock');
    my $r = $gateway->get('/', 'k');
    is($r->status, 200, 'decided alone');
    cmp_ok($r->header('x-ratelimit-reset'), '<=', 1_000_000_000 + 3700, 'by the clock of the probe');
    $gateway->nginx->stop;
    $fake->heal;
};

subtest 'a probe with an impossible time is an invalid reply' => sub {
    my $gateway = behind_fake('late clock');
    is($gateway->get('/', 'k')->status, 503, 'refused');
    like($gateway->nginx->error_log, qr/is unreachable: unexpected reply to a probe/, 'the log says why');
    $fake->heal;
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 2);
    $gateway->nginx->stop;
};

subtest 'a dead subscription is closed after two seconds, regardless of `timeout`' => sub {
    my $gateway = behind_fake(undef, redis => 'timeout 20s;');
    $gateway->subscribed(1);
    is($gateway->get('/', 'k')->status, 200, 'served');
    $fake->fault('no pong');
    # The event of this change never arrives.
    $redis->cmd('DEL', 't:key:' . sha256_hex('k'));
    my $start = time;
    wait_until('the key to be refused', sub { $gateway->get('/', 'k')->status == 401 });
    cmp_ok(time - $start, '<', 4, 'a revoked key is refused soon');
    $fake->heal;
    $gateway->nginx->stop;
};

subtest 'after READONLY the subscription is renewed too' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;', table => 'lease=off', redis_server => $redis, redis => 'on_failure deny; timeout 500ms;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    my $listeners = sub { [sort $redis->cmd('CLIENT', 'LIST', 'TYPE', 'pubsub') =~ /^id=(\d+)/mg] };
    $gateway->subscribed(1);
    is($gateway->get('/', 'k')->status, 200, 'served');
    my $before = $listeners->();
    $redis->cmd('REPLICAOF', '127.0.0.1', free_port());
    is($gateway->get('/', 'k')->status, 503, 'refused');
    $redis->cmd('REPLICAOF', 'NO', 'ONE');
    wait_until('service', sub { $gateway->get('/', 'k')->status == 200 }, 2);
    wait_until('another subscription', sub { my $now = $listeners->(); @$now == 1 && "@$now" ne "@$before" }, 2);
    pass('it is a new one');
    $gateway->nginx->stop;
};

subtest 'a replica does not make a key unknown' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;');
    my $redis = $gateway->redis;
    is($gateway->get('/', 'k')->status, 401, 'the master does not know the key');
    $redis->cmd('REPLICAOF', '127.0.0.1', free_port());
    is($gateway->get('/', 'k2')->status, 503, 'a replica cannot tell');
    like($gateway->nginx->error_log, qr/READONLY/, 'the log says why');
    $redis->cmd('REPLICAOF', 'NO', 'ONE');
    wait_until('service', sub { $gateway->get('/', 'k2')->status == 401 });
    pass('the new master knows');
    $gateway->nginx->stop;
};

subtest 'an error of one id counts' => sub {
    # No unit is owed. A report of owed units would be another call that Redis refuses.
    my $gateway = Gateway->start(plans => 'plan free 1000r/d;', redis => 'on_failure deny;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->redis->cmd('SET', 't:quota:{k1}:api', 'of another program');
    my $before = $gateway->status->{redis}[0]{errors};
    $gateway->get('/', 'k') for 1 .. 3;
    is($gateway->status->{redis}[0]{errors} - $before, 3, 'an error for each request that Redis answered with WRONGTYPE');
    $gateway->nginx->stop;
};

done_testing;
