# What becomes of requests while Redis is out of reach: `on_failure deny` refuses them with 503, `allow` lets the keys
# pass that were good when Redis was last asked. A key is never called unknown for want of an answer.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Wait qw(wait_until);

sub gateway {
    my ($policy) = @_;
    my $gateway = Gateway->start(
        plans   => 'plan free 100r/h; plan custom custom; anonymous 50r/h;',
        redis   => "timeout 200ms; on_failure $policy;",
        http    => 'tollgate_redis other { server unix:/nowhere.sock; on_failure allow; }
                    tollgate_plans other redis=other { plan free 100r/h; }
                    tollgate_plans pro redis=main { plan pro 100r/h; }
                    log_format verdict "$tollgate_verdict $tollgate_key_id";',
        server  => 'access_log %DIR%/access.log verdict;
                    location /other { tollgate other; proxy_pass http://unix:%DIR%/upstream.sock; }
                    location /pro { tollgate pro; proxy_pass http://unix:%DIR%/upstream.sock; }',
        workers => 2,
    );
    $gateway->import_key('known', id => 'k1', plan => 'free');
    $gateway->import_key('custom', id => 'k2', plan => 'custom', limits => '50r/h');
    $gateway->import_key('late', id => 'k3', plan => 'free');
    $gateway->import_key('revoked', id => 'k4', plan => 'free');
    is($gateway->get('/', $_)->status, 200, "$_ is good") for qw(known custom revoked);
    $gateway->subscribed(2);
    $gateway->change_key('revoked');
    wait_until('that to be heard of', sub { $gateway->get('/', 'revoked')->status == 401 });
    $gateway->redis->kill;
    return $gateway;
}

# Of what was logged last, which is after the response was sent.
sub is_last_verdict {
    my ($gateway, $verdict, $name) = @_;
    eval { wait_until('the access log', sub { last_verdict($gateway) eq $verdict }) };
    is(last_verdict($gateway), $verdict, $name);
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
        is($r->header('X-RateLimit-Limit'), 50, '… and the budget of its address');
        is($r->header('WWW-Authenticate'), undef, '… and no challenge');
    }
    is($gateway->get('/')->status, 401, 'no key at all is still 401');
    $gateway->redis->restart;
    $gateway->import_key('known', id => 'k1', plan => 'free');
    wait_until('the gateway to serve again', sub { $gateway->get('/', 'known')->status == 200 }, 2);
    pass('it serves again by itself');
    $gateway->nginx->stop;
};

subtest 'allow' => sub {
    my $gateway = gateway('allow');
    for my $token (qw(known custom)) {
        # Both workers know the key, whichever has seen it.
        is_deeply([map { $gateway->get('/', $token)->status } 1 .. 10], [(200) x 10], "$token passes");
    }
    is_last_verdict($gateway, 'degraded k2', 'the verdict says how');
    my $r = $gateway->get('/', 'known');
    is($r->header('X-RateLimit-Limit'), undef, 'what was not counted is not shown');
    is($gateway->get('/', 'late')->status, 503, 'a key that was never seen can\'t');
    like($gateway->get('/', 'revoked')->status, qr/^(401|503)$/, '… nor one that Redis no longer knew');
    is($gateway->get('/pro', 'known')->status, 403, 'a known key still has its plan only');
    is($gateway->get('/other', 'known')->status, 503, 'what one Redis knew is nothing to another');
    is_last_verdict($gateway, 'unavailable -', '… as the verdict says');
    $gateway->nginx->stop;
};

done_testing;
