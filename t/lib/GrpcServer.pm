package GrpcServer;

# A gRPC service over cleartext HTTP/2 (h2c). It answers each call with the message that it received, and status 0.
#
#   my $server = GrpcServer->start;
#   $server->port
#
# It reads no header fields. See TcpService.

use strict;
use warnings;
use parent 'TcpService';

my %number = (DATA => 0, HEADERS => 1, SETTINGS => 4, PING => 6);

sub serve {
    my ($connection) = @_;
    TcpService::take($connection, length "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    my %messages;
    _send($connection, 'SETTINGS', 0, 0, '');
    while (1) {
        my ($high, $low, $type, $flags, $stream) = unpack 'Cn CCN', TcpService::take($connection, 9);
        my $body = TcpService::take($connection, $high << 16 | $low);
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

1;
