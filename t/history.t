# The history of a plan table: what each id was granted in each UTC day. Redis has a clock of this test.

use strict;
use warnings;
use lib 't/lib';
use BackgroundLoad;
use Command;
use Gateway;
use List::Util qw(sum0);
use RedisCluster;
use RedisServer;
use ShiftedClock;
use Test::More;
use Time::Local qw(timegm_modern);
use Wait qw(wait_until);

my $clock = ShiftedClock->new or plan skip_all => 'no shifted_clock.so in this build';
my $first_day = timegm_modern(0, 0, 0, 29, 1, 2028) / 86400;
sub day { my ($n) = @_; my @t = gmtime(($first_day + $n) * 86400); return sprintf '%04d-%02d-%02d', $t[5] + 1900, $t[4] + 1, $t[3] }

# The lines of the page are sufficient for the users of the gateway and of the command.
my ($gateway_user, $operator) = do {
    open my $page, '<', 'module/docs/redis_data.md' or die $!;
    local $/;
    <$page> =~ /^(user gateway .*)\n(user operator .*)$/m or die 'no users';
    map { s/petstore:/t:/gr } $1, $2;
};

my %plan = (free => 'free', all => 'all', slide => 'slide', day => 'day');
my $plans = <<'END';
    plan free  100000r/h;
    plan day   100000r/h 1000000r/d;
    plan slide 100000r/h window=sliding;
    plan all   unlimited;
    history    90d;
END
my $redis = $clock->start(sub { RedisServer->start(acl => ['user default on nopass ~* &* +@all', $gateway_user, $operator]) });
$clock->set(day(0) . ' 12:00:00');

my @access_log = (
    http   => 'log_format key "$tollgate_key_id $status";',
    server => 'access_log %DIR%/access.log key; location = /quota { tollgate api; tollgate_cost 0; tollgate_usage; }
               location = /three { tollgate api; tollgate_cost 3; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
);
sub node {
    return Gateway->start(
        redis_server => $redis,
        workers      => 2,
        plans        => $plans,
        redis        => ($redis->isa('RedisCluster') ? '' : 'username gateway; password SECRET; ') . 'timeout 500ms;',
        @access_log,
    );
}
my @nodes = map { node() } 1 .. 3;
sub import_keys {
    $nodes[0]->import_key($_, id => $_, plan => $plan{$_}, /free|slide/ ? (billing_day => 2) : ()) for keys %plan;
    $redis->cmd('ZADD', 't:ids', map { (1, $_) } keys %plan);
}
import_keys();
my $tollgate = Command->new(redis => "unix://operator:SECRET\@" . $redis->socket, prefix => 't:');
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });

# The requests of an id that were granted, by the access logs of all nodes.
sub granted {
    my ($id) = @_;
    my $count = 0;
    for my $node (@nodes) {
        open my $log, '<', $node->nginx->dir . '/access.log' or die $!;
        $count += grep { /^\Q$id\E 200$/ } <$log>;
    }
    return $count;
}
sub leases { my ($node) = @_; return $node->status->{redis}[0]{lease_units} }
sub settle {
    eval { wait_until('the nodes to be settled', sub { !grep { $_->unsettled } @nodes }) }
        or die $@, map { "node: $_\n" } map { (explain($_->status->{redis}), $_->nginx->error_log) } @nodes;
    wait_until('idle leases to go back', sub {
        !grep { my $l = leases($_); $l->{granted} - $l->{spent} - $l->{returned} - $l->{lost} } @nodes;
    });
}
sub history { my ($id) = @_; return $tollgate->json('usage', $id, '--history')->{days} }
sub units { my ($id) = @_; return sum0 map { $_->{units} } @{ history($id) } }

sub counted_day { my ($id) = @_; return $redis->cmd('HGET', "t:quota:{$id}:api", '86400.number') }
sub load { return BackgroundLoad->start(servers => [map { $_->address } @nodes], connections => 4, keys => [sort keys %plan]) }
sub await_requests { my ($more) = @_; my $before = granted('free'); wait_until('requests', sub { granted('free') >= $before + $more }) }
# Sets the clock to the begin of a day, calls $code, and waits until Redis has counted the day. Nodes use their leases until
# they ask Redis.
sub begin_day {
    my ($n, $code) = @_;
    $clock->set(day($n) . ' 00:00:00');
    $code->() if $code;
    for my $id (sort keys %plan) {
        wait_until("requests of $id in the next day", sub { counted_day($id) == $first_day + $n });
    }
}

sub test_end_of_day {
    my $load = load();
    await_requests(300);
    begin_day(1);
    await_requests(300);
    is_deeply([keys %{ $load->finish->{status} }], [200], 'all requests are granted');
    settle();
    is(sum0(map { leases($_)->{lost} } @nodes), 0, 'no leased unit is lost');
    for my $id (sort keys %plan) {
        my $days = history($id);
        is_deeply([map { $_->{day} } @$days], [day(0), day(1)], "$id: two days");
        cmp_ok($_->{units}, '>=', 100, "… of requests in $_->{day}") for @$days;
        is(units($id), granted($id), '… which were granted');
        is($redis->cmd('HGET', "t:history:{$id}", "api:$first_day"), $days->[0]{units}, '… the first of which is in the history');
    }
    is($redis->cmd('HGET', 't:quota:{free}:api', '86400.count'), history('free')->[1]{units}, 'a day is counted for a plan without one');
}

# $server is stopped before the end of the day.
sub test_outage {
    my ($server) = @_;
    my %before = map { $_ => [granted($_), units($_)] } keys %plan;
    my $lost = sum0(map { leases($_)->{lost} } @nodes);
    my $alone = sum0(map { $_->status->{redis}[0]{owed_units}{noted} } @nodes);
    my $load = load();
    await_requests(200);
    # Calls that it executed before the pause are answered. Otherwise, a lost reply may have a lease.
    $server->cmd('CLIENT', 'PAUSE', 200, 'ALL');
    $server->sigstop;
    await_requests(500);
    # Redis rejects the calls that it has not read yet: their deadline has passed.
    begin_day(2, sub { $server->sigcont });
    await_requests(300);
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted');
    settle();
    cmp_ok(sum0(map { $_->status->{redis}[0]{owed_units}{noted} } @nodes), '>', $alone, '… some of them without Redis');
    $lost = sum0(map { leases($_)->{lost} } @nodes) - $lost;
    my $surplus = 0;
    for my $id (sort keys %plan) {
        my $units = units($id) - $before{$id}[1];
        my $more = $units - (granted($id) - $before{$id}[0]);
        cmp_ok($more, '>=', 0, "$id: what was granted is in the history");
        $surplus += $more;
        is(scalar @{ history($id) }, 3, '… in three days');
    }
    cmp_ok($surplus, '<=', $lost + 4 * 2 * @nodes, "further units are those of lost leases ($lost), and of one call for each worker and id");
}

subtest 'over the end of a day' => \&test_end_of_day;

subtest 'what a client sees' => sub {
    my $r = $nodes[0]->get('/quota', 'free');
    is_deeply([map { $_->{policy} } @{ $r->json->{windows} }], ['free-hour'], 'the day is not shown');
    $r = $nodes[0]->get('/quota', 'all');
    is_deeply($r->json->{windows}, [], '… also not for an unlimited plan');
    is($r->header('X-RateLimit-Limit'), undef, '… which has no fields');
    settle();
    my $before = units('all');
    is($nodes[0]->get('/three', 'all')->status, 200, 'a request of cost 3');
    settle();
    is(units('all'), $before + 3, '… counts three units');
};

subtest 'an outage over the end of a day' => sub { test_outage($redis) };

subtest 'ids that do not return' => sub {
    my $ends = ($first_day + 3 + 90) * 86400 * 1000;
    is($redis->cmd('PEXPIRETIME', 't:quota:{free}:api'), $ends, 'the last day is kept as long as the history');
    is($redis->cmd('PEXPIRETIME', 't:history:{free}'), $ends - 86400 * 1000, '… and so is the history');
    $clock->set(day(20) . ' 00:00:00');
    my $before = history('free');
    is(scalar @$before, 3, 'days are shown 18 days later');
    wait_until('a request that Redis decides', sub { $nodes[0]->get('/', 'free'); counted_day('free') == $first_day + 20 });
    settle();
    is_deeply([@{ history('free') }[0 .. 2]], $before, '… and after the next request');
    is(history('free')->[3]{day}, day(20), '… which has its own day');
};

subtest 'export' => sub {
    my @lines = split /\n/, $tollgate->run(qw(export usage --to), day(20))->{out};
    is(shift @lines, 'id,table,day,units', 'the heading of CSV');
    my @expected = map { my $id = $_; map { "$id,api,$_->{day},$_->{units}" } @{ history($id) } } sort keys %plan;
    is_deeply(\@lines, \@expected, 'all days of all ids');
    @lines = split /\n/, $tollgate->run(qw(--json export usage --from), day(1), '--to', day(1))->{out};
    is(scalar @lines, keys %plan, 'one day, as JSON lines');
    is_deeply(JSON::PP::decode_json($lines[0]), { id => 'all', table => 'api', day => day(1), units => history('all')->[1]{units} }, '… an object');
    @lines = split /\n/, $tollgate->run(qw(export usage))->{out};
    my $today = day(20);
    is(scalar(grep { /$today/ } @lines), 0, "the current day ($today) is left out by default");
    is(scalar @lines, 1 + 3 * keys %plan, '… and all earlier ones are printed');
    is($tollgate->run(qw(export usage --from), '2028-02-30')->{status}, 2, 'an invalid day');
    is($tollgate->run(qw(export usage --from), '2028-03-02', '--to', '2028-03-01')->{status}, 2, 'days in the wrong order');
};

# The days are 29 February, 1, 2 and 20 March.
subtest 'an invoice' => sub {
    my @free = map { $_->{units} } @{ history('free') };
    my @lines = split /\n/, $tollgate->run(qw(export usage --by month --to 2028-04-01))->{out};
    is(shift @lines, 'id,table,first,last,units,limit,over', 'the heading of CSV');
    my %of; push @{ $of{ (split /,/)[0] } }, $_ for @lines;
    is_deeply($of{free}, ['free,api,2028-02-02,2028-03-01,' . ($free[0] + $free[1]) . ',,0', 'free,api,2028-03-02,2028-04-01,' . ($free[2] + $free[3]) . ',,0'],
        'the months of a billing day');
    my @all = map { $_->{units} } @{ history('all') };
    is_deeply($of{all}, ["all,api,2028-02-01,2028-02-29,$all[0],,0", 'all,api,2028-03-01,2028-03-31,' . sum0(@all[1 .. $#all]) . ',,0'], 'those of the calendar');
    @lines = split /\n/, $tollgate->run(qw(export usage --by month --from 2028-03-01 --to 2028-03-30))->{out};
    is_deeply([grep { /^(?:free|all)/ } @lines], [$of{free}[0]], 'those that end in a range, with all their days');
    my ($period) = map { JSON::PP::decode_json($_) } grep { /"day"/ } split /\n/, $tollgate->run(qw(--json export usage --by day --to), day(0))->{out};
    is_deeply($period, { id => 'day', table => 'api', first => day(0), last => day(0), units => history('day')->[0]{units}, limit => 1000000, over => 0 },
        'days with their limits');
    is($tollgate->run(qw(export usage --by week))->{status}, 2, 'no other period');
};

subtest 'a revoked id' => sub {
    my $before = history('all');
    is($tollgate->run(qw(key revoke --yes all))->{status}, 0, 'revoke');
    is_deeply(history('all'), $before, 'keeps the history');
    like($tollgate->run(qw(export usage))->{out}, qr/^all,/m, '… which is exported');
    my $months = $tollgate->run(qw(export usage --by month --to 2028-04-01))->{out} =~ s/^(?!slide).*\n//mgr;
    like($months, qr/^slide,api,2028-02-02,/m, 'the months of an id with a billing day');
    is($tollgate->run(qw(key revoke --yes slide))->{status}, 0, 'revoke it');
    is($tollgate->run(qw(export usage --by month --to 2028-04-01))->{out} =~ s/^(?!slide).*\n//mgr, $months, 'its months remain');
    is($tollgate->run(qw(usage nobody --history))->{status}, 3, 'an id that never existed');
    like($tollgate->run(qw(usage free --history))->{out}, qr/^DAY +TABLE +UNITS\n\Q${\ day(0)}\E +api +\d+\n/, 'as text');
};

subtest 'days that are no longer kept' => sub {
    $clock->set(day(92) . ' 00:00:00');
    wait_until('a request that Redis decides', sub { $nodes[0]->get('/', 'free'); counted_day('free') == $first_day + 92 });
    settle();
    is_deeply([map { $_->{day} } @{ history('free') }], [day(2), day(20), day(92)], 'are dropped with the next day');
};

$_->nginx->stop for @nodes;

subtest 'a user of Redis that may not write the history' => sub {
    my $redis = RedisServer->start;
    my $error = qr/\[error\].* redis "main": no request can be counted after the end of this day, because Redis refuses a command for the history: /;
    for my $command (qw(hkeys hincrby hdel)) {
        $redis->cmd('ACL', 'SETUSER', 'default', "-$command");
        my $gateway = Gateway->start(redis_server => $redis, plans => 'plan free 1r/h; history 90d;');
        wait_until('the error', sub { $gateway->nginx->error_log =~ $error });
        pass("the log says at the start that -$command is missing");
        is_deeply([grep { $_ ne 'api' } @{ $redis->cmd('HKEYS', 't:plans') // [] }], [], '… and the plan tables are published') if $command ne 'hkeys';
        $redis->cmd('ACL', 'SETUSER', 'default', '+@all');
        $gateway->nginx->stop;
    }
    my $gateway = Gateway->start(redis_server => $redis, plans => 'plan free 1r/h; history 90d;');
    wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
    $gateway->import_key('k', id => 'k', plan => 'free');
    is($gateway->get('/', 'k')->status, 200, 'a request with a user that may do all');
    unlike($gateway->nginx->error_log, $error, 'no error');
    is_deeply($redis->cmd('HKEYS', 't:plans'), ['api'], 'the plan tables alone are published');
    $gateway->nginx->stop;
};

subtest 'in a cluster' => sub {
    # A step of the clock that is longer than the timeout interrupts the cluster.
    $clock->set(day(0) . ' 23:59:15');
    my $cluster = $redis = $clock->start(sub { RedisCluster->start(masters => 3, node_timeout => 60_000) });
    @nodes = map { node() } 1 .. 3;
    import_keys();
    $tollgate = Command->new(redis => 'redis+cluster://' . join(',', map { '127.0.0.1:' . $_->port } $cluster->nodes), prefix => 't:');
    wait_until('the plan tables', sub { $cluster->cmd('EXISTS', 't:plans') });
    subtest 'over the end of a day' => \&test_end_of_day;
    $clock->set(day(1) . ' 23:59:15');
    $cluster->stable;
    subtest 'an outage of one master over the end of a day' => sub { test_outage($cluster->master_of('t:quota:{free}:api')) };
    my @expected = map { my $id = $_; map { "$id,api,$_->{day},$_->{units}" } @{ history($id) } } sort keys %plan;
    is_deeply([split /\n/, $tollgate->run(qw(export usage --to), day(2))->{out}], ['id,table,day,units', @expected], 'export reads all masters');
};

done_testing;
