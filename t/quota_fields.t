# X-RateLimit-*, RateLimit and Retry-After are on every response of a tollgate location, with the numbers of the binding
# window.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_window wait_for_room);
use Http;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; plan steps 3r/2s 5r/d; plan equal 5r/2s 5r/d; plan one 1r/2s 1r/d; plan free2 unlimited; anonymous 9r/h;',
    files  => { page => "a page of some length\n", 'index.html' => "index\n" },
    http   => 'limit_req_zone $uri zone=limited:64k rate=1r/m; tollgate_plans search { plan steps 4r/2s; plan equal 9r/d; plan free2 unlimited; plan free unlimited; plan one unlimited; }
               tollgate_plans open { plan free 7r/d; }',
    server => <<'END',
        root %DIR%;
        client_max_body_size 10;
        location /file/      { tollgate api; etag off; if_modified_since before; try_files /page =404; }
        location = /dir      { tollgate api; return 301 /dir/; }
        location /code/      { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /slow/      { tollgate api; proxy_pass http://unix:%DIR%/deaf.sock; proxy_read_timeout 100ms; }
        location /denied/    { tollgate api; deny all; }
        location /limited/429 { tollgate api; limit_req zone=limited; limit_req_status 429; try_files /page =404; }
        location /limited/503 { tollgate api; limit_req zone=limited; try_files /page =404; }
        location /down/      { tollgate api; proxy_pass http://unix:%DIR%/none.sock; }
        location /ietf/      { tollgate api; tollgate_headers ietf; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /both/      { tollgate api; tollgate_headers both; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /silent/    { tollgate api; tollgate_headers off;  proxy_pass http://unix:%DIR%/upstream.sock; }
        location /two/       { tollgate api search; tollgate_headers both; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /open/      { tollgate open; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /off/       { proxy_pass http://unix:%DIR%/upstream.sock; }
END
    upstream => join('', map { "location = /code/$_ { return $_; }\n" } 200, 201, 204, 304, 400, 404, 409, 500, 503) . <<'END',
        location ~ /own$ {
            add_header X-RateLimit-Limit 111 always; add_header x-ratelimit-remaining 222; add_header X-RateLimit-Reset 333;
            add_header RateLimit '"up";r=1'; add_header RateLimit-Policy '"up";q=1'; add_header X-RateLimit-Other 444;
            return 200;
        }
END
);
my ($redis, $dir) = ($gateway->redis, $gateway->nginx->dir);
$gateway->import_key($_, id => "id-$_", plan => $_) for qw(free steps equal one free2 gold);
# It listens and never answers.
my $deaf = IO::Socket::UNIX->new(Local => "$dir/deaf.sock", Listen => 8) or die $!;

sub triple { my ($r) = @_; return join ' ', map { $r->header("X-RateLimit-$_") // '-' } qw(Limit Remaining Reset) }
sub end_of { my ($period) = @_; return $period * (1 + int($redis->cmd('TIME')->[0] / $period)) }

subtest 'on every status' => sub {
    wait_for_room($redis, 86400);
    my $day = end_of(86400);
    my $left = 1000;
    my @granted = (
        [200, 'GET', '/file/'], [206, 'GET', '/file/', { Range => 'bytes=0-3' }], [416, 'GET', '/file/', { Range => 'bytes=900-' }],
        [304, 'GET', '/file/', { 'If-Modified-Since' => 'Thu, 01 Jan 2099 00:00:00 GMT' }], [412, 'GET', '/file/', { 'If-Match' => '"x"' }],
        [200, 'HEAD', '/file/'], [405, 'POST', '/file/', {}, 'x'],
        (map { [$_, 'GET', "/code/$_"] } 200, 201, 204, 304, 400, 404, 409, 500, 503), [502, 'GET', '/down/'], [504, 'GET', '/slow/'],
    );
    for (@granted) {
        my ($status, $method, $path, $headers, $body) = @$_;
        my $r = $gateway->request($method, $path, { Authorization => 'Bearer free', %{ $headers // {} } }, $body);
        $left--;
        is(join(' ', $r->status, triple($r)), "$status 1000 $left $day", "$method $path");
    }
    wait_for_room($redis, 3600);
    my $hour = end_of(3600);
    my @refused = (
        [401, '/code/200', undef, '9 8'], [401, '/code/200', 'unknown', '9 7'], [403, '/code/200', 'gold', '9 7'],
        [301, '/dir', 'free', '9 7'], [403, '/denied/', 'free', '9 7'],
    );
    for (@refused) {
        my ($status, $path, $key, $numbers) = @$_;
        my $r = $gateway->get($path, $key);
        is(join(' ', $r->status, triple($r)), "$status $numbers $hour", "$path: the address's budget");
    }
    my $r = $gateway->request('POST', '/code/200', { Authorization => 'Bearer free' }, 'x' x 11);
    is(join(' ', $r->status, triple($r)), "413 9 7 $hour", 'too large a body: the address\'s budget');
    is(triple($gateway->get('/off/', 'free')), '- - -', 'no fields if tollgate is off');
    for my $path ('/limited/429', '/limited/503') {
        my @got = map { my $r = $gateway->get($path, 'free'); join ' ', $r->status, triple($r) } 1, 2;
        my $own = ($path =~ /(\d+)/)[0];
        is($got[0], '200 1000 ' . --$left . " $day", 'a request that limit_req lets pass');
        is($got[1], "$own - - -", "$own of limit_req: it has no quota to show");
    }
};

subtest 'on refusals of a ban, and while Redis is unreachable' => sub {
    for my $policy (qw(local allow deny)) {
        my $other = Gateway->start(
            plans => 'plan free 1000r/d; plan one 1r/d; anonymous 9r/h; ban after=2 within=1m for=1m;',
            redis => "timeout 100ms; on_failure $policy;",
        );
        $other->subscribed(1);
        $other->import_key($_, id => "id-$_", plan => $_) for qw(free one);
        wait_until('free', sub { $other->get('/', 'free')->status == 200 });
        my $banned;
        wait_until('a ban', sub { $banned = $other->get('/', 'one'); $banned->body =~ /api_key_banned/ });
        my $day = 86400 * (1 + int($other->redis->cmd('TIME')->[0] / 86400));
        is($banned->status . ' ' . triple($banned), "429 1 0 $day", "$policy: a ban");
        for my $fault ('stops', 'is killed') {
            $fault eq 'stops' ? $other->redis->sigstop : $other->redis->kill;
            for my $token ('unknown', $policy eq 'deny' ? 'free' : ()) {
                my $r = $other->get('/', $token);
                like($r->status . ' ' . triple($r), qr/^503 9 9 \d+$/, "$policy, Redis $fault: $token");
                is($r->header('Retry-After'), 1, '... and Retry-After');
            }
        }
        $other->nginx->stop;
    }
};

subtest 'the binding window' => sub {
    wait_for_window($redis, 2);
    my ($short, $day) = (end_of(2), end_of(86400));
    my @got = map { $gateway->get('/', 'steps') } 1 .. 4;
    is(join(', ', map { triple($_) } @got[0 .. 2]), "3 2 $short, 3 1 $short, 3 0 $short", 'is the short one, and falls by one to 0');
    is($got[3]->status . ' ' . triple($got[3]), "429 3 0 $short", 'a 429 costs nothing');
    wait_until('the next window', sub { end_of(2) > $short });
    my $before = time;
    @got = map { $gateway->get('/', 'steps') } 1 .. 3;
    my $after = time;
    is(join(', ', map { triple($_) } @got), "5 1 $day, 5 0 $day, 5 0 $day", 'the long one, once it has fewer left');
    is(join(' ', map { $_->status } @got), '200 200 429', '... and it refuses');
    my $wait = $got[2]->header('Retry-After');
    ok($wait >= $day - $after && $wait <= $day - $before + 2, "Retry-After ($wait) reaches the end of the day ($day)")
        or diag("asked from $before to $after");
    is(triple($gateway->get('/', 'equal')), "5 4 $day", 'of two equal windows, the one that resets last');
    $gateway->get('/', 'one');
    my $r = $gateway->get('/', 'one');
    is($r->status . ' ' . triple($r), "429 1 0 $day", 'of two exhausted windows, the one that resets last');
    like($r->header('Retry-After'), qr/^\d+$/, '... and Retry-After in whole seconds');
};

subtest 'Retry-After of a short window' => sub {
    wait_for_window($redis, 2);
    my @got = map { $gateway->get('/two/', 'one') } 1 .. 2;
    like($got[1]->header('Retry-After'), qr/^[1-9]\d*$/, 'a whole number, at least 1');
};

subtest 'two tables' => sub {
    wait_for_window($redis, 2);
    my ($short, $day) = (end_of(2), end_of(86400));
    $gateway->import_key('two', id => 'id-two', plan => 'steps');
    my $r = $gateway->get('/two/', 'two');
    is(triple($r), "3 2 $short", 'the window with the fewest requests left in all tables');
    is($r->header('RateLimit-Policy'), '"api-steps-2-seconds";q=3;w=2, "api-steps-day";q=5;w=86400, "search-steps-2-seconds";q=4;w=2',
        'RateLimit-Policy includes the table');
    my ($t2, $td) = map { qr/$_/ } '[12]', '\d{1,5}';
    like($r->header('RateLimit'), qr/^"api-steps-2-seconds";r=2;t=$t2, "api-steps-day";r=4;t=$td, "search-steps-2-seconds";r=3;t=$t2$/, 'RateLimit');
};

subtest 'families' => sub {
    wait_for_room($redis, 86400);
    my $day = end_of(86400);
    my $before = time;
    my $ietf = $gateway->get('/ietf/', 'free');
    my $after = time;
    is(triple($ietf), '- - -', 'ietf: no X-RateLimit fields');
    is($ietf->header('RateLimit-Policy'), '"free-day";q=1000;w=86400', '... but RateLimit-Policy');
    my ($left, $wait) = $ietf->header('RateLimit') =~ /^"free-day";r=(\d+);t=(\d+)$/;
    ok($wait >= $day - $after && $wait <= $day - $before + 2, '... and RateLimit, whose t reaches the reset')
        or diag("$wait, reset $day, asked from $before to $after");
    my $both = $gateway->get('/both/', 'free');
    like(triple($both), qr/^1000 ${\ ($left - 1)} \d+$/, 'both: X-RateLimit-*');
    like($both->header('RateLimit'), qr/;r=${\ ($left - 1)};/, '... and RateLimit have the same values');
    is($gateway->get('/ietf/')->header('RateLimit-Policy'), '"anonymous-hour";q=9;w=3600', 'ietf on a 401');
    my $off = $gateway->get('/silent/', 'free');
    is(triple($off), '- - -', 'off');
    is($off->header('RateLimit'), undef, '... for all fields');
    is(triple($gateway->get('/', 'free2')), '- - -', 'unlimited: none');
    is(triple($gateway->get('/own', 'free2')), '- - -', '... not even the upstream\'s own');
    is($gateway->get('/open/')->status . triple($gateway->get('/open/')), '401- - -', 'a 401 without a budget: none');
};

subtest 'the fields of an upstream' => sub {
    my $r = $gateway->get('/both/own', 'free');
    for my $name (qw(X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset RateLimit RateLimit-Policy)) {
        my @values = $r->headers($name);
        is(scalar @values, 1, "$name occurs once");
        unlike($values[0], qr/^(111|222|333)$|up/, '... and is set by the gateway');
    }
    is($r->header('X-RateLimit-Other'), 444, 'other fields are kept');
    is($gateway->get('/code/own', 'free')->header('RateLimit'), undef, 'the family that is not shown is dropped too');
    is($gateway->get('/off/own', 'free')->header('X-RateLimit-Limit'), 111, 'they pass if tollgate is off');
};

subtest 'keep-alive, pipelining and HTTP/1.0' => sub {
    my $connection = Http->connect($gateway);
    $connection->send(join '', map { Http::format_request($_, '/file/', { Authorization => 'Bearer free' }) } qw(GET HEAD GET));
    my @left = map { $connection->response($_)->header('X-RateLimit-Remaining') } qw(GET HEAD GET);
    is_deeply([$left[0] - $left[1], $left[1] - $left[2]], [1, 1], 'each of three requests has its own number');
    my $r = Http::http_raw($gateway, "GET /file/ HTTP/1.0\r\nAuthorization: Bearer free\r\n\r\n");
    is($r->header('X-RateLimit-Remaining'), $left[2] - 1, 'HTTP/1.0');
};

$gateway->nginx->stop;
done_testing;
