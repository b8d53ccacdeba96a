# Each request is charged exactly once, on every path through nginx. A request that is rejected earlier is not charged.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use Http;
use Http2;

my $gateway = Gateway->start(
    plans   => 'plan free 100000r/d;',
    table   => 'lease=off',    # so that Redis counts exactly what was granted
    workers => 2,
    files   => {
        page         => "a page of some length\n",
        'index.html' => 'index',
        'ssi.html'   => '<!--#include virtual="/api/one" --><!--#include virtual="/api/two" -->',
        passwords    => "user:{PLAIN}secret\n",
    },
    server => <<'END',
        listen 127.0.0.1:%PORT2% http2;
        root %DIR%;
        location = /site/   { tollgate api; rewrite ^ /index-of/ last; }
        location /index-of/ { tollgate api; alias %DIR%/; index none.html index.html; }
        location /api/      { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /tried/    { tollgate api; try_files /none /none2 /api/fallback; }
        location /named/    { tollgate api; try_files /none @named; }
        location @named     { tollgate api; try_files /none @named2; }
        location @named2    { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /accel/    { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /internal/ { internal; tollgate api; try_files /page =404; }
        location /error/    { tollgate api; error_page 404 /api/error; try_files /none =404; }
        location /rewrite/  { tollgate api; rewrite ^/rewrite/(.*) /api/$1 last; }
        location /break/    { tollgate api; rewrite ^/break/(.*) /api/$1 break; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /if/       { tollgate api; if ($arg_a) { set $x 1; } proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /ssi.html { tollgate api; ssi on; }
        location /auth/     { tollgate api; auth_request /api/auth; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /mirror/   { tollgate api; mirror /api/mirror; mirror /internal/x; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /added/    { tollgate api; add_after_body /api/after; default_type text/html; try_files /page =404; }
        location /slice/    { tollgate api; slice 8; proxy_set_header Range $slice_range; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /retried/  { tollgate api; proxy_pass http://retried; proxy_next_upstream error http_503; }
        location /post/     { tollgate api; client_max_body_size 1m; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /file/     { tollgate api; try_files /page =404; }

        location /denied/   { tollgate api; deny all; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /basic/    { tollgate api; auth_basic site; auth_basic_user_file %DIR%/passwords; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /slow/     { tollgate api; limit_req zone=slow; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /return/   { tollgate api; return 200 "returned\n"; }
        location /large/    { tollgate api; client_max_body_size 10; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /denied-page/ { tollgate api; error_page 403 /api/page; deny all; }
        location /slow-page/   { tollgate api; error_page 503 /api/page; limit_req zone=slow; }
        location /large-page/  { tollgate api; error_page 413 /api/page; client_max_body_size 10; }
        location /return-page/ { tollgate api; error_page 404 /api/page; return 404; }
        location /no-auth/  { tollgate api; auth_request /none-such; proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /none-such { return 403; }
        location /off/      { tollgate off; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /off-on/   { tollgate off; try_files /none /api/on; }
END
    http => <<'END',
        limit_req_zone $server_protocol zone=slow:64k rate=1r/m;
        upstream retried { server unix:%DIR%/none.sock max_fails=0; server unix:%DIR%/upstream.sock; }
END
    upstream => <<'END',
        root %DIR%;
        location /accel/ { add_header X-Accel-Redirect /internal/page; return 200; }
        location /slice/ { try_files /page =404; }
END
);
my $redis = $gateway->redis;
$gateway->import_key('k', id => 'k1', plan => 'free');
wait_for_room($redis, 86400);

my $total = 0;

# The number of charges since the last call.
sub charges {
    my $now = $gateway->count('k1', 'api', 86400) // 0;
    my $new = $now - $total;
    $total = $now;
    return $new;
}

sub charged {
    my ($charges, $status, $path, $r) = @_;
    $r //= $gateway->get($path, 'k');
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is($r->status, $status, "$path: $status");
    is(charges(), $charges, "$path: charges");
    return $r;
}

subtest 'one charge' => sub {
    charged(1, 200, $_)
        for '/api/', '/site/', '/index-of/', '/tried/', '/named/', '/accel/', '/rewrite/x', '/break/x', '/if/?a=1', '/ssi.html',
        '/auth/', '/mirror/', '/added/', '/slice/', '/retried/', '/off-on/', '/file/';
    charged(1, 404, '/error/');
    like($gateway->get('/ssi.html', 'k')->body, qr{/api/one.*/api/two}s, 'the SSI page is complete');
    is(charges(), 1, '... for one charge');
    charged(1, 206, '/file/', $gateway->get('/file/', 'k', Range => 'bytes=0-3,5-8'));
    my $key = { Authorization => 'Bearer k' };
    charged(1, 200, '/post/', $gateway->request('POST', '/post/', $key, 'x' x 100_000));
    charged(1, 200, '/post/', $gateway->request('POST', '/post/', { %$key, Expect => '100-continue' }, 'x' x 1000));
    charged(1, 200, '/post/', $gateway->request('PUT', '/post/', { %$key, 'Transfer-Encoding' => 'chunked' }, "5\r\nhello\r\n0\r\n\r\n"));
    charged(1, 200, '/file/', $gateway->request('HEAD', '/file/', $key));
};

subtest 'no charge' => sub {
    charged(0, 403, '/denied/');
    charged(0, 401, '/basic/');
    charged(0, 403, '/no-auth/');
    charged(0, 413, '/large/', $gateway->request('POST', '/large/', { Authorization => 'Bearer k' }, 'x' x 11));
    charged(1, 200, '/slow/');
    charged(0, 503, '/slow/');
    charged(0, 403, '/denied-page/');
    charged(0, 503, '/slow-page/');
    charged(0, 413, '/large-page/', $gateway->request('POST', '/large-page/', { Authorization => 'Bearer k' }, 'x' x 11));
    charged(0, 404, '/return-page/');
    charged(0, 200, '/return/');
    charged(0, 200, '/off/');
};

subtest 'kept alive and pipelined' => sub {
    my $connection = Http->connect($gateway);
    $connection->request('GET', '/api/', { Authorization => 'Bearer k' }) for 1 .. 5;
    is(charges(), 5, 'five requests on one connection');
    $connection->send(Http::format_request('GET', "/api/$_", { Authorization => 'Bearer k' }) x 2) for 1 .. 10;
    is(join(' ', map { $connection->response->status } 1 .. 20), join(' ', (200) x 20), 'twenty at once are all answered');
    is(charges(), 20, '... and charged');
    $connection->send(Http::format_request('POST', '/post/', { Authorization => 'Bearer k' }, 'x' x 50) x 3);
    is(join(' ', map { $connection->response->status } 1 .. 3), '200 200 200', 'with bodies');
    is(charges(), 3, '... and charged');
};

subtest 'HTTP/2' => sub {
    my $connection = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my @streams = map { $connection->request([':path' => "/api/$_", authorization => 'Bearer k'], indexed => 1) } 1 .. 60;
    is(scalar(grep { $connection->body($_) =~ /^uri=\S+ authorization= / } @streams), 60, 'sixty concurrent streams, each without the key at the upstream');
    is(charges(), 60, '... and charged');
};

subtest 'the remaining quota after an internal redirect' => sub {
    my $before = $gateway->get('/api/', 'k')->header('X-RateLimit-Remaining');
    is($gateway->get('/tried/', 'k')->header('X-RateLimit-Remaining'), $before - 1, 'Remaining after try_files');
    is($gateway->get('/accel/', 'k')->header('X-RateLimit-Remaining'), $before - 2, '... and after X-Accel-Redirect');
};

$gateway->nginx->stop;
done_testing;
