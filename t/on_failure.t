# Requests while Redis is unreachable: `on_failure deny` refuses them with 503, `allow` grants those whose keys were
# valid when Redis was last asked. A key is never refused as unknown because Redis does not answer.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Time::HiRes qw(time);
use Wait qw(becomes);

sub gateway {
    my ($policy) = @_;
    my $gateway = Gateway->start(
        plans   => 'plan free 100r/h; plan custom custom; anonymous 50r/h;',
        redis   => "on_failure $policy;",
        http    => 'tollgate_redis other { server unix:/nowhere.sock; on_failure allow; }
                    tollgate_plans other redis=other { plan free 100r/h; }
                    tollgate_plans pro redis=main { plan pro 100r/h; }
                    log_format verdict "$tollgate_verdict $tollgate_key_id";',
        server  => 'access_log %DIR%/access.log verdict;
                    location /other { tollgate other; proxy_pass http://unix:%DIR%/upstream.sock; }
                    location /pro { tollgate pro; proxy_pass http://unix:%DIR%/upstream.sock; }',
        workers => 2,
    );
    $gateway->subscribed(2);    # also on a slow machine
    $gateway->import_key('known', id => 'k1', plan => 'free');
    $gateway->import_key('custom', id => 'k2', plan => 'custom', limits => '50r/h');
    $gateway->import_key('late', id => 'k3', plan => 'free');
    $gateway->import_key('revoked', id => 'k4', plan => 'free');
    for my $token (qw(known custom revoked)) {
        becomes(sub { $gateway->get('/', $token)->status }, 200, "$token is valid");
    }
    $gateway->change_key('revoked');
    becomes(sub { $gateway->get('/', 'revoked')->status }, 401, 'one is revoked');
    $gateway->redis->kill;
    return $gateway;
}

# The last logged verdict. A request is logged after its response was sent.
sub is_last_verdict {
    my ($gateway, $verdict, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    becomes(sub { last_verdict($gateway) }, $verdict, $name);
}

sub last_verdict {
    my ($gateway) = @_;
    open my $log, '<', $gateway->nginx->dir . '/access.log' or die $!;
    my @lines = <$log>;
    chomp @lines;
    return $lines[-1];
}

subtest 'deny' => sub {
    my $gateway = gateway('deny');
    for my $token (qw(known late)) {
        my $r = $gateway->get('/', $token);
        is($r->status, 503, "$token: 503");
        is($r->json->{code}, 'service_unavailable', '… with an Error body');
        like($r->header('Retry-After'), qr/^[1-9]\d*$/, '… and Retry-After');
        is($r->header('X-RateLimit-Limit'), 50, '… and the budget of the address');
        is($r->header('WWW-Authenticate'), undef, '… and no challenge');
    }
    is($gateway->get('/')->status, 401, 'a request without a key still gets 401');
    $gateway->redis->restart;
    $gateway->import_key('known', id => 'k1', plan => 'free');
    becomes(sub { $gateway->get('/', 'known')->status }, 200, 'it serves again by itself');
    $gateway->nginx->stop;
};

subtest 'allow' => sub {
    my $gateway = gateway('allow');
    for my $token (qw(known custom)) {
        # Both workers know the key: it is in the zone.
        is_deeply([map { $gateway->get('/', $token)->status } 1 .. 10], [(200) x 10], "$token passes");
    }
    is_last_verdict($gateway, 'degraded k2', 'the verdict says how');
    my $r = $gateway->get('/', 'known');
    is($r->header('X-RateLimit-Limit'), undef, 'no quota is shown, because nothing is counted');
    is($gateway->get('/', 'late')->status, 503, 'a key that was never looked up gets 503');
    like($gateway->get('/', 'revoked')->status, qr/^(401|503)$/, '… and a revoked key is refused');
    is($gateway->get('/pro', 'known')->status, 403, 'a known key is still refused if its plan is not in the table');
    is($gateway->get('/other', 'known')->status, 503, 'keys of one Redis are not valid with another');
    is_last_verdict($gateway, 'unavailable -', '… as the verdict says');
    $gateway->nginx->stop;
};

# The rows of the first table of "What each fault does to a client" in module/docs/faults.md: with `local`, `allow`, `deny`.
my @table = (
    ['one that was spent just now',        '/',    'spent',     429, 429, 429],
    ['a known key',                        '/',    'known',     200, 200, 503],
    ['one of an unlimited plan',           '/',    'unlimited', 200, 200, 200],
    ['one that isn\'t known',              '/',    'late',      503, 503, 503],
    ['none',                               '/',    undef,       401, 401, 401],
    ['one that is misspelt',               '/',    'tg_' . 'x' x 38, 401, 401, 401],
    ['one that Redis called unknown',      '/',    'nobody',    401, 401, 401],
    ['one whose plan has no place',        '/pro', 'known',     403, 403, 403],
);

# The response to each row of the table, and the seconds since Redis was first asked.
sub statuses_without_redis {
    my ($policy) = @_;
    my $gateway = Gateway->start(
        plans  => 'plan free 100r/d; plan small 1r/d; plan all unlimited;',
        redis  => "on_failure $policy;",
        http   => 'tollgate_plans pro redis=main { plan pro 100r/h; }',
        server => 'location /pro { tollgate pro; proxy_pass http://unix:%DIR%/upstream.sock; }',
    );
    $gateway->subscribed(1);
    $gateway->import_key($_->[0], id => "id-$_->[0]", plan => $_->[1])
        for ['known', 'free'], ['spent', 'small'], ['unlimited', 'all'], ['late', 'free'];
    my $asked = time;
    my $before = join ' ', map { $gateway->get('/', $_)->status } qw(known spent unlimited nobody spent);
    is($before, '200 200 200 401 429', 'while Redis is reachable');
    $gateway->redis->kill;
    my @statuses = map { $gateway->get(@$_[1, 2])->status } @table;
    my $took = time - $asked;
    $gateway->nginx->stop;
    return ($took, @statuses);
}

for my $column (0 .. 2) {
    my $policy = (qw(local allow deny))[$column];
    subtest "what a client gets with $policy" => sub {
        # Without a subscription, a record is used for a second. If the requests took longer, they are repeated.
        my ($took, @statuses);
        for (1 .. 10) {
            ($took, @statuses) = statuses_without_redis($policy);
            last if $took < 1;
        }
        cmp_ok($took, '<', 1, 'all requests are sent within a second');
        is($statuses[$_], $table[$_][3 + $column], $table[$_][0]) for keys @table;
    };
}

subtest 'a Redis key of another type affects its id only' => sub {
    my $gateway = Gateway->start(plans => 'plan free 3r/d;');
    $gateway->subscribed(1);
    $gateway->import_key($_, id => $_, plan => 'free') for qw(a b);
    is($gateway->get('/', $_)->status, 200, "$_ is good") for qw(a b);
    my $name = 't:quota:{a}:api';
    $gateway->redis->cmd('DEL', $name);
    $gateway->redis->cmd('SET', $name, 'not a hash');
    is_deeply([map { $gateway->get('/', 'a')->status } 1 .. 3], [200, 200, 429], 'this id is counted in shared memory');
    is($gateway->get('/', 'b')->header('X-RateLimit-Remaining'), 1, 'another id is counted in Redis');
    like($gateway->nginx->error_log, qr/WRONGTYPE/, 'the log has the error of Redis');
    $gateway->redis->cmd('DEL', $name);
    becomes(sub { $gateway->count('a', 'api', 86400) }, 2, 'the units are reported once that key is gone');
    $gateway->nginx->stop;
};

done_testing;
