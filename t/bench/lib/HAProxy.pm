package HAProxy;

# Starts HAProxy in a temporary directory: two threads, a stick table that counts the requests of each Authorization
# field (http_req_rate), and the upstream of the other gateways over its unix socket.
#
#   my $haproxy = HAProxy->start($upstream);
#   $haproxy->address('haproxy')                  # its limit is never reached
#   $haproxy->address('haproxy_spent')            # one request per minute; all others get 429
#   $haproxy->workers                             # the pid: what Contender needs
#   $haproxy->stop
#
# It is stopped when the object is destroyed.

use strict;
use warnings;
use File::Temp ();
use IO::Socket::INET;
use POSIX ();
use Wait qw(free_port wait_until);

my $test_process = $$;
my %limit = (haproxy => 1_000_000_000, haproxy_spent => 1);

sub start {
    my ($class, $upstream) = @_;
    my $dir = File::Temp->newdir('haproxy-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, ports => { map { $_ => free_port() } keys %limit } }, $class;
    open my $conf, '>', "$dir/haproxy.cfg" or die "$dir/haproxy.cfg: $!\n";
    print $conf $self->_conf($upstream->address =~ s/^unix://r);
    close $conf or die "$dir/haproxy.cfg: $!\n";

    $self->{pid} = fork // die "fork: $!\n";
    if (!$self->{pid}) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$dir/output";
        open STDERR, '>&', \*STDOUT;
        exec '/usr/sbin/haproxy', '-db', '-f', "$dir/haproxy.cfg" or POSIX::_exit(127);
    }
    wait_until('HAProxy to listen', sub {
        die "HAProxy ended:\n" . $self->_output if waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid};
        return IO::Socket::INET->new(PeerAddr => $self->address('haproxy_spent'));
    });
    return $self;
}

sub address { "127.0.0.1:$_[0]{ports}{$_[1]}" }
sub workers { $_[0]{pid} }

sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return;
    kill TERM => $pid;
    waitpid $pid, 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->stop if $$ == $test_process;
}

sub _conf {
    my ($self, $socket) = @_;
    my $frontends = join '', map { <<"END" } sort keys %limit;
backend ${_}_counts
    stick-table type string len 64 size 100k expire 2m store http_req_rate(60s)
frontend $_
    bind @{[ $self->address($_) ]}
    http-request track-sc0 req.hdr(authorization) table ${_}_counts
    http-request deny deny_status 429 if { sc_http_req_rate(0) gt $limit{$_} }
    default_backend upstream
END
    return <<"END";
global
    nbthread 2
    maxconn 2000
defaults
    mode http
    timeout connect 5s
    timeout client  60s
    timeout server  60s
backend upstream
    http-reuse always
    server upstream unix\@$socket
$frontends
END
}

sub _output {
    my ($self) = @_;
    open my $file, '<', "$self->{dir}/output" or return '';
    local $/;
    return <$file> // '';
}

1;
