# Error bodies: on every refusal of the gateway, and with tollgate_json_errors on every error that nginx generates, but
# not on errors of an upstream.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Http qw(http_raw);
use Http2;
use IO::Socket::UNIX;
use IO::Uncompress::Gunzip qw(gunzip);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; plan small 1r/d; plan banned 1r/d; anonymous 1000r/h; ban after=2 within=1h for=1h;',
    files  => { page => "a page\n" },
    http   => 'gzip on; gzip_min_length 1; gzip_types *; gzip_http_version 1.0; large_client_header_buffers 2 1k;',
    server => <<'END',
        listen 127.0.0.1:%PORT2% http2;
        root %DIR%;
        client_max_body_size 10;
        location /plain/ { tollgate api; try_files /none =404; }
        location /json/ {
            tollgate_json_errors on;
            location /json/pages/    { tollgate api; error_page 405 /json/missing; try_files $arg_page =404; }
            location /json/missing   { internal; }
            location /json/down/     { tollgate api; proxy_pass http://unix:%DIR%/none.sock; }
            location /json/slow/     { tollgate api; proxy_pass http://unix:%DIR%/deaf.sock; proxy_read_timeout 100ms; }
            location /json/upstream/ { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
            location /json/off/      { return 403; }
            location /json/text/     { return 404 "the operator's text\n"; }
            location /json/moved/    { return 301 /; }
            location /json/limit/    { limit_except GET { deny all; } }
        }
END
    upstream => <<'END',
        location ~ /404$ { default_type text/plain; return 404 "the upstream's own\n"; }
END
);
$gateway->import_key($_, id => "id-$_", plan => $_) for qw(free small gold banned);
my $deaf = IO::Socket::UNIX->new(Local => $gateway->nginx->dir . '/deaf.sock', Listen => 8) or die $!;

sub is_error {
    my ($r, $status, $code, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is($r->status, $status, "$name: status");
    is($r->header('Content-Type'), 'application/json', "$name: type");
    my $body = eval { $r->json } // {};
    my @policy = $code =~ /^(?:rate_limit_exceeded|too_many_in_flight)$/ ? 'policy' : ();
    is_deeply([sort keys %$body], ['code', 'message', @policy, 'status'], "$name: members") or diag $r->body;
    is($body->{code}, $code, "$name: code");
    is($body->{status}, $status, "$name: the body's status is a number") if $r->body =~ /"status":$status(?:,"policy":"[^"]+")?\}$/;
    ok(length $body->{message}, "$name: message");
    is($r->header('Content-Length'), length $r->body, "$name: Content-Length");
    is(scalar(() = $r->headers('Content-Length')), 1, "$name: ... once");
    return $r;
}

subtest 'refusals' => sub {
    is_error($gateway->get('/'), 401, 'missing_api_key', 'no key');
    is_error($gateway->get('/', 'unknown'), 401, 'invalid_api_key', 'unknown key');
    is_error($gateway->get('/', 'gold'), 403, 'plan_not_allowed', 'no such plan');
    $gateway->get('/', $_) for 'small', 'banned', 'banned';
    is_error($gateway->get('/', 'small'), 429, 'rate_limit_exceeded', 'quota');
    is_error($gateway->get('/', 'banned'), 429, 'api_key_banned', 'ban');
    is_error($gateway->request('POST', '/', {}, 'body'), 401, 'missing_api_key', 'POST');
    my $head = $gateway->request('HEAD', '/', {});
    my $get = $gateway->get('/');
    is($head->status, 401, 'HEAD');
    is($head->header('Content-Length'), length $get->body, '... has the Content-Length of GET');
    is($head->header('Content-Type'), 'application/json', '... and the type');
    my $connection = Http->connect($gateway);
    $connection->send(join '', map { Http::format_request($_, '/') } qw(HEAD GET));
    is(join(' ', map { $connection->response($_)->status } qw(HEAD GET)), '401 401', '... and no body');
    is(http_raw($gateway, "GET / HTTP/1.0\r\n\r\n")->json->{code}, 'missing_api_key', 'HTTP/1.0');
    my $http2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    like($http2->body($http2->request([':path' => '/'])), qr/^\{"code":"missing_api_key",.*,"status":401\}$/, 'HTTP/2');
};

subtest 'problem details of RFC 9457' => sub {
    my @accept = (Accept => 'application/json;q=0.5, application/problem+json');
    my $is_problem = sub {
        my ($r, $status, $name, %expected) = @_;
        is($r->status . ' ' . $r->header('Content-Type'), "$status application/problem+json", "$name: status and type");
        is($r->header('Vary'), 'Accept', '... depends on Accept');
        my $problem = $r->json;
        ok(length delete $problem->{$_}, "... has a $_") for qw(title detail);
        is_deeply($problem, { status => $status, %expected }, '... the other members') or diag($r->body);
    };
    my $type = sub { return (type => "https://iana.org/assignments/http-problem-types#$_[0]") };
    $is_problem->($gateway->get('/', undef, @accept), 401, 'no key', type => 'about:blank', code => 'missing_api_key');
    $gateway->import_key('other', id => 'id-other', plan => 'small');
    $gateway->get('/', 'other');
    $is_problem->($gateway->get('/', 'other', @accept), 429, 'a quota', $type->('quota-exceeded'), code => 'rate_limit_exceeded',
        'violated-policies' => ['small-day']);
    $is_problem->($gateway->get('/', 'banned', @accept), 429, 'a ban', $type->('abnormal-usage-detected'), code => 'api_key_banned');
    $is_problem->($gateway->get('/json/pages/', 'free', @accept), 404, 'an error of nginx', type => 'about:blank', code => 'not_found');
    is_error($gateway->get('/', 'unknown', Accept => '*/*'), 401, 'invalid_api_key', 'any type');
    my $two = http_raw($gateway, "GET / HTTP/1.0\r\nAccept: text/html\r\naccept: application/problem+json\r\n\r\n");
    is($two->header('Content-Type'), 'application/problem+json', 'the second field of two');
};

subtest 'gzip' => sub {
    my $r = $gateway->get('/', 'gold', 'Accept-Encoding' => 'gzip');
    is($r->header('Content-Encoding'), 'gzip', 'is applied');
    gunzip(\$r->body, \my $text);
    is($text, $gateway->get('/', 'gold')->body, '... to the whole body');
};

subtest 'errors of nginx' => sub {
    my $get = sub { my ($path, %headers) = @_; $gateway->get($path, 'free', %headers) };
    is_error($get->('/json/pages/'), 404, 'not_found', '404');
    is_error($gateway->request('POST', '/json/pages/?page=/page', { Authorization => 'Bearer free' }, ''), 404, 'not_found', 'a page for 405 that is missing');
    is_error($gateway->request('POST', '/json/limit/', {}, ''), 403, 'forbidden', '403');
    is_error($gateway->request('POST', '/json/upstream/', { Authorization => 'Bearer free' }, 'x' x 11), 413, 'content_too_large', '413');
    is_error($get->('/json/down/'), 502, 'bad_gateway', '502');
    is_error($get->('/json/slow/'), 504, 'gateway_timeout', '504');
    is_error($get->('/json/off/'), 403, 'forbidden', 'also in a location with tollgate off');
    is_error($get->('/json/pages/?page=/page', Range => 'bytes=99-'), 416, 'range_not_satisfiable', '416');
    my $page = $get->('/json/pages/?page=/page');
    is($page->body, "a page\n", 'other responses are unchanged');
    my $moved = $get->('/json/moved/');
    is($moved->status . ' ' . $moved->header('Content-Type'), '301 text/html', 'a redirect');
    is($get->('/json/text/')->body, "the operator's text\n", 'a text of the operator');
    is($get->('/json/upstream/404')->body, "the upstream's own\n", 'an error of the upstream');
    is($get->('/plain/')->header('Content-Type'), 'text/html', 'off by default');
};

subtest 'before a location is found' => sub {
    my $early = Gateway->start(
        plans => 'plan free 10r/d; anonymous 10r/h;',
        server => 'tollgate_json_errors on; tollgate api; large_client_header_buffers 2 1k; client_header_timeout 1s;',
    );
    my $raw = sub { http_raw($early, $_[0]) };
    my $line = "GET / HTTP/1.1\r\nHost: a\r\n";
    my $is_early_error = sub {
        my $r = is_error(@_);
        is($r->header('X-RateLimit-Limit'), 10, "$_[3]: the budget of the address");
        is($r->header('X-RateLimit-Remaining'), 10, "$_[3]: ... which is not charged");
    };
    $is_early_error->($raw->("GET / HTTP/1.1\r\n\r\n"), 400, 'bad_request', 'no Host');
    $is_early_error->($raw->("GET  /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), 400, 'bad_request', 'a bad request line');
    $is_early_error->($raw->('GET /' . 'x' x 2000 . " HTTP/1.1\r\n\r\n"), 414, 'uri_too_long', 'a long request line');
    $is_early_error->($raw->("${line}X: " . 'x' x 2000 . "\r\n\r\n"), 400, 'bad_request', 'a long field (nginx answers 494 with 400)');
    $is_early_error->($raw->("${line}Transfer-Encoding: x\r\n\r\n"), 501, 'not_implemented', 'unknown coding');
    $is_early_error->($raw->("GET / HTTP/2.5\r\nHost: a\r\n\r\n"), 505, 'http_version_not_supported', 'version');
    $is_early_error->($raw->("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"), 405, 'method_not_allowed', 'TRACE');
    $early->nginx->stop;
};

$gateway->nginx->stop;
done_testing;
