# What a reload changes, as module/docs/reloads.md says it: what each change of the configuration
# does to keys, counts, budgets and statistics. t/reload_names.t tests what happens to leases and owed units.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Command;
use Gateway qw(wait_for_room);
use Load;
use RedisServer;
use Wait qw(becomes wait_until);

my $redis = RedisServer->start(tcp => 1);
my ($address, $other_address) = ($redis->address, '127.0.0.1:' . $redis->port);
wait_for_room($redis, 86400, 120);

my $tollgate = Command->new(redis => $redis->address, prefix => 't:');

sub start_gateway {
    my $gateway = Gateway->start(
        redis_server => $redis,
        redis        => 'timeout 1s;',
        # Each unit is in Redis at once.
        table        => 'lease=off',
        plans        => 'plan free 5r/d; anonymous 3r/d; history 9d;',
        @_,
    );
    # The command records the change. Otherwise a worker that starts could not know that there was no other.
    my $imported = $tollgate->run({ stdin => "k\n" }, qw(key import --plan free --id k1));
    die $imported->{err} if $imported->{status};
    $gateway->subscribed(1);
    return $gateway;
}

sub stop {
    my ($gateway) = @_;
    $gateway->nginx->stop;
    $redis->cmd('FLUSHALL');
}

sub change {
    my ($gateway, $from, $to) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $before = $gateway->nginx->{options}{conf};
    my $after = $before =~ s/$from/$to/gr;
    isnt($after, $before, "reload: $to");
    $gateway->nginx->reload(conf => $after);
    $gateway->nginx->old_workers_gone;
}

# Whether the node knows the key: it serves known keys while Redis is unreachable.
sub knows {
    my ($gateway, $name) = @_;
    wait_until('the subscription', sub { redis_of($gateway, $name // 'main')->{subscribed_workers} >= 1 });
    $redis->sigstop;
    my $status = $gateway->get('/', 'k')->status;
    $redis->sigcont;
    return { 200 => 'known', 503 => 'not known' }->{$status} // $status;
}

sub get { my ($gateway) = @_; my $r = $gateway->get('/', 'k'); return $r->status . ' ' . ($r->header('X-RateLimit-Remaining') // '-') }
sub budget { my ($gateway) = @_; my $r = $gateway->get('/'); return $r->status . ' ' . $r->header('X-RateLimit-Remaining') }
sub redis_of { my ($gateway, $name) = @_; return (grep { $_->{name} eq $name } @{ $gateway->status->{redis} })[0] }
sub granted { my ($gateway) = @_; return { map { ("$_->{tables}/$_->{plan}" => $_->{verdicts}{granted}) } grep { $_->{verdicts}{granted} } @{ $gateway->status->{requests} } } }

sub is_used {
    my ($gateway) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is(get($gateway), '200 4', 'a request');
    is(budget($gateway), '401 2', '… and one without a key');
    is_deeply(granted($gateway), { 'api/free' => 1 }, '… in the statistics');
}

subtest 'nothing, and other directives' => sub {
    my $gateway = start_gateway();
    is_used($gateway);
    change($gateway, qr/prefix t:;/, 'prefix t:; connect_timeout 3s;');
    is(get($gateway), '200 3', 'the count continues');
    is(budget($gateway), '401 1', '… and the budget of the address');
    is_deeply(granted($gateway), { 'api/free' => 2 }, '… and the statistics');
    is(knows($gateway), 'known', 'the key is known');
    stop($gateway);

    $gateway = start_gateway();
    is_used($gateway);
    change($gateway, qr/prefix t:;/, 'prefix t:; on_failure deny;');
    $redis->sigstop;
    is($gateway->get('/', 'k')->status, 503, 'the other directive applies');
    $redis->sigcont;
    stop($gateway);
};

subtest 'a limit' => sub {
    my $gateway = start_gateway();
    is_deeply([map { get($gateway) } 1 .. 3], ['200 4', '200 3', '200 2'], 'three of five');
    change($gateway, qr/plan free 5r/, 'plan free 2r');
    is(get($gateway), '429 0', 'a lower limit that is already used');
    change($gateway, qr/plan free 2r/, 'plan free 9r');
    is(get($gateway), '200 5', 'a higher one');
    stop($gateway);

    $gateway = start_gateway(table => '', plans => 'plan free 100000r/d;');
    my $granted = Load->run(servers => [$gateway->address], connections => 16, token => 'k', requests => 2000)->{status}{200};
    cmp_ok(redis_of($gateway, 'main')->{leases}, '>', 0, "$granted requests, and leases");
    change($gateway, qr/plan free 100000r/, 'plan free 1000r');
    is($gateway->get('/', 'k')->status, 429, 'a lower limit applies to the units of a lease as well');
    stop($gateway);
};

subtest 'windows' => sub {
    my $gateway = start_gateway();
    is(get($gateway), '200 4', 'one of five');
    change($gateway, qr/plan free 5r\/d;/, 'plan free 5r/d 9r/7d;');
    is(get($gateway), '200 3', 'the count of a window that remains continues');
    is($gateway->count('k1', 'api', 7 * 86400), 1, '… and a new one begins');
    stop($gateway);
};

subtest 'the name of a plan' => sub {
    my $gateway = start_gateway();
    is(get($gateway), '200 4', 'one of five');
    change($gateway, qr/plan free 5r\/d;/, 'plan basic 5r/d;');
    is($gateway->get('/', 'k')->json->{code}, 'plan_not_allowed', 'the plan of the key is gone');
    # The command refuses a plan that is in no published table.
    wait_until('the published table', sub { $redis->cmd('HGET', 't:plans', 'api') =~ /basic/ });
    my $moved = $tollgate->run(qw(key set k1 --plan basic));
    is($moved->{status}, 0, 'the key is moved') or diag($moved->{err});
    becomes(sub { get($gateway) =~ /^200 (\d)/; $1 }, 3, '… and its count continues');
    change($gateway, qr/plan basic 5r\/d;/, 'plan other 4r/d; default other;');
    is(get($gateway), '200 1', 'with a default, that plan applies');
    stop($gateway);
};

subtest 'the name of a plan table' => sub {
    my $gateway = start_gateway();
    is_used($gateway);
    change($gateway, qr/\bapi\b/, 'renamed');
    is(get($gateway), '200 4', 'the quota begins with its whole limit');
    is(budget($gateway), '401 2', '… and so does the budget of the address');
    is_deeply([map { $gateway->count('k1', $_, 86400) } qw(api renamed)], [1, 1], 'Redis has both counts');
    is_deeply(granted($gateway), { 'api/free' => 1, 'renamed/free' => 1 }, '… and the statistics both names');
    my $history = $tollgate->json(qw(usage k1 --history));
    is_deeply([sort map { "$_->{table} $_->{units}" } @{ $history->{days} }], ['api 1', 'renamed 1'], '… and the history');
    is(knows($gateway), 'known', 'the key is known');
    stop($gateway);
};

subtest 'the name of a Redis' => sub {
    my $gateway = start_gateway();
    is_used($gateway);
    change($gateway, qr/\bmain\b/, 'renamed');
    is(get($gateway), '200 3', 'the count continues');
    is(budget($gateway), '401 1', '… and the budget of the address');
    is_deeply(granted($gateway), { 'api/free' => 2 }, '… and the statistics of plans');
    is(redis_of($gateway, 'renamed')->{quota_decisions}{redis}, 1, 'the counters of the new name begin at 0');
    is(knows($gateway, 'renamed'), 'known', 'the key is known');
    stop($gateway);
};

my @addresses = (
    ['another order',   'known',     "server $address $other_address;", "server $other_address $address;"],
    ['an address less', 'not known', "server $address $other_address;", "server $address;"],
    ['resolve',         'known',     "server $other_address;",          "resolver 127.0.0.1:1; server $other_address resolve;"],
);
for (@addresses) {
    my ($what, $expected, $before, $after) = @$_;
    subtest "the addresses of a Redis: $what" => sub {
        my $gateway = start_gateway(servers => $before);
        is(get($gateway), '200 4', 'one of five');
        change($gateway, quotemeta $before, $after);
        is(knows($gateway), $expected, "the key is $expected");
        wait_until('Redis', sub { $gateway->get('/', 'k')->status == 200 });
        cmp_ok($gateway->count('k1', 'api', 86400), '>=', 2, 'the count continues');
        stop($gateway);
    };
}

subtest 'the prefix' => sub {
    my $gateway = start_gateway();
    is_used($gateway);
    change($gateway, qr/prefix t:/, 'prefix u:');
    is($gateway->get('/', 'k')->status, 401, 'a key of the other prefix is not known');
    is(budget($gateway), '401 0', '… which the budget of the address counts: it continues');
    change($gateway, qr/prefix u:/, 'prefix t:');
    is(get($gateway), '200 3', 'the old prefix again');
    stop($gateway);
};

subtest 'a table moves to another Redis' => sub {
    my $gateway = start_gateway(http => "tollgate_redis second { server $other_address; prefix t:; database 5; timeout 2s; }
        tollgate_plans spare redis=second { plan free 5r/d; }");
    is_used($gateway);
    change($gateway, qr/api redis=main/, 'api redis=second');
    is($gateway->get('/', 'k')->status, 401, 'which does not have the key');
    stop($gateway);
};

subtest 'the size of the zone' => sub {
    my $gateway = start_gateway(http => 'tollgate_zone 1m;');
    is_used($gateway);
    change($gateway, qr/tollgate_zone 1m/, 'tollgate_zone 2m');
    is(get($gateway), '200 3', 'the count in Redis continues');
    is(budget($gateway), '401 2', 'the budget of the address begins again');
    is_deeply(granted($gateway), { 'api/free' => 1 }, '… and so do the statistics');
    is(redis_of($gateway, 'main')->{quota_decisions}{redis}, 1, '… those of Redis as well');
    change($gateway, qr/tollgate_zone 2m/, 'tollgate_zone 1m');
    is(knows($gateway), 'not known', 'a key has to be looked up again');
    stop($gateway);
};

done_testing;
