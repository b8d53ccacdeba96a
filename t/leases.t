# Leases: for a key with many requests, the node takes units ahead, grants from them without asking Redis, and returns
# what it does not use. The counts stay exact.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(spend_rest wait_for_room);
use Http;
use Load;
use Resp;
use Wait qw(becomes);

my $ample = 'plan free 1000000r/h 10000000r/d;';

subtest 'few calls, exact counts' => sub {
    my $gateway = Gateway->start(plans => $ample, workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $result;
    my $calls = $gateway->calls(sub {
        $result = Load->run(servers => [$gateway->address], connections => 32, requests => 10_000, token => 'k');
    });
    is_deeply($result->{status}, { 200 => 10_000 }, '10,000 requests are granted');
    cmp_ok($calls, '<', 500, "... with $calls calls");
    my $counts = sub { join ' ', map { $gateway->count('k1', 'api', $_) } 3600, 86400 };
    cmp_ok($gateway->count('k1', 'api', 3600), '>=', 10_000, 'all are counted, and so is the lease');
    becomes($counts, '10000 10000', '... which is returned when it is idle');
    $gateway->nginx->stop;
};

subtest 'three nodes grant the limit, and no more' => sub {
    my $plans = 'plan free 2000r/h;';
    my @nodes = my $first = Gateway->start(plans => $plans, workers => 2);
    push @nodes, map { Gateway->start(plans => $plans, workers => 2, share => $first) } 2 .. 3;
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 3600);
    my $result;
    my $calls = $first->calls(sub {
        $result = Load->run(servers => [map { $_->address } @nodes], connections => 16, requests => 8000, token => 'k');
    });
    is($result->{status}{200} + $result->{status}{429}, 8000, '8,000 requests are granted or refused');
    is(spend_rest(\@nodes, 'k', $result->{status}{200}, 2000), 2000, '2,000 are granted');
    cmp_ok($calls, '<', 1000, "... with $calls calls");
    $_->nginx->stop for @nodes;
};

subtest 'a node that is refused recalls the lease of another one' => sub {
    my $first = Gateway->start(plans => 'plan free 400r/h;', workers => 2);
    my $second = Gateway->start(plans => 'plan free 400r/h;', workers => 2, share => $first);
    $first->subscribed(4);
    my $redis = $first->redis;
    my $events = Resp->connect($redis->address);
    $events->send('SUBSCRIBE', 't:events');
    $events->read;
    wait_for_room($redis, 3600);
    # Whether the first node has a lease when the second one is refused depends on the time.
    my ($granted, $refusal, $id);
    for my $try (1 .. 10) {
        $id = "k$try";
        $first->import_key($id, id => $id, plan => 'free');
        $second->get('/', $id);
        $granted = 1 + Load->run(servers => [$first->address], connections => 8, requests => 200, token => $id)->{status}{200};
        my $spent = Load->run(servers => [$second->address], connections => 8, requests => 250, token => $id)->{status};
        $granted += $spent->{200};
        $refusal = $second->get('/', $id);
        ++$granted if $refusal->status == 200;
        last if $granted < 400 && $refusal->status == 429;
    }
    is($refusal->status, 429, 'a refusal');
    cmp_ok($granted, '<', 400, '… while the first node has units');
    is($refusal->header('Retry-After'), 1, '… says when they are back');
    my $message = '';
    $message = $events->read->[2] while $message !~ /\Arecall:$id\z/;
    pass('the leases are recalled');
    sleep $refusal->header('Retry-After');
    is($second->get('/', $id)->status, 200, 'a client that obeys is granted');
    is(spend_rest([$first, $second], $id, $granted + 1, 400), 400, 'all units are granted');
    cmp_ok($first->status->{redis}[0]{leases_recalled}, '>', 0, 'the status counts it');
    $_->nginx->stop for $second, $first;
};

subtest 'a request that costs more than the limit recalls no lease' => sub {
    my %options = (plans => 'plan free 100000r/d;', table => 'lease=5s', location => 'tollgate_cost $arg_c;');
    my $first = Gateway->start(%options);
    my $second = Gateway->start(%options, share => $first);
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 86400);
    my $events = Resp->connect($first->redis->address);
    $events->send('SUBSCRIBE', 't:events');
    $events->read;
    my $spent = Load->run(servers => [$first->address], connections => 8, requests => 1000, token => 'k')->{status}{200};
    cmp_ok($first->count('k1', 'api', 86400), '>', $spent, 'a node has a lease');
    my $refusal = $second->get('/?c=100001', 'k');
    is($refusal->status, 429, 'another one refuses a request that costs more than the limit');
    is($refusal->header('Retry-After'), undef, '... at any time');
    becomes(sub { $second->get('/?c=100000', 'k')->header('Retry-After') }, 1, 'one that costs as much waits for the lease');
    is($events->read->[2], 'recall:k1', '... which has been recalled');
    is($first->redis->cmd('PUBLISH', 't:events', 'end'), 3, 'both nodes and this test are told');
    is($events->read->[2], 'end', '... of one recall');
    $_->nginx->stop for $second, $first;
};

subtest 'a graceful exit returns the lease' => sub {
    my $gateway = Gateway->start(plans => $ample, workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    Load->run(servers => [$gateway->address], connections => 16, requests => 3000, token => 'k');
    cmp_ok($gateway->count('k1', 'api', 86400), '>', 3000, 'a lease is held');
    $gateway->nginx->stop;
    is($gateway->count('k1', 'api', 86400), 3000, '... and returned');
};

subtest 'a reload loses no lease and grants none twice' => sub {
    my $gateway = Gateway->start(plans => $ample, workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $granted = 0;
    for (1 .. 5) {
        $granted += Load->run(servers => [$gateway->address], connections => 8, requests => 500, token => 'k')->{status}{200};
        $gateway->nginx->reload;
    }
    $gateway->nginx->old_workers_gone;
    is($granted, 2500, 'all requests are granted');
    becomes(sub { $gateway->count('k1', 'api', 86400) }, 2500, '... and counted once');
    $gateway->nginx->stop;
};

subtest 'killed workers lose leases, but never grant more than the limit' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1500r/h;', workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $granted = 0;
    for (1 .. 4) {
        my $result = Load->run(servers => [$gateway->address], connections => 8, requests => 1000, token => 'k');
        $granted += $result->{status}{200} // 0;
        $gateway->nginx->kill_worker;
    }
    cmp_ok($granted, '<=', 1500, 'at most the limit');
    cmp_ok($granted, '>=', 1300, '... and not much less');
    $gateway->nginx->stop;
};

subtest 'the longer window gets back the lease that a shorter window leaves' => sub {
    my $gateway = Gateway->start(plans => 'plan free 5000r/s 1000000r/d;', workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    my $end = $gateway->redis->cmd('TIME')->[0] + 3;
    my $result = Load->run(
        servers => [$gateway->address], connections => 8, token => 'k',
        until   => sub { $gateway->redis->cmd('TIME')->[0] >= $end },
    );
    becomes(sub { $gateway->count('k1', 'api', 86400) }, $result->{status}{200}, 'after some windows of a second, the day counts what was granted');
    $gateway->nginx->stop;
};

subtest 'lease=off' => sub {
    my $gateway = Gateway->start(
        plans  => $ample,
        http   => 'tollgate_plans exact lease=off { plan free 1000000r/h; }',
        server => 'location /exact { tollgate exact; proxy_pass http://unix:%DIR%/upstream.sock; }',
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $client = Http->connect($gateway);
    my $calls = $gateway->calls(sub {
        $client->request('GET', '/exact', { Authorization => 'Bearer k' }) for 1 .. 500;
    });
    cmp_ok($calls, '>=', 500, 'each request is decided in Redis');
    is($gateway->count('k1', 'exact', 3600), 500, '... and no lease is taken');
    $gateway->nginx->stop;
};

done_testing;
