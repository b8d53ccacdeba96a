# The cache of key records: Redis is asked once for each key, published changes apply at once, and a flood of unknown
# keys displaces no valid key.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Load;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $plans = 'plan all unlimited; plan free 7r/d; plan pro 9r/d;';

# The seconds until a request with this key gets this status.
sub takes {
    my ($gateway, $token, $status) = @_;
    my $start = time;
    wait_until("$status for $token", sub { $gateway->get('/', $token)->status == $status });
    return time - $start;
}

subtest 'a key is looked up once' => sub {
    my $gateway = Gateway->start(plans => $plans);
    $gateway->subscribed(1);
    $gateway->import_key('k', id => 'k1', plan => 'all');
    is($gateway->calls(sub { is($gateway->get('/', 'k')->status, 200) for 1 .. 20 }), 1, 'a valid key');
    is($gateway->calls(sub { is($gateway->get('/', 'x')->status, 401) for 1 .. 20 }), 1, 'an unknown one');
    $gateway->import_key('d', id => 'd1', plan => 'all', state => 'disabled');
    is($gateway->calls(sub { is($gateway->get('/', 'd')->status, 401) for 1 .. 20 }), 1, 'a disabled one');
    $gateway->import_key('e', id => 'e1', plan => 'all', expires => time - 1);
    is($gateway->calls(sub { is($gateway->get('/', 'e')->status, 401) for 1 .. 20 }), 1, 'an expired one');
    $gateway->import_key('l', id => 'l' x 64, plan => 'all', name => 'n' x 256);
    is($gateway->calls(sub { is($gateway->get('/', 'l')->status, 200) for 1 .. 20 }), 1, 'a key with a long name');
    $gateway->nginx->stop;
};

subtest 'a change applies on every node within 200 ms' => sub {
    my @nodes = my $first = Gateway->start(plans => $plans, workers => 2);
    push @nodes, Gateway->start(plans => $plans, workers => 2, share => $first);
    $first->subscribed(4);
    my $holds = sub {
        my ($what, $token, $status) = @_;
        cmp_ok(takes($_, $token, $status), '<', 0.2, $what) for @nodes;
        my @others = grep { $_->get('/', $token)->status != $status } (@nodes) x 8;
        is(@others, 0, '... on every worker');
    };
    $first->import_key('k', id => 'k1', plan => 'all');
    is($_->get('/', 'k')->status, 200, 'good') for (@nodes) x 4;
    $first->change_key('k', state => 'disabled');
    $holds->('disabled', 'k', 401);
    $first->change_key('k', state => 'active');
    $holds->('enabled', 'k', 200);
    $first->change_key('k', plan => 'pro');
    wait_until('the new plan', sub { ($_->get('/', 'k')->header('X-RateLimit-Limit') // 0) == 9 }, 0.2) for @nodes;
    pass('another plan');
    $first->change_key('k');
    $holds->('revoked', 'k', 401);
    is($_->get('/', 'new')->status, 401, 'not yet issued') for (@nodes) x 4;
    $first->import_key('new', id => 'k2', plan => 'all');
    $first->change_key('new', state => 'active');
    $holds->('issued', 'new', 200);
    $first->redis->cmd('HSET', 't:key:' . sha256_hex('new'), state => 'disabled');
    $first->redis->cmd('PUBLISH', 't:events', 'k2');
    $holds->('told by its id', 'new', 401);
    $_->nginx->stop for @nodes;
};

subtest 'key_cache' => sub {
    my $gateway = Gateway->start(plans => $plans, redis => 'key_cache 300ms;');
    $gateway->subscribed(1);
    $gateway->import_key('k', id => 'k1', plan => 'all');
    is($gateway->get('/', 'k')->status, 200, 'good');
    $gateway->redis->cmd('DEL', 't:key:' . sha256_hex('k'));
    is($gateway->get('/', 'k')->status, 200, 'an unpublished change does not apply at once');
    cmp_ok(takes($gateway, 'k', 401), '<', 10, '... but after key_cache, long before the default of a minute');
    $gateway->nginx->stop;
};

subtest 'a record with long details' => sub {
    my $gateway = Gateway->start(plans => $plans, workers => 2, server => 'location /meta/ { tollgate api; proxy_set_header Authorization "$tollgate_scopes $tollgate_meta_z"; proxy_pass http://unix:%DIR%/upstream.sock; }');
    $gateway->subscribed(2);
    $gateway->import_key('k', id => 'k1', plan => 'all', name => 'n' x 256, scopes => 's' x 256, meta => '{"a":"' . 'x' x 400 . '","z":"end"}');
    is($gateway->calls(sub { like($gateway->get('/meta/', 'k')->body, qr/authorization=s{256} end /) for 1 .. 10 }), 1, 'is cached');
    my $keys = $gateway->status->{zone}{stores}{keys};
    cmp_ok($keys->{entries}, '>', 10, '… in several places');
    $gateway->nginx->stop;
};

subtest 'without a subscription a record is used for a second' => sub {
    my $gateway = Gateway->start(
        plans         => $plans,
        redis         => 'username app; password pw;',
        redis_options => { acl => ['user app on >pw ~t:* resetchannels +@all'] },
    );
    $gateway->import_key('k', id => 'k1', plan => 'all');
    is($gateway->calls(sub { is($gateway->get('/', 'k')->status, 200) for 1 .. 10 }), 1, 'the key is cached');
    $gateway->redis->cmd('DEL', 't:key:' . sha256_hex('k'));
    cmp_ok(takes($gateway, 'k', 401), '<', 10, 'revoked, long before key_cache is over');
    like($gateway->nginx->error_log, qr/\[warn\].*events/, 'the log has a warning');
    $gateway->nginx->stop;
};

subtest 'a change while the subscription is lost' => sub {
    my $gateway = Gateway->start(plans => $plans);
    $gateway->subscribed(1);
    $gateway->import_key('k', id => 'k1', plan => 'all');
    is($gateway->get('/', 'k')->status, 200, 'good');
    $gateway->redis->cmd('MULTI');
    $gateway->redis->cmd('CLIENT', 'KILL', 'TYPE', 'pubsub');
    $gateway->redis->cmd('DEL', 't:key:' . sha256_hex('k'));
    $gateway->redis->cmd('PUBLISH', 't:events', sha256_hex('k'));
    $gateway->redis->cmd('EXEC');
    cmp_ok(takes($gateway, 'k', 401), '<', 10, 'applies long before key_cache is over');
    $gateway->nginx->stop;
};

subtest 'more keys than the zone has room for' => sub {
    my $gateway = Gateway->start(plans => $plans, http => 'tollgate_zone 128k;', workers => 2);
    $gateway->import_key("k$_", id => "id$_", plan => 'pro') for 1 .. 2000;
    for my $round (1 .. 2) {
        my @tokens = map { "k$_" } 1 .. 2000;
        my $result = Load->run(
            servers     => [$gateway->address],
            connections => 16,
            requests    => 2000,
            token       => sub { shift @tokens },
        );
        is_deeply($result->{status}, { 200 => 2000 }, "all are granted, round $round");
    }
    is($gateway->count("id$_", 'api', 86400), 2, '... and counted') for 1, 1000, 2000;
    $gateway->nginx->stop;
};

subtest 'a flood of unknown keys' => sub {
    my $gateway = Gateway->start(plans => "$plans anonymous 100000r/d;", http => 'tollgate_zone 256k;');
    $gateway->subscribed(1);
    $gateway->import_key("k$_", id => "id$_", plan => 'all') for 1 .. 50;
    $gateway->get('/', "k$_") for 1 .. 50;
    my $n = 0;
    my $result = Load->run(servers => [$gateway->address], connections => 16, requests => 5000, token => sub { 'x' . ++$n });
    is_deeply($result->{status}, { 401 => 5000 }, 'is refused');
    is($gateway->calls(sub { $gateway->get('/', "k$_") for 1 .. 50 }), 0, '... and displaces no valid key');
    $gateway->nginx->stop;
};

done_testing;
