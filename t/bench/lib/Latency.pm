package Latency;

# Measures the duration of single requests, sent at a steady rate, in an open loop. Neither client nor server is
# overloaded.
#
#   my @microseconds = Latency->measure($contender, seconds => 3, per_second => 1000, seed => 1,
#       connections => 16);                       # 1 unless given; they take turns
#   my @microseconds = Latency->of_redis($redis, [@commands], seconds => 3, per_second => 1000);
#   my @commands = Latency->calls($contender, 100);    # calls of scripts, as the gateway sends them for so many
#                                                      #   keys: for of_redis, or ['PING']
#
# Each request has one of the contender's keys, at random. Dies if an answer isn't 200.

use strict;
use warnings;
use Gateways;
use Http qw(http_get);
use IO::Socket::INET;
use IO::Socket::UNIX;
use Resp;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime sleep);

sub measure {
    my ($class, $contender, %options) = @_;
    my $keys = $contender->api_keys;
    srand $options{seed};
    my @requests = map {
        "GET / HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " . $keys->token(int rand $keys->count) . "\r\n\r\n"
    } 1 .. $options{seconds} * $options{per_second};
    my @sockets = map { IO::Socket::INET->new(PeerAddr => $contender->address) or die $contender->name . ": $!\n" }
        1 .. ($options{connections} // 1);
    return _pace($options{per_second}, \@requests, sub {
        push @sockets, my $socket = shift @sockets;
        $socket->syswrite($_[0]);
        my $answer = '';
        until ($answer =~ /\Q$Gateways::body\E\z/) {
            $socket->sysread($answer, 65536, length $answer) or die $contender->name . " closed the connection\n";
            die $contender->name . ": $answer\n" unless $answer =~ m{^HTTP/1\.1 200 };
        }
    });
}

sub of_redis {
    my ($class, $redis, $commands, %options) = @_;
    my @encoded = map { Resp::encode(@$_) } @$commands;
    my @requests = map { $encoded[$_ % @encoded] } 1 .. $options{seconds} * $options{per_second};
    my $socket = IO::Socket::UNIX->new(Peer => $redis->socket) or die "redis: $!\n";
    return _pace($options{per_second}, \@requests, sub {
        $socket->syswrite($_[0]);
        $socket->sysread(my $answer, 65536) or die "redis closed the connection\n";
        die "redis: $answer\n" if $answer =~ /^-/;
    });
}

sub calls {
    my ($class, $contender, $count) = @_;
    my $monitor = $contender->redis->connection;
    $monitor->cmd('MONITOR');
    http_get($contender->address, '/', Authorization => 'Bearer ' . $contender->api_keys->token($_)) for 0 .. $count - 1;
    my @calls;
    while (@calls < $count) {
        my @words = $monitor->read =~ /"((?:[^"\\]|\\.)*)"/g;
        push @calls, \@words if @words && $words[0] eq 'EVALSHA';
    }
    return @calls;
}

sub _pace {
    my ($per_second, $requests, $ask) = @_;
    my $next = clock_gettime(CLOCK_MONOTONIC);
    my @took;
    for my $request (@$requests) {
        my $early = $next - clock_gettime(CLOCK_MONOTONIC);
        sleep $early if $early > 0;
        $next += 1 / $per_second;
        my $start = clock_gettime(CLOCK_MONOTONIC);
        $ask->($request);
        push @took, (clock_gettime(CLOCK_MONOTONIC) - $start) * 1e6;
    }
    return @took;
}

1;
