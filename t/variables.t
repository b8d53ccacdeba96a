# Every $tollgate_… variable, for every verdict, in an access log and at an upstream; which names nginx -t accepts, and
# their places in nginx's table of variables.

use strict;
use warnings;
use lib 't/lib';
use Digest::SHA qw(sha256_hex);
use Test::More;
use Gateway qw(wait_for_room);
use Nginx;
use Wait qw(wait_until);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/h; plan spent 1r/h; plan banned 1r/h; plan all unlimited; anonymous 1000r/h; ban after=5 within=1h for=1h;',
    files  => {
        'page.html' => "a page\n",
        'by_name'   => join(' ', map { "$_=<!--# echo var=\"tollgate_$_\" default=\"none\" -->" } qw(verdict key_id meta_tier plan nonsense)),
    },
    server => <<'END',
        root %DIR%;
        access_log %DIR%/access.log fields;
        set $before $tollgate_verdict;
        location /off/     { proxy_pass http://unix:%DIR%/upstream.sock; }
        location /bypass/  { tollgate api; tollgate_bypass $arg_free; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /dry/     { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /page/    { tollgate api; error_page 429 /page.html; proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /page.html { }
        location /up/      { tollgate api; proxy_set_header Key $tollgate_key_id/$tollgate_plan/$tollgate_remaining; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /cost/    { tollgate api; tollgate_cost 4; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /group/   { tollgate api; proxy_set_header Key group=$tollgate_group; proxy_pass http://unix:%DIR%/upstream.sock:/up/; }
        location /ssi/     { tollgate api; ssi on; default_type text/html; alias %DIR%/; }
        location /deny/    { tollgate deny; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /why/     { tollgate api; add_header X-Why $why always; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /why/dry/ { tollgate api; tollgate_dry_run on; add_header X-Why $why always; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /why/two/ { tollgate api second; add_header X-Why $why always; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /why/few/ { tollgate few; add_header X-Why $why always; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    http => <<'END',
        log_format fields '$uri|$tollgate_verdict|$tollgate_key_id|$tollgate_key_name|$tollgate_plan|$tollgate_limit|$tollgate_remaining|$tollgate_reset|$tollgate_cost|$before';
        map "" $why { volatile; default "$tollgate_reason|$tollgate_invalid_key_id|$tollgate_key_id|$tollgate_limited_by"; }
        tollgate_plans second redis=main { plan free 1r/d; plan spent 7r/d; }
        tollgate_plans few redis=main { plan free 5r/h; anonymous 1r/15m; }
        tollgate_redis none { server unix:%DIR%/none.sock; }
        tollgate_plans deny redis=none { plan free 5r/h; }
END
    upstream => 'location /up/ { return 200 "$http_key"; }',
);
$gateway->import_key($_, id => "id-$_", plan => $_, name => "the \"$_\" one") for qw(free spent banned gold all);
wait_for_room($gateway->redis, 3600);
my $hour = 3600 * (1 + int(time / 3600));

my $read = 0;

# The line of the access log for a request. It is written after the response was sent.
sub logged {
    my ($path, $key) = @_;
    $gateway->get($path, $key);
    return wait_until('the access log', sub {
        open my $file, '<', $gateway->nginx->dir . '/access.log' or die $!;
        my $text = do { local $/; <$file> // '' };
        substr($text, $read) =~ /^(.*)\n/ or return;
        $read += length $1 . "\n";
        return $1;
    });
}

is(logged('/off/'), "/off/|-|-|-|-|-|-|-|-|-", 'off');
is(logged('/', 'free'), "/|granted|id-free|the \\x22free\\x22 one|free|1000|999|$hour|1|-", 'granted');
is(logged('/', 'spent'), "/|granted|id-spent|the \\x22spent\\x22 one|spent|1|0|$hour|1|-", 'the last one');
is(logged('/', 'spent'), "/|limited|id-spent|the \\x22spent\\x22 one|spent|1|0|$hour|1|-", 'limited');
is(logged('/page/', 'spent'), "/page.html|limited|id-spent|the \\x22spent\\x22 one|spent|1|0|$hour|1|limited", 'on an error page');
logged('/', 'banned') for 1 .. 5;
is(logged('/', 'banned'), "/|banned|id-banned|the \\x22banned\\x22 one|banned|1|0|$hour|1|-", 'banned');
is(logged('/'), "/|unauthenticated|-|-|-|1000|999|$hour|-|-", 'unauthenticated');
is(logged('/', 'gold'), "/|forbidden|id-gold|the \\x22gold\\x22 one|gold|-|-|-|-|-", 'forbidden');
is(logged('/', 'all'), "/|granted|id-all|the \\x22all\\x22 one|all|-|-|-|1|-", 'unlimited');
is(logged('/bypass/?free=1'), "/bypass/|bypassed|-|-|-|-|-|-|-|-", 'bypassed');
is(logged('/bypass/?free=0'), "/bypass/|unauthenticated|-|-|-|1000|998|$hour|-|-", 'not bypassed');
is(logged('/dry/', 'spent'), "/dry/|limited|id-spent|the \\x22spent\\x22 one|spent|1|0|$hour|1|-", 'dry run');
is(logged('/deny/', 'free'), "/deny/|unavailable|-|-|-|-|-|-|-|-", 'unavailable');
is(logged('/cost/', 'free'), "/cost/|granted|id-free|the \\x22free\\x22 one|free|1000|995|$hour|4|-", 'a cost');
is($gateway->get('/up/', 'free')->body, 'id-free/free/994', 'at the upstream');
$gateway->import_key("meta", id => "id-meta", plan => "all", meta => q({"tier":"gold"}));
$gateway->import_key('member', id => 'id-member', plan => 'all', group => 'acme');
is($gateway->get('/group/', $_->[0])->body, $_->[1], "the group: $_->[2]") for ['member', 'group=acme', 'of a member'], ['free', 'group=', 'without one'];
is($gateway->get('/ssi/by_name', 'meta')->body, 'verdict=granted key_id=id-meta meta_tier=gold plan=all nonsense=none', 'read by name, at run time');

# The reason and the id of a key that is not valid, the id of a valid one, and the limit that has refused the request.
sub why { my ($path, $key) = @_; return scalar $gateway->get($path, $key)->header('X-Why') }

subtest 'why a key is not valid' => sub {
    $gateway->import_key('past', id => 'id-past', plan => 'free', expires => int(time) - 1);
    $gateway->import_key('past-and-off', id => 'id-both', plan => 'free', expires => int(time) - 1, state => 'disabled');
    $gateway->import_key('off', id => 'id-off', plan => 'free', state => 'disabled');
    $gateway->import_key('odd', id => 'id-odd', plan => 'free', expires => 'tomorrow');
    for my $time ('looked up', 'known by the node') {
        is(why('/why/', 'past'), 'expired|id-past||', "expired, $time");
        is(why('/why/', 'off'), 'disabled|id-off||', "disabled, $time");
        is(why('/why/', 'past-and-off'), 'disabled|id-both||', "both, $time");
        is(why('/why/', 'nobody'), 'unknown|||', "unknown, $time");
        is(why('/why/', 'odd'), 'unknown|||', "a record that cannot be read, $time");
        is(why('/why/', $_), 'malformed|||', "malformed: $_") for 'two words', 'tg_' . 'a' x 38;
    }
    is(why('/why/'), '|||', 'no key');
    is(why('/why/dry/', 'off'), 'disabled|id-off||', 'a dry run: the id is not that of a client who may pass');
    my $known = sub { $gateway->get('/why/', 'known')->status };
    $gateway->import_key('known', id => 'id-known', plan => 'free');
    is($known->(), 200, 'a known key') for 1, 2;
    $gateway->subscribed(1);
    $gateway->change_key('known', state => 'disabled');
    wait_until('the change', sub { $known->() == 401 });
    is(why('/why/', 'known'), 'disabled|id-known||', 'a key that was valid');
    $gateway->change_key('known', state => 'active');
    wait_until('the change', sub { $known->() == 200 });
    $gateway->redis->cmd('EVAL', "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'revoked', 'id-known')", 1,
        't:key:' . sha256_hex('known'));
    $gateway->redis->cmd('PUBLISH', 't:events', sha256_hex('known'));
    wait_until('the revocation', sub { $known->() == 401 });
    is(why('/why/', 'known'), 'revoked|id-known||', "a revoked key, $_") for 'known by the node', 'again';
    $gateway->redis->cmd('HSET', 't:key:' . sha256_hex('old'), revoked => 'id-old');
    is(why('/why/', 'old'), 'revoked|id-old||', "a key that was revoked before, $_") for 'looked up', 'known by the node';
    my $body = $gateway->get('/why/', 'past')->json;
    is(join(' ', map { "$_=$body->{$_}" } sort keys %$body), 'code=invalid_api_key message=The API key is not valid. status=401', 'the client is not told');
    my $log = $gateway->nginx->error_log;
    like($log, qr/invalid_api_key, key "id-past", plan "", reason "expired", client/, 'the error log: expired');
    like($log, qr/invalid_api_key, key "id-off", plan "", reason "disabled"/, '... disabled');
    like($log, qr/invalid_api_key, key "", plan "", reason "unknown"/, '... unknown');
    unlike($log, qr/refuses.*(?:nobody|past-and-off|two words)/, '... and no key');
};

subtest 'the limit that has refused a request' => sub {
    my $refusal = sub {
        my ($path, $key) = @_;
        my $r = $gateway->get($path, $key);
        return join ' ', $r->status, ($r->header('X-Why') // '') =~ s/.*\|//r, ($r->status == 429 ? $r->json : {})->{policy} // '-';
    };
    is($refusal->('/why/', 'spent'), '429 api:spent-hour api:spent-hour', 'a window');
    is($refusal->('/why/', 'banned'), '429  -', 'a ban has none');
    is($refusal->('/why/two/', 'free'), '200  -', 'granted');
    is($refusal->('/why/two/', 'free'), '429 second:second-free-day second:second-free-day', 'the second table');
    is($refusal->('/why/two/', 'spent'), '429 api:api-spent-hour api:api-spent-hour', 'the first table');
    is($refusal->('/why/few/', 'nobody'), '401  -', 'an address');
    is($refusal->('/why/few/', 'nobody'), '429 few:anonymous-15-minutes few:anonymous-15-minutes', '... that has spent its budget');
    is(why('/why/dry/', 'spent'), '||id-spent|api:spent-hour', 'a dry run');
    like($gateway->nginx->error_log, qr/rate_limit_exceeded, key "id-free", plan "free", limited by "second:second-free-day", client/, 'the error log');
};
$gateway->nginx->stop;

sub nginx_t { my ($http, %more) = @_; return Nginx->test_config(conf => "$http\nserver { listen unix:%DIR%/a.sock; }", %more) }

subtest 'names' => sub {
    for ('log_format f $tollgate_nonsense;', 'map $tollgate_ $a { default 1; }', 'map $tollgate_plans $a { default 1; }', 'map $tollgate_meta $a { default 1; }') {
        my ($exit, $output) = nginx_t($_);
        my ($name) = /\$(tollgate_\w*)/;
        isnt($exit, 0, "an unknown name: $_");
        like($output, qr/\[emerg\] .*unknown "$name" variable/, '... is named');
    }
    my ($exit, $output) = nginx_t("\nmap \$uri \$tollgate_plan { default 1; }");
    isnt($exit, 0, 'a `map` to a name that is taken');
    like($output, qr/the duplicate "tollgate_plan" variable in \S+nginx\.conf:\d+$/m, '... is named, with file and line');
    ($exit, $output) = nginx_t('map $uri $tollgate_tier { default 1; } log_format f "$tollgate_tier $Tollgate_Plan ${tollgate_meta_x}";');
    is($exit, 0, 'a name of one\'s own with the prefix, capitals, a member of meta') or diag($output);
};

subtest 'the table of variables' => sub {
    # The smallest size of the table without a warning: with the module, it is the same. With these variables, any ten more
    # are likely to need a larger one.
    my $variables = join '', map { "map \$uri \$a$_ { default 1; }\n" } 1 .. 50;
    my $warns = sub { return (nginx_t("variables_hash_max_size $_[0]; $variables", modules => $_[1]))[1] =~ /could not build optimal variables_hash/ };
    my ($small, $large) = (0, 4096);
    while ($large - $small > 1) {
        my $size = int(($small + $large) / 2);
        $warns->($size, []) ? ($small = $size) : ($large = $size);
    }
    ok($warns->($small, []), "nginx warns of a table of $small");
    ok(!$warns->($large, []), "... and not of one of $large");
    ok(!$warns->($large, ['ngx_http_tollgate_module']), '... nor with the module');
};

done_testing;
