package Http2;

# A raw HTTP/2 client with prior knowledge. It sends the given header fields unchanged.
#
#   my $c = Http2->connect($address);                      # as Http.pm takes it
#   my $stream = $c->request([':path' => '/', authorization => 'Bearer k'], indexed => 1);
#   my $stream = $c->request([':method' => 'POST', …], body => $bytes);
#   my $stream = $c->request([…], body => $bytes, more => 1);
#   $c->data($stream, $bytes);                             # the rest of the body
#   $c->response($stream);                                 # waits for its end: the bytes of its header block
#   $c->body($stream);                                     # the same, and its body
#   $c->part($stream);                                     # waits for the first bytes of the body
#   $c->status($stream);                                   # the same, and its status
#   $c->reset($stream);                                    # RST_STREAM with CANCEL
#
# Fields are literals without Huffman coding; `indexed` puts them into the dynamic table (RFC 7541 section 6.2.1).
# :method, :scheme and :authority are added unless given.

use strict;
use warnings;
use Http;
use IO::Select;

my %number = (DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4, GOAWAY => 7);

sub connect {
    my ($class, $address) = @_;
    my $http = Http->connect($address);
    $http->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . _frame('SETTINGS', 0, 0, ''));
    return bless { http => $http, next => 1, blocks => {}, bodies => {}, ended => {} }, $class;
}

sub request {
    my ($self, $fields, %options) = @_;
    my %given = @$fields;
    my @all = ((map { exists $given{$_->[0]} ? () : @$_ } [':method', 'GET'], [':scheme', 'http'], [':authority', 'localhost']), @$fields);
    my $block = '';
    while (my ($name, $value) = splice @all, 0, 2) {
        $block .= ($options{indexed} ? "\x40" : "\x10") . _string($name) . _string($value);
    }
    my $stream = $self->{next};
    $self->{next} += 2;
    my $body = $options{body};
    $self->{http}->send(_frame('HEADERS', defined $body ? 4 : 5, $stream, $block));
    $self->{http}->send(_frame('DATA', $options{more} ? 0 : 1, $stream, $body)) if defined $body;
    return $stream;
}

sub data {
    my ($self, $stream, $bytes) = @_;
    $self->{http}->send(_frame('DATA', 1, $stream, $bytes));
}

sub response {
    my ($self, $stream) = @_;
    $self->_take_frame until $self->{ended}{$stream};
    return $self->{blocks}{$stream};
}

sub part {
    my ($self, $stream) = @_;
    $self->_take_frame until length($self->{bodies}{$stream} // '');
    return $self->{bodies}{$stream};
}

sub _take_frame {
    my ($self) = @_;
    my $http = $self->{http};
    my ($high, $low, $type, $flags, $id) = unpack 'Cn CCN', $http->_take(9);
    my $body = $http->_take($high << 16 | $low);
    $self->{blocks}{$id} = $body if $type == $number{HEADERS};
    $self->{bodies}{$id} .= $body if $type == $number{DATA};
    die "the server resets stream $id\n" if $type == $number{RST_STREAM};
    die "the server leaves\n" if $type == $number{GOAWAY};
    $self->{ended}{$id} = 1 if $flags & 1 && ($type == $number{HEADERS} || $type == $number{DATA});
}

sub body {
    my ($self, $stream) = @_;
    $self->response($stream);
    return $self->{bodies}{$stream} // '';
}

# :status comes first: an index of the static table (RFC 7541 appendix A), or its name's index and three digits.
my %static_status = (8 => 200, 9 => 204, 10 => 206, 11 => 304, 12 => 400, 13 => 404, 14 => 500);

sub status {
    my ($self, $stream) = @_;
    my $block = $self->response($stream);
    $block =~ s/^[\x20-\x3f]//;    # a change of the table's size
    my $first = ord $block;
    return $first & 0x80 ? $static_status{ $first & 0x7f } : substr $block, 2, 3;
}

sub reset {
    my ($self, $stream) = @_;
    $self->{http}->send(_frame('RST_STREAM', 0, $stream, pack 'N', 8));
}

sub _frame {
    my ($type, $flags, $stream, $body) = @_;
    return pack('Cn CCN', length($body) >> 16, length($body) & 0xffff, $number{$type}, $flags, $stream) . $body;
}

sub _string {
    my ($text) = @_;
    my $length = length $text;
    return chr($length) . $text if $length < 127;
    my $rest = $length - 127;
    my $bytes = "\x7f";
    for (; $rest > 127; $rest >>= 7) { $bytes .= chr($rest & 127 | 128) }
    return $bytes . chr($rest) . $text;
}

1;
