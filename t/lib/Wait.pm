package Wait;

# Waits for a condition that has no event: tests it every few milliseconds until a deadline.
#
#   use Wait qw(wait_until free_port);
#   wait_until('the old workers to leave', sub { !@old_still_there });      # dies after 30 s
#   wait_until('the change', sub { $gateway->knows }, 0.2);                 # dies after 0.2 s
#   becomes(sub { $redis->cmd('GET', 'x') }, 5, 'x is 5');                 # a test of Test::More, after at most 30 s
#   my $port = free_port();                                                # a TCP port of 127.0.0.1 that is free
#
# wait_until returns the result of the condition. becomes compares texts; if the expected one does not appear, it fails
# and shows the last value. The wait ends as soon as the condition is true, so a long deadline costs nothing: pass one
# only if the test is about the duration. The condition is tested once more after the deadline, in case the test itself
# was not running. Between two tests, wait_until calls $Wait::sleep with the seconds to sleep: a test that has other work to
# do may set it.

use strict;
use warnings;
use Exporter 'import';
use IO::Socket::INET;
use IO::Socket::UNIX;
use Test::More ();
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

our @EXPORT_OK = qw(wait_until becomes free_port);
our $sleep = \&sleep;

sub wait_until {
    my ($what, $condition, $seconds) = @_;
    my $start = clock_gettime(CLOCK_MONOTONIC);
    $seconds //= 30;
    while (1) {
        my $waited = clock_gettime(CLOCK_MONOTONIC) - $start;
        my $is_late = $waited > $seconds;
        my $value = $condition->();
        return $value if $value;
        die "waited $seconds s in vain for $what\n" if $is_late;
        # A condition may cost as much as a request. What takes longer than a second is not tested as often.
        $sleep->($waited < 1 ? 0.005 : 0.02);
    }
}

sub becomes {
    my ($value_of, $expected, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $value;
    eval { wait_until($name, sub { $value = $value_of->(); return defined $value && $value eq $expected }) };
    return Test::More::is($value, $expected, $name);
}

# The kernel assigns ports from 32768 on to client connections, which could take such a port before a server binds it.
# Other tests that run at the same time choose from the same ports. An abstract socket with the name of the port keeps
# them away until this process ends.
my @reserved;

sub free_port {
    for (1 .. 1000) {
        my $port = 20_000 + int rand 12_000;
        my $reservation = IO::Socket::UNIX->new(Local => "\0tollgate test port $port", Listen => 1) or next;
        next unless IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => $port);
        push @reserved, $reservation;
        return $port;
    }
    die "no free port of 127.0.0.1 from 20000 to 31999\n";
}

1;
