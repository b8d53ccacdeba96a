package FastCgiServer;

# A FastCGI service on a unix socket, as PHP-FPM is. It answers each request with its parameters: NAME=VALUE, one a line,
# sorted, and then the body of the request.
#
#   my $server = FastCgiServer->start("$dir/php.sock");
#
# It serves one connection after the other, one request each, until the object is destroyed.

use strict;
use warnings;
use IO::Socket::UNIX;
use TestProcess;

my %number = (END_REQUEST => 3, PARAMS => 4, STDIN => 5, STDOUT => 6);

sub start {
    my ($class, $path) = @_;
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 8) or die "listen: $!\n";
    my $process = TestProcess->start('FastCGI server', sub {
        while (my $connection = $listener->accept) {
            eval { _serve($connection) };
        }
    });
    return bless { process => $process }, $class;
}

sub _serve {
    my ($connection) = @_;
    my %content = map { $_ => '' } values %number;
    # The end of a stream is an empty record. That of the body is the last one of a request.
    while (1) {
        my ($type, $length, $padding) = (unpack 'CCnnCC', _take($connection, 8))[1, 3, 4];
        my $content = _take($connection, $length);
        _take($connection, $padding);
        last if $type == $number{STDIN} && $length == 0;
        $content{$type} .= $content;
    }
    my %parameters = _parameters($content{ $number{PARAMS} });
    my $text = join '', "Content-Type: text/plain\r\n\r\n", (map { "$_=$parameters{$_}\n" } sort keys %parameters), $content{ $number{STDIN} };
    $connection->syswrite(_record('STDOUT', $text) . _record('STDOUT', '') . _record('END_REQUEST', "\0" x 8));
}

# A length below 128 has one byte; a longer one has four, the first with its highest bit.
sub _parameters {
    my ($bytes) = @_;
    my @found;
    while (length $bytes) {
        my @lengths = map { ord $bytes < 128 ? ord substr $bytes, 0, 1, '' : 0x7fffffff & unpack 'N', substr $bytes, 0, 4, '' } 1, 2;
        push @found, map { substr $bytes, 0, $_, '' } @lengths;
    }
    return @found;
}

sub _record { my ($type, $content) = @_; return pack('CCnnCC', 1, $number{$type}, 1, length $content, 0, 0) . $content }

sub _take {
    my ($connection, $length) = @_;
    return '' if $length == 0;
    ($connection->read(my $bytes, $length) // 0) == $length or die "nginx leaves\n";
    return $bytes;
}

1;
