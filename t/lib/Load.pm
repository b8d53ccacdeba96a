package Load;

# Sends many requests at once, from one process, over keep-alive connections.
#
#   my $result = Load->run(
#       servers     => [$address, …],            # as Http.pm takes them; "host:port" or "unix:/path"
#       connections => 64,                       # on each of them
#       requests    => 1000,                     # in all; or `until => sub { … }`, called before each request
#       token       => sub { … },                # the bearer token of the next request; or a text
#       path        => '/',                      # or a sub, as for the token
#       body        => '{}',                     # optional: the JSON of a POST
#   );
#   $result->{status}{200}                       # the number of responses with this status
#   $result->{by_token}{$token}{200}
#   $result->{broken}                            # connections that ended before a response was complete
#   $result->{slowest}                           # seconds from a request to its response
#
# With `heeds_retry_after => 1`, a connection waits as long as Retry-After says before its next request. A connection that
# the server closes between requests is replaced. Dies if there is no response for `timeout` seconds (30).

use strict;
use warnings;
use Errno qw(EAGAIN EINPROGRESS EINTR);
use IO::Poll qw(POLLIN POLLOUT POLLHUP POLLERR);
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Time::HiRes qw(clock_gettime time CLOCK_MONOTONIC);

sub run {
    my ($class, %options) = @_;
    my $self = bless {
        %options,
        poll   => IO::Poll->new,
        sent   => 0,
        result => { status => {}, by_token => {}, broken => 0, slowest => 0 },
    }, $class;
    local $SIG{PIPE} = 'IGNORE';
    my @open;
    for my $server (@{ $options{servers} }) {
        push @open, map { { server => $server } } 1 .. ($options{connections} // 1);
    }
    $self->_next($_) for @open;
    my $timeout = $options{timeout} // 30;
    my $last = clock_gettime(CLOCK_MONOTONIC);
    while (1) {
        my @waiting = grep { $_->{socket} && $_->{token} } @open;
        my @paused = grep { $_->{paused_until} } @open;
        last unless @waiting || @paused;
        my $now = clock_gettime(CLOCK_MONOTONIC);
        $last = $now unless @waiting;
        my $is_late = $now - $last > $timeout;
        my $ready = $self->{poll}->poll(@paused ? 0.05 : 1);
        die "load: no answer within $timeout s\n" if $is_late && $ready <= 0;
        $last = clock_gettime(CLOCK_MONOTONIC) if $ready > 0;
        $self->_next($_) for grep { $_->{paused_until} <= $now } @paused;
        for my $connection (@waiting) {
            my $events = $self->{poll}->events($connection->{socket});
            $self->_receive($connection) if $events & (POLLIN | POLLHUP | POLLERR);
        }
    }
    return $self->{result};
}

sub _next {
    my ($self, $connection) = @_;
    delete @$connection{qw(token paused_until)};
    return if $self->{until} ? $self->{until}->() : $self->{sent} >= $self->{requests};
    $self->{sent}++;
    my $token = ref $self->{token} ? $self->{token}->() : $self->{token};
    my $path = ref $self->{path} ? $self->{path}->() : $self->{path} // '/';
    @$connection{qw(token start buffer)} = ($token, time, '');
    $connection->{socket} //= $self->_connect($connection->{server});
    my $head = "$path HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer $token\r\n";
    return _send($connection->{socket}, "GET $head\r\n") unless defined $self->{body};
    _send($connection->{socket},
        "POST $head" . "Content-Type: application/json\r\nContent-Length: @{[ length $self->{body} ]}\r\n\r\n$self->{body}");
}

# A body may be larger than what the socket takes at once. The end of a connection is seen when it is read.
sub _send {
    my ($socket, $bytes) = @_;
    for (my $sent = 0; $sent < length $bytes;) {
        my $written = syswrite $socket, $bytes, length($bytes) - $sent, $sent;
        return if !defined $written && $! != EAGAIN && $! != EINTR;
        IO::Select->new($socket)->can_write(1) unless defined $written;
        $sent += $written // 0;
    }
}

sub _connect {
    my ($self, $server) = @_;
    my $socket = $server =~ /^unix:(.*)/ ? IO::Socket::UNIX->new(Peer => $1) : IO::Socket::INET->new(PeerAddr => $server);
    die "load: $server: $!\n" unless $socket;
    $socket->blocking(0);
    $self->{poll}->mask($socket => POLLIN);
    return $socket;
}

sub _receive {
    my ($self, $connection) = @_;
    my $read = sysread $connection->{socket}, $connection->{buffer}, 65536, length $connection->{buffer};
    return if !defined $read && ($! == EAGAIN || $! == EINTR);
    if (!$read) {
        $self->_drop($connection);
        $self->{result}{broken}++;
        return $self->_next($connection);
    }
    my ($head) = $connection->{buffer} =~ /^(.*?\r\n\r\n)/s or return;
    my ($length) = $head =~ /^Content-Length: *(\d+)/mi;
    return if length($connection->{buffer}) < length($head) + ($length // 0);
    my ($status) = $head =~ m{^HTTP/1.1 (\d+)};
    my $result = $self->{result};
    $result->{status}{$status}++;
    $result->{by_token}{ $connection->{token} }{$status}++;
    my $took = time - $connection->{start};
    $result->{slowest} = $took if $took > $result->{slowest};
    $self->_drop($connection) if $head =~ /^Connection: *close/mi;
    return $self->_next($connection) unless $self->{heeds_retry_after} && $head =~ /^Retry-After: *(\d+)/mi;
    delete $connection->{token};
    $connection->{paused_until} = clock_gettime(CLOCK_MONOTONIC) + $1;
}

sub _drop {
    my ($self, $connection) = @_;
    my $socket = delete $connection->{socket};
    $self->{poll}->remove($socket);
    close $socket;
}

1;
