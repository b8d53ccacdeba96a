# The simulation of many nodes that t/bench/nodes runs: its options, and the table of module/SIZING.md.

use strict;
use warnings;
use Test::More;

my $program = ($ENV{TOLLGATE_BUILD} // 'build') . '/tollgate_nodes';
plan skip_all => "$program is built with the unit tests, without sanitizers" unless -x $program;

# The status and the output of the program, errors included.
sub run_with {
    my (@options) = @_;
    open my $output, '-|', "$program @options 2>&1" or die $!;
    my $text = do { local $/; <$output> };
    close $output;
    return ($? >> 8, $text);
}

# The lines of the table: references to the cells.
sub lines {
    my (@options) = @_;
    my ($status, $text) = run_with(@options);
    is($status, 0, "@options") or diag($text);
    return map { [split] } grep { /^ *\d+ (?:even|hot|zipf)/ } split /\n/, $text;
}

my ($status, $help) = run_with('--help');
is($status, 0, '--help');
like($help, qr/--$_\b/, "… describes --$_")
    for qw(nodes traffic round-trip leases keys rate demand window windows key-cache masters fault outage lag detected minority seed);

my @mistakes = (
    ['--nodes 0' => qr/--nodes/],
    ['--nodes 1001' => qr/--nodes/],
    ['--nodes many' => qr/--nodes/],
    ['--traffic cold' => qr/--traffic/],
    ['--round-trip -1' => qr/--round-trip/],
    ['--leases maybe' => qr/--leases/],
    ['--seed x' => qr/--seed/],
    ['--fault fire' => qr/--fault/],
    ['--fault moving-slots' => qr/--masters 2/],
    ['--fault failover --masters 3' => qr/--masters 0/],
    ['--fault outage --windows 1' => qr/--windows/],
    ['--fault failover --lag 60' => qr/--lag/],
    ['--unknown' => qr/--unknown/],
    ['5' => qr/5/],
);
for my $mistake (@mistakes) {
    my ($options, $message) = @$mistake;
    my ($code, $text) = run_with($options);
    is($code, 2, "$options is refused");
    like($text, $message, '… with the reason');
}

my @few = split ' ', '--nodes 2,3 --traffic hot,even --round-trip 1,2 --leases on,off --rate 200';
my @lines = lines(@few);
is(scalar @lines, 16, 'a line for each combination');
is_deeply([lines(@few)], \@lines, 'one seed gives one result');
isnt(join(' ', map { @$_ } lines(@few, '--seed 2')), join(' ', map { @$_ } @lines), '… and another seed another one');

my ($outage) = lines(qw(--nodes 10 --traffic even --rate 2000 --demand 5 --fault outage));
isnt($outage->[13], '0.0%', 'an outage is seen in the column "over"');
like($outage->[15], qr/^[1-9]\d*$/, '… and in the recovery');

subtest 'the table of SIZING.md' => sub {
    my $page = do { open my $file, '<', 'module/SIZING.md' or die $!; local $/; <$file> };
    my @shown = map { [map { s/[\s,]//gr } split /\|/, $_] } $page =~ /^\| ([\d,]+ \| (?:even|hot|zipf) \|.*)/gm;
    my @measured = lines();
    is(scalar @shown, scalar @measured, 'has a row for each line');
    # Another library of C++ may draw other random numbers.
    for my $row (@shown) {
        my ($nodes, $keys, $per_request, $per_second, $idle) = @$row;
        my ($line) = grep { $_->[0] == $nodes && $_->[1] eq $keys } @measured;
        my $near = sub { my ($of, $one, $margin) = @_; return abs($one - $of) <= 0.1 * $of + $margin };
        ok($near->($per_request, $line->[5], 0), "$nodes nodes, $keys: $per_request calls per request");
        ok($near->($per_second, $line->[6], 0), "… $per_second per second");
        ok($near->($idle, $line->[8], 5), "… $idle units in leases");
    }
};

done_testing;
