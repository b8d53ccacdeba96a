# tollgate_admin serves only requests that its own location has decided: no internal redirect and no subrequest from
# another location reaches the keys. A URI that `rewrite … break` has changed is not misread.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;

my $gateway = Gateway->start(
    plans    => 'plan free 100000r/d;',
    http     => 'tollgate_plans ops redis=main { plan ops 100000r/d; }',
    upstream => <<'END',
        location /accel   { add_header X-Accel-Redirect /admin/keys; return 200; }
        location /include { default_type text/html; return 200 "before <!--# include virtual=\"/admin/keys\" --> after"; }
END
    server => <<'END',
        location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
        # The same tables and scopes as those of the location with the keys.
        location /ops/ {
            tollgate ops;
            tollgate_scope admin;
            location /ops/error/   { root /nonexistent; error_page 404 /admin/keys; }
            location /ops/error2/  { root /nonexistent; error_page 404 = /admin/keys; }
            location /ops/named/   { root /nonexistent; error_page 404 @keys; }
            location /ops/try/     { try_files /none /admin/keys; }
            location /ops/accel/   { proxy_pass http://unix:%DIR%/upstream.sock:/accel; }
            location /ops/include/ { ssi on; proxy_pass http://unix:%DIR%/upstream.sock:/include; }
            location /ops/add/     { add_before_body /admin/keys; proxy_pass http://unix:%DIR%/upstream.sock:/; }
            location /ops/ask/     { auth_request /admin/keys; proxy_pass http://unix:%DIR%/upstream.sock:/; }
            location /ops/after/   { post_action /admin/keys; proxy_pass http://unix:%DIR%/upstream.sock:/; }
        }
        # Keys of customers are in this table.
        location /api/ {
            tollgate api;
            location /api/error/  { root /nonexistent; error_page 404 /admin/keys; }
            location /api/error2/ { root /nonexistent; error_page 404 = /admin/keys; }
            location /api/named/  { root /nonexistent; error_page 404 @keys; }
            location /api/down/   { proxy_pass http://unix:%DIR%/none.sock; error_page 502 /admin/audit; }
            location /api/try/    { try_files /none /admin/keys; }
            location /api/accel/  { proxy_pass http://unix:%DIR%/upstream.sock:/accel; }
        }
        location /open/error/ { root /nonexistent; error_page 404 /admin/keys; }
        location @keys { rewrite ^ /admin/keys last; }

        location /moved/      { rewrite ^/moved/(.*)$ /admin/$1 last; }
        location /longer/name/ { tollgate ops; tollgate_scope admin; tollgate_admin main; rewrite ^/longer/name/v1/(.*)$ /keys/$1 break; }
        location /shorter/     { tollgate ops; tollgate_scope admin; tollgate_admin main; rewrite ^ /x break; }
        location /version/     { tollgate ops; tollgate_scope admin; tollgate_admin main; rewrite ^/version/1/(.*)$ /version/$1 break; }
END
);
$gateway->import_key('operator', id => 'portal',   plan => 'ops',  scopes => 'admin');
$gateway->import_key('customer', id => 'customer', plan => 'free');
$gateway->redis->cmd('ZADD', 't:ids', 1, 'portal', 2, 'customer');

my $has_data = qr/portal|customer|"keys"|"entries"/;
is($gateway->get('/admin/keys', 'operator')->status, 200, 'an operator reads the keys');
like($gateway->get('/admin/keys', 'operator')->body, $has_data, '… of all');
for my $case (
    (map { [$_, 'customer', 403] } qw(/api/error/ /api/error2/ /api/named/ /api/down/ /api/try/ /api/accel/ /open/error/)),
    (map { [$_, 'operator', 403] } qw(/ops/error/ /ops/error2/ /ops/named/ /ops/try/ /ops/accel/ /ops/ask/ /open/error/)),
    (map { [$_, 'operator', 200] } qw(/ops/include/ /ops/add/ /ops/after/)),
) {
    my ($path, $key, $status) = @$case;
    my $response = $gateway->get("${path}x", $key);
    is($response->status, $status, "$path with the key of \"$key\"");
    unlike($response->body, $has_data, '… shows no key');
}

is($gateway->get('/moved/keys', 'operator')->status, 200, 'a rewrite before the access phase reaches the keys');
is($gateway->get('/moved/keys', 'customer')->status, 403, '… with the scope only');

is($gateway->get('/version/1/keys/portal', 'operator')->json->{id}, 'portal', 'a rewrite below the location');
for my $path (qw(/shorter/keys /longer/name/v1/portal)) {
    my $response = $gateway->get($path, 'operator');
    is($response->status, 404, "$path is rewritten to a path outside of its location");
    is($response->json->{code}, 'not_found', '… an Error body');
}
unlike($gateway->nginx->error_log, qr{\[crit\] .*tollgate: }, 'nothing is thrown');

$gateway->nginx->stop;
done_testing;
