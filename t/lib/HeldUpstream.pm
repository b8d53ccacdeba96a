package HeldUpstream;

# An upstream whose responses the test sends.
#
#   my $upstream = HeldUpstream->new;
#   proxy_pass http://unix:PATH;             # $upstream->path
#   my $connection = $upstream->accept;      # waits for a request, and reads its header
#   HeldUpstream::answer($connection);       # sends a response, and closes the connection
#   HeldUpstream::answer($connection, 'X-Used' => 3);

use strict;
use warnings;
use File::Temp qw(tempdir);
use IO::Socket::UNIX;

sub new {
    my ($class) = @_;
    my $path = tempdir(CLEANUP => 1) . '/held.sock';
    my $listening = IO::Socket::UNIX->new(Local => $path, Listen => 64, Timeout => 30) or die "$path: $!\n";
    return bless { path => $path, listening => $listening }, $class;
}

sub path { $_[0]{path} }

sub accept {
    my ($self) = @_;
    my $connection = $self->{listening}->accept or die "accept: $!\n";
    my $request = '';
    $connection->sysread($request, 4096, length $request) or die "no request\n" until $request =~ /\r\n\r\n/;
    return $connection;
}

sub answer {
    my ($connection, %fields) = @_;
    my $fields = join '', map { "$_: $fields{$_}\r\n" } sort keys %fields;
    $connection->syswrite("HTTP/1.0 200 OK\r\n${fields}Content-Length: 3\r\n\r\nok\n");
    $connection->close;
}

1;
