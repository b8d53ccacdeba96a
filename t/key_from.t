# tollgate_key_from: the key of a request is in the first source that has one. The fields of all sources are removed from
# the request, and blanked in the logs.

use strict;
use warnings;
use lib 't/lib';
use Gateway;
use Http qw(http_raw);
use Http2;
use IO::Select;
use IO::Socket::UNIX;
use Test::More;
use Wait qw(wait_until);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $gateway = Gateway->start(
    plans     => 'plan free 1000000r/d; anonymous 100000r/h;',
    table     => 'lease=off',    # so that Redis counts only what was granted
    log_level => 'debug',
    http      => <<'END',
        log_format fields '$uri|$tollgate_verdict|$tollgate_key_from|$http_apikey|$http_x_api_key|$http_authorization|$tollgate_key_id';
        map $http_apikey $copy { default $http_apikey; none ""; }
        underscores_in_headers on;
END
    server    => <<"END",
        listen 127.0.0.1:%PORT2% http2;
        access_log %DIR%/access.log fields;
        rewrite_log on;
        tollgate_key_from header:ApiKey bearer;
        location = /plain/  { tollgate api; $upstream }
        location /header/   { tollgate api; tollgate_key_from header:X-API-Key header:apikey; tollgate_realm 'a "b"'; $upstream }
        location /bearer/   { tollgate api; tollgate_key_from bearer; $upstream }
        location /raw-key/  { tollgate api; tollgate_key_from header:Authorization; $upstream }
        location /under/    { tollgate api; tollgate_key_from header:x_key; $upstream }
        location /forward/  { tollgate api; tollgate_forward_authorization on; $upstream }
        location /scope/    { tollgate api; tollgate_key_from header:apikey; tollgate_scope admin; $upstream }
        location /dry/      { tollgate api; tollgate_dry_run on; $upstream }
        location /basic/    { tollgate api; tollgate_key_from header:apikey; auth_basic site; auth_basic_user_file %DIR%/passwords; $upstream }
        location /return/   { tollgate api; return 200 "returned\\n"; }
        location /denied/   { tollgate api; deny all; }
        location /turned/   { tollgate api; deny all; error_page 403 = \@page; }
        location \@page     { $upstream }
        location /to-header/ { tollgate api; tollgate_bypass 1; try_files /none /header/x; }
        location /from-header/ { tollgate api; tollgate_key_from header:x-api-key; try_files /none /bearer/x; }
        location /mirrored/ { tollgate api; mirror /mirror; $upstream }
        location = /mirror  { internal; proxy_pass http://unix:%DIR%/raw.sock; }
        location /read/     { tollgate api; if (\$http_apikey ~ "^none") { return 400; } set \$other \$copy; add_header Other \$other; $upstream }
        location /socket/   { tollgate api; proxy_http_version 1.1; proxy_set_header Upgrade \$http_upgrade; proxy_set_header Connection upgrade; proxy_pass http://unix:%DIR%/raw.sock; }
END
    files     => { passwords => "user:{PLAIN}secret\n", page => "a page\n" },
    upstream  => 'location ~ . { return 200 "apikey=$http_apikey x=$http_x_api_key under=$http_x_key authorization=$http_authorization other=$http_other\n"; }',
);
my $canary = 'CaNaRy0123456789';
my $key = "$canary.known";
$gateway->import_key($key, id => 'k1', plan => 'free');
$gateway->import_key("$canary.second", id => 'k2', plan => 'free');
my $dir = $gateway->nginx->dir;

# The status of a request, or its code, and who was counted.
sub answer {
    my ($path, @headers) = @_;
    my %before = map { $_ => $gateway->count($_, 'api', 86400) // 0 } qw(k1 k2);
    my $r = $gateway->request('GET', $path, {@headers});
    my ($counted) = grep { ($gateway->count($_, 'api', 86400) // 0) > $before{$_} } qw(k1 k2);
    return $r->status . ' ' . ($counted // ($r->status < 400 ? '-' : $r->json->{code}));
}

subtest 'where the key is' => sub {
    is(answer('/plain/', apikey => $key), '200 k1', 'in a field');
    is(answer('/plain/', APIKEY => $key), '200 k1', '… whose name has no case');
    is(answer('/plain/', Authorization => "Bearer $key"), '200 k1', 'in another source');
    is(answer('/plain/', apikey => $key, Authorization => "Bearer $canary.second"), '200 k1', 'the first source is used');
    is(answer('/plain/', apikey => "$canary.unknown", Authorization => "Bearer $canary.second"), '401 invalid_api_key', '… also if its key is not valid');
    is(answer('/plain/', apikey => '', Authorization => "Bearer $canary.second"), '200 k2', '… unless it is empty');
    is(answer('/header/', apikey => $key, 'x-api-key' => "$canary.second"), '200 k2', 'the order is that of the directive');
    is(answer('/header/', Authorization => "Bearer $key"), '401 missing_api_key', 'a source that is not listed');
    is(answer('/bearer/', apikey => $key), '401 missing_api_key', 'an inner directive replaces the outer one');
    is(answer('/plain/', Authorization => 'Basic dTpw', apikey => $key), '200 k1', 'another scheme is no key');
    is(answer('/plain/', Authorization => 'Basic dTpw'), '401 missing_api_key', '…');
    is(answer('/raw-key/', Authorization => $key), '200 k1', 'Authorization without a scheme');
    is(answer('/raw-key/', Authorization => "Bearer $key"), '401 invalid_api_key', '… where the scheme is no part of a key');
    is(answer('/under/', x_key => $key), '200 k1', 'a name with an underscore, with underscores_in_headers');
    is(answer('/plain/', apikey => "Bearer $key"), '401 invalid_api_key', 'a field has the key alone');
    is(answer('/plain/', apikey => [$key, $key]), '401 invalid_api_key', 'a field twice is malformed');
    is(answer('/plain/', apikey => "$key, $key"), '401 invalid_api_key', '… so is a list');
    is(answer('/plain/', apikey => 'a' x 600), '401 invalid_api_key', '… and a long one');
    is(answer('/plain/', apikey => 'a b'), '401 invalid_api_key', '… and one with a space');
    is(answer('/to-header/', 'x-api-key' => $key), '200 k1', 'a redirect into a location with another source');
    is(answer('/from-header/', 'x-api-key' => $key), '200 k1', 'a redirect of a granted request');
};

subtest 'challenges' => sub {
    my $challenge = sub { my ($path, @headers) = @_; return join ' ', $gateway->request('GET', $path, {@headers})->headers('WWW-Authenticate') };
    is($challenge->('/plain/'), 'Bearer realm="api"', 'Bearer, if it is one of the sources');
    is($challenge->('/plain/', apikey => 'x'), 'Bearer realm="api", error="invalid_token"', '…');
    is($challenge->('/header/'), 'ApiKey realm="a \"b\"", in="header", name="X-API-Key"', 'the first field otherwise');
    is($challenge->('/header/', apikey => 'x'), 'ApiKey realm="a \"b\"", in="header", name="X-API-Key", error="invalid_token"', '… with the error');
    is($challenge->('/scope/', apikey => $key), 'ApiKey realm="api", in="header", name="apikey", error="insufficient_scope", scope="admin"', 'a scope');
    like($gateway->get('/header/')->json->{message}, qr/in the field that WWW-Authenticate names/, 'the message of the Error body');
    like($gateway->get('/plain/')->json->{message}, qr/Authorization: Bearer/, '… of a location with bearer');
};

# A raw upstream returns the bytes of the request.
my $raw = IO::Socket::UNIX->new(Local => "$dir/raw.sock", Listen => 8) or die $!;
sub upstream_gets {
    IO::Select->new($raw)->can_read(10) or die "nothing reaches the upstream\n";
    my $connection = $raw->accept;
    my $bytes = '';
    sysread $connection, $bytes, 65536, length $bytes or die "no request\n" until $bytes =~ /\r\n\r\n/;
    return ($bytes, $connection);
}

subtest 'what reaches the upstream' => sub {
    my %all = (apikey => $key, 'X-API-Key' => "$canary.x", Authorization => "Bearer $canary.second", x_key => 'kept');
    my $body = sub { my ($path, %headers) = @_; return $gateway->request('GET', $path, \%headers)->body };
    is($body->('/plain/', %all), "apikey= x=$canary.x under=kept authorization= other=\n", 'no field of the sources, also of those that were not used');
    is($body->('/header/', %all, 'X-API-Key' => $key), "apikey= x= under=kept authorization=Bearer $canary.second other=\n", 'a field that is no source belongs to the service');
    is($body->('/plain/', apikey => ["$canary.a", "$canary.b"], Authorization => "Bearer $key") =~ /missing|invalid/ ? 1 : 0, 1, 'a repeated field is refused');
    is($body->('/dry/', apikey => ["$canary.a", "$canary.b"]), "apikey= x= under= authorization= other=\n", '… and removed in a dry run');
    is($body->('/turned/', %all), "apikey= x= under= authorization= other=\n", 'no field of any source, if nginx refused the request before');
    is($body->('/to-header/', 'x-api-key' => $key, apikey => "$canary.a"), "apikey= x= under= authorization= other=\n", 'after a redirect');
    is($body->('/from-header/', 'x-api-key' => $key, Authorization => "Bearer $canary.a"), "apikey= x= under= authorization= other=\n", '… the fields of both locations');
    is($body->('/forward/', %all), "apikey=$key x=$canary.x under=kept authorization=Bearer $canary.second other=\n", 'tollgate_forward_authorization on');
    is($body->('/basic/', apikey => $key, Authorization => 'Basic dXNlcjpzZWNyZXQ='), "apikey= x= under= authorization=Basic dXNlcjpzZWNyZXQ= other=\n", 'beside auth_basic');
    is($gateway->request('GET', '/basic/', { apikey => $key })->status, 401, '… which still needs its password');

    my $client = Http->connect($gateway);
    $client->send(Http::format_request('GET', '/mirrored/', { Connection => 'close', apikey => $key }));
    my ($mirrored, $mirror) = upstream_gets();
    unlike($mirrored, qr/$canary|apikey/i, 'the copy of mirror');
    syswrite $mirror, "HTTP/1.0 200 OK\r\n\r\n";
    close $mirror;
    is($client->response->status, 200, '…');

    # nginx stores the fields of a request in parts of 20.
    my %stripped = (0 => "apikey: $key", 19 => "Authorization: Bearer $canary.a", 20 => 'X-RateLimit-Limit: 1', 30 => 'RateLimit: 1', 59 => 'X-RateLimit-Reset: 1');
    my @fields = map { $stripped{$_} // "Field-$_: $_" } 0 .. 59;
    $client = Http->connect($gateway);
    $client->send(join "\r\n", 'GET /socket/ HTTP/1.1', @fields, 'Host: h', '', '');
    my ($many, $of_many) = upstream_gets();
    is_deeply([$many =~ /^Field-(\d+): \1\r$/mg], [grep { !$stripped{$_} } 0 .. 59], 'the other fields of many');
    unlike($many, qr/$canary|apikey|authorization|ratelimit/i, '… and no others');
    close $of_many;

    $client = Http->connect($gateway);
    $client->send(Http::format_request('GET', '/socket/', { Connection => 'Upgrade', Upgrade => 'websocket', apikey => $key, 'Sec-WebSocket-Key' => 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version' => 13 }));
    my ($handshake, $socket) = upstream_gets();
    like($handshake, qr/^Upgrade: websocket\r$/m, 'a handshake of WebSocket');
    like($handshake, qr/^Sec-WebSocket-Key: /m, '… has its fields');
    unlike($handshake, qr/$canary|apikey/i, '… and no key');
    syswrite $socket, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    close $socket;
    is($client->response->status, 200, '… is answered');
};

subtest 'the access log' => sub {
    $gateway->request('GET', $_, { apikey => $key, 'X-API-Key' => "$canary.x", Authorization => "Bearer $canary.second" })
        for '/return/', '/denied/', '/read/', '/forward/', '/plain/', '/last/', '/header/';
    my $lines = wait_until('the last line', sub {
        open my $file, '<', "$dir/access.log" or die $!;
        my @lines = <$file>;
        return \@lines if $lines[-1] =~ m{^/header/};
    });
    my %line = map { m{^(/[^|]*)} ? ($1 => $_) : () } @$lines;
    is($line{'/plain/'}, "/plain/|granted|header:ApiKey|-|-|-|k1\n", 'the source is a variable, and the fields are empty');
    is($line{'/header/'}, "/header/|unauthenticated|header:X-API-Key|-|-|-|-\n", 'a refused request');
    is($line{'/return/'}, "/return/|-|-|-|-|-|-\n", 'a request that return answers');
    unlike(join('', @$lines), qr/$canary/, 'no line has a key');
};

subtest 'the error log' => sub {
    my @keys = ($key, "$canary.unknown", "$canary two", "\"$canary", $canary x 40);
    for my $name (qw(apikey x-api-key)) {
        for my $value (@keys) {
            $gateway->request('GET', $_, { $name => $value, 'X-Other' => 'seen' }) for '/plain/', '/header/', '/read/', '/forward/', '/none', '/denied/';
            my $http2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
            for my $indexed (0, 1, 1) {
                my $stream = $http2->request([':path' => '/plain/', $name => $value], indexed => $indexed);
                ok(length $http2->response($stream), 'HTTP/2' . ($indexed ? ', in its table' : ''));
            }
        }
        for my $field ("$name: $key\0", "$name : $key", "$name:$key\0", "$name: " . $canary x 3000) {
            is(http_raw($gateway, "GET / HTTP/1.1\r\nHost: a\r\n$field\r\n\r\n")->status, 400, 'a broken field: ' . substr($field, 0, 24) =~ s/\0/\\0/r);
        }
    }
    $gateway->nginx->stop;
    my $log = $gateway->nginx->error_log;
    # The marks show that a key could have been in the log.
    if (Nginx->built_with('with-debug')) {
        like($log, $_, "$_") for qr/http header: "apikey: \*/, qr/http2 header: "apikey: \*/, qr/http2 table add: "x-api-key: \*/,
            qr/invalid header line: "apikey/, qr/too long header line: "apikey: \*/, qr/^apikey: \*/m, qr/http header: "X-Other: seen"/,
            qr/http script var: "\*{22}"/, qr/http map: "\*{22}"/, qr/"\^none" does not match "\*{22}"/;
    }
    is(join('', grep { /\Q$canary/ } split /^/, $log), '', 'no key');
    like($log, qr/client: 127\.0\.0\.1, server: /, 'the client is shown');
};

done_testing;
