# Tests that each configuration of module/CASES.md works as its section says, with real requests through nginx and the
# commands of the section.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Cwd qw(getcwd);
use Digest::SHA qw(sha256_hex);
use FastCgiServer;
use File::Temp ();
use Gateway qw(wait_for_room);
use Http qw(http_get http_request);
use IO::Socket::INET;
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
        '/var/lib/nginx/sockets'          => '%DIR%',
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
    $prelude .= 'tollgate_plans api lease=off { plan free 100r/d; }' if $text =~ /\btollgate\s+api\b/ && $text !~ /\btollgate_plans\s+api\b/;
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
            my ($rest) = $head =~ /^Content-Length: (\d+)/mi;
            while ($rest) { $rest -= $connection->sysread(my $piece, $rest) || POSIX::_exit(0) }
            $answer->($head, $connection, sub { getppid == $service });
            POSIX::_exit(0);
        }
    });
    return ($listener->sockport, $process);
}

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
    my $nginx = start('Several keys of one organisation', replace => { '100r/m' => '3r/d', '600r/m 10000r/d' => '5r/d' });
    my @keys = commands_of('Several keys of one organisation');
    is(scalar(@keys = grep { /^tg_/ } @keys), 2, 'two keys');
    my $counts = sub { join ' ', map { $redis->cmd('HGET', "tollgate:quota:{acme}$_", '86400.count') } qw(acme-web:api acme-mobile:api :organisations:group) };
    my @first = map { http_get($nginx, '/', bearer($_), 'X-Organisation' => 'other', 'X-Key-Id' => 'other') } @keys;
    like($first[0]->body, qr/ key=acme-web .*\norganisation=acme authorization= /, 'the service gets the id and the organisation') or diag($first[0]->body);
    like($first[1]->body, qr/ key=acme-mobile .*\norganisation=acme /, '… of the other key as well');
    is($counts->(), '1 1 2', 'both keys take from one quota, and from their own');
    is_deeply(statuses(sub { http_get($nginx, '/', bearer($keys[0])) }, 3), [200, 200, 429], 'the limit of a key');
    is_deeply(statuses(sub { http_get($nginx, '/', bearer($keys[1])) }, 2), [200, 429], 'the limit of all keys');
    is($counts->(), '3 2 5', '… and a refused request is not counted');
    my $alone = $tollgate->json(qw(key issue --plan member --id alone))->{key};
    like(http_get($nginx, '/', bearer($alone), 'X-Organisation' => 'acme')->body, qr/\norganisation= /, 'a key without an organisation, also if the client names one');
    is_deeply([count('alone'), http_get($nginx, '/', bearer($alone))->header('X-RateLimit-Limit')], [1, 3], '… has its own limit only');
    $nginx->stop;

    $nginx = start('Several keys of one organisation', replace => { '100r/m' => 'unlimited', '600r/m 10000r/d' => '7r/d' });
    is_deeply([map { scalar http_get($nginx, '/', bearer($_))->header('X-RateLimit-Remaining') } @keys, $keys[0], $alone], [1, 0, 0, undef], 'with an unlimited plan, only the organisation has limits');
    $nginx->stop;
};

subtest 'Limits for each end user' => sub {
    my $nginx = start('Limits for each end user', replace => { '1000r/d' => '7r/d', '100r/d' => '3r/d' });
    my $key = key('customer');
    my $statuses = sub { my ($times, @user) = @_; return join ' ', map { http_get($nginx, '/', bearer($key), map { ('X-User' => $_) } @user)->status } 1 .. $times };
    is($statuses->(4, 'alice'), '200 200 200 429', 'the limit of a user');
    is($statuses->(2, 'bob'), '200 200', 'another user has its own');
    is($statuses->(3), '200 200 429', 'those without a user share one, and the customer has spent its quota');
    is(count('customer'), 7, '… to which all are charged');
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
    is_deeply([map { $left->($_, '/v2/pets') } qw(GET HEAD OPTIONS DELETE POST)], ['200 16', '200 15', '200 15', '200 10', '200 5'], 'by the method only');
    is_deeply([map { $left->($_, '/v2/pets') } qw(GET POST)], ['200 4', '429 4'], '… whose cost may be more than is left');
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
    $nginx->stop;
};

# The count of a window of an id in a table.
sub month { my ($id, $table) = @_; return $redis->cmd('HGET', "tollgate:quota:{$id}:$table", 'month.count') // 0 }
sub minute { my ($id, $table) = @_; return $redis->cmd('HGET', "tollgate:quota:{$id}:$table", '60.count') // 0 }

subtest 'Downloads' => sub {
    my ($port, $service) = service(sub {
        my ($head, $connection) = @_;
        my ($size) = $head =~ m{ /files/(\d+)};
        $connection->syswrite("HTTP/1.0 200 OK\r\nContent-Length: $size\r\n\r\n");
        return if $head =~ /^HEAD/;
        while ($size > 0) {
            my $sent = $connection->syswrite('x' x ($size < 65536 ? $size : 65536)) or last;
            $size -= $sent;
        }
    });
    my $nginx = start('Downloads', service => $port, replace => { '10000000000r/month' => '5000000r/month' });
    my $key = key('downloads');
    my $small = http_get($nginx, '/files/5000', bearer($key));
    is($small->status . ' ' . length $small->body, '200 5000', 'a file');
    like($small->header('RateLimit-Policy'), qr/"free-month";q=5000000;qu="content-bytes";w=\d+/, '… in bytes');
    like($small->header('RateLimit'), qr/"free-month";r=4000000;/, '… which needs 1000000 of them');
    wait_until('the cost of a file', sub { my $bytes = month('downloads', 'downloads'); return $bytes > 5000 && $bytes < 6000 });
    my $before = month('downloads', 'downloads');
    is(http_request($nginx, 'HEAD', '/files/3000000', { bearer($key) })->status, 200, 'HEAD');
    wait_until('the cost of HEAD', sub { my $bytes = month('downloads', 'downloads') - $before; return $bytes > 0 && $bytes < 1000 });

    # Clients that read nothing: what nginx cannot send fills the sockets, and the requests stay in flight.
    my @open = map {
        my $http = Http->connect($nginx);
        $http->send("GET /files/20000000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\n\r\n");
        is($http->_head->status, 200, "download $_ at the same time");
        $http;
    } 1 .. 4;
    my $fifth = http_get($nginx, '/files/1', bearer($key));
    is($fifth->status . ' ' . $fifth->json->{code}, '429 too_many_in_flight', 'a fifth one is refused');
    my $taken = month('downloads', 'downloads');
    $_->close for @open;
    wait_until('their cost', sub { my $bytes = month('downloads', 'downloads'); return $bytes != $taken && $bytes < 4 * 20_000_000 });
    my $last = key('downloads-last');
    is(http_get($nginx, '/files/4500000', bearer($last))->status, 200, 'most of the quota');
    wait_until('its cost', sub { month('downloads-last', 'downloads') > 4500000 });
    is(http_get($nginx, '/files/1', bearer($last))->status, 429, 'less than a download takes is left');
    $last = key('downloads-excess');
    is(http_get($nginx, '/files/3900000', bearer($last))->status, 200, 'as much as one takes is left');
    wait_until('its cost', sub { month('downloads-excess', 'downloads') > 3900000 });
    my $excess = http_get($nginx, '/files/9000000', bearer($last));
    is($excess->status . ' ' . length $excess->body, '200 9000000', 'the whole file is sent');
    wait_until('the excess is counted', sub { month('downloads-excess', 'downloads') > 12900000 });
    is(http_get($nginx, '/files/1', bearer($last))->status, 429, '… and nothing more is sent');
    $nginx->stop;
};

subtest 'Tokens of a language model' => sub {
    my @types = ('application/json', 'text/event-stream');
    my %answers = (
        document => [$types[0], '{"usage":{"prompt_tokens":650,"completion_tokens":50}}'],
        message  => [$types[0], '{"usage":{"input_tokens":100,"output_tokens":50}}'],
        stream   => [$types[1], qq(data: {"usage":null}\n\ndata: {"usage":{"prompt_tokens":100,"completion_tokens":200}}\n\ndata: [DONE]\n\n)],
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
    my ($nginx, $name, $key, %options) = @_;
    my $http = Http->connect($nginx);
    my $folder = $options{folder} // 'events';
    $http->send("GET /$folder/$name HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\n\r\n");
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

# A service that has used so many tokens as the query says. It shows what it gets.
my ($model_port, $model) = service(sub {
    my ($head, $connection) = @_;
    my ($uri) = $head =~ m{^\S+ (\S+)};
    my ($units) = $uri =~ /units=(\d+)/;
    my ($status) = $uri =~ /status=(\d+)/ ? $1 : 200;
    my $usage = defined $units ? qq(,"usage":{"total_tokens":$units,"prompt_tokens":$units,"completion_tokens":10}) : '';
    my $field = defined $units ? "X-Cost-Micros: $units\r\n" : '';
    my $claimed = join ' ', $head =~ /^(?:Authorization|Accept-Encoding):/gmi;
    $connection->syswrite("HTTP/1.0 $status Status\r\nContent-Type: application/json\r\n$field\r\n" . qq({"uri":"$uri","fields":"$claimed"$usage}));
});

subtest 'Requests and tokens per minute' => sub {
    my $nginx = start('Requests and tokens per minute', service => $model_port, replace => { '100000r/m' => '10000r/d', '60r/m' => '4r/d' });
    my ($id, $key) = ('both', key('both'));
    my $get = sub { my ($query) = @_; return http_get($nginx, "/v1/chat/completions?$query", bearer($key), 'Accept-Encoding' => 'gzip') };
    my $counts_are = sub { my ($tokens, $requests, $name) = @_; becomes(sub { join ' ', map { count($id, table => $_) } qw(tokens requests) }, "$tokens $requests", $name) };
    my $first = $get->('units=700');
    is($first->status . ' ' . $first->json->{fields}, '200 ', 'a request, whose key and encoding the service does not get');
    is(join(' ', map { $first->header("X-RateLimit-$_") } qw(Limit Remaining Limit-tokens Remaining-tokens)), '4 3 10000 6000', 'the client sees both');
    $counts_are->(700, 1, 'both are counted');
    is($get->('units=5800')->status, 200, 'a large one');
    $counts_are->(6500, 2, '… is counted');
    is($get->('units=3200')->status, 200, 'less than a reservation is left');
    $counts_are->(9700, 3, '… and is used');
    my $refused = $get->('units=1');
    is($refused->status . ' ' . $refused->header('X-RateLimit-Remaining-tokens'), '429 300', 'too few tokens');
    $counts_are->(9700, 3, '… and no request is counted');

    ($id, $key) = ('both-spent', key('both-spent'));
    for my $request (1 .. 4) {
        is($get->('units=10')->status, 200, "request $request of another client");
        $counts_are->(10 * $request, $request, '… is counted');
    }
    $refused = $get->('units=1');
    is($refused->status . ' ' . $refused->json->{code}, '429 rate_limit_exceeded', 'too few requests');
    cmp_ok($refused->header('Retry-After') // 0, '>', 0, '… with Retry-After');
    is(join(' ', map { $refused->header("X-RateLimit-Remaining$_") } '', '-tokens'), '0 9960', '… which both show');
    $counts_are->(40, 4, '… and no token is counted');
    $nginx->stop;

    $nginx = start('Requests and tokens per minute', service => $events_port);
    my $stream = begin($nginx, 'completions', key('both-stream'), folder => 'v1/chat');
    ok(ref $stream, 'an event passes while the response continues');
    is(finish($stream, 'completions'), 'second', '… and the next one');
    $nginx->stop;
};

subtest 'Limits for each model' => sub {
    my $nginx = start('Limits for each model', service => $model_port, replace => { '60r/m' => '3r/d', '10r/m' => '1r/d', '100000r/m' => '20000r/d', '20000r/m' => '20000r/d' });
    my $key = key('models');
    my $get = sub { my ($model, $query) = @_; return http_get($nginx, '/v1/chat/a%20b?' . ($query // 'units=100'), bearer($key), $model ? ('X-Model' => $model) : ()) };
    my $value = substr sha256_hex('1'), 0, 16;
    my $counts = sub { join ' ', (map { count('models', table => "$_:$value") } qw(small_tokens small large_tokens large)), count('models', table => 'all') };
    my $first = $get->('model-s', 'units=300');
    is($first->json->{uri}, '/v1/chat/a%20b?units=300', 'the service gets the URI of the client');
    becomes($counts, '300 1 0 0 300', '… and the small model is charged');
    is($get->('model-l', 'units=500')->status, 200, 'the large one');
    becomes($counts, '300 1 500 1 800', '… is charged');
    is($get->('model-l')->status, 429, '… its requests are spent');
    becomes($counts, '300 1 500 1 800', '… and what is refused costs nothing');
    is($get->('model-s')->status, 200, 'the small model has requests');
    becomes($counts, '400 2 500 1 900', '… which are counted');
    is_deeply([map { $get->($_)->status } 'large', undef], [404, 404], 'an unknown model, and none');
    is($counts->(), '400 2 500 1 900', '… cost nothing');
    is(http_get($nginx, '/v1/chat', 'X-Model' => 'model-s')->status, 401, 'without a key');
    $redis->cmd('HSET', 'tollgate:quota:{models}:all', '86400.count', 997000);
    is($get->('model-s')->status, 429, 'the tokens of all models are spent');
    is($counts->(), '400 2 500 1 997000', '… and nothing is counted');
    $nginx->stop;

    $nginx = start('Limits for each model', service => $model_port, replace => { 'model-s 1;' => 'model-s 1; model-m 2;', '60r/m' => '1r/d' });
    $key = key('more-models');
    is_deeply([map { $get->($_)->status } qw(model-s model-m model-s model-m)], [200, 200, 429, 429], 'models with the same limits share the tables, and no counter');
    $nginx->stop;

    $nginx = start('Limits for each model', service => $model_port, replace => { '$http_x_model' => '$uri', 'model-s' => '~^/v1/models/model-s/' });
    $key = key('paths');
    is_deeply([map { http_get($nginx, "/v1/models/$_/chat?units=1", bearer($key))->status } qw(model-s model-m)], [200, 404], 'a model in the path');
    $nginx->stop;
};

subtest 'Tokens of the model in the body' => sub {
    my $nginx = start('Tokens of the model in the body', service => $model_port, replace => { '100000r/m' => '3000r/d' });
    my $key = key('body');
    my $ask = sub { my ($body, $units) = @_; return http_request($nginx, 'POST', "/v1/chat/completions?units=$units", { bearer($key), 'Content-Type' => 'application/json' }, $body) };
    my $counts = sub { my ($model) = @_; join ' ', count('body', table => 'models:' . substr sha256_hex($model), 0, 16), count('body', table => 'all') };
    my $chat = sub { my ($model, $most) = @_; return qq({"model":"$model","messages":[],"max_tokens":$most}) };
    is($ask->($chat->('a', 2000), 700)->status, 200, 'a model');
    becomes(sub { $counts->('a') }, '710 710', '… is charged what it has used');
    is($ask->($chat->('a', 2600), 1)->status, 429, 'more than is left of its limit is refused');
    is($counts->('a'), '710 710', '… and costs nothing');
    is($ask->($chat->('b', 2600), 30)->status, 200, 'another model has room');
    becomes(sub { $counts->('b') }, '40 750', '… and a counter of its own');
    is($ask->($_, 1)->status, 400, "'$_'") for '{"messages":[]}', '{"model":';
    is($counts->('b'), '40 750', '… costs nothing');
    $nginx->stop;

    $nginx = start('Tokens of the model in the body', service => $model_port, replace => { '$model      /model' => '$model /params/name', '$reserved settle=$used' => 1, '100000r/m' => '2r/d' });
    $key = key('tools');
    my $tool = sub { my ($name) = @_; return qq({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"$name","arguments":{}}}) };
    is_deeply([map { $ask->($tool->($_), 1)->status } qw(search search search fetch)], [200, 200, 429, 200], 'a tool of MCP has its own limit');
    $nginx->stop;
};

subtest 'A budget in money' => sub {
    my $nginx = start('A budget in money', service => $model_port);
    my $key = key('budget');
    my $spent = 0;
    my $costs = sub {
        my ($path, $units, $name, $body) = @_;
        my $response = http_request($nginx, $body ? 'POST' : 'GET', $path, { bearer($key), 'Content-Type' => 'application/json' }, $body);
        is($response->status, 200, $name);
        is($response->header('X-Cost-Micros'), undef, '… without the price') if $path =~ /reports/;
        $spent += $units;
        becomes(sub { month('budget', 'budget') }, $spent, "… has cost $units");
        return $response;
    };
    is($costs->('/v1/images', 40000, 'a fixed price')->header('X-RateLimit-Limit'), 20000000, '20 dollars');
    $costs->('/v1/models', 1000, 'another one');
    $costs->('/v1/chat?units=420', 4600, 'the tokens of a chat');
    $costs->('/v1/chat', 50000, 'a chat without usage');
    $costs->('/v1/chat?units=421', 70, 'the tokens of a cheap model, rounded up', '{"model":"model-s"}');
    $costs->('/v1/reports?units=123456', 123456, 'a price in a field, above what was taken');
    $redis->cmd('HSET', 'tollgate:quota:{budget}:budget', 'month.count', 19970000);
    $spent = 19970000;
    is(http_get($nginx, '/v1/images', bearer($key))->status, 429, 'too little is left');
    $costs->('/v1/transcripts', 6000, '… enough for a cheap request');
    my $own = $tollgate->json(qw(key issue --plan contract --id budget-own --limits 50000000r/month))->{key};
    is(http_get($nginx, '/v1/images', bearer($own))->header('X-RateLimit-Remaining'), 49960000, 'a budget of its own');
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

    my $key_of_exports = key('exports');
    my @exports = map { begin($nginx, "export$_", $key_of_exports, folder => 'exports') } 1 .. 5;
    is(scalar(grep { ref } @exports), 5, 'five exports at the same time');
    is(begin($nginx, 'export6', $key_of_exports, folder => 'exports'), 429, 'a sixth is refused');
    ok(ref(my $request = begin($nginx, 'beside', $key_of_exports)), 'another request is not');
    is(count('exports', table => 'at_once'), 1, 'exports are not counted in the other table');
    finish($exports[$_ - 1], "export$_") for 1 .. 5;
    finish($request, 'beside');
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
