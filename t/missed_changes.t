# A worker whose subscription is restored reads which keys have changed. Other cached keys need no look-up.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Time::HiRes qw(sleep);
use Wait qw(wait_until);

my @keys = map { "k$_" } 1 .. 40;

sub start {
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;');
    $gateway->import_key($_, id => $_, plan => 'free') for @keys;
    $gateway->subscribed(1);
    is($gateway->get('/', $_)->status, 200, "$_ is granted") for @keys;
    sleep 1.1;    # A record of the last second needs no look-up in any case.
    return $gateway;
}

sub subscriber { my ($redis) = @_; my ($id) = $redis->cmd('CLIENT', 'LIST', 'TYPE', 'pubsub') =~ /^id=(\d+) /m; return $id // 0 }

# Disables the key k1 while no worker is subscribed. The command that records the change also publishes it, in vain.
sub miss_a_change {
    my ($gateway, @record) = @_;
    my $redis = $gateway->redis;
    my $before = subscriber($redis);
    $redis->cmd('MULTI');
    $redis->cmd(@$_) for ['CLIENT', 'KILL', 'TYPE', 'pubsub'], ['HSET', 't:key:' . sha256_hex('k1'), 'state', 'disabled'], @record,
        ['PUBLISH', 't:events', 'k1'];
    is($redis->cmd('EXEC')->[-1], 0, 'nobody receives the message');
    wait_until('a new subscription', sub { my $now = subscriber($redis); $now && $now != $before });
    wait_until('the key to be refused', sub { $gateway->get('/', 'k1')->status == 401 });
}

# The number of look-ups for requests with all other keys.
sub lookups {
    my ($gateway) = @_;
    my $misses = sub { $gateway->status->{redis}[0]{key_cache_lookups}{miss} };
    my $before = $misses->();
    is($gateway->get('/', $_)->status, 200, "$_ is granted") for @keys[1 .. $#keys];
    return $misses->() - $before;
}

subtest 'a recorded change' => sub {
    my $gateway = start();
    my ($seconds) = @{ $gateway->redis->cmd('TIME') };
    miss_a_change($gateway, ['ZADD', 't:changes', $seconds * 1000, 'k1']);
    # The first keys may be asked for before the changes are read.
    cmp_ok(lookups($gateway), '<=', 10, 'other keys need no look-up');
    $gateway->nginx->stop;
};

subtest 'more changes than one reply has' => sub {
    my $gateway = start();
    my ($seconds) = @{ $gateway->redis->cmd('TIME') };
    my @others = map { ($seconds * 1000 + int($_ / 300), "other$_") } 0 .. 999;
    miss_a_change($gateway, ['ZADD', 't:changes', @others, $seconds * 1000 + 2, 'k1']);
    cmp_ok(lookups($gateway), '<=', 10, 'other keys need no look-up');
    $gateway->nginx->stop;
};

subtest 'a change that was not recorded' => sub {
    my $gateway = start();
    miss_a_change($gateway);
    is(lookups($gateway), @keys - 1, 'all keys are looked up again');
    $gateway->nginx->stop;
};

subtest 'Redis does not let the user read changes' => sub {
    my $gateway = start();
    $gateway->redis->cmd('ACL', 'SETUSER', 'default', '-zrangebyscore');
    my ($seconds) = @{ $gateway->redis->cmd('TIME') };
    miss_a_change($gateway, ['ZADD', 't:changes', $seconds * 1000, 'k1']);
    is(lookups($gateway), @keys - 1, 'all keys are looked up again');
    is($gateway->status->{redis}[0]{errors}, 0, 'no connection is lost');
    like($gateway->nginx->error_log, qr/\[warn\].*missed changes cannot be read; all cached keys are looked up again: (?:ERR|NOPERM)/, 'the log says so');
    $gateway->nginx->stop;
};

done_testing;
