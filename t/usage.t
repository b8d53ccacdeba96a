# tollgate_usage: the caller's quotas as JSON.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use JSON::PP ();

my $null = undef;
my $gateway = Gateway->start(
    plans  => 'plan free 10r/h 1000r/d; plan spent 1r/h; plan own custom; plan all unlimited; anonymous 1000r/h;',
    redis  => 'on_failure allow;',
    server => <<'END',
        tollgate_json_errors on;
        location = /quota   { tollgate api; tollgate_cost 0; tollgate_usage; }
        location = /charged { tollgate api; tollgate_usage; }
        location = /two     { tollgate api search; tollgate_cost 0; tollgate_usage; }
        location = /bypass  { tollgate api; tollgate_bypass 1; tollgate_usage; }
        location = /dry     { tollgate api; tollgate_dry_run on; tollgate_usage; }
        location = /if      { tollgate api; tollgate_cost 0; tollgate_usage; if ($arg_x) { set $y 1; } }
        location = /except  { tollgate api; tollgate_cost 0; tollgate_usage; limit_except GET { allow all; } }
        location = /any     { tollgate api; satisfy any; allow all; tollgate_usage; }
        location = /page    { tollgate api; tollgate_cost 0; error_page 404 = /quota; return 404; }
END
    http => 'tollgate_plans search { plan free 5r/h; plan all unlimited; default all; }',
);
$gateway->import_key($_, id => "id-$_", plan => $_) for qw(free spent all);
$gateway->import_key('own', id => 'id-own', plan => 'own', limits => '7r/h 70r/d');
wait_for_room($gateway->redis, 3600);
my ($hour, $day) = map { $_ * (1 + int(time / $_)) } 3600, 86400;

sub window {
    my ($table, $policy, $limit, $period, $remaining) = @_;
    my $reset = $period == 3600 ? $hour : $day;
    return { table => $table, policy => $policy, unit => 'requests', limit => $limit, period => $period, remaining => $remaining, reset => $reset,
        exhausted => $remaining ? JSON::PP::false : JSON::PP::true };
}

sub is_usage {
    my ($r, $id, $plan, $verdict, $windows, $name) = @_;
    is($r->status, 200, "$name: 200");
    is_deeply($r->json, { id => $id, plan => $plan, verdict => $verdict, windows => $windows }, "$name: usage");
}

my $r = $gateway->get('/quota', 'free');
is_usage($r, 'id-free', 'free', 'granted', [window('api', 'free-hour', 10, 3600, 10), window('api', 'free-day', 1000, 86400, 1000)],
    'a key that is not used yet');
is($r->header('Content-Type'), 'application/json', '... as JSON');
is($r->header('Cache-Control'), 'no-store', '... not cacheable');
is($r->header('X-RateLimit-Remaining'), 10, '... with the usual fields');

$gateway->get('/', 'free') for 1 .. 3;
is_usage($gateway->get('/quota', 'free'), 'id-free', 'free', 'granted',
    [window('api', 'free-hour', 10, 3600, 7), window('api', 'free-day', 1000, 86400, 997)], 'after three requests');
is_usage($gateway->get('/charged', 'free'), 'id-free', 'free', 'granted',
    [window('api', 'free-hour', 10, 3600, 6), window('api', 'free-day', 1000, 86400, 996)], 'if it costs a unit like any request');
is_usage($gateway->get('/two', 'free'), 'id-free', 'free', 'granted',
    [window('api', 'api-free-hour', 10, 3600, 6), window('api', 'api-free-day', 1000, 86400, 996), window('search', 'search-free-hour', 5, 3600, 5)],
    'of two tables');
$gateway->get('/', 'spent') for 1 .. 2;
is_usage($gateway->get('/quota', 'spent'), 'id-spent', 'spent', 'granted', [window('api', 'spent-hour', 1, 3600, 0)], 'a spent quota');
is_usage($gateway->get('/two', 'spent'), 'id-spent', 'spent', 'granted', [window('api', 'api-spent-hour', 1, 3600, 0)],
    'one table limited, the other not');
is_usage($gateway->get('/quota', 'own'), 'id-own', 'own', 'granted', [window('api', 'own-hour', 7, 3600, 7), window('api', 'own-day', 70, 86400, 70)],
    'custom limits');
is_usage($gateway->get('/quota', 'all'), 'id-all', 'all', 'granted', [], 'unlimited');
is($gateway->get('/quota')->json->{code}, 'missing_api_key', 'no key: 401');
is($gateway->get('/quota', 'unknown')->json->{code}, 'invalid_api_key', 'a bad key: 401');

is_usage($gateway->get('/bypass', 'free'), $null, $null, 'bypassed', [], 'bypassed');
is_usage($gateway->get('/dry', 'spent'), 'id-spent', 'spent', 'limited', [window('api', 'spent-hour', 1, 3600, 0)], 'dry run');
is_usage($gateway->get('/dry'), $null, $null, 'unauthenticated', [window($null, 'anonymous-hour', 1000, 3600, 997)],
    'dry run without a key: the budget of the address');
is_usage($gateway->get('/any'), $null, $null, '-', [], 'granted without a check of the key');

for my $path ('/quota', '/except') {
    my $head = $gateway->request('HEAD', $path, { Authorization => 'Bearer all' });
    is($head->status . $head->body, 200, "HEAD $path");
    is($head->header('Content-Length'), length $gateway->get($path, 'all')->body, '... has the length of GET');
    my $post = $gateway->request('POST', $path, { Authorization => 'Bearer all' }, 'x' x 100);
    is($post->status, 405, "POST $path: 405");
    is($post->header('Allow'), 'GET, HEAD', '... with Allow');
    is($post->json->{code}, 'method_not_allowed', '... and an Error body');
}
is($gateway->get('/if?x=1', 'all')->json->{id}, 'id-all', 'the same in an `if`');

my $connection = Http->connect($gateway);
for my $method (qw(POST GET POST HEAD GET)) {
    my $r = $connection->request($method, '/quota', { Authorization => 'Bearer all' }, $method eq 'POST' ? 'body' : undef);
    is($r->status, $method eq 'POST' ? 405 : 200, "kept alive: $method");
}

$gateway->redis->stop;
my $degraded = $gateway->get('/quota', 'free')->json;
is("$degraded->{id} $degraded->{plan} $degraded->{verdict}", 'id-free free degraded', 'Redis is unreachable: a known key');
is(ref $degraded->{windows}, 'ARRAY', '... has a list of windows');

$gateway->nginx->stop;
done_testing;
