package Section::Latency;

# The latency that Tollgate adds to a request at 1,000 a second. Redis alone is the latency of a client that does nothing
# else: a gateway that calls Redis can't add less.

use strict;
use warnings;
use Comparison qw(meets);
use Latency;
use Statistics qw(median percentile range);

my $rate = 1000;

sub run {
    my ($class, $setup) = @_;
    my ($seconds, $rounds) = map { $setup->option($_) } qw(seconds rounds);
    my $bare = $setup->contender('bare', 'bare', 'one');
    my $leased = $setup->contender('Tollgate, from a lease', 'tollgate', 'one');
    my $called = $setup->contender('Tollgate, through Redis', 'exact', 'many');
    my @contenders = ($bare, $leased, $called);
    $_->ask_with_every_key for $leased, $called;

    my (%medians, %all);
    my @calls = Latency->calls($called, 100);
    for my $round (1 .. $rounds) {
        for my $contender ($round % 2 ? @contenders : reverse @contenders) {
            my @took = Latency->measure($contender, seconds => $seconds, per_second => $rate, seed => $round);
            push @{ $medians{ $contender->name } }, median(@took);
            push @{ $all{ $contender->name } }, @took;
        }
        for my $what (['Redis alone, PING', ['PING']], ['Redis alone, the script', @calls]) {
            my ($name, @commands) = @$what;
            my @took = Latency->of_redis($setup->redis, \@commands, seconds => $seconds, per_second => $rate);
            push @{ $medians{$name} }, median(@took);
            push @{ $all{$name} }, @took;
        }
    }

    my @script = @{ $medians{'Redis alone, the script'} };
    my %target = (
        $leased->name => '<= 5',
        $called->name => sprintf('<= %.0f', median(@script) + 20),    # Redis's own script and 20 us
    );
    printf "%-32s %8s %8s %8s %-14s %-16s %9s\n", 'us', 'median', 'p99', 'added', 'min..max', 'target', 'requests';
    for my $name (map({ $_->name } @contenders), 'Redis alone, PING', 'Redis alone, the script') {
        my @added = map { $medians{$name}[$_] - $medians{bare}[$_] } 0 .. $rounds - 1;
        my @columns = exists $target{$name}
            ? (sprintf('%.0f', median(@added)), range('%.0f', @added), meets(median(@added), $target{$name}))
            : ('', '', '');
        printf "%-32s %8.0f %8.0f %8s %-14s %-16s %9d\n", $name, median(@{ $medians{$name} }), percentile(0.99, @{ $all{$name} }),
            @columns, scalar @{ $all{$name} };
    }
}

1;
