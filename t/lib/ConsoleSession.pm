package ConsoleSession;

# A console session of the documentation: `$ command`, followed by its output.
#
#   my @commands = commands_of($text);             # [command, line that it prints …] of each command
#   my $line = first_not_printed($shown, $output); # the first line that is missing in $output, in this order;
#                                                  #   undef for none. `…` matches anything; times and durations
#                                                  #   may differ.

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(commands_of first_not_printed);

# The pattern of a line of a session. Text that depends on the time or on chance may differ.
sub pattern_of {
    my ($line) = @_;
    my $pattern = join '.*', map { quotemeta } split /…/, $line, -1;
    $pattern =~ s/\\ 1\d{9}$/ 1\\d{9}/ if $line =~ /^X-RateLimit-Reset:/;
    $pattern =~ s/"reset\\":1\d{9}/"reset\\":1\\d{9}/g;
    $pattern =~ s/\d+$/[1-9]\\d*/ if $line =~ /^Retry-After:/;
    return qr/^$pattern\s*$/;
}

sub commands_of {
    my ($text) = @_;
    my @commands;
    for my $line (split /\n/, $text) {
        if ($line =~ /^\$ (.*)/) {
            push @commands, [$1];
        } elsif (@commands && @{ $commands[-1] } == 1 && $commands[-1][0] =~ /\\$/) {
            $commands[-1][0] .= "\n$line";
        } elsif ($line =~ /\S/) {
            push @{ $commands[-1] }, $line;
        }
    }
    return @commands;
}

sub first_not_printed {
    my ($shown, $output) = @_;
    my @missing = @$shown;
    for my $line (split /\r?\n/, $output // '') {
        shift @missing if @missing && $line =~ pattern_of($missing[0]);
    }
    return $missing[0];
}

1;
