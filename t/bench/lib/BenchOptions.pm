package BenchOptions;

# The command line of the benchmarks: options with whole numbers, then names of sections.
#
#   my ($option, @sections) = BenchOptions->read(
#       options  => [seconds => 3, rounds => 5],      # with their defaults, in the order of the usage
#       least    => { pets => 100 },                  # the smallest value; otherwise 1
#       flags    => ['profile'],                      # options without a value
#       sections => [qw(reads writes)],               # all of them, if the command line names none
#   );
#   $option->{seconds}
#
# `--help` prints the comment at the top of the program and exits with status 0. A wrong option, section or number ends
# the program with status 2: the error and the usage are on stderr.

use strict;
use warnings;
use Getopt::Long ();

sub read {
    my ($class, %spec) = @_;
    my %value = @{ $spec{options} };
    my @names = @{ $spec{options} }[map { 2 * $_ } 0 .. $#{ $spec{options} } / 2];
    my @flags = @{ $spec{flags} // [] };
    my $usage = join(' ', "usage: $0", map({ "[--$_ N]" } @names), map({ "[--$_]" } @flags), '[--help]',
        map { "[$_]" } @{ $spec{sections} }) . "\n";

    my @errors;
    my $parser = Getopt::Long::Parser->new(config => [qw(no_auto_abbrev no_ignore_case)]);
    {
        local $SIG{__WARN__} = sub { push @errors, @_ };
        $parser->getoptions(\%value, map({ "$_=i" } @names), @flags, 'help');
    }
    if (!@errors && $value{help}) {
        print _head_comment();
        exit 0;
    }
    for my $name (@names) {
        my $least = $spec{least}{$name} // 1;
        push @errors, "Option $name is less than $least: $value{$name}\n" if $value{$name} < $least;
    }
    my %known = map { $_ => 1 } @{ $spec{sections} };
    push @errors, map { "Unknown section: $_\n" } grep { !$known{$_} } @ARGV;
    if (@errors) {
        print STDERR @errors, $usage;
        exit 2;
    }
    return (\%value, @ARGV ? @ARGV : @{ $spec{sections} });
}

sub _head_comment {
    open my $file, '<', $0 or die "$0: $!\n";
    my $text = '';
    while (my $line = <$file>) {
        next if $line =~ /^#!/;
        last unless $line =~ s/^# ?//;
        $text .= $line;
    }
    return $text;
}

1;
