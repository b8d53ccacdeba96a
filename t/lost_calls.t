# Calls whose replies never come, because the connection is cut after Redis has executed them: what they have counted and
# leased is taken back by the next call for the key.

use strict;
use warnings;
use lib 't/lib';
use FakeRedis qw($CLOSE name_of);
use Gateway qw(wait_for_room);
use Load;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

# Whether a call of acquires asks for a lease: then its number is not 0.
sub asks_for_lease { my ($command) = @_; return name_of($command) eq 'acquire' && $command->[3 + $command->[2] + 4] ne '0' }

sub start {
    my ($policy, $plans) = @_;
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $redis->address,
        faults => { lost => { reply => sub { my ($bytes, $command) = @_; asks_for_lease($command) ? $CLOSE : $bytes } } },
    );
    my $gateway = Gateway->start(
        plans          => $plans,
        table          => 'lease=1s',
        redis          => "timeout 400ms; on_failure $policy;",
        server         => 'location /ten { tollgate api; tollgate_cost 10; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
        redis_server   => $redis,
        server_address => $fake->address,
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($redis, 3600, 60);
    return { name => "$policy, $plans", gateway => $gateway, fake => $fake, granted => 0 };
}

sub load {
    my ($case) = @_;
    my $result = Load->run(servers => [$case->{gateway}->address], connections => 4, requests => 100, token => 'k', path => '/ten');
    $case->{granted} += 10 * ($result->{status}{200} // 0);
}

sub calls { return $_[0]{gateway}->status->{redis}[0]{lost_calls} }

my @cases = (
    start('local', 'plan free 1000000r/h 10000000r/d;'),
    start('deny',  'plan free 1000000r/h 10000000r/d window=sliding;'),
    start('local', 'plan free 1000000r/h; history 90d;'),
);
for my $round (1, 2) {
    for my $case (@cases) {
        load($case);
        $case->{fake}->fault('lost');
        # What is leased may last for some more requests.
        wait_until('a lost call', sub { load($case); calls($case)->{noted} >= $round });
        $case->{fake}->heal;
    }
    for my $case (@cases) {
        my $gateway = $case->{gateway};
        wait_until('Redis to be reachable', sub { $gateway->get('/', 'k')->status == 200 && ++$case->{granted} && !$gateway->status->{redis}[0]{breaker_open_workers} });
    }
    for my $case (@cases) {
        my $gateway = $case->{gateway};
        becomes(sub { $gateway->count('k1', 'api', 3600) }, $case->{granted}, "$case->{name}: Redis counts what was granted");
        becomes(sub { $gateway->unsettled }, 0, '... and nothing is left to report');
        becomes(sub { my $calls = calls($case); $calls->{noted} - $calls->{taken_back} }, 0, '... or to take back');
    }
}
for my $case (@cases) {
    # A renewal that began after the last request is returned.
    becomes(sub { $case->{gateway}->count('k1', 'api', 86400) }, $case->{granted}, "$case->{name}: the day has the same");
    $case->{gateway}->nginx->stop;
}
done_testing;
