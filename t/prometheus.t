# A real Prometheus scrapes tollgate_status. The alert rules and the dashboard of conf/ use existing metrics.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(getcwd);
use File::Temp ();
use Http qw(http_get http_request);
use JSON::PP ();
use POSIX ();
use Test::More;
use Gateway;
use Wait qw(becomes wait_until free_port);

my $root = getcwd;
my $rules = "$root/conf/prometheus-rules.yml";
my $test_process = $$;
sub read_file { open my $file, '<', $_[0] or die "$_[0]: $!\n"; local $/; return <$file> // '' }
sub write_file { open my $file, '>', $_[0] or die "$_[0]: $!\n"; print $file $_[1]; close $file or die $! }

my $dir = File::Temp->newdir('prometheus-XXXXXX', TMPDIR => 1);

subtest 'the rules, alone' => sub {
    my $output = `promtool check rules $rules 2>&1`;
    is $?, 0, 'are valid' or diag $output;
    my @alerts = read_file($rules) =~ /- alert: (\w+)/g;
    my $requests = sub {
        my ($verdict, $plan) = (@_, 'free');
        return qq(tollgate_requests_total{job="tollgate",instance="a",tables="api",unit="requests",plan="$plan",verdict="$verdict"});
    };
    my $of = sub { qq($_[0]\{job="tollgate",instance="a"$_[1]\}) };
    # For each alert: series that raise it, the labels of the alert, and series that must not raise it.
    my %cases = (
        TollgateNodeDown        => [[[$of->('up', ''), '0x30']], 'severity: critical', [[$of->('up', ''), '1x30']]],
        TollgateRedisUnreachable => [[[$of->('tollgate_redis_breaker_open_workers', ',redis="r"'), '1x30']], 'severity: critical, redis: r',
            [[$of->('tollgate_redis_breaker_open_workers', ',redis="r"'), '0x30']]],
        TollgateMasterUnreachable => [[[$of->('tollgate_redis_master_reachable', ',redis="r",address="a"'), '0x30']],
            'severity: critical, redis: r, address: a', [[$of->('tollgate_redis_master_reachable', ',redis="r",address="a"'), '1x30']]],
        TollgateSlotMapOld      => [[[$of->('tollgate_redis_slot_map_age_seconds', ',redis="r"'), '0+60x30']], 'severity: warning, redis: r',
            [[$of->('tollgate_redis_slot_map_age_seconds', ',redis="r"'), '60x30']]],
        TollgateFailover        => [[[$of->('tollgate_redis_failovers_total', ',redis="r"'), '0x25 1x5']], 'severity: warning, redis: r',
            [[$of->('tollgate_redis_failovers_total', ',redis="r"'), '1x30']]],
        TollgateUnavailable     => [[[$requests->('unavailable'), '0+3x30'], [$requests->('granted'), '0+97x30']], 'severity: critical',
            [[$requests->('unavailable'), '0+1x30'], [$requests->('granted'), '0+200x30']]],
        TollgateRedisErrors     => [[[$of->('tollgate_redis_errors_total', ',redis="r"'), '0+60x30']], 'severity: warning, redis: r',
            [[$of->('tollgate_redis_errors_total', ',redis="r"'), '7 7 7+0x30']]],
        TollgateRedisSlow       => [[[$of->('tollgate_redis_round_trip_seconds_bucket', ',redis="r",le="0.05"'), '0+90x30'],
                [$of->('tollgate_redis_round_trip_seconds_bucket', ',redis="r",le="0.1"'), '0+100x30'],
                [$of->('tollgate_redis_round_trip_seconds_bucket', ',redis="r",le="+Inf"'), '0+100x30']], 'severity: warning, redis: r',
            [[$of->('tollgate_redis_round_trip_seconds_bucket', ',redis="r",le="0.05"'), '0+100x30'],
                [$of->('tollgate_redis_round_trip_seconds_bucket', ',redis="r",le="+Inf"'), '0+100x30']]],
        TollgateUnitsLost        => [[[$of->('tollgate_redis_owed_units_total', ',redis="r",event="lapsed"'), '0x25 5x5'],
                [$of->('tollgate_redis_lease_units_total', ',redis="r",event="lost"'), '0x30']], 'severity: warning, redis: r',
            [[$of->('tollgate_redis_owed_units_total', ',redis="r",event="noted"'), '0+5x30'],
                [$of->('tollgate_redis_lease_units_total', ',redis="r",event="lost"'), '7x30']]],
        TollgateSubscriptionLost => [[[$of->('tollgate_redis_subscribed_workers', ',redis="r"'), '1x30'], [$of->('tollgate_workers', ''), '2x30']],
            'severity: warning, redis: r', [[$of->('tollgate_redis_subscribed_workers', ',redis="r"'), '2x30'], [$of->('tollgate_workers', ''), '2x30']]],
        TollgateManyRefusals    => [[[$requests->('limited'), '0+60x30'], [$requests->('granted'), '0+60x30']],
            'severity: warning, tables: api, plan: free', [[$requests->('limited'), '0+3x30'], [$requests->('granted'), '0+3x30']]],
        # The first series is that of a flood from one address that has spent its `anonymous` budget.
        TollgateManyUnauthenticated => [[[$requests->('limited', ''), '0+51000x30'], [$requests->('unauthenticated', ''), '0+30x30']],
            'severity: warning', [[$requests->('unauthenticated', ''), '0+60x30'], [$requests->('limited'), '0+1200x30']]],
        TollgateZoneFull        => [[[$of->('tollgate_zone_evictions_total', ',store="keys"'), '0+120x40']], 'severity: warning, store: keys',
            [[$of->('tollgate_zone_evictions_total', ',store="unknown_keys"'), '0+9999x40']]],
    );
    is_deeply [sort keys %cases], [sort @alerts], 'each alert has its cases';
    my $tests = "rule_files: [$rules]\nevaluation_interval: 1m\ntests:\n";
    for my $alert (sort keys %cases) {
        my ($raised, $labels, $quiet) = @{ $cases{$alert} };
        for my $case ([$raised, "[{exp_labels: {job: tollgate, instance: a, $labels}}]"], [$quiet, '[]']) {
            my ($series, $expected) = @$case;
            $tests .= "  - interval: 1m\n    input_series:\n";
            $tests .= "      - {series: '$_->[0]', values: '$_->[1]'}\n" for @$series;
            # The next check tests annotations: promtool compares them literally.
            $tests .= "    promql_expr_test:\n      - expr: count(ALERTS{alertname=\"$alert\",alertstate=\"firing\"})\n        eval_time: 30m\n";
            $tests .= $expected eq '[]' ? "        exp_samples: []\n" : "        exp_samples: [{labels: '{}', value: 1}]\n";
        }
    }
    write_file("$dir/tests.yml", $tests);
    $output = `promtool test rules $dir/tests.yml 2>&1`;
    is $?, 0, 'fire in the right cases only' or diag $output;
    # promtool compares annotations literally.
    my $flood = $requests->('limited', '');
    my $keyless = $requests->('unauthenticated', '');
    write_file("$dir/annotations.yml", <<"END");
rule_files: [$rules]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'tollgate_requests_total{job="tollgate",instance="a",tables="api",unit="requests",plan="free",verdict="limited"}', values: '0+60x30'}
      - {series: 'tollgate_requests_total{job="tollgate",instance="a",tables="api",unit="requests",plan="free",verdict="granted"}', values: '0+60x30'}
    alert_rule_test:
      - alertname: TollgateManyRefusals
        eval_time: 30m
        exp_alerts:
          - exp_labels: {severity: warning, job: tollgate, instance: a, tables: api, plan: free}
            exp_annotations:
              summary: '50% of requests of plan "free" are refused on a'
              description: Quotas of api are exceeded. `tollgate top --sort refusals` shows the ids.
  - name: unauthenticated requests from many addresses
    interval: 1m
    input_series:
      - {series: '$keyless', values: '0+1200x30'}
    alert_rule_test:
      - alertname: TollgateManyUnauthenticated
        eval_time: 30m
        exp_alerts:
          - exp_labels: {severity: warning, job: tollgate, instance: a}
            exp_annotations:
              summary: '20 requests a second without a valid key on a'
              description: A client uses a wrong key, or an attacker tries keys. The access log shows the addresses. An address that has spent `anonymous` gets 429.
  - name: a flood from one address is not called an exceeded quota
    interval: 1m
    input_series:
      - {series: '$flood', values: '0+51000x30'}
    alert_rule_test:
      - {alertname: TollgateManyRefusals, eval_time: 30m, exp_alerts: []}
END
    $output = `promtool test rules $dir/annotations.yml 2>&1`;
    is $?, 0, '… and have the right annotations' or diag $output;
};

my $dashboard = JSON::PP->new->utf8->decode(read_file('conf/grafana-dashboard.json'));
my @queries;    # [where it is used, its text]

# The names of the metrics that a query reads, of these ones where it has a regular expression.
sub metrics_of {
    my ($query, @all) = @_;
    my @matching = map { my $name = qr/^(?:$_)$/; grep { $_ =~ $name } @all } $query =~ /__name__=~"([^"]+)"/g;
    return @matching, $query =~ s/"[^"]*"//gr =~ /\b(tollgate_\w+)/g;
}

subtest 'the dashboard, alone' => sub {
    is_deeply [@$dashboard{qw(title uid)}], [qw(Tollgate tollgate)], 'has a title and an id';
    like $dashboard->{schemaVersion}, qr/^\d+$/, '… and a version of its form';
    my (%ids, %taken);
    my %variables = map { $_->{name} => $_ } @{ $dashboard->{templating}{list} };
    is_deeply [sort keys %variables], [qw(datasource instance job)], 'it can be told where and what to look at';
    for my $panel (@{ $dashboard->{panels} }) {
        my $title = $panel->{title};
        ok !$ids{ $panel->{id} }++, "$title: an id of its own";
        like $panel->{type}, qr/^(?:timeseries|stat)$/, '… a type that Grafana has built in';
        is $panel->{datasource}{uid}, '${datasource}', '… its source is chosen';
        ok length $panel->{description}, '… it is explained';
        my ($x, $y, $w, $h) = @{ $panel->{gridPos} }{qw(x y w h)};
        cmp_ok $x + $w, '<=', 24, '… within the page';
        my $overlaps = 0;
        for my $row ($y .. $y + $h - 1) { $overlaps ||= $taken{"$_/$row"}++ for $x .. $x + $w - 1 }
        ok !$overlaps, '… over no other';
        ok scalar(@{ $panel->{targets} }), '… something is asked';
        my %refs;
        for my $target (@{ $panel->{targets} }) {
            ok !$refs{ $target->{refId} }++ && length $target->{legendFormat}, '… with a letter and a legend';
            push @queries, [$title, $target->{expr}];
        }
    }
    push @queries, ["annotation $_->{name}", $_->{expr}] for @{ $dashboard->{annotations}{list} };
    for my $query (@queries) {
        $query->[1] =~ s/\$__rate_interval/1m/g;
        $query->[1] =~ s/\$(?:job|instance)/.*/g;
        unlike $query->[1], qr/\$(?!1")/, "$query->[0]: only variables that there are";
    }
};

my $gateway = Gateway->start(
    plans   => 'plan free 3r/d; anonymous 2r/d;',
    server  => 'location = /status { tollgate_status; }',
    workers => 2,
);
$gateway->import_key('secret', id => 'k1', plan => 'free');
$gateway->subscribed(2);
$gateway->get('/', 'secret') for 1 .. 5;

my $port = free_port();
my $target = $gateway->address;
write_file("$dir/prometheus.yml", <<"END");
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$rules]
scrape_configs:
  - job_name: tollgate
    metrics_path: /status
    static_configs: [{targets: ['$target']}]
END
my $prometheus = fork // die "fork: $!\n";
if (!$prometheus) {
    open STDOUT, '>', "$dir/log";
    open STDERR, '>&', \*STDOUT;
    exec 'prometheus', "--config.file=$dir/prometheus.yml", "--storage.tsdb.path=$dir/data",
        "--web.listen-address=127.0.0.1:$port", '--log.level=warn' or POSIX::_exit(127);
}
END {
    if ($prometheus && $$ == $test_process) {
        local $?;
        kill TERM => $prometheus;
        waitpid $prometheus, 0;
    }
}

# The response of the API; nothing before there is one.
sub api {
    my ($path, %arguments) = @_;
    my $body = join '&', map { "$_=" . $arguments{$_} =~ s/([^\w.~-])/sprintf '%%%02X', ord $1/ger } sort keys %arguments;
    my $r = $body eq ''
        ? http_get($port, "/api/v1/$path")
        : http_request($port, 'POST', "/api/v1/$path", { 'Content-Type' => 'application/x-www-form-urlencoded' }, $body);
    return $r->json;
}
sub value { my $found = api('query', query => $_[0])->{data}{result}[0]; return $found && $found->{value}[1] }

subtest 'a scrape' => sub {
    my $target = eval {
        wait_until('the target to be up', sub {
            die "prometheus ended:\n" . read_file("$dir/log") if waitpid($prometheus, POSIX::WNOHANG()) == $prometheus;
            my ($found) = eval { @{ api('targets')->{data}{activeTargets} } };
            return $found && $found->{health} eq 'up' && $found;
        }, 60);
    };
    ok $target, 'the target is up' or diag($@ || explain(api('targets'))), return;
    is $target->{lastError}, '', '… with no error';
    becomes(sub { value('sum(tollgate_requests_total{verdict="limited"})') }, 2, 'refusals are counted');
    is value('sum(tollgate_requests_total{plan="free",tables="api"})'), 5, '… and all requests';
    is value('tollgate_workers'), 2, 'and gauges';
    cmp_ok value('histogram_quantile(0.99, sum by (le) (tollgate_redis_round_trip_seconds_bucket))'), '>', 0, 'and the histogram';
};

subtest 'a flood from one address' => sub {
    $gateway->get('/') for 1 .. 5;
    my $counted = http_get($gateway, '/status?format=prometheus')->body;
    like $counted, qr/^tollgate_requests_total\{tables="api",unit="requests",plan="",verdict="unauthenticated"\} 2$/m, 'is without a key at first';
    like $counted, qr/^tollgate_requests_total\{tables="api",unit="requests",plan="",verdict="limited"\} 3$/m, '… then limited, with no plan, as the alert has it';
};

my $exposition = http_get($gateway, '/status?format=prometheus')->body;

subtest 'promtool on the metrics' => sub {
    write_file("$dir/metrics", $exposition);
    my $output = `promtool check metrics < $dir/metrics 2>&1`;
    is "$?$output", '0', 'has nothing to say';
};

subtest 'the queries' => sub {
    # The metrics of clusters have no sample here; t/cluster.t compares them with the documentation.
    my %there = map { $_ => 1 } $exposition =~ /^(tollgate_\w+)/mg,
        read_file('module/docs/operations.md') =~ /`(tollgate_redis_(?:master|slot_map)_\w+)/g;
    my @rules = map { @{ $_->{rules} } } @{ api('rules')->{data}{groups} };
    my @asked = (@queries, map { ["alert $_->{name}", $_->{query}] } @rules);
    cmp_ok scalar(@rules), '>=', 9, 'Prometheus has the rules';
    is_deeply [map { $_->{name} } grep { $_->{lastError} } @rules], [], '… and could work them out';
    for my $query (@asked) {
        my ($of, $text) = @$query;
        my @missing = grep { !$there{$_} } metrics_of($text);
        is_deeply \@missing, [], "$of: asks for metrics that there are";
        my $answer = api('query', query => $text);
        is $answer->{status}, 'success', '… is valid' or diag $answer->{error};
    }
    my %family = map { $_ => 1 } $exposition =~ /^# TYPE (tollgate_\w+)/mg;
    my %shown = map { $_ => 1 } map { metrics_of($_->[1], keys %family) } @asked;
    my @unseen = grep { my $name = $_; !grep { /^\Q$name\E(?:_bucket|_sum|_count)?$/ } keys %shown } sort keys %family;
    is_deeply \@unseen, [qw(tollgate_info tollgate_zone_size_bytes)], 'nothing that changes is left out';
    my @variables = grep { $_->{query} && ref $_->{query} } @{ $dashboard->{templating}{list} };
    ok $_->{definition} =~ /label_values\((tollgate_\w+)/ && $there{$1}, "variable $_->{name}" for @variables;
};

subtest 'Redis stops' => sub {
    is value('count(ALERTS{alertname="TollgateRedisUnreachable"})'), undef, 'no alert before';
    $gateway->redis->kill;
    wait_until('the alert', sub {
        $gateway->get('/', 'secret');
        value('count(ALERTS{alertname="TollgateRedisUnreachable",redis="main"})');
    }, 60);
    pass 'an alert';
};

$gateway->nginx->stop;
done_testing;
