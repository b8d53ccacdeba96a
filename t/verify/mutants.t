# Each mutant can be made: the text that it replaces is in the sources exactly once. t/verify/mutants/run builds and runs them.
# README.md has a row for each, as its file describes it.

use strict;
use warnings;
use lib 't/lib', 't/verify/lib';
use Test::More;
use Verify::Properties qw(properties);

my @lines = split /^/, `$^X t/verify/mutants/run --check 2>&1`;
is($?, 0, 'every text is found');
is(scalar(grep { /^ok / } @lines), scalar(my @all = glob 't/verify/mutants/*.mutant'), 'of every mutant') or diag(@lines);

sub text_of { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }
my %row = map { my ($name, @more) = /^\| `(\w+)` \| (.*?) \| (.*?) \|/ or die $_; ($name => \@more) } grep { /^\| `/ } split /^/, text_of('t/verify/mutants/README.md');
my (%what, %may_be_caught);
for my $file (@all) {
    my ($name) = $file =~ m{(\w+)\.mutant$};
    my $text = text_of($file);
    ($what{$name}) = $text =~ /^what: *(.*)$/m;
    $may_be_caught{$name}{$_} = 1 for split /, /, ($text =~ /^caught by: *(.*)$/m)[0];
}
is_deeply({ map { ($_ => $row{$_}[0]) } keys %row }, \%what, 'README.md has each of them');
my @others = grep { my $name = $_; grep { !$may_be_caught{$name}{$_} } split /, /, $row{$name}[1] } sort keys %row;
is_deeply(\@others, [], '... caught by what its file names');
my %catches = map { map { $_ => 1 } keys %$_ } values %may_be_caught;
is_deeply([grep { !$catches{$_} } map { $_->[0] } properties()], [], 'each property has to catch one');

done_testing;
