package Verify::Clock;

# The clock of a history: Unix seconds that no step of the machine's clock disturbs. All processes that are forked after
# this module is loaded share it.
#
#   use Verify::Clock qw(now);

use strict;
use warnings;
use Exporter 'import';
use Time::HiRes qw(clock_gettime time CLOCK_MONOTONIC);

our @EXPORT_OK = qw(now);

my $offset = time - clock_gettime(CLOCK_MONOTONIC);

sub now { return $offset + clock_gettime(CLOCK_MONOTONIC) }

1;
