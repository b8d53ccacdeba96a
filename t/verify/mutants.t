# Each mutant can be made: the text that it replaces is in the sources exactly once. t/verify/mutants/run builds and runs them.

use strict;
use warnings;
use Test::More;

my @lines = split /^/, `$^X t/verify/mutants/run --check 2>&1`;
is($?, 0, 'every text is found');
is(scalar(grep { /^ok / } @lines), scalar(my @all = glob 't/verify/mutants/*.mutant'), 'of every mutant') or diag(@lines);
cmp_ok(scalar @all, '>=', 15, '... of which there are at least fifteen');

done_testing;
