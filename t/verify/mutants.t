# Each mutant can be made: the text that it replaces is in the sources exactly once. t/verify/mutants/run builds and runs them.
# README.md has a row for each, with the mistake that its file names.

use strict;
use warnings;
use Test::More;

my @lines = split /^/, `$^X t/verify/mutants/run --check 2>&1`;
is($?, 0, 'every text is found');
is(scalar(grep { /^ok / } @lines), scalar(my @all = glob 't/verify/mutants/*.mutant'), 'of every mutant') or diag(@lines);
cmp_ok(scalar @all, '>=', 15, '... of which there are at least fifteen');

sub text_of { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }
my %mistake = text_of('t/verify/mutants/README.md') =~ /^\| `(\w+)` \| (.*?) \|/mg;
is_deeply(\%mistake, { map { (m{(\w+)\.mutant$}, text_of($_) =~ /^what: *(.*)$/m) } @all }, 'README.md has each of them');

done_testing;
