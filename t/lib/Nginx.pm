package Nginx;

# Starts an nginx with the modules of this repository, in a temporary directory.
#
#   use Nginx;
#   my $nginx = Nginx->start(conf => <<'END');
#       server { listen unix:%DIR%/http.sock;  location / { return 204; } }
#   END
#   my $nginx = Nginx->start(
#       conf      => $text,                 # the contents of http { }; without it there is no http block
#       main      => $text,                 # the contents of the top level
#       events    => 'worker_connections 64;',
#       workers   => 2,                     # 1 unless given
#       log_level => 'debug',               # of $dir/error.log; info unless given
#       files     => { 'plans.conf' => $text },     # written to $dir before the start, with folders
#       dir       => $other->dir,           # a directory that exists; otherwise a temporary one
#       hosts     => $text,                 # the contents of its /etc/hosts; see can_replace_hosts
#       routes    => { 6379 => 7001 },      # connections to these ports of 127.0.0.1 go to other ones
#       modules   => [],                    # modules to load, names of those that are built or paths; all that are
#                                           #   built unless given
#       expect    => qr/.../,               # lines of the log at [alert] and worse that are expected
#   );
#
# In every text, %DIR% is the directory, and %PORT%, %PORT1%, %PORT2% … are free TCP ports; the same name is always the
# same port. The first `listen` is the instance's address. There is no access log unless the test configures one.
#
#   $nginx->address                         # "unix:…" or "host:port": what Http.pm takes
#   $nginx->port, $nginx->port(2)           # the values of %PORT%, %PORT2%
#   $nginx->dir, $nginx->pid, $nginx->workers       # workers: pids, without those that are shutting down
#   $nginx->error_log                       # its text so far
#   $nginx->reload                          # SIGHUP; returns when new workers serve. reload(conf => $text) rewrites first
#   $nginx->old_workers_gone                # waits until workers that shut down have exited
#   $nginx->kill_worker, $nginx->kill_worker($pid)  # SIGKILL; returns when it is replaced
#   $nginx->kill_all                        # SIGKILL to master and workers, at once
#   $nginx->start_again                     # starts nginx again after kill_all or stop, in the same directory
#   $nginx->upgrade                         # USR2, then QUIT to the old master: the binary upgrade
#   $nginx->stop                            # graceful quit, then the check below; a test of Test::More
#   Nginx->built_with('with-debug')         # whether this option of ./configure was given
#   Nginx->module_of_nginx('ngx_http_js_module')    # the path of a module among those of nginx; undef if it is missing
#   Nginx->can_replace_hosts                # whether this machine lets a process have an /etc/hosts of its own
#   my ($exit, $output) = Nginx->test_config(conf => …);    # nginx -t; options as start
#
# stop() checks that the log contains no [alert], no [emerg], no crash and no sanitizer report, except lines that match
# `expect`. Processes that kill_worker and kill_all end are expected. If the object is destroyed first, also because the
# test dies, nginx is stopped without this check.
#
# Environment: TOLLGATE_BUILD, the build directory (build); TOLLGATE_SANITIZE, set if the build has sanitizers;
# TOLLGATE_NGINX, the binary (nginx). As root, workers run as root too, so that they can access the directory.

use strict;
use warnings;
use Cwd            ();
use File::Basename ();
use File::Path     ();
use File::Spec     ();
use File::Temp     ();
use Http;
use POSIX ();
use Scalar::Util qw(weaken);
use Test::More ();
use Wait qw(wait_until free_port);

my $root = Cwd::abs_path(File::Spec->catdir((File::Spec->splitpath(__FILE__))[1], '..', '..'));
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // "$root/build") // "$root/build";
my $binary = $ENV{TOLLGATE_NGINX} // '/usr/sbin/nginx';
my $test_process = $$;
my @unshare = $> == 0 ? qw(unshare --mount) : qw(unshare --mount --map-root-user);
my @sanitizer_environment = qw(LD_PRELOAD ASAN_OPTIONS UBSAN_OPTIONS);

$SIG{INT} //= sub { exit 130 };
$SIG{TERM} //= sub { exit 143 };

sub start {
    my ($class, %options) = @_;
    my $self = $class->_prepare(%options);
    my ($exit, $output) = $self->_run;
    die "nginx does not start:\n$output" if $exit;
    $self->_wait_for_start;
    return $self;
}

sub test_config {
    my ($class, %options) = @_;
    return $class->_prepare(%options)->_run('-t');
}

sub built_with { my ($class, $option) = @_; return `$binary -V 2>&1` =~ /--\Q$option\E\b/ }

sub module_of_nginx {
    my ($class, $name) = @_;
    my ($folder) = `$binary -V 2>&1` =~ /--modules-path=(\S+)/;
    return defined $folder && -e "$folder/$name.so" ? "$folder/$name.so" : undef;
}

sub can_replace_hosts { return system("@unshare true 2>/dev/null") == 0 }

sub dir  { "$_[0]{dir}" }
sub port { $_[0]{ports}{ $_[1] // '' } }
sub pid  { $_[0]{pid} }

sub address {
    my ($self) = @_;
    return $self->{address} // die "this nginx listens nowhere\n";
}

sub error_log {
    my ($self) = @_;
    return _read("$self->{dir}/error.log");
}

sub workers {
    my ($self) = @_;
    return grep { _title($_) =~ /worker process$/ } $self->_children;
}

sub reload {
    my ($self, %options) = @_;
    $self->_write_conf(%options) if %options;
    my %old = map { $_ => 1 } $self->workers;
    my $log = length $self->error_log;
    kill HUP => $self->{pid};
    wait_until('the new workers', sub {
        my $news = substr $self->error_log, $log;
        die "reload failed: $1\n" if $news =~ /(\[emerg\].*)/;
        my @workers = $self->workers;
        return @workers == $self->{workers} && !grep { $old{$_} } @workers;
    });
}

sub old_workers_gone {
    my ($self) = @_;
    wait_until('the old workers to leave', sub { !grep { _title($_) =~ /shutting down/ } $self->_children });
}

sub kill_worker {
    my ($self, $pid) = @_;
    $pid //= ($self->workers)[0];
    $self->{killed}{$pid} = 1;
    kill KILL => $pid;
    wait_until('another worker', sub {
        my @workers = $self->workers;
        return @workers == $self->{workers} && !grep { $_ == $pid } @workers;
    });
}

# Stops the master first, so that it starts no further workers.
sub kill_all {
    my ($self) = @_;
    my $master = delete $self->{pid};
    kill STOP => $master;
    my @pids = ($master, _children_of($master));
    kill KILL => @pids;
    wait_until('the end of nginx', sub { !grep { _alive($_) } @pids });
    unlink "$self->{dir}/nginx.pid", glob("$self->{dir}/*.sock");
}

sub start_again {
    my ($self) = @_;
    my ($exit, $output) = $self->_run;
    die "nginx does not start:\n$output" if $exit;
    $self->_wait_for_start;
}

sub upgrade {
    my ($self) = @_;
    my $old = $self->{pid};
    kill USR2 => $old;
    wait_until('the new master', sub { -e "$self->{dir}/nginx.pid.oldbin" && -s "$self->{dir}/nginx.pid" });
    $self->{pid} = 0 + _read("$self->{dir}/nginx.pid");
    wait_until('the new workers', sub { $self->workers == $self->{workers} });
    kill QUIT => $old;
    wait_until('the old master to leave', sub { !_alive($old) });
}

sub stop {
    my ($self) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $is_ended = eval { $self->_end('QUIT'); 1 };
    my @lines = (($is_ended ? () : $@), $self->_complaints);
    Test::More::ok(!@lines, 'nginx ended with nothing to complain of in its log')
        or Test::More::diag(join '', @lines[0 .. ($#lines > 40 ? 40 : $#lines)]);
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    return unless $$ == $test_process && $self->{pid};
    eval { $self->_end('TERM') };
}

# Global objects would otherwise be destroyed after the modules that they need.
my @instances;
END {
    local $?;
    if ($$ == $test_process) {
        $_ && $_->DESTROY for @instances;
    }
}

sub _prepare {
    my ($class, %options) = @_;
    my $self = bless { workers => $options{workers} // 1, ports => {}, killed => {}, expect => $options{expect} }, $class;
    $self->{dir} = $options{dir} // File::Temp->newdir('nginx-XXXXXX', TMPDIR => 1);
    $self->{options} = \%options;
    push @instances, $self;
    weaken($instances[-1]);
    my $files = $options{files} // {};
    $self->_write($_, $self->_fill_in($files->{$_})) for keys %$files;
    $self->_write_conf;
    return $self;
}

sub _write_conf {
    my ($self, %changed) = @_;
    my %options = %{ $self->{options} } = (%{ $self->{options} }, %changed);
    $self->{workers} = $options{workers} // 1;
    my $dir = $self->{dir};
    my @modules = $options{modules} ? @{ $options{modules} } : qw(ngx_http_tollgate_module ngx_http_petstore_module);
    my $text = join '', map { "load_module $_;\n" } grep { -e } map { m{/} ? $_ : "$build/$_.so" } @modules;
    $text .= "user root;\n" if $> == 0;
    $text .= "worker_processes $self->{workers};\npid $dir/nginx.pid;\n";
    $text .= "error_log $dir/error.log " . ($options{log_level} // 'info') . ";\n";
    $text .= "env $_;\n" for $ENV{TOLLGATE_SANITIZE} ? @sanitizer_environment : ();    # for the binary upgrade
    $text .= 'events { ' . ($options{events} // '') . " }\n" . ($options{main} // '') . "\n";
    if (defined $options{conf}) {
        $text .= "http {\naccess_log off;\n";
        $text .= "${_}_temp_path $dir/$_;\n" for qw(client_body proxy fastcgi uwsgi scgi);
        $text .= "$options{conf}\n}\n";
    }
    $text = $self->_fill_in($text);
    $self->_write('nginx.conf', $text);
    my ($listen) = $text =~ /^[^#\n]*\blisten\s+([^\s;]+)/m;
    $self->{address} = $listen if defined $listen;
}

sub _fill_in {
    my ($self, $text) = @_;
    $text =~ s/%DIR%/$self->{dir}/g;
    $text =~ s/%PORT(\d*)%/$self->{ports}{$1} \/\/= free_port()/ge;
    return $text;
}

sub _write {
    my ($self, $name, $text) = @_;
    File::Path::make_path(File::Basename::dirname("$self->{dir}/$name"));
    open my $file, '>', "$self->{dir}/$name" or die "$name: $!\n";
    print $file $text;
    close $file or die "$name: $!\n";
}

# Runs nginx with these options and waits until it has exited or become a daemon.
sub _run {
    my ($self, @arguments) = @_;
    my $dir = $self->{dir};
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$dir/output";
        open STDERR, '>&', \*STDOUT;
        _prepare_sanitizers() if $ENV{TOLLGATE_SANITIZE};
        $self->_prepare_routes;
        exec _with_hosts($self), $binary, '-p', "$dir/", '-e', "$dir/error.log", '-c', "$dir/nginx.conf", @arguments or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    return ($? >> 8 || $? & 127, _read("$dir/output"));
}

# The command that runs nginx with its own /etc/hosts, in a mount namespace.
sub _with_hosts {
    my ($self) = @_;
    my $hosts = $self->{options}{hosts} // return;
    $self->_write('hosts', $hosts);
    return (@unshare, 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', "$self->{dir}/hosts");
}

# nginx itself is not linked with the sanitizer runtime, so the runtime must be loaded first.
my @sanitizer_libraries = map { chomp(my $path = `g++ -print-file-name=$_`); Cwd::abs_path($path) }
    $ENV{TOLLGATE_SANITIZE} ? qw(libasan.so libubsan.so libstdc++.so) : ();

sub _prepare_sanitizers {
    $ENV{LD_PRELOAD} = join ' ', @sanitizer_libraries;
    $ENV{ASAN_OPTIONS} = 'detect_leaks=0:abort_on_error=1';
    $ENV{UBSAN_OPTIONS} = 'print_stacktrace=1:halt_on_error=1';
}

# See routed_connect.cpp.
sub _prepare_routes {
    my ($self) = @_;
    my $routes = $self->{options}{routes} or return;
    -e "$build/routed_connect.so" or die "no routed_connect.so in $build\n";
    $ENV{LD_PRELOAD} = join ' ', $ENV{LD_PRELOAD} // (), "$build/routed_connect.so";
    $ENV{TOLLGATE_ROUTES} = join ',', map { "$_=$routes->{$_}" } sort keys %$routes;
}

sub _wait_for_start {
    my ($self) = @_;
    $self->{pid} = 0 + wait_until('nginx.pid', sub { _read("$self->{dir}/nginx.pid") });
    wait_until('the workers', sub { $self->workers == $self->{workers} });
    wait_until('a connection', sub { eval { Http->connect($self) } }) if $self->{address};
}

sub _end {
    my ($self, $signal) = @_;
    my $pid = delete $self->{pid} or return;
    my @pids = ($pid, _children_of($pid));
    kill $signal => $pid;
    eval { wait_until('nginx to end', sub { !_alive($pid) }, 60) };
    my $why = $@ or return;
    kill KILL => $pid, _children_of($pid), grep { _title($_) =~ /^nginx:/ } @pids;
    die $why;
}

sub _complaints {
    my ($self) = @_;
    my @lines = split /^/, $self->error_log . _read("$self->{dir}/output");
    return grep {
        my $line = $_;
        # A worker that was killed may have held a lock of the zone, which nginx frees.
        my $meant = $line =~ /(?:process (\d+) exited on signal 9|zone ".*" was locked by (\d+))/ && $self->{killed}{ $1 // $2 };
        $line =~ /\[(?:alert|emerg)\]|exited on signal|AddressSanitizer|runtime error:|^\s+#\d+ 0x/
            && !$meant && !($self->{expect} && $line =~ $self->{expect});
    } @lines;
}

sub _children { my ($self) = @_; return $self->{pid} ? _children_of($self->{pid}) : () }

sub _children_of {
    my ($parent) = @_;
    # A kernel with this file spares the reading of every process, which a test that waits does every few milliseconds.
    my $children = "/proc/$parent/task/$parent/children";
    return split ' ', _read($children) if -e $children;
    return grep { (_stat($_))[1] == $parent } map { m{/(\d+)$} } glob '/proc/[0-9]*';
}

# The state and the parent of a process. Its name precedes them in parentheses and may contain anything.
sub _stat {
    my ($pid) = @_;
    return _read("/proc/$pid/stat") =~ /.*\) (\S) (\d+)/s ? ($1, $2) : ('', 0);
}

sub _alive { my ($state) = _stat($_[0]); return $state ne '' && $state ne 'Z' }

sub _title {
    my ($pid) = @_;
    my $title = _read("/proc/$pid/cmdline");
    $title =~ s/[\0 ]+$//;
    return $title;
}

sub _read {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return <$file> // '';
}

1;
