package Http;

# A small raw HTTP/1.1 client. It sends the given bytes unchanged, and adds only what is described here.
#
#   use Http qw(http_get http_request http_raw);
#   my $r = http_get($server, '/v1/pets', Authorization => "Bearer $key");
#   my $r = http_request($server, 'POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $body);
#   my $r = http_raw($server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");         # any bytes
#
# SERVER is "unix:/path", "host:port", a port of 127.0.0.1, or an object with an address (such as Nginx). Host,
# Connection: close and, if there is a body, Content-Length are added unless given. A header whose value is undef is
# left out. One whose value is an array is sent once for each element.
#
#   $r->status  $r->reason  $r->body  $r->json         # json: the body decoded, dies if it isn't JSON
#   $r->header('x-ratelimit-limit')                    # the first value, or undef
#   $r->headers('set-cookie')                          # every value; without a name: all [name, value] as sent
#
# Kept alive, and pipelined:
#
#   my $c = Http->connect($server, timeout => 60);
#   my $r = $c->request('GET', '/');                   # keep-alive unless Connection is given
#   $c->send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: a\r\n\r\n");
#   my ($first, $second) = ($c->response('GET'), $c->response('HEAD'));
#   $c->closed;                                        # waits for the server's end of the connection
#   $c->close;                                         # closes at once, with or without a response
#
# Dies if a read returns nothing for `timeout` seconds (30), or if the connection ends too early.

use strict;
use warnings;
use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

our @EXPORT_OK = qw(http_get http_request http_raw);

sub http_get {
    my ($server, $path, %headers) = @_;
    return http_request($server, 'GET', $path, \%headers);
}

sub http_request {
    my ($server, $method, $path, $headers, $body) = @_;
    return Http->connect($server)->request($method, $path, { Connection => 'close', %{ $headers // {} } }, $body);
}

sub http_raw {
    my ($server, $bytes, $method) = @_;
    my $self = Http->connect($server);
    $self->send($bytes);
    return $self->response($method // ($bytes =~ /^HEAD / ? 'HEAD' : 'GET'));
}

sub connect {
    my ($class, $server, %options) = @_;
    my $address = ref $server ? $server->address : $server;
    my $socket =
          $address =~ /^unix:(.*)/ ? IO::Socket::UNIX->new(Peer => $1)
        : $address =~ /^\d+$/      ? IO::Socket::INET->new(PeerAddr => "127.0.0.1:$address")
        :                            IO::Socket::INET->new(PeerAddr => $address);
    die "can't connect to $address: $!\n" unless $socket;
    return bless { socket => $socket, buffer => '', timeout => $options{timeout} // 30 }, $class;
}

sub request {
    my ($self, $method, $path, $headers, $body) = @_;
    $self->send(format_request($method, $path, $headers, $body));
    return $self->response($method);
}

# What request() sends, for pipelining.
sub format_request {
    my ($method, $path, $headers, $body) = @_;
    my %headers = %{ $headers // {} };
    my %given = map { lc($_) => 1 } keys %headers;
    $headers{Host} = 'localhost' unless $given{host};
    $headers{'Content-Length'} = length $body if defined $body && !$given{'content-length'} && !$given{'transfer-encoding'};
    my $text = "$method $path HTTP/1.1\r\n";
    for my $name (sort keys %headers) {
        my $value = $headers{$name};
        $text .= "$name: $_\r\n" for ref $value ? @$value : defined $value ? $value : ();
    }
    return "$text\r\n" . ($body // '');
}

# A server that refuses a body may close before it has read it all. Its response is read nevertheless.
sub send {
    my ($self, $bytes) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $sent = 0;
    while ($sent < length $bytes) {
        IO::Select->new($self->{socket})->can_write($self->{timeout}) or die "the server reads nothing\n";
        my $n = $self->{socket}->syswrite($bytes, 65536, $sent);
        return unless defined $n;
        $sent += $n;
    }
}

sub response {
    my ($self, $method) = @_;
    my $response;
    do { $response = $self->_head } while $response->{status} =~ /^1/;
    my $length = $response->header('content-length');
    $response->{body} =
          ($method // 'GET') eq 'HEAD' || $response->{status} =~ /^(204|304)$/ ? ''
        : ($response->header('transfer-encoding') // '') =~ /chunked/i ? $self->_chunks
        : defined $length ? $self->_take($length)
        :                   $self->_rest;
    return $response;
}

sub closed {
    my ($self) = @_;
    $self->_rest;
    return 1;
}

sub close { $_[0]{socket}->close }

sub _head {
    my ($self) = @_;
    $self->_fill until $self->{buffer} =~ s/^(.*?)\r\n\r\n//s;
    my ($first, @lines) = split /\r\n/, $1;
    $first =~ m{^HTTP/1\.[01] (\d{3})(?: (.*))?$} or die "not a status line: $first\n";
    return bless { status => $1, reason => $2 // '', headers => [map { [split /:\s*/, $_, 2] } @lines] }, 'Http::Response';
}

sub _fill {
    my ($self, $may_end) = @_;
    IO::Select->new($self->{socket})->can_read($self->{timeout}) or die "no answer within $self->{timeout} s\n";
    my $n = $self->{socket}->sysread($self->{buffer}, 65536, length $self->{buffer});
    die "the connection ended early: " . (defined $n ? 'closed' : $!) . "\n" unless $n || $may_end;
    return $n;
}

sub _take {
    my ($self, $length) = @_;
    $self->_fill while length $self->{buffer} < $length;
    return substr $self->{buffer}, 0, $length, '';
}

sub _rest {
    my ($self) = @_;
    1 while $self->_fill('may end');
    return $self->_take(length $self->{buffer});
}

sub _chunks {
    my ($self) = @_;
    my $body = '';
    while (1) {
        $self->_fill until $self->{buffer} =~ s/^([0-9a-fA-F]+)[^\r\n]*\r\n//;
        my $length = hex $1;
        $body .= $self->_take($length);
        $self->_take(2);
        return $body unless $length;
    }
}

package Http::Response;

use JSON::PP ();

sub status { $_[0]{status} }
sub reason { $_[0]{reason} }
sub body   { $_[0]{body} }
sub json   { JSON::PP->new->utf8->allow_nonref->decode($_[0]{body}) }

sub headers {
    my ($self, $name) = @_;
    return @{ $self->{headers} } unless defined $name;
    return map { $_->[1] } grep { lc $_->[0] eq lc $name } @{ $self->{headers} };
}

sub header {
    my ($self, $name) = @_;
    return ($self->headers($name))[0];
}

1;
