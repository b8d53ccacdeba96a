package WebSocketServer;

# A WebSocket service (RFC 6455) that echoes each message, and the frames that a client needs.
#
#   my $server = WebSocketServer->start;
#   $server->port
#   my $socket = WebSocketServer->handshake($address, '/ws/', Authorization => "Bearer k");
#   $socket->{status}, $socket->{accepted}           # accepted: 101, with the right Sec-WebSocket-Accept
#   $socket->{fields}                                # of the response, as text
#   $socket->echo('hello')                           # sends a text message and returns the next one
#
# The service answers 200 to a request that is not a handshake. Its first message is the X-Key-Id of the handshake. See
# TcpService.

use strict;
use warnings;
use Digest::SHA qw(sha1_base64);
use Http;
use parent 'TcpService';

sub _accept_of { return sha1_base64("$_[0]258EAFA5-E914-47DA-95CA-C5AB0DC85B11") . '=' }

sub serve {
    my ($connection) = @_;
    my $head = '';
    $head .= TcpService::take($connection, 1) until $head =~ /\r\n\r\n\z/;
    my ($key) = $head =~ /^Sec-WebSocket-Key: (\S+)/mi;
    if (!$key || $head !~ /^Upgrade: websocket/mi || $head !~ /^Connection: upgrade/mi) {
        $connection->syswrite("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    }
    $connection->syswrite("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        . 'Sec-WebSocket-Accept: ' . _accept_of($key) . "\r\n\r\n");
    my ($id) = $head =~ /^X-Key-Id: (.*?)\r$/mi;
    $connection->syswrite(_frame($id // ''));
    while (1) {
        $connection->syswrite(_frame(_message(sub { TcpService::take($connection, $_[0]) })));
    }
}

sub handshake {
    my ($class, $address, $path, %headers) = @_;
    my $http = Http->connect($address);
    my $key = 'dGhlIHNhbXBsZSBub25jZQ==';
    my %all = (Upgrade => 'websocket', Connection => 'Upgrade', 'Sec-WebSocket-Version' => 13, 'Sec-WebSocket-Key' => $key, %headers);
    $http->send("GET $path HTTP/1.1\r\nHost: localhost\r\n" . join('', map { "$_: $all{$_}\r\n" } sort keys %all) . "\r\n");
    my $head = '';
    $head .= $http->_take(1) until $head =~ /\r\n\r\n\z/;
    my ($status) = $head =~ m{^HTTP/1\.1 (\d+)};
    my $accept = _accept_of($key);
    return bless { http => $http, status => $status, fields => $head,
        accepted => $status == 101 && $head =~ /^Sec-WebSocket-Accept: \Q$accept\E\r$/mi }, 'WebSocketServer::Socket';
}

# A text frame of less than 126 bytes; frames of clients are masked.
sub _frame {
    my ($text, $mask) = @_;
    my $head = pack 'CC', 0x81, length($text) | (defined $mask ? 0x80 : 0);
    return $head . $text unless defined $mask;
    return $head . $mask . ($text ^ substr $mask x length $text, 0, length $text);
}

sub _message {
    my ($take) = @_;
    my ($first, $length) = unpack 'CC', $take->(2);
    my $mask = $length & 0x80 ? $take->(4) : "\0\0\0\0";
    my $text = $take->($length & 0x7f);
    return $text ^ substr $mask x length $text, 0, length $text;
}

package WebSocketServer::Socket;

sub next_message { my $http = $_[0]{http}; return WebSocketServer::_message(sub { $http->_take($_[0]) }) }

sub echo {
    my ($self, $text) = @_;
    $self->{http}->send(WebSocketServer::_frame($text, 'mask'));
    return $self->next_message;
}

1;
