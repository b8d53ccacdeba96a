# `notify` in a plan table: Redis gets one entry for each level that a window of an id reaches.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

# The line of the page is sufficient for the user of the gateway.
my $gateway_user = do {
    open my $page, '<', 'module/docs/redis_data.md' or die $!;
    local $/;
    <$page> =~ /^(user gateway .*)$/m ? $1 =~ s/petstore:/t:/gr : die 'no user';
};

# The entries of a stream, each as ID TABLE PERIOD LEVEL USED/LIMIT.
sub entries {
    my ($redis, $stream) = @_;
    my @entries;
    for my $entry (@{ $redis->cmd('XRANGE', $stream // 't:notices', '-', '+') }) {
        my %field = @{ $entry->[1] };
        push @entries, "$field{id} $field{table} $field{period} $field{level} $field{used}/$field{limit}" . ($field{value} ? " $field{value}" : '');
    }
    return join ', ', @entries;
}

sub start {
    my ($redis, %options) = @_;
    my $gateway = Gateway->start(
        redis_server => $redis,
        plans        => 'plan free 10r/d; plan large 1000r/d; notify 80% 100%;',
        server       => 'location = /quota { tollgate api; tollgate_cost 0; tollgate_usage; }',
        %options,
    );
    $gateway->import_key($_, id => $_, plan => 'free') for qw(k1 k2 k3);
    wait_for_room($redis->isa('RedisCluster') ? ($redis->nodes)[0] : $redis, 86400, 60);
    return $gateway;
}

sub statuses { my ($gateway, $key, $count) = @_; return join ' ', map { $gateway->get('/', $key)->status } 1 .. $count }

subtest 'one Redis, whose user may what the page says' => sub {
    my $redis = RedisServer->start(acl => ['user default on nopass ~* &* +@all', $gateway_user]);
    my $gateway = start($redis, table => 'lease=off', redis => 'username gateway; password SECRET;');
    is(statuses($gateway, 'k1', 7), join(' ', (200) x 7), 'below the level');
    is(entries($redis), '', 'nothing is noticed');
    is(statuses($gateway, 'k1', 1), 200, 'the level');
    is(entries($redis), 'k1 api 86400 80 8/10', '… is noticed');
    is(statuses($gateway, 'k1', 4), '200 200 429 429', 'the limit, and refusals');
    is(entries($redis), 'k1 api 86400 80 8/10, k1 api 86400 100 10/10', '… one more');
    $gateway->get('/quota', 'k1') for 1 .. 3;
    statuses($gateway, 'k2', 9);
    is(entries($redis), 'k1 api 86400 80 8/10, k1 api 86400 100 10/10, k2 api 86400 80 8/10', 'another id');
    is_deeply($gateway->status->{redis}[0]{errors}, 0, 'no error');
};

subtest 'a plan with a higher limit in the same window' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, plans => 'plan free 10r/d; plan double 20r/d; notify 80% 100%;', table => 'lease=off');
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    $tollgate->run({ stdin => 'u' }, qw(key import --plan free --force --id u));
    statuses($gateway, 'u', 8);
    is(entries($redis), 'u api 86400 80 8/10', 'the level of the first limit');
    $tollgate->run(qw(key set u --plan double --force));
    becomes(sub { $gateway->get('/quota', 'u')->header('X-RateLimit-Limit') }, 20, 'the plan is another one');
    statuses($gateway, 'u', 7);
    is(entries($redis), 'u api 86400 80 8/10', 'below its level');
    statuses($gateway, 'u', 1);
    is(entries($redis), 'u api 86400 80 8/10, u api 86400 80 16/20', '… which is noticed as well');
    statuses($gateway, 'u', 5);
    is(entries($redis), 'u api 86400 80 8/10, u api 86400 80 16/20, u api 86400 100 20/20', '… and its limit');
};

subtest 'a table without levels' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, plans => 'plan free 10r/d;', table => 'lease=off');
    my @calls = $gateway->monitor_calls(sub { statuses($gateway, 'k1', 1) });
    unlike("@calls", qr/notices/, 'its calls do not name the stream');
    statuses($gateway, 'k1', 10);
    is($redis->cmd('EXISTS', 't:notices'), 0, '… and Redis has none');
};

subtest 'units that were leased and returned are noticed once' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis);
    $gateway->import_key('l', id => 'l', plan => 'large');
    my $granted = 0;
    while ($granted < 1000) {
        $granted += grep { $gateway->get('/', 'l')->status == 200 } 1 .. 50;
        if ($granted == 750 || $granted == 850) {
            wait_until('idle leases to go back', sub { $gateway->count('l', 'api', 86400) == $granted });
        }
    }
    my @entries = split /, /, entries($redis);
    is(scalar @entries, 2, 'one of each level') or diag "@entries";
    like($entries[0], qr{^l api 86400 80 8\d\d/1000$}, 'the level');
    is($entries[1], 'l api 86400 100 1000/1000', 'the limit');
};

subtest 'what was granted in an outage is noticed when it is reported' => sub {
    my $redis = RedisServer->start(conf => ['appendonly yes', 'appendfsync always']);
    my $gateway = start($redis, redis => 'timeout 300ms;');
    is(statuses($gateway, 'k1', 1), 200, 'a request');
    wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
    $redis->stop;
    is(statuses($gateway, 'k1', 8), join(' ', (200) x 8), 'the node decides alone');
    $redis->restart;
    becomes(sub { entries($redis) }, 'k1 api 86400 80 9/10', 'Redis is back');
    becomes(sub { $gateway->unsettled }, 0, 'all is reported');
};

subtest 'a reservation is not noticed, and what was used is' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, plans => 'plan free 100r/d; notify 80%;', table => 'lease=off', location => 'tollgate_cost 80 settle=$upstream_http_x_used;',
        upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }');
    for my $used (12, 30, 37) {
        becomes(sub { $gateway->unsettled }, 0, 'all is settled');
        is($gateway->get("/used/?used=$used", 'k1')->status, $used == 37 ? 429 : 200, "80 are taken, $used are used");
    }
    becomes(sub { $gateway->count('k1', 'api', 86400) }, 42, 'the units that were used');
    is(entries($redis), '', '… are below the level');
    is($gateway->get('/used/?used=38', 'k2')->status, 200, 'another id');
    becomes(sub { $gateway->count('k2', 'api', 86400) }, 38, '… has used 38');
    is($gateway->get('/used/?used=95', 'k3')->status, 200, 'a third one');
    becomes(sub { entries($redis) }, 'k3 api 86400 80 95/100', '… has used more than it took');
};

subtest 'what a request has used is noticed when it is settled' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, table => 'lease=off', location => 'tollgate_cost 1 settle=$upstream_http_x_used;',
        upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }');
    is($gateway->get('/used/?used=9', 'k1')->status, 200, 'a request that uses more than was reserved');
    becomes(sub { entries($redis) }, 'k1 api 86400 80 9/10', 'a notice');
};

subtest 'values of a variable' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, table => 'by=$arg_user lease=off');
    $gateway->get('/?user=blue', 'k1') for 1 .. 8;
    is(entries($redis), 'k1 api 86400 80 8/10 ' . substr(sha256_hex('blue'), 0, 16), 'the notice has the digest of the value');
};

subtest 'a group' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, table => 'lease=off', http => 'tollgate_plans teams redis=main lease=off by=group { plan free 10r/d; notify 80%; }',
        server => 'location /teams/ { tollgate api teams; proxy_pass http://unix:%DIR%/upstream.sock; }');
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    $tollgate->run(qw(group set acme --plan free));
    $tollgate->run({ stdin => $_ }, qw(key import --plan large --group acme --force --id), $_) for qw(m1 m2);
    my $ask = sub { my ($key, $count) = @_; return join ' ', map { $gateway->get('/teams/', $key)->status } 1 .. $count };
    is($ask->($_, 4), '200 200 200 200', "requests of $_") for qw(m1 m2);
    is(entries($redis), 'acme teams 86400 80 8/10 group', 'both together reach the level of their group');
    is($ask->('m1', 3), '200 200 429', 'further ones');
    is(entries($redis), 'acme teams 86400 80 8/10 group', '… once');
};

subtest 'a group in an outage' => sub {
    my $redis = RedisServer->start(conf => ['appendonly yes', 'appendfsync always']);
    my $gateway = start($redis, table => 'lease=off', redis => 'timeout 300ms;',
        http => 'tollgate_plans teams redis=main lease=off by=group { plan free 10r/d; notify 80%; }',
        server => 'location /teams/ { tollgate teams; proxy_pass http://unix:%DIR%/upstream.sock; }');
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    $tollgate->run(qw(group set acme --plan free));
    $tollgate->run({ stdin => 'm1' }, qw(key import --plan large --group acme --force --id m1));
    my $ask = sub { my ($count) = @_; return join ' ', map { $gateway->get('/teams/', 'm1')->status } 1 .. $count };
    is($ask->(1), 200, 'a request');
    $redis->stop;
    is($ask->(8), join(' ', (200) x 8), 'the node decides alone');
    $redis->restart;
    becomes(sub { entries($redis) }, 'acme teams 86400 80 9/10 group', 'the report is noticed');
};

subtest 'an id in a group' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, table => 'lease=off');
    Command->new(redis => $redis->address, prefix => 't:')->run({ stdin => 'm' }, qw(key import --plan free --group acme --force --id m));
    statuses($gateway, 'm', 8);
    is(entries($redis), 'm api 86400 80 8/10', 'has a notice of its own');
};

subtest 'Redis Cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $gateway = start($cluster, table => 'lease=off');
    statuses($gateway, $_, 8) for qw(k1 k2 k3);
    my %streams = map { $_ => 1 } map { @{ $_->cmd('KEYS', 't:notices*') } } $cluster->nodes;
    is(scalar keys %streams, 3, 'a stream per slot');
    my $all = join ', ', sort map { entries($cluster, $_) } keys %streams;
    is($all, join(', ', map { "$_ api 86400 80 8/10" } qw(k1 k2 k3)), 'each has the notice of its id');
    my %slots = map { $cluster->slot_of($_) => 1 } keys %streams;
    is_deeply(\%slots, { map { $cluster->slot_of("t:quota:{$_}:api") => 1 } qw(k1 k2 k3) }, '… in the slot of the id');
};

done_testing;
