# `cluster … resolve`, and a cluster that reports its servers by host names.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use FakeDns;
use Gateway qw(wait_for_room);
use List::Util qw(sum0);
use RedisCluster;
use Wait qw(becomes wait_until);

my $cluster = RedisCluster->start(masters => 3, conf => ['bind 127.0.0.1 127.0.0.2']);
my @nodes = $cluster->nodes;
my @ids = map { "k$_" } 1 .. 30;
my %names = map { ("node$_.test" => ['127.0.0.1']) } 0 .. $#nodes;
for my $i (0 .. $#nodes) {
    $nodes[$i]->cmd('CONFIG', 'SET', 'cluster-announce-hostname', "node$i.test");
    $nodes[$i]->cmd('CONFIG', 'SET', 'cluster-preferred-endpoint-type', 'hostname');
}
for my $node (@nodes) {
    wait_until('the names', sub { !grep { $_->[2][0] !~ /^node\d\.test$/ } @{ $node->cmd('CLUSTER', 'SLOTS') } });
}

sub start {
    my (%options) = @_;
    my $dns = delete $options{dns};
    $_->cmd('FLUSHALL') for @nodes;
    my $gateway = Gateway->start(
        redis_server => $cluster, log_level => 'notice', http => $dns ? 'resolver ' . $dns->address . ';' : '',
        redis => 'on_failure deny;', plans => 'plan free 5r/h; anonymous 100000r/h;', %options,
    );
    $gateway->import_key($_, id => $_, plan => 'free') for @ids;
    return $gateway;
}

sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /$pattern/g) }

# All masters are connected.
sub served {
    my ($gateway) = @_;
    wait_until('the masters', sub { !grep { $gateway->get('/', "no$_")->status != 401 } 1 .. 10 });
}

subtest 'servers with names' => sub {
    my $dns = FakeDns->start(names => {}, ttl => 1);
    my $seed = 'seed.test:' . $nodes[0]->port;
    my $gateway = start(dns => $dns, server_address => "$seed resolve");
    is($gateway->get('/', 'k1')->status, 503, 'no name is known: 503');
    $dns->names(%names, 'seed.test' => ['127.0.0.1']);
    served($gateway);
    wait_for_room($cluster, 3600, 72);
    my %granted;
    for my $round (1 .. 7) {
        for my $id (@ids) { $granted{$id}++ if $gateway->get('/', $id)->status == 200 }
    }
    is_deeply([@granted{@ids}], [(5) x @ids], 'each id is granted its limit');
    is_deeply([map { $gateway->count($_, 'api', 3600) } @ids], [(5) x @ids], '... and Redis counts it');
    is_deeply([sort map { $_->{address} } @{ $gateway->status->{redis}[0]{masters} }],
        [sort map { "node$_.test:" . $nodes[$_]->port } 0 .. $#nodes], 'the status shows the names');
    wait_until('the subscription', sub { $gateway->status->{redis}[0]{subscribed_workers} == 1 });
    $gateway->nginx->stop;
};

subtest 'MOVED to a name, and a name that gets another address' => sub {
    my $dns = FakeDns->start(names => \%names, ttl => 1);
    my $gateway = start(dns => $dns, plans => 'plan free 1000000r/d; anonymous 100000r/h;', table => 'lease=off');
    served($gateway);
    wait_for_room($cluster, 86400, 72);
    $gateway->get('/', $_) for @ids;
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, keys => \@ids);
    for my $id (@ids) {
        my $from = $cluster->master_of("t:quota:{$id}:api");
        my ($to) = grep { $_->port != $from->port } @nodes;
        $cluster->move_slots($from, $to, $cluster->slot_of("{$id}"));
    }
    my $master = $cluster->master_of('t:quota:{k1}:api');
    my ($node) = grep { $nodes[$_]->port == $master->port } 0 .. $#nodes;
    my $port = $master->port;
    $dns->names("node$node.test" => ['127.0.0.2']);
    wait_until('the move', sub { lines($gateway, qr/moved from 127\.0\.0\.1:$port to 127\.0\.0\.2:$port/) });
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
    is(sum0(map { $gateway->count($_, 'api', 86400) } @ids), $result->{status}{200} + @ids, 'Redis counts each once');
    cmp_ok($gateway->status->{redis}[0]{redirections}, '>', 0, 'calls were redirected');
    $gateway->nginx->stop;
};

subtest 'names without a resolver' => sub {
    my $gateway = start();
    wait_until('the log', sub { lines($gateway, qr/the cluster reports the server node\d\.test:\d+ by its host name, and there is no "resolver"/) });
    becomes(sub { join ' ', map { $gateway->get('/', $_)->status } @ids }, join(' ', (503) x @ids), 'the servers are unreachable');
    is(lines($gateway, qr/by its host name/), 1, 'the log says so once');
    $gateway->nginx->stop;
};

done_testing;
