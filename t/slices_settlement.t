# Units of slices and of leases go back to Redis although the node has no record of the key any more: the key was
# deleted, or other keys took the place of its record in the zone.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Gateway qw(wait_for_room);
use Http;
use Load;
use Wait qw(becomes wait_until);

subtest 'of a key that is deleted while its worker has a slice' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/h;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->subscribed(1);
    wait_for_room($gateway->redis, 3600);
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 8, token => 'k');
    wait_until('slices', sub { $gateway->status->{redis}[0]{lease_units}{spent} > 500 });
    $gateway->change_key('k');
    # A request before the change takes effect is granted, too.
    my $granted = 0;
    wait_until('the change', sub {
        my $status = $gateway->get('/', 'k')->status;
        ++$granted if $status == 200;
        return $status == 401;
    });
    $granted += $load->finish->{status}{200};
    becomes(sub { $gateway->count('k1', 'api', 3600) }, $granted, 'Redis counts what was granted');
    $gateway->nginx->stop;
};

subtest 'of a key whose record was evicted from the zone' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/h;', http => 'tollgate_zone 128k;');
    $gateway->import_key("k$_", id => "k$_", plan => 'free') for 0 .. 3000;
    $gateway->subscribed(1);
    wait_for_room($gateway->redis, 3600);
    my $load = sub {
        my ($token, $requests) = @_;
        my %options = (connections => 8, requests => $requests, token => $token);
        return Load->run(servers => [$gateway->address], %options)->{status}{200};
    };
    # The second request finds the record in the zone: the worker then keeps it in its own memory.
    my $granted = grep { $gateway->get('/', 'k0')->status == 200 } 1 .. 2;
    my $next = 0;
    is($load->(sub { 'k' . ++$next }, 3000), 3000, 'the zone is too small for all keys');
    $granted += $load->('k0', 500);
    becomes(sub { $gateway->count('k0', 'api', 3600) }, $granted, 'Redis counts what was granted');
    $gateway->nginx->stop;
};

subtest 'of a worker that is killed' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/h;');
    $gateway->subscribed(1);
    wait_for_room($gateway->redis, 3600);
    my $units = sub { $gateway->status->{redis}[0]{lease_units} };
    my $lost = $units->()->{lost};
    my $exact = 0;
    # Nobody knows what Redis granted in a call that was under way.
    for my $id (map { "k$_" } 1 .. 20) {
        $gateway->import_key($id, id => $id, plan => 'free');
        my $connection = Http->connect($gateway);
        my $granted = grep { $connection->request('GET', '/', { Authorization => "Bearer $id" })->status == 200 } 1 .. 300;
        $gateway->nginx->kill_worker(($gateway->nginx->workers)[0]);
        wait_until('its successor', sub { eval { $units->() } });
        wait_until('the end of all leases', sub {
            my $now = $units->();
            return $now->{granted} == $now->{spent} + $now->{returned} + $now->{lost};
        });
        my $count = $gateway->count($id, 'api', 3600);
        cmp_ok($count, '>=', $granted, "$id: what was granted is counted");
        ++$exact if $count == $granted && $units->()->{lost} == $lost;
        last if $exact == 5;
        $lost = $units->()->{lost};
    }
    is($exact, 5, 'its successor returns its slice');
    $gateway->nginx->stop;
};

# A gateway whose worker returns a lease in a call that Redis does not answer, and a function that tells the units that are
# shown as held.
sub returning_a_lease {
    my $gateway = Gateway->start(plans => 'plan free 1000000r/h;', redis => 'timeout 20s;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->subscribed(1);
    my $main = sub { $gateway->status->{redis}[0] };
    my $units = sub {
        my $units = $main->()->{lease_units};
        return $units->{granted} - $units->{spent} - $units->{returned} - $units->{lost};
    };
    my $before;
    wait_until('a lease that nobody uses', sub {
        my $connection = Http->connect($gateway);
        $connection->request('GET', '/', { Authorization => 'Bearer k' }) for 1 .. 50;
        wait_until('the end of the slice', sub { $main->()->{lease_units}{spent} == $main->()->{quota_decisions}{lease} });
        $gateway->redis->cmd('CLIENT', 'PAUSE', 20_000, 'WRITE');
        $before = $main->()->{commands}{acquire};
        return 1 if $units->() > 0;
        $gateway->redis->cmd('CLIENT', 'UNPAUSE');
        return 0;
    });
    wait_until('the call that returns it', sub { $main->()->{commands}{acquire} > $before });
    return ($gateway, $units);
}

sub are_lost {
    my ($gateway, $units) = @_;
    becomes($units, 0, 'no unit is shown as held');
    cmp_ok($gateway->status->{redis}[0]{lease_units}{lost}, '>', 0, '… the units are lost');
    $gateway->nginx->stop;
}

subtest 'of a worker that is killed while it returns a lease' => sub {
    my ($gateway, $units) = returning_a_lease();
    $gateway->nginx->kill_worker;
    wait_until('its successor', sub { eval { $gateway->status } });
    $gateway->redis->cmd('CLIENT', 'UNPAUSE');
    are_lost($gateway, $units);
};

subtest 'of an old worker that is killed while it returns a lease' => sub {
    my ($gateway, $units) = returning_a_lease();
    my $nginx = $gateway->nginx;
    my ($old) = $nginx->workers;
    # The begin of a request, which arrived with the one before it, keeps the worker from exiting.
    my $client = Http->connect($gateway);
    $client->send(Http::format_request('GET', '/') . "GET / HTTP/1.1\r\n");
    is($client->response->status, 401, 'a request');
    $nginx->reload;
    cmp_ok($units->(), '>', 0, 'the new worker shows what the old one holds');
    $nginx->kill_worker($old);
    are_lost($gateway, $units);
};

subtest 'of an old worker that exits while it returns a lease' => sub {
    my ($gateway, $units) = returning_a_lease();
    $gateway->nginx->reload;
    $gateway->nginx->old_workers_gone;
    are_lost($gateway, $units);
};

done_testing;
