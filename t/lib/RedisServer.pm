package RedisServer;

# Starts a redis-server in a temporary directory, on a unix socket and, optionally, on a TCP port.
#
#   my $redis = RedisServer->start;
#   my $redis = RedisServer->start(
#       tcp      => 1,                                # a free port of 127.0.0.1 as well: $redis->port
#       password => 'secret',                         # requirepass
#       login    => ['app', 'pw'],                    # the user of cmd and connection, where `default` is off
#       acl      => ['user app on >pw ~petstore:* +@all'],   # lines of the configuration; for others:
#       aclfile  => "user app on >pw ~* +@all\n",     # the text of a file of users, instead of acl: ACL SAVE writes it
#       conf     => ['appendonly yes', 'maxmemory 2mb'],
#       tls      => sub { my ($port) = @_; … },       # its port speaks TLS: these lines, as of Certificates->redis
#   );
#   $redis->address                                   # "unix:…/redis.sock", as nginx writes it
#   $redis->socket, $redis->port, $redis->dir, $redis->pid, $redis->log
#   $redis->cmd('HSET', 'k', 'f', 'v')                # over one persistent connection; see Resp.pm for replies
#   $redis->disconnect                                # cmd uses a new connection: a failover closes the old one
#   $redis->connection                                # a Resp connection of its own: MONITOR, SUBSCRIBE, CLIENT PAUSE
#   $redis->pause($milliseconds)                      # CLIENT PAUSE: connections stay open, nothing is answered
#   $redis->sigstop; $redis->sigcont                  # the same for commands of this test, too
#   $redis->stop                                      # SIGTERM and wait (saves its data)
#   $redis->kill                                      # SIGKILL and wait
#   $redis->restart                                   # start again on the same socket, port and data
#
# The server is stopped when the object is destroyed, also if the test dies.

use strict;
use warnings;
use File::Temp ();
use POSIX      ();
use Resp;
use Wait qw(wait_until free_port);

my $test_process = $$;

sub start {
    my ($class, %options) = @_;
    my $dir = File::Temp->newdir('redis-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, port => $options{tcp} ? free_port() : 0, password => $options{password}, login => $options{login} }, $class;
    open my $conf, '>', "$dir/redis.conf" or die $!;
    print $conf "$_\n" for ($options{tls} ? ('port 0', $options{tls}->($self->{port})) : "port $self->{port}"), 'bind 127.0.0.1', "unixsocket $dir/redis.sock", "dir $dir",
        "logfile $dir/redis.log", 'save ""', 'daemonize no',
        (defined $options{password} ? "requirepass $options{password}" : ()),
        (defined $options{aclfile} ? "aclfile $dir/users" : ()), @{ $options{acl} // [] }, @{ $options{conf} // [] };
    close $conf;
    if (defined $options{aclfile}) {
        open my $users, '>', "$dir/users" or die $!;
        print $users $options{aclfile};
        close $users;
    }
    $self->restart;
    return $self;
}

sub restart {
    my ($self) = @_;
    $self->stop;
    $self->{pid} = fork // die "fork: $!\n";
    if (!$self->{pid}) {
        exec 'redis-server', "$self->{dir}/redis.conf" or POSIX::_exit(127);
    }
    wait_until('redis-server to answer', sub {
        die 'redis-server ended: ' . $self->log if waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid};
        return eval { $self->connection->cmd('PING') eq 'PONG' };
    });
}

sub address { 'unix:' . $_[0]->socket }
sub socket  { "$_[0]{dir}/redis.sock" }
sub dir     { "$_[0]{dir}" }
sub port    { $_[0]{port} }
sub pid     { $_[0]{pid} }

sub log {
    my ($self) = @_;
    open my $file, '<', "$self->{dir}/redis.log" or return '';
    local $/;
    return <$file> // '';
}

sub connection {
    my ($self) = @_;
    my $connection = Resp->connect($self->address);
    my @login = $self->{login} ? @{ $self->{login} } : grep { defined } $self->{password};
    $connection->cmd('AUTH', @login) if @login;
    return $connection;
}

sub cmd {
    my ($self, @argv) = @_;
    $self->{connection} //= $self->connection;
    return $self->{connection}->cmd(@argv);
}

sub disconnect { delete $_[0]{connection} }

sub pause   { $_[0]->cmd('CLIENT', 'PAUSE', $_[1]) }

# A process on another core may receive the signal later.
sub sigstop {
    my ($self) = @_;
    CORE::kill STOP => $self->{pid};
    wait_until('redis-server to stop', sub {
        open my $file, '<', "/proc/$self->{pid}/stat" or die "redis-server is gone\n";
        return <$file> =~ /\) T /;
    });
}

sub sigcont { CORE::kill CONT => $_[0]{pid} }
sub stop    { $_[0]->_end('TERM') }
sub kill    { $_[0]->_end('KILL') }

sub _end {
    my ($self, $signal) = @_;
    delete $self->{connection};
    my $pid = delete $self->{pid} or return;
    CORE::kill($signal => $pid);
    # Only SIGKILL ends a stopped process immediately: it must not answer before.
    CORE::kill(CONT => $pid) if $signal ne 'KILL';
    waitpid $pid, 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->_end('KILL') if $$ == $test_process;
}

1;
