package Resp;

# A connection that speaks Redis's protocol (RESP2), blocking, for tests.
#
#   my $c = Resp->connect('unix:/run/redis.sock');          # or host:port
#   my $value = $c->cmd('HGETALL', 'key:…');                # a string, number, undef (nil) or array reference
#   $c->send('MONITOR'); my $line = $c->read while …;       # replies one by one; read waits `timeout` (30 s)
#   Resp::encode('PING')                                    # the bytes of a command
#   $c->pending;                                            # true if something can be read at once
#
# An error reply dies with its text ("WRONGTYPE Operation …\n"); within an array it is a string.

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

sub connect {
    my ($class, $address, %options) = @_;
    my $socket =
        $address =~ /^unix:(.*)/
        ? IO::Socket::UNIX->new(Peer => $1)
        : IO::Socket::INET->new(PeerAddr => $address);
    die "can't connect to $address: $!\n" unless $socket;
    return bless { socket => $socket, buffer => '', timeout => $options{timeout} // 30 }, $class;
}

sub cmd {
    my ($self, @argv) = @_;
    $self->send(@argv);
    return $self->read;
}

sub send {
    my ($self, @argv) = @_;
    local $SIG{PIPE} = 'IGNORE';
    utf8::encode($_) for grep { utf8::is_utf8($_) } @argv;
    my $bytes = encode(@argv);
    my $sent = 0;
    while ($sent < length $bytes) {
        $sent += $self->{socket}->syswrite($bytes, 65536, $sent) // die "can't write to Redis: $!\n";
    }
}

sub encode { return join '', '*' . @_ . "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @_ }

sub read {
    my ($self) = @_;
    my $value = $self->_reply;
    die "$$value\n" if ref $value eq 'SCALAR';
    return $value;
}

sub pending {
    my ($self) = @_;
    return length $self->{buffer} || IO::Select->new($self->{socket})->can_read(0);
}

# Here, an error is a reference to its text.
sub _reply {
    my ($self) = @_;
    my $line = $self->_take_line;
    my $type = substr $line, 0, 1, '';
    return $line  if $type eq '+' || $type eq ':';
    return \$line if $type eq '-';
    return undef  if $line < 0;
    if ($type eq '$') {
        $self->_fill while length $self->{buffer} < $line + 2;
        my $value = substr $self->{buffer}, 0, $line + 2, '';
        return substr $value, 0, $line;
    }
    die "not a reply: $type$line\n" unless $type eq '*';
    return [map { my $value = $self->_reply; ref $value eq 'SCALAR' ? $$value : $value } 1 .. $line];
}

sub _take_line {
    my ($self) = @_;
    $self->_fill until $self->{buffer} =~ s/^([^\r]*)\r\n//;
    return $1;
}

sub _fill {
    my ($self) = @_;
    IO::Select->new($self->{socket})->can_read($self->{timeout}) or die "no reply from Redis\n";
    $self->{socket}->sysread($self->{buffer}, 65536, length $self->{buffer}) or die "Redis closed the connection\n";
}

1;
