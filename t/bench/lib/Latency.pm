package Latency;

# How long single requests take, sent at a steady pace over one connection: an open loop that neither client nor server
# is pressed by.
#
#   my @microseconds = Latency->measure($contender, seconds => 3, per_second => 1000, seed => 1);
#
# Each request has one of the contender's keys, at random. Dies if an answer isn't 200.

use strict;
use warnings;
use Gateways;
use IO::Socket::INET;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime sleep);

sub measure {
    my ($class, $contender, %options) = @_;
    my $keys = $contender->api_keys;
    my $count = $options{seconds} * $options{per_second};
    srand $options{seed};
    my @requests = map {
        "GET / HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " . $keys->token(int rand $keys->count) . "\r\n\r\n"
    } 1 .. $count;
    my $socket = IO::Socket::INET->new(PeerAddr => $contender->address) or die $contender->name . ": $!\n";
    my $next = clock_gettime(CLOCK_MONOTONIC);
    my @took;
    for my $request (@requests) {
        my $early = $next - clock_gettime(CLOCK_MONOTONIC);
        sleep $early if $early > 0;
        $next += 1 / $options{per_second};
        my $start = clock_gettime(CLOCK_MONOTONIC);
        $socket->syswrite($request);
        my $answer = '';
        until ($answer =~ /\Q$Gateways::body\E\z/) {
            $socket->sysread($answer, 65536, length $answer) or die $contender->name . " closed the connection\n";
            die $contender->name . ": $answer\n" unless $answer =~ m{^HTTP/1\.1 200 };
        }
        push @took, (clock_gettime(CLOCK_MONOTONIC) - $start) * 1e6;
    }
    return @took;
}

1;
