# Limits of a month in UTC, of the calendar and of customers with a billing day, over the end of a February with 29 days.
# Redis has a clock of this test.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
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
    server       => 'location = /team { tollgate teams api; tollgate_cost 0; tollgate_usage; } location = /quota { tollgate api; tollgate_cost 0; tollgate_usage; }',
    http         => 'tollgate_plans teams by=group { plan pool 1000r/month; } tollgate_plans slow { plan own custom window=sliding; }',
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
    is($redis->cmd('HGET', 't:quota:{k1}:api', 'month.number'), timegm_modern(0, 0, 0, 1, 1, 2028) / 86400,
        '… of the month that begins on this day');
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

# Begins as a customer on the last day of January, and goes through the end of February.
subtest 'a billing day' => sub {
    my ($leap_day, $end_of_march) = (timegm_modern(0, 0, 0, 29, 1, 2028), timegm_modern(0, 0, 0, 31, 2, 2028));
    $clock->set('2028-01-31 12:00:00');
    $gateway->import_key('last', id => 'k4', plan => 'own', limits => '2r/month', billing_day => 31);
    my $r = $gateway->get('/', 'last');
    is($r->status, 200, 'granted');
    is($r->header('X-RateLimit-Reset'), $leap_day, 'the month ends on the last day of February');
    like($r->header('RateLimit-Policy'), qr/w=@{[29 * 86400]}$/, '… which is its length');
    is($gateway->get('/', 'last')->status, 200, 'granted');
    is($gateway->get('/', 'last')->status, 429, 'the month is exhausted');
    $clock->set('2028-02-28 23:59:50');
    is($gateway->get('/', 'last')->status, 429, 'also at its end');
    $clock->set('2028-02-29 00:00:01');
    wait_until('a request to be granted', sub { $r = $gateway->get('/', 'last'); $r->status == 200 });
    is($r->header('X-RateLimit-Reset'), $end_of_march, 'the next one ends on the last day of March');
    $clock->set('2028-02-28 23:59:59');
    $r = $gateway->get('/', 'last');
    is($r->header('X-RateLimit-Remaining'), 0, "Redis's clock went back: the new month goes on");
    is($redis->cmd('PEXPIRETIME', 't:quota:{k4}:api'), $end_of_march * 1000, 'the hash expires with it');
    my $window = $tollgate->json(qw(usage k4))->{windows}[0];
    is_deeply([@{$window}{qw(window used remaining reset)}], ['month', 2, 0, '2028-03-31T00:00:00Z'], 'tollgate usage');
    is($tollgate->json(qw(key show k4))->{billing_day}, 31, 'tollgate key show');
};

subtest 'another billing day' => sub {
    $clock->set('2028-05-10 12:00:00');
    $gateway->import_key('moved', id => 'k5', plan => 'own', limits => '3r/month');
    my $r = $gateway->get('/', 'moved');
    is($r->header('X-RateLimit-Reset'), timegm_modern(0, 0, 0, 1, 5, 2028), 'the month of the calendar');
    is($tollgate->run(qw(key set k5 --billing-day 15))->{status}, 0, 'tollgate key set --billing-day');
    is($redis->cmd('HGET', 't:key:' . sha256_hex('moved'), 'billing_day'), '15 1 2028-05-15', 'what Redis stores');
    my $reset = sub { $gateway->get('/quota', 'moved')->json->{windows}[0]{reset} };
    wait_until('the change', sub { $reset->() == timegm_modern(0, 0, 0, 15, 4, 2028) });
    $r = $gateway->get('/', 'moved');
    is($r->header('X-RateLimit-Reset'), timegm_modern(0, 0, 0, 15, 4, 2028), 'the running month ends by the new day');
    is($gateway->count('k5', 'api', 'month'), 2, '… and is the same');
    is($tollgate->run(qw(key set k5 --billing-day 32))->{status}, 2, 'no month has this day');
    $clock->set('2028-05-15 00:00:01');
    wait_until('the new month', sub { $r = $gateway->get('/', 'moved'); $r->header('X-RateLimit-Remaining') == 2 });
    is($r->header('X-RateLimit-Reset'), timegm_modern(0, 0, 0, 15, 5, 2028), 'it has the new day');
    is($tollgate->run(qw(key set k5 --billing-day none))->{status}, 0, 'the first again');
    is($tollgate->json(qw(key show k5))->{billing_day}, undef, '… is shown at once');
    wait_until('the change', sub { $reset->() == timegm_modern(0, 0, 0, 1, 5, 2028) });
};

subtest 'the billing day of a group' => sub {
    $clock->set('2028-05-20 12:00:00');
    is($tollgate->run(qw(group set acme --plan pool --billing-day 31))->{status}, 0, 'tollgate group set --billing-day');
    $gateway->import_key('member', id => 'k6', plan => 'free', group => 'acme', billing_day => 10);
    my $window = $gateway->get('/team', 'member')->json->{windows};
    is_deeply([map { [@{$_}{qw(policy reset)}] } @$window], [['teams-pool-month', timegm_modern(0, 0, 0, 31, 4, 2028)], ['api-free-day', timegm_modern(0, 0, 0, 21, 4, 2028)],
        ['api-free-month', timegm_modern(0, 0, 0, 10, 5, 2028)]], 'each table has the months of its record');
    is($tollgate->run(qw(group set acme --billing-day 25))->{status}, 0, 'another day');
    is($redis->cmd('HGET', 't:group:{acme}', 'billing_day'), '25 31 2028-05-25', '… ends the running month');
    wait_until('the change', sub { $gateway->get('/team', 'member')->json->{windows}[0]{reset} == timegm_modern(0, 0, 0, 25, 4, 2028) });
    like($tollgate->run(qw(export groups))->{out}, qr/"billing_day":25\}/, 'an export has the day');
    is($tollgate->run(qw(group set acme --billing-day 31))->{status}, 0, 'set back before it applies');
    is($redis->cmd('HGET', 't:group:{acme}', 'billing_day'), '31', '… nothing has changed');
};

done_testing;
