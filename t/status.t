# tollgate_status: the statistics as JSON and for Prometheus.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use JSON::PP ();
use Wait qw(becomes);

my $conf_server = <<'END';
    tollgate_json_errors on;
    location = /status      { tollgate_status; }
    location = /gone        { return 410; }
    location /search/       { tollgate api search; proxy_pass http://unix:%DIR%/upstream.sock; }
    location /bypass/       { tollgate api; tollgate_bypass 1; proxy_pass http://unix:%DIR%/upstream.sock; }
    location /dry/          { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }
    location /down/         { tollgate down; proxy_pass http://unix:%DIR%/upstream.sock; }
    location /page/         { tollgate api; error_page 404 = /page.html; proxy_intercept_errors on; proxy_pass http://unix:%DIR%/upstream.sock; }
    location = /page.html   { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
    location /sub/          { tollgate api; mirror /dry/; proxy_pass http://unix:%DIR%/upstream.sock; }
END
my $before = time;
my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; plan spent 1r/d; plan banned 1r/d; plan all unlimited; anonymous 4r/d; ban after=3 within=1d for=1d;',
    server => $conf_server,
    redis  => 'timeout 30s;',
    http   => <<'END',
        tollgate_plans search redis=main unit=tokens { plan basic 1000r/d; default basic; }
        tollgate_redis down { server unix:%DIR%/none.sock; }
        tollgate_plans down redis=down { plan free 5r/h; }
END
    upstream => 'location /page/ { return 404; }',
    workers  => 2,
);
$gateway->import_key("secret-$_", id => "id-$_", plan => $_) for qw(free spent banned gold all);

my %unit_of = ('api' => 'requests', 'api+search' => 'requests+tokens', 'down' => 'requests');

# The counted verdicts, without zeros.
sub counted {
    my ($member) = @_;
    my %counted;
    for my $one (@{ $gateway->get('/status')->json->{requests} }) {
        my $verdicts = $one->{ $member // 'verdicts' };
        $verdicts->{$_} and $counted{"$one->{tables}/$one->{plan}"}{$_} = $verdicts->{$_} for keys %$verdicts;
    }
    return \%counted;
}

# A request is counted when it is logged, which is after its response was sent.
sub is_counted {
    my ($expected, $name, $member) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $json = JSON::PP->new->canonical;
    becomes(sub { $json->encode(counted($member)) }, $json->encode($expected), $name);
}

sub lines {
    my ($text, $beginning) = @_;
    return grep { /^\Q$beginning\E/ } split /\n/, $text;
}

subtest 'before any request' => sub {
    my $r = $gateway->get('/status');
    is($r->status, 200, 'answers');
    is($r->header('Content-Type'), 'application/json', 'as JSON');
    is($r->header('Cache-Control'), 'no-store', 'not cacheable');
    is($r->header('X-RateLimit-Limit'), undef, 'it has no quota');
    my $status = $r->json;
    like($status->{version}, qr/^\d+\.\d+\.\d+$/, 'version');
    my $after = time;
    ok($before <= $status->{start_time_seconds} && $status->{start_time_seconds} <= $after, 'start') or diag("$status->{start_time_seconds} is not from $before to $after");
    cmp_ok($status->{uptime}, '<=', $after - $before, 'uptime');
    is($status->{workers}, 2, 'workers');
    is($status->{zone}{size_bytes}, 8 << 20, 'size of the zone');
    is_deeply([sort map { "$_->{tables}/$_->{plan}" } @{ $status->{requests} }],
        [sort((map { ("api/$_", "api+search/$_") } '', qw(free spent banned all)), "down/", "down/free")],
        'every plan of every location is listed');
    is_deeply({ map { $_->{tables} => $_->{unit} } @{ $status->{requests} } }, \%unit_of, '... with the units of its tables');
    is_deeply([sort map { $_->{name} } @{ $status->{redis} }], [qw(down main)], 'every Redis is listed');
    is_deeply(counted(), {}, 'nothing is counted');
};

my %expected;
subtest 'every verdict' => sub {
    $gateway->get('/', 'secret-free') for 1 .. 3;
    $gateway->get('/search/', 'secret-free') for 1 .. 2;
    $gateway->get('/', 'secret-all');
    $gateway->get('/', 'secret-spent') for 1 .. 2;
    $gateway->get('/', 'secret-banned') for 1 .. 6;
    $gateway->get('/', 'secret-gold');
    $gateway->get('/search/', 'secret-gold');
    $gateway->get('/');
    $gateway->get('/', 'secret-unknown');
    $gateway->get('/search/');
    $gateway->get('/bypass/');
    $gateway->get('/down/', 'secret-free');
    $gateway->get('/gone', 'secret-free');
    %expected = (
        'api/free'        => { granted => 3 },
        'api+search/free' => { granted => 2 },
        'api/all'         => { granted => 1 },
        'api/spent'       => { granted => 1, limited => 1 },
        'api/banned'      => { granted => 1, limited => 2, banned => 3 },
        'api/'            => { forbidden => 1, unauthenticated => 2, bypassed => 1 },
        'api+search/'     => { forbidden => 1, unauthenticated => 1 },
        'down/'           => { unavailable => 1 },
    );
    is_counted(\%expected, 'is counted by table and plan');
    is_counted({}, 'none is counted as a dry run', 'dry_run');
    $gateway->get('/') for 1 .. 2;
    $expected{'api/'}{unauthenticated} += 1;
    $expected{'api/'}{limited} += 1;
    is_counted(\%expected, 'an address that has spent its budget');
};

subtest 'each request is counted once' => sub {
    $gateway->get('/page/', 'secret-free');
    $gateway->get('/sub/', 'secret-free');
    my $connection = Http->connect($gateway);
    $connection->request('GET', '/', { Authorization => 'Bearer secret-free' }) for 1 .. 2;
    $connection->close;
    $expected{'api/free'}{granted} += 4;
    is_counted(\%expected, 'with an error page, a subrequest, or kept alive');
};

subtest 'dry run' => sub {
    $gateway->get('/dry/', 'secret-spent');
    $gateway->get('/dry/', 'secret-free');
    $gateway->get('/dry/', 'secret-gold');
    is_counted(\%expected, 'is not counted with the others');
    is_counted({ 'api/spent' => { limited => 1 }, 'api/free' => { granted => 1 }, 'api/' => { forbidden => 1 } }, 'but separately', 'dry_run');
};

subtest 'a client that closes its connection' => sub {
    $gateway->redis->sigstop;
    my $client = Http->connect($gateway);
    $client->send("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer never-seen\r\n\r\n");
    $client->close;
    $expected{'api/'}{abandoned}++;
    is_counted(\%expected, 'before it was answered is counted');
    $gateway->redis->sigcont;
};

subtest 'for Prometheus' => sub {
    my $r = $gateway->get('/status?format=prometheus');
    is($r->status, 200, 'answers');
    is($r->header('Content-Type'), 'text/plain; version=0.0.4; charset=utf-8', 'in its format');
    is($r->header('Cache-Control'), 'no-store', 'not cacheable');
    my $text = $r->body;
    for my $one (sort keys %expected) {
        my ($tables, $plan) = split m{/}, $one, -1;
        for my $verdict (sort keys %{ $expected{$one} }) {
            my $series = qq(tollgate_requests_total{tables="$tables",unit="$unit_of{$tables}",plan="$plan",verdict="$verdict"});
            is_deeply([lines($text, "$series ")], ["$series $expected{$one}{$verdict}"], "$one $verdict");
        }
    }
    is_deeply([grep { !/ 0$/ } lines($text, 'tollgate_dry_run_requests_total{tables="api",unit="requests",plan="free",')],
        ['tollgate_dry_run_requests_total{tables="api",unit="requests",plan="free",verdict="granted"} 1'], 'dry runs likewise');
    is_deeply([lines($text, 'tollgate_workers ')], ['tollgate_workers 2'], 'workers');
    is_deeply([lines($text, 'tollgate_zone_size_bytes ')], ['tollgate_zone_size_bytes ' . (8 << 20)], 'size of the zone');
    is(scalar(lines($text, 'tollgate_redis_round_trip_seconds_bucket{redis="main"')), 15, 'round trips');
    my @odd = grep { !/^(?:# (?:HELP|TYPE) tollgate_\w+ .+|tollgate_\w+(?:\{(?:\w+="[^"\\]*",?)+\})? [\d.]+)$/ } split /\n/, $text;
    is_deeply(\@odd, [], 'every line has the right format');
};

subtest 'the names' => sub {
    my $status = $gateway->get('/status')->json;
    my $text = $gateway->get('/status?format=prometheus')->body;
    my $page = do { open my $file, '<:encoding(UTF-8)', 'module/docs/operations.md' or die $!; local $/; <$file> };
    like($page, qr/^\| .*`$_(?:\{[\w,]+\})?`.* \| \S/m, "$_ is documented") for $text =~ /^# TYPE (?!tollgate_(?:info|zone_size))(tollgate_\w+)/mg;
    my ($redis) = grep { $_->{name} eq 'main' } @{ $status->{redis} };
    like($page, qr/^\| `redis\[\]\.$_`/m, "redis[].$_ is documented") for grep { !/^name$/ } sort keys %$redis;
    # Each sample without the suffix of a counter: NAME, or NAME.VALUE with a label.
    my @samples = map { s/_total//r } map { s/\{redis="main"(?:,\w+="(\w+)")?\}.*/defined $1 ? ".$1" : ''/er }
        map { s/^tollgate_redis_//r } lines($text =~ s/^.*_seconds_.*\n//mgr, 'tollgate_redis_');
    @samples = grep { !/\{/ } @samples;    # of the other Redis
    my @members = map { my $name = $_; ref $redis->{$name} ? map { "$name.$_" } keys %{ $redis->{$name} } : $name }
        grep { !/^(?:name|kind|on_failure|round_trip_seconds)$/ } keys %$redis;
    is_deeply([sort @samples], [sort @members], 'are the same in both formats');
    my ($zone) = values %{ $status->{zone}{stores} };
    is_deeply([sort map { s/_total//r } $text =~ /^tollgate_zone_(\w+)\{store="keys"/mg], [sort keys %$zone], '… also those of the zone');
};

subtest 'which format' => sub {
    my %types = (
        'text/plain'                                                                                      => 'text/plain',
        'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'      => 'text/plain',
        'application/json'                                                                                => 'application/json',
        'application/json, text/plain, */*'                                                               => 'application/json',
        '*/*'                                                                                             => 'application/json',
        'text/html'                                                                                       => 'application/json',
    );
    like($gateway->get('/status', undef, Accept => $_)->header('Content-Type'), qr/^\Q$types{$_}\E/, $_) for sort keys %types;
    like($gateway->get('/status', undef, Accept => ['text/html', 'text/plain'])->header('Content-Type'), qr{^text/plain}, 'two fields');
    like($gateway->get('/status?format=json', undef, Accept => 'text/plain')->header('Content-Type'), qr/json/, 'the argument takes precedence');
    is($gateway->get('/status?format=xml')->status, 400, 'an unknown one');
};

subtest 'methods' => sub {
    my $head = $gateway->request('HEAD', '/status');
    is($head->status . $head->body, 200, 'HEAD has no body');
    cmp_ok($head->header('Content-Length'), '>', 1000, '... but the Content-Length of GET');
    for my $method (qw(POST PUT DELETE OPTIONS)) {
        my $r = $gateway->request($method, '/status', {}, 'x');
        is($r->status, 405, "$method: 405");
        is($r->header('Allow'), 'GET, HEAD', '... with Allow');
        is($r->json->{code}, 'method_not_allowed', '... and an Error body');
    }
};

subtest 'the zone and Redis' => sub {
    my $status = $gateway->get('/status')->json;
    my $stores = $status->{zone}{stores};
    is_deeply([sort keys %$stores], [qw(addresses keys long_keys long_quotas quotas unknown_keys)], 'every table of the zone is listed');
    is($stores->{keys}{entries}, 5, 'the valid keys are counted');
    cmp_ok($stores->{unknown_keys}{entries}, '>=', 1, 'the unknown keys are counted');
    cmp_ok($stores->{quotas}{entries}, '>=', 4, 'the quotas are counted');
    cmp_ok($stores->{$_}{entries_max}, '>', $stores->{$_}{entries}, "$_ has room") for sort keys %$stores;
    is(join(' ', map { $_->{evictions} } values %$stores), '0 0 0 0 0 0', 'nothing was evicted');
    my %redis = map { $_->{name} => $_ } @{ $status->{redis} };
    is($redis{main}{subscribed_workers}, 2, 'both workers are subscribed');
    is($redis{main}{breaker_open_workers}, 0, 'Redis is reachable');
    is($redis{down}{breaker_open_workers}, 2, '... and the other is not');
    cmp_ok($redis{main}{commands}{$_}, '>', 0, "$_ is counted") for qw(acquire lookup);
    my $keys = $redis{main}{key_cache_lookups};
    cmp_ok($keys->{hit}, '>', $keys->{miss}, 'most keys were known');
};

subtest 'no key and no id' => sub {
    unlike($gateway->get("/status?format=$_")->body, qr/secret|id-|t:/, $_) for qw(json prometheus);
};

subtest 'a reload' => sub {
    my $conf = $gateway->nginx->{options}{conf};
    my $started = $gateway->get('/status')->json->{start_time_seconds};
    $gateway->nginx->reload;
    $gateway->nginx->old_workers_gone;
    is_counted(\%expected, 'keeps the counts');
    is($gateway->get('/status')->json->{start_time_seconds}, $started, '... and the start time');
    (my $other = $conf) =~ s/plan free 1000r\/d;/plan new 5r\/d; plan free 2000r\/d;/ or die;
    $other =~ s/tollgate_plans down.*?\}//s or die;
    $other =~ s/location \/down\/.*?\}//s or die;
    $gateway->nginx->reload(conf => $other);
    $gateway->nginx->old_workers_gone;
    is_counted(\%expected, 'keeps them where a plan is added before others, and a table removed');
    my %units = map { $_->{tables} => $_->{unit} } @{ $gateway->get('/status')->json->{requests} };
    is_deeply(\%units, { %unit_of, down => '' }, '... whose unit is not known any more');
    $gateway->get('/', 'secret-free');
    $expected{'api/free'}{granted} += 1;
    $gateway->import_key('secret-new', id => 'id-new', plan => 'new');
    $gateway->get('/', 'secret-new');
    $expected{'api/new'}{granted} = 1;
    is_counted(\%expected, 'and continues to count');
    $gateway->nginx->kill_worker;
    is_counted(\%expected, 'a killed worker loses no counts');
};

$gateway->nginx->stop;

subtest 'a guarded status, in the smallest zone' => sub {
    my $gateway = Gateway->start(
        plans  => 'plan free 5r/d;',
        server => 'location = /status { tollgate api; tollgate_cost 0; tollgate_status; }',
        http   => 'tollgate_zone 128k;',
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    is($gateway->get('/status')->status, 401, 'asks for a key');
    my $status = $gateway->get('/status', 'k')->json;
    is_deeply([map { "$_->{tables}/$_->{plan}" } @{ $status->{requests} }], ['api/free', 'api/'], 'has a block for each plan');
    is($status->{requests}[1]{verdicts}{unauthenticated}, 1, 'its own requests are counted');
    is($status->{zone}{size_bytes}, 128 << 10, 'size of the zone');
    $gateway->nginx->stop;
};

done_testing;
