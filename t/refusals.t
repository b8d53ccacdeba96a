# Refusals are local: a key that keeps sending requests after 429s causes one call of Redis per second, and so does a
# banned key.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_window wait_for_room);
use Http;
use Load;
use Time::HiRes qw(time);
use Wait qw(becomes wait_until);

# Sends requests for so many seconds, over several connections. Returns the calls of Redis, the count of each status, and
# the duration.
sub insist {
    my ($seconds, $token, @nodes) = @_;
    my $begun = time;
    my ($end, $result) = ($begun + $seconds);
    my @calls = $nodes[0]->monitor_calls(sub {
        $result = Load->run(
            servers => [map { $_->address } @nodes], connections => 4, token => $token,
            until   => sub { time > $end },
        );
    });
    return (\@calls, $result->{status}, time - $begun);
}

# The calls are shown if there are too many.
sub at_most {
    my ($calls, $most, $what) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    cmp_ok(@$calls, '<=', $most, scalar(@$calls) . " calls $what") or diag(join "\n", @$calls);
}

subtest 'an exhausted key' => sub {
    my $gateway = Gateway->start(plans => 'plan free 3r/d 50r/2d;', workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 86400);
    $gateway->subscribed(2);    # otherwise the key would be looked up each second
    $gateway->get('/', 'k') for 1 .. 4;
    my ($calls, $status, $took) = insist(2, 'k', $gateway);
    cmp_ok($status->{429}, '>', 100, "$status->{429} requests are refused");
    at_most($calls, $took + 1, "in $took seconds");
    my $before = time;
    my $r = $gateway->get('/', 'k');
    my $after = time;
    is($r->header('X-RateLimit-Remaining') . ' ' . $r->header('X-RateLimit-Limit'), '0 3', 'the quota is shown');
    is($r->header('X-RateLimit-Reset') % 86400, 0, '... and when it resets');
    my ($reset, $wait) = map { $r->header($_) } 'X-RateLimit-Reset', 'Retry-After';
    ok($wait >= $reset - $after && $wait <= $reset - $before + 2, '... as Retry-After says') or diag("$wait, reset $reset, $before to $after");
    $gateway->nginx->stop;
};

subtest 'it is granted again as soon as its window has ended' => sub {
    my $gateway = Gateway->start(plans => 'plan free 3r/s;', workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_window($gateway->redis, 1, 0.1);
    my $window = sub { $gateway->redis->cmd('TIME')->[0] };
    my $first = $window->();
    my ($calls, $status) = insist(3, 'k', $gateway);
    my $windows = $window->() - $first + 1;
    # The last window may have begun after the last request.
    cmp_ok($status->{200}, '>=', 3 * ($windows - 1), 'three in each second');
    cmp_ok($status->{200}, '<=', 3 * $windows, '... and no more');
    $gateway->nginx->stop;
};

subtest 'a banned key' => sub {
    my $plans = 'plan free 1r/d; ban after=20 within=1m for=1m;';
    my @nodes = my $first = Gateway->start(plans => $plans, workers => 2);
    push @nodes, Gateway->start(plans => $plans, workers => 2, share => $first);
    $first->subscribed(4);
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 86400);
    my ($calls, $status, $took) = insist(3, 'k', @nodes);
    # The ban is announced. A worker looks the key up again until the millisecond of the last announcement has passed.
    my ($lookups, $acquires) = ([grep { /"t:key:/ } @$calls], [grep { !/"t:key:/ } @$calls]);
    # Up to 20 strikes one by one; each of the four workers may ask meanwhile, and again after the announcement until
    # Redis has certainly counted later than it: for two milliseconds and a round trip.
    at_most($acquires, 24 + 4 * 13 + 2 * $took, "of two nodes until the ban and after, for $status->{429} refusals");
    at_most($lookups, 4 + 4 * 8, 'that look the key up: few for each of four workers');
    is($_->get('/', 'k')->json->{code}, 'api_key_banned', 'it is banned on every node') for @nodes;
    ($calls, $status, $took) = insist(2, 'k', @nodes);
    at_most($calls, 2 * ($took + 1), "in $took seconds");
    $first->redis->cmd('DEL', 't:ban:{k1}');
    $first->redis->cmd('PUBLISH', 't:events', 'k1');
    wait_until('the ban to be lifted', sub { $_->get('/', 'k')->json->{code} eq 'rate_limit_exceeded' }, 0.2) for @nodes;
    pass('a ban that is lifted ends at once');
    $_->nginx->stop for @nodes;
};

subtest 'strikes of all nodes are added' => sub {
    my $plans = 'plan free 1r/d; ban after=10 within=1m for=1m;';
    my @nodes = my $first = Gateway->start(plans => $plans);
    push @nodes, map { Gateway->start(plans => $plans, share => $first) } 2 .. 3;
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 86400);
    $nodes[0]->get('/', 'k');
    for my $node (@nodes) {
        is($node->get('/', 'k')->json->{code}, 'rate_limit_exceeded', 'a strike') for 1 .. 3;
    }
    becomes(sub { $first->redis->cmd('HGET', 't:ban:{k1}', 'strikes') }, 9, 'Redis has counted all of them');
    becomes(sub { $nodes[1]->get('/', 'k')->json->{code} }, 'api_key_banned', 'one more causes the ban');
    $_->nginx->stop for @nodes;
};

# Three nodes whose access logs have the verdict of each request.
sub nodes_with_ban {
    my ($key, @workers) = @_;
    my %options = (
        plans    => 'plan free 1r/d; ban after=20 within=1m for=1m;',
        http     => 'log_format verdict $tollgate_verdict;',
        server   => 'access_log %DIR%/verdicts.log verdict;',
        @workers,
    );
    my @nodes = my $first = Gateway->start(%options);
    push @nodes, map { Gateway->start(%options, share => $first) } 2 .. 3;
    $first->import_key($key, id => 'k1', plan => 'free');
    wait_for_room($first->redis, 86400);
    return @nodes;
}

# How many requests of all nodes had each verdict, once that many are logged.
sub verdicts {
    my ($requests, @nodes) = @_;
    my %count;
    wait_until('all requests to be logged', sub {
        %count = ();
        for my $node (@nodes) {
            open my $log, '<', $node->nginx->dir . '/verdicts.log' or die "verdicts.log: $!\n";
            chomp, $count{$_}++ for <$log>;
        }
        my $logged = 0;
        $logged += $_ for values %count;
        return $logged == $requests;
    });
    return \%count;
}

subtest 'a ban begins with the same refusal on any number of nodes' => sub {
    my @nodes = nodes_with_ban('k', workers => 1);
    is($nodes[0]->get('/', 'k')->status, 200, 'the quota is one request');
    my @codes = map { $nodes[$_ % 3]->get('/', 'k')->json->{code} } 1 .. 29;
    is_deeply(\@codes, [('rate_limit_exceeded') x 19, ('api_key_banned') x 10], 'in turn: 19 refusals, then the ban');
    $_->nginx->stop for @nodes;

    for my $connections (1, 16) {
        @nodes = nodes_with_ban('k', workers => 2);
        Load->run(servers => [map { $_->address } @nodes], connections => $connections, requests => 1000, token => 'k');
        is_deeply(verdicts(1000, @nodes), { granted => 1, limited => 19, banned => 980 },
            "at once, $connections connections to each: 19 refusals, then the ban");
        $_->nginx->stop for @nodes;
    }
};

done_testing;
