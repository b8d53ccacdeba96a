package Statistics;

#   use Statistics qw(median range percentile);
#   median(@numbers)
#   percentile(0.99, @numbers)
#   range('%.2f', @numbers)                       # "0.95..1.02"

use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(median percentile range);

sub percentile {
    my ($share, @numbers) = @_;
    my @sorted = sort { $a <=> $b } @numbers;
    return $sorted[$#sorted * $share];
}

sub median {
    my @sorted = sort { $a <=> $b } @_;
    return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}

sub range {
    my ($format, @numbers) = @_;
    my @sorted = sort { $a <=> $b } @numbers;
    return sprintf "$format..$format", @sorted[0, -1];
}

1;
