package Sentinels;

# A Redis deployment on 127.0.0.1 that Sentinel manages: a master, replicas, and redis-servers in Sentinel mode.
#
#   my $deployment = Sentinels->start;
#   my $deployment = Sentinels->start(
#       sentinels => 3, replicas => 1, down_after => 500,      # the defaults; milliseconds
#       conf       => ['requirepass watch'],                   # lines of the Sentinels' configuration
#       password   => 'watch',                                 # with which this test asks the Sentinels
#       tls        => sub { my ($port) = @_; … },              # lines for TLS on this port; `directive` names these ports
#       redis_options => { … },                                # of RedisServer->start, for master and replicas
#       host       => 'localhost',                             # the Sentinels report master and replicas by this name
#   );
#   $deployment->servers                  # the RedisServer objects; the first one is the master at the start
#   $deployment->sentinels                # objects with address, pid, cmd, kill, sigstop, sigcont, log
#   $deployment->directive                # "sentinel mymaster 127.0.0.1:…;" for tollgate_redis
#   $deployment->master                   # the server that the Sentinels report now
#   $deployment->new_master($old)         # waits until all Sentinels that answer report another server, which says that
#                                         # it is the master; returns it
#   $deployment->promoted($replica)       # waits until this server is a master: the Sentinels report it later
#   $deployment->drain($server)           # waits until the replicas have everything that this master wrote
#
# start returns when each Sentinel knows the others and can promote each replica. Everything is stopped when the object
# is destroyed.

use strict;
use warnings;
use List::Util qw(first);
use RedisServer;
use Wait qw(wait_until free_port);

sub start {
    my ($class, %options) = @_;
    my $self = bless { servers => [], sentinels => [] }, $class;
    my %redis = %{ $options{redis_options} // {} };
    my $host = $options{host} // '127.0.0.1';
    my @names = $options{host} ? ("replica-announce-ip $host", 'bind 127.0.0.1 -::1') : ();
    my @conf = ('repl-diskless-sync yes', 'repl-diskless-sync-delay 0', @names, @{ delete $redis{conf} // [] });
    my $master = RedisServer->start(tcp => 1, conf => \@conf, %redis);
    push @{ $self->{servers} }, $master;
    for (1 .. $options{replicas} // 1) {
        my @replica = (@conf, "replicaof $host " . $master->port);
        push @{ $self->{servers} }, RedisServer->start(tcp => 1, conf => \@replica, %redis);
    }
    my @replicas = @{ $self->{servers} }[1 .. $#{ $self->{servers} }];
    my @planned = map { { port => free_port(), id => sprintf '%040x', $_ } } 1 .. $options{sentinels} // 3;
    my $quorum = int(@planned / 2) + 1;
    for my $sentinel (@planned) {
        my @known = (
            (map { "sentinel known-replica mymaster $host " . $_->port } @replicas),
            (map { "sentinel known-sentinel mymaster 127.0.0.1 $_->{port} $_->{id}" } grep { $_ != $sentinel } @planned),
        );
        my $tls_port = $options{tls} ? free_port() : undef;
        push @{ $self->{sentinels} }, Sentinels::Sentinel->start(
            port => $sentinel->{port}, password => $options{password}, tls_port => $tls_port,
            conf => [
                ($tls_port ? $options{tls}->($tls_port) : ()),
                ($options{host} ? ('sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes') : ()),
                "sentinel myid $sentinel->{id}", "sentinel monitor mymaster $host " . $master->port . " $quorum",
                'sentinel down-after-milliseconds mymaster ' . ($options{down_after} // 500),
                'sentinel failover-timeout mymaster 3000',
                ($redis{password} ? "sentinel auth-pass mymaster $redis{password}" : ()),
                @known, @{ $options{conf} // [] },
            ],
        );
    }
    for my $sentinel ($self->sentinels) {
        wait_until('a Sentinel to know the deployment', sub {
            my $ready = grep { $_->{flags} eq 'slave' && $_->{'master-link-status'} eq 'ok' }
                map { { @$_ } } @{ $sentinel->cmd('SENTINEL', 'REPLICAS', 'mymaster') };
            my $others = grep { $_->{flags} eq 'sentinel' }
                map { { @$_ } } @{ $sentinel->cmd('SENTINEL', 'SENTINELS', 'mymaster') };
            return $ready == @replicas && $others == @planned - 1;
        });
    }
    return $self;
}

sub servers   { @{ $_[0]{servers} } }
sub sentinels { @{ $_[0]{sentinels} } }
sub directive { 'sentinel mymaster ' . join(' ', map { '127.0.0.1:' . ($_->{tls_port} // $_->{port}) } $_[0]->sentinels) . ';' }

sub _reported {
    my ($self, $sentinel) = @_;
    my $port = $sentinel->cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster')->[1];
    return first { $_->port == $port } $self->servers;
}

sub master {
    my ($self) = @_;
    return $self->_reported(first { $_->is_running } $self->sentinels);
}

sub new_master {
    my ($self, $old) = @_;
    return wait_until('a failover', sub {
        my %reported = map { $_->port => $_ } map { $self->_reported($_) } grep { $_->is_running } $self->sentinels;
        my ($new, $more) = values %reported;
        return !$more && $new != $old && _is_master($new) ? $new : undef;
    });
}

# With the promotion, a Sentinel closes the connections of all clients.
sub _is_master {
    my ($server) = @_;
    $server->disconnect;
    return (eval { $server->cmd('ROLE')->[0] } // '') eq 'master';
}

sub promoted {
    my ($self, $replica) = @_;
    wait_until('the promotion', sub { _is_master($replica) });
}

sub drain {
    my ($self, $server) = @_;
    my $number = @{ $server->cmd('ROLE')->[2] };
    wait_until('the replicas', sub {
        my $role = $server->cmd('ROLE');
        return !grep { $_->[2] < $role->[1] } @{ $role->[2] };
    }) if $number;
}

package Sentinels::Sentinel;

use strict;
use warnings;
use File::Temp ();
use POSIX      ();
use Resp;
use Wait qw(wait_until);

my $test_process = $$;

sub start {
    my ($class, %options) = @_;
    my $dir = File::Temp->newdir('sentinel-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, port => $options{port}, tls_port => $options{tls_port}, password => $options{password} }, $class;
    open my $conf, '>', "$dir/sentinel.conf" or die $!;
    print $conf "$_\n" for "port $options{port}", 'bind 127.0.0.1', "dir $dir", "logfile $dir/sentinel.log", 'daemonize no',
        @{ $options{conf} };
    close $conf;
    $self->{pid} = fork // die "fork: $!\n";
    if (!$self->{pid}) {
        exec 'redis-server', "$dir/sentinel.conf", '--sentinel' or POSIX::_exit(127);
    }
    wait_until('a Sentinel to answer', sub {
        die 'the Sentinel ended: ' . $self->log if waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid};
        return eval { $self->cmd('PING') eq 'PONG' };
    });
    return $self;
}

sub address    { "127.0.0.1:$_[0]{port}" }
sub pid        { $_[0]{pid} }
sub is_running { defined $_[0]{pid} && !$_[0]{stopped} }

sub cmd {
    my ($self, @argv) = @_;
    if (!$self->{connection}) {
        my $connection = Resp->connect($self->address);
        $connection->cmd('AUTH', $self->{password}) if defined $self->{password};
        $self->{connection} = $connection;
    }
    return $self->{connection}->cmd(@argv);
}

sub log {
    my ($self) = @_;
    open my $file, '<', "$self->{dir}/sentinel.log" or return '';
    local $/;
    return <$file> // '';
}

sub sigstop { my ($self) = @_; $self->{stopped} = 1; CORE::kill STOP => $self->{pid} }
sub sigcont { my ($self) = @_; $self->{stopped} = 0; CORE::kill CONT => $self->{pid} }

sub kill {
    my ($self) = @_;
    delete $self->{connection};
    my $pid = delete $self->{pid} or return;
    CORE::kill(KILL => $pid);
    waitpid $pid, 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->kill if $$ == $test_process;
}

1;
