package TcpService;

# A service on a TCP port of this machine. Each connection has its own process, which ends when the client disconnects.
#
#   package Echo;
#   use parent 'TcpService';
#   sub serve { my ($connection) = @_; $connection->syswrite(TcpService::take($connection, 1)) while 1 }
#
#   my $server = Echo->start;                  # it runs until the object is destroyed
#   $server->port
#
# TcpService::take($connection, $length) returns the next bytes. It dies if the client leaves.

use strict;
use warnings;
use IO::Socket::INET;
use POSIX ();
use TestProcess;

sub start {
    my ($class) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8) or die "listen: $!\n";
    my $serve = $class->can('serve');
    my $process = TestProcess->start($class, sub {
        local $SIG{CHLD} = 'IGNORE';
        while (my $connection = $listener->accept) {
            next if fork // die "fork: $!\n";
            close $listener;
            eval { $serve->($connection) };
            POSIX::_exit(0);
        }
    });
    return bless { port => $listener->sockport, process => $process }, $class;
}

sub port { $_[0]{port} }

sub take {
    my ($connection, $length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        $connection->sysread($bytes, $length - length $bytes, length $bytes) or die "the client leaves\n";
    }
    return $bytes;
}

1;
