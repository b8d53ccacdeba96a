package Comparison;

# Compares contenders with divisors, in turns (A B, B A, A B …), so that other load of the machine affects both, and
# prints the results.
#
#   my @comparisons = Comparison->run(seconds => 3, rounds => 5, pairs => [[$tollgate, $bare], …]);
#   $comparison->name
#   $comparison->ratios('rate')                   # of each round; 'cpu' and 'redis' for CPU per request
#   $comparison->print(rate => '>= 0.95', cpu => '<= 1.06');         # a line, with targets of ratios if there are any
#   $comparison->print_ratio_to($other, '>= 1.0') # a line: the rates of two comparisons, which have the same divisor
#   Comparison->print_head('bare'); Comparison->print_divisors(@comparisons);
#   meets($value, '>= 0.95')                      # the target and, if it is missed, "missed"

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(sum0);
use Statistics qw(median range);

our @EXPORT_OK = qw(meets);

sub run {
    my ($class, %options) = @_;
    my @comparisons = map { bless { pair => $_, results => [[], []] }, $class } @{ $options{pairs} };
    for my $round (1 .. $options{rounds}) {
        for my $comparison (@comparisons) {
            for my $side ($round % 2 ? (1, 0) : (0, 1)) {
                push @{ $comparison->{results}[$side] },
                    $comparison->{pair}[$side]->measure(seconds => $options{seconds}, seed => $round);
            }
        }
    }
    return @comparisons;
}

sub name    { $_[0]{pair}[0]->name }
sub results { @{ $_[0]{results}[0] } }

sub ratios {
    my ($self, $what) = @_;
    my ($own, $divisors) = @{ $self->{results} };
    return map { $own->[$_]{$what} / ($divisors->[$_]{$what} || 1) } 0 .. $#$own;
}

sub print_head {
    my ($class, $divisor) = @_;
    printf "%-32s %8s %7s %-12s %-13s %7s %7s %-12s %-13s %7s %7s %7s %7s %9s %6s\n", '', 'req/s', 'ratio', 'min..max',
        'target', 'CPU', 'ratio', 'min..max', 'target', 'Redis', 'scripts', 'ids', 'ids', 'requests', 'errors';
    printf "%-32s %8s %-34s %7s %-34s %7s %7s %7s %7s\n", '', '', " of $divisor", 'us/req', " of $divisor", 'us/req', '/req',
        '/req', '/script';
}

sub print_divisors {
    my ($class, @comparisons) = @_;
    my (@names, %results);
    for my $comparison (@comparisons) {
        my $name = $comparison->{pair}[1]->name;
        push @names, $name unless $results{$name};
        push @{ $results{$name} }, @{ $comparison->{results}[1] };
    }
    _print_line($_, $results{$_}) for @names;
}

sub print {
    my ($self, %targets) = @_;
    my %columns = map {
        my @ratios = $self->ratios($_);
        ($_ => [sprintf('%.2f', median(@ratios)), range('%.2f', @ratios), meets(median(@ratios), $targets{$_})])
    } qw(rate cpu);
    _print_line($self->name, $self->{results}[0], %columns);
}

sub print_ratio_to {
    my ($self, $other, $target) = @_;
    my @own = $self->ratios('rate');
    my @others = $other->ratios('rate');
    my @ratios = map { $own[$_] / $others[$_] } 0 .. $#own;
    printf "%s to %s: %.2f (%s), target %s\n", $self->name, $other->name, median(@ratios), range('%.2f', @ratios),
        meets(median(@ratios), $target);
}

sub meets {
    my ($value, $target) = @_;
    my ($relation, $bound) = ($target // return '') =~ /^([<>]=) ([\d.]+)/ or die "no target: $target\n";
    return $target if $relation eq '<=' ? $value <= $bound : $value >= $bound;
    return "$target missed";
}

sub _print_line {
    my ($name, $results, %columns) = @_;
    my $typical = sub {
        my ($format, $what) = @_;
        my @values = grep { defined } map { $_->{$what} } @$results;
        return @values ? sprintf $format, median(@values) : '-';
    };
    printf "%-32s %8s %7s %-12s %-13s %7s %7s %-12s %-13s %7s %7s %7s %7s %9d %6d\n", $name,
        $typical->('%.0f', 'rate'),  @{ $columns{rate}  // ['', '', ''] },
        $typical->('%.1f', 'cpu'),   @{ $columns{cpu}   // ['', '', ''] },
        $typical->('%.1f', 'redis'), $typical->('%.4f', 'calls'), $typical->('%.4f', 'ids'), $typical->('%.1f', 'ids_a_call'),
        sum0(map { $_->{requests} } @$results), sum0(map { $_->{errors} } @$results);
}

1;
