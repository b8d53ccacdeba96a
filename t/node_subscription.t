# The workers of a node share one subscription to changes of keys. Another worker takes it over from one that does not run.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Http;
use RedisServer;
use Time::HiRes qw(sleep time);
use Wait qw(becomes wait_until);

# 0.2 s are promised: with room for a busy machine.
my $at_once = 0.5;

sub start {
    my ($workers, %options) = @_;
    my $redis = RedisServer->start(tcp => 1);
    my $gateway = Gateway->start(redis_server => $redis, server_address => '127.0.0.1:' . $redis->port, plans => 'plan free 1000000r/h;', location => 'add_header X-Worker $pid always;', workers => $workers,
        http => 'keepalive_requests 1000000;', redis => 'key_cache 1h;', %options);
    $gateway->import_key($_, id => $_, plan => 'free') for qw(a b c);
    return $gateway;
}

sub subscriptions { my ($gateway) = @_; return $gateway->redis->cmd('PUBSUB', 'NUMSUB', 't:events')->[1] }
sub informed { my ($gateway) = @_; return $gateway->status->{redis}[0]{subscribed_workers} }

# The process that has the subscription, or one of them. Closed connections to other servers may have had the same port, so
# both addresses are compared. The kernel's list of sockets may lack one that is in it.
sub subscriber {
    my ($gateway) = @_;
    return wait_until('a subscriber', sub {
        my ($port) = $gateway->redis->cmd('CLIENT', 'LIST', 'TYPE', 'pubsub') =~ /addr=127\.0\.0\.1:(\d+) / or return 0;
        my $addresses = join ' ', map { sprintf '0100007F:%04X', $_ } $port, $gateway->redis->port;
        open my $sockets, '<', '/proc/net/tcp' or die "/proc/net/tcp: $!";
        my ($inode) = map { (split)[9] } grep { join(' ', (split)[1, 2]) eq $addresses } <$sockets> or return 0;
        my ($pid) = grep { grep { (readlink // '') eq "socket:[$inode]" } glob "/proc/$_/fd/*" } all_workers($gateway);
        return $pid;
    });
}

sub all_workers { my ($gateway) = @_; my $master = $gateway->nginx->pid; return split ' ', `ps -o pid= --ppid $master` }

# A connection to each worker, which has authenticated these keys. After a second, a record needs a look-up unless the node
# is subscribed.
sub clients {
    my ($gateway, @keys) = @_;
    my %clients;
    wait_until('a connection to each worker', sub {
        my $client = Http->connect($gateway);
        my $worker = $client->request('GET', '/', { Authorization => 'Bearer a' })->header('x-worker');
        $clients{$worker} //= $client;
        keys %clients == $gateway->nginx->{workers};
    });
    for my $client (values %clients) { asked($client, $_) for @keys }
    return \%clients;
}

sub asked { my ($client, $key) = @_; return $client->request('GET', '/', { Authorization => "Bearer $key" })->status }

# How long a revocation takes until all of these connections refuse the key.
sub revoked_after {
    my ($gateway, $key, $clients) = @_;
    $gateway->change_key($key, state => 'disabled');
    my $begin = time;
    my %left = %$clients;
    wait_until('the key to be refused', sub { for (keys %left) { delete $left{$_} if asked($left{$_}, $key) == 401 } !%left });
    return time - $begin;
}

# The change of a key that no subscriber hears of.
sub change_in_silence {
    my ($gateway, $key) = @_;
    my ($seconds, $us) = @{ $gateway->redis->cmd('TIME') };
    $gateway->redis->cmd('HSET', 't:key:' . sha256_hex($key), 'state', 'disabled');
    $gateway->redis->cmd('ZADD', 't:changes', $seconds * 1000 + int($us / 1000), $key);
}

for my $workers (1, 2, 8) {
    subtest "$workers workers have one subscription" => sub {
        my $gateway = start($workers);
        becomes(sub { informed($gateway) }, $workers, 'all workers are informed');
        is(subscriptions($gateway), 1, 'by one subscription');
        my $clients = clients($gateway, 'a', 'b');
        my $seconds = revoked_after($gateway, 'a', $clients);
        cmp_ok($seconds, '<', $at_once, sprintf 'a revocation is known to all after %.0f ms', 1000 * $seconds);
        $gateway->nginx->stop;
    };
}

subtest 'the subscriber is killed' => sub {
    my $gateway = start(3, expect => qr/ exited on signal 9$/);
    becomes(sub { informed($gateway) }, 3, 'all workers are informed');
    my $clients = clients($gateway, 'a', 'b', 'c');
    sleep 1.1;
    my $old = subscriber($gateway);
    kill KILL => $old;
    change_in_silence($gateway, 'a');
    delete $clients->{$old};
    my $begin = time;
    wait_until('the key to be refused', sub { !grep { asked($_, 'a') == 200 } values %$clients });
    cmp_ok(time - $begin, '<', 1, sprintf 'a change that nobody heard is known after %.1f s', time - $begin);
    wait_until('another subscriber', sub { subscriber($gateway) != $old });
    becomes(sub { informed($gateway) }, 3, 'all workers are informed again');
    is(subscriptions($gateway), 1, 'by one subscription');
    cmp_ok(revoked_after($gateway, 'b', $clients), '<', $at_once, 'the next change is known at once');
    $gateway->nginx->stop;
};

subtest 'the subscriber is stopped' => sub {
    my $gateway = start(3);
    becomes(sub { informed($gateway) }, 3, 'all workers are informed');
    my $clients = clients($gateway, 'a', 'b', 'c');
    sleep 1.1;
    my $old = subscriber($gateway);
    my $stopped = delete $clients->{$old};
    kill STOP => $old;
    my $begin = time;
    $gateway->change_key('a', state => 'disabled');
    change_in_silence($gateway, 'a');
    wait_until('the key to be refused', sub { !grep { asked($_, 'a') == 200 } values %$clients });
    cmp_ok(time - $begin, '<', 2.5, sprintf 'a change is known after %.1f s', time - $begin);
    # Redis has not noticed that the first one is stopped.
    wait_until('another subscription', sub { subscriptions($gateway) == 2 });
    cmp_ok(revoked_after($gateway, 'b', $clients), '<', $at_once, 'the next change is known at once');
    kill CONT => $old;
    is(asked($stopped, $_), 401, "the worker that was stopped knows the change of $_") for qw(a b);
    wait_until('one subscription', sub { subscriptions($gateway) == 1 });
    isnt(subscriber($gateway), $old, 'the new one remains');
    cmp_ok(revoked_after($gateway, 'c', { %$clients, old => $stopped }), '<', $at_once, 'the next change is known to all');
    $gateway->nginx->stop;
};

subtest 'the subscriber shuts down after a reload' => sub {
    my $gateway = start(2);
    becomes(sub { informed($gateway) }, 2, 'all workers are informed');
    my $clients = clients($gateway, 'a', 'b', 'c');
    my %half = map { my $client = $_; $_ => [map { Http->connect($gateway) } 1 .. 12] } qw(a b);
    # Workers that shut down end the requests that they have begun to read.
    for my $connections (values %half) { $_->send("GET / HTTP/1.1\r\nHost: a\r\n") for @$connections }
    sleep 0.1;
    my @old = $gateway->nginx->workers;
    $gateway->nginx->reload;
    wait_until('the new workers to be informed', sub { informed($gateway) == 2 });
    wait_until('a new subscriber', sub { my $now = subscriber($gateway); subscriptions($gateway) == 1 && !grep { $_ == $now } @old });
    $clients = clients($gateway, 'a', 'b', 'c');
    sleep 1.1;
    cmp_ok(revoked_after($gateway, 'a', $clients), '<', $at_once, 'a change is known to the new workers at once');
    my %of;
    for my $key (qw(a b)) {
        for my $client (@{ $half{$key} }) {
            $client->send("Authorization: Bearer $key\r\n\r\n");
            my $response = $client->response('GET');
            $of{$key}{ $response->status }++;
            $of{old}{ $response->header('x-worker') }++;
        }
    }
    is_deeply($of{a}, { 401 => 12 }, 'and to those that shut down');
    is_deeply($of{b}, { 200 => 12 }, '... which serve the other keys');
    ok(!(grep { my $pid = $_; !grep { $_ == $pid } @old } keys %{ $of{old} }), '... and are old ones');
    $gateway->nginx->stop;
};

subtest 'the connection of the subscriber is lost' => sub {
    my $gateway = start(3);
    becomes(sub { informed($gateway) }, 3, 'all workers are informed');
    my $clients = clients($gateway, 'a', 'b');
    sleep 1.1;
    my $redis = $gateway->redis;
    my ($seconds) = @{ $redis->cmd('TIME') };
    $redis->cmd(@$_) for ['MULTI'], ['CLIENT', 'KILL', 'TYPE', 'pubsub'], ['HSET', 't:key:' . sha256_hex('a'), 'state', 'disabled'],
        ['ZADD', 't:changes', $seconds * 1000, 'a'], ['PUBLISH', 't:events', 'a'];
    is($redis->cmd('EXEC')->[-1], 0, 'nobody receives the message');
    my $begin = time;
    wait_until('the key to be refused', sub { !grep { asked($_, 'a') == 200 } values %$clients });
    cmp_ok(time - $begin, '<', 1, 'all workers look it up at once');
    becomes(sub { subscriptions($gateway) }, 1, 'one worker subscribes again');
    becomes(sub { informed($gateway) }, 3, '... for all');
    cmp_ok(revoked_after($gateway, 'b', $clients), '<', $at_once, 'the next change is known at once');
    $gateway->nginx->stop;
};

done_testing;
