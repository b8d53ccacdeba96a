package GrpcServer;

# A gRPC service over cleartext HTTP/2 (h2c). It answers each call with the message that it received, and status 0.
#
#   my $server = GrpcServer->start;
#   $server->port
#
# It serves one connection after the other, until the object is destroyed. It reads no header fields.

use strict;
use warnings;
use IO::Socket::INET;
use TestProcess;

my %number = (DATA => 0, HEADERS => 1, SETTINGS => 4, PING => 6);

sub start {
    my ($class) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8) or die "listen: $!\n";
    my $process = TestProcess->start('gRPC server', sub {
        while (my $connection = $listener->accept) {
            eval { _serve($connection) };
        }
    });
    return bless { port => $listener->sockport, process => $process }, $class;
}

sub port { $_[0]{port} }

sub _serve {
    my ($connection) = @_;
    _take($connection, length "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    my %messages;
    _send($connection, 'SETTINGS', 0, 0, '');
    while (1) {
        my ($high, $low, $type, $flags, $stream) = unpack 'Cn CCN', _take($connection, 9);
        my $body = _take($connection, $high << 16 | $low);
        _send($connection, 'SETTINGS', 1, 0, '') if $type == $number{SETTINGS} && !($flags & 1);
        _send($connection, 'PING', 1, 0, $body) if $type == $number{PING} && !($flags & 1);
        $messages{$stream} .= $body if $type == $number{DATA};
        next unless $flags & 1 && ($type == $number{DATA} || $type == $number{HEADERS});
        # 0x88 is :status 200; the other fields are literals.
        _send($connection, 'HEADERS', 4, $stream, "\x88" . _field('content-type', 'application/grpc'));
        _send($connection, 'DATA', 0, $stream, delete($messages{$stream}) // '');
        _send($connection, 'HEADERS', 5, $stream, _field('grpc-status', '0'));
    }
}

sub _field { return "\x10" . join '', map { chr(length) . $_ } @_ }

sub _send {
    my ($connection, $type, $flags, $stream, $body) = @_;
    my $frame = pack('Cn CCN', length($body) >> 16, length($body) & 0xffff, $number{$type}, $flags, $stream) . $body;
    while (length $frame) {
        my $n = $connection->syswrite($frame) // die "write: $!\n";
        substr $frame, 0, $n, '';
    }
}

sub _take {
    my ($connection, $length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        $connection->sysread($bytes, $length - length $bytes, length $bytes) or die "the client leaves\n";
    }
    return $bytes;
}

1;
