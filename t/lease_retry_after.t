# A client that is refused while other nodes hold units in leases is told when these units come back.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(in_one_window);
use Load;
use Time::HiRes qw(sleep time);

my ($limit, $period) = (2000, 20);
my $plans = "plan free ${limit}r/${period}s;";
my $rest = 'location /rest { tollgate api; tollgate_cost $arg_units; proxy_pass http://unix:%DIR%/upstream.sock; }';
my @nodes = my $first = Gateway->start(plans => $plans, workers => 2);
push @nodes, map { Gateway->start(plans => $plans, workers => 2, share => $first, server => $rest) } 2 .. 3;

my $round = 0;
my $attempt = sub {
    my $key = 'k' . ++$round;
    $first->import_key($key, id => $key, plan => 'free');
    my $granted = 0;
    my $held = sub { ($first->count($key, 'api', $period) // 0) - $granted };
    my $burst = sub {
        my ($node, $requests) = @_;
        my $status = Load->run(servers => [$node->address], connections => 8, requests => $requests, token => $key)->{status};
        $granted += $status->{200} // 0;
    };
    # Two nodes get a burst, until they hold units, and nothing later.
    for (1 .. 20) {
        $burst->($_, 60) for @nodes[0, 1];
        last if $held->() > 0;
    }
    my $idle = $held->();
    # The third node spends the rest, in one request unless idle units come back meanwhile.
    while ((my $units = $limit - $first->count($key, 'api', $period)) > 0) {
        $granted += $units if $nodes[2]->get("/rest?units=$units", $key)->status == 200;
    }
    my $r = $nodes[2]->get('/', $key);
    my %seen = (idle => $idle, held => $held->(), counted => $first->count($key, 'api', $period), status => $r->status);
    return \%seen if $r->status != 429;
    $seen{retry_after} = $r->header('Retry-After');
    $seen{reset} = $r->header('X-RateLimit-Reset') - time;
    sleep $seen{retry_after};
    $seen{later} = $nodes[2]->get('/', $key)->status;
    return \%seen;
};
# On a busy machine, idle units may come back before the third node is refused. Then the test begins again.
my $result;
for (1 .. 10) {
    $result = in_one_window($first->redis, $period, $attempt);
    last if $result->{held} && $result->{counted} == $limit;
}
cmp_ok($result->{idle}, '>', 0, "nodes hold $result->{idle} units after their bursts");
is($result->{status}, 429, 'the third node is refused');
is($result->{counted}, $limit, '… when all units are counted');
cmp_ok($result->{held}, '>', 0, "… of which $result->{held} are in leases");
cmp_ok($result->{retry_after}, '<=', 3, "Retry-After is $result->{retry_after} s");
cmp_ok($result->{reset}, '>', 5, sprintf '… and the window resets in %.1f s', $result->{reset});
is($result->{later}, 200, 'a client that waits so long is granted');

$_->nginx->stop for @nodes;
done_testing;
