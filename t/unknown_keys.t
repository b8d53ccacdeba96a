# Look-ups of unknown keys: an address that has spent its `anonymous` budget causes few of them, or that has sent many
# unknown keys to a table without one; look-ups of one key share a call, at most 64 calls are under way, and none of this delays a valid key.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Compress::Raw::Zlib qw(crc32);
use Digest::SHA qw(sha256_hex);
use FakeRedis qw(name_of pause);
use Gateway;
use Http;
use Load;
use RedisServer;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my @base62 = (0 .. 9, 'A' .. 'Z', 'a' .. 'z');

# A key in the format of issued ones, with a valid checksum.
sub made_up_key {
    my $key = 'tg_' . join '', map { $base62[rand @base62] } 1 .. 32;
    my ($rest, $checksum) = (crc32($key), '');
    for (1 .. 6) {
        $checksum = $base62[$rest % 62] . $checksum;
        $rest = int($rest / 62);
    }
    return $key . $checksum;
}

# A gateway that reaches Redis through a FakeRedis, which counts look-ups and injects faults.
sub gateway_with_fake {
    my ($faults, %options) = @_;
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(redis => $redis->address, faults => $faults);
    my $gateway = Gateway->start(
        redis_server   => $redis,
        server_address => $fake->address,
        plans          => 'plan free 1000r/d;',
        server         => 'location = /status { tollgate_status; }',
        %options,
    );
    $gateway->subscribed(1);
    $gateway->get('/', 'first');    # loads the script into Redis
    return ($gateway, $fake);
}

# The number of look-ups that the FakeRedis got since the last call.
sub look_ups { my ($fake) = @_; return scalar grep { $_ eq 'lookup' } map { @$_ } @{ $fake->reads } }

# Sends requests with these keys, each on a connection of its own, and returns the connections.
sub send_all {
    my ($gateway, @tokens) = @_;
    my @clients = map { Http->connect($gateway, timeout => 20) } @tokens;
    $clients[$_]->send(Http::format_request('GET', '/', { Authorization => "Bearer $tokens[$_]" })) for 0 .. $#tokens;
    return @clients;
}

# Waits until the worker has read all requests.
sub all_wait {
    my ($gateway, $count) = @_;
    wait_until('all to wait', sub { Http::http_get($gateway, '/stub')->body =~ /Writing: (\d+)/ && $1 - 1 == $count });
}

sub statuses { my %count; $count{ $_->response->status }++ for @_; return \%count }

sub redis_status { my ($gateway) = @_; return $gateway->get('/status')->json->{redis}[0] }

subtest 'an address that has spent its budget' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/d; anonymous 5r/d;', workers => 2);
    $gateway->subscribed(2);
    $gateway->import_key("known$_", id => "k$_", plan => 'free') for 1 .. 20;
    for my $token (map { "known$_" } 1 .. 20) {
        is($gateway->get('/', $token)->status, 200, "$token is good");
    }
    my $keys = 5000;
    my ($result, $took);
    my $calls = $gateway->calls(sub {
        my $start = time;
        $result = Load->run(servers => [$gateway->address], connections => 8, requests => $keys, token => \&made_up_key);
        $took = time - $start;
    });
    is_deeply($result->{status}, { 401 => 5, 429 => $keys - 5 }, 'it gets 401 for each unit of the budget, then 429');
    # The budget, the requests under way when it was spent, and 10 per second of the flood.
    my $allowed = 5 + 8 + 10 * (int($took) + 2);
    cmp_ok($calls, '<=', $allowed, sprintf '%d keys cause %d calls of at most %d in %.1f s', $keys, $calls, $allowed, $took);

    my $refused;
    wait_until('a refusal without a look-up', sub {
        $refused = $gateway->get('/', made_up_key());
        return $refused->status == 429 && $refused->header('Retry-After') == 1;
    });
    is($refused->json->{code}, 'rate_limit_exceeded', 'over the limit: the code');
    is($refused->header('X-RateLimit-Limit'), 5, '... the budget of the address');
    is($refused->header('X-RateLimit-Remaining'), 0, '... which is spent');
    is($refused->header('X-RateLimit-Reset'), 86400 * (1 + int(time / 86400)), '... and when it resets');

    my $flood = sub { $gateway->get('/', made_up_key()) for 1 .. 30 };
    $flood->();
    is(join(' ', map { $gateway->get('/', "known$_")->status } 1 .. 20), join(' ', (200) x 20), 'known keys pass');
    for my $n (1 .. 5) {
        $gateway->import_key("new$n", id => "n$n", plan => 'free');
        $gateway->redis->cmd('PUBLISH', 't:events', sha256_hex("new$n"));
    }
    # The worker that serves the request may receive the event later than another one. Each writes it to the zone.
    $flood->();
    is(join(' ', map { $gateway->get('/', "new$_")->status } 1 .. 5), '200 200 200 200 200', 'a key that `events` announced passes');
    is($gateway->get('/', 'later')->status, 429, 'a key that does not exist yet');
    $gateway->import_key('later', id => 'l1', plan => 'free');
    $gateway->redis->cmd('PUBLISH', 't:events', sha256_hex('later'));
    $flood->();
    wait_until('the key that is issued', sub { $gateway->get('/', 'later')->status == 200 }, 1);
    pass('... passes when it is issued');
    is($gateway->get('/')->status, 429, 'no key at all is 429');
    cmp_ok($gateway->get('/')->header('Retry-After'), '>', 0, '... with Retry-After');
    $gateway->nginx->stop;
};

subtest 'addresses and tables do not share the limit' => sub {
    my $gateway = Gateway->start(
        plans  => 'plan free 1000r/d; anonymous 1r/d;',
        http   => 'set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; tollgate_plans open { plan free 1000r/d; }',
        server => 'location /open { tollgate open; proxy_pass http://unix:%DIR%/upstream.sock; }
                   location /dry { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }',
    );
    $gateway->import_key('valid', id => 'v', plan => 'free');
    my $from = sub { my ($n, $token, $path) = @_; $gateway->get($path // '/', $token, 'X-Forwarded-For' => "192.0.2.$n") };
    my $is_limited = sub { my $r = $_[0]; $r->status == 429 && $r->header('Retry-After') == 1 };
    wait_until('the limit', sub { $is_limited->($from->(1, made_up_key())) });
    is($from->(2, 'valid')->status, 200, 'another address has a limit of its own');
    is($from->(3, made_up_key())->status, 401, '... and a budget');
    is($from->(1, made_up_key(), '/open')->status, 401, 'a table without a budget has a limit of its own');
    wait_until('the limit', sub { $is_limited->($from->(1, made_up_key())) });
    is($from->(1, made_up_key(), '/dry')->status, 200, 'a dry run refuses nothing');
    $gateway->nginx->stop;
};

subtest 'a table without a budget' => sub {
    my $gateway = Gateway->start(
        plans   => 'plan free 1000r/d;',
        http    => 'set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;',
        workers => 2,
    );
    $gateway->subscribed(2);
    $gateway->import_key("many$_", id => "m$_", plan => 'free') for 1 .. 40;
    my $from = sub { my ($n, $token) = @_; return $gateway->get('/', $token, 'X-Forwarded-For' => "192.0.2.$n") };
    is(scalar(grep { $from->(1, "many$_")->status == 200 } 1 .. 30), 30, 'valid keys are looked up, however many there are');
    my ($keys, $took) = (5000);
    my $flood;
    my $calls = $gateway->calls(sub {
        my $start = time;
        $flood = Load->run(servers => [$gateway->address], connections => 8, requests => $keys, token => \&made_up_key);
        $took = time - $start;
    });
    # Ten a second, and those under way when the flood was noticed.
    my $allowed = 8 + 10 * (int($took) + 2);
    cmp_ok($calls, '<=', $allowed, sprintf '%d unknown keys cause %d calls of at most %d in %.1f s', $keys, $calls, $allowed, $took);
    is_deeply([sort keys %{ $flood->{status} }], [401, 429], 'the others get 429');
    is($flood->{status}{401}, $calls, '… without a look-up: each 401 is one');
    my $refused;
    wait_until('a refusal', sub { $refused = $gateway->get('/', made_up_key()); return $refused->status == 429 });
    is($refused->json->{code} . ' ' . $refused->header('Retry-After'), 'rate_limit_exceeded 1', '… with Retry-After');
    is($gateway->get('/', 'many1')->status, 200, 'a key that the node knows passes');
    is(scalar(grep { $from->(2, "many$_")->status == 200 } 31 .. 40), 10, '… and keys that it does not know, from another address');
    is($gateway->get('/')->status, 401, 'a request without a key is no look-up');
    $gateway->nginx->stop;
};

subtest 'look-ups of one key share a call' => sub {
    my ($gateway, $fake) = gateway_with_fake({}, redis => 'timeout 5s;', server => 'location = /stub { stub_status; }');
    $gateway->import_key('valid', id => 'v', plan => 'free');
    for my $case (['nobody', 401], ['valid', 200]) {
        my ($token, $status) = @$case;
        look_ups($fake);
        $gateway->redis->sigstop;
        my @clients = send_all($gateway, ($token) x 100);
        all_wait($gateway, 100);
        $_->close for splice @clients, 0, 30;    # the first of them too
        all_wait($gateway, 70);
        $gateway->redis->sigcont;
        is_deeply(statuses(@clients), { $status => 70 }, "$token: each request that stayed is answered");
        is(look_ups($fake), 1, '... by one look-up');
    }
    $gateway->nginx->stop;
};

subtest 'at most 64 look-ups are under way' => sub {
    my ($gateway, $fake) = gateway_with_fake({}, redis => 'timeout 5s;', plans => 'plan free 1000r/d; anonymous 1000r/d;',
        server => 'location = /stub { stub_status; }');
    $gateway->import_key('valid', id => 'v', plan => 'free');
    $gateway->import_key("good$_", id => "g$_", plan => 'free') for 1 .. 100;
    look_ups($fake);
    $gateway->redis->sigstop;
    my @clients = send_all($gateway, map { ("good$_", "bad$_") } 1 .. 100);
    all_wait($gateway, 200);
    my $sent = 0;
    wait_until('look-ups', sub { ($sent += look_ups($fake)) >= 64 });
    is($sent, 64, '64 are sent');
    $gateway->redis->sigcont;
    is_deeply(statuses(@clients), { 200 => 100, 401 => 100 }, 'all are answered');
    is(look_ups($fake), 136, 'the others follow');

    $gateway->redis->sigstop;
    @clients = send_all($gateway, map { "left$_" } 1 .. 200);
    all_wait($gateway, 200);
    $_->close for @clients[100 .. 199];
    all_wait($gateway, 100);
    $gateway->redis->sigcont;
    is_deeply(statuses(@clients[0 .. 99]), { 401 => 100 }, 'requests that stay are answered');
    is($gateway->get('/', 'valid')->status, 200, '... and other requests are answered');
    is(look_ups($fake), 101, 'look-ups without waiting requests are not sent');
    $gateway->nginx->stop;
};

subtest 'a look-up that was not sent in time is not a failure of Redis' => sub {
    my $slow = sub { name_of($_[1]) eq 'lookup' ? (pause(0.02), $_[0]) : $_[0] };
    my ($gateway, $fake) = gateway_with_fake(
        { slow => { reply => $slow } },
        redis  => 'timeout 2s; key_cache 60s;',
        plans  => 'plan free 1000r/d; anonymous 1000r/d;',
        server => 'location = /stub { stub_status; } location = /status { tollgate_status; }',
    );
    $gateway->import_key('valid', id => 'v', plan => 'free');
    is($gateway->get('/', 'valid')->status, 200, 'a valid key');
    $fake->fault('slow');
    my $before = redis_status($gateway);
    my @clients = send_all($gateway, map { "slow$_" } 1 .. 400);
    my $start = time;
    is($gateway->get('/', 'valid')->status, 200, 'a valid key passes meanwhile');
    # 400 replies take at least 8 s, those to the 64 look-ups under way 1.3 s.
    cmp_ok(time - $start, '<', 6, '... before the look-ups that wait');
    my @answers = map { $_->response } @clients;
    my @late = grep { $_->status == 503 } @answers;
    is(scalar(grep { $_->status == 401 } @answers) + @late, 400, 'all are answered');
    cmp_ok(scalar @late, '>', 0, 'some with 503');
    is(scalar(grep { ($_->header('Retry-After') // '') eq '1' } @late), @late, '... with Retry-After');
    my $status = redis_status($gateway);
    is($status->{breaker_opened}, $before->{breaker_opened}, 'the breaker has not opened');
    is($status->{errors}, $before->{errors}, 'no error is counted');
    $gateway->nginx->stop;
};

subtest 'a key that is issued while it is looked up' => sub {
    my $late = sub { name_of($_[1]) eq 'lookup' ? (pause(0.3), $_[0]) : $_[0] };
    my ($gateway, $fake) = gateway_with_fake({ late => { reply => $late } });
    for my $case (['issued', 200, 2], ['other', 401, 1]) {
        my ($token, $status, $expected) = @$case;
        look_ups($fake);
        $fake->fault('late');
        my ($client) = send_all($gateway, $token);
        my $sent = 0;
        wait_until('the look-up', sub { $sent += look_ups($fake) });
        wait_until('Redis to have answered', sub { $gateway->redis->cmd('INFO', 'commandstats') =~ /cmdstat_hmget/ });
        $gateway->import_key('issued', id => 'i', plan => 'free');
        $gateway->redis->cmd('PUBLISH', 't:events', sha256_hex('issued'));
        is($client->response->status, $status, "$token: the answer");
        is($sent + look_ups($fake), $expected, '... after so many look-ups');
    }
    $gateway->nginx->stop;
};

done_testing;
