package Section::Isolation;

# The latency of a request through Redis at 1,000 a second, alone and while 100 clients of tollgate_admin search among
# 10,000 ids, one search after the other. Both take turns in each round.

use strict;
use warnings;
use ApiKeys;
use BackgroundLoad;
use Comparison qw(meets);
use Digest::SHA qw(sha256_hex);
use Gateways;
use Latency;
use Statistics qw(median percentile range);

my ($rate, $clients) = (1000, 100);

sub run {
    my ($class, $setup) = @_;
    my ($seconds, $rounds) = map { $setup->option($_) } qw(seconds rounds);
    my $nginx = Gateways->tollgate($setup->upstream, $setup->redis, http => <<'END');
        server {
            listen 127.0.0.1:%PORT40% reuseport;
            location /admin/ { tollgate exact; tollgate_scope admin; tollgate_admin main; }
        }
END
    my $contender = $setup->contender('ordinary', 'exact', 'many', nginx => $nginx);
    $contender->ask_with_every_key;
    my $operator = ApiKeys->make(plan => 'endless', count => 2);
    $operator->write_records($setup->redis, 't:');
    $setup->redis->cmd('HSET', 't:key:' . sha256_hex($operator->token(0)), scopes => 'admin');

    my (%took, @ratios, %searches);
    for my $round (1 .. $rounds) {
        my %p99;
        for my $state ($round % 2 ? ('alone', 'beside searches') : ('beside searches', 'alone')) {
            my $searching = $state eq 'alone' ? undef : BackgroundLoad->start(
                servers => ['127.0.0.1:' . $nginx->port(40)], connections => $clients, heeds_retry_after => 1,
                token => $operator->token(0), path => '/admin/keys?name=nobody&limit=100',
            );
            my @took = Latency->measure($contender, seconds => $seconds, per_second => $rate, seed => $round);
            if ($searching) {
                my $result = $searching->finish;
                $searches{$_} += $result->{status}{$_} for keys %{ $result->{status} };
            }
            push @{ $took{$state} }, @took;
            $p99{$state} = percentile(0.99, @took);
        }
        push @ratios, $p99{'beside searches'} / $p99{alone};
    }
    printf "%-20s %8s %8s %8s\n", 'us', 'median', 'p99', 'requests';
    printf "%-20s %8.0f %8.0f %8d\n", $_, median(@{ $took{$_} }), percentile(0.99, @{ $took{$_} }), scalar @{ $took{$_} } for sort keys %took;
    printf "ratio of the p99: %.2f, %s, %s\n", median(@ratios), range('%.2f', @ratios), meets(median(@ratios), '<= 1.20');
    printf "searches: %s\n", join ', ', map { "$searches{$_} with status $_" } sort keys %searches;
    $nginx->stop;
}

1;
