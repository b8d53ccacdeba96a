# Replies of calls that have timed out: Redis executes a call before its deadline although a call before it has timed out on
# the same connection. The node reads its reply later: what Redis counted and nobody waits for goes back.

use strict;
use warnings;
use lib 't/lib';
use Gateway qw(wait_for_room);
use Http;
use Load;
use Test::More;
use Time::HiRes qw(sleep);
use Wait qw(becomes wait_until);

my $timeout = 0.6;
for my $policy (qw(local deny)) {
    my $gateway = Gateway->start(
        plans  => 'plan free 1000000r/h;',
        redis  => "timeout 600ms; on_failure $policy;",
        server => 'location /ten { tollgate api; tollgate_cost 10; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
    );
    my $redis = $gateway->redis;
    $gateway->import_key($_, id => $_, plan => 'free') for qw(first second);
    $gateway->subscribed(1);
    wait_for_room($redis, 3600);
    my $client = sub {
        my ($path, $token) = @_;
        my $client = Http->connect($gateway);
        $client->send("GET $path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $token\r\n\r\n");
        return $client;
    };
    my $granted = 0;
    my $end = sub { $granted += 10 * (grep { $_->response('GET')->status == 200 } @_) };
    is($gateway->get('/ten', $_)->status, 200, "$policy: $_") for qw(first second);
    $granted += 10;
    for my $round (1 .. 3) {
        # The next call of the second key asks for a lease.
        my $result = Load->run(servers => [$gateway->address], connections => 4, requests => 100, token => 'second', path => '/ten');
        $granted += 10 * ($result->{status}{200} // 0);
        wait_until('the lease to be returned', sub { $gateway->count('second', 'api', 3600) == $granted });
        $redis->sigstop;
        my $first = $client->('/', 'first');
        sleep $timeout * 0.7;
        my @second = map { $client->('/ten', 'second') } 1 .. 5;
        is($first->response('GET')->status, $policy eq 'local' ? 200 : 503, "round $round: the first call has timed out");
        $redis->sigcont;
        $end->(@second);
        becomes(sub { $gateway->count('second', 'api', 3600) }, $granted, '... and the units of the second go back');
        becomes(sub { $gateway->unsettled }, 0, '... and nothing is left to report');
        wait_until('Redis to be reachable', sub { $gateway->get('/ten', 'first')->status == 200 && !$gateway->status->{redis}[0]{breaker_open_workers} });
    }
    my $units = $gateway->status->{redis}[0]{lease_units};
    is($units->{lost}, 0, 'no leased unit is lost');
    $gateway->nginx->stop;
}
done_testing;
