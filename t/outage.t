# on_failure local: while Redis is unreachable, known keys are served and counted in the zone, and the counts are
# reported to Redis afterwards.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use List::Util qw(sum);
use Load;
use Time::HiRes qw(sleep time);
use Wait qw(becomes wait_until);

my %access_log = (
    http   => 'log_format verdict "$tollgate_verdict $status";',
    server => 'access_log %DIR%/access.log verdict;',
);
my $durable = { conf => ['appendonly yes', 'appendfsync always'] };

sub verdicts {
    my ($gateway) = @_;
    open my $log, '<', $gateway->nginx->dir . '/access.log' or die $!;
    my %seen;
    while (<$log>) { chomp; $seen{$_}++ }
    return \%seen;
}

sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /$pattern/g) }

my %begin = (killed => sub { $_[0]->kill }, stopped => sub { $_[0]->sigstop });
my %end = (killed => sub { $_[0]->restart }, stopped => sub { $_[0]->sigcont });
for my $case (['killed', ''], ['stopped', ''], ['stopped', 'lease=off']) {
    my ($fault, $lease) = @$case;
    my ($begin, $end) = ($begin{$fault}, $end{$fault});
    subtest "$fault under load: no known key is refused $lease" => sub {
        my $gateway = Gateway->start(
            plans => 'plan free 1000000r/h 10000000r/d; plan all unlimited;', table => $lease, workers => 2,
            redis => 'timeout 1s;',    # a busy machine must not look like an outage
            redis_options => $durable, %access_log,
        );
        my @keys = map { "k$_" } 1 .. 50;
        $gateway->import_key($_, id => $_, plan => $_ eq 'k50' ? 'all' : 'free') for @keys, 'unknown';
        wait_for_room($gateway->redis, 3600);
        $gateway->get('/', $_) for @keys;
        my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 16, token => sub { $keys[rand @keys] });
        wait_until('the load', sub { (verdicts($gateway)->{'granted 200'} // 0) > 500 });
        $begin->($gateway->redis);
        wait_until('the breaker', sub { lines($gateway, qr/is unreachable/) });
        is($gateway->get('/', 'unknown')->status, 503, 'a key that was never looked up gets 503');
        wait_until('requests that are decided without Redis', sub { (verdicts($gateway)->{'degraded 200'} // 0) > 500 });
        $end->($gateway->redis);
        wait_until('the end of it', sub { lines($gateway, qr/is back/) });
        # One worker may reach Redis before the other.
        becomes(sub { $gateway->get('/', 'unknown')->status }, 200, '... until Redis is back');
        my $result = $load->finish;
        is_deeply([keys %{ $result->{status} }], [200], 'all are granted');
        cmp_ok($result->{slowest}, '<', 2 * 1 + 1, 'none waits longer than two timeouts and a second');
        is(lines($gateway, qr/\[error\].*redis "main" is unreachable/), 1, 'one line when it opens');
        is(lines($gateway, qr/\[notice\].*redis "main" is back/), 1, '... and one when it closes');
        my $verdicts = verdicts($gateway);
        cmp_ok($verdicts->{'degraded 200'} // 0, '>', 0, 'the verdict is degraded');
        my $granted = $result->{status}{200} + 51;
        my $counted = sub {
            my $sum = 0;
            $sum += $gateway->count($_, 'api', 86400) // 0 for @keys[0 .. 48], 'unknown';
            return $sum;
        };
        my $unlimited = ($result->{by_token}{k50}{200} // 0) + 1;
        # Calls that were sent when Redis stopped may have been counted and are counted again; a lease is lost.
        wait_until('Redis to be told', sub { $counted->() >= $granted - $unlimited });
        # nginx returns its leases, and then sends nothing more to Redis.
        $gateway->nginx->stop;
        becomes(sub { $gateway->redis->cmd('CLIENT', 'LIST') =~ tr/\n// }, 1, 'its connections are closed');
        my $over = $counted->() - ($granted - $unlimited);
        cmp_ok($over, '>=', 0, 'Redis counts all that was granted');
        cmp_ok($over, '<=', 64, "... and at most what was under way besides: $over") if $lease;
    };
}

subtest 'counting continues from the last counts of Redis' => sub {
    my $gateway = Gateway->start(plans => 'plan free 40r/h 60r/d;', workers => 2, redis_options => $durable, %access_log);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    is($gateway->get('/', 'k')->header('X-RateLimit-Remaining'), 39 - $_, 'before') for 0 .. 9;
    $gateway->redis->kill;
    my $first = $gateway->get('/', 'k');
    is($first->status . ' ' . $first->header('X-RateLimit-Remaining'), '200 29', 'the next request is granted');
    my @got = map { $gateway->get('/', 'k') } 1 .. 40;
    is(scalar(grep { $_->status == 200 } @got), 29, 'the limit holds');
    my $r = $got[-1];
    is($r->status, 429, '... then it is 429');
    is($r->json->{code}, 'rate_limit_exceeded', '... with its code');
    like($r->header('Retry-After'), qr/^[1-9]\d*$/, '... and Retry-After');
    # A line is written when its response has been sent.
    wait_until('the access log', sub { sum(values %{ verdicts($gateway) }) == 51 });
    is(verdicts($gateway)->{'limited 429'}, 11, 'the verdicts');
    $gateway->redis->restart;
    becomes(sub { $gateway->count('k1', 'api', 86400) }, 40, 'the units granted meanwhile are added');
    is($gateway->count('k1', 'api', 3600), 40, '... in each window');
    is($gateway->get('/', 'k')->status, 429, 'the limit still holds');
    $gateway->nginx->stop;
};

subtest 'two nodes without Redis both report to it' => sub {
    my $plans = 'plan free 1000r/h;';
    my @nodes = my $first = Gateway->start(plans => $plans, redis_options => $durable);
    push @nodes, Gateway->start(plans => $plans, share => $first);
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 3600);
    $_->get('/', 'k') for @nodes;
    $first->redis->kill;
    for my $node (@nodes) { is($node->get('/', 'k')->status, 200, 'served') for 1 .. 10 }
    $first->redis->restart;
    becomes(sub { $first->count('k1', 'api', 3600) }, 22, 'all units are counted');
    $_->nginx->stop for @nodes;
};

subtest 'stale_keys' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;', redis => 'key_cache 100ms; stale_keys 1500ms;');
    $gateway->import_key('k', id => 'k1', plan => 'free');
    my $before = time;
    is($gateway->get('/', 'k')->status, 200, 'good');
    $gateway->redis->kill;
    is($gateway->get('/', 'k')->status, 200, 'a key stays valid');
    becomes(sub { $gateway->get('/', 'k')->status }, 503, '... for a time');
    cmp_ok(time - $before, '>=', 1.5, '... of at least stale_keys');
    $gateway->nginx->stop;
};

subtest 'a key that was revoked before the outage stays refused' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/h;');
    $gateway->subscribed(1);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    is($gateway->get('/', 'k')->status, 200, 'good');
    $gateway->change_key('k');
    becomes(sub { $gateway->get('/', 'k')->status }, 401, 'revoked');
    $gateway->redis->kill;
    # A record is used for one second after the subscription is lost.
    my ($end, %statuses) = (time + 1.5);
    while (time < $end) {
        $statuses{ $gateway->get('/', 'k')->status }++;
        sleep 0.02;
    }
    is_deeply([grep { !/^(401|503)$/ } keys %statuses], [], 'refused throughout');
    $gateway->nginx->stop;
};

done_testing;
