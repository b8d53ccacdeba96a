# tollgate_scope: a location requires scopes of the key, and refuses others before anything is counted. The scopes and the
# meta of a key are variables.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use Test::More;
use Wait qw(wait_until);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $gateway = Gateway->start(
    plans    => 'plan free 1000000r/d; plan all unlimited; anonymous 1000r/h;',
    table    => 'lease=off',    # so that Redis counts only what was granted
    location => 'tollgate_realm "the \"api\"";',
    http     => <<'END',
        tollgate_plans busy redis=main { plan free 1000000r/d; }
        log_format fields '$uri|$tollgate_verdict|$tollgate_scopes|$tollgate_meta_customer|$tollgate_meta_seats|$tollgate_meta_none|$tollgate_meta_';
END
    server => <<"END",
        access_log %DIR%/access.log fields;
        tollgate_scope outer;
        location /none/    { tollgate api; tollgate_scope off; $upstream }
        location /outer/   { tollgate api; $upstream }
        location /read/    { tollgate api; tollgate_scope read; $upstream
            location /read/write/ { tollgate_scope write read read; $upstream } }
        location /dry/     { tollgate api; tollgate_scope admin; tollgate_dry_run on; $upstream }
        location /any/     { tollgate api; tollgate_scope admin; satisfy any; deny all; $upstream }
        location /any-local/ { tollgate api; tollgate_scope admin; satisfy any; allow all; $upstream }
        location /off/     { tollgate off; tollgate_scope admin; $upstream }
        location /bypass/  { tollgate api; tollgate_scope admin; tollgate_bypass 1; $upstream }
        location /to-read/ { tollgate api; tollgate_scope off; try_files /none /read/x; }
        location /page/    { tollgate api; tollgate_scope admin; error_page 403 = /page; $upstream }
        location = /page   { tollgate off; return 200 "a page\n"; }
        location /usage    { tollgate api; tollgate_scope read; tollgate_usage; }
        location /busy/    { tollgate busy; tollgate_scope off; $upstream }
        location /busy/admin/ { tollgate busy; tollgate_scope admin; $upstream }
        location /up/      { tollgate api; tollgate_scope off; proxy_set_header Meta \$tollgate_scopes/\$tollgate_meta_customer; $upstream }
END
    upstream => 'location /up/ { return 200 "$http_meta"; }',
);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
$gateway->import_key('reader', id => 'reader', plan => 'free', scopes => 'read');
$gateway->import_key('all', id => 'all', plan => 'all', scopes => 'write read', meta => '{"customer":"c \"7\"","seats":5}');
$gateway->import_key('plain', id => 'plain', plan => 'free');
$gateway->import_key('gold', id => 'gold', plan => 'gold', scopes => 'read');
$gateway->import_key('bad', id => 'bad', plan => 'free', scopes => "read\nwrite");
wait_for_room($gateway->redis, 86400);

sub answer {
    my $r = $gateway->get(@_);
    return $r->status . ($r->status == 200 ? '' : ' ' . $r->json->{code});
}
sub counted { return $gateway->count($_[0], 'api', 86400) // 0 }

subtest 'who may' => sub {
    is(answer('/none/', 'plain'), '200', 'off: any valid key');
    is(answer('/read/', 'reader'), '200', 'a key with the scope');
    is(answer('/read/', 'plain'), '403 insufficient_scope', 'a key without');
    is(answer('/outer/', 'reader'), '403 insufficient_scope', 'a scope of the server');
    is(answer('/read/write/', 'reader'), '403 insufficient_scope', 'all scopes are required');
    is(answer('/read/write/', 'all'), '200', '… in any order');
    is(answer('/read/', 'gold'), '403 plan_not_allowed', 'the plan must be in the table as well');
    is(answer('/outer/', 'gold'), '403 insufficient_scope', '… but the scope is checked first');
    is(answer('/read/'), '401 missing_api_key', 'no key');
    is(answer('/read/', 'unknown'), '401 invalid_api_key', 'an unknown key');
    is(answer('/none/', 'bad'), '401 invalid_api_key', 'a record with a malformed scope');
    is(answer('/off/'), '200', 'without tollgate, there is no key to require it of');
    is(answer('/bypass/'), '200', 'a bypass');
    is($gateway->get('/usage', 'reader')->json->{plan}, 'free', 'in front of tollgate_usage');
    is(answer('/usage', 'plain'), '403 insufficient_scope', '…');
};

subtest 'the refusal' => sub {
    my $before = counted('reader');
    my $r = $gateway->get('/read/write/', 'reader');
    is($r->header('WWW-Authenticate'), 'Bearer realm="api", error="insufficient_scope", scope="read write"', 'the challenge of RFC 6750');
    is_deeply([@{ $r->json }{qw(code status)}], ['insufficient_scope', 403], 'the Error body');
    is($r->header('Retry-After'), undef, 'waiting does not help');
    is($gateway->get('/', 'reader')->header('WWW-Authenticate'), 'Bearer realm="the \"api\"", error="insufficient_scope", scope="outer"', 'the realm of the location');
    is(counted('reader'), $before, 'nothing is counted');
    is($gateway->redis->cmd('EXISTS', 't:quota:{plain}:api'), 1, 'a granted request is');
    like($gateway->nginx->error_log, qr/\[error\] .*tollgate refuses the request: insufficient_scope, key "reader", plan "free"/, 'the log has the id of the key');
};

subtest 'with other directives' => sub {
    my $before = counted('reader');
    is(answer('/dry/', 'reader'), '200', 'a dry run refuses nothing');
    is($gateway->get('/dry/', 'reader')->header('WWW-Authenticate'), undef, '… and adds no challenge');
    is(answer('/any/', 'reader'), '403 insufficient_scope', 'satisfy any, and nothing else grants');
    is(answer('/any-local/', 'reader'), '200', '… or another module does');
    is($gateway->get('/page/', 'reader')->body, "a page\n", 'an error_page');
    is(answer('/to-read/', 'plain'), '403 insufficient_scope', 'a redirect into a location with another scope');
    is($gateway->get('/to-read/', 'plain')->header('WWW-Authenticate'), 'Bearer realm="api", error="insufficient_scope", scope="read"', '… with its challenge');
    is(answer('/to-read/', 'reader'), '200', '… with a key that has it');
    is(counted('reader'), $before + 1, '… is counted once, and the others are not');
};

subtest 'a key of two locations in the memory of a worker' => sub {
    my %answers;
    my $hundred = sub { $answers{ answer($_ % 2 ? '/busy/' : '/busy/admin/', 'reader') }++ for 1 .. 200 };
    $hundred->() for 1 .. 5;
    is_deeply(\%answers, { 200 => 500, '403 insufficient_scope' => 500 }, 'each request is checked');
    my $status = $gateway->status->{redis}[0]{quota_decisions};
    cmp_ok($status->{lease}, '>', 100, '… and many of them were granted from a lease') or diag explain $status;
};

subtest 'a change' => sub {
    $gateway->subscribed(1);
    is(answer('/read/', 'plain'), '403 insufficient_scope', 'before');
    $tollgate->run(qw(key set plain --scope), 'read');
    ok(eval { wait_until('the change', sub { answer('/read/', 'plain') eq '200' }) }, 'a scope that the command sets takes effect');
    $tollgate->run(qw(key set plain --scope none));
    ok(eval { wait_until('the change', sub { answer('/read/', 'plain') eq '403 insufficient_scope' }) }, 'so does one that it removes');
};

subtest 'variables' => sub {
    is($gateway->get('/up/', 'all')->body, 'read write/c "7"', 'at the upstream');
    is($gateway->get('/up/', 'plain')->body, '/', '… of a key that has none');
    my $lines = wait_until('the access log', sub {
        open my $file, '<', $gateway->nginx->dir . '/access.log' or die $!;
        my @lines = <$file>;
        return \@lines if grep { m{^/up/.*\|read write\|} } @lines;
    });
    is((grep { m{^/read/write/\|granted} } @$lines)[0], "/read/write/|granted|read write|c \\x227\\x22|5|-|-\n", 'in the access log');
    is((grep { m{^/read/write/\|forbidden} } @$lines)[0], "/read/write/|forbidden|read|-|-|-|-\n", '… of a refusal');
    is((grep { m{^/dry/} } @$lines)[0], "/dry/|forbidden|read|-|-|-|-\n", '… of a dry run');
    is((grep { m{^/off/} } @$lines)[0], "/off/|-|-|-|-|-|-\n", '… without a key');
};

subtest 'statistics' => sub {
    my ($free) = grep { $_->{plan} eq 'free' && $_->{tables} eq 'api' } @{ $gateway->status->{requests} };
    cmp_ok($free->{verdicts}{forbidden}, '>=', 7, 'forbidden requests of the plan') or diag explain $free;
    is($free->{dry_run}{forbidden}, 2, '… and those of a dry run');
};

$gateway->nginx->stop;
done_testing;
