# Several nodes: each knows how many there are, and in an outage each grants its share of what was left.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_window);
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
    wait_for_window($busy->redis, 3600, 0.98);
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
    is($busy->count('k', 'api', 3600), 500 + 148 + 145 + 143 + 350, 'Redis counts them afterwards');
    $_->nginx->stop for @others;
    becomes(sub { nodes($busy) }, 1, 'nodes that have stopped are not counted');
    $busy->nginx->stop;
};

subtest 'a user that may not use sorted sets' => sub {
    my $gateway = Gateway->start(plans => 'plan free 10r/h;', redis => 'timeout 500ms;');
    $gateway->redis->cmd('ACL', 'SETUSER', 'default', '-zadd');
    $gateway->import_key('k', id => 'k', plan => 'free');
    my $again = Gateway->start(plans => 'plan free 10r/h;', redis => 'timeout 500ms;', share => $gateway);
    wait_until('the log', sub { $again->nginx->error_log =~ /\[warn\].*nodes are not counted; in an outage, each node grants all that is left/ });
    is($again->get('/', 'k')->status, 200, 'requests are granted');
    wait_for_window($gateway->redis, 3600, 0.98);
    $gateway->redis->sigstop;
    is(granted($again), 9, 'all that is left');
    $gateway->redis->sigcont;
    $_->nginx->stop for $again, $gateway;
};

done_testing;
