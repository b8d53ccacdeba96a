# A Redis Cluster: calls reach the master of their slot, also while masters fail and slots move.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use Http qw(http_request);
use List::Util qw(sum0);
use Load;
use RedisCluster;
use Time::HiRes qw(sleep time);
use Wait qw(becomes wait_until);

my $cluster = RedisCluster->start(masters => 3, replicas => 1);
my ($one, $two, $three) = $cluster->nodes;
my @ids = map { "k$_" } 1 .. 30;

sub start {
    my (%options) = @_;
    $_->cmd('FLUSHALL') for grep { $_->cmd('ROLE')->[0] eq 'master' } $cluster->nodes;
    my $gateway = Gateway->start(redis_server => $cluster, %options);
    $gateway->import_key($_, id => $_, plan => 'free') for @ids;
    return $gateway;
}

sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /^.*$pattern.*$/gm) }

# The master of an id's quota.
sub master_of { my ($id) = @_; return $cluster->master_of("t:quota:{$id}:api") }

subtest 'keys of all slots are counted at their masters' => sub {
    my $gateway = start(plans => 'plan free 5r/h;', workers => 2);
    wait_for_room($cluster, 3600, 72);
    my %granted;
    for my $round (1 .. 7) {
        for my $id (@ids) { $granted{$id}++ if $gateway->get('/', $id)->status == 200 }
    }
    is_deeply([@granted{@ids}], [(5) x @ids], 'each is granted its limit');
    is_deeply([map { $gateway->count($_, 'api', 3600) } @ids], [(5) x @ids], '... and Redis counts it');
    my ($redis) = @{ $gateway->status->{redis} };
    is($redis->{kind}, 'cluster', 'the status shows the kind');
    is_deeply([sort map { $_->{address} } @{ $redis->{masters} }], [sort map { '127.0.0.1:' . $_->port } $one, $two, $three], '... the masters');
    is(sum0(map { $_->{slots} } @{ $redis->{masters} }), 16384, '... and their slots');
    my $page = do { open my $file, '<', 'module/docs/operations.md' or die $!; local $/; <$file> };
    my $metrics = http_request('unix:' . $gateway->nginx->dir . '/gateway-status.sock', 'GET', '/?format=prometheus')->body;
    my @documented = grep { !/master_info/ } $page =~ /`(tollgate_redis_(?:master|slot_map)_\w+)/g;
    cmp_ok(scalar @documented, '>=', 3, 'the documentation lists metrics of clusters');
    like($metrics, qr/^$_\{redis="main"/m, "... $_") for @documented;
    my %masters = map { master_of($_)->port => 1 } @ids;
    is(scalar keys %masters, 3, 'each master has some of them');
    is($gateway->get('/', 'nobody')->status, 401, 'an unknown key is refused');
    is($gateway->status->{redis}[0]{errors}, 0, 'no errors');
    $gateway->nginx->stop;
};

subtest 'a changed key is noticed, whichever node publishes it' => sub {
    # Without the message, a cached record would be used for an hour.
    my $gateway = start(plans => 'plan free 1000r/h;', redis => 'key_cache 1h;');
    wait_until('the subscription', sub { $gateway->status->{redis}[0]{subscribed_workers} == 1 });
    for my $node ($cluster->nodes) {
        is($gateway->get('/', 'k1')->status, 200, 'granted');
        $gateway->redis->cmd('HSET', 't:key:' . sha256_hex('k1'), state => 'disabled');
        $node->cmd('PUBLISH', 't:events', 'k1');
        becomes(sub { $gateway->get('/', 'k1')->status }, 401, 'refused');
        $gateway->redis->cmd('HSET', 't:key:' . sha256_hex('k1'), state => 'active');
        $node->cmd('PUBLISH', 't:events', 'k1');
        wait_until('the key to be granted', sub { $gateway->get('/', 'k1')->status == 200 });
    }
    $gateway->nginx->stop;
};

subtest 'the documented user is sufficient' => sub {
    my $page = join '', map { open my $file, '<', "module/docs/$_.md" or die $!; <$file> } qw(redis redis_data);
    my ($rules) = $page =~ /^user gateway (.*)$/m or die 'no user in the documentation';
    my ($more) = $page =~ /needs `(\+cluster\S* \+asking)` in addition/ or die 'no commands in the documentation';
    $rules =~ s/petstore:/t:/g;
    $_->cmd('ACL', 'SETUSER', 'gateway', 'reset', split(/ /, $rules), split(/ /, $more)) for $cluster->nodes;
    my $gateway = start(plans => 'plan free 5r/h;', redis => 'username gateway; password SECRET;');
    is($gateway->get('/', $_)->status, 200, "$_ is granted") for @ids[0 .. 9];
    is($gateway->get('/', 'nobody')->status, 401, 'an unknown key is refused');
    wait_until('the subscription', sub { $gateway->status->{redis}[0]{subscribed_workers} == 1 });
    my $id = $ids[0];
    my $from = master_of($id);
    my ($to) = grep { $_ != $from } $one, $two, $three;
    $to->cmd('CLUSTER', 'SETSLOT', $cluster->slot_of("{$id}"), 'IMPORTING', $from->cmd('CLUSTER', 'MYID'));
    $from->cmd('CLUSTER', 'SETSLOT', $cluster->slot_of("{$id}"), 'MIGRATING', $to->cmd('CLUSTER', 'MYID'));
    $from->cmd('DEL', "t:quota:{$id}:api");
    is($gateway->get('/', $id)->status, 200, 'a redirection with ASK is followed');
    is($to->connection->cmd('ASKING'), 'OK', 'the slot is imported');
    cmp_ok($gateway->status->{redis}[0]{redirections}, '>=', 1, '... by this redirection');
    $_->cmd('CLUSTER', 'SETSLOT', $cluster->slot_of("{$id}"), 'STABLE') for $to, $from;
    $gateway->nginx->stop;
};

subtest 'slots move under load' => sub {
    # On a busy machine a call may time out after Redis ran it; it then counts twice.
    my $gateway = start(plans => 'plan free 1000000r/d;', table => 'lease=off', workers => 2, redis => 'timeout 5s;');
    wait_for_room($cluster, 86400, 72);
    $gateway->get('/', $_) for @ids;
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, keys => \@ids);
    $cluster->move_slots($one, $two, 0 .. 255);
    for my $round (1 .. 2) {
        for my $id (@ids) {
            my $from = master_of($id);
            my ($to) = grep { $_->port != $from->port } $one, $two, $three;
            $cluster->move_slots($from, $to, $cluster->slot_of("{$id}"));
        }
    }
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
    wait_until('all to be settled', sub { $gateway->unsettled == 0 });
    my $counted = sum0(map { $gateway->count($_, 'api', 86400) } @ids);
    is($counted, $result->{status}{200} + @ids, 'Redis counts each once');
    cmp_ok($gateway->status->{redis}[0]{redirections}, '>', 0, 'calls were redirected');
    my $degraded = sum0(map { $_->{verdicts}{degraded} } @{ $gateway->status->{requests} });
    cmp_ok($degraded, '<=', $result->{status}{200} / 1000, 'few were decided without Redis');
    note "$result->{status}{200} requests, $degraded degraded, ", $gateway->status->{redis}[0]{redirections}, ' redirections';
    $gateway->nginx->stop;
};

subtest 'a call that gets TRYAGAIN is sent again soon' => sub {
    my $gateway = start(plans => 'plan free 1000000r/d; ban after=1000 within=1h for=1m;', table => 'lease=off', redis => 'timeout 100ms; on_failure deny;');
    my $id = $ids[0];
    wait_until('a known key', sub { $gateway->get('/', $id)->status == 200 });
    # The slot has the quota, but no ban: Redis can't tell where the ban is.
    my $slot = $cluster->slot_of("{$id}");
    my $from = master_of($id);
    my ($to) = grep { $_ != $from } $one, $two, $three;
    $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->cmd('CLUSTER', 'MYID'));
    my $attempts = sub { $from->cmd('INFO', 'commandstats') =~ /^cmdstat_evalsha:.*rejected_calls=(\d+)/m ? $1 : 0 };
    # A call is due again after 5 ms, and the timer that sends it is set for up to 500 ms later.
    my $in_a_row = 0;
    for (1 .. 60) {
        sleep rand 0.5;
        my $before = $attempts->();
        my $status = $gateway->get('/', $id)->status;
        $in_a_row = $status == 503 && $attempts->() - $before >= 2 ? $in_a_row + 1 : 0;
        last if $in_a_row == 15;
    }
    is($in_a_row, 15, 'before its time is over');
    $from->cmd('CLUSTER', 'SETSLOT', $slot, 'STABLE');
    wait_until('the key to be granted', sub { $gateway->get('/', $id)->status == 200 });
    $gateway->nginx->stop;
};

subtest 'CLUSTER FAILOVER under load' => sub {
    # The timeout is long for the same reason.
    my $gateway = start(plans => 'plan free 1000000r/d;', table => 'lease=off', workers => 2, redis => 'timeout 5s;');
    wait_for_room($cluster, 86400, 72);
    $gateway->get('/', $_) for @ids;
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, keys => \@ids);
    my $counted = sub { sum0(map { $gateway->count($_, 'api', 86400) } @ids) };
    for my $master ($one, $two, $three) {
        my $before = $counted->();
        wait_until('requests', sub { $counted->() > $before + 300 });
        my $id = $master->cmd('CLUSTER', 'MYID');
        my ($replica) = grep { $_->cmd('CLUSTER', 'NODES') =~ /myself,slave $id/ } $cluster->nodes;
        $replica->cmd('CLUSTER', 'FAILOVER');
        wait_until('the replica to take over', sub { $replica->cmd('ROLE')->[0] eq 'master' && $master->cmd('ROLE')->[0] eq 'slave' });
    }
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
    wait_until('all to be settled', sub { $gateway->unsettled == 0 });
    is($counted->(), $result->{status}{200} + @ids, 'Redis counts each once');
    my $degraded = sum0(map { $_->{verdicts}{degraded} } @{ $gateway->status->{requests} });
    note "$result->{status}{200} requests, $degraded degraded";
    $gateway->nginx->stop;
    $cluster->stable;
    ($one, $two, $three) = grep { $_->cmd('ROLE')->[0] eq 'master' } $cluster->nodes;
};

subtest 'a master is killed and its replica takes over' => sub {
    my $gateway = start(plans => 'plan free 1000000r/d;', table => 'lease=off', server => 'location = /ready { tollgate_status ready; }');
    my $readiness = sub { $gateway->get('/ready')->status };
    is($readiness->(), 200, 'ready');
    wait_for_room($cluster, 86400, 72);
    $gateway->get('/', $_) for @ids;
    my $victim = master_of('k1');
    my @lost = grep { master_of($_)->port == $victim->port } @ids;
    my @others = grep { master_of($_)->port != $victim->port } @ids;
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, keys => \@ids);
    my $alone = sub { my $sum = 0; $sum += $_->{verdicts}{degraded} for @{ $gateway->status->{requests} }; return $sum };
    $victim->kill;
    wait_until('the breaker', sub { lines($gateway, qr/server \S+ is unreachable/) });
    is($readiness->(), 503, 'not ready without one of the masters');
    is($gateway->get('/', $others[0])->status, 200, 'a key of another master is served');
    my @replicas = grep { $_->pid && $_->cmd('ROLE')->[0] eq 'slave' } $cluster->nodes;
    wait_until('a replica to be promoted', sub { grep { $_->cmd('ROLE')->[0] eq 'master' } @replicas });
    my $start = time;
    wait_until('the new master', sub { my $before = $alone->(); $gateway->get('/', $lost[0]); $alone->() == $before }, 20);
    note sprintf 'exact %.1f s after the promotion', time - $start;
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
    wait_until('all to be settled', sub { $gateway->unsettled == 0 });
    is($gateway->get('/', 'nobody')->status, 401, 'unknown keys are refused again');
    becomes($readiness, 200, '... and the node is ready again');
    my $granted = sum0(map { $_->{verdicts}{granted} + $_->{verdicts}{degraded} } @{ $gateway->status->{requests} });
    my $counted = sum0(map { $gateway->count($_, 'api', 86400) } @ids);
    # Replication is asynchronous: what the old master counted last is lost. A call without a reply may count twice.
    cmp_ok(abs($counted - $granted), '<=', 200, 'Redis counts what was granted, but for the lag');
    note "granted $granted, counted $counted";
    $victim->restart;
    $cluster->stable;
    $gateway->nginx->stop;
};

done_testing;
