# Commands lose the connections to a Redis Cluster at some step. An operation changes several slots there, one after the
# other: the state is safe after it, and the same command completes it when it is run again.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use ClusterProxy;
use Digest::SHA qw(sha256_hex);
use Interruptions;
use RedisCluster;
use Command;
use Test::More;

plan skip_all => 'a thousand commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};
my $cluster = RedisCluster->start(masters => 3);
my @ports = map { $_->port } $cluster->nodes;
my $url = 'redis+cluster://' . join ',', map { "127.0.0.1:$_" } @ports;
use_deployment(
    redis   => $cluster,
    masters => [$cluster->nodes],
    url     => $url,
    proxy   => sub { my ($n, $when) = @_; return ClusterProxy->start(ports => \@ports, n => $n, when => $when) },
);
test_interruptions();

# A gateway has cached the key. It notices that the key has ended only if it is told.
subtest 'gateways are told of each key that ends, at the latest by the second run' => sub {
    my $tollgate = Command->new(redis => $url);
    my $steps = 0;
    for my $command ([qw(key revoke --yes)], [qw(key disable)], [qw(key rotate --overlap 0s)]) {
        my @cases;
        for my $when (qw(before after)) {
            for my $n (steps($when)) {
                my $id = next_id();
                my @digests = map { sha256_hex($_) } issued($id), key_of($tollgate->run(qw(key rotate), $id));
                $cluster->cmd('ZREM', 'changes', @digests);
                my (undef, $reached) = run_cut($n, $when, @$command, $id);
                last unless $reached;
                push @cases, { id => $id, digests => \@digests, place => "cut $when command $n" };
            }
        }
        $steps += @cases;
        run_batches(map { [@$command, $_->{id}] } @cases);
        my %told = map { $_ => 1 } @{ $cluster->cmd('ZRANGE', 'changes', 0, -1) };
        my @wrong = map { my $case = $_; map { "$case->{place}: $_" } grep { !$told{$_} } @{ $case->{digests} } } @cases;
        is_deeply \@wrong, [], "@$command";
    }
    cmp_ok $steps, '>', 30, "… $steps interruptions";
};

# While a slot migrates, its keys are at two servers: a script with two keys may fail.
subtest 'each transaction touches one key' => sub {
    my $tollgate = Command->new(redis => $url);
    my %monitors = map { $_->port => $_->connection } $cluster->nodes;
    $_->cmd('MONITOR') for values %monitors;
    my $id = issued('slots') && 'slots';
    $tollgate->run({ stdin => 'slots-token' }, qw(key import --plan free --id slots2));
    $tollgate->run(@$_, $id) for [qw(key rotate)], [qw(key set --plan pro)], [qw(key rotate --overlap 0s)], [qw(key disable)],
        [qw(key enable)], [qw(ban lift)], [qw(key revoke --yes)];
    my (@wrong, $transactions);
    for my $node ($cluster->nodes) {
        $node->cmd('PING', 'the end');
        while ((my $line = $monitors{ $node->port }->read) !~ /"the end"/) {
            my ($keys) = $line =~ /\] "EVAL(?:SHA)?" "(?:[^"\\]|\\.)*" "(\d+)"/s or next;
            $transactions++;
            push @wrong, $line if $keys != 1;
        }
    }
    is_deeply \@wrong, [], 'none touches two';
    cmp_ok $transactions, '>', 20, "… of $transactions";
};

done_testing;
