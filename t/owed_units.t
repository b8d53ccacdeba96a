# Units that a node grants while Redis is unreachable: Redis counts each of them once, even if the worker that granted
# them dies or they are sent several times.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use FakeRedis qw($CLOSE name_of);
use Gateway qw(wait_for_room wait_for_window);
use Load;
use Time::HiRes qw(sleep time);
use Wait qw(becomes wait_until);

my $durable = { conf => ['appendonly yes', 'appendfsync always'] };

sub granted { my ($gateway, $requests, $token) = @_; return scalar grep { $gateway->get('/', $token)->status == 200 } 1 .. $requests }

my %fate = (
    'a reload'        => sub { $_[0]->nginx->reload; $_[0]->nginx->old_workers_gone },
    'a killed worker' => sub { $_[0]->nginx->kill_worker },
    'nothing'         => sub { },
);
for my $fate (sort keys %fate) {
    subtest "owed units survive $fate" => sub {
        my $gateway = Gateway->start(plans => 'plan free 1000r/h 5000r/d;', redis_options => $durable);
        $gateway->import_key('k', id => 'k1', plan => 'free');
        wait_for_room($gateway->redis, 3600, 72);
        is(granted($gateway, 3, 'k'), 3, 'before');
        $gateway->redis->kill;
        is(granted($gateway, 20, 'k'), 20, 'granted alone');
        $fate{$fate}->($gateway);
        $gateway->redis->restart;
        wait_until('Redis to count them', sub { $gateway->count('k1', 'api', 86400) >= 23 }, 30);
        wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
        is($gateway->count('k1', 'api', 86400), 23, 'each is counted once');
        is($gateway->count('k1', 'api', 3600), 23, '... in each window');
        $gateway->nginx->stop;
    };
}

# A gateway with this `timeout`, and a proxy between it and its Redis: `silent` answers nothing, `lost` loses the replies to acquires.
sub gateway_with_fake {
    my ($timeout) = @_;
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $redis->address,
        faults => {
            silent => { answer => sub { name_of($_[0]) =~ /^(acquire|lookup|probe)$/ ? '' : undef } },
            lost   => { reply  => sub { my ($bytes, $command) = @_; name_of($command) eq 'acquire' ? $CLOSE : $bytes } },
        },
    );
    my $gateway = Gateway->start(
        plans => 'plan free 1000r/h;', redis => "timeout $timeout;", redis_server => $redis, server_address => $fake->address,
    );
    return ($gateway, $fake);
}

subtest 'a report whose replies are lost is counted once' => sub {
    my ($gateway, $fake) = gateway_with_fake('100ms');
    my $redis = $gateway->redis;
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($redis, 3600, 72);
    wait_until('a known key', sub { granted($gateway, 1, 'k') == 1 });
    $redis->cmd('DEL', 't:quota:{k1}:api');
    $fake->fault('silent');
    is(granted($gateway, 50, 'k'), 50, 'granted without Redis');
    $fake->reads;
    $fake->fault('lost');
    my $lost = 0;
    wait_until('three replies to be lost', sub { ($lost += grep { $_ eq 'acquire' } map { @$_ } @{ $fake->reads }) >= 3 }, 30);
    $fake->heal;
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    is($redis->cmd('HGET', 't:quota:{k1}:api', '3600.count'), 50, 'Redis counts each once');
    is(granted($gateway, 1, 'k'), 1, 'granted');
    becomes(sub { $gateway->count('k1', 'api', 3600) }, 51, 'and continues to count; a lease is returned');
    $gateway->nginx->stop;
};

subtest 'a quit settles what was granted after a report that is under way' => sub {
    # A worker that exits gives up after a pass in which Redis counts nothing: no call may time out on a busy machine.
    my ($gateway, $fake) = gateway_with_fake('500ms');
    my $redis = $gateway->redis;
    my $is_reported = sub { scalar grep { $_ eq 'acquire' } map { @$_ } @{ $fake->reads } };
    my @ids = map { "k$_" } 1 .. 5;
    $gateway->import_key($_, id => $_, plan => 'free') for @ids, 'other';
    wait_for_room($redis, 3600, 72);
    for my $id (@ids, 'other') { wait_until("$id to be known", sub { granted($gateway, 1, $id) == 1 }) }
    for my $id (@ids) {
        $fake->fault('silent');
        is(granted($gateway, 5, $id), 5, 'granted without Redis');
        $fake->reads;
        $fake->fault('lost');
        wait_until('the report', $is_reported, 30);
        is(granted($gateway, 7, $id), 7, 'granted while it is not acknowledged');
    }
    $fake->heal;
    my $decisions_of_redis = sub { $gateway->status->{redis}[0]{quota_decisions}{redis} };
    my $before = $decisions_of_redis->();
    wait_until('a decision of Redis', sub { granted($gateway, 1, 'other') && $decisions_of_redis->() > $before }, 30);
    $gateway->nginx->stop;
    # A call that Redis runs before its deadline, but whose request has timed out, is counted twice.
    cmp_ok($gateway->count($_, 'api', 3600), '>=', 13, 'Redis counts all that was granted') for @ids;
};

subtest 'a full zone keeps the records of keys that owe units' => sub {
    my $gateway = Gateway->start(
        plans => 'plan free 1000000r/d;', table => 'lease=off', http => 'tollgate_zone 128k;',
    );
    my @ids = map { "k$_" } 1 .. 50;
    my @others = map { "other$_" } 1 .. 3000;
    $gateway->import_key($_, id => $_, plan => 'free') for @ids, @others;
    wait_for_room($gateway->redis, 86400, 72);
    is(scalar(grep { granted($gateway, 1, $_) } @ids), 50, 'known');
    $gateway->redis->sigstop;
    is(scalar(grep { granted($gateway, 2, $_) == 2 } @ids), 50, 'granted alone');
    $gateway->redis->sigcont;
    # At once, before the node reports to Redis.
    my @more = @others;
    Load->run(servers => [$gateway->address], connections => 16, requests => scalar @others, token => sub { shift @more });
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    # A request that Redis counted before its deadline, but that was granted without the reply, is counted twice.
    my @missing = grep { $gateway->count($_, 'api', 86400) < 3 } @ids;
    is_deeply(\@missing, [], 'Redis counts the granted units of each id');
    $gateway->nginx->stop;
};

subtest 'the owed units of a deleted key are settled' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/d;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 86400, 72);
    is(granted($gateway, 1, 'k'), 1, 'known');
    $gateway->redis->kill;
    is(granted($gateway, 20, 'k'), 20, 'granted alone');
    $gateway->redis->restart;    # without data: the key is unknown
    wait_until('the key to be refused', sub { $gateway->get('/', 'k')->status == 401 }, 30);
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    cmp_ok($gateway->count('k1', 'api', 86400), '>=', 20, 'Redis counts the units that were granted alone');
    $gateway->nginx->stop;
};

subtest 'a Redis that refuses writes settles nothing' => sub {
    my $gateway = Gateway->start(plans => 'plan free 10000r/h;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600, 72);
    is(granted($gateway, 1, 'k'), 1, 'known');
    $gateway->redis->cmd('REPLICAOF', '127.0.0.1', 1);
    is(granted($gateway, 50, 'k'), 50, 'granted alone');
    sleep 1;    # for attempts to settle, which must not be counted
    my $owed = $gateway->status->{redis}[0]{owed_units};
    is($owed->{settled}, 0, 'nothing is settled');
    cmp_ok($owed->{noted}, '>=', 49, 'the granted units are noted');
    $gateway->redis->cmd('REPLICAOF', 'NO', 'ONE');
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    $owed = $gateway->status->{redis}[0]{owed_units};
    is($owed->{settled}, $owed->{noted}, 'all noted units are settled');
    is($gateway->count('k1', 'api', 3600), 51, 'Redis counts each once');
    $gateway->nginx->stop;
};

subtest 'a sliding window counts an outage in the window before' => sub {
    my $gateway = Gateway->start(plans => 'plan free 20r/4s window=sliding;', redis_options => $durable);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_window($gateway->redis, 4, 0.1);
    wait_until('a known key', sub { granted($gateway, 1, 'k') == 1 });
    $gateway->redis->kill;
    is(granted($gateway, 25, 'k'), 19, 'the limit applies without Redis');
    my $number = int(time / 4);
    wait_until('the next window', sub { int(time / 4) > $number }, 30);
    cmp_ok(granted($gateway, 1, 'k'), '<=', 1, 'one request after the boundary');
    $gateway->redis->restart;
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    my %hash = @{ $gateway->redis->cmd('HGETALL', 't:quota:{k1}:api') };
    SKIP: {
        skip 'the machine was too slow: another window has begun', 1 if $hash{'4.number'} != $number + 1;
        is($hash{'4.previous'}, 20, 'Redis has the count of the window before');
    }
    $gateway->nginx->stop;
};

subtest 'different costs take no memory while Redis is unreachable' => sub {
    my $gateway = Gateway->start(
        plans => 'plan free 1000000000r/h;', redis_options => $durable,
        location => 'tollgate_cost $arg_cost;',
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600, 72);
    is($gateway->get('/?cost=1', 'k')->status, 200, 'known');
    $gateway->redis->kill;
    my ($worker) = $gateway->nginx->workers;
    # Not the pages of files and of the zone: the kernel may evict and load them at any time.
    my $resident = sub {
        open my $file, '<', "/proc/$worker/status" or die $!;
        return (map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$file>)[0];
    };
    my ($units, $before) = (1);
    my $grant = sub {
        my ($from, $to) = @_;
        for my $cost ($from .. $to) { $units += $cost if $gateway->get("/?cost=$cost", 'k')->status == 200 }
    };
    $grant->(1, 500);
    $before = $resident->();
    $grant->(501, 4500);
    cmp_ok($resident->() - $before, '<', 300, 'the worker does not grow') unless $ENV{TOLLGATE_SANITIZE};
    $gateway->redis->restart;
    wait_until('Redis to count them', sub { $gateway->count('k1', 'api', 3600) >= $units }, 30);
    is($gateway->count('k1', 'api', 3600), $units, 'each unit is counted once');
    $gateway->nginx->stop;
};

done_testing;
