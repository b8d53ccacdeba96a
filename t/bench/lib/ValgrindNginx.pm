package ValgrindNginx;

# An nginx that runs under valgrind, in the foreground. Options are those of Nginx.pm, and:
#
#   my $nginx = ValgrindNginx->start(
#       %options,
#       workers  => 1,                            # 1: a single process; more: a master and so many workers
#       valgrind => ['--tool=callgrind'],         # arguments of valgrind; %DIR% is the directory
#   );
#
# start returns when nginx listens. nginx has no time-out for that: valgrind takes a minute to start with some tools.

use strict;
use warnings;
use parent 'Nginx';
use POSIX ();
use Wait qw(wait_until);

sub start {
    my ($class, %options) = @_;
    my $main = 'daemon off; ' . ($options{workers} == 1 ? 'master_process off; ' : '') . ($options{main} // '');
    my $self = $class->_prepare(%options, main => $main);
    my $dir = $self->dir;
    my @valgrind = map { s/%DIR%/$dir/gr } @{ $options{valgrind} };
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$dir/output";
        open STDERR, '>&', \*STDOUT;
        exec 'valgrind', '--quiet', @valgrind, $ENV{TOLLGATE_NGINX} // '/usr/sbin/nginx', '-p', "$dir/", '-e',
            "$dir/error.log", '-c', "$dir/nginx.conf" or POSIX::_exit(127);
    }
    $self->{pid} = $pid;
    wait_until('nginx to start under valgrind', sub {
        if (waitpid($pid, POSIX::WNOHANG()) == $pid) {
            delete $self->{pid};
            die "nginx does not start under valgrind:\n" . Nginx::_read("$dir/output") . $self->error_log;
        }
        return $options{workers} == 1 ? -s "$dir/nginx.pid" : $self->worker_pids == $options{workers};
    }, 600);
    return $self;
}

# Valgrind hides the title of a process, which Nginx.pm reads. The children of the master are its workers.
sub worker_pids { my ($self) = @_; return $self->{workers} == 1 ? $self->pid : $self->_children }

1;
