package Http2;

# As much of HTTP/2 as it takes to send requests, to reset them, and to see the status of an answer. In clear text, with
# prior knowledge.
#
#   my $client = Http2->connect('127.0.0.1:80');
#   my $stream = $client->get('/', $token);       # sends a request; returns the number of its stream
#   $client->reset($stream);                      # RST_STREAM with CANCEL
#   $client->status($stream)                      # waits for its header fields

use strict;
use warnings;
use Http;

my %type = (HEADERS => 1, RST_STREAM => 3, SETTINGS => 4);
my %static_status = (8 => 200, 9 => 204, 10 => 206, 11 => 304, 12 => 400, 13 => 404, 14 => 500);

sub connect {
    my ($class, $address) = @_;
    my $self = bless { http => Http->connect($address), next => 1, status => {} }, $class;
    $self->{http}->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    $self->_send('SETTINGS', 0, 0, '');
    return $self;
}

sub get {
    my ($self, $path, $token) = @_;
    my $stream = $self->{next};
    $self->{next} += 2;
    my $fields = join '', map { _field(@$_) } [':method', 'GET'], [':scheme', 'http'], [':authority', 'localhost'],
        [':path', $path], ['authorization', "Bearer $token"];
    $self->_send('HEADERS', 0x5, $stream, $fields);    # END_STREAM, END_HEADERS
    return $stream;
}

sub reset { $_[0]->_send('RST_STREAM', 0, $_[1], pack 'N', 8) }

sub status {
    my ($self, $stream) = @_;
    my $http = $self->{http};
    until ($self->{status}{$stream}) {
        my ($high, $low, $type, $flags, $from) = unpack 'CnCCN', $http->_take(9);
        my $payload = $http->_take($high << 16 | $low);
        next unless $type == $type{HEADERS};
        # The status comes first: an index of the static table, or that of :status with three digits.
        $payload =~ s/^[\x20-\x3f]//;    # a change of the table's size
        my $first = ord $payload;
        $self->{status}{$from} = $first & 0x80 ? $static_status{ $first & 0x7f } : substr $payload, 2, 3;
    }
    return $self->{status}{$stream};
}

sub _send {
    my ($self, $type, $flags, $stream, $payload) = @_;
    my $length = length $payload;
    $self->{http}->send(pack('CnCCN', $length >> 16, $length & 0xffff, $type{$type}, $flags, $stream) . $payload);
}

# A literal field without indexing, its name and value without Huffman code.
sub _field { return "\0" . join '', map { chr(length) . $_ } @_ }

1;
