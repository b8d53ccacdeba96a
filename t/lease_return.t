# Leases are returned to Redis when the last worker exits, but not at a reload, and are not lost when the zone is full.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Gateway qw(wait_for_room);
use Http;
use Load;
use List::Util qw(sum);
use Time::HiRes qw(sleep time);
use Wait qw(wait_until);

my $status = 'location = /status { tollgate_status; }';

sub start_gateway {
    my $gateway = Gateway->start(plans => 'plan much 100000000r/d;', server => $status, @_);
    $gateway->subscribed($_) for 1;
    return $gateway;
}

sub gone { my ($pid) = @_; wait_until("process $pid to end", sub { !kill 0 => $pid }, 30) }

for my $workers (1, 2) {
    subtest "a graceful quit of $workers workers returns every lease" => sub {
        for (1 .. 5) {
            my $gateway = start_gateway(workers => $workers, http => 'keepalive_requests 1000000;');
            my @keys = map { "k$_" } 1 .. 5;
            $gateway->import_key($_, id => $_, plan => 'much') for @keys;
            my $end = time + 0.5;
            my $result = Load->run(servers => [$gateway->address], connections => 8, token => sub { $keys[rand @keys] }, until => sub { time > $end });
            is_deeply([keys %{ $result->{status} }], [200], 'all are granted');
            my @pids = $gateway->nginx->workers;
            kill QUIT => $gateway->nginx->pid;
            gone($_) for @pids;
            my $counted = sum map { $gateway->count($_, 'api', 86400) } @keys;
            is($counted, $result->{status}{200}, 'Redis counts what was granted, and no more');
            $gateway->nginx->stop;
        }
    };
}

subtest 'an old worker exits at once, and leaves its leases to the new workers' => sub {
    my $gateway = start_gateway(workers => 2);
    my @keys = map { "k$_" } 1 .. 10;
    $gateway->import_key($_, id => $_, plan => 'much') for @keys;
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 16, token => sub { $keys[rand @keys] });
    sleep 0.5;
    for (1 .. 3) {
        my @old = $gateway->nginx->workers;
        $gateway->nginx->reload;
        my $start = time;
        my $calls = $gateway->calls(sub { gone($_) for @old });
        my $seconds = time - $start;
        # An upstream connection ends with its worker. Each request here takes a few ms.
        cmp_ok($seconds, '<', 5, sprintf 'the old workers have gone after %.1f s', $seconds);
        cmp_ok($calls, '<', 200 * ($seconds + 1), "... which cost $calls calls");
    }
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], 'all are granted');
    $gateway->nginx->stop;
};

for my $error (qw(OOM READONLY)) {
    subtest "an old worker exits if Redis answers $error" => sub {
        my $gateway = start_gateway;
        $gateway->import_key('k', id => 'k1', plan => 'much');
        my $end = time + 0.5;
        Load->run(servers => [$gateway->address], connections => 4, token => 'k', until => sub { time > $end });
        $gateway->redis->cmd($error eq 'OOM' ? ('CONFIG', 'SET', 'maxmemory', 1) : ('REPLICAOF', '127.0.0.1', 1));
        is($gateway->get('/', 'k')->status, 200, 'granted alone') for 1 .. 20;
        my ($old) = $gateway->nginx->workers;
        $gateway->nginx->reload;
        gone($old);
        my ($worker) = $gateway->nginx->workers;
        kill QUIT => $gateway->nginx->pid;
        gone($worker);
        my $lines = () = $gateway->nginx->error_log =~ /$error/g;
        cmp_ok($lines, '<', 20, "$lines lines in the log");
        $gateway->nginx->stop;
    };
}

subtest 'a full zone costs a key nothing' => sub {
    my $limit = 1000;
    my $gateway = Gateway->start(
        plans => "plan free ${limit}r/d; plan other 100000r/d;", server => $status,
        http  => 'tollgate_zone 128k; keepalive_requests 1000000;',
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    my @others = map { "o$_" } 1 .. 3000;
    $gateway->import_key($_, id => $_, plan => 'other') for @others;
    wait_for_room($gateway->redis, 86400, 72);
    my ($granted, $next, $refused) = (0, 0, 0);
    while ($granted < $limit && $refused < 50) {
        my $result = Load->run(servers => [$gateway->address], connections => 4, requests => 60, token => 'k');
        $granted += $result->{status}{200} // 0;
        $refused++ if $result->{status}{429};
        sleep 0.3 if $result->{status}{429};    # an idle lease is returned after a second
        Load->run(servers => [$gateway->address], connections => 4, requests => 600, token => sub { $others[$next++ % @others] });
    }
    is($granted, $limit, 'the whole quota is granted');
    is($gateway->count('k1', 'api', 86400), $limit, 'all of it is counted');
    my $zone = Http::http_get($gateway->nginx, '/status')->json->{zone}{stores};
    cmp_ok($zone->{quotas}{evictions}, '>', 1000, 'other quotas were evicted');
    $gateway->nginx->stop;
};

subtest 'units of leases are accounted for' => sub {
    my $gateway = start_gateway(workers => 2);
    my @keys = map { "k$_" } 1 .. 5;
    $gateway->import_key($_, id => $_, plan => 'much') for @keys;
    my $end = time + 1;
    my $result = Load->run(servers => [$gateway->address], connections => 8, token => sub { $keys[rand @keys] }, until => sub { time > $end });
    my $leases = sub { Http::http_get($gateway->nginx, '/status')->json->{redis}[0]{lease_units} };
    my $outstanding = sub { my $l = $leases->(); $l->{granted} - $l->{spent} - $l->{returned} - $l->{lost} };
    wait_until('idle leases to go back', sub { $outstanding->() == 0 }, 30);
    my $l = $leases->();
    cmp_ok($l->{spent}, '>', 0, "spent $l->{spent}, returned $l->{returned}, lost $l->{lost} of $l->{granted}");
    is($l->{lost}, 0, 'none is lost');
    is((sum map { $gateway->count($_, 'api', 86400) } @keys), $result->{status}{200}, 'Redis counts what was granted');
    $gateway->nginx->stop;
};

done_testing;
