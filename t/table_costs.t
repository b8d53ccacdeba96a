# `tollgate_cost VALUE settle=$variable table=NAME`: one decision over several tables, each with its own cost, which is
# settled on its own.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use HeldUpstream;
use Http;
use Load;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

my $costs = 'tollgate_cost 1; tollgate_cost $arg_reserved settle=$upstream_http_x_tokens table=tokens;
             tollgate_cost 0 settle=$upstream_http_x_price table=spend-usd;';

sub start {
    my (%options) = @_;
    my $limits = { requests => '100r/h 1000r/d', tokens => '1000r/h 5000r/d', spend => '50r/h 500r/d', %{ delete $options{limits} // {} } };
    my $lease = delete $options{lease} // '';
    my $gateway = Gateway->start(
        table    => $lease,
        plans    => "plan free $limits->{requests};",
        http     => "tollgate_plans tokens unit=tokens $lease { plan free $limits->{tokens}; }
                     tollgate_plans spend-usd unit=nano-usd $lease { plan free $limits->{spend}; }
                     log_format costs \"\$tollgate_cost \$tollgate_cost_api \$tollgate_cost_tokens \$tollgate_cost_spend_usd\";",
        upstream => 'location /chat { add_header X-Tokens $arg_tokens; add_header X-Price $arg_price; return 200 "done\n"; }',
        server   => "access_log %DIR%/costs.log costs;
                     location /chat { tollgate api tokens spend-usd; tollgate_json_errors on; $costs proxy_pass http://unix:%DIR%/upstream.sock; }
                     location /free { tollgate api tokens; tollgate_cost 0 table=tokens; proxy_pass http://unix:%DIR%/upstream.sock:/; }
                     location /both { tollgate api tokens spend-usd; tollgate_headers ietf; $costs proxy_pass http://unix:%DIR%/upstream.sock:/; }
                     location /tokens { tollgate tokens; tollgate_headers ietf; tollgate_cost 1; proxy_pass http://unix:%DIR%/upstream.sock:/; }
                     location /usage { tollgate api tokens spend-usd; tollgate_cost 0; tollgate_usage; }",
        %options,
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600, 60);
    return $gateway;
}

sub counts { my ($gateway, $period) = @_; return join ' ', map { $gateway->count('k1', $_, $period // 3600) // 0 } qw(api tokens spend-usd) }
sub chat { my ($gateway, $reserved, $tokens, $price) = @_; return $gateway->get("/chat?reserved=$reserved&tokens=$tokens&price=$price", 'k') }

for my $lease ('lease=off', '') {
    subtest "each table has its cost, and settles its own, $lease" => sub {
        my $gateway = start(lease => $lease);
        my $logged = sub { my $log = Nginx::_read($gateway->nginx->dir . '/costs.log'); return ($log =~ /(.*)\n\z/)[0] };
        is(chat($gateway, 400, 120, 7)->status, 200, 'a request');
        becomes(sub { counts($gateway) }, '1 120 7', '... is counted in each table');
        is(counts($gateway, 86400), '1 120 7', '... in all windows');
        becomes($logged, '1 1 120 7', '... and logged');
        is(chat($gateway, 400, '', '')->status, 200, 'a response without values');
        becomes(sub { counts($gateway) }, '2 520 7', '... leaves the reservations');
        is(chat($gateway, 481, 1, 1)->status, 429, 'a request that is too dear in one table');
        is(counts($gateway), '2 520 7', '... is counted in none');
        is($gateway->get('/free', 'k')->status, 200, 'a request that costs nothing in one table');
        becomes(sub { counts($gateway) }, '3 520 7', '... is counted in the others');
        becomes($logged, '1 1 0 -', '... and has no cost in a table that the location does not use');
        my $dear = chat($gateway, 1001, 1, 1);
        is($dear->json->{code}, 'cost_exceeds_limit', 'a cost above the limit of one table');
        is($dear->header('Retry-After'), undef, '... is refused at any time');
        becomes(sub { $gateway->unsettled }, 0, 'nothing is left to report');
        is_deeply(
            { map { ($_->{table} => $_->{limit} - $_->{remaining}) } grep { $_->{period} == 3600 } @{ $gateway->get('/usage', 'k')->json->{windows} } },
            { api => 3, tokens => 520, 'spend-usd' => 7 },
            'the usage has each table',
        );
        is(chat($gateway, 100, 100, 43)->status, 200, 'a price that spends all units');
        becomes(sub { counts($gateway) }, '4 620 50', '... is charged');
        is(chat($gateway, 1, 1, 1)->status, 429, 'a cost of 0 that is settled needs a unit');
        is($gateway->get('/free', 'k')->status, 200, '... where it is charged');
        becomes(sub { counts($gateway) }, '5 620 50', 'a refusal counts nothing');
        $gateway->nginx->stop;
    };
}

subtest 'each unit has its fields' => sub {
    my $gateway = start(upstream => 'location /chat { add_header X-RateLimit-Limit-Tokens 1; add_header x-ratelimit-reset-requests 2; return 200; }');
    my $r = chat($gateway, 400, '', '');
    is($r->header("X-RateLimit-$_->[0]"), $_->[1], "X-RateLimit-$_->[0]")
        for ['Limit', 100], ['Remaining', 99], ['Limit-tokens', 1000], ['Remaining-tokens', 600], ['Limit-nano-usd', 50], ['Remaining-nano-usd', 50];
    like($r->header("X-RateLimit-Reset$_"), qr/^1\d{9}$/, "X-RateLimit-Reset$_") for '', '-tokens', '-nano-usd';
    is($r->header('X-RateLimit-Reset-Requests'), undef, 'no field of the upstream');
    my $refused = chat($gateway, 700, 1, 1);
    is($refused->status . ' ' . $refused->header('X-RateLimit-Remaining-tokens'), '429 600', 'a refusal shows what is left of its unit');
    my $both = $gateway->get('/both?reserved=1', 'k');
    like($both->header('RateLimit-Policy'), qr/^"api-free-hour";q=100;w=3600, "api-free-day";q=1000;w=86400$/, 'policies of requests only');
    unlike($both->header('RateLimit'), qr/tokens|spend/, '... and what is left of them');
    is($gateway->get('/tokens?reserved=1', 'k')->header('RateLimit-Policy'), undef, 'no field without such a policy');
    my $command = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my $units = sub { join ' ', map { "$_->{table}=" . ($_->{unit} // '?') } grep { $_->{seconds} == 3600 } @{ $command->json('usage', 'k1')->{windows} } };
    becomes($units, 'api=requests spend-usd=nano-usd tokens=tokens', 'the command knows the units from the published plans');
    like($command->run('usage', 'k1')->{out}, qr/^tokens +hour +1000 tokens +/m, '... and prints them');
    is_deeply([map { $_->{unit} } @{ $gateway->get('/usage', 'k')->json->{windows} }], [map { ($_) x 2 } qw(requests tokens nano-usd)], 'the usage has the units');
    $gateway->nginx->stop;
};

subtest 'three nodes with two workers each, and small plans' => sub {
    my $first = start(workers => 2, limits => { requests => '2000r/h', tokens => '30000r/h', spend => '1000000r/h' });
    my @nodes = ($first, map { start(share => $first, workers => 2, limits => { requests => '2000r/h', tokens => '30000r/h', spend => '1000000r/h' }) } 1, 2);
    my ($n, $most) = (0, 0);
    my $load = Load->run(
        servers => [map { $_->address } @nodes], connections => 16, requests => 1500, token => 'k',
        path    => sub {
            my $count = $first->count('k1', 'tokens', 3600) // 0;
            $most = $count if $count > $most;
            my $tokens = 1 + ++$n * 7 % 100;
            return "/chat?reserved=100&tokens=$tokens&price=" . 3 * $tokens;
        },
    );
    my $granted = $load->{status}{200};
    cmp_ok($granted, '>=', 300, 'more requests than reservations');
    is($granted + ($load->{status}{429} // 0), 1500, 'each is granted or refused');
    cmp_ok($most, '<=', 30000, 'no more tokens than the limit are counted at any time');
    for my $node (@nodes) {
        my $units = sub { $node->status->{redis}[0]{lease_units} };
        wait_until('the end of leases', sub { my $u = $units->(); $node->unsettled == 0 && $u->{granted} == $u->{spent} + $u->{returned} + $u->{lost} });
        is($units->()->{lost}, 0, 'no unit is lost');
    }
    my ($requests, $tokens, $price) = split ' ', counts($first);
    is($requests, $granted, 'each granted request is counted once');
    is($price, 3 * $tokens, 'what was used is counted in both tables that settle');
    cmp_ok($tokens, '<=', 30000, '... and not above the limit');
    my $settled = 0;
    $settled += $_->status->{redis}[0]{cost_units}{settled} for @nodes;
    is($settled, $tokens + $price, '... and is what the nodes have settled');
    $_->nginx->stop for reverse @nodes;
};

subtest 'leases of tables that cost differently' => sub {
    my $gateway = start(
        limits => { requests => '100000r/h', tokens => '10000000r/h' },
        server => 'location /two { tollgate api tokens; tollgate_cost 30 table=tokens; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
    );
    my $calls = $gateway->calls(sub {
        is(Load->run(servers => [$gateway->address], connections => 8, requests => 3000, token => 'k', path => '/two')->{status}{200}, 3000, 'granted');
    });
    cmp_ok($calls, '<', 1500, 'most requests are granted from leases');
    my $units = sub { $gateway->status->{redis}[0]{lease_units} };
    wait_until('the end of leases', sub { my $u = $units->(); $u->{granted} == $u->{spent} + $u->{returned} + $u->{lost} });
    is(counts($gateway), '3000 90000 0', 'each table counts what it costs');
    $gateway->nginx->stop;
};

for my $lease ('lease=off', '') {
    subtest "the last units are usable, $lease" => sub {
        my $gateway = start(
            lease  => $lease,
            limits => { tokens => '10000r/h; ban after=2 within=1m for=1h up_to=1h' },
            server => 'location /least { tollgate api tokens; tollgate_json_errors on; tollgate_cost 4000 settle=$upstream_http_x_tokens min=1000 table=tokens;
                                         proxy_pass http://unix:%DIR%/upstream.sock:/chat; }
                       location /small { tollgate api tokens; tollgate_cost $arg_cost min=10 table=tokens; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
        );
        my $least = sub { $gateway->get("/least?tokens=$_[0]", 'k') };
        is($least->(3200)->status, 200, 'a request') for 1, 2;
        becomes(sub { counts($gateway) }, '2 6400 0', '... of which two have used less than their reservation');
        is($least->('')->status, 200, 'another one takes what is left');
        becomes(sub { counts($gateway) }, '3 10000 0', '... which is less');
        is($least->(1)->status, 429, 'nothing is left');
        becomes(sub { $gateway->redis->cmd('HGET', 't:ban:{k1}', 'strikes') }, 1, '... one strike, however often it was decided');
        is($gateway->get('/small?cost=100', 'k')->status, 429, 'another refusal');
        is($least->(1)->json->{code}, 'api_key_banned', '... begins the ban');
        $gateway->nginx->stop;
    };
}

subtest 'a cost above the limit of a small plan' => sub {
    my $gateway = start(
        limits => { tokens => '500r/h' },
        server => 'location /least { tollgate tokens; tollgate_json_errors on; tollgate_cost $arg_cost min=100; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
    );
    is($gateway->get('/least?cost=4000', 'k')->status, 200, 'it takes the limit');
    becomes(sub { counts($gateway) }, '0 500 0', '... which is counted');
    my $refused = $gateway->get('/least?cost=4000', 'k');
    is($refused->json->{code}, 'rate_limit_exceeded', 'the next one waits');
    cmp_ok($refused->header('Retry-After'), '>', 1, '... until it is told');
    $gateway->nginx->stop;
};

subtest 'one line for tables that leave different rests' => sub {
    my $gateway = start(
        lease  => 'lease=off',
        limits => { tokens => '2000r/h', spend => '100000r/h' },
        server => 'location /same { tollgate tokens spend-usd; tollgate_cost 4000 settle=$upstream_http_x_tokens min=1000;
                                    proxy_pass http://unix:%DIR%/upstream.sock:/chat; }',
    );
    is($gateway->get('/same?tokens=', 'k')->status, 200, 'a response without a value');
    becomes(sub { $gateway->unsettled }, 0, '... is settled');
    is(counts($gateway), '0 2000 4000', '... by what was reserved in each table');
    $gateway->nginx->stop;
};

subtest 'a table that costs nothing beside a lease' => sub {
    my $gateway = start(
        limits => { requests => '1000000r/h' }, table => '',
        http   => 'tollgate_plans users by=$arg_user unit=tokens { plan free 10r/s; } tollgate_plans slow { plan free 1000000r/h in_flight=1; }',
        server => 'location /all { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock:/; }
                   location /user { tollgate api users slow; tollgate_headers both; tollgate_cost 0 table=users; tollgate_cost 0 table=slow; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
    );
    my $n = 0;
    Load->run(servers => [$gateway->address], connections => 4, requests => 1000, token => 'k', path => '/all');
    my $load = Load->run(servers => [$gateway->address], connections => 4, requests => 1000, token => 'k', path => sub { '/user?user=' . $n++ % 100 });
    is_deeply($load->{status}, { 200 => 1000 }, 'each value is shown, and refuses nothing');
    my @past = grep { $_->header('X-RateLimit-Reset-tokens') < $_->{date} - 1 || $_->header('X-RateLimit-Remaining-tokens') != 10 }
        map { my $date = time; my $r = $gateway->get('/user?user=1', 'k'); $r->{date} = $date; $r } 1 .. 20;
    is(scalar @past, 0, '... as it is now');
    $gateway->nginx->stop;
};

subtest 'an outage' => sub {
    my $gateway = start(
        redis_options => { conf => ['appendonly yes', 'appendfsync always'] },
        redis => 'timeout 300ms;', limits => { requests => '10r/h', tokens => '1000r/h', spend => '50r/h' },
    );
    is(chat($gateway, 100, 40, 5)->status, 200, 'with Redis');
    becomes(sub { counts($gateway) }, '1 40 5', '... counted');
    $gateway->redis->kill;
    is(chat($gateway, 100, 60, 10)->status, 200, 'without Redis');
    is(chat($gateway, 950, 1, 1)->status, 429, '... a table refuses by what is left in it');
    is(chat($gateway, 100, 50, 35)->status, 200, '... another request is granted');
    is(chat($gateway, 1, 1, 1)->status, 429, '... until a table has nothing left');
    $gateway->redis->restart;
    becomes(sub { counts($gateway) }, '3 150 50', 'each table is told what it has cost');
    $gateway->nginx->stop;
};

subtest 'a kill of a worker, a reload and a client that leaves' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(
        server => "location /held { tollgate api tokens spend-usd; tollgate_cost 10 settle=\$upstream_http_x_tokens table=tokens;
                                    tollgate_cost 0 settle=\$upstream_http_x_price table=spend-usd; proxy_pass http://unix:$path; }",
    );
    my $begin = sub {
        my $client = Http->connect($gateway);
        $client->send("GET /held HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n");
        return ($client, $held->accept);
    };
    my ($client, $upstream) = $begin->();
    $gateway->nginx->reload;
    HeldUpstream::answer($upstream, 'X-Tokens' => 3, 'X-Price' => 20);
    is($client->response('GET')->status, 200, 'an old worker answers');
    becomes(sub { counts($gateway) }, '1 3 20', '... and settles each table');
    ($client, $upstream) = $begin->();
    $client->close;
    $upstream->sysread(my $nothing, 1);
    becomes(sub { counts($gateway) }, '2 13 20', 'a client that leaves: the reservations stand');
    ($client, $upstream) = $begin->();
    $gateway->nginx->kill_worker;
    wait_until('its successor', sub { eval { $gateway->status } });
    becomes(sub { counts($gateway) }, '3 23 20', 'a worker that is killed: the same');
    $gateway->nginx->stop;
};

done_testing;
