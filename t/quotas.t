# Quotas: kinds of plans, costs, dry runs, bypasses, and several tables at once.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use Wait qw(wait_until);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $gateway = Gateway->start(
    plans  => 'plan free 10r/d; plan pro 20r/d 5000r/2d; plan own custom; plan all unlimited; default free;',
    http   => 'tollgate_plans search { plan free 5r/d; plan all 3r/d; plan pro unlimited; plan own custom; }',
    server => <<"END",
        location /decoded/ { tollgate api; tollgate_cost \$uri; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /cost/   { tollgate api; tollgate_cost \$arg_cost; $upstream }
        location /three/  { tollgate api; tollgate_cost 3; $upstream }
        location /quota/  { tollgate api; tollgate_cost 0; $upstream }
        location /dry/    { tollgate api; tollgate_dry_run on; $upstream }
        location /bypass/ { tollgate api; tollgate_bypass \$arg_a \$arg_b; $upstream }
        location /both/   { tollgate api search; $upstream }
        location /search/ { tollgate search; $upstream }
END
);
my $redis = $gateway->redis;
wait_for_room($redis, 86400);

my $keys = 0;

# A new key: its text and its id.
sub key { my (%record) = @_; my $n = ++$keys; $gateway->import_key("key$n", id => "id$n", plan => 'free', %record); return ("key$n", "id$n") }

sub left { my ($r) = @_; return join ' ', $r->status, $r->header('X-RateLimit-Remaining') // '-' }

subtest 'kinds of plans' => sub {
    my ($key, $id) = key(plan => 'all');
    is(left($gateway->get('/', $key)), '200 -', 'unlimited');
    is($redis->cmd('EXISTS', "t:quota:{$id}:api"), 0, '... is not counted');
    ($key, $id) = key(plan => 'own', limits => '2r/d 7r/2d');
    is(join(', ', map { left($gateway->get('/', $key)) } 1 .. 3), '200 1, 200 0, 429 0', 'custom limits are the key\'s own');
    ($key, $id) = key(plan => 'nobody');
    is($gateway->get('/', $key)->header('X-RateLimit-Limit'), 10, 'the default for a plan that is not in the table');
};

subtest 'a change of plan keeps the counts' => sub {
    my ($key, $id) = key();
    $gateway->get('/', $key) for 1 .. 3;
    my $limit_is = sub {
        my ($limit) = @_;
        wait_until('the change to be heard of', sub { $gateway->get('/quota/', $key)->header('X-RateLimit-Limit') == $limit });
    };
    $gateway->subscribed(1);
    $gateway->change_key($key, plan => 'pro');
    $limit_is->(20);
    is(left($gateway->get('/', $key)), '200 16', 'to one that allows more');
    $gateway->change_key($key, plan => 'own', limits => '4r/d');
    $limit_is->(4);
    is(left($gateway->get('/', $key)), '429 0', '... and to one that allows less');
};

subtest 'tollgate_cost' => sub {
    my ($key, $id) = key();
    is(left($gateway->get('/three/', $key)), '200 7', 'a number');
    is(left($gateway->get('/cost/?cost=5', $key)), '200 2', 'a variable');
    is(left($gateway->get('/cost/?cost=3', $key)), '429 2', 'more than is left: refused, and costs nothing');
    is(left($gateway->get('/cost/?cost=2', $key)), '200 0', 'what is left');
    is(left($gateway->get('/quota/', $key)), '200 0', '0 shows the quota, also if it is exhausted');
    is($gateway->count($id, 'api', 86400), 10, 'all is counted');
    ($key, $id) = key();
    is(left($gateway->get('/cost/?cost=11', $key)), '429 10', 'above the limit: refused');
    is(left($gateway->get('/quota/', $key)), '200 10', '0 costs nothing');
    is($redis->cmd('EXISTS', "t:quota:{$id}:api"), 0, '... and neither writes to Redis');
    my $left = 10;
    for my $cost ('', 'x', '-1', '1.5', '1e1', '0x2', '+2', ' 2', '-99999999999999999999') {
        (my $text = $cost) =~ s/ /%20/;
        $left--;
        is(left($gateway->get("/cost/?cost=$text", $key)), "200 $left", "invalid '$cost': 1");
    }
    is(scalar(() = $gateway->nginx->error_log =~ /\[error\] .*invalid tollgate_cost ".*", 1 is taken/g), 9, '... with a log line each');
    for my $cost ('1000000000001', '9223372036854775808', '99999999999999999999') {
        my $response = $gateway->get("/cost/?cost=$cost", $key);
        is(left($response), "429 $left", "'$cost' is more than any limit: refused");
        like($response->body, qr/"cost_exceeds_limit"/, '... at any time');
    }
    $gateway->get('/decoded/%0A%0Dforged', $key);
    unlike($gateway->nginx->error_log, qr/^\r?forged/m, '... and decoded client input adds no line to the log');
    like($gateway->nginx->error_log, qr/invalid tollgate_cost "\?"/, '... which shows "?" instead');
};

subtest 'tollgate_dry_run' => sub {
    my ($key, $id) = key(plan => 'own', limits => '2r/d');
    my @got = map { $gateway->get('/dry/', $key) } 1 .. 4;
    is(join(', ', map { left($_) } @got), '200 1, 200 0, 200 0, 200 0', 'refuses nothing');
    like($got[3]->body, qr/^uri=/, '... and forwards');
    is($got[3]->header('Retry-After'), undef, '... without Retry-After');
    is($gateway->count($id, 'api', 86400), 2, '... but counts');
    is(scalar(() = $gateway->nginx->error_log =~ /refuses the request, dry run: rate_limit_exceeded, key "$id", plan "own"/g), 2, '... and logs');
    for (undef, 'unknown') {
        my $r = $gateway->get('/dry/', $_);
        is(join(' ', $r->status, $r->header('WWW-Authenticate') // '-'), '200 -', 'without a valid key');
        like($r->body, qr/authorization= /, '... the upstream gets no key');
    }
};

subtest 'tollgate_bypass' => sub {
    my ($key, $id) = key();
    is($gateway->get("/bypass/?$_")->status, 200, $_) for 'a=1', 'b=yes', 'a=0&b=1';
    is($gateway->get("/bypass/?$_")->status, 401, $_) for '', 'a=0', 'a=&b=0';
    is(left($gateway->get('/bypass/?a=1', $key)), '200 -', 'with a key');
    is($redis->cmd('EXISTS', "t:quota:{$id}:api"), 0, '... counts nothing');
};

subtest 'two tables: both grant, or neither is charged' => sub {
    my ($key, $id) = key();
    my $counts = sub { join ' ', map { $gateway->count($id, $_, 86400) // 0 } qw(api search) };
    is(left($gateway->get('/both/', $key)), '200 4', 'the one with less left is shown');
    is($counts->(), '1 1', 'both are charged');
    $gateway->get('/search/', $key) for 1 .. 4;
    is(left($gateway->get('/both/', $key)), '429 0', 'one is spent');
    is($counts->(), '1 5', '... so neither is charged');
    is(left($gateway->get('/', $key)), '200 8', 'the other still grants alone');
    ($key, $id) = key(plan => 'all');
    is(left($gateway->get('/both/', $key)), '200 2', 'unlimited in one, limited in the other');
    is($counts->(), '0 1', '... is charged there');
    ($key, $id) = key(plan => 'own', limits => '2r/d');
    is(join(', ', map { left($gateway->get('/both/', $key)) } 1 .. 3), '200 1, 200 0, 429 0', 'custom in both');
    is($counts->(), '2 2', '... counts in each');
    ($key, $id) = key(plan => 'nobody');
    is($gateway->get('/both/', $key)->status, 403, 'a plan that is not in one of them');
    is($counts->(), '0 0', '... is charged nowhere');
};

subtest 'counters expire with their longest window' => sub {
    my ($key, $id) = key(plan => 'pro');
    $gateway->get('/', $key);
    my $ends = 2 * 86400 * (1 + int($redis->cmd('TIME')->[0] / (2 * 86400)));
    is($redis->cmd('PEXPIRETIME', "t:quota:{$id}:api"), $ends * 1000, 'at its end');
    $redis->cmd('HSET', 't:key:' . sha256_hex($key), plan => 'own', limits => '9r/s');
    is($gateway->get('/', $key)->status, 200, 'a request on a plan with shorter windows');
    is($redis->cmd('PEXPIRETIME', "t:quota:{$id}:api"), $ends * 1000, '... keeps the counts of the longer ones');
};

subtest 'a clock that goes back' => sub {
    my ($seconds) = @{ $redis->cmd('TIME') };
    for my $ahead ([20, '429 0', 'a window counted by a clock 20 s ahead still counts'],
        [120, '200 8', '... one by a clock that was wrong does not'])
    {
        my ($key, $id) = key(plan => 'own', limits => '9r/s');
        $redis->cmd('HSET', "t:quota:{$id}:api", '1.number', $seconds + $ahead->[0], '1.count', 9);
        is(left($gateway->get('/', $key)), $ahead->[1], $ahead->[2]);
    }
};

$gateway->nginx->stop;
done_testing;
