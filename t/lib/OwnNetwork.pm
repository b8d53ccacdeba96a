package OwnNetwork;

# A network namespace for a test: its ports and settings are not those of the machine. It has a loopback interface only.
#
#   OwnNetwork->enter;                                   # true, or false if the user may not have one
#   OwnNetwork->set('ipv4/tcp_wmem', '4096 4096 8192');  # a setting in /proc/sys/net

use strict;
use warnings;
use Socket qw(AF_INET SOCK_DGRAM);

# A process can't enter a new namespace without a system call that core Perl lacks, so the test starts again in one.
sub enter {
    if (!delete $ENV{TOLLGATE_OWN_NETWORK}) {
        return 0 if system 'unshare --net true 2> /dev/null';
        local $ENV{TOLLGATE_OWN_NETWORK} = 1;
        exec 'unshare', '--net', $^X, $0 or die "unshare: $!\n";
    }
    # netdevice(7): SIOCSIFFLAGS, IFF_UP.
    socket my $socket, AF_INET, SOCK_DGRAM, 0 or die "socket: $!\n";
    my $up = pack 'a16 s x14', 'lo', 1;
    ioctl $socket, 0x8914, $up or die "ioctl: $!\n";
    return 1;
}

sub set {
    my ($class, $name, $value) = @_;
    open my $file, '>', "/proc/sys/net/$name" or die "$name: $!\n";
    print $file $value;
    close $file or die "$name: $!\n";
}

1;
