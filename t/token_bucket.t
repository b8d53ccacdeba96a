# `Nr/s burst=B`: a bucket of B tokens that gets N in each period, as an independent model of GCRA says.

use strict;
use warnings;
use lib 't/lib';
use Command;
use File::Temp ();
use Gateway qw(wait_for_room);
use JSON::PP ();
use List::Util qw(sum0);
use Load;
use RedisServer;
use RetryingClients;
use ShiftedClock;
use Test::More;
use Time::HiRes qw(sleep time);
use Wait qw(becomes wait_until);

my $durable = { conf => ['appendonly yes', 'appendfsync always'] };

# Rates per hour give no token within a test.
sub start {
    my ($plan, %options) = @_;
    my $gateway = Gateway->start(plans => "plan free $plan;", %options);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 86400);
    return $gateway;
}

sub redis_time { my ($seconds, $us) = @{ $_[0]->redis->cmd('TIME') }; return $seconds + $us / 1e6 }

# How many of these requests are granted before one is refused.
sub granted {
    my ($gateway, $path, $most) = @_;
    my $granted = 0;
    $granted++ while $granted < $most && $gateway->get($path, 'k')->status == 200;
    return $granted;
}

sub debt { my ($gateway, $period) = @_; return $gateway->redis->cmd('HGET', 't:quota:{k1}:api', "$period.debt") // 0 }
sub tokens_used { my ($gateway, $period) = @_; return debt($gateway, $period) / ($period * 1e6) }

subtest 'the burst is granted at once, then requests get Retry-After' => sub {
    my $gateway = start('1r/2s burst=5', server => 'location /ietf/ { tollgate api; tollgate_headers ietf; return 200; }
        location /both/ { tollgate api; tollgate_headers both; tollgate_cost 0; proxy_pass http://unix:%DIR%/upstream.sock; }');
    my $before = redis_time($gateway);
    my @responses = map { $gateway->get('/', 'k') } 1 .. 5;
    my $after = redis_time($gateway);
    is(join(' ', map { $_->status } @responses), '200 200 200 200 200', 'five requests');
    is(join(' ', map { $_->header('X-RateLimit-Remaining') } @responses), '4 3 2 1 0', '... and the tokens that are left');
    is($responses[0]->header('X-RateLimit-Limit'), 5, '... of five');
    my $full = $responses[1]->header('X-RateLimit-Reset');
    ok($full >= $before + 4 && $full <= $after + 5, 'Reset: when the bucket is full');
    my $next = $responses[4]->header('X-RateLimit-Reset');
    ok($next >= $before + 2 && $next <= $after + 3, '... or when it has a token again');
    my $refused_at = redis_time($gateway);
    my $refused = $gateway->get('/', 'k');
    is($refused->status, 429, 'the sixth is refused');
    is($refused->json->{code}, 'rate_limit_exceeded', '... with the code of a quota') if $refused->header('Content-Type') =~ /json/;
    my $wait = $refused->header('Retry-After');
    cmp_ok($wait, '>=', $before + 2 - redis_time($gateway), 'Retry-After is not too short');
    cmp_ok($wait, '<', $after + 2 - $refused_at + 1.05, '... and not a second too long');
    my $both = $gateway->get('/both/', 'k');
    is($both->header('RateLimit-Policy'), '"free-bucket";q=5;w=10', 'RateLimit-Policy: the burst, and the time to refill');
    like($both->header('RateLimit'), qr/^"free-bucket";r=0;t=[12]$/, 'RateLimit');
    sleep $wait;
    is($gateway->get('/', 'k')->status, 200, 'a client that waits is granted');
    is($gateway->get('/', 'k')->status, 429, '... one request');
    $gateway->nginx->stop;
};

subtest 'clients that wait for Retry-After are never refused twice' => sub {
    my %longest = (one => 1, three => 1, slow => 3, both => 3);
    my $gateway = Gateway->start(plans => <<'END', workers => 2);
        plan one   1r/s burst=2;
        plan three 3r/s burst=2;
        plan slow  1r/2s burst=1;
        plan both  3r/s burst=4 7r/3s;
END
    RetryingClients->check($gateway, longest => \%longest, clients => 8, waits => 120, pause => 0.5);
    $gateway->nginx->stop;
};

subtest 'two nodes of two workers grant what one bucket has' => sub {
    my @nodes = my $first = start('30r/s burst=50', workers => 2);
    push @nodes, Gateway->start(plans => 'plan free 30r/s burst=50;', workers => 2, share => $first);
    my $before = redis_time($first);
    my $granted = 0;
    for (1 .. 3) {
        my $result = Load->run(servers => [map { $_->address } @nodes], connections => 16, requests => 1000, token => 'k');
        is($result->{status}{200} + $result->{status}{429}, 1000, '1,000 requests');
        $granted += $result->{status}{200};
    }
    my $elapsed = redis_time($first) - $before;
    cmp_ok($granted, '<=', 50 + 30 * $elapsed, "$granted are granted in $elapsed s: not more than the bucket has");
    cmp_ok($granted, '>=', 50 + 30 * $elapsed - 35, '... and, while they are asked for, not much less');
    is($first->count('k1', 'api', 86400), $granted, 'the day counts them');
    is($first->status->{redis}[0]{lease_units}{granted}, 0, 'nothing is leased');
    $_->nginx->stop for @nodes;
};

subtest 'a client that always asks gets the whole rate' => sub {
    my $gateway = start('40r/s burst=1', workers => 1);
    my ($granted, $first, $last) = (0);
    my $end = time + 3;
    while (time < $end) {
        my $before = redis_time($gateway);
        next if $gateway->get('/', 'k')->status != 200;
        $granted++;
        $first //= redis_time($gateway);
        $last = $before;
    }
    cmp_ok($granted, '<=', 1 + 40 * (redis_time($gateway) - $first + 0.5), "$granted are granted");
    # A refusal is repeated until the next token, rounded to ms; a busy machine may miss some.
    cmp_ok($granted, '>=', 0.5 * 40 * ($last - $first), '... at the rate of the bucket');
    $gateway->nginx->stop;
};

# How many requests are granted by each of these gateways in turn within so many seconds. Each costs 1 in the end.
sub granted_within {
    my ($gateways, $seconds) = @_;
    my ($granted, $end) = (0, time + $seconds);
    while (time < $end) {
        $granted += grep { $_->get('/used/?used=1', 'k')->status == 200 } @$gateways;
        sleep 0.01;
    }
    return $granted;
}

for my $cost ('', 'tollgate_cost 3 settle=$upstream_http_x_used;') {
    subtest "the clock of Redis is set back and forth, $cost" => sub {
        my $clock = ShiftedClock->new or plan skip_all => 'no shifted_clock.so in this build';
        my $redis = $clock->start(sub { RedisServer->start });
        my @nodes = map {
            Gateway->start(plans => 'plan free 10r/s burst=20;', workers => 2, redis_server => $redis, location => $cost,
                upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }')
        } 1, 2;
        $nodes[0]->import_key('k', id => 'k1', plan => 'free');
        my $set = sub { $clock->set(time + $_[0]) };

        my ($begin, $granted) = (redis_time($nodes[0]), granted_within(\@nodes, 0.1));
        my $latest = $begin;
        for my $ahead (30, 0, 30, 0, 30) {
            $set->($ahead);
            $granted += granted_within(\@nodes, 0.4);
            my $now = redis_time($nodes[0]);
            $latest = $now if $now > $latest;
        }
        # The bucket was full when the clock went forward for the first time.
        cmp_ok($granted, '<=', 20 + 20 + 10 * ($latest - $begin - 30), "30 s forth and back: $granted are granted");
        cmp_ok($granted, '>=', 20, '... and not much less');

        # A worker may repeat a refusal for a moment that is older than the step.
        my $refused;
        my $spend = sub {
            my $from = 1e6 * ($clock->time - 1);
            wait_until('an empty bucket', sub {
                $refused = $nodes[0]->get('/used/?used=1', 'k');
                my ($at, $debt) = @{ $redis->cmd('HMGET', 't:quota:{k1}:api', '1.time', '1.debt') };
                return $refused->status == 429 && $at > $from && $debt > 17e6;
            });
        };
        $set->(32);
        $spend->();
        $set->(30);
        my $from = time;
        cmp_ok(granted_within(\@nodes, 1), '<=', 6, '2 s back: the bucket gets no tokens');
        wait_until('a token', sub { granted_within(\@nodes, 0) + granted_within(\@nodes, 0.05) });
        cmp_ok(time - $from, '<', 2 + 1.5, '... for no longer than that');

        $set->(5000);
        $spend->();
        $set->(0);
        $from = time;
        wait_until('a refusal', sub { ($refused = $nodes[0]->get('/used/?used=1', 'k'))->status == 429 });
        is($refused->header('Retry-After'), 1, '5,000 s back: Retry-After is the time of a token');
        $granted = granted_within(\@nodes, 1.5);
        cmp_ok($granted, '>=', 5, "... and $granted are granted then");
        cmp_ok($granted, '<=', 4 + 10 * (time - $from), '... as the rate allows');
        $_->nginx->stop for @nodes;
    };
}

subtest 'requests that cost more' => sub {
    my $gateway = start('1r/h burst=10', server => '
        location /three/ { tollgate api; tollgate_cost 3; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /eleven/ { tollgate api; tollgate_cost 11; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /look/ { tollgate api; tollgate_cost 0; tollgate_usage; }');
    is(granted($gateway, '/three/', 5), 3, 'three of three tokens');
    my $wait = $gateway->get('/three/', 'k')->header('Retry-After');
    ok($wait > 7100 && $wait <= 7200, "two tokens are missing: $wait s");
    is($gateway->get('/', 'k')->status, 200, 'a request that costs one is granted');
    $wait = $gateway->get('/', 'k')->header('Retry-After');
    ok($wait > 3500 && $wait <= 3600, "one token is missing: $wait s");
    my $never = $gateway->get('/eleven/', 'k');
    is($never->status, 429, 'a cost above the burst is never granted');
    is($never->header('Retry-After'), undef, '... and no time to wait is told');
    my $usage = $gateway->get('/look/', 'k')->json;
    my ($window) = @{ $usage->{windows} };
    is_deeply([@$window{qw(table policy limit period refill remaining)}], ['api', 'free-bucket', 10, 36000, '1r/h', 0], 'tollgate_usage');
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my $shown = $tollgate->json('usage', 'k1')->{windows};
    is_deeply([map { [@$_{qw(table window seconds refill limit used remaining)}] } @$shown],
        [['api', 'hour bucket', 36000, '1r/h', 10, 10, 0], ['api', 'day', 86400, undef, undef, 10, undef]], 'tollgate usage');
    like($tollgate->run('usage', 'k1')->{out}, qr/^api +hour bucket +10 +10 +0 +0 +- +\S+Z \(/m, '... as text');
    $gateway->nginx->stop;
};

subtest 'a bucket and a day: all or nothing' => sub {
    my $gateway = start('1r/h burst=5 12r/d');
    is(granted($gateway, '/', 20), 5, 'the bucket refuses');
    $gateway->get('/', 'k') for 1 .. 3;
    is($gateway->count('k1', 'api', 86400), 5, '... and the day counts nothing of it');
    $gateway->redis->cmd('HSET', 't:quota:{k1}:api', '86400.count', 12, '3600.debt', 0);
    sleep 1.1;    # the node asks again
    my $before = debt($gateway, 3600);
    is($gateway->get('/', 'k')->status, 429, 'the day refuses');
    is(debt($gateway, 3600), $before, '... and the bucket has its tokens');
    $gateway->nginx->stop;

    $gateway = Gateway->start(plans => 'plan free 1r/h burst=5;', http => 'tollgate_plans search redis=main { plan free 1r/h burst=3; }',
        server => 'location /search/ { tollgate api search; proxy_pass http://unix:%DIR%/upstream.sock; }');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    is(granted($gateway, '/search/', 10), 3, 'two tables: the smaller bucket refuses');
    is(granted($gateway, '/', 10), 2, '... and the other one has its tokens');
    $gateway->nginx->stop;
};

subtest 'the limits of a key' => sub {
    my $gateway = Gateway->start(plans => 'plan own custom;');
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    chomp(my $key = $tollgate->run(qw(key issue --plan own --id k1 --limits), '1r/h burst=4 100r/d')->{out});
    is(join(' ', map { $gateway->get('/', $key)->status } 1 .. 5), '200 200 200 200 429', 'a bucket');
    is($tollgate->run(qw(key set k1 --limits), '1r/h burst=0')->{status}, 2, 'a burst of 0 is refused');
    is($tollgate->run(qw(key set k1 --limits), '100r/d  1r/h   burst=6')->{status}, 0, 'a larger burst');
    is($tollgate->json(qw(key show k1))->{limits} // '', '1r/h burst=6 100r/d', '... in the record');
    becomes(sub { $gateway->get('/', $key)->status }, 200, '... is granted');
    is(JSON::PP::decode_json($gateway->redis->cmd('HGET', 't:plans', 'api'))->{plans}{own}{custom}, JSON::PP::true, 'the plan is published');
    $gateway->nginx->stop;
};

subtest 'costs that are known at the end' => sub {
    my $gateway = start('1r/h burst=100',
        upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }',
        location => 'tollgate_cost 10 settle=$upstream_http_x_used;');
    $gateway->get('/used/?used=4', 'k');
    becomes(sub { sprintf '%.0f', tokens_used($gateway, 3600) }, 4, 'a refund');
    $gateway->get('/used/?used=50', 'k');
    becomes(sub { sprintf '%.0f', tokens_used($gateway, 3600) }, 54, 'a larger cost');
    is($gateway->count('k1', 'api', 86400), 54, 'the day counts the same');
    $gateway->get('/used/?used=150', 'k');
    becomes(sub { sprintf '%.0f', tokens_used($gateway, 3600) }, 204, 'a bucket may owe more than its tokens');
    becomes(sub { $gateway->get('/used/?used=1', 'k')->status }, 429, '... and then refuses');
    cmp_ok($gateway->get('/', 'k')->header('Retry-After'), '>', 3600 * 113, '... until all of it has refilled');
    $gateway->nginx->stop;
};

subtest 'a reload changes the burst and the rate' => sub {
    my $gateway = start('1r/h burst=5');
    my $reload = sub { 
        $gateway->nginx->reload(conf => $gateway->nginx->{options}{conf} =~ s/plan free .*?;/plan free $_[0];/r);
        $gateway->nginx->old_workers_gone;
    };
    is(granted($gateway, '/', 10), 5, 'a burst of 5');
    $reload->('1r/h burst=8');
    is(granted($gateway, '/', 10), 3, 'a larger burst: 3 more');
    $reload->('1r/h burst=2');
    is(granted($gateway, '/', 10), 0, 'a smaller burst');
    $reload->('3600r/h burst=9');
    wait_until('a token each second', sub { granted($gateway, '/', 10) > 0 });
    $reload->('3600r/h');
    cmp_ok(granted($gateway, '/', 30), '==', 30, 'without a burst, a window');
    $gateway->nginx->stop;
};

subtest 'an outage' => sub {
    my $gateway = start('1r/h burst=10', redis_options => $durable, redis => 'timeout 300ms;');
    is($gateway->get('/', 'k')->status, 200, 'with Redis') for 1 .. 4;
    $gateway->redis->kill;
    is(granted($gateway, '/', 20), 6, 'without Redis, the rest of the tokens');
    cmp_ok($gateway->get('/', 'k')->header('Retry-After'), '>', 3500, 'Retry-After');
    $gateway->redis->restart;
    becomes(sub { sprintf '%.0f', tokens_used($gateway, 3600) }, 10, 'Redis is told');
    is($gateway->count('k1', 'api', 86400), 10, '... also of the day');
    becomes(sub { $gateway->unsettled }, 0, '... once');
    is($gateway->get('/', 'k')->status, 429, 'the bucket is empty');
    is(debt($gateway, 3600) > 9.9 * 3600e6, 1, '... and was not charged twice');
    $gateway->nginx->stop;
};

subtest 'a bucket refills in an outage' => sub {
    my $gateway = start('5r/s burst=10', redis_options => $durable, redis => 'timeout 300ms;');
    is($gateway->get('/', 'k')->status, 200, 'with Redis');
    my $before = time;
    $gateway->redis->kill;
    my $granted = granted($gateway, '/', 100);
    cmp_ok($granted, '>=', 9, 'the tokens');
    my ($end) = (time + 2);
    while (time < $end) { $granted += $gateway->get('/', 'k')->status == 200; sleep 0.01 }
    my $most = 10 + 5 * (time - $before);
    cmp_ok($granted, '<=', $most, "$granted are granted, not more than the bucket has");
    cmp_ok($granted, '>=', $most - 5, '... and not much less');
    sleep 2.1;    # the bucket is full
    $gateway->redis->restart;
    becomes(sub { $gateway->count('k1', 'api', 86400) }, $granted + 1, 'the day counts them');
    cmp_ok(tokens_used($gateway, 1), '<', 1, '... and the bucket is full: what has refilled is not charged');
    $gateway->nginx->stop;
};

subtest 'two nodes share a bucket in an outage' => sub {
    my %options = (redis => 'timeout 300ms;',
        server => 'location /look/ { tollgate api; tollgate_cost 0; proxy_pass http://unix:%DIR%/upstream.sock; }');
    my @nodes = my $first = start('1r/h burst=20', %options, redis_options => $durable);
    push @nodes, Gateway->start(plans => 'plan free 1r/h burst=20;', share => $first, %options);
    is($_->get('/', 'k')->status, 200, 'with Redis') for @nodes;
    wait_until('the number of nodes', sub { !grep { $_->status->{redis}[0]{nodes} != 2 } @nodes });
    # Each node has had one of two requests, and knows it.
    is($_->get('/look/', 'k')->header('X-RateLimit-Remaining'), 18, 'tokens are left') for @nodes;
    $first->redis->kill;
    my @granted = map { granted($_, '/', 50) } @nodes;
    is("@granted", '9 9', 'each grants its share of them');
    $first->redis->restart;
    becomes(sub { $first->count('k1', 'api', 86400) }, 2 + sum0(@granted), 'both report');
    becomes(sub { sprintf '%.0f', tokens_used($first, 3600) }, 2 + sum0(@granted), '... also of the bucket');
    $_->nginx->stop for @nodes;
};

subtest 'tollgate simulate' => sub {
    my $dir = File::Temp->newdir('buckets-XXXXXX', TMPDIR => 1);
    my $write = sub { my ($name, $text) = @_; open my $file, '>', "$dir/$name" or die $!; print $file $text; close $file or die $!; return "$dir/$name" };
    my $plans = $write->('plans.conf', "plan free 2r/s burst=3 100r/d;\n");
    my @times = (0, 0, 0, 0, 0.4, 0.5, 0.6, 1, 1.1, 5, 5, 5, 5);
    my $log = $write->('log', join '', map { sprintf qq({"msec":%.3f,"seconds":0.000,"uri":"/","status":"200","key_id":"k1","plan":"free"}\n), 1_800_000_000 + $_ } @times);
    my $result = Command->new->run('simulate', '--json', '--plans', $plans, $log);
    my $shown = eval { JSON::PP::decode_json($result->{out}) } or diag($result->{out}, $result->{err});
    # Refused: the fourth, at 0.4 and at 0.6, at 1.1, and the last one.
    is($shown->{refused}, 5, 'the requests that a bucket refuses');
    is($shown->{plans}[0]{tables}[0]{limits}, '2r/s burst=3 100r/d', '... by this plan');
    is($shown->{refusals}[0]{windows}[0]{window}, 'second bucket', '... and the name of the bucket');
};

subtest 'mistakes' => sub {
    my %messages = (
        'plan free 10r/s burst=0;'               => qr/burst=0/,
        'plan free 10r/s burst=5 burst=6;'       => qr/duplicate parameter "burst=6"/,
        'plan free burst=5 10r/s;'               => qr/"burst=5" follows no rate/,
        'plan free burst=5;'                     => qr/"burst=5" follows no rate/,
        'plan free 100r/month burst=5;'          => qr/"100r\/month" has no burst/,
        'plan free 10r/s burst=5000000000;'      => qr/a number from 1 to 4500000000/,
        'plan free 10r/s burst=5 window=sliding;' => qr/"window=sliding" needs a rate without "burst"/,
        'plan free 10r/s burst=5 5r/m;'          => qr/allows less/,
        'plan free 10r/s; anonymous 10r/s burst=5;' => qr/"anonymous" has no "burst"/,
    );
    for my $plans (sort keys %messages) {
        my ($exit, $text) = Nginx->test_config(conf => <<"END");
            tollgate_redis main { server unix:/nowhere; }
            tollgate_plans api { $plans }
            server { listen 127.0.0.1:%PORT%; location / { tollgate api; return 204; } }
END
        like($text, $messages{$plans}, $plans);
    }
    my ($exit, $text) = Nginx->test_config(conf => <<'END');
        tollgate_redis main { server unix:/nowhere; }
        tollgate_plans api { plan free 10r/s burst=20 1000r/d; plan mixed 10r/s burst=20 60r/m window=sliding; }
        server { listen 127.0.0.1:%PORT%; location / { tollgate api; proxy_pass http://127.0.0.1:1; } }
END
    like($text, qr/test is successful/, 'valid plans');
};

done_testing;
