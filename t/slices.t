# Slices: a worker grants requests of a busy key from units in its own memory. The counts stay exact, and a change of
# the key ends its slices within 200 ms.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room in_one_window);
use Http;
use Load;
use Time::HiRes qw(time);
use Wait qw(becomes wait_until);

sub start_gateway {
    my ($plans, $workers) = @_;
    my $gateway = Gateway->start(plans => $plans, workers => $workers // 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->subscribed($workers // 2);
    wait_for_room($gateway->redis, 3600);
    return $gateway;
}

sub load {
    my ($gateway, %options) = @_;
    return Load->run(servers => [$gateway->address], connections => 16, token => 'k', %options);
}

# Sends requests for this many seconds.
sub load_for {
    my ($gateway, $seconds) = @_;
    my $end = time + $seconds;
    return load($gateway, until => sub { time > $end });
}

# A change was made 200 ms ago. Each connection may have a request that its worker reads before the change: on a busy
# machine, a worker may not run for longer than that.
sub is_changed {
    my ($gateway, $status) = @_;
    my $seen = load($gateway, requests => 500)->{status};
    my $before = 500 - ($seen->{$status} // 0);
    cmp_ok($before, '<=', 16, "requests are answered with $status") or diag(explain($seen));
    return;
}

for my $change (['disabled', state => 'disabled'], ['moved to a plan that the table lacks', plan => 'other'],
    ['expired', expires => 1]) {
    my ($name, @fields) = @$change;
    subtest "a key that is $name is refused within 200 ms" => sub {
        my $gateway = start_gateway('plan free 1000000r/h;');
        is_deeply([keys %{ load_for($gateway, 0.5)->{status} }], [200], 'busy');
        $gateway->change_key('k', @fields);
        load_for($gateway, 0.2);
        my $refused = $name =~ /plan/ ? 403 : 401;
        is_changed($gateway, $refused);
        $gateway->nginx->stop;
    };
}

subtest 'changed limits apply within 200 ms' => sub {
    my $gateway = start_gateway('plan free custom;');
    $gateway->change_key('k', limits => '1000000r/h');
    load_for($gateway, 0.5);
    $gateway->change_key('k', limits => '10r/h');
    load_for($gateway, 0.2);
    is_changed($gateway, 429);
    $gateway->nginx->stop;
};

subtest 'a ban that begins with other plan tables, or at another node, applies within 200 ms' => sub {
    # Both tables belong to the same id. Its ban begins at the first node, with the table that has one request a day.
    my $strict = 'tollgate_plans strict redis=main { plan free 1r/d; ban after=3 within=1m for=10m; }';
    my %options = (
        plans   => 'plan free 1000000r/h; ban after=1000 within=1m for=10m;', workers => 2, http => $strict,
        server  => 'location /strict/ { tollgate strict; proxy_pass http://unix:%DIR%/upstream.sock; }',
    );
    my $gateway = Gateway->start(%options);
    my $other = Gateway->start(%options, share => $gateway);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $_->subscribed(4) for $gateway, $other;
    wait_for_room($gateway->redis, 86400);
    is_deeply([keys %{ load_for($_, 0.5)->{status} }], [200], 'busy') for $gateway, $other;
    is(join(' ', map { $gateway->get('/strict/', 'k')->status } 1 .. 4), '200 429 429 429', 'a ban');
    load_for($_, 0.2) for $other, $gateway;
    is_changed($_, 429) for $other, $gateway;
    is($gateway->get('/', 'k')->json->{code}, 'api_key_banned', 'the key is banned');
    $_->nginx->stop for $other, $gateway;
};

subtest 'a worker that is killed loses its slices: never more than the limit is granted' => sub {
    my $limit = 20_000;
    my $gateway = start_gateway("plan free ${limit}r/h;");
    my $granted = 0;
    for (1 .. 6) {
        my $result = load($gateway, requests => 2000);
        $granted += $result->{status}{200} // 0;
        $gateway->nginx->kill_worker;
    }
    my $counted = sub { $gateway->count('k1', 'api', 3600) };
    $granted += load($gateway, requests => 2 * $limit)->{status}{200};
    cmp_ok($granted, '<=', $limit, "$granted of $limit are granted");
    my $lost = $gateway->status->{redis}[0]{lease_units}{lost};
    cmp_ok($granted + $lost, '>=', 0.9 * $limit, "... and the status counts what is lost: $lost");
    cmp_ok($counted->(), '>=', $granted, '... with ' . $counted->() . ' counted');
    $gateway->nginx->stop;
};

subtest 'slices go back: idle, at a reload, and at a graceful exit' => sub {
    my $gateway = start_gateway('plan free 1000000r/h;');
    my $granted = load($gateway, requests => 5000)->{status}{200};
    becomes(sub { $gateway->count('k1', 'api', 3600) }, $granted, 'idle: Redis counts what was granted');
    $granted += load($gateway, requests => 5000)->{status}{200};
    my @old = $gateway->nginx->workers;
    $gateway->nginx->reload;
    wait_until('the old workers to exit', sub { !grep { kill 0 => $_ } @old });
    becomes(sub { $gateway->count('k1', 'api', 3600) }, $granted, 'at a reload as well');
    $granted += load($gateway, requests => 5000)->{status}{200};
    $gateway->nginx->stop;
    is($gateway->count('k1', 'api', 3600), $granted, 'at an exit as well');
};

subtest 'each worker shows its own requests, one unit less each time' => sub {
    my $gateway = start_gateway('plan free 100000r/h;', 1);
    my ($expected, @wrong) = (100_000);
    my $client = Http->connect($gateway);
    for my $i (1 .. 900) {
        my $left = $client->request('GET', '/', { Authorization => 'Bearer k' })->header('X-RateLimit-Remaining');
        push @wrong, "request $i: $left" if $left != --$expected;
    }
    is_deeply(\@wrong, [], '900 requests at one worker');
    $gateway->nginx->stop;
};

subtest 'refusals are counted although a worker repeats them' => sub {
    my $gateway = start_gateway('plan free 10r/h;');
    is_deeply(load($gateway, requests => 2000)->{status}, { 200 => 10, 429 => 1990 }, '10 of 2,000');
    my $decisions = $gateway->status->{redis}[0]{quota_decisions};
    my $decided = 0;
    $decided += $_ for values %$decisions;
    is($decided, 2000, 'each decision is counted');
    is($gateway->count('k1', 'api', 3600), 10, 'Redis counts 10');
    $gateway->nginx->stop;
};

# A request of cost 1 waits for the short window, one of cost 4 for the long one as well. In a sliding window, more units
# fade later.
for my $case (['the short window', '5r/4s 8r/h', 4, 4, 5, 3600], ['a few units', '10r/10s window=sliding', 10, 10, 12, 20]) {
    my ($what, $plan, $period, $cost, $short, $longest) = @$case;
    subtest "a refusal that waits for $what is not repeated for a larger cost" => sub {
        my $gateway = Gateway->start(plans => "plan free $plan;", location => 'tollgate_cost $arg_cost;');
        $gateway->import_key('k', id => 'k1', plan => 'free');
        $gateway->subscribed(1);
        wait_for_room($gateway->redis, 3600);
        my ($small, $large) = @{ in_one_window($gateway->redis, $period, sub {
            my $client = Http->connect($gateway);
            my $wait = sub { $client->request('GET', "/?cost=$_[0]", { Authorization => 'Bearer k' })->header('Retry-After') };
            wait_until('a refusal', sub { $wait->(1) });
            $wait->(1) for 1 .. 5;
            return [map { $wait->($_) } 1, $cost];
        }) };
        cmp_ok($small, '<', $short, "cost 1 waits $small s");
        cmp_ok($large, '>', $small, "cost $cost waits longer: $large s");
        cmp_ok($large, '<=', $longest, '... until the window resets');
        $gateway->nginx->stop;
    };
}

done_testing;
