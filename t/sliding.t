# Sliding windows: every decision and every number follows the two-bucket estimate. It counts all of this window and the
# part of the previous one that still overlaps a window ending now.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_window);
use POSIX qw(ceil);
use Wait qw(wait_until);

my ($limit, $length) = (20, 2000);
my $gateway = Gateway->start(plans => 'plan free 20r/2s window=sliding; plan own custom window=sliding; plan fixed 20r/2s;');
my $redis = $gateway->redis;

sub now { my ($s, $us) = @{ $redis->cmd('TIME') }; return $s * 1000 + int($us / 1000) }

my %granted;    # by the window's number

sub estimate {
    my ($time) = @_;
    my $number = int($time / $length);
    return ($granted{$number} // 0) + ceil(($granted{ $number - 1 } // 0) * ($length - $time % $length) / $length);
}

subtest 'decisions and numbers over three windows' => sub {
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_window($redis, 2, 0.1);
    my $end = (int(now() / $length) + 3) * $length;
    my ($sure, %seen, @wrong) = (0);
    while (now() < $end) {
        my $before = now();
        my $r = $gateway->get('/', 'k');
        my $after = now();
        my ($most, $least) = map { estimate($_) } $before, $after;
        my $grants = $r->status == 200;
        # Between the two times the estimate only falls. What is true at both was true when Redis decided.
        my $same = int($before / $length) == int($after / $length);
        if ($same && ($most < $limit) == ($least < $limit)) {
            $sure++;
            $seen{ $r->status }++;
            push @wrong, "status at $before: " . $r->status if $grants != ($most < $limit);
            my $left = $r->header('X-RateLimit-Remaining');
            my ($low, $high) = map { my $n = $limit - $_ - ($grants ? 1 : 0); $n < 0 ? 0 : $n } $most, $least;
            push @wrong, "remaining at $before: $left, not $low to $high" if $left < $low || $left > $high;
        }
        my $number = $same ? int($before / $length) : $redis->cmd('HGET', 't:quota:{k1}:api', '2.number');
        $granted{$number}++ if $grants;
    }
    is_deeply(\@wrong, [], "all of $sure decisions");
    ok($sure > 50 && $seen{200} && $seen{429}, 'with granted and refused requests');
};

subtest 'Retry-After and Reset of a refusal' => sub {
    $gateway->import_key('r', id => 'r1', plan => 'free');
    wait_for_window($redis, 2, 0.2);
    $gateway->get('/', 'r') for 1 .. 20;
    my $r = $gateway->get('/', 'r');
    is($r->status, 429, 'spent');
    my ($reset, $wait) = map { $r->header($_) } 'X-RateLimit-Reset', 'Retry-After';
    my $start = (int(now() / $length)) * $length;
    is($reset, ceil(($start + $length + $length / 20) / 1000), 'Reset: when the first of the twenty no longer counts');
    ok($wait >= 1 && $wait <= 3, "Retry-After: $wait");
    wait_until('the reset', sub { now() >= $reset * 1000 });
    is($gateway->get('/', 'r')->status, 200, 'a request then is granted');
};

subtest 'custom limits of a sliding plan' => sub {
    $gateway->import_key('o', id => 'o1', plan => 'own', limits => '4r/2s');
    wait_for_window($redis, 2, 0.2);
    my $first = int(now() / $length);
    $gateway->get('/', 'o') for 1 .. 4;
    wait_until('the next window', sub { int(now() / $length) > $first });
    is($gateway->get('/', 'o')->status, 429, 'the window before still counts');
    is($redis->cmd('HGET', 't:quota:{o1}:api', '2.number'), $first, '... and a refusal changes nothing');
};

subtest 'the estimate survives a change between fixed and sliding' => sub {
    $gateway->import_key('c', id => 'c1', plan => 'fixed');
    wait_for_window($redis, 2, 0.2);
    $gateway->get('/', 'c') for 1 .. 5;
    $redis->cmd('HSET', 't:key:' . sha256_hex('c'), plan => 'free');
    is($gateway->get('/', 'c')->header('X-RateLimit-Remaining'), 14, 'the count of this window is kept');
};

$gateway->nginx->stop;
done_testing;
