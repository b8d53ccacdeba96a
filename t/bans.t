# Bans: keys that keep sending requests after 429s are banned, longer each time. Bans end by themselves.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use FakeRedis qw($CLOSE name_of);
use Gateway qw(wait_for_room);
use RedisServer;
use Time::HiRes qw(sleep time);
use Wait qw(wait_until);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $gateway = Gateway->start(
    plans  => 'plan free 1r/d; plan wide 1000r/d; ban after=3 within=1m for=2s up_to=6s;',
    http   => 'tollgate_plans mild { plan free 1r/d; }',
    server => <<"END",
        location /dry/   { tollgate api; tollgate_dry_run on; $upstream }
        location /mild/  { tollgate mild; $upstream }
        location /both/  { tollgate mild api; $upstream }
        location /quota/ { tollgate api; tollgate_cost 0; $upstream }
END
);
my $redis = $gateway->redis;
wait_for_room($redis, 86400);

sub now { my ($s, $us) = @{ $redis->cmd('TIME') }; return $s * 1000 + int($us / 1000) }
sub ban { my ($id) = @_; return { @{ $redis->cmd('HGETALL', "t:ban:{$id}") } } }

sub answer {
    my ($key, $path) = @_;
    my $r = $gateway->get($path // '/', $key);
    return $r->status == 200 ? 200 : $r->status . ' ' . $r->json->{code};
}

my ($limited, $banned) = ('429 rate_limit_exceeded', '429 api_key_banned');

subtest 'a ban' => sub {
    $gateway->import_key('k', id => 'k1', plan => 'free');
    is(join(', ', map { answer('k') } 1 .. 4), "200, $limited, $limited, $banned", 'the third strike');
    my $r = $gateway->get('/', 'k');
    # A node knows Redis's clock to the ms or so, and rounds up.
    like($r->header('Retry-After'), qr/^[123]$/, 'Retry-After: the rest of the ban, not of the day');
    is($r->header('X-RateLimit-Limit') . $r->header('X-RateLimit-Remaining'), '10', 'the quota is shown');
    is(answer('k', '/quota/'), $banned, 'applies to a request with cost 0');
    is(answer('k', '/mild/'), 200, '... but not in a table without bans');
    is($gateway->count('k1', 'api', 86400), 1, 'strikes are not counted in the quota');
    is(ban('k1')->{level}, 1, 'requests during the ban do not add to it');
    my $until = ban('k1')->{until};
    wait_until('its end', sub { now() >= $until });
    is(answer('k'), $limited, 'it ends by itself');
    ok($redis->cmd('PTTL', 't:ban:{k1}') > 0, 'and its entry expires');
};

# The length of a ban in ms. The key is one strike below the ban.
sub next_ban {
    my ($key, $id) = @_;
    my $before = now();
    answer($key) until answer($key) eq $banned;
    my ($start, $until) = (now(), ban($id)->{until});
    $redis->cmd('HSET', "t:ban:{$id}", until => now() - 1);
    $redis->cmd('PUBLISH', 't:events', $id);
    wait_until('it to be heard of', sub { answer($key) eq $limited });
    return [$until - $start, $until - $before];
}

subtest 'each ban is twice as long as the one before' => sub {
    $gateway->import_key('d', id => 'd1', plan => 'free');
    for my $length (2000, 4000, 6000, 6000) {
        my ($least, $most) = @{ next_ban('d', 'd1') };
        ok($least <= $length && $length <= $most, "$length ms");
    }
};

subtest 'strikes count only within the time of `within`' => sub {
    $gateway->import_key('w', id => 'w1', plan => 'free');
    is(join(', ', map { answer('w') } 1 .. 3), "200, $limited, $limited", 'two strikes');
    wait_until('them to be told', sub { (ban('w1')->{strikes} // 0) == 2 });
    $redis->cmd('HSET', 't:ban:{w1}', since => now() - 60_000);
    is(answer('w'), $limited, 'then they are forgotten');
    is(ban('w1')->{strikes}, 1, '... and counting restarts');
};

subtest 'no strikes' => sub {
    $gateway->import_key('n', id => 'n1', plan => 'free');
    answer('n', '/dry/') for 1 .. 6;
    is_deeply(ban('n1'), {}, 'in a dry run');
    answer('n', '/mild/') for 1 .. 6;
    is_deeply(ban('n1'), {}, 'in a table without bans');
    $gateway->import_key('g', id => 'g1', plan => 'wide');
    answer('g') for 1 .. 6;
    is_deeply(ban('g1'), {}, 'for requests that are granted');
};

subtest 'a dry run lets banned keys pass' => sub {
    $gateway->import_key('p', id => 'p1', plan => 'free');
    is(join(', ', map { answer('p') } 1 .. 4), "200, $limited, $limited, $banned", 'a ban');
    is(answer('p', '/dry/'), 200, 'passes');
    is(ban('p1')->{level}, 1, '... and the ban still applies');
};

subtest 'with several tables, one with `ban` is enough' => sub {
    $gateway->import_key('b', id => 'b1', plan => 'free');
    is(join(', ', map { answer('b', '/both/') } 1 .. 4), "200, $limited, $limited, $banned", 'a ban');
};

$gateway->nginx->stop;

subtest 'an outage does not ban a client that waits' => sub {
    # With Redis, this client is never banned: it is refused once a second.
    my $outage = Gateway->start(plans => 'plan free 1r/1s; ban after=4 within=2s for=1m;', redis => 'timeout 300ms;');
    $outage->import_key('k', id => 'k1', plan => 'free');
    my %seen;
    my $obey = sub {
        my $end = time + shift;
        while (time < $end) {
            my $r = $outage->get('/', 'k');
            $seen{ $r->status == 200 ? 200 : $r->json->{code} }++;
            sleep $r->header('Retry-After') if $r->status == 429;
        }
    };
    $obey->(1);
    $outage->redis->sigstop;
    $obey->(7);
    $outage->redis->sigcont;
    $obey->(3);
    is_deeply([sort keys %seen], [200, 'rate_limit_exceeded'], 'it is granted or refused, not banned') or diag(explain(\%seen));
    cmp_ok($seen{rate_limit_exceeded}, '>=', 5, 'it was refused often enough for a ban');
    $outage->nginx->stop;
};

subtest 'a ban that is lifted ends, and a new one begins, whatever other tables are used' => sub {
    # The first table of /both/ has no ban, and is asked about alone at /mild/.
    my %options = (
        plans  => 'plan free 600000r/m; ban after=3 within=1m for=1h;',
        http   => 'tollgate_plans tiny { plan free 1r/d; } tollgate_plans mild lease=off { plan free 600000r/m; }',
        server => <<"END",
            location /tiny/ { tollgate tiny api; $upstream }
            location /mild/ { tollgate mild; $upstream }
            location /both/ { tollgate mild api; $upstream }
END
    );
    my $first = Gateway->start(%options);
    my $second = Gateway->start(%options, share => $first);
    $first->subscribed(2);
    $first->import_key('k', id => 'k1', plan => 'free');
    my $code = sub { my ($node, $path) = @_; my $r = $node->get($path, 'k'); return $r->status == 200 ? 200 : $r->json->{code} };
    is($code->($second, '/both/'), 200, 'served') for 1 .. 20;
    $code->($first, '/tiny/') for 1 .. 4;
    is($code->($first, '/both/'), 'api_key_banned', 'banned');
    is($code->($second, '/mild/'), 200, 'not in a table without bans');
    sleep 0.2;    # the longest time until a node applies a ban
    my %seen;
    for (1 .. 50) { $code->($second, '/mild/'); $seen{ $code->($second, '/both/') }++ }
    is_deeply(\%seen, { api_key_banned => 50 }, 'no lease grants for a banned id');
    $first->redis->cmd('DEL', 't:ban:{k1}');
    $first->redis->cmd('PUBLISH', 't:events', 'k1');
    wait_until('the lifted ban to end', sub { $code->($_, '/mild/'); $code->($_, '/both/') eq '200' }, 2) for $first, $second;
    pass('it ends');
    $_->nginx->stop for $first, $second;
};

subtest 'a banned key is known in an outage' => sub {
    my $outage = Gateway->start(plans => 'plan free 1r/1s; ban after=2 within=1m for=1s;', redis => 'timeout 300ms;');
    $outage->subscribed(1);
    $outage->import_key('k', id => 'k1', plan => 'free');
    my $code = sub { my $r = $outage->get('/', 'k'); return $r->status == 200 ? 200 : $r->json->{code} };
    wait_until('a ban', sub { $code->() eq 'api_key_banned' });
    $outage->redis->kill;
    my %seen;
    wait_until('service after the ban', sub { my $now = $code->(); $seen{$now}++; $now eq '200' }, 5);
    ok(!$seen{service_unavailable}, 'it is refused, then served') or diag(explain(\%seen));
    $outage->nginx->stop;
};

subtest 'a refusal is one strike, also if its reply is lost' => sub {
    my $server = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $server->address,
        faults => { lost => { reply => sub { my ($bytes, $command) = @_; name_of($command) eq 'acquire' ? $CLOSE : $bytes } } },
    );
    my $node = Gateway->start(
        redis_server => $server, server_address => $fake->address, redis => 'timeout 300ms;',
        plans => 'plan free 1r/d; ban after=1000 within=5m for=1m;',
    );
    wait_for_room($server, 86400);
    $node->import_key('k', id => 'k1', plan => 'free');
    is($node->get('/', 'k')->status, 200, 'the quota is spent');
    $fake->fault('lost');
    my $refused = 0;
    for (1 .. 40) {
        $refused++ if $node->get('/', 'k')->status == 429;
        sleep 0.02;
    }
    $fake->heal;
    my $strikes = sub { $server->cmd('HGET', 't:ban:{k1}', 'strikes') // 0 };
    wait_until('a report', sub {
        my $before = $strikes->();
        $refused++ if $node->get('/', 'k')->status == 429;
        $strikes->() > $before;
    });
    cmp_ok($strikes->(), '<=', $refused, 'no more strikes than refusals');
    cmp_ok($strikes->(), '>', 0, '... and some');
    $node->nginx->stop;
};

done_testing;
