# The command lines of t/bench/gateway and t/bench/petstore: --help, and options that are refused before anything is
# installed or started.

use strict;
use warnings;
use File::Temp ();
use Test::More;

plan skip_all => 'the benchmarks have no sanitizers' if $ENV{TOLLGATE_SANITIZE};

# The status, stdout and stderr of a benchmark. It runs without PATH: whatever it installs or starts fails, with another
# status than 2.
sub run_with {
    my ($command) = @_;
    my $folder = File::Temp->newdir;
    my $status = system "PATH= TMPDIR='$folder' '$^X' t/bench/$command >'$folder/out' 2>'$folder/err'";
    my @texts = map { open my $file, '<', "$folder/$_" or die "$_: $!\n"; local $/; <$file> // '' } qw(out err);
    return ($status >> 8, @texts);
}

my %sections = (
    gateway  => [qw(granted refused latency management calls instructions shared locks growth)],
    petstore => [qw(reads writes log)],
);
my %sizes = (gateway => 'keys', petstore => 'pets');

for my $program (sort keys %sections) {
    my $size = $sizes{$program};
    subtest "$program --help" => sub {
        my ($status, $out, $err) = run_with("$program --help");
        is($status, 0, 'status');
        is($err, '', 'no error');
        unlike($out, qr/^#|use strict/m, 'only the comment, without #');
        like($out, qr/--$_\b/, "describes --$_") for qw(seconds rounds), $size;
        like($out, qr/^  $_ /m, "describes $_") for @{ $sections{$program} };
    };
    my @mistakes = (
        ['--unknown'            => qr/unknown/],
        ['--second 3'           => qr/second/],
        ['--seconds'            => qr/seconds/],
        ['--seconds 0'          => qr/seconds/],
        ['--seconds 0.5'        => qr/seconds/],
        ['--seconds many'       => qr/seconds/],
        ['--rounds -1'          => qr/rounds/],
        ['--rounds 0 --help=no' => qr/help/],
        ["--$size 0"            => qr/$size/],
        ['unknown'              => qr/unknown/],
        ["$sections{$program}[0] 3"         => qr/3/],
        ["--rounds 1 $sections{$program}[0] Reads" => qr/Reads/],
    );
    push @mistakes, ['--pets 99' => qr/pets/] if $program eq 'petstore';
    for my $mistake (@mistakes) {
        my ($options, $message) = @$mistake;
        my ($status, $out, $err) = run_with("$program $options");
        is($status, 2, "$program $options is refused");
        is($out, '', '… without output');
        my ($usage) = $err =~ /^(usage: .*)\z/ms;
        like($err =~ s/^usage: .*//msr, $message, '… with the reason');
        like($usage // '', qr/\Q--$_ N\E/, "… and the usage has --$_") for qw(seconds rounds), $size;
    }
    my ($status) = run_with("$program --seconds 1 --rounds 1 --$size 100 $sections{$program}[0]");
    isnt($status, 2, "$program takes its own options");
}

done_testing;
