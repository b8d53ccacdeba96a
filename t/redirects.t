# A granted request is not decided again after an internal redirect. But a redirect can't bypass the requirements of its
# target.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;

my $gateway = Gateway->start(
    plans  => 'plan free 100r/h;',
    table  => 'lease=off',    # so that Redis counts only what was granted
    http   => 'tollgate_plans partner redis=main { plan partner 100r/h; }
               tollgate_plans both redis=main { plan free 7r/h; }',
    server => <<'END',
        location /guarded/  { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /off/      { tollgate off; try_files /none /guarded/x; }
        location /bypassed/ { tollgate api; tollgate_bypass $arg_free; try_files /none /guarded/x; }
        location /dry/      { tollgate api; tollgate_dry_run on; try_files /none /guarded/x; }
        location /dry-partner/ { tollgate partner; tollgate_dry_run on; try_files /none /guarded/x; }
        location /any/      { satisfy any; allow all; tollgate api; try_files /none /guarded/x; }
        location /accel/    { tollgate api; tollgate_bypass $arg_free; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /partner/  { tollgate partner; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /both/     { tollgate both; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /to-partner/ { tollgate api; try_files /none /partner/x; }
        location /to-both/  { tollgate api; try_files /none /both/x; }
        location /gone/     { tollgate api; error_page 404 /partner/gone; try_files /none =404; }
        location /page/     { tollgate api; error_page 401 = @page; proxy_pass http://unix:%DIR%/upstream.sock; }
        location @page      { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    upstream => 'location /accel/ { add_header X-Accel-Redirect /guarded/x; return 200; }',
);
$gateway->import_key('k', id => 'k1', plan => 'free');

for my $path (qw(/off/ /bypassed/?free=1 /dry/ /dry-partner/ /accel/?free=1 /any/)) {
    is($gateway->get($path)->status, 401, "$path redirects to a guarded location, which requires a key");
}
is($gateway->get('/bypassed/')->status, 401, 'the first location requires a key if the bypass does not apply');
is($gateway->count('k1', 'api', 3600), undef, 'nothing is counted so far');

my $counted = 0;
for my $path (qw(/off/ /bypassed/ /bypassed/?free=1 /dry/ /dry-partner/ /accel/ /accel/?free=1 /any/)) {
    my $r = $gateway->get($path, 'k');
    is($r->status, 200, "with a key $path gets there");
    is($gateway->count('k1', 'api', 3600), ++$counted, '… one request is counted');
    is($r->header('X-RateLimit-Remaining'), 100 - $counted, '… and Remaining shows it');
}

is($gateway->get('/to-both/', 'k')->status, 200, 'a redirect into another table that has the plan');
is($gateway->count('k1', 'api', 3600), ++$counted, '… is counted in the table of the first location');
is($gateway->count('k1', 'both', 3600), undef, '… and in no other');
my $partner = $gateway->get('/to-partner/', 'k');
is($partner->status, 403, 'a redirect into a table without the plan is refused');
is($partner->json->{code}, 'plan_not_allowed', '… with an Error body');
$counted++;

is($gateway->get('/gone/', 'k')->status, 404, 'the operator\'s error page needs no plan');
$counted++;

my $page = $gateway->get('/page/');
is($page->status, 200, 'a refused request gets the operator\'s page, even in a guarded location');
like($page->body, qr/^uri=\/page\/ authorization= /, '… which gets no key');
is($gateway->count('k1', 'api', 3600), $counted, '… and costs nothing');

$gateway->nginx->stop;
done_testing;
