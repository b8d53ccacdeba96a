# Redis hangs while requests wait. Each request is served within the timeout and charged once.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use Load;
use Time::HiRes qw(sleep);
use Wait qw(becomes wait_until);

sub reachable { return $_[0]->status->{redis}[0]{breaker_open_workers} == 0 }

for my $case (['plan free 100000r/h;', 300, 301], ['plan free 50r/d;', 300, 50], ['plan free 100000r/h;', 300, 301, 'lease=off']) {
    my ($plans, $concurrent, $served, $table) = @$case;
    subtest "$plans " . ($table // '') => sub {
        my $gateway = Gateway->start(
            plans => $plans, redis => 'timeout 200ms;', workers => 2, table => $table // '',
            events => 'worker_connections 2048;',
        );
        my $period = $plans =~ m{r/d} ? 86400 : 3600;
        $gateway->import_key('k', id => 'k1', plan => 'free');
        wait_for_room($gateway->redis, $period, 72);
        becomes(sub { $gateway->get('/', 'k')->status }, 200, 'known');    # a look-up may be late on a busy machine
        $gateway->redis->sigstop;
        my $result = Load->run(servers => [$gateway->address], connections => $concurrent, requests => $concurrent, token => 'k');
        sleep 1;    # Redis still hangs: commands wait in its socket
        $gateway->redis->sigcont;
        my $granted = 1 + ($result->{status}{200} // 0);
        is($granted, $served, 'served') or diag explain $result->{status};
        wait_until('Redis to be reachable', sub { reachable($gateway) }, 30);
        wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
        is($gateway->count('k1', 'api', $period), $granted, 'each is charged once');
        $gateway->nginx->stop;
    };
}

done_testing;
