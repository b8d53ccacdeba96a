# Tests that each configuration of module/CASES.md works as its section says, with real requests through nginx and the
# commands of the section.

use strict;
use warnings;
use lib 't/lib';
use Certificates;
use Command;
use Cwd qw(getcwd);
use Digest::SHA qw(hmac_sha256);
use FastCgiServer;
use File::Temp ();
use Gateway qw(wait_for_room);
use Http qw(http_get http_request);
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP qw(decode_json encode_json);
use MIME::Base64 qw(decode_base64url encode_base64url);
use Markdown;
use Nginx;
use POSIX ();
use RedisServer;
use Test::More;
use TestProcess;
use Wait qw(becomes wait_until);

my $page = Markdown->read(getcwd, 'module/CASES.md');
my %configuration = map { $_->{heading} => $_->{text} } $page->blocks('nginx');
my %commands = map { $_->{heading} => $_->{text} } $page->blocks('sh');
my (%tried, %run);

my $redis = RedisServer->start;
wait_for_room($redis, 86400, 180);
my $certificates = Certificates->new;

my $tollgate = Command->new(redis => $redis->address, prefix => 'tollgate:');

# Runs the commands of this section, with these texts in place of its own. Returns the lines that they print.
sub commands_of {
    my ($heading, %replace) = @_;
    ++$run{$heading};
    my $text = $commands{$heading};
    $text =~ s/\Q$_\E/$replace{$_}/g for sort keys %replace;
    return $tollgate->shell("exec 2>/dev/null\n$text");
}

# A new key of the plan `free`.
sub key { my ($id) = @_; return $tollgate->json(qw(key issue --plan free --id), $id)->{key} }

sub count {
    my ($id, %options) = @_;
    my ($prefix, $table) = ($options{prefix} // 'tollgate:', $options{table} // 'api');
    return $redis->cmd('HGET', "${prefix}quota:{$id}:$table", '86400.count') // 0;
}

# The service: it shows what it gets.
my $service = 'location / { return 200 "uri=$request_uri key=$http_x_key_id user=$http_x_user device=$http_x_device
organisation=$http_x_organisation authorization=$http_authorization length=$content_length serial=$request_id\n"; }';

# Starts nginx with the configuration of this section. `service` is the port of a service of the test's own.
sub start {
    my ($heading, %options) = @_;
    my $text = $configuration{$heading} // die "there is no section \"$heading\"\n";
    ++$tried{$heading};
    my $port = delete $options{service} // '%PORT2%';
    my %replace = (
        'listen 8080'                   => 'listen 127.0.0.1:%PORT%',
        'listen 127.0.0.1:8081'         => 'listen 127.0.0.1:%PORT3%',
        '127.0.0.1:8090'                => "127.0.0.1:$port",
        '/var/lib/nginx/names'          => '%DIR%',
        '/var/lib/nginx'                => '%DIR%',
        'server 127.0.0.1:6379'         => 'timeout 2s; server ' . $redis->address,
        %{ delete $options{replace} // {} },
    );
    $text =~ s/\blisten\s+8080\b/listen 8080/g;
    # The longer one of two names first.
    $text =~ s/\Q$_\E/$replace{$_}/g for reverse sort keys %replace;
    # Each unit is in Redis at once.
    $text =~ s/\btollgate_plans\s+\w+\K/ lease=off/g;
    my $prelude = $text =~ /\btollgate_redis\b/ ? '' : "tollgate_redis main { server @{[$redis->address]}; prefix tollgate:; timeout 2s; }";
    $prelude .= 'tollgate_plans api lease=off { plan free 100r/d; }' if $text =~ /\btollgate\s+api\b/;
    my $server = $port eq '%PORT2%' ? "server { listen 127.0.0.1:%PORT2%; $service }" : '';
    # The command refuses a plan that is in no published table: those of the section before are gone.
    $redis->cmd('DEL', 'tollgate:plans');
    return Nginx->start(conf => "$prelude $text $server", %options);
}

sub bearer { return (Authorization => "Bearer $_[0]") }
sub statuses { my ($code, $times) = @_; return [map { $code->()->status } 1 .. $times] }

# A service that this function answers: it gets the head of each request, the connection, and a function that tells
# whether the service still runs.
sub service {
    my ($answer) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die "listen: $!\n";
    my $process = TestProcess->start('service', sub {
        local $SIG{CHLD} = 'IGNORE';
        my $service = $$;
        while (my $connection = $listener->accept) {
            next if fork // die "fork: $!\n";
            close $listener;
            my $head = '';
            while ($head !~ /\r\n\r\n\z/) {
                $connection->sysread($head, 1, length $head) or POSIX::_exit(0);
            }
            $answer->($head, $connection, sub { getppid == $service });
            POSIX::_exit(0);
        }
    });
    return ($listener->sockport, $process);
}

subtest 'A second server' => sub {
    ++$run{'A second server'};
    plan skip_all => 'only root can be another user' if $> != 0;
    my $dir = File::Temp->newdir('names-XXXXXX', TMPDIR => 1);
    chmod 0755, $dir;
    commands_of('A second server', '/var/lib/nginx' => "$dir");
    # An nginx like this one makes the sockets. As root, its workers would be root as well, so others try to connect.
    my $nginx = Nginx->start(conf => "server { listen unix:$dir/names/a.sock; location / { return 204; } }");
    my $can_connect = sub {
        my ($user) = @_;
        my ($uid, $gid) = (getpwnam $user)[2, 3];
        my $child = fork // die "fork: $!\n";
        if (!$child) {
            ($(, $)) = ($gid, "$gid $gid");
            POSIX::setuid($uid);
            POSIX::_exit(IO::Socket::UNIX->new(Peer => "$dir/names/a.sock") ? 0 : 1);
        }
        waitpid $child, 0;
        return $? == 0 ? 'yes' : 'no';
    };
    is($can_connect->('www-data'), 'yes', 'the workers can connect to the second server');
    is($can_connect->('nobody'), 'no', '… other users cannot');
    chmod 0755, "$dir/names";
    is($can_connect->('nobody'), 'yes', '… because of the folder');
    $nginx->stop;
};

subtest 'Own limits and several tenants' => sub {
    my $nginx = start('Own limits and several tenants', replace => { '10r/s' => '10r/d' });
    my ($shop, $maps) = commands_of('Own limits and several tenants');
    my $get = sub { my ($host, $key) = @_; return http_get($nginx, '/', Host => "$host.example.com", bearer($key)) };
    my $own = $get->('shop', $shop);
    is($own->status . ' ' . $own->header('X-RateLimit-Limit'), '200 5000', 'the limits of the key');
    is($get->('maps', $maps)->header('X-RateLimit-Limit'), 10, 'the other API has its own plans');
    is_deeply([map { $_->status } $get->('maps', $shop), $get->('shop', $maps)], [401, 401], '… and its own keys');
    is_deeply([map { count('acme', prefix => "$_:", table => $_) } qw(shop maps)], [1, 1], '… and counts');
    $nginx->stop;
};

subtest 'Several keys of one organisation' => sub {
    my $nginx = start('Several keys of one organisation', replace => { '600r/m 10000r/d' => '4r/d' });
    my @keys = commands_of('Several keys of one organisation');
    is(scalar(@keys = grep { /^tg_/ } @keys), 2, 'two keys');
    my @first = map { http_get($nginx, '/', bearer($_), 'X-Organisation' => 'other', 'X-Key-Id' => 'other') } @keys;
    like($first[0]->body, qr/ key=acme-web .*\norganisation=acme authorization= /, 'the service gets the key and the organisation') or diag($first[0]->body);
    like($first[1]->body, qr/ key=acme-mobile .*\norganisation=acme /, '… of the other key as well');
    is_deeply([map { $_->header('X-RateLimit-Remaining') } @first], [3, 2], 'both keys take from one quota, which the client sees');
    is_deeply(statuses(sub { http_get($nginx, '/', bearer($keys[0])) }, 3), [200, 200, 429], '… which is spent');
    my $limited = http_get($nginx, '/', bearer($keys[1]));
    is($limited->status . ' ' . $limited->json->{code}, '429 rate_limit_exceeded', '… for the other key as well');
    cmp_ok($limited->header('Retry-After') // 0, '>', 0, '… with Retry-After');
    is(count('acme', prefix => 'organisations:', table => 'organisations'), 4, 'a refused request is not counted');
    my $alone = $tollgate->json(qw(key issue --plan member --id alone))->{key};
    is(http_get($nginx, '/', bearer($alone), 'X-Organisation' => 'acme')->status, 401, 'a key without an organisation, also if the client names one');
    is(http_get($nginx, '/', bearer('acme'))->status, 401, 'a name is no key');
    $nginx->stop;

    $redis->cmd('DEL', 'organisations:quota:{acme}:organisations');
    $nginx = start('Several keys of one organisation', replace => { '600r/m 10000r/d' => '4r/d', '$tollgate_meta_organisation' => 'acme' });
    is_deeply([map { http_get($nginx, '/', bearer($_))->header('X-RateLimit-Remaining') } $alone, @keys], [3, 2, 1], 'a constant: one quota for all keys');
    $nginx->stop;
};

# A verifier of JWTs with HMAC-SHA256.
my $secret = 'secret of the issuer';
sub jwt {
    my (%claims) = @_;
    my $signed = join '.', map { encode_base64url(encode_json($_)) } { alg => 'HS256', typ => 'JWT' }, \%claims;
    return "$signed." . encode_base64url(hmac_sha256($signed, $claims{signed_by} // $secret));
}

sub verified_user {
    my ($head) = @_;
    my ($signed, $payload, $signature) = $head =~ /^Authorization: Bearer (([\w-]+\.[\w-]+))\.([\w-]+)\r$/mi ? ($1, (split /\./, $2)[1], $3) : return undef;
    return undef if decode_base64url($signature) ne hmac_sha256($signed, $secret);
    my $claims = decode_json(decode_base64url($payload));
    return $claims->{exp} > time ? $claims->{sub} : undef;
}

subtest 'Users with a JWT' => sub {
    my ($port, $verifier) = service(sub {
        my ($head, $connection) = @_;
        my $user = verified_user($head);
        $connection->syswrite('HTTP/1.1 ' . (defined $user ? "204 No Content\r\nX-User: $user" : '401 Unauthorized') . "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    my $nginx = start('Users with a JWT', replace => { '127.0.0.1:8091' => "127.0.0.1:$port", '60r/m' => '3r/d' });
    commands_of('Users with a JWT');
    my %later = (exp => time + 600);
    my $token = jwt(sub => 'user-17', %later);
    my $first = http_get($nginx, '/x', bearer($token), 'X-User' => 'admin');
    like($first->body, qr/ user=user-17 .*\n.*authorization=Bearer \Q$token\E /, 'the service gets the user and the token') or diag($first->body);
    is($first->header('X-RateLimit-Remaining'), 2, 'the client sees its quota');
    is(http_request($nginx, 'POST', '/x', { bearer(jwt(sub => 'user-17', %later, jti => 2)) }, 'body')->status, 200, 'a request with a body, and another token of the user');
    is_deeply(statuses(sub { http_get($nginx, '/', bearer($token)) }, 2), [200, 429], 'they have one quota');
    is(http_get($nginx, '/', bearer(jwt(sub => 'user-18', %later)))->status, 401, 'a user that was not imported');
    is(http_get($nginx, '/', bearer(jwt(sub => 'user-17', %later, signed_by => 'x')))->status, 401, 'a forged token');
    is(http_get($nginx, '/', bearer(jwt(sub => 'user-17', exp => time - 1)))->status, 401, 'an expired token');
    is(http_get($nginx, '/', 'X-User' => 'user-17')->status, 401, 'a user without a token');
    is(http_get($nginx, '/verify', bearer($token))->status, 404, 'the verifier is not served');
    is(count('user-17', prefix => 'users:', table => 'users'), 3, 'only granted requests are counted');
    $nginx->stop;
};

subtest 'Client certificates' => sub {
    $certificates->issue('server', 'IP:127.0.0.1');
    $certificates->issue($_) for qw(meter-1 meter-2);
    my $nginx = start('Client certificates', replace => {
        '8443 ssl'       => '127.0.0.1:%PORT% ssl',
        ' api.pem'       => ' ' . $certificates->certificate('server'),
        ' api.key'       => ' ' . $certificates->key('server'),
        'devices-ca.pem' => $certificates->certificate('ca'),
        '60r/m'          => '2r/d',
    });
    commands_of('Client certificates');
    my $get = sub {
        my ($name) = @_;
        my @certificate = $name ? ('--cert', $certificates->certificate($name), '--key', $certificates->key($name)) : ();
        open my $curl, '-|', qw(curl -s --max-time 30 -w), "\n%{http_code}", '--cacert', $certificates->certificate('ca'), @certificate,
            '-H', 'X-Device: meter-1', 'https://127.0.0.1:' . $nginx->port . '/' or die "curl: $!\n";
        my $text = do { local $/; <$curl> };
        close $curl;
        return [$text =~ /(\d+)\z/, $text =~ / device=(\S*) ?$/m];
    };
    is_deeply($get->('meter-1'), [200, 'meter-1'], 'a device with a certificate');
    is_deeply($get->('meter-2'), [401], 'another one, which was not imported, also if it names a device');
    is_deeply($get->(undef), [400], 'no certificate');
    $certificates->issue('meter-1');
    is_deeply($get->('meter-1'), [200, 'meter-1'], 'a new certificate with the same name');
    is($get->('meter-1')->[0], 429, '… has the same quota');
    $nginx->stop;
};

subtest 'Requests without a key' => sub {
    my $nginx = start('Requests without a key');
    my $key = key('with-key');
    my %seen;
    like(http_get($nginx, '/', 'X-Key-Id' => 'with-key')->body, qr/ key= /, 'a request without a key has no id, also if the client names one');
    $seen{ http_get($nginx, '/')->status }++ for 1 .. 20;
    cmp_ok($seen{200}, '>=', 5, 'without a key, a burst is granted');
    cmp_ok($seen{429} // 0, '>', 0, '… and then limited');
    is($seen{200} + $seen{429}, 20, '… nothing else');
    is_deeply(statuses(sub { http_get($nginx, '/', bearer($key)) }, 20), [(200) x 20], 'a key of the same address is not limited by it');
    is(count('with-key'), 20, '… but counted');
    like(http_get($nginx, '/', bearer($key))->body, qr/ key=with-key /, 'the service gets its id');
    is(http_get($nginx, '/', bearer('made-up'))->status, 401, 'an invalid key');
    is(http_get($nginx, '/', Authorization => 'Bearer ')->status, 401, '… and an empty one');
    $nginx->stop;
};

subtest 'Cost by endpoint' => sub {
    my $nginx = start('Cost by endpoint');
    my $key = key('cost');
    my $left = sub { my ($method, $path) = @_; my $r = http_request($nginx, $method, $path, { bearer($key) }); return $r->status . ' ' . $r->header('X-RateLimit-Remaining') };
    is($left->('GET', '/v1/pets'), '200 99', 'any request');
    is($left->('POST', '/v1/reports'), '200 79', 'an expensive one');
    is($left->('POST', '/v1/./%72eports?x=1'), '200 59', '… also if its URI is written in another way');
    is($left->('GET', '/v1/reports'), '200 58', 'another method');
    is($left->('GET', '/v1/limits'), '200 58', 'a free one');
    is_deeply([map { $left->('POST', '/v1/reports') } 1 .. 3], ['200 38', '200 18', '429 18'], 'what costs more than is left takes nothing');
    is($left->('GET', '/v1/pets'), '200 17', '… so cheaper requests are granted');
    $nginx->stop;
};

subtest 'GraphQL' => sub {
    my $nginx = start('GraphQL', replace => { 'default 100' => 'default 50' });
    my $key = key('graphql');
    my $get = sub { my ($query) = @_; return http_get($nginx, "/graphql?$query", bearer($key)) };
    my $cost = sub { my $before = count('graphql'); my $r = $get->(@_); return $r->status . ' ' . (count('graphql') - $before) };
    is($cost->('id=feed'), '200 1', 'a cheap operation');
    is($cost->('id=report'), '200 20', 'an expensive one');
    like($get->('variables=%7B%7D&id=feed&id=report&query=x')->body, qr{^uri=/graphql\?id=feed&variables=%7B%7D key=}, 'the service gets what nginx has read, and nothing else');
    like(http_request($nginx, 'GET', '/graphql?id=feed', { bearer($key) }, '{"id":"report"}')->body, qr/ length= /, '… not the body of a GET either');
    is($cost->('id=%66eed'), '200 50', 'a name that nginx does not decode costs the most');
    is(http_request($nginx, 'POST', '/graphql?id=feed', { bearer($key) }, '{}')->status, 403, 'another method');
    is(count('graphql'), 73, '… which costs nothing');
    is($cost->(''), '429 0', 'no name: the highest cost');
    $nginx->stop;
};

subtest 'Bytes and uploads' => sub {
    my $nginx = start('Bytes and uploads', replace => { '10485760' => '1000', '10m' => '1000', '100000000r' => '3000r' });
    my $key = key('bytes');
    my $spent = sub { return count('bytes', table => 'bytes') };
    my $put = sub { my ($body, %fields) = @_; return http_request($nginx, 'PUT', '/uploads/x', { bearer($key), %fields }, $body)->status };
    is($put->('x' x 600) . ' ' . $spent->(), '200 600', 'an upload costs its length');
    is($put->('') . ' ' . $spent->(), '200 600', 'an empty one costs nothing');
    is($put->('x' x 1001) . ' ' . $spent->(), '413 600', 'one that is too large costs nothing');
    my $chunked = Http->connect($nginx);
    $chunked->send("POST /uploads/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    is($chunked->response->status . ' ' . $spent->(), '200 1600', 'without a length, the largest');
    is(http_get($nginx, '/uploads/x', bearer($key))->status . ' ' . $spent->(), '403 1600', 'another method costs nothing');
    # The first response to a request that waits before it sends its body. Http.pm skips 100 Continue.
    my $first = sub {
        my ($length, $authorization) = @_;
        my $waiting = Http->connect($nginx);
        $waiting->send("PUT /uploads/x HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: $length\r\nExpect: 100-continue\r\n\r\n");
        return $waiting->_head->status;
    };
    is($first->(900, "Authorization: Bearer $key\r\n"), 100, 'a client that may send its body is told so');
    is($first->(900, ''), 401, 'without a key, it is refused before');
    is($first->(900, "Authorization: Bearer $key\r\n"), 429, '… and if less is left');
    $nginx->stop;
};

subtest 'Costs known at the end' => sub {
    my ($port, $service) = service(sub {
        my ($head, $connection) = @_;
        my $units = $head =~ /units=(\d+)/ ? "X-Units: $1\r\n" : '';
        $connection->syswrite("HTTP/1.0 200 OK\r\n${units}Content-Length: 7\r\n\r\nanswer\n");
    });
    my $nginx = start('Costs known at the end', replace => { '100000r/d' => '5000r/d' }, service => $port);
    my $key = key('settled');
    my $tokens = sub { return count('settled', table => 'tokens') };
    my $response = http_get($nginx, '/v1/chat?units=700', bearer($key));
    is($response->status, 200, 'a request');
    is($response->header('X-Units'), undef, '… whose cost the client does not see');
    is($response->header('X-RateLimit-Remaining'), 1000, '… needs 4000 units');
    wait_until('the cost', sub { $tokens->() == 700 });
    is(http_get($nginx, '/v1/chat?units=300', bearer($key))->status, 200, 'the next one');
    wait_until('its cost', sub { $tokens->() == 1000 });
    is(http_get($nginx, '/v1/chat', bearer($key))->status, 200, 'without the field');
    is(http_get($nginx, '/v1/chat', bearer($key))->status, 429, '… it has cost what it took');
    is(http_get($nginx, '/files/a', bearer($key))->status, 200, 'a file');
    wait_until('the cost of a file', sub { my $bytes = count('settled', table => 'bytes'); return $bytes > 7 && $bytes < 1000 });
    $nginx->stop;
};

subtest 'Tokens of a language model' => sub {
    my @types = ('application/json', 'text/event-stream');
    my %answers = (
        document => [$types[0], '{"usage":{"total_tokens":700}}'],
        message  => [$types[0], '{"usage":{"input_tokens":100,"output_tokens":50}}'],
        stream   => [$types[1], qq(data: {"usage":null}\n\ndata: {"usage":{"total_tokens":300}}\n\ndata: [DONE]\n\n)],
        messages => [$types[1], qq(data: {"message":{"usage":{"input_tokens":100,"output_tokens":1}}}\n\ndata: {"usage":{"output_tokens":50}}\n\n)],
        silent   => [$types[1], "data: {}\n\n"],
    );
    my ($port, $service) = service(sub {
        my ($head, $connection) = @_;
        my ($type, $body) = $answers{ ($head =~ /answer=(\w+)/)[0] }->@*;
        die "an encoding is asked for\n" if $head =~ /^Accept-Encoding:/mi;
        $connection->syswrite("HTTP/1.0 200 OK\r\nContent-Type: $type\r\n\r\n$body");
    });
    my $nginx = start('Tokens of a language model', service => $port);
    my $key = key('model');
    my $sum = 0;
    for my $case (
        ['/v1/chat/completions', 'document', 700], ['/v1/chat/completions', 'stream', 300], ['/v1/chat/completions', 'silent', 4000],
        ['/v1/messages', 'message', 150], ['/v1/messages', 'messages', 150])
    {
        my ($path, $answer, $units) = @$case;
        is(http_get($nginx, "$path?answer=$answer", bearer($key), 'Accept-Encoding' => 'gzip')->body, $answers{$answer}[1], "$path, $answer");
        $sum += $units;
        becomes(sub { count('model', table => 'tokens') }, $sum, "... has cost $units");
    }
    $nginx->stop;
};

subtest 'Costs that the service knows' => sub {
    my $nginx = start('Costs that the service knows', replace => { '100000r/d' => '1000r/d' });
    my $key = key('tokens');
    my $chat = sub { return http_get($nginx, '/v1/chat', bearer($key)) };
    # The service's part: it charges with the field that it got.
    my $charge = sub {
        my ($response, $units) = @_;
        my ($authorization) = $response->body =~ /authorization=(Bearer \S+) /;
        return http_get('127.0.0.1:' . $nginx->port(3), '/charge', Authorization => $authorization, 'X-Units' => $units);
    };
    my $spent = sub { return count('tokens', table => 'tokens') };
    my $answer = $chat->();
    is($answer->status . ' ' . $spent->(), '200 1', 'the request takes one unit');
    my $charged = $charge->($answer, 699);
    is($charged->status . ' ' . $spent->(), '200 700', 'the service charges the rest');
    is($charged->json->{windows}[0]{remaining}, 300, '… and learns what is left');
    $answer = $chat->();
    $charged = $charge->($answer, 500);
    is(join(' ', $charged->status, $spent->(), $charged->header('X-RateLimit-Remaining')), '429 701 299', 'more than is left takes nothing, and shows what is left');
    is($charge->($answer, 299)->status . ' ' . $spent->(), '200 1000', '… which is charged then');
    is($chat->()->status, 429, 'a client whose quota is spent is refused at the beginning');
    $nginx->stop;
};

# A service that sends an event, and a second one when it is asked to.
my $proceed = File::Temp->newdir('proceed-XXXXXX', TMPDIR => 1);
my ($events_port, $events) = service(sub {
    my ($head, $connection, $runs) = @_;
    my ($name) = $head =~ m{^GET \S*/(\w+) };
    $connection->syswrite("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: first\n\n");
    select undef, undef, undef, 0.01 while !-e "$proceed/$name" && $runs->();
    $connection->syswrite("data: second\n\n");
});

# Begins a request for events and returns the connection when the first one is there, or the status of a refusal.
sub begin {
    my ($nginx, $name, $key) = @_;
    my $http = Http->connect($nginx);
    $http->send("GET /events/$name HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\n\r\n");
    my $head = $http->_head;
    return $head->status if $head->status != 200;
    $http->_fill until $http->{buffer} =~ /data: first\n\n/;
    return $http;
}

# Lets the service send the rest, and returns it.
sub finish {
    my ($http, $name) = @_;
    open my $file, '>', "$proceed/$name" or die $!;
    close $file;
    $http->_fill until $http->{buffer} =~ /data: second\n\n/;
    $http->close;
    return 'second';
}

subtest 'FastCGI' => sub {
    my $dir = File::Temp->newdir('php-XXXXXX', TMPDIR => 1);
    my $php = FastCgiServer->start("$dir/php-fpm.sock");
    my $nginx = start('FastCGI', replace => { '/run/php' => $dir, ' fastcgi_params' => ' /etc/nginx/fastcgi_params' });
    my $key = key('php');
    my $response = http_request($nginx, 'POST', '/pets?x=1', { bearer($key), 'Tollgate-Id' => 'admin' }, 'the body');
    is($response->status . ' ' . $response->header('X-RateLimit-Remaining'), '200 99', 'a request with a key');
    my %parameters = map { split /=/, $_, 2 } grep { /=/ } split /\n/, $response->body;
    is_deeply([@parameters{qw(TOLLGATE_ID TOLLGATE_PLAN SCRIPT_FILENAME QUERY_STRING)}], ['php', 'free', '/srv/api/index.php', 'x=1'], 'the service gets the id and the plan');
    is($parameters{HTTP_TOLLGATE_ID}, 'admin', '… what a client sends has another name');
    ok(!exists $parameters{HTTP_AUTHORIZATION}, '… the key is not there');
    like($response->body, qr/\nthe body\z/, '… and the body');
    is(http_get($nginx, '/pets')->status, 401, 'without a key, the service is not asked');
    $nginx->stop;
};

subtest 'Server-sent events' => sub {
    my $nginx = start('Server-sent events', service => $events_port);
    my $key = key('events');
    my $stream = begin($nginx, 'sse', $key);
    ok(ref $stream, 'an event arrives while the response continues');
    is(count('events'), 1, 'the stream takes one unit');
    is($tollgate->run(qw(key revoke events --yes))->{status}, 0, 'the key is revoked');
    is(begin($nginx, 'revoked', $key), 401, 'a revoked key begins no stream');
    is(finish($stream, 'sse'), 'second', '… and an open stream continues');
    is(count('events'), 1, 'events are not counted');
    $nginx->stop;
};

subtest 'Requests at the same time' => sub {
    my $nginx = start('Requests at the same time', service => $events_port);
    my ($key, $other) = map { key($_) } qw(at-once at-once-other);
    my @open = map { begin($nginx, "once$_", $key) } 1 .. 2;
    is(scalar(grep { ref } @open), 2, 'two requests at the same time');
    is(begin($nginx, 'once3', $key), 429, 'a third is refused');
    ok(ref(my $others = begin($nginx, 'other', $other)), 'another id is not');
    is(count('at-once', table => 'at_once'), 2, 'the refused one takes no unit');
    finish($open[0], 'once1');
    my $next;
    wait_until('the place of the first', sub { ref($next = begin($nginx, 'once4', $key)) });
    ok($next, 'when one has ended, another may begin');
    finish(@$_) for [$open[1], 'once2'], [$others, 'other'], [$next, 'once4'];
    $nginx->stop;
};

subtest 'Responses from a cache' => sub {
    my $nginx = start('Responses from a cache');
    my @keys = map { key("cache-$_") } 1, 2;
    my ($serial) = map { qr/$_/ } 'serial=(\w+)';
    my $get = sub { my ($path, $key) = @_; return http_get($nginx, $path, $key ? bearer($key) : ()) };
    my @responses = map { $get->('/', $_) } @keys, $keys[0];
    is(scalar(keys %{ { map { $_->body =~ $serial; $1 => 1 } @responses } }), 1, 'three requests, one response of the service');
    is_deeply([map { $_->header('X-RateLimit-Remaining') } @responses], [99, 99, 98], 'each client sees its own quota');
    is_deeply([map { count("cache-$_") } 1, 2], [2, 1], 'responses from the cache count');
    is($get->('/')->status, 401, 'without a key, the cache answers nobody');
    is_deeply([map { my ($id) = $get->('/mine/', $_)->body =~ / key=(\S+)/; $id } @keys, @keys], [qw(cache-1 cache-2 cache-1 cache-2)], 'a place for each id');
    is($get->('/mine/', $keys[0])->body, $get->('/mine/', $keys[0])->body, '… in the cache');
    $nginx->stop;
};

is_deeply([sort keys %tried], [sort keys %configuration], 'each configuration is tested');
is_deeply([sort keys %run], [sort keys %commands], '… with the commands of its section');
done_testing;
