package Wait;

# Waiting for something that gives no event of its own: asks again every few milliseconds until a deadline.
#
#   use Wait qw(wait_until free_port);
#   wait_until('the old workers to leave', sub { !@old_still_there });      # dies after 10 s
#   wait_until('Redis to answer', sub { $redis->answers }, 30);            # dies after 30 s
#   my $port = free_port();                                                # a TCP port of 127.0.0.1, free just now
#
# wait_until returns what the condition returned.

use strict;
use warnings;
use Exporter 'import';
use IO::Socket::INET;
use Time::HiRes qw(time sleep);

our @EXPORT_OK = qw(wait_until free_port);

sub wait_until {
    my ($what, $condition, $seconds) = @_;
    my $deadline = time + ($seconds // 10);
    while (1) {
        my $value = $condition->();
        return $value if $value;
        die "waited in vain for $what\n" if time > $deadline;
        sleep 0.005;
    }
}

my %given;

sub free_port {
    while (1) {
        my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 0)
            or die "no free port: $!\n";
        my $port = $socket->sockport;
        return $port unless $given{$port}++;
    }
}

1;
