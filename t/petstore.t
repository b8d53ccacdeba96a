# The pet backend's contract, over HTTP: every operation, every field, every error.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Encode ();
use Http qw(http_get http_raw http_request);
use JSON::PP ();
use Nginx;
use Sqlite;
use Test::More;
use Time::Piece;

umask 0;
my $nginx = Nginx->start(workers => 2, conf => <<'END');
    client_max_body_size 100k;
    server {
        listen unix:%DIR%/http.sock;
        location /v1/ { petstore %DIR%/pets.db; }
        location /staging/v1/ { petstore staging.db; }
        location "/a b" { petstore %DIR%/pets.db; }
        location /denied/ { petstore %DIR%/pets.db; deny all; }
        location /other/ { root %DIR%; }
        location /limited/ { petstore %DIR%/pets.db; limit_except GET { allow all; } }
        location /mirrored/ { petstore %DIR%/pets.db; mirror /v1/pets; client_body_buffer_size 100; }
        location /vast/ { petstore %DIR%/pets.db; client_max_body_size 0; }
    }
    server {
        listen unix:%DIR%/root.sock;
        location / { petstore %DIR%/root.db; }
    }
    server {
        listen unix:%DIR%/proxy.sock;
        location /api/ { proxy_pass http://unix:%DIR%/http.sock:/v1/; }
        location /a/b/c/ { proxy_pass http://unix:%DIR%/http.sock:/v1/; }
        location /v1/ { proxy_pass http://unix:%DIR%/root.sock:/; }
    }
    server {
        listen unix:%DIR%/proxy-root.sock;
        location / { proxy_pass http://unix:%DIR%/http.sock:/v1/; }
    }
    server {
        listen unix:%DIR%/paged.sock;
        error_page 400 403 /page;
        location /v1/ { petstore %DIR%/pets.db; }
        location /v1/denied { petstore %DIR%/pets.db; deny all; }
        location = /page { return 200 'a page of the operator'; }
    }
    server {
        listen unix:%DIR%/plain.sock;
        location /old { return 204; }
    }
END

my $max = '9223372036854775807';
my $min = '-9223372036854775808';

sub post {
    my ($body, $path, %headers) = @_;
    return http_request($nginx, 'POST', $path // '/v1/pets', { 'Content-Type' => 'application/json', %headers }, $body);
}

# Resolves a reference against a base URI (RFC 3986, section 5.2): the cases that occur here.
sub resolve {
    my ($base, $reference) = @_;
    $base =~ s/\?.*//s;
    return $base . $reference if $reference =~ /^\?/;
    return $reference if $reference =~ m{^/};
    $base =~ s{[^/]*$}{};
    while ($reference =~ s{^\.\./}{}) {
        $base =~ s{[^/]+/$}{};
    }
    return $base . $reference;
}

sub link_of { return ($_[0]->header('link') // '') =~ /^<([^>]*)>/ ? $1 : '' }

sub is_error {
    my ($response, $status, $code, $message, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $error = eval { $response->json } // {};
    is_deeply(
        [$response->status, $response->header('content-type'), [sort keys %$error], @$error{qw(status code)}],
        [$status, 'application/json', [qw(code message status)], $status, $code],
        $name // "$status $code"
    ) or diag $response->body;
    like($error->{message}, $message, "its message: $error->{message}");
}

subtest 'adding' => sub {
    my $r = post('{"name":"Rex","categoryId":7,"status":"pending"}');
    is($r->status, 201);
    is($r->body, '{"id":1,"name":"Rex","categoryId":7,"status":"pending"}');
    is($r->header('content-type'), 'application/json');
    is_deeply([$r->headers('location')], ['pets/1'], 'one Location');
    is(http_get($nginx, resolve('/v1/pets', $r->header('location')))->body, $r->body, 'Location leads to the pet');

    is(post('{"categoryId":1.0,"name":"No status","x":[{}],"id":99}')->body,
        '{"id":2,"name":"No status","categoryId":1}', 'status stays absent, other members are ignored');
    is(post(qq({"name":"","categoryId":$max}))->body, qq({"id":3,"name":"","categoryId":$max}), 'the largest int64');
    is(post(qq({"name":"","categoryId":$min}))->body, qq({"id":4,"name":"","categoryId":$min}), 'the smallest');
    is(post('{"name":"","categoryId":1}', undef, 'Content-Type' => 'Application/JSON; charset=utf-8')->status, 201);
};

subtest 'UTF-8 in names' => sub {
    my $name = Encode::encode('UTF-8', "\x{e9}\x{20ac}\x{1f415}\x{10ffff}\x{7f}");
    my $r = post(qq({"name":"$name \\u0000 \\ud83d\\udc15 \\"\\\\","categoryId":1}));
    is($r->status, 201);
    my $dog = Encode::encode('UTF-8', "\x{1f415}");
    ok(index($r->body, qq("$name \\u0000 $dog \\"\\\\")) > 0, 'the response has the same bytes') or diag $r->body;
    is(http_get($nginx, resolve('/v1/pets', $r->header('location')))->body, $r->body, 'the database has the same bytes');
};

subtest 'a byte order mark' => sub {
    my $mark = "\xef\xbb\xbf";
    is(post($mark . '{"name":"marked","categoryId":1}')->json->{name}, 'marked', 'is ignored at the start of the body');
    is_error(post("$mark$mark" . '{"name":"a","categoryId":1}'), 400, 'invalid_json', qr/not valid JSON/, 'two marks are not');
    is_error(post('{"name":"a",' . $mark . '"categoryId":1}'), 400, 'invalid_json', qr/not valid JSON/, 'a mark inside the JSON is not');
    is_error(post($_), 400, 'invalid_json', qr/not valid JSON/, 'UTF-16 is not') for "\xff\xfe{\0}\0", "\xef\xbb{}";
    is(post('{"name":"' . $mark . 'a","categoryId":1}')->json->{name}, "\x{feff}a", 'in a string it is a character');
};

subtest 'invalid bodies' => sub {
    my $count = scalar @{ http_get($nginx, '/v1/pets?limit=100')->json };
    is_error(post(''), 400, 'invalid_json', qr/not valid JSON/, 'empty');
    is_error(post('{"name":'), 400, 'invalid_json', qr/at byte 9/, 'truncated');
    is_error(post('[]'), 400, 'invalid_json', qr/must be a JSON object/, 'an array');
    is_error(post('{"categoryId":1}'), 400, 'missing_field', qr/"name" is missing/, 'no name');
    is_error(post('{"name":"a"}'), 400, 'missing_field', qr/"categoryId" is missing/, 'no categoryId');
    is_error(post('{"name":5,"categoryId":1}'), 400, 'invalid_field', qr/"name" must be a string/, 'a numeric name');
    is_error(post("{\"name\":\"a\",\"categoryId\":$_}"), 400, 'invalid_field', qr/"categoryId" must be an integer/, "categoryId $_")
        for '"1"', '1.5', '9223372036854775808', '-9223372036854775809', '1e400', 'null';
    is_error(post('{"name":"a","categoryId":1,"status":"lost"}'), 400, 'invalid_field', qr/"status" must be one of/, 'lost');
    is_error(post('{"name":"a","name":"b","categoryId":1}'), 400, 'duplicate_field', qr/"name" is given/, 'two names');
    is_error(post("{\"name\":\"$_\",\"categoryId\":1}"), 400, 'invalid_json', qr/UTF-8/, 'invalid UTF-8')
        for "\xff", "\xc0\xaf", "\xed\xa0\x80", '\ud83d', "a\0b";
    is_error(post('{"name":"a","categoryId":1,"x":' . '[' x 100_000, '/vast/pets'),
        400, 'invalid_json', qr/deeper than 100/, 'depth 100,000');
    is(scalar @{ http_get($nginx, '/v1/pets?limit=100')->json }, $count, 'no pet was added');
};

subtest 'unsupported media types, and large bodies' => sub {
    my $pet = '{"name":"a","categoryId":1}';
    is_error(post($pet, undef, 'Content-Type' => $_), 415, 'unsupported_media_type', qr{application/json}, $_ // 'no type')
        for 'application/x-www-form-urlencoded', 'text/json', '', undef;

    my $padded = sub { $pet . ' ' x ($_[0] - length $pet) };
    is(post($padded->(102_400))->status, 201, 'client_max_body_size');
    is_error(post($padded->(102_401)), 413, 'body_too_large', qr/102400 bytes/, 'one byte more');
    is(post($padded->(1 << 20), '/vast/pets')->status, 201, 'a MiB');
    is_error(post($padded->((1 << 20) + 1), '/vast/pets'), 413, 'body_too_large', qr/1048576 bytes/, 'one byte more');

    my $chunk = sprintf("%x\r\n%s\r\n", 65536, ' ' x 65536);
    is_error(
        post($chunk x 1600 . "0\r\n\r\n", undef, 'Transfer-Encoding' => 'chunked'),
        413, 'body_too_large', qr/102400 bytes/, '100 MB in chunks'
    );
    is_error(
        http_raw($nginx, "POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                . "Expect: 100-continue\r\nContent-Length: 104857600\r\nConnection: close\r\n\r\n"),
        413, 'body_too_large', qr/102400 bytes/, '100 MB announced'
    );
    my $pieces = join '', map { sprintf "%x\r\n%s\r\n", length $_, $_ } '{"name":', '"chunks","categ', 'oryId":1', '}';
    is(post("${pieces}0\r\n\r\n", undef, 'Transfer-Encoding' => 'chunked')->json->{name}, 'chunks', 'a body in chunks');
    is(post($padded->(5000), '/mirrored/pets')->status, 201, 'a body that mirror has written to a file');
};

subtest 'a body in single bytes, a pipelined body and an incomplete body' => sub {
    my $pet = '{"name":"slow","categoryId":1}';
    my $head = "POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ";
    my $c = Http->connect($nginx);
    $c->send($head . length($pet) . "\r\n\r\n");
    $c->send($_) for split //, $pet;
    is($c->response->json->{name}, 'slow');
    $c->send($head . length($pet) . "\r\n\r\n$pet" . "GET /v1/store/orders HTTP/1.1\r\nHost: a\r\n\r\n");
    is($c->response->json->{name}, 'slow', 'pipelined');
    is($c->response->body, '[]', 'the next pipelined request');
    $c->send($head . "100\r\n\r\n{");
    $c->close;
    is(http_get($nginx, '/v1/pets?limit=1')->status, 200, 'a request after the client has closed the connection');
};

subtest 'getting' => sub {
    open my $changelog, '<', "$FindBin::Bin/../conf/debian/changelog" or die $!;
    my ($day) = map { /^ -- .*>  \w+, (.*) \+0000$/ ? $1 : () } reverse <$changelog>;
    my $first_release = do { my $time = Time::Piece->strptime($day, '%d %b %Y %H:%M:%S')->epoch; $time - $time % 86400 };
    for my $id (1, 999_999, 'abc', '1x', '9223372036854775808', '%20') {
        my $r = http_get($nginx, "/v1/pets/$id");
        is($r->status, $id eq '1' ? 200 : 404, "pet $id");
        is($r->header('deprecation'), "\@$first_release", 'Deprecation is the day of the first release, as a date of RFC 9651');
        is($r->header('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
        is($r->header('link'), '<../pets>; rel="successor-version"');
        is(resolve("/v1/pets/$id", '../pets'), '/v1/pets');
    }
    is_error(http_get($nginx, "/v1/pets/$_"), 404, 'pet_not_found', qr/no pet/, "pet $_") for 999_999, 0, -1, $max, $min, 'x', '1x', '9223372036854775808';
    is_error(http_get($nginx, "/v1$_"), 404, 'not_found', qr/nothing/, $_)
        for '/pets/', '/pets/x/', '/', '/petsx', '/store', '/store/orders/1', '/pets/1/';
};

subtest 'listing' => sub {
    my $all = http_get($nginx, '/v1/pets?limit=100')->json;
    is(scalar @{ http_get($nginx, '/v1/pets')->json }, scalar(@$all) < 20 ? @$all : 20, 'the default limit');
    post('{"name":"more","categoryId":1,"status":"sold"}') for 1 .. 25;
    is(scalar @{ http_get($nginx, '/v1/pets')->json }, 20, 'is 20');

    for my $query ('limit=7', 'limit=7&status=sold', 'limit=1&status=pending', 'limit=100', 'status=available') {
        my ($path, @ids) = "/v1/pets?$query";
        while (defined $path) {
            my $r = http_get($nginx, $path);
            push @ids, map { $_->{id} } @{ $r->json };
            my ($next) = ($r->header('link') // '') =~ m{^<([^>]*)>; rel="next"$};
            is(defined $next, defined $r->header('link'), 'the Link field has this form') if defined $r->header('link');
            $path = defined $next ? resolve($path, $next) : undef;
        }
        my $pets = http_get($nginx, '/v1/pets?limit=100')->json;
        my ($status) = $query =~ /status=(\w+)/;
        my @expected = map { $_->{id} } grep { !$status || ($_->{status} // '') eq $status } @$pets;
        is_deeply(\@ids, \@expected, "$query: every pet once, in ascending order");
    }
    is(http_get($nginx, "/v1/pets?after=$max")->body, '[]', 'after the last');
    is_error(http_get($nginx, "/v1/pets?$_"), 400, 'invalid_parameter', qr/"limit" must be an integer from 1 to 100/, $_)
        for qw(limit=0 limit=101 limit=-1 limit=x limit= limit=1.0 limit limit=99999999999999999999);
    is_error(http_get($nginx, '/v1/pets?status=lost'), 400, 'invalid_parameter', qr/"status" must be one of/);
    is_error(http_get($nginx, '/v1/pets?after=x'), 400, 'invalid_parameter', qr/"after"/);
    is_error(http_get($nginx, '/v1/pets?limit=1&limit=2'), 400, 'invalid_parameter', qr/more than once/);
};

subtest 'pages of long names' => sub {
    # 20 names of 400 KiB would make a page of 8 MB.
    my ($last) = map { $_->{id} } http_get($nginx, '/v1/pets?limit=1&after=0')->json->[-1];
    my @names = map { chr(ord('a') + $_) x 400_000 } 0 .. 6;
    my @added = map { post(qq({"name":"$_","categoryId":1,"status":"pending"}), '/vast/pets')->json->{id} } @names;
    my ($path, @ids, @sizes) = '/v1/pets?limit=20&after=' . ($added[0] - 1);
    while (defined $path) {
        my $r = http_get($nginx, $path);
        push @ids, map { $_->{id} } @{ $r->json };
        push @sizes, length $r->body;
        my $next = link_of($r);
        $path = $next ? resolve($path, $next) : undef;
    }
    is_deeply(\@ids, \@added, 'every pet once, in ascending order');
    is_deeply([map { int($_ / 400_000) } @sizes], [3, 3, 1], 'a page of more than 1 MiB gets no more pets') or diag("@sizes");
    is(http_get($nginx, "/v1/pets/$added[0]")->json->{name}, $names[0], 'one of them');
    Sqlite->open($nginx->dir . '/pets.db')->run("DELETE FROM pets WHERE id >= $added[0]");
};

subtest 'the files' => sub {
    for my $name (map { ("pets.db$_", "root.db$_", "staging.db$_") } '', '-wal', '-shm') {
        my $path = $nginx->dir . "/$name";
        next if !-e $path;
        is(sprintf('%04o', (stat $path)[2] & 07777), '0640', "$name: only the owner and the group can read it");
    }
    ok(-e $nginx->dir . "/pets.db$_", "pets.db$_ is among them") for '', '-wal', '-shm';
};

subtest 'orders' => sub {
    is(http_get($nginx, '/v1/store/orders')->body, '[]');
    system('sqlite3', $nginx->dir . '/pets.db', q(INSERT INTO store_orders (document) VALUES ('{"a":1}'), ('2')));
    is(http_get($nginx, '/v1/store/orders')->body, '[{"a":1},2]', 'the documents of the table');
    Sqlite->open($nginx->dir . '/pets.db')->run(<<"SQL");
        INSERT INTO store_orders (id, document) SELECT 100000 + value, json_object('n', value) FROM generate_series(1, 30000);
        INSERT INTO store_orders (id, document) VALUES ($min, '"first"'), (-5, '"second"'), ($max, '"last"');
SQL
    my $expected = '["first","second",{"a":1},2,' . join(',', map { "{\"n\":$_}" } 1 .. 30_000) . ',"last"]';
    my $all = http_get($nginx, '/v1/store/orders')->body;
    ok($all eq $expected, 'many orders: one array, in the order of the ids') or diag length $all;
};

subtest 'methods' => sub {
    for my $path (qw(/v1/pets /v1/pets/1 /v1/pets/999999 /v1/store/orders /v1/nothing /v1/pets?limit=0)) {
        my ($get, $head) = map { http_request($nginx, $_, $path) } qw(GET HEAD);
        my $seen = sub { join "\n", $_[0]->status, map { "$_->[0]: $_->[1]" } grep { $_->[0] ne 'Date' } $_[0]->headers };
        is($seen->($head), $seen->($get), "HEAD $path has the status and the fields of GET");
        is($head->body, '', 'without a body');
    }
    my %allow = ('/pets' => 'GET, HEAD, POST', '/pets/1' => 'GET, HEAD', '/store/orders' => 'GET, HEAD');
    for my $path (sort keys %allow) {
        for my $method (qw(PUT PATCH DELETE OPTIONS POST BREW)) {
            next if $path eq '/pets' && $method eq 'POST';
            my $r = http_request($nginx, $method, "/v1$path", {}, $method eq 'PUT' ? 'x' x 100_000 : undef);
            is_error($r, 405, 'method_not_allowed', qr/method/, "$method $path");
            is($r->header('allow'), $allow{$path}, 'Allow');
        }
    }
    is(http_request($nginx, 'GET', '/v1/pets/1', {}, 'an unused body')->status, 200);
};

subtest 'locations' => sub {
    is(post('{"name":"a","categoryId":1}', '/staging/v1/pets')->header('location'), 'pets/1', 'another database');
    ok(-e $nginx->dir . '/staging.db', 'a relative path is relative to the prefix');
    is(http_get($nginx, '/a%20b/pets/1')->status, 200, 'a base path with a space');
    is(http_request($nginx, 'POST', '/limited/pets', { 'Content-Type' => 'application/json' }, '{"name":"a","categoryId":1}')->status,
        201, 'within limit_except');
    my $root = 'unix:' . $nginx->dir . '/root.sock';
    is(http_get($root, '/pets')->body, '[]', 'the root');
    is(resolve('/pets/1', link_of(http_get($root, '/pets/1'))), '/pets');
};

subtest 'references, behind proxies that change the path' => sub {
    for my $prefix ('/api', '/a/b/c', '/v1', '') {
        my $server = $prefix eq '' ? 'unix:' . $nginx->dir . '/proxy-root.sock' : 'unix:' . $nginx->dir . '/proxy.sock';
        my $r = http_request($server, 'POST', "$prefix/pets", { 'Content-Type' => 'application/json' }, '{"name":"far","categoryId":1}');
        is($r->status, 201, "$prefix/pets");
        http_request($server, 'POST', "$prefix/pets", { 'Content-Type' => 'application/json' }, '{"name":"next","categoryId":1}');
        my $location = resolve("$prefix/pets", $r->header('location'));
        my $found = http_get($server, $location);
        is($found->body, $r->body, "Location leads to $location");
        is(resolve($location, link_of($found)), "$prefix/pets", 'the successor of getPet');
        my $next = resolve("$prefix/pets?limit=1", link_of(http_get($server, "$prefix/pets?limit=1")));
        is($next, "$prefix/pets?limit=1&after=1", 'the next page');
        is(http_get($server, $next)->json->[0]{id}, 2);
    }
};

# Before nginx has found a location, and in a location with petstore.
subtest 'errors of nginx itself' => sub {
    my $raw = sub { http_raw($nginx, @_) };
    is_error($raw->("GET /v1/pets HTTP/1.1\r\n\r\n"), 400, 'bad_request', qr/malformed/, 'no Host');
    is_error($raw->("GET /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"), 400, 'bad_request', qr/malformed/, 'Content-Length: x');
    is_error($raw->("GET /v1/pets HTTP/1.1\r\nHost: a\r\nX: " . 'x' x 40_000 . "\r\n\r\n"), 400, 'bad_request', qr/malformed/, 'a long header');
    is_error($raw->("TRACE /v1/pets HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), 405, 'method_not_allowed', qr/method/, 'TRACE');
    is_error($raw->('GET /v1/pets?' . 'x' x 40_000 . " HTTP/1.1\r\nHost: a\r\n\r\n"), 414, 'uri_too_long', qr/URI/, 'a long URI');
    is_error($raw->("POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"),
        400, 'bad_request', qr/malformed/, 'a bad chunk');
    is_error(http_get($nginx, '/denied/pets'), 403, 'forbidden', qr/not allowed/, 'deny all');
    is_error(http_get($nginx, '/nothing'), 404, 'not_found', qr/nothing/, 'no location');
    is(http_request($nginx, 'HEAD', '/denied/pets')->body, '', 'HEAD');
    is(http_get($nginx, '/other/nothing')->header('content-type'), 'text/html', 'another location has the pages of nginx');
    my $c = Http->connect($nginx);
    is_error($c->request('GET', '/nothing'), 404, 'not_found', qr/nothing/, 'kept alive');
    is($c->request('GET', '/v1/store/orders')->status, 200);
    my $paged = 'unix:' . $nginx->dir . '/paged.sock';
    is(http_get($paged, '/v1/denied')->body, 'a page of the operator', 'a page of error_page is kept');
    is(http_raw($paged, "GET /v1/pets HTTP/1.1\r\n\r\n")->body, 'a page of the operator');
    is(http_get('unix:' . $nginx->dir . '/plain.sock', '/nothing')->header('content-type'), 'text/html', 'a server without petstore has the pages of nginx');
};

$nginx->stop;
done_testing;
