# `tollgate_plans NAME by=group`: the keys of all ids of a group have one counter.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use Http;
use JSON::PP ();
use Load;
use RedisCluster;
use Test::More;
use TwoTables qw(start_tables counted_in status_of granted unavailable $upstream $durable);
use Wait qw(becomes wait_until);

# A gateway with the plan table "api" of ids and the plan table "teams" of groups. The ids k1 and k2 are in the group
# "acme", k3 in "globex", k4 in none.
sub start {
    my (%options) = @_;
    my $teams = delete $options{teams} // 'plan pro 8r/d; plan own custom;';
    my $server = 'location /usage { tollgate api teams; tollgate_cost 0; tollgate_usage; }' . (delete $options{server} // '');
    my $gateway = start_tables(table => 'teams', by => 'group', of_table => $teams, server => $server, %options);
    unless ($options{share}) {
        import_id($gateway, @$_) for ['k1', '--group', 'acme'], ['k2', '--group', 'acme'], ['k3', '--group', 'globex'], ['k4'];
        set_group($gateway, $_, '--plan', 'pro') for 'acme', 'globex';
    }
    wait_for_room($gateway->redis, 86400, 60);
    return $gateway;
}

sub tollgate {
    my ($gateway) = @_;
    my $redis = $gateway->redis;
    my $url = $redis->isa('RedisCluster') ? 'redis+cluster://' . ($redis->address =~ s/ /,/r) : $redis->address;
    return Command->new(redis => $url, prefix => 't:');
}
# Imports a key whose text is its id.
sub import_id {
    my ($gateway, $id, @options) = @_;
    my $import = tollgate($gateway)->run({ stdin => $id }, qw(key import --plan free --force --id), $id, @options);
    die $import->{err} if $import->{status};
}
sub set_group { my ($gateway, @options) = @_; my $set = tollgate($gateway)->run(qw(group set), @options); die $set->{err} if $set->{status} }
# The names of counters of this day, and their counts.
sub counter { my ($owner, $table) = @_; return "t:quota:$owner:$table" }
sub counted { my ($gateway, @counter) = @_; return counted_in($gateway->redis, counter(@counter)) }
# The numbers of requests that a node has decided by these tables.
sub requests_by_plan {
    my ($gateway, $tables) = @_;
    my @rows = grep { $_->{tables} eq $tables } @{ $gateway->status->{requests} };
    return join ', ', sort map { my $row = $_; map { "$row->{plan} $_ $row->{verdicts}{$_}" } grep { $row->{verdicts}{$_} } keys %{ $row->{verdicts} } } @rows;
}
sub of_group { my ($gateway, $group) = @_; return counted($gateway, "{$group}", 'teams:group') }
sub of_cluster { my ($cluster, @counter) = @_; return counted_in($cluster, counter(@counter)) }

subtest 'the keys of a group share a counter' => sub {
    my $gateway = start(server => "location /ietf/ { tollgate teams; tollgate_headers ietf; $upstream }");
    is(granted($gateway, 5, '/teams/', 'k1'), 5, 'one id');
    is(granted($gateway, 5, '/teams/', 'k2'), 3, '… and another one of the group have the limit together');
    is(granted($gateway, 5, '/teams/', 'k3'), 5, 'another group has its own');
    is_deeply([map { of_group($gateway, $_) } 'acme', 'globex'], [8, 5], 'Redis counts them under their names');
    my $tollgate = tollgate($gateway);
    is_deeply([map { [@$_{qw(table limit used remaining)}] } @{ $tollgate->json(qw(group usage globex))->{windows} }], [['teams', 8, 5, 3]], 'the command shows the usage of a group');
    like($tollgate->run(qw(group usage acme))->{out}, qr/^group +acme\nplan +pro\n.*^teams +day +8 +8 +0 /ms, '… as a text');
    my $member = $tollgate->json(qw(usage k1));
    is_deeply([map { $_->{table} } @{ $member->{windows} }], ['api'], 'the usage of a member: its own windows');
    is_deeply([$member->{group}{id}, map { @$_{qw(table limit used remaining)} } @{ $member->{group}{windows} }], ['acme', 'teams', 8, 8, 0], '… and those of its group');
    is_deeply($member->{group}, $tollgate->json(qw(group usage acme)), '… which are the same as of the group');
    like($tollgate->run(qw(usage k1))->{out}, qr/^id +k1\n.*^api .*\n\ngroup +acme\nplan +pro\n.*^teams +day +8 +8 +0 /ms, '… as a text');
    is($tollgate->json(qw(usage k4))->{group}, undef, '… not of an id without a group');
    import_id($gateway, 'k6', '--group', 'unknown');
    is_deeply($tollgate->json(qw(usage k6))->{group}, { id => 'unknown', plan => undef, limits => undef, billing_day => undef, windows => [] }, '… and of a group without a record and counts');
    like($tollgate->run(qw(group usage nobody))->{err}, qr/"nobody" .*see tollgate group list$/, '… of one that is known');
    is($tollgate->run(qw(usage acme))->{err}, qq(tollgate: "acme" is a group, and no id: see tollgate group usage\n), 'usage of an id that is a group names the command');
    is($tollgate->run(qw(key reset acme))->{err}, qq(tollgate: "acme" is a group, and no id: see tollgate group reset\n), '… and so does reset');
    is($gateway->get('/teams/', 'k1')->header('X-RateLimit-Remaining'), 0, 'a response shows the counter of the group');
    like($gateway->get('/ietf/', 'k3')->header('RateLimit'), qr/"pro-day";r=2;/, '… with the plan of the group');
    is(granted($gateway, 10, '/teams/', 'k4'), 10, 'a key without a group has no limit in this table');
    is_deeply([sort @{ $gateway->redis->cmd('KEYS', 't:quota:*') }], [sort map { counter("{$_}", 'teams:group') } 'acme', 'globex'], '… and is not counted');
    becomes(sub { requests_by_plan($gateway, 'teams') }, ' granted 10, pro granted 14, pro limited 3', 'statistics have the plan of the group');
    $gateway->nginx->stop;
};

subtest 'all tables grant a request, or none counts it' => sub {
    my $gateway = start(plans => 'plan free 6r/d;');
    is(granted($gateway, 7, '/both/', 'k1'), 6, 'the limit of the id');
    is(granted($gateway, 7, '/both/', 'k2'), 2, '… and that of the group');
    is_deeply([map { counted($gateway, "{acme}$_", 'api') } 'k1', 'k2'], [6, 2], 'an id is charged for what was granted');
    is(of_group($gateway, 'acme'), 8, '… and so is the group');
    is(granted($gateway, 7, '/both/', 'k4'), 6, 'without a group, the id decides');
    is_deeply([map { [@$_{qw(table remaining)}] } @{ $gateway->get('/usage', 'k2')->json->{windows} }], [['api', 4], ['teams', 0]], 'tollgate_usage shows both');
    $gateway->nginx->stop;
};

subtest 'the record of a group' => sub {
    my $gateway = start(teams => 'plan pro 8r/d; plan big 20r/d; plan own custom;');
    is(granted($gateway, 9, '/teams/', 'k1'), 8, 'the limit of its plan');
    set_group($gateway, 'acme', '--plan', 'big');
    becomes(sub { $gateway->get('/usage', 'k1')->json->{windows}[1]{limit} }, 20, 'another plan applies at once');
    is(granted($gateway, 20, '/teams/', 'k2'), 12, '… to all its keys, which have used a part');
    set_group($gateway, 'globex', '--plan', 'own', '--limits', '3r/d');
    becomes(sub { $gateway->get('/usage', 'k3')->json->{windows}[1]{limit} }, 3, 'its own limits');
    is(granted($gateway, 5, '/teams/', 'k3'), 3, '… of a custom plan');
    is(tollgate($gateway)->run(qw(group delete globex))->{status}, 0, 'it is deleted');
    becomes(sub { status_of($gateway, '/teams/', 'k3') }, 403, 'without a record, no plan is allowed');
    is($gateway->get('/teams/', 'k3')->json->{code}, 'plan_not_allowed', '… in a table without a default');
    import_id($gateway, 'k5', '--group', 'new');
    is(status_of($gateway, '/teams/', 'k5'), 403, 'a group that never had a record');
    like($gateway->nginx->error_log, qr/tollgate refuses the request: plan_not_allowed, key "k5", plan "free", group "new"/, '… which the log names');
    set_group($gateway, 'new', '--plan', 'pro');
    becomes(sub { status_of($gateway, '/teams/', 'k5') }, 200, '… is found as soon as it has one');
    my $tollgate = tollgate($gateway);
    wait_until('the tables are published', sub { @{ $gateway->redis->cmd('HKEYS', 't:plans') } == 2 });
    my $warning = qr/^tollgate: warning: the group "acmee" has no record \(did you mean "acme"\?\): requests of its keys are refused with 403 plan_not_allowed in "teams": see tollgate group set$/m;
    like($tollgate->run(qw(key issue --plan free --id typed --group acmee))->{err}, $warning, 'a key of a group without a record: the command warns');
    like($tollgate->run(qw(key set typed --name x))->{err}, $warning, '… also when it is changed');
    like($tollgate->run({ stdin => qq({"id":"k7","plan":"free","token":"k7","group":"acmee"}\n) }, qw(import -))->{err}, $warning, '… and when records are imported');
    unlike($tollgate->run(qw(key set typed --group acme))->{err}, qr/no record/, '… but not of one that has one');
    like($tollgate->run(qw(group show unknown))->{err}, qr/"unknown" has no record: see tollgate group list$/, 'one without a record is not shown');
    for my $name ('.', '..', 'none') {
        my $set = $tollgate->run(qw(group set --plan pro), $name);
        is($set->{status}, 2, "no group has the name $name");
        like($set->{err}, qr/invalid group: (?:a URL cannot contain it|"none" means no group)$/, '… and the message says why');
        my $import = $tollgate->run({ stdin => qq({"id":"k6","plan":"free","token":"k6","group":"$name"}\n) }, qw(import -));
        like($import->{err}, qr/invalid group: /, '… and no record that is imported') or diag $import->{out};
    }
    $gateway->nginx->stop;
};

subtest 'a group without a record, and a default' => sub {
    my $gateway = start(teams => 'plan pro 8r/d; plan basic 2r/d; default basic;', lease => '');
    import_id($gateway, $_, '--group', 'unknown') for 'k5', 'k6';
    is(granted($gateway, 2, '/teams/', 'k5') + granted($gateway, 2, '/teams/', 'k6'), 2, 'the default plan is shared');
    $gateway->nginx->stop;
};

subtest 'leases and slices of a group at two nodes' => sub {
    my %options = (teams => 'plan pro 6000r/d;', lease => '');
    my $one = start(%options, workers => 2);
    my $two = start(%options, share => $one);
    $one->subscribed(3);
    my $load = sub {
        my ($requests, $path) = @_;
        my @keys = ('k1', 'k2');
        return Load->run(servers => [map { $_->address } $one, $two], connections => 6, requests => $requests,
            token => sub { push @keys, my $key = shift @keys; return $key }, path => $path)->{status}{200} // 0;
    };
    my $granted = $load->(4000, '/both/');
    my $acquires = $one->status->{redis}[0]{commands}{acquire} + $two->status->{redis}[0]{commands}{acquire};
    cmp_ok($acquires, '<', 0.5 * $granted, "leases serve most requests ($acquires calls, $granted granted)");
    becomes(sub { of_group($one, 'acme') }, $granted, 'what was not used is returned to the group');
    becomes(sub { counted($one, '{acme}k1', 'api') + counted($one, '{acme}k2', 'api') }, $granted, '… and to the ids');
    my $rest = 6000 - $granted;
    my $more = $load->($rest + 400, '/teams/');
    cmp_ok($more, '<=', $rest, 'the limit is not exceeded');
    wait_until('all units', sub { ($more += granted($one, 1, '/teams/', 'k1') + granted($two, 1, '/teams/', 'k2')) >= $rest }) if $more < $rest;
    is($more, $rest, 'the group is granted its limit');
    $_->nginx->stop for $one, $two;
};

subtest 'an outage, a reload and a killed worker' => sub {
    my $gateway = start(teams => 'plan pro 20r/d;', redis_options => $durable, workers => 2);
    is(granted($gateway, 12, '/both/', 'k1'), 12, 'counted by Redis');
    is(granted($gateway, 1, '/both/', 'k2'), 1, '… for another key');
    $gateway->redis->kill;
    status_of($gateway, '/both/', 'k1') for 1 .. 2;    # the first ones find out
    unavailable($gateway);
    my $more = granted($gateway, 6, '/both/', 'k1') + granted($gateway, 6, '/both/', 'k2');
    cmp_ok($more, '>=', 5, 'the counter of the group goes on in an outage');
    cmp_ok($more, '<=', 7, '… from the last count, to its limit');
    is(granted($gateway, 22, '/both/', 'k3'), 0, 'a key that the node does not know is refused');
    $gateway->nginx->reload;
    is(status_of($gateway, '/both/', $_), 429, "it survives a reload: $_") for 'k1', 'k2';
    $gateway->nginx->kill_worker(($gateway->nginx->workers)[0]);
    is(status_of($gateway, '/both/', 'k2'), 429, '… and a killed worker');
    $gateway->redis->restart;
    becomes(sub { of_group($gateway, 'acme') }, 20, 'Redis is told of the group');
    wait_until('the end of all reports', sub { $gateway->unsettled == 0 });
    is(counted($gateway, '{acme}k1', 'api') + counted($gateway, '{acme}k2', 'api'), 20, '… and of its ids');
    $gateway->nginx->stop;
};

subtest 'a noisy member of a group bans nobody' => sub {
    my $gateway = start(plans => 'plan free 4r/d; ban after=3 within=1h for=1h;', teams => 'plan pro 6r/d;');
    my $codes = sub { my ($id, $n) = @_; return join ' ', map { my $r = $gateway->get('/both/', $id); $r->status == 200 ? 200 : $r->json->{code} } 1 .. $n };
    is(granted($gateway, 6, '/teams/', 'k1'), 6, 'a member uses up the group');
    my $calls = $gateway->status->{redis}[0]{commands}{acquire};
    is($codes->('k2', 8), join(' ', ('rate_limit_exceeded') x 8), 'another one is refused, and not banned');
    is($gateway->redis->cmd('EXISTS', 't:ban:{acme}k2'), 0, '… and has no strike');
    cmp_ok($gateway->status->{redis}[0]{commands}{acquire} - $calls, '<', 6, '… and the node refuses most of these requests itself');
    is($codes->('k3', 7), '200 200 200 200 rate_limit_exceeded rate_limit_exceeded api_key_banned', 'refusals by the own table ban');
    $gateway->nginx->stop;
};

subtest 'what belongs to the id' => sub {
    my $gateway = start(teams => 'plan pro 2r/d; ban after=3 within=1h for=1h strikes=all;');
    granted($gateway, 2, '/teams/', 'k1');
    is(status_of($gateway, '/teams/', 'k2'), 429, 'the group is exhausted');
    granted($gateway, 2, '/teams/', 'k2');
    is($gateway->get('/teams/', 'k2')->json->{code}, 'api_key_banned', 'a ban is that of an id');
    is($gateway->get('/teams/', 'k1')->json->{code}, 'rate_limit_exceeded', '… and not of its group');
    my $tollgate = tollgate($gateway);
    ok($tollgate->json(qw(ban show k2))->{banned}, 'the command shows it');
    is_deeply([map { $_->{id} } @{ $tollgate->json(qw(ban list)) }], ['k2'], '… in the list of bans');
    is($tollgate->run(qw(ban lift k2))->{status}, 0, '… and lifts it');
    becomes(sub { $gateway->get('/teams/', 'k2')->json->{code} }, 'rate_limit_exceeded', '… at once');
    $gateway->nginx->stop;
};

subtest 'a group whose counts are reset' => sub {
    my $gateway = start(teams => 'plan pro 400r/d; default pro;', lease => '');
    $gateway->subscribed(1);
    my $tollgate = tollgate($gateway);
    my $load = sub { Load->run(servers => [$gateway->address], connections => 4, requests => 1000, token => $_[0], path => '/both/')->{status}{200} };
    is($load->('k1'), 400, 'the limit of the group');
    granted($gateway, 3, '/both/', 'k3');
    is($tollgate->run(qw(group reset acme))->{status}, 0, 'its counts are reset');
    is(of_group($gateway, 'acme'), 0, '… which Redis has no more');
    becomes(sub { status_of($gateway, '/both/', 'k2') }, 200, '… and gateways as well');
    is($load->('k1'), 399, 'it has its whole limit again');
    becomes(sub { counted($gateway, '{acme}k1', 'api') }, 799, 'the counts of an id remain');
    becomes(sub { of_group($gateway, 'globex') }, 3, '… and those of another group');
    like($tollgate->run(qw(audit acme))->{out}, qr/ reset-group +acme /, 'the audit has it');
    is($tollgate->run(qw(group reset nobody))->{status}, 3, 'a group that is not known');
    import_id($gateway, 'k5', '--group', 'unknown');
    granted($gateway, 1, '/teams/', 'k5');
    my $usage = $tollgate->json(qw(group usage unknown));
    is_deeply([$usage->{plan}, map { [@$_{qw(table window limit)}] } @{ $usage->{windows} }], [undef, ['teams', 'day', 400]], 'the usage of one without a record has the limit of the default plan');
    is($tollgate->run(qw(group reset unknown))->{status}, 0, 'one without a record');
    becomes(sub { of_group($gateway, 'unknown') }, 0, '… that has counts');
    $gateway->redis->cmd('DEL', 't:plans');
    like($tollgate->run(qw(group reset acme))->{err}, qr/it is not known which tables count the group/, 'without the tables of the gateways');
    $gateway->nginx->stop;
};

subtest 'top of a group that has the name of an id' => sub {
    my $gateway = start(teams => 'plan pro 100000r/d;');
    import_id($gateway, 'acme');
    my $tollgate = tollgate($gateway);
    granted($gateway, 1, '/both/', $_) for 'k1', 'acme';
    my $redis = $gateway->redis;
    $redis->cmd('HSET', 't:ban:{acme}', strikes => 1, since => 5000);
    $redis->cmd('CONFIG', 'RESETSTAT');
    my $top = $tollgate->start(qw(top --count 1 --interval 3s --json));
    wait_until('the first reading', sub { ($redis->cmd('INFO', 'commandstats') =~ /^cmdstat_hgetall:calls=(\d+)/m ? $1 : 0) >= 5 });
    $redis->cmd('HINCRBY', counter(@$_[0, 1]), '86400.count', $_->[2]) for ['{acme}', 'teams:group', 8], ['{acme}k1', 'api', 8], ['{acme}', 'api', 3];
    $redis->cmd('HSET', 't:ban:{acme}', strikes => 4);
    waitpid $top->{pid}, 0;
    open my $out, '<', $top->{files}{out}->filename or die $!;
    my ($view) = map { JSON::PP->new->utf8->decode($_) } <$out>;
    my %row = map { ("$_->{id} $_->{table}" => [$_->{plan}, defined $_->{refused_per_second} ? 1 : 0]) } @{ $view->{rows} };
    is_deeply(\%row, { 'acme api' => ['free', 1], 'acme teams:group' => ['pro', 0], 'k1 api' => ['free', 0] },
        'the group has its own plan, and the id its own refusals') or diag explain $view;
    $gateway->nginx->stop;
};

subtest 'usage, history and another group' => sub {
    my $gateway = start(plans => 'plan free 10r/d; history 30d;');
    my $tollgate = tollgate($gateway);
    granted($gateway, 3, '/both/', 'k1');
    is_deeply([map { [@$_{qw(table used)}] } @{ $tollgate->json(qw(usage k1))->{windows} }], [['api', 3]], 'the usage of an id in a group');
    is_deeply([map { [@$_{qw(table units)}] } @{ $tollgate->json(qw(usage k1 --history))->{days} }], [['api', 3]], '… and its history');
    like($tollgate->run(qw(export usage --to 2100-01-01))->{out}, qr/^k1,api,\S+,3$/m, '… also in the export');
    is($tollgate->run(qw(key set k1 --group globex))->{status}, 0, 'another group');
    becomes(sub { $gateway->get('/usage', 'k1')->json->{windows}[0]{remaining} }, 10, '… begins with new counters');
    granted($gateway, 2, '/both/', 'k1');
    is_deeply([map { [@$_{qw(table used)}] } @{ $tollgate->json(qw(usage k1))->{windows} }], [['api', 2]], 'the command shows these');
    is(of_group($gateway, 'globex'), 2, '… and the new group is charged');
    is($tollgate->run(qw(key set k1 --group none))->{status}, 0, 'no group');
    becomes(sub { $gateway->get('/usage', 'k1')->json->{windows}[0]{remaining} }, 10, '… begins with new counters as well');
    is($tollgate->run(qw(key revoke k1 --yes))->{status}, 0, 'the id is revoked');
    is($tollgate->run(qw(key revoke k2 --yes))->{status}, 0, '… and one in a group');
    becomes(sub { status_of($gateway, '/both/', 'k2') }, 401, '… which ends at once');
    $gateway->nginx->stop;
};

for my $deployment ('one Redis', 'a cluster') {
    subtest "an id that is issued again: $deployment" => sub {
        my @cluster = $deployment eq 'a cluster' ? (redis_server => RedisCluster->start(masters => 3)) : ();
        my $gateway = start(plans => 'plan free 5r/d; ban after=2 within=1h for=1h;', @cluster);
        my $tollgate = tollgate($gateway);
        for my $way (['key import', qw(key import --plan free --force --id)], ['import', qw(import --force -)]) {
            my ($name, @command) = @$way;
            my $is_bulk = $name eq 'import';
            my $id = $is_bulk ? 'bulk' : 'single';
            import_id($gateway, $id, '--group', 'acme');
            granted($gateway, 1, '/', $id);
            is($tollgate->run(qw(key revoke --yes), $id)->{status}, 0, "$name: the id is revoked");
            becomes(sub { status_of($gateway, '/', $id) }, 401, '… which ends its key');
            my $import = $tollgate->run({ stdin => $is_bulk ? qq({"id":"$id","plan":"free","token":"$id"}\n) : $id }, @command, $is_bulk ? () : $id);
            is($import->{status}, 0, '… and issued again without a group') or diag $import->{err};
            becomes(sub { status_of($gateway, '/', $id) }, 200, '… which makes its key valid');
            granted($gateway, 6, '/', $id);
            is($tollgate->json('usage', $id)->{windows}[0]{used}, 5, 'the usage is that of the id without a group');
            is_deeply([map { $_->{id} } @{ $tollgate->json(qw(ban list)) }], [$id], '… and so is the ban');
            is($tollgate->run(qw(ban lift), $id)->{status}, 0, '… which is lifted');
            becomes(sub { $gateway->get('/', $id)->json->{code} }, 'rate_limit_exceeded', '… at once');
            is($tollgate->run(qw(ban lift), $id)->{status}, 0);
        }
        $gateway->nginx->stop;
    };
}

subtest 'a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $gateway = start(redis_server => $cluster, plans => 'plan free 5r/d;');
    is(granted($gateway, 6, '/both/', 'k1'), 5, 'the id');
    is(granted($gateway, 6, '/both/', 'k2'), 3, 'the group');
    is($cluster->slot_of(counter('{acme}k1', 'api')), $cluster->slot_of(counter('{acme}', 'teams:group')), 'their counters are in one slot');
    is(granted($gateway, 6, '/both/', 'k4'), 5, 'an id without a group');
    is($gateway->status->{redis}[0]{errors}, 0, 'no errors');
    $gateway->nginx->stop;
};

subtest 'a failover of a cluster with 1,000 ids in 20 groups' => sub {
    my $cluster = RedisCluster->start(masters => 3, replicas => 1, node_timeout => 1000);
    my $gateway = start(redis_server => $cluster, plans => 'plan free 4r/d;', teams => 'plan pro 150r/d;', redis => 'timeout 1s;', workers => 2);
    my %group_of = map { ("id$_" => 'g' . $_ % 20) } 1 .. 1000;
    $gateway->import_key($_, id => $_, plan => 'free', group => $group_of{$_}) for keys %group_of;
    set_group($gateway, "g$_", '--plan', 'pro') for 0 .. 19;
    my (%granted, %status);
    my $load = sub {
        my ($rounds) = @_;
        my @ids = (sort keys %group_of) x $rounds;
        my $result = Load->run(servers => [$gateway->address], connections => 8, requests => scalar @ids, token => sub { shift @ids }, path => '/both/');
        %status = %{ $result->{status} };
        $granted{$_} += $result->{by_token}{$_}{200} // 0 for keys %group_of;
        return $result->{status}{200};
    };
    is($load->(1), 1000, 'one request of each id');
    my $victim = $cluster->master_of(counter('{g0}', 'teams:group'));
    is($victim->cmd('WAIT', 1, 5000), 1, 'its replica has the counts');
    $victim->kill;
    my $meanwhile = $load->(1);
    cmp_ok($meanwhile, '>', 900, "while a master is missing, requests are granted ($meanwhile)");
    wait_until('a replica to be promoted', sub { grep { $_->pid && $_->cmd('ROLE')->[0] eq 'master' } ($cluster->nodes)[3 .. 5] });
    $cluster->stable;
    $load->(1);
    wait_until('the end of all reports', sub { $gateway->unsettled == 0 });
    $load->(3);
    wait_until('the end of all reports', sub { $gateway->unsettled == 0 });
    my %of_group;
    $of_group{ $group_of{$_} } += $granted{$_} for keys %group_of;
    is_deeply(\%of_group, { map { ("g$_" => 150) } 0 .. 19 }, 'each group is granted its limit') or diag explain \%of_group;
    is_deeply([grep { $granted{$_} > 4 } keys %group_of], [], 'no id is granted more than its own');
    is_deeply({ map { ("g$_" => of_cluster($cluster, "{g$_}", 'teams:group')) } 0 .. 19 }, \%of_group, 'Redis has counted what each group was granted');
    is_deeply({ map { ($_ => of_cluster($cluster, "{$group_of{$_}}$_", 'api')) } keys %group_of }, \%granted, '… and each id');
    $gateway->nginx->stop;
};

done_testing;
