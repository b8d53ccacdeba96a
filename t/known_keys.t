# Keys that a gateway knows are served while a master of a cluster is away, although the subscription to changes is lost
# with it and the keys were changed shortly before.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use RedisCluster;
use Time::HiRes qw(time);
use Wait qw(wait_until becomes);

my $cluster = RedisCluster->start(masters => 3);
my ($first) = $cluster->nodes;
my $gateway = Gateway->start(
    plans => 'plan free 1000000r/h;', redis_server => $cluster, redis => 'timeout 300ms;', workers => 2,
);
my @keys = map { "k$_" } 1 .. 24;
$gateway->import_key($_, id => $_, plan => 'free') for @keys;
wait_until('subscriptions', sub { $gateway->status->{redis}[0]{subscribed_workers} == 2 });
# As the command records changes, with their time.
for my $key (@keys) {
    my ($s, $us) = @{ $first->cmd('TIME') };
    $cluster->cmd('ZADD', 't:changes', $s * 1000 + int($us / 1000), $_) for $key, sha256_hex($key);
    $cluster->cmd('PUBLISH', 't:events', $key);
}
# Each worker has to know each key. Which worker gets a request is not known.
for my $key (@keys) {
    wait_until("$key to be known", sub { $gateway->get('/', $key)->status == 200 }) for 1 .. 10;
}

my $redis = sub { $gateway->status->{redis}[0] };
my %seen;
my $ask = sub {
    my ($seconds) = @_;
    for (my $end = time + $seconds; time < $end;) {
        $seen{ $gateway->get('/', $_)->status }++ for @keys;
    }
};
for my $node (($cluster->nodes)[1, 2]) {
    $node->sigstop;
    $ask->(4);
    $node->sigcont;
    becomes(sub { $redis->()->{breaker}{open_workers} }, 0, 'all masters are reachable again');
    $ask->(2);
}
$first->kill;
$ask->(4);
is_deeply([keys %seen], [200], 'no request of a known key is refused') or diag(explain(\%seen));
$gateway->nginx->stop;
done_testing;
