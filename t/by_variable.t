# `tollgate_plans NAME by=$variable`: each value of the variable has a counter for each id.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use Http;
use Load;
use RedisCluster;
use Test::More;
use TwoTables qw(start_tables counted_in status_of granted unavailable $upstream $durable);
use Wait qw(becomes wait_until);

# A gateway with the plan table "api" of ids and the plan table "users" of the values of ?user=.
sub start {
    my (%options) = @_;
    my $users = delete $options{users} // 'plan free 5r/d;';
    my $server = 'location /usage { tollgate users; tollgate_cost 0; tollgate_usage; }' . (delete $options{server} // '');
    my $gateway = start_tables(table => 'users', by => '$arg_user', of_table => $users, server => $server, %options);
    $gateway->import_key($_, id => $_, plan => 'free') for 'k1', 'k2';
    wait_for_room($gateway->redis, 86400, 60);
    return $gateway;
}

# The name of the counter of a value, and its count of this day.
sub counter { my ($id, $value, $table) = @_; return "t:quota:{$id}:" . ($table // 'users') . ($value eq '' ? '' : ':' . substr sha256_hex($value), 0, 16) }
sub counted { my ($gateway, @counter) = @_; return counted_in($gateway->redis, counter(@counter)) }

subtest 'each value of each id has a counter' => sub {
    my $gateway = start(http => 'tollgate_plans months redis=main by=$arg_user { plan free 5r/d 100r/month; }', users => 'plan free 5r/d; default free;',
        server => "location /ietf/ { tollgate users; tollgate_headers ietf; $upstream }
                   location /months/ { tollgate months; $upstream }
                   location /methods/ { tollgate users; set \$arg_user \$request_method; $upstream }");
    is(granted($gateway, 7, '/users/?user=alice', 'k1'), 5, 'a value has the limit of the plan');
    is(granted($gateway, 7, '/users/?user=bob', 'k1'), 5, '… and another value has its own');
    is(granted($gateway, 7, '/users/?user=alice', 'k2'), 5, '… as the same value of another id');
    is(counted($gateway, 'k1', 'alice'), 5, 'Redis counts it under the hash of the value');
    my $left = $gateway->redis->cmd('PTTL', counter('k1', 'alice'));
    ok($left > 0 && $left <= 86_400_000, '… until its window ends');
    is($gateway->redis->cmd('EXISTS', counter('k1', '')), 0, 'the id has no counter');
    my $r = $gateway->get('/users/?user=carol', 'k1');
    is($r->header('X-RateLimit-Remaining'), 4, 'a response shows the counter of its value');
    is($gateway->get('/users/?user=alice', 'k1')->header('X-RateLimit-Remaining'), 0, '… also if it is refused');
    like($gateway->get('/ietf/?user=carol', 'k1')->header('RateLimit'), qr/"free-day";r=3;/, '… as RateLimit does');
    is($gateway->get('/usage?user=carol', 'k1')->json->{windows}[0]{remaining}, 3, '… and tollgate_usage');
    is(counted($gateway, 'k1', 'carol'), 2, '… which counts nothing');
    my $long = 'u' x 4000;
    is(granted($gateway, 7, "/users/?user=$long", 'k1'), 5, 'a long value');
    is(counted($gateway, 'k1', $long), 5, '… has a counter of the same kind');
    is(granted($gateway, 7, "/users/?user=${long}2", 'k1'), 5, '… of its own');
    is(granted($gateway, 7, '/months/?user=alice', 'k1'), 5, 'another table counts the values separately');
    is(granted($gateway, 3, '/users/', 'k1'), 3, 'a request without a value');
    is($gateway->get('/users/?user=', 'k1')->header('X-RateLimit-Limit'), undef, '… has no quota in this table');
    is_deeply([grep { !/:users:|:months:/ } @{ $gateway->redis->cmd('KEYS', 't:quota:*') }], [], '… and is not counted');
    $gateway->nginx->stop;
};

subtest 'all tables of a location grant a request, or none counts it' => sub {
    my $gateway = start(plans => 'plan free 6r/d;');
    is(granted($gateway, 7, '/both/?user=alice', 'k1'), 5, 'the limit of the value');
    is(counted($gateway, 'k1', '', 'api'), 5, '… and the id is charged for what was granted');
    is(granted($gateway, 3, "/both/?user=$_", 'k1'), $_ eq 'bob' ? 1 : 0, "the limit of the id applies to $_") for 'bob', 'carol';
    is_deeply([map { counted($gateway, 'k1', $_) } 'bob', 'carol'], [1, 0], '… and a refused request is not counted for the value');
    is(granted($gateway, 8, '/both/', 'k2'), 6, 'without a value, the other table decides');
    $gateway->nginx->stop;
};

subtest 'several tables with values' => sub {
    my $gateway = start(http => 'tollgate_plans models redis=main lease=off by=$arg_model { plan free 8r/d; }',
        server => "location /three/ { tollgate models users api; $upstream }");
    is(granted($gateway, 7, '/three/?user=alice&model=small', 'k1'), 5, 'the first user');
    is(granted($gateway, 7, '/three/?user=bob&model=small', 'k1'), 3, 'the model of both');
    is(granted($gateway, 7, '/three/?user=bob&model=large', 'k1'), 2, 'the second user');
    is(granted($gateway, 7, '/three/?user=small&model=alice', 'k1'), 5, 'values in other places are others');
    is(granted($gateway, 9, '/three/?model=medium', 'k1'), 8, 'one without a value');
    is(counted($gateway, 'k1', '', 'api'), 23, 'the id is charged once for each');
    $gateway->nginx->stop;
};

subtest 'leases and slices of values at two nodes' => sub {
    my %options = (users => 'plan free 2000r/d;', lease => '');
    my $one = start(%options, workers => 2);
    my $two = start(%options, share => $one);
    $one->subscribed(3);
    my @users = map { "u$_" } 1 .. 4;
    my $all = Load->run(servers => [map { $_->address } $one, $two], connections => 6, requests => 10_000,
        token => 'k1', path => sub { push @users, my $user = shift @users; return "/both/?user=$user" });
    my $granted = $all->{status}{200};
    cmp_ok($granted, '<=', 8000, 'no limit is exceeded');
    my $acquires = $one->status->{redis}[0]{commands}{acquire} + $two->status->{redis}[0]{commands}{acquire};
    cmp_ok($acquires, '<', 0.5 * $granted, "leases serve most requests ($acquires calls, $granted granted)");
    my $sum = sub { my $sum = 0; $sum += counted($one, 'k1', "u$_") for 1 .. 4; return $sum };
    becomes($sum, $granted, 'what was not used is returned to the counters of the values');
    becomes(sub { counted($one, 'k1', '', 'api') }, $granted, '… and to the id');
    for my $user (map { "u$_" } 1 .. 4) {
        my $before = counted($one, 'k1', $user);
        my $rest = 2000 - $before;
        my $more = Load->run(servers => [map { $_->address } $one, $two], connections => 2, requests => $rest + 50,
            token => 'k1', path => "/users/?user=$user")->{status}{200} // 0;
        wait_until("all units of $user", sub { ($more += granted($one, 1, "/users/?user=$user", 'k1') + granted($two, 1, "/users/?user=$user", 'k1')) >= $rest }) if $more < $rest;
        is($more, $rest, "$user is granted its limit");
    }
    $_->nginx->stop for $one, $two;
};

subtest 'a recall of the leases of a value' => sub {
    my %options = (users => 'plan free 100000r/d;', lease => '');
    my $one = start(%options);
    my $two = start(%options, share => $one);
    $one->subscribed(2);
    my $redis = $one->redis;
    my $leased = sub { return $redis->cmd('HGET', counter('k1', $_[0]), 'lease_grant') };
    wait_until("a lease of $_", sub { granted($one, 20, "/users/?user=$_", 'k1'); $leased->($_) }) for 'alice', 'bob';
    my $events = $redis->connection;
    $events->cmd('SUBSCRIBE', 't:events');
    $redis->cmd('HSET', counter('k1', 'alice'), '86400.count', 100_000);
    is(status_of($two, '/users/?user=alice', 'k1'), 429, 'no unit is left at another node');
    is($events->read->[2], 'recall:k1:' . substr(sha256_hex('alice'), 0, 16), 'the leases of the value are recalled');
    wait_until('their return', sub { $redis->cmd('HGET', counter('k1', 'alice'), '86400.count') < 100_000 });
    becomes(sub { status_of($two, '/users/?user=alice', 'k1') }, 200, '… and are granted there');
    $_->nginx->stop for $one, $two;
};

subtest 'an outage, a reload and a killed worker' => sub {
    my $gateway = start(users => 'plan free 20r/d;', redis_options => $durable, workers => 2);
    is(granted($gateway, 12, "/both/?user=$_", 'k1'), 12, "$_, counted by Redis") for 'alice', 'bob';
    $gateway->redis->kill;
    status_of($gateway, '/both/?user=alice', 'k1');    # the first ones find out
    status_of($gateway, '/both/?user=bob', 'k1');
    unavailable($gateway);
    my $more = granted($gateway, 12, '/both/?user=alice', 'k1');
    cmp_ok($more, '>=', 7, 'the counter of a value goes on in an outage');
    cmp_ok($more, '<=', 8, '… from the last count');
    is(status_of($gateway, '/both/?user=alice', 'k1'), 429, '… to its limit');
    is(granted($gateway, 22, '/both/?user=carol', 'k1'), 20, 'a new value has a counter too');
    $gateway->nginx->reload;
    is(status_of($gateway, '/both/?user=alice', 'k1'), 429, 'it survives a reload');
    cmp_ok(granted($gateway, 3, '/both/?user=bob', 'k1'), '>=', 2, '… with those that have units left');
    $gateway->nginx->kill_worker(($gateway->nginx->workers)[0]);
    is(status_of($gateway, '/both/?user=carol', 'k1'), 429, '… and a killed worker');
    $gateway->redis->restart;
    becomes(sub { counted($gateway, 'k1', 'alice') }, 20, 'Redis is told of each value');
    becomes(sub { counted($gateway, 'k1', 'carol') }, 20, '… also of one that it did not know');
    wait_until('the end of all reports', sub { $gateway->unsettled == 0 });
    my $bob = counted($gateway, 'k1', 'bob');
    cmp_ok($bob, '>=', 14, '… of all of them');
    is(counted($gateway, 'k1', '', 'api'), 40 + $bob, '… and the id');
    my @marks = @{ $gateway->redis->cmd('KEYS', 't:report:*') };
    is(scalar(grep { /:users:[0-9a-f]{16}:/ } @marks), 3, 'each value has a mark of its last report');
    $gateway->nginx->stop;
};

subtest 'a killed worker' => sub {
    my $gateway = start(users => 'plan free 1000000r/d;', lease => '');
    $gateway->subscribed(1);
    my $units = sub { $gateway->status->{redis}[0]{lease_units} };
    my $exact = 0;
    # Nobody knows what Redis granted in a call that was under way.
    for my $user (map { "u$_" } 1 .. 20) {
        my $connection = Http->connect($gateway);
        my $granted = grep { $connection->request('GET', "/both/?user=$user", { Authorization => 'Bearer k1' })->status == 200 } 1 .. 300;
        $gateway->nginx->kill_worker(($gateway->nginx->workers)[0]);
        wait_until('the end of all leases', sub {
            my $now = eval { $units->() } or return;
            return $now->{granted} == $now->{spent} + $now->{returned} + $now->{lost};
        });
        cmp_ok(counted($gateway, 'k1', $user), '>=', $granted, "$user: what was granted is counted");
        $exact = counted($gateway, 'k1', $user) == $granted;
        last if $exact;
    }
    ok($exact, 'its slice is returned to the counter of its value');
    $gateway->nginx->stop;
};

subtest 'nodes in an outage' => sub {
    my %options = (users => 'plan free 100r/d;', redis => 'timeout 500ms;');
    my $one = start(%options);
    my $two = start(%options, share => $one);
    becomes(sub { $_->status->{redis}[0]{nodes} }, 2, 'a node knows of two') for $one, $two;
    is(scalar(grep { granted($one, 1, '/users/?user=alice', 'k1') && granted($two, 1, '/users/?user=alice', 'k1') } 1 .. 10), 10, 'counted by Redis');
    $one->redis->sigstop;
    my $first = granted($one, 100, '/users/?user=alice', 'k1');
    my $second = granted($two, 100, '/users/?user=alice', 'k1');
    # The first one has 10 of the 19 units that it saw, the second one 10 of 20.
    is_deeply([$first, $second], [43, 40], 'a node grants its share of what was left of a value');
    is(granted($two, 100, '/users/?user=bob', 'k1'), 50, '… and its share of the limit of a new value');
    $one->redis->sigcont;
    wait_until('all to be settled', sub { $one->unsettled + $two->unsettled == 0 });
    # The call of each node that found out may have been counted as well.
    my $over = counted($one, 'k1', 'alice') - 20 - $first - $second;
    ok($over >= 0 && $over <= 2, "Redis counts it afterwards ($over more)");
    $_->nginx->stop for $one, $two;
};

subtest 'what belongs to the id' => sub {
    my $gateway = start(users => 'plan free 2r/d; plan own custom; ban after=4 within=1h for=1h strikes=all;',
        http => 'tollgate_plans mild redis=main lease=off by=$arg_user { plan free 2r/d; ban after=4 within=1h for=1h; }',
        server => "location /mild/ { tollgate mild api; $upstream }");
    granted($gateway, 9, '/mild/?user=alice', 'k2');
    is($gateway->redis->cmd('EXISTS', 't:ban:{k2}'), 0, 'a value that is refused is no strike of its id');
    is(status_of($gateway, '/mild/?user=bob', 'k2'), 200, '… and bans no other value');
    $gateway->import_key('successor', id => 'k1', plan => 'free');
    is(granted($gateway, 1, '/users/?user=alice', $_), 1, "the key '$_'") for 'k1', 'successor';
    is(status_of($gateway, '/users/?user=alice', 'k1'), 429, '… and its successor share the counter of a value');
    granted($gateway, 3, "/users/?user=$_", 'k2') for 'alice', 'bob', 'carol';
    is(status_of($gateway, '/users/?user=dave', 'k2'), 200, 'with strikes=all, three strikes, each of another value');
    granted($gateway, 2, '/users/?user=dave', 'k2');
    is($gateway->get('/users/?user=erin', 'k2')->json->{code}, 'api_key_banned', 'the fourth one bans the id, with all values');
    $gateway->import_key('k3', id => 'k3', plan => 'own', limits => '3r/d in_flight=1');
    is(granted($gateway, 4, '/users/?user=alice', 'k3'), 3, 'the limits of a record are those of a value');
    $gateway->nginx->stop;
};

subtest 'values that a client makes up' => sub {
    my %options = (by => '$arg_user values=5', users => 'plan free 4r/d 6r/month; plan own custom;', lease => '');
    my $one = start(%options);
    my $two = start(%options, share => $one);
    my $next = 0;
    my $flood = Load->run(servers => [map { $_->address } $one, $two], connections => 8, requests => 300, token => 'k1', path => sub { return '/users/?user=' . $next++ });
    is($flood->{status}{200}, 5 + 4, 'five values have a counter, and the others share one');
    my @keys = grep { /^t:quota:\{k1}:users/ } @{ $one->redis->cmd('KEYS', 't:quota:*') };
    is(@keys, 6, 'Redis stores no more') or diag "@keys";
    is(counted($one, 'k1', '', 'users:others'), 4, '… and counts in the shared counter what it has granted');
    my @known = grep { counted($one, 'k1', $_) } 0 .. 299;
    is(scalar(grep { granted($two, 5, "/users/?user=$_", 'k1') == 3 } @known), 5, 'a value with a counter has its own limit');
    my $refused = $one->get('/users/?user=new', 'k1');
    is(join(' ', $refused->status, map { $refused->header("X-RateLimit-$_") } 'Limit', 'Remaining'), '429 4 0', 'a response shows the shared counter');
    is($one->get('/usage?user=new', 'k1')->json->{windows}[0]{remaining}, 0, '… and so does tollgate_usage');
    is(granted($one, 5, "/users/?user=$_", 'k2'), 4, "another id has its own: $_") for 'alice', 'bob';
    for my $counter (@keys) {
        cmp_ok(abs($one->redis->cmd('PEXPIRETIME', $counter) - $one->redis->cmd('PEXPIRETIME', $keys[0])), '<=', 5000, "$counter expires with the longest window") if $one->redis->cmd('INFO', 'server') =~ /redis_version:[78]/;
    }
    $_->nginx->stop for $one, $two;
};

subtest 'a flood of values' => sub {
    my $gateway = start(by => '$arg_user values=10000', users => 'plan free 4r/d;', workers => 2, redis_options => $durable);
    is(granted($gateway, 3, "/both/?user=$_", 'k2'), 3, "$_ of another id") for 'alice', 'bob';
    my ($next, $values) = (0, 3000);
    my $flood = Load->run(servers => [$gateway->address], connections => 8, requests => $values, token => 'k1', path => sub { return '/both/?user=' . $next++ });
    is($flood->{status}{200}, $values, 'Redis has a counter for each value');
    my $stored = $gateway->status->{zone}{stores}{quotas}{entries};
    cmp_ok($stored, '<=', 992 + 4, "the node stores at most 992 of them ($stored)");
    my ($key) = grep { /\{k1}:users:/ } @{ $gateway->redis->cmd('KEYS', 't:quota:{k1}:*') };
    cmp_ok($gateway->redis->cmd('PTTL', $key), '>', 0, 'each expires');
    is(granted($gateway, 5, '/both/?user=0', 'k1'), 3, 'a counter that the node has evicted is that of Redis');
    $gateway->redis->kill;
    status_of($gateway, '/users/?user=found-out', 'k1') for 1 .. 4;
    unavailable($gateway);
    is(granted($gateway, 3, "/both/?user=$_", 'k2'), 1, "the counter of $_ of another id has survived") for 'alice', 'bob';
    my $alone = Load->run(servers => [$gateway->address], connections => 8, requests => $values, token => 'k1', path => sub { return '/both/?user=x' . $next++ });
    my ($granted, $refused) = map { $alone->{status}{$_} // 0 } 200, 503;
    cmp_ok($granted, '>', 300, "in the outage, some new values have room ($granted)");
    cmp_ok($granted, '<=', 992, '… not more than 992');
    is($granted + $refused, $values, '… and others get 503');
    is(status_of($gateway, '/both/?user=carol', 'k2'), 200, 'another id still has room');
    $gateway->redis->restart;
    wait_until('the end of all reports', sub { $gateway->unsettled == 0 });
    cmp_ok(counted($gateway, 'k1', '', 'api'), '>=', $values + 3 + $granted, 'the id is charged for all of them');
    $gateway->nginx->stop;
};

subtest 'a flood of values in a full zone' => sub {
    my $gateway = start(plans => 'plan free 2r/d;', users => 'plan free 4r/d;', http => 'tollgate_zone 256k;', redis_options => $durable);
    my $evicted = sub { $gateway->status->{zone}{stores}{quotas}{evictions} };
    my @ids;
    until ($evicted->()) {
        my @new = map { 'i' . (@ids + $_) } 1 .. 20;
        $gateway->import_key($_, id => $_, plan => 'free') for @new;
        die 'a new id is not granted' if grep { status_of($gateway, '/', $_) != 200 } @new;
        push @ids, @new;
    }
    my $lost = $evicted->();
    my @flooding = map { "f$_" } 1 .. 20;
    $gateway->import_key($_, id => $_, plan => 'free') for @flooding;
    my ($next, $values) = (0, 10_000);
    my $flood = Load->run(servers => [$gateway->address], connections => 8, requests => $values,
        token => sub { $flooding[$next % 20] }, path => sub { return '/users/?user=' . $next++ });
    is($flood->{status}{200}, $values, 'Redis decides each request of a flood') or diag explain $flood->{status};
    is(scalar(grep { granted($gateway, 4, "/users/?user=$_", $flooding[$_ % 20]) == 3 } 1 .. 40), 40, '… by the limit of its value');
    $gateway->redis->kill;
    status_of($gateway, '/users/?user=found-out', 'f1') for 1 .. 4;
    unavailable($gateway);
    # One whose counter was evicted is granted its whole limit, and its counter takes the place of one that was not.
    my @over = grep { granted($gateway, 2, '/', $_) == 2 } reverse @ids;
    cmp_ok(scalar @over, '<=', 16 * $lost, 'the counters of other ids have survived: of ' . @ids . ", $lost were evicted before, and " . @over . ' start again');
    $gateway->nginx->stop;
};

subtest 'costs that are settled' => sub {
    my $gateway = start(by => '$arg_user values=2', users => 'plan free 100r/d;', lease => '',
        upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }',
        server => "location /used/ { tollgate users; tollgate_cost 10 settle=\$upstream_http_x_used; $upstream }");
    is(status_of($gateway, '/used/?user=alice&used=3', 'k1'), 200, 'less than its cost');
    is(status_of($gateway, '/used/?user=bob&used=25', 'k1'), 200, 'more than its cost');
    becomes(sub { counted($gateway, 'k1', 'alice') }, 3, 'the rest is returned to the value');
    becomes(sub { counted($gateway, 'k1', 'bob') }, 25, 'the excess is charged to the value');
    is(status_of($gateway, "/used/?user=made-up-$_&used=3", 'k1'), 200, 'a value that shares a counter') for 1 .. 9;
    becomes(sub { counted($gateway, 'k1', '', 'users:others') }, 27, 'the rest is returned to the counter that it shares');
    my @keys = sort @{ $gateway->redis->cmd('KEYS', 't:quota:*') };
    is_deeply(\@keys, [sort 't:quota:{k1}:users:others', map { counter('k1', $_) } 'alice', 'bob'], '… and no value has another one');
    my @lasting = grep { $gateway->redis->cmd('PTTL', $_) > 600_000 } grep { !/others/ } @{ $gateway->redis->cmd('KEYS', 't:report:*') };
    cmp_ok(scalar @lasting, '<=', 2, 'reports of values that share a counter are known for ten minutes');
    $gateway->nginx->stop;
};

subtest 'a key that is deleted' => sub {
    my $gateway = start(users => 'plan free 100000r/d;', lease => '');
    $gateway->subscribed(1);
    my $granted = Load->run(servers => [$gateway->address], connections => 4, requests => 2000, token => 'k1', path => '/users/?user=alice')->{status}{200};
    $gateway->change_key('k1');
    becomes(sub { my $status = status_of($gateway, '/users/?user=alice', 'k1'); $granted += $status == 200; $status }, 401, 'is refused');
    becomes(sub { counted($gateway, 'k1', 'alice') }, $granted, '… and the lease of its value is returned');
    $gateway->nginx->stop;
};

subtest 'what the command shows' => sub {
    my $gateway = start(users => 'plan free 5r/d; plan all unlimited; history 30d;', http => 'tollgate_plans short redis=main by=$arg_user { plan free 5r/m; }',
        server => "location /short/ { tollgate short; $upstream }");
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    $gateway->import_key('k3', id => 'k3', plan => 'all');
    is(granted($gateway, 7, "/users/?user=$_", 'k1'), 5, "the limit of $_") for 'alice', 'bob';
    is(granted($gateway, 3, '/users/', 'k1'), 3, 'without a value');
    is(granted($gateway, 3, "/users/?user=$_", 'k3'), 3, "without a limit: $_") for 'alice', 'bob';
    is(granted($gateway, 2, '/short/?user=alice', 'k1'), 2, 'a table without a history');
    is_deeply([map { [@$_{qw(table window count limit)}] } @{ $tollgate->json('usage', 'k1')->{windows} }], [['api', 'day', 0, 1_000_000], ['users', 'day', 10, undef]],
        'usage shows what all values were granted, without a limit');
    is_deeply([map { [@$_{qw(table units)}] } @{ $tollgate->json('usage', 'k1', '--history')->{days} }], [['users', 10]], '… and so does the history');
    is_deeply([map { [@$_{qw(table units)}] } @{ $tollgate->json('usage', 'k3', '--history')->{days} }], [['users', 6]], '… also of an unlimited plan');
    $gateway->redis->cmd('ZADD', 't:ids', 1, 'k1');
    my ($k1) = grep { /^k1,/ } split /\n/, $tollgate->run(qw(export usage --to 2100-01-01))->{out};
    like($k1, qr/^k1,users,\d{4}-\d\d-\d\d,10$/, '… and the export');
    $gateway->redis->cmd('DEL', 't:plans');
    is_deeply([map { $_->{table} } @{ $tollgate->json('usage', 'k1')->{windows} }], ['users'], '… also if no plan table is published');
    my $started = $tollgate->run(qw(top --count 1 --json));
    is($started->{status}, 0, 'top reads them');
    is_deeply([$tollgate->run('simulate', '--plans', $gateway->nginx->dir . '/nginx.conf', '/dev/null')->{err} =~ /(plan table "users" counts by=\$arg_user)/],
        ['plan table "users" counts by=$arg_user'], 'simulate refuses them');
    $gateway->nginx->stop;
};

subtest 'a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $gateway = start(redis_server => $cluster, plans => 'plan free 8r/d;');
    is(granted($gateway, 7, '/both/?user=alice', $_), 5, "$_: the value") for 'k1', 'k2';
    is(granted($gateway, 7, '/both/?user=bob', $_), 3, "$_: the id") for 'k1', 'k2';
    is($cluster->slot_of(counter('k1', 'alice')), $cluster->slot_of(counter('k1', '', 'api')), 'all counters of an id are in one slot');
    is($gateway->status->{redis}[0]{errors}, 0, 'no errors');
    $gateway->nginx->stop;
};

done_testing;
