# Keys that a gateway knows are served while a master of a cluster is away, although the subscription to changes is lost
# with it and the keys were changed shortly before.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Command;
use Digest::SHA qw(sha256_hex);
use Gateway;
use JSON::PP qw(encode_json);
use RedisCluster;
use Time::HiRes qw(sleep time);
use Wait qw(wait_until becomes);

my $cluster = RedisCluster->start(masters => 3);
my $gateway = Gateway->start(
    plans => 'plan free 1000000r/h; plan pro 2000000r/h;', redis_server => $cluster, redis => 'timeout 300ms;', workers => 2,
);
my $tollgate = Command->new(redis => 'redis+cluster://' . join(',', map { '127.0.0.1:' . $_->port } $cluster->nodes), prefix => 't:');
wait_until('subscriptions', sub { $gateway->status->{redis}[0]{subscribed_workers} == 2 });
my @keys = map { "k$_" } 1 .. 24;
my $records = join '', map { encode_json({ id => $_, plan => 'free', digest => sha256_hex($_) }) . "\n" } @keys;
is($tollgate->run({ stdin => $records }, 'import', '-')->{status}, 0, 'the keys are imported');
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
# Last the master that has the recent changes: then the workers subscribe to another one.
my $owner = $cluster->master_of('t:changes');
my @others = grep { $_ != $owner } $cluster->nodes;
for my $node ($others[0], $owner) {
    $node->sigstop;
    $ask->(4);
    $node->sigcont;
    becomes(sub { $redis->()->{breaker_open_workers} }, 0, 'all masters are reachable again');
    $ask->(2);
}
is_deeply([keys %seen], [200], 'no request of a known key is refused') or diag(explain(\%seen));

# Keys in constant use are looked up within a few ms of their change. When a worker has lost its subscription and reads the
# changes, the age of a change tells only roughly when it was made: 1 ms more or less for each second.
my ($lost) = grep { $_->cmd('PUBSUB', 'NUMSUB', 't:events')->[1] } @others;
my @used = grep { $cluster->master_of('t:key:' . sha256_hex($_)) == $lost } @keys;
my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 4, keys => \@used);
is($tollgate->run('key', 'set', $_, '--plan', 'pro')->{status}, 0, "$_ gets another plan") for @used;
sleep 5;
$lost->kill;
sleep 4;
my $status = $load->finish->{status};
is_deeply([keys %$status], [200], 'nor one of a known key that changed while it was in use') or diag(explain($status));
$gateway->nginx->stop;
done_testing;
