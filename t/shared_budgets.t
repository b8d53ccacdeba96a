# `anonymous … shared`: the budget of an address counts over all nodes.

use strict;
use warnings;
use lib 't/lib';
use Gateway qw(wait_for_room);
use Test::More;
use Time::HiRes qw(time);
use Wait qw(becomes wait_until);

sub start {
    return Gateway->start(
        plans => 'plan free 1000r/d; anonymous 6r/h shared;',
        http  => 'set_real_ip_from 127.0.0.1; set_real_ip_from unix:; real_ip_header X-Real-IP;',
        @_,
    );
}
my $first = start(workers => 2);
my $redis = $first->redis;
my $second = start(share => $first);
$first->import_key('k', id => 'k1', plan => 'free');
wait_for_room($redis, 3600);

my $guess = 'guess0';
sub guess { my ($gateway, $address) = @_; return $gateway->get('/', $guess++, 'X-Real-IP' => $address)->status }
sub total { my ($address) = @_; return $redis->cmd('HGET', "t:address:{$address}:api", '3600.count') // 0 }

# What is left of the budget, which a response to a request that is refused otherwise shows. Nothing is charged for it.
sub left { my ($gateway, $address) = @_; return $gateway->get('/', 'gold', 'X-Real-IP' => $address)->header('X-RateLimit-Remaining') }
$first->import_key('gold', id => 'gold', plan => 'gold');

subtest 'one address, two nodes' => sub {
    is(guess($first, '192.0.2.1'), 401, 'at the first node') for 1 .. 3;
    becomes(sub { total('c0000201') }, 3, 'Redis has what it charged');
    is(guess($second, '192.0.2.1'), 401, 'at the second') for 1 .. 2;
    becomes(sub { left($second, '192.0.2.1') }, 1, '... which learns the rest then');
    is(guess($second, '192.0.2.1'), 401, '... it has one more');
    is(guess($second, '192.0.2.1'), 429, '... and no second');
    becomes(sub { total('c0000201') }, 6, 'the budget is spent');
    is(guess($first, '192.0.2.1'), 401, 'the first node does not know yet');
    becomes(sub { guess($first, '192.0.2.1') }, 429, '... but soon');
    is($first->get('/', 'k', 'X-Real-IP' => '192.0.2.1')->status, 200, 'a valid key is not affected');
    is(guess($first, '192.0.2.2'), 401, 'nor is another address');
    my $ttl = $redis->cmd('PTTL', 't:address:{c0000201}:api');
    ok($ttl > 0 && $ttl <= 3_600_000, 'the hash expires with the window') or diag $ttl;
};

subtest 'IPv6' => sub {
    is(guess($first, '2001:db8:0:7::1'), 401, 'the first node') for 1 .. 3;
    becomes(sub { total('20010db800000007') }, 3, 'a /64 has one budget');
    is(guess($second, '2001:db8:0:7:ffff::1'), 401, 'the second node') for 1 .. 2;
    becomes(sub { left($second, '2001:db8:0:7::2') }, 1, '... learns it');
};

subtest 'addresses that fail once' => sub {
    my $size = $redis->cmd('DBSIZE');
    is(scalar(grep { $first->get('/', undef, 'X-Real-IP' => "198.51.100.$_")->status == 401 } 1 .. 100), 100, 'a hundred of them');
    is(guess($first, '192.0.2.8'), 401, 'another one fails twice') for 1 .. 2;
    becomes(sub { total('c0000208') }, 2, '... and Redis has it');
    is($redis->cmd('DBSIZE'), $size + 1, '... and no other');
};

subtest 'not oftener than once a second' => sub {
    my $begin = time;
    my $calls = $first->calls(sub {
        for (1 .. 5) {
            is(guess($first, '192.0.2.3'), 401, 'charged');
            my $end = time + 0.3;
            wait_until('a third of a second', sub { time > $end });
        }
        becomes(sub { total('c0000203') }, 5, 'all is told');
    });
    my $lookups = 5;
    cmp_ok($calls - $lookups, '<=', 2 + time - $begin, 'a call a second') or diag $calls;
};

subtest 'clocks' => sub {
    my $hour = int(time / 3600);
    $redis->cmd('HSET', 't:address:{c0000204}:api', '3600.number' => $hour + 1, '3600.count' => 2);
    is(guess($first, '192.0.2.4'), 401, 'a node whose clock is behind');
    is(guess($first, '192.0.2.4'), 401, 'decides alone') for 1 .. 2;
    is(total('c0000204'), 2, '... and does not change the next window');
    $redis->cmd('HSET', 't:address:{c0000205}:api', '3600.number' => $hour + 1000, '3600.count' => 2);
    is(guess($first, '192.0.2.5'), 401, 'a count of a wrong clock') for 1 .. 2;
    becomes(sub { total('c0000205') }, 2, '... is dropped');
};

# Clocks 20 s apart. The second of the budget is many windows ahead then, and the hour is the same, or the next one.
subtest 'a node that is behind by several short windows' => sub {
    my $late = start(share => $first, plans => 'plan free 1000r/d; anonymous 10r/s 50r/h shared;');
    my ($second, $hour) = (int(time), int(time / 3600));
    my $key = 't:address:{c0000207}:api';
    my @ahead = ('1.number' => $second + 20, '1.count' => 2);
    $redis->cmd('HSET', $key, @ahead, '3600.number' => $hour, '3600.count' => 2);
    $redis->cmd('EXPIRE', $key, 7200);
    is(guess($late, '192.0.2.7'), 401, 'the node that is behind') for 1 .. 7;
    becomes(sub { $redis->cmd('HGET', $key, '3600.count') }, 9, 'counts in the hour');
    is($redis->cmd('HGET', $key, '1.number') . ' ' . $redis->cmd('HGET', $key, '1.count'), ($second + 20) . ' 2', 'not in the second');
    cmp_ok($redis->cmd('TTL', $key), '>', 3600, '... and the hash expires when the other one says');
    $late->nginx->stop;
};

subtest 'an outage' => sub {
    $redis->stop;
    is(guess($first, '192.0.2.6'), 503, 'a key that cannot be looked up') ;
    is($first->get('/', undef, 'X-Real-IP' => '192.0.2.6')->status, 401, 'no key') for 1 .. 6;
    is($first->get('/', undef, 'X-Real-IP' => '192.0.2.6')->status, 429, 'the budget of the node');
    $redis->restart;
    becomes(sub { total('c0000206') }, 6, 'it is told when Redis is back');
};

$_->nginx->stop for $first, $second;
done_testing;
