# Several nodes: each knows how many there are, and in an outage each grants its share of what was left.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use List::Util qw(min sum);
use Time::HiRes qw(time);
use Wait qw(wait_until becomes);

sub nodes { my ($gateway) = @_; return $gateway->status->{redis}[0]{nodes} }

# The number of requests until one is refused.
sub granted {
    my ($gateway) = @_;
    my $count = 0;
    $count++ while $count < 2000 && $gateway->get('/', 'k')->status == 200;
    return $count;
}

subtest 'each node grants its share' => sub {
    my %conf = (plans => 'plan free 1000r/h;', table => 'lease=off', redis => 'timeout 500ms;');
    my $busy = Gateway->start(%conf);
    my @others = map { Gateway->start(%conf, share => $busy) } 1 .. 3;
    my @all = (@others, $busy);
    $busy->import_key('k', id => 'k', plan => 'free');
    becomes(sub { nodes($_) }, 4, 'a node knows of four') for @all;
    wait_for_room($busy->redis, 3600, 72);
    for my $round (1 .. 5) {
        for my $other (@others) { $other->get('/', 'k') for 1 .. 10 }
        $busy->get('/', 'k') for 1 .. 70;
    }
    is($busy->count('k', 'api', 3600), 500, 'Redis counts all requests');

    $busy->redis->sigstop;
    # Each node has 50 units of the last count that it saw: 410, 420, 430. A quarter of the rest is more. The busy node
    # has 350 of 500.
    is_deeply([map { granted($_) } @all], [148, 145, 143, 350], 'each grants its share');
    my $refused = $busy->get('/', 'k');
    is($refused->status, 429, 'then it refuses');
    is($refused->header('X-RateLimit-Remaining'), 0, '... and shows that nothing remains');
    is(nodes($busy), 4, 'the number of nodes is that from before');

    $busy->redis->sigcont;
    wait_until('all to be settled', sub { !grep { $_->unsettled } @all });
    my $granted = 500 + 148 + 145 + 143 + 350;
    my $counted = $busy->count('k', 'api', 3600);
    cmp_ok($counted, '>=', $granted, 'Redis counts them afterwards');
    cmp_ok($counted, '<=', $granted + @all, '... and counts at most one call of each worker twice, whose reply was late');
    $_->nginx->stop for @others;
    becomes(sub { nodes($busy) }, 1, 'nodes that have stopped are not counted');
    $busy->nginx->stop;
};

subtest 'a user that may not use sorted sets' => sub {
    my $gateway = Gateway->start(plans => 'plan free 10r/h;', redis => 'timeout 500ms;');
    $gateway->redis->cmd('ACL', 'SETUSER', 'default', '-zadd');
    $gateway->import_key('k', id => 'k', plan => 'free');
    my $again = Gateway->start(plans => 'plan free 10r/h;', redis => 'timeout 500ms;', share => $gateway);
    wait_until('the log', sub { $again->nginx->error_log =~ /\[warn\].*nodes are not counted; a node that decides alone grants all that is left: / });
    is($again->get('/', 'k')->status, 200, 'requests are granted');
    is($again->status->{redis}[0]{errors}, 0, 'no connection is lost');
    wait_for_room($gateway->redis, 3600, 72);
    $gateway->redis->sigstop;
    is(granted($again), 9, 'all that is left');
    $gateway->redis->sigcont;
    $_->nginx->stop for $again, $gateway;
};

subtest 'Redis refuses writes for a moment' => sub {
    my %conf = (plans => 'plan free 10r/h;', redis => 'timeout 500ms;');
    my $gateway = Gateway->start(%conf);
    my $other = Gateway->start(%conf, share => $gateway);
    my $redis = $gateway->redis;
    my $calls = sub { my ($number) = $redis->cmd('INFO', 'commandstats') =~ /cmdstat_evalsha:calls=(\d+)/; return $number // 0 };
    becomes(sub { nodes($_) }, 2, 'a node knows of two') for $gateway, $other;
    $redis->cmd('CONFIG', 'SET', 'min-replicas-to-write', 1);
    my $before = $calls->();
    wait_until('refused heartbeats', sub { $calls->() >= $before + 4 });
    $redis->cmd('CONFIG', 'SET', 'min-replicas-to-write', 0);
    $redis->cmd('DEL', 't:nodes');
    becomes(sub { $redis->cmd('ZCARD', 't:nodes') }, 2, 'both nodes enter themselves again');
    unlike($_->nginx->error_log, qr/nodes are not counted/, 'no log says that nodes are not counted') for $gateway, $other;
    $_->nginx->stop for $other, $gateway;
};

subtest 'Redis restarts with older data' => sub {
    my %conf = (plans => 'plan free 1000r/h;', table => 'lease=off', redis => 'timeout 500ms;');
    my $first = Gateway->start(%conf);
    my @all = ($first, map { Gateway->start(%conf, share => $first) } 1 .. 2);
    my $redis = $first->redis;
    $first->import_key('k', id => 'k', plan => 'free');
    becomes(sub { nodes($_) }, 3, 'a node knows of three') for @all;
    wait_for_room($redis, 3600, 72);
    my $ask_all = sub { my ($times) = @_; for my $node (@all) { $node->get('/', 'k') for 1 .. $times } };
    $ask_all->(20);
    $redis->cmd('ZREMRANGEBYRANK', 't:nodes', 0, -1);    # as if the data were some seconds old
    $redis->cmd('SAVE');
    $ask_all->(100);
    is($first->count('k', 'api', 3600), 360, 'Redis counts all requests');
    $redis->kill;
    $redis->restart;
    my $count = sub { $first->count('k', 'api', 3600) // 0 };
    for my $node (@all) {
        wait_until('a reply of Redis', sub { my $before = $count->(); $node->get('/', 'k'); $count->() > $before });
    }
    my $end = time + 3;
    my $least = 3;
    while (time < $end) { $least = min($least, map { nodes($_) } @all) }
    is($least, 3, 'the number of nodes is that from before');
    wait_until('all to be settled', sub { !grep { $_->unsettled } @all });
    $_->get('/', 'k') for @all;
    my $left = 1000 - $count->();
    cmp_ok($left, '>', 900, 'Redis has lost counts');
    $redis->sigstop;
    my $granted = sum(map { granted($_) } @all);
    cmp_ok($granted, '<=', 2 * $left + 3, "$granted are granted of $left: twice what was left, and one for each node");
    $redis->sigcont;
    $_->nginx->stop for @all;
};

done_testing;
