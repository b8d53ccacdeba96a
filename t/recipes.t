# Tests that each configuration of module/RECIPES.md works as its section says, with real requests through nginx.

use strict;
use warnings;
use lib 't/lib';
use Certificates;
use Command;
use Cwd qw(getcwd);
use Digest::SHA qw(hmac_sha256);
use File::Temp ();
use Gateway qw(wait_for_room);
use GrpcServer;
use Http qw(http_get http_request);
use Http2;
use JSON::PP qw(encode_json);
use MIME::Base64 qw(encode_base64url);
use Markdown;
use Nginx;
use RedisServer;
use Test::More;
use Wait qw(becomes);
use WebSocketServer;

my ($page) = grep { $_->path eq 'module/RECIPES.md' } Markdown->pages(getcwd);
my %blocks = map { $_->{heading} => $_->{text} } $page->blocks('nginx');
my %scripts = map { $_->{heading} => $_->{text} } $page->blocks('js');
my %tried;

my $redis = RedisServer->start;
wait_for_room($redis, 86400, 120);
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');

# A new key with this id and three requests a day.
sub key {
    my ($id) = @_;
    my $issued = $tollgate->run(qw(key issue --plan free --id), $id);
    die $issued->{err} if $issued->{status};
    return $issued->{out} =~ s/\n//r;
}

sub count { my ($id) = @_; return $redis->cmd('HGET', "t:quota:{$id}:api", '86400.count') // 0 }

# Starts nginx with the recipe of this heading, and the given texts in place of the example's.
sub start {
    my ($heading, %options) = @_;
    my $text = $blocks{$heading} // die "there is no recipe \"$heading\"\n";
    ++$tried{$heading};
    $text =~ s/\blisten\s+(?:8080|8443)\b/listen 127.0.0.1:%PORT%/ or die;
    $text =~ s/\Q$_\E/$options{replace}{$_}/g for sort keys %{ $options{replace} // {} };
    $text =~ s{http://127\.0\.0\.1:8090}{http://unix:%DIR%/service.sock}g;
    return Nginx->start(
        map({ $options{$_} ? ($_ => $options{$_}) : () } qw(files modules)),
        conf  => "tollgate_redis main { server @{[$redis->address]}; prefix t:; timeout 2s; }
            tollgate_plans api { plan free 3r/d; anonymous 100r/d; }
            $text
            @{[$options{http} // '']}
            server {
                listen unix:%DIR%/service.sock;
                access_log off;
                location / {
                    add_header Access-Control-Allow-Origin *;
                    return 200 \"service id=\$http_x_key_id plan=\$http_x_plan request=\$http_x_request_id\\n\";
                }
                location /v1/missing { return 404 \"of the service\\n\"; }
            }",
    );
}

subtest 'identity' => sub {
    my $nginx = start('Tell the service whose key it is');
    my $key = key('identity');
    my %claimed = ('X-Key-Id' => 'admin', 'X-Plan' => 'enterprise');
    is(http_get($nginx, '/v1/', %claimed, Authorization => "Bearer $key")->body, "service id=identity plan=free request=\n", 'the service gets the id of the key');
    is(http_get($nginx, '/public/', %claimed)->body, "service id= plan= request=\n", 'without a key, the fields of the client are removed');
    is(http_get($nginx, '/public/', %claimed, Authorization => "Bearer $key")->body, "service id= plan= request=\n", '… also if it sends a key');
    like(http_get($nginx, '/v2/', %claimed, Authorization => "Bearer $key")->body, qr/^service id=identity plan=free request=[0-9a-f]{32}$/, 'a location with fields of its own');
    $nginx->stop;
};

sub statuses { my ($code, $times) = @_; return join ' ', map { $code->()->status } 1 .. $times }

subtest 'a JWT, a program' => sub {
    my $nginx = start(
        'A JWT that a program verifies',
        replace => { 'http://127.0.0.1:8091' => 'http://unix:%DIR%/verifier.sock' },
        http    => 'map $http_authorization $verified { "Bearer jwt-of-17" user-17; "Bearer jwt-of-18" user-18; }
            map "$http_authorization:$verified" $refused { "~^Bearer jwt-.*:$" 1; }
            server {
                listen unix:%DIR%/verifier.sock;
                location / {
                    add_header X-User $verified;
                    if ($refused) { return 401; }
                    return 204;
                }
            }',
    );
    my $key = key('beside-jwt');
    my $get = sub { my ($token) = @_; return http_get($nginx, '/v1/', 'X-Key-Id' => 'admin', 'X-User' => 'admin', defined $token ? (Authorization => "Bearer $token") : ()) };
    is($get->('jwt-of-17')->body, "service id=user-17 plan= request=\n", 'the service gets the user');
    is(statuses(sub { $get->('jwt-of-17') }, 3), '200 200 429', '… whose quota is counted');
    is($get->('jwt-of-18')->status, 200, 'another user');
    is($get->('jwt-forged')->status, 401, 'a token that is not valid');
    is($get->(undef)->status, 401, 'no token');
    is($get->($key)->body, "service id=beside-jwt plan= request=\n", 'an API key');
    is(http_get($nginx, '/verify')->status, 404, 'the program is not served');
    is_deeply([map { count($_) } qw(user-17 user-18 admin)], [3, 1, 0], 'only granted requests are counted');
    $nginx->stop;
};

# A JWT with HMAC-SHA256.
sub jwt {
    my ($secret, %claims) = @_;
    my $signed = join '.', map { encode_base64url(encode_json($_)) } { alg => 'HS256', typ => 'JWT' }, \%claims;
    return "$signed." . encode_base64url(hmac_sha256($signed, $secret));
}

subtest 'a JWT, njs' => sub {
    my $heading = 'A JWT that njs verifies';
    my $njs = Nginx->module_of_nginx('ngx_http_js_module');
    if (!defined $njs) {
        ++$tried{$heading};
        plan skip_all => 'njs is not installed';
    }
    my $nginx = start(
        $heading,
        replace => { '/etc/nginx' => '%DIR%' },
        files   => { 'njs/jwt.js' => $scripts{$heading} =~ s{/etc/nginx}{%DIR%}r, 'jwt-secret' => "the secret\n" },
        modules => ['ngx_http_tollgate_module', $njs],
    );
    my $key = key('beside-njs');
    my $get = sub { my ($token) = @_; return http_get($nginx, '/v1/', 'X-Key-Id' => 'admin', defined $token ? (Authorization => "Bearer $token") : ()) };
    my %later = (exp => time + 600);
    my @tokens = map { jwt('the secret', sub => 'jane', plan => 'free', %later, jti => $_) } 1, 2;
    is($get->($tokens[0])->body, "service id=jane plan= request=\n", 'the service gets the user');
    is(statuses(sub { $get->($tokens[1]) }, 3), '200 200 429', 'all tokens of the user have one quota');
    my $header = encode_base64url('{"alg":"none"}');
    my %refused = (
        'another secret'   => jwt('another', sub => 'jack', plan => 'free', %later),
        'a changed claim'  => do { my @parts = split /\./, $tokens[0]; $parts[1] = encode_base64url(encode_json({ sub => 'jack', plan => 'free', %later })); join '.', @parts },
        'no signature'     => join('.', $header, encode_base64url(encode_json({ sub => 'jack', %later })), ''),
        'an expired token' => jwt('the secret', sub => 'jack', plan => 'free', exp => time - 1),
        'no expiry'        => jwt('the secret', sub => 'jack', plan => 'free'),
        'no user'          => jwt('the secret', plan => 'free', %later),
        'claims of null'   => do { my $signed = "$header." . encode_base64url('null'); "$signed." . encode_base64url(hmac_sha256($signed, 'the secret')) },
        'claims that are no JSON' => do { my $signed = "$header." . encode_base64url('{'); "$signed." . encode_base64url(hmac_sha256($signed, 'the secret')) },
    );
    is($get->($refused{$_})->status, 401, $_) for sort keys %refused;
    is($get->(jwt('the secret', sub => 'jack', plan => 'gold', %later))->json->{code}, 'plan_not_allowed', 'a plan that is not in the table');
    is($get->(jwt('the secret', sub => 'jack the lad', plan => 'free', %later))->json->{code}, 'invalid_subject', 'a user that is no id');
    is($get->(undef)->status, 401, 'no token');
    is($get->($key)->body, "service id=beside-njs plan= request=\n", 'an API key');
    is_deeply([map { count($_) } qw(jane jack admin)], [3, 0, 0], 'only granted requests are counted');
    $nginx->stop;
};

subtest 'a client certificate' => sub {
    my $certificates = Certificates->new;
    $certificates->issue('server', 'IP:127.0.0.1');
    $certificates->issue($_) for qw(meter-1 meter-2);
    my $nginx = start('A client certificate', replace => {
        ' api.pem'       => ' ' . $certificates->certificate('server'),
        ' api.key'       => ' ' . $certificates->key('server'),
        'devices-ca.pem' => $certificates->certificate('ca'),
    });
    my $key = key('beside-certificates');
    my $get = sub {
        my ($path, $name, @arguments) = @_;
        my @certificate = $name ? ('--cert', $certificates->certificate($name), '--key', $certificates->key($name)) : ();
        open my $curl, '-|', qw(curl -s --max-time 30 -w %{http_code} --cacert), $certificates->certificate('ca'), @certificate, '-H', 'X-Key-Id: admin',
            @arguments, 'https://127.0.0.1:' . $nginx->port . $path or die "curl: $!\n";
        my $text = do { local $/; <$curl> };
        close $curl;
        return join ' ', $text =~ /(\d{3})\z/, $text =~ / id=(\S+)/;
    };
    is($get->('/v1/', 'meter-1'), '200 meter-1', 'the service gets the name of the device');
    is($get->('/v1/', 'meter-2'), '200 meter-2', '… of another one');
    $certificates->issue('meter-1');
    is(join(' ', map { $get->('/v1/', 'meter-1') } 1 .. 3), '200 meter-1 200 meter-1 429', 'a new certificate with the same name has the same quota');
    like($get->('/v2/', 'meter-1'), qr/^200 [0-9a-f]{40}$/, 'a fingerprint');
    is($get->('/v1/', undef), '401', 'without a certificate, a key is needed');
    is($get->('/v1/', undef, '-H', "Authorization: Bearer $key"), '200 beside-certificates', '…');
    is_deeply([map { count($_) } qw(meter-1 meter-2 admin)], [3, 1, 0], 'only granted requests are counted');
    $nginx->stop;
};

subtest 'an address' => sub {
    my $nginx = start('An address', replace => { '192.0.2.17' => '127.0.0.1', '192.0.2.18' => '127.0.0.2' });
    my $key = key('beside-addresses');
    my $get = sub {
        my ($address, @arguments) = @_;
        open my $curl, '-|', qw(curl -s --max-time 30 -w %{http_code} --interface), $address, '-H', 'X-Key-Id: admin', @arguments, 'http://127.0.0.1:' . $nginx->port . '/v1/' or die "curl: $!\n";
        my $text = do { local $/; <$curl> };
        close $curl;
        return join ' ', $text =~ /(\d{3})\z/, $text =~ / id=(\S+)/;
    };
    is($get->('127.0.0.1'), '200 acme', 'the service gets the id');
    is(join(' ', map { $get->('127.0.0.2') } 1 .. 3), '200 acme 200 acme 429', '… whose addresses have one quota');
    is($get->('127.0.0.3'), '401', 'another address');
    is($get->('127.0.0.3', '-H', "Authorization: Bearer $key"), '200 beside-addresses', '… with a key');
    is(count('acme'), 3, 'only granted requests are counted');
    $nginx->stop;
};

subtest 'CORS' => sub {
    my $nginx = start('CORS: calls from a browser');
    my $key = key('cors');
    my %origin = (Origin => 'https://app.example.com');
    my $preflight = http_request($nginx, 'OPTIONS', '/v1/pets', { %origin, 'Access-Control-Request-Method' => 'GET', 'Access-Control-Request-Headers' => 'authorization' });
    is($preflight->status, 204, 'a preflight passes without a key');
    is_deeply([map { $preflight->headers("Access-Control-$_") } qw(Allow-Origin Allow-Headers)], [$origin{Origin}, 'Authorization, Content-Type'], '… and allows the call');
    is(http_request($nginx, 'OPTIONS', '/v1/pets', {%origin})->status, 401, 'another OPTIONS needs a key');
    my $readable = sub {
        my ($r, $status) = @_;
        is($r->status, $status, "$status:");
        is_deeply([$r->headers('Access-Control-Allow-Origin')], [$origin{Origin}], '… the origin is allowed, once');
        my %exposed = map { lc $_ => 1 } split /, */, $r->header('Access-Control-Expose-Headers');
        my @fields = map { $_->[0] } grep { $_->[0] =~ /^(?:X-RateLimit|Retry-After)/ } $r->headers;
        ok(@fields && !grep({ !$exposed{lc $_} } @fields), "… scripts can read @fields");
        ok((grep { $_ eq 'Origin' } $r->headers('Vary')), '… caches distinguish origins');
    };
    $readable->(http_get($nginx, '/v1/pets', %origin), 401);
    $readable->(http_get($nginx, '/v1/pets', %origin, Authorization => "Bearer $key"), 200) for 1 .. 3;
    $readable->(http_get($nginx, '/v1/pets', %origin, Authorization => "Bearer $key"), 429);
    is(http_get($nginx, '/v1/pets', Origin => 'https://evil.example', Authorization => "Bearer $key")->header('Access-Control-Allow-Origin'), undef, 'another origin is not allowed');
    is(count('cors'), 3, 'preflights cost nothing');
    $nginx->stop;
};

subtest 'WebSocket' => sub {
    my $service = WebSocketServer->start;
    my $nginx = start('WebSocket', replace => { '127.0.0.1:8090' => '127.0.0.1:' . $service->port });
    my $key = key('websocket');
    is(WebSocketServer->handshake($nginx->address, '/ws/')->{status}, 401, 'without a key the connection is not opened');
    my $socket = WebSocketServer->handshake($nginx->address, '/ws/', Authorization => "Bearer $key");
    ok($socket->{accepted}, 'with a key it is opened') or diag($socket->{fields});
    like($socket->{fields}, qr/^X-RateLimit-Remaining: 2\r$/m, '… and the response shows the quota');
    is($socket->next_message, 'websocket', '… and the service gets the id of the key');
    is($socket->echo("message $_"), "message $_", "message $_ comes back") for 1 .. 5;
    is(count('websocket'), 1, 'messages are not counted');
    $tollgate->run(qw(key revoke --yes websocket));
    becomes(sub { WebSocketServer->handshake($nginx->address, '/ws/', Authorization => "Bearer $key")->{status} }, 401, 'a revoked key can\'t open a connection');
    is($socket->echo('still here'), 'still here', '… and an open connection stays open');
    my $other = key('requests');
    is(http_get($nginx, '/ws/', Authorization => "Bearer $other")->status, 200, 'a request without a handshake reaches the service');
    WebSocketServer->handshake($nginx->address, '/ws/', Authorization => "Bearer $other") for 1 .. 2;
    is(WebSocketServer->handshake($nginx->address, '/ws/', Authorization => "Bearer $other")->{status}, 429, 'an exhausted quota can\'t open a connection');
    $socket->{http}->close;
    $nginx->stop;
};

subtest 'gRPC' => sub {
    my $service = GrpcServer->start;
    my $nginx = start('gRPC', replace => { '127.0.0.1:50051' => '127.0.0.1:' . $service->port });
    my $key = key('grpc');
    # A call over HTTP/2 with curl, which shows fields and trailers. curl 7.88 loses the fields of a response without a
    # body if it reads the trailers together with them. Such a call was refused and costs nothing; it is made again.
    my $dir = File::Temp->newdir('grpc-XXXXXX', TMPDIR => 1);
    my $message = "\0\0\0\0\5hello";
    open my $file, '>:raw', "$dir/message" or die $!;
    print $file $message;
    close $file;
    my $call_once = sub {
        my (@fields) = @_;
        my @arguments = map { ('-H', $_) } 'content-type: application/grpc', 'te: trailers', @fields;
        open my $curl, '-|', qw(curl -s --max-time 30 --http2-prior-knowledge -D), "$dir/fields", '--data-binary', "\@$dir/message", @arguments,
            'http://' . $nginx->address . '/pets.Pets/Get' or die "curl: $!\n";
        binmode $curl;
        my $body = do { local $/; <$curl> } // '';
        close $curl;
        open my $shown, '<', "$dir/fields" or die $!;
        my $text = do { local $/; <$shown> };
        return { body => $body, text => $text, fields => { map { lc($_->[0]) => $_->[1] } map { /^([^:]+): (.*?)\r?$/ ? [$1, $2] : () } split /\n/, $text } };
    };
    my $call = sub {
        my (@fields) = @_;
        for (1 .. 1000) {
            my $answer = $call_once->(@fields);
            return $answer if $answer->{text} =~ /^HTTP/ || length $answer->{body};
        }
        die "curl shows no response\n";
    };
    my $answer = $call->("authorization: Bearer $key");
    is($answer->{body}, $message, 'a call is served');
    is($answer->{fields}{'grpc-status'}, 0, '… with its trailers') or diag($answer->{text});
    is($answer->{fields}{'x-ratelimit-remaining'}, 2, '… and shows the quota');
    $answer = $call->();
    is_deeply([@{ $answer->{fields} }{qw(grpc-status content-type)}], [16, 'application/grpc'], 'without a key: UNAUTHENTICATED') or diag($answer->{text});
    $call->("authorization: Bearer $key") for 1 .. 2;
    $answer = $call->("authorization: Bearer $key");
    is_deeply([@{ $answer->{fields} }{qw(grpc-status content-type)}], [8, 'application/grpc'], 'a spent quota: RESOURCE_EXHAUSTED') or diag($answer->{text});
    cmp_ok($answer->{fields}{'retry-after'} // 0, '>', 0, '… with Retry-After');
    is(count('grpc'), 3, 'each call is counted once');
    my $stranger = key('grpc-stranger');
    $tollgate->run(qw(key set grpc-stranger --force --plan unknown));
    is($call->("authorization: Bearer $stranger")->{fields}{'grpc-status'}, 7, 'a plan that is not in the table: PERMISSION_DENIED');
    my $client = Http2->connect($nginx->address);
    my $stream = $client->request([':method' => 'POST', ':path' => '/pets.Pets/Get', 'content-type' => 'application/grpc'], body => $message);
    is($client->body($stream), '', 'a refusal has no message');
    $redis->sigstop;
    my $unknown = 'tokens-of-others-are-looked-up';
    is($call->("authorization: Bearer $unknown")->{fields}{'grpc-status'}, 14, 'Redis unreachable: UNAVAILABLE');
    $redis->sigcont;
    $nginx->stop;
};

subtest 'error_page' => sub {
    my $nginx = start(
        'A server that has error_page already',
        replace => { '/srv/www' => '%DIR%/www' },
        files   => { map { ("www/errors/$_" => "page $_\n") } qw(404.html 50x.html 429.json) },
    );
    my $key = key('error_page');
    my $unauthenticated = http_get($nginx, '/v1/pets');
    is($unauthenticated->json->{code}, 'missing_api_key', 'a 401 has an Error body');
    is(http_get($nginx, '/v1/missing', Authorization => "Bearer $key")->body, "of the service\n", 'responses of the service are unchanged');
    is(http_get($nginx, '/elsewhere')->body, "page 404.html\n", 'other pages of the server are unchanged');
    http_get($nginx, '/v1/pets', Authorization => "Bearer $key") for 1 .. 2;
    my $limited = http_get($nginx, '/v1/pets', Authorization => "Bearer $key");
    is($limited->status . $limited->body, "429page 429.json\n", 'a 429 has your own page, and keeps its status');
    is($limited->header('Content-Type'), 'application/json', '… with its type');
    cmp_ok($limited->header('Retry-After') // 0, '>', 0, '… with Retry-After');
    is($limited->header('X-RateLimit-Remaining'), 0, '… and the quota');
    is(count('error_page'), 3, 'a page costs nothing');
    is(http_get($nginx, '/errors/429.json')->status, 404, 'a page is not served by itself');
    $redis->sigstop;
    my $unavailable = http_get($nginx, '/v1/pets', Authorization => 'Bearer not-known-to-this-node');
    $redis->sigcont;
    is($unavailable->status . ' ' . $unavailable->json->{code}, '503 service_unavailable', 'a 503 has an Error body, not the page of the server');
    $nginx->stop;
};

subtest 'return' => sub {
    my $nginx = start('return in a guarded location');
    my $key = key('return');
    is(http_get($nginx, '/v1/open')->body, "for everybody\n", 'return answers without a key');
    is(http_get($nginx, '/v1/guarded')->status, 401, 'try_files requires one');
    my $granted = http_get($nginx, '/v1/guarded', Authorization => "Bearer $key");
    is($granted->status . $granted->body, "200for those with a key\n", '… and then leads to return');
    is($granted->header('X-RateLimit-Remaining'), 2, '… which shows the quota');
    is(count('return'), 1, '… and counts once');
    $nginx->stop;
};

is_deeply([sort keys %tried], [sort keys %blocks], 'each recipe is tested');

done_testing;
