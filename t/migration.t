# Tests what module/MIGRATION.md says about Tollgate: its configurations, and the right column of its tables.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Cwd qw(getcwd);
use Gateway qw(wait_for_room);
use Http qw(http_get);
use IO::Socket::INET;
use Markdown;
use Nginx;
use RedisServer;
use Test::More;
use Wait qw(becomes);

my ($page) = grep { $_->path eq 'module/MIGRATION.md' } Markdown->pages(getcwd);
my %blocks = map { $_->{heading} => $_->{text} } $page->blocks('nginx');
my $text = do { open my $file, '<', $page->path or die $!; local $/; <$file> };
my %tried;

my $redis = RedisServer->start;
wait_for_room($redis, 86400, 120);
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
sub key { my ($id, @options) = @_; return $tollgate->json(qw(key issue --id), $id, @options)->{key} }
sub count { my ($id, $table) = @_; return $redis->cmd('HGET', "t:quota:{$id}:" . ($table // 'api'), '86400.count') // 0 }

# Returns the configuration below this heading.
sub snippet {
    my ($heading) = @_;
    ++$tried{$heading};
    return ($blocks{$heading} // die "no configuration below \"$heading\"\n")
        =~ s/\blisten\s+80\b/listen 127.0.0.1:%PORT%/r =~ s{http://127\.0\.0\.1:8090}{http://unix:%DIR%/service.sock}gr
        =~ s{/var/lib/nginx/sockets}{%DIR%}gr =~ s/\btollgate_plans\s+\w+\K/ lease=off/gr;    # each unit is in Redis at once
}

# Checks that a table of the page contains this text.
sub says { my ($cell) = @_; ok(index($text, $cell) >= 0, "it says: $cell") }

my $service = 'server { listen unix:%DIR%/service.sock; location / {
    return 200 "id=$http_x_consumer_id name=$http_x_consumer_username authorization=$http_authorization apikey=$http_apikey\n"; }
    location = /v1/chat/completions {
        default_type application/json;
        return 200 \'{"authorization":"$http_authorization","usage":{"prompt_tokens":300,"completion_tokens":500,"total_tokens":800}}\';
    }
    location = /v1/messages {
        default_type application/json;
        return 200 \'{"usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":7,"output_tokens":3}}\';
    } }';
my $plans = 'plan free 1000r/d; plan tiny 3r/d; plan burst 20r/s 60r/m; plan sliding 3r/d window=sliding; plan enterprise custom;
    plan partner unlimited; plan month 10000r/month;';

sub start {
    my ($conf, %options) = @_;
    # A busy machine must not look like a fault of Redis.
    my $redis_options = delete $options{redis} // 'timeout 2s;';
    my $tables = delete $options{tables} // "tollgate_plans api redis=main { $plans }";
    return Nginx->start(conf => "tollgate_redis main { server @{[$redis->address]}; prefix t:; $redis_options } $tables\n$conf\n$service", %options);
}

sub get { my ($nginx, $path, $key, %more) = @_; return http_get($nginx, $path, (defined $key ? (Authorization => "Bearer $key") : ()), %more) }

my $everything = 'server { listen 127.0.0.1:%PORT%;
    location / { tollgate api; proxy_pass http://unix:%DIR%/service.sock; }
    location /again/ { tollgate api; proxy_pass http://unix:%DIR%/service.sock; }
    location /search/ { tollgate api search; proxy_pass http://unix:%DIR%/service.sock; }
    location /dry/ { tollgate api; tollgate_dry_run on; add_header Verdict $tollgate_verdict always; proxy_pass http://unix:%DIR%/service.sock; }
    location /cost/ { tollgate api; tollgate_cost 2; proxy_pass http://unix:%DIR%/service.sock; }
    location /off/ { tollgate api; tollgate_headers off; proxy_pass http://unix:%DIR%/service.sock; }
    location /ietf/ { tollgate api; tollgate_headers ietf; proxy_pass http://unix:%DIR%/service.sock; }
    location /forward/ { tollgate api; tollgate_forward_authorization on; proxy_pass http://unix:%DIR%/service.sock; }
}';
my $nginx = start($everything, tables => "tollgate_plans api { $plans } tollgate_plans search { plan tiny 1r/d; default other; plan other unlimited; }");

subtest 'limit_req: refused requests cost no quota' => sub {
    my $limited = start(snippet('limit_req'));
    my $key = key('limit_req', qw(--plan free));
    my $connection = Http->connect($limited);
    my $requests = 180;
    $connection->send("GET /v1/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\n\r\n" x $requests);
    my %seen;
    $seen{ $connection->response->status }++ for 1 .. $requests;
    cmp_ok($seen{429} // 0, '>', 0, "limit_req refuses some of $requests requests at once");
    is($seen{200} + $seen{429}, $requests, '… and all others are granted');
    cmp_ok($seen{200}, '>', 100, '… which are more than its burst');
    becomes(sub { count('limit_req') }, $seen{200}, 'only the granted ones are counted');
    $limited->stop;
};

subtest 'ingress-nginx' => sub {
    says('and `tollgate_bypass $internal`');
    my $networks = sub { snippet('ingress-nginx') =~ s{set_real_ip_from\s+\K10\.0\.0\.0/8}{127.0.0.1}r };
    my $ingress = start($networks->(), tables => 'tollgate_plans api redis=main { plan free 1000r/d in_flight=10; plan burst 1r/m burst=26; anonymous 2r/d; }');
    my $key = key('ingress', qw(--plan free));
    my $from = sub { my ($address, $token) = @_; return get($ingress, '/v1/', $token, 'X-Forwarded-For' => $address)->status };
    is($from->('192.0.2.1', $key), 200, 'a key');
    is($from->('10.1.2.3'), 200, 'an address of limit-whitelist needs none');
    is_deeply([map { $from->('192.0.2.1') } 1 .. 3], [401, 401, 429], 'others have an `anonymous` budget');
    is($from->('192.0.2.2'), 401, '… each of its own');
    says('`plan free 5r/s burst=26;`');
    $key = key('ingress-burst', qw(--plan burst));
    is(scalar(grep { $from->('192.0.2.1', $key) == 200 } 1 .. 30), 26, 'a burst of 25 and the request that begins it');
    $ingress->stop;
};

subtest 'limit_req: a bucket has one token more than `burst`' => sub {
    says('`limit_req … burst=20 nodelay` | `plan free 10r/s burst=21;`');
    # Rates per minute: no token comes back within the test.
    my $both = start('limit_req_zone $server_port zone=old:1m rate=1r/m; limit_req_zone $server_port zone=none:1m rate=1r/m;
        server {
            listen 127.0.0.1:%PORT%;
            location /old/  { limit_req zone=old burst=20 nodelay; proxy_pass http://unix:%DIR%/service.sock; }
            location /none/ { limit_req zone=none nodelay; proxy_pass http://unix:%DIR%/service.sock; }
            location /      { tollgate api; proxy_pass http://unix:%DIR%/service.sock; }
        }', tables => 'tollgate_plans api redis=main { plan burst 1r/m burst=21; plan one 1r/m burst=1; plan fill 20r/m burst=20; }');
    my $granted = sub {
        my ($path, $key) = @_;
        my $connection = Http->connect($both);
        $connection->send("GET $path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\n\r\n" x 30);
        return scalar grep { $connection->response->status == 200 } 1 .. 30;
    };
    my $key = key('burst', qw(--plan burst));
    is($granted->('/old/', $key), 21, 'limit_req grants 21 of 30');
    is($granted->('/', $key), 21, '… and a bucket of 21 as well');
    $key = key('one', qw(--plan one));
    is($granted->('/none/', $key), 1, 'without burst, limit_req grants one');
    is($granted->('/', $key), 1, '… and a bucket of 1 as well');
    my $fill = key('fill', qw(--plan fill));
    get($both, '/', $fill) for 1 .. 20;
    my $wait = get($both, '/', $fill)->header('Retry-After');
    ok($wait >= 1 && $wait <= 3, "Envoy: a bucket of 20r/m gets a token within three seconds, not all after a minute: $wait s");
    $both->stop;
};

subtest 'Token buckets as Stripe describes them' => sub {
    my $stripe = start(snippet('Token buckets as Stripe describes them') =~ s{100r/s burst=500}{100r/d burst=3}r);
    my $key = key('stripe', qw(--plan free));
    is_deeply([map { get($stripe, '/v1/', $key)->status } 1 .. 4], [200, 200, 200, 429], 'a bucket');
    $stripe->stop;
};

subtest 'a dry run beside an existing gateway' => sub {
    my $key = key('dry', qw(--plan tiny));
    my @responses = map { get($nginx, '/dry/', $key) } 1 .. 5;
    is_deeply([map { $_->status } @responses], [(200) x 5], 'refuses nothing');
    is_deeply([map { $_->header('Verdict') } @responses], [('granted') x 3, ('limited') x 2], '… and shows the verdict');
    is(get($nginx, '/dry/')->status, 200, '… not even a request without a key');
};

subtest 'keys' => sub {
    my $longest = ('a1-._~+/' x 64) =~ s/..$/==/r;
    is(length $longest, 512, 'a key of 512 bytes');
    is($tollgate->run({ stdin => "$longest\n" }, qw(key import --plan free --id longest))->{status}, 0, 'is imported');
    is(get($nginx, '/', $longest)->status, 200, '… and works');
    isnt($tollgate->run({ stdin => "$longest=\n" }, qw(key import --plan free --id longer))->{status}, 0, 'a longer one is not imported');
    my $key = key('elsewhere', qw(--plan free));
    is(get($nginx, '/', undef, apikey => $key)->status, 401, 'a key in another field needs tollgate_key_from');
    is(get($nginx, "/?apikey=$key")->status, 401, '… nor in the query');
};

subtest 'a dry run with keys in another field' => sub {
    my $text = snippet('Keys in another field');
    my $key = key('move', qw(--plan tiny));
    $text =~ s{\bmove\.log}{%DIR%/move.log};
    my $dry = start($text);
    my @headers = (apikey => $key);
    is_deeply([map { get($dry, '/v1/', undef, @headers)->status } 1 .. 4], [(200) x 4], 'the old field works, and nothing is refused');
    like(get($dry, '/v1/', undef, @headers)->body, qr/ apikey=\Q$key\E$/, '… the existing gateway gets the key');
    is(get($dry, '/v1/', $key)->status, 200, 'so does the new one');
    is(get($dry, '/v1/')->status, 200, 'and no key');
    is(count('move'), 3, 'the quota is counted');
    my $log = sub { open my $file, '<', $dry->dir . '/move.log' or die $!; local $/; <$file> };
    becomes($log, join('', map { "GET /v1/ HTTP/1.1 200 $_\n" } ('granted move header:apikey') x 3, ('limited move header:apikey') x 2,
        'limited move bearer', 'unauthenticated - -'), 'the log has the verdicts, and which field had the key');
    $dry->stop;

    my $enforced = start($text =~ s/tollgate_(?:dry_run|forward_authorization) +on;//gr);
    my $other = key('moved', qw(--plan tiny));
    is_deeply([map { get($enforced, '/v1/', undef, apikey => $other)->status } 1 .. 4], [200, 200, 200, 429], 'without the last two directives, the limit applies');
    is(get($enforced, '/v1/')->status, 401, '… and a key is required');
    is(get($enforced, '/v1/', undef, apikey => key('third', qw(--plan tiny)))->body, "id= name= authorization= apikey=\n", '… which the service does not get');
    $enforced->stop;
};

subtest 'Kong' => sub {
    my $kong = start('server { listen 127.0.0.1:%PORT%; ' . snippet('Kong') . ' }');
    my $key = key('acme', qw(--plan free --name), 'Acme Ltd');
    is(get($kong, '/v1/', $key, 'X-Consumer-ID' => 'admin')->body, "id=acme name=Acme Ltd authorization= apikey=\n", 'the service gets the consumer but not the key');
    is(get($kong, '/v1/', undef, apikey => $key)->body, "id=acme name=Acme Ltd authorization= apikey=\n", '… also with a key in the old field');
    is(get($nginx, '/forward/', $key)->body, "id= name= authorization=Bearer $key apikey=\n", 'tollgate_forward_authorization on passes the key');
    $kong->stop;
    my $custom = key('custom', qw(--plan enterprise --limits 5000r/m));
    is(get($nginx, '/', $custom)->header('X-RateLimit-Limit'), 5000, 'limits of one consumer');
    says('`10000r/month`');
    is(get($nginx, '/', key('month', qw(--plan month)))->header('X-RateLimit-Limit'), 10000, 'a period of 30 days');
    my $shared = key('shared', qw(--plan tiny));
    my $next = $tollgate->json(qw(key rotate shared --overlap 1h))->{key};
    is_deeply([map { get($nginx, '/', $_)->status } $shared, $next, $shared, $next], [200, 200, 200, 429], 'the keys of an id share its quota');
    is_deeply([grep { $_->[0] =~ /RateLimit/i } get($nginx, '/off/', $key)->headers], [], 'tollgate_headers off');
    my $two = key('two', qw(--plan burst));
    my $ietf = get($nginx, '/ietf/', $two);
    is(scalar(() = $ietf->header('RateLimit') =~ /r=\d+/g), 2, 'ietf shows all windows');
    my @x = get($nginx, '/', $two)->headers('X-RateLimit-Limit');
    is_deeply(\@x, [20], 'X-RateLimit-* show one');
    cmp_ok(get($nginx, '/', $two)->header('X-RateLimit-Reset'), '>', 1_700_000_000, '… whose reset is a Unix time');
    is_deeply([grep { !/^[0-9a-f]{64}$/ } map { s/^t:key://r } @{ $redis->cmd('KEYS', 't:key:*') }], [], 'keys are stored by their SHA-256');
};

subtest 'a route with a plan table of its own' => sub {
    my $key = key('route', qw(--plan tiny));
    is_deeply([map { get($nginx, $_, $key)->status } qw(/search/ /search/ / / /)], [200, 429, 200, 200, 429], 'both tables must grant a request');
    is(count('route'), 3, '… a refused request is counted in none: not in the first');
    is(count('route', 'search'), 1, '… and not in the second');
};

subtest 'groups and values' => sub {
    my $service_of = sub { my ($table) = @_; return "tollgate $table; proxy_pass http://unix:%DIR%/service.sock;" };
    my $grouped = start("server { listen 127.0.0.1:%PORT%; location / { @{[$service_of->('consumers')]} } location /users/ { @{[$service_of->('users')]} } }",
        tables => 'tollgate_plans consumers by=group { plan team 3r/d; } tollgate_plans users by=$http_x_user { plan free 1r/d; }');
    is($tollgate->run(qw(group set acme --plan team))->{status}, 0, 'a consumer');
    my @keys = map { key("credential$_", qw(--plan free --group acme)) } 1 .. 2;
    says('`tollgate_plans consumers by=group { … }`');
    is_deeply([map { get($grouped, '/', $_)->status } @keys, @keys], [200, 200, 200, 429], '… its credentials share a quota');
    says('such as `by=$http_x_user`, for each id');
    is_deeply([map { get($grouped, '/users/', $keys[ $_->[0] ], 'X-User' => $_->[1])->status } [0, 'a'], [0, 'a'], [0, 'b'], [1, 'a']], [200, 429, 200, 200],
        '… each value of an id has a counter');
    $grouped->stop;
};

subtest 'APISIX' => sub {
    my $key = key('group', qw(--plan tiny));
    is_deeply([map { get($nginx, $_, $key)->status } qw(/ /again/ / /again/)], [200, 200, 200, 429], 'a plan table in several locations has one count');
    my $sliding = key('sliding', qw(--plan sliding));
    is_deeply([map { get($nginx, '/', $sliding)->status } 1 .. 4], [200, 200, 200, 429], 'window=sliding at the end of a plan');
    is(get($nginx, '/')->status, 401, 'a location requires a key');
};

subtest 'Envoy' => sub {
    my $partner = get($nginx, '/', key('partner', qw(--plan partner)));
    is($partner->status, 200, 'unlimited');
    is($partner->header('X-RateLimit-Limit'), undef, '… has no quota to show');
    my $key = key('cost', qw(--plan tiny));
    is_deeply([map { get($nginx, '/cost/', $key)->status } 1 .. 2], [200, 429], 'tollgate_cost 2 of a quota of 3');
    is(count('cost'), 2, '… and a refused request is not counted');
    my ($exit, $output) = Nginx->test_config(conf => 'tollgate_redis slow { server 127.0.0.1:1; } tollgate_redis fast { server 127.0.0.1:2; }
        tollgate_plans api redis=slow { plan free 1r/d; } tollgate_plans burst redis=fast { plan free 1r/s; }
        server { listen unix:%DIR%/a.sock; location /a/ { tollgate api; } location /b/ { tollgate burst; } }');
    is($exit, 0, 'a plan table with a Redis of its own') or diag($output);
    ($exit, $output) = Nginx->test_config(conf => 'tollgate_redis slow { server 127.0.0.1:1; } tollgate_redis fast { server 127.0.0.1:2; }
        tollgate_plans api redis=slow { plan free 1r/d; } tollgate_plans burst redis=fast { plan free 1r/s; }
        server { listen unix:%DIR%/a.sock; location /a/ { tollgate api burst; } }');
    isnt($exit, 0, '… but one location has one Redis');
};

subtest 'Redis unreachable' => sub {
    my $open = 'server { listen 127.0.0.1:%PORT%; location / { tollgate api; proxy_pass http://unix:%DIR%/service.sock; } }';
    my %answers = (local => [200, 200, 429], allow => [200, 200, 200], deny => [503, 503, 503]);
    for my $mode (sort keys %answers) {
        # The key is issued first: a node that receives a change asks Redis once more.
        my $key = key("failure-$mode", qw(--plan tiny));
        my $node = start($open, redis => "on_failure $mode;");
        is(get($node, '/', $key)->status, 200, "on_failure $mode: the first of three units, while Redis answers");
        $redis->sigstop;
        my @statuses = map { get($node, '/', $key)->status } 1 .. 3;
        $redis->sigcont;
        is_deeply(\@statuses, $answers{$mode}, '… and three more requests without Redis');
        $node->stop;
    }
};

# The units of a window of this length that an id has in a table.
sub units { my ($id, $table, $period) = @_; return $redis->cmd('HGET', "t:quota:{$id}:$table", "$period.count") // 0 }

# A service that the test answers itself.
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16, Timeout => 30) or die "listen: $!\n";

# Accepts a request of nginx, and returns the connection when its head is there.
sub accept_request {
    my $connection = $listener->accept or die "no request: $!\n";
    $connection->timeout(30);
    my $head = '';
    $connection->sysread($head, 4096, length $head) or die "no head\n" until $head =~ /\r\n\r\n/;
    return $connection;
}

# Answers a request that has used so many tokens.
sub answer {
    my ($connection, $tokens) = @_;
    $connection->syswrite("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" . qq({"usage":{"total_tokens":$tokens}}));
    $connection->close;
}

# Sends a request and returns the connection.
sub begin {
    my ($at, $path, $key) = @_;
    my $http = Http->connect($at);
    $http->send("GET $path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\nConnection: close\r\n\r\n");
    return $http;
}

subtest 'limit-conn' => sub {
    my $limited = start(snippet('limit-conn') =~ s{http://unix:%DIR%/service\.sock}{'http://127.0.0.1:' . $listener->sockport}er);
    my $key = key('exports', qw(--plan free));
    my (@clients, @requests);
    for (1 .. 5) {
        push @clients, begin($limited, '/exports/a', $key);
        push @requests, accept_request();
    }
    my $refused = get($limited, '/exports/a', $key);
    is($refused->status . ' ' . $refused->json->{code}, '429 too_many_in_flight', 'a sixth export at the same time is refused');
    is($refused->header('Retry-After'), 1, '… with Retry-After: 1');
    answer($_, 1) for @requests;
    is_deeply([map { $_->response->status } @clients], [(200) x 5], 'five are served');
    $limited->stop;
};

subtest 'Kong: AI Rate Limiting Advanced' => sub {
    my $text = snippet('Kong: AI Rate Limiting Advanced') =~ s{1000000r/h}{5000r/d}r =~ s{100000r/m}{5000r/h}r;
    my $kong = start($text);
    my $key = key('kong-tokens', qw(--plan free));
    my $first = get($kong, '/v1/chat/completions', $key);
    is($first->json->{authorization}, 'Bearer KEY-OF-THE-PROVIDER', 'the service gets the key of the provider');
    is($first->header('X-RateLimit-Remaining'), 1000, 'a request takes 4000 units');
    becomes(sub { join ' ', map { units('kong-tokens', 'tokens', $_) } 3600, 86400 }, '800 800', '… and has cost the tokens, in both windows');
    $kong->stop;

    # Requests at the same time, which use 4000 each, of a limit of 5000.
    my $slow = $text =~ s{http://unix:%DIR%/service\.sock}{'http://127.0.0.1:' . $listener->sockport}er;
    $kong = start($slow);
    $key = key('reserved', qw(--plan free));
    my $client = begin($kong, '/v1/chat/completions', $key);
    my $running = accept_request();
    is(get($kong, '/v1/chat/completions', $key)->status, 429, 'a second request at the same time is refused');
    answer($running, 4000);
    is($client->response->status, 200, 'the first is served');
    becomes(sub { units('reserved', 'tokens', 3600) }, 4000, '… and the limit is not exceeded');
    $kong->stop;

    says('`tollgate_cost 1 settle=…`');
    $kong = start($slow =~ s/tollgate_cost\s+4000/tollgate_cost 1/r);
    $key = key('afterwards', qw(--plan free));
    my @clients = map { begin($kong, '/v1/chat/completions', $key) } 1 .. 2;
    answer($_, 4000) for map { accept_request() } 1 .. 2;
    is_deeply([map { $_->response->status } @clients], [200, 200], 'charged afterwards, both are served');
    becomes(sub { units('afterwards', 'tokens', 3600) }, 8000, '… and exceed the limit');
    is(get($kong, '/v1/chat/completions', $key)->status, 429, '… which the next one sees');
    $kong->stop;
};

subtest 'APISIX: ai-rate-limiting' => sub {
    my $apisix = start(snippet('APISIX: ai-rate-limiting') =~ s{30000r/30s}{30000r/d}r);
    my $key = key('apisix-tokens', qw(--plan free));
    is(get($apisix, '/v1/messages', $key)->header('X-RateLimit-Remaining'), 26000, 'a request takes 4000 units');
    becomes(sub { count('apisix-tokens', 'tokens') }, 123, '… and has cost the sum of three numbers');
    $apisix->stop;
    my ($exit, $output) = Nginx->test_config(conf => 'tollgate_redis main { server 127.0.0.1:1; } tollgate_plans tokens { plan free 30000r/30s; }
        server { listen unix:%DIR%/a.sock; location / { tollgate tokens; } }');
    is($exit, 0, 'a window of 30 seconds') or diag($output);
};

subtest 'Envoy AI Gateway' => sub {
    my $envoy = start(snippet('Envoy AI Gateway') =~ s{\b10000r/h}{3500r/d}r =~ s{100000r/h}{4600r/d}r);
    my $key = key('envoy-tokens', qw(--plan free));
    my $counts = sub { join ' ', map { count('envoy-tokens', $_) } qw(input output) };
    is(get($envoy, '/v1/chat/completions', $key)->status, 200, 'a request');
    becomes($counts, '300 500', 'input and output are counted separately');
    is(get($envoy, '/v1/chat/completions', $key)->status, 200, 'another one');
    becomes($counts, '600 1000', '… and counted');
    is(get($envoy, '/v1/chat/completions', $key)->status, 429, 'the output is spent: the second server refuses');
    becomes($counts, '600 1000', '… and no input is counted');
    $envoy->stop;
};

is_deeply([sort keys %tried], [sort keys %blocks], 'each configuration is tried');
$nginx->stop;
done_testing;
