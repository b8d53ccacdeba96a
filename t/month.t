# Limits of a calendar month in UTC, over the end of a February with 29 days. Redis has a clock of this test.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway;
use RedisServer;
use ShiftedClock;
use Test::More;
use Time::Local qw(timegm_modern);
use Wait qw(wait_until);

my $clock = ShiftedClock->new or plan skip_all => 'no shifted_clock.so in this build';
my $redis = $clock->start(sub { RedisServer->start });
my ($march, $april) = (timegm_modern(0, 0, 0, 1, 2, 2028), timegm_modern(0, 0, 0, 1, 3, 2028));
my ($length_of_february, $length_of_march) = (29 * 86400, 31 * 86400);

$clock->set('2028-02-29 23:59:00');
my $gateway = Gateway->start(
    redis_server => $redis,
    plans        => 'plan free 3r/d 3r/month; plan own custom;',
    table        => 'lease=off',
    location     => 'tollgate_headers both;',
    server       => 'location = /quota { tollgate api; tollgate_cost 0; tollgate_usage; }',
    http         => 'tollgate_plans slow { plan own custom window=sliding; }',
);
$gateway->import_key('secret', id => 'k1', plan => 'free');
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');

subtest 'February' => sub {
    for my $left (2, 1, 0) {
        my $r = $gateway->get('/', 'secret');
        is($r->status, 200, 'granted');
        is($r->header('X-RateLimit-Remaining'), $left, '… of the month');
        is($r->header('X-RateLimit-Limit'), 3, '… which binds');
        is($r->header('X-RateLimit-Reset'), $march, '… until it ends');
    }
    my $r = $gateway->get('/', 'secret');
    is($r->status, 429, 'the month is exhausted');
    like($r->header('RateLimit-Policy'), qr/^"free-day";q=3;w=86400, "free-month";q=3;w=$length_of_february$/, 'its length');
    like($r->header('RateLimit'), qr/"free-month";r=0;t=\d+$/, 'nothing is left');
    cmp_ok($r->header('Retry-After'), '<=', $march - $clock->time + 2, 'it says when the month ends');
    cmp_ok($r->header('Retry-After'), '>=', $march - $clock->time - 2, '… not earlier');
    is($gateway->count('k1', 'api', 'month'), 3, 'the count in Redis');
    is($redis->cmd('HGET', 't:quota:{k1}:api', 'month.number'), 58 * 12 + 1, '… of the months since January 1970');
    is($redis->cmd('PEXPIRETIME', 't:quota:{k1}:api'), $march * 1000, 'it expires with the month');
};

subtest 'reports' => sub {
    my $windows = $gateway->get('/quota', 'secret')->json->{windows};
    is_deeply([@{ $windows->[1] }{qw(policy limit period remaining reset)}], ['free-month', 3, $length_of_february, 0, $march],
        'tollgate_usage');
    wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
    $windows = $tollgate->json(qw(usage k1))->{windows};
    is_deeply([@{ $windows->[1] }{qw(window seconds limit used remaining reset)}],
        ['month', $length_of_february, 3, 3, 0, '2028-03-01T00:00:00Z'], 'tollgate usage');
};

subtest 'March' => sub {
    $clock->set('2028-03-01 00:00:01');
    my $r;
    # The node knows the refusal for a second.
    wait_until('a request to be granted', sub { $r = $gateway->get('/', 'secret'); $r->status == 200 });
    is($r->header('X-RateLimit-Remaining'), 2, 'a new month');
    is($r->header('X-RateLimit-Reset'), $april, '… until its end');
    like($r->header('RateLimit-Policy'), qr/"free-month";q=3;w=$length_of_march$/, '… of its length');
    is($gateway->count('k1', 'api', 'month'), 1, 'the count in Redis');
};

subtest 'limits of a key' => sub {
    $gateway->import_key('own', id => 'k2', plan => 'own', limits => '2r/month');
    is($gateway->get('/', 'own')->status, 200, 'granted') for 1, 2;
    is($gateway->get('/', 'own')->status, 429, 'refused');
    my $result = $tollgate->run(qw(key issue --id k3 --plan own --limits), '5r/month');
    is($result->{status}, 2, 'the command refuses a month if the plan slides in a table');
    like($result->{err}, qr{--limits: "5r/month" cannot slide.*"own" of "slow" slides}, '… and says where');
    is($redis->cmd('EXISTS', 't:id:{k3}'), 0, '… and stores nothing');
    is($tollgate->run(qw(key issue --id k3 --plan own --limits), '5r/30d')->{status}, 0, 'other periods slide');
    is($tollgate->run(qw(key set k3 --limits), '5r/month')->{status}, 2, 'key set refuses it as well');
    is($tollgate->json(qw(key show k3))->{limits}, '5r/30d', '… and changes nothing');
};

done_testing;
