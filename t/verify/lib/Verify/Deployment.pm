package Verify::Deployment;

# The Redis of a run: one server, a master that Sentinel manages with two replicas, or a cluster of three masters with a
# replica each.
#
#   my $deployment = Verify::Deployment->start(kind => 'redis', tls => 0, nodes => 3, proxies => 1, clock => $shifted_clock);
#   $deployment->directives($node, $path)    # lines of tollgate_redis. `redis` has two paths to the server, 0 and 1, of
#                                            #   which each is a proxy of this node
#   $deployment->routes($node)               # of the others: the ports of the servers, and those of this node's proxy
#   $deployment->proxies($node)              # the Verify::Proxy objects; none without `proxies`
#   $deployment->servers                     # RedisServer objects
#   $deployment->masters                     # those that are masters now
#   $deployment->ask($server, 'PING')        # a command, on a connection of its own
#   $deployment->cmd('HSET', $key, …)        # at the master of the key
#   $deployment->cmds([@command], …)         # many of them, of which each has a key
#   $deployment->scan($pattern)              # the names of all keys
#   $deployment->hashes($pattern)            # all hashes of these names: { NAME => { FIELD => VALUE, … }, … }
#   $deployment->entries($pattern)           # of all streams of these names: [ID, { FIELD => VALUE, … }], …
#   $deployment->files                       # the paths of all files with the data of servers
#   $deployment->available                   # whether a master that answers serves every key
#   $deployment->sentinels, $deployment->cluster     # the object that manages the servers, if any
#   $deployment->certificates        # with TLS: the Certificates object

use strict;
use warnings;
use Certificates;
use List::Util qw(first uniq);
use RedisCluster;
use RedisServer;
use Resp;
use Sentinels;
use Verify::Proxy;
use Wait qw(free_port);

# Every write is on disk before it is answered: a server that is killed has lost nothing that it acknowledged. The files
# can be searched for texts.
my @durable = ('appendonly yes', 'appendfsync always', 'rdbcompression no');

sub start {
    my ($class, %options) = @_;
    my $self = bless {%options}, $class;
    if ($options{tls}) {
        $self->{certificates} = Certificates->new;
        $self->{certificates}->issue('server', 'DNS:redis.test,IP:127.0.0.1');
    }
    my $start = $options{kind} eq 'redis' ? '_start_redis' : $options{kind} eq 'sentinel' ? '_start_sentinel' : '_start_cluster';
    my $begin = sub { $self->$start };
    $options{clock} ? $options{clock}->start($begin) : $begin->();
    $self->{proxies} = [map { [$self->_proxies] } 1 .. $self->{nodes}] if $self->{proxies};
    return $self;
}

sub _start_redis {
    my ($self) = @_;
    my $tls_port = $self->{tls} ? free_port() : undef;
    my $server = RedisServer->start(tcp => 1, conf => [@durable, 'repl-diskless-sync-delay 0', $tls_port ? $self->{certificates}->redis('server', $tls_port) : ()]);
    $self->{servers} = [$server];
    $self->{to} = $tls_port ? "127.0.0.1:$tls_port" : $server->address;
}

# Of one node.
sub _proxies {
    my ($self) = @_;
    return map { Verify::Proxy->start(to => [$self->{to}], tcp => $self->{tls}) } 0, 1 if $self->{kind} eq 'redis';
    return Verify::Proxy->start(to => [map { '127.0.0.1:' . $_->port } $self->servers], tcp => 1);
}

# The lines for TLS of a server and its port, as RedisServer wants them.
sub _tls {
    my ($self, @more) = @_;
    return $self->{tls} ? sub { $self->{certificates}->redis('server', $_[0], @more) } : undef;
}

sub _start_sentinel {
    my ($self) = @_;
    my $tls = $self->_tls('tls-replication yes');
    $self->{sentinels} = Sentinels->start(replicas => 2, down_after => 1000, tls => $tls, redis_options => { tls => $tls, conf => [@durable] });
    $self->{servers} = [$self->{sentinels}->servers];
}

sub _start_cluster {
    my ($self) = @_;
    $self->{cluster} = RedisCluster->start(masters => 3, replicas => 1, node_timeout => 2000, tls => $self->_tls('tls-cluster yes', 'tls-replication yes'), conf => [@durable]);
    $self->{servers} = [$self->{cluster}->nodes];
}

sub directives {
    my ($self, $node, $path) = @_;
    my $servers =
          $self->{kind} eq 'redis' ? 'server ' . ($self->{proxies}[$node][ $path // 0 ]->addresses)[0] . ';'
        : $self->{sentinels} ? $self->{sentinels}->directive
        :                      'cluster ' . $self->{cluster}->address . ';';
    return $servers unless $self->{tls};
    return "$servers tls on; tls_ca " . $self->{certificates}->certificate('ca') . '; tls_server_name redis.test;';
}

sub routes {
    my ($self, $node) = @_;
    my ($proxy) = $self->{kind} eq 'redis' ? () : $self->proxies($node);
    return undef unless $proxy;
    my @ports = map { /(\d+)$/ } $proxy->addresses;
    return { map { ($_->port => shift @ports) } $self->servers };
}

sub proxies   { my ($self, $node) = @_; return $self->{proxies} ? @{ $self->{proxies}[$node] } : () }
sub servers   { @{ $_[0]{servers} } }
sub sentinels { $_[0]{sentinels} }
sub certificates { $_[0]{certificates} }
sub cluster   { $_[0]{cluster} }

sub masters {
    my ($self) = @_;
    return grep { (eval { $self->ask($_, 'ROLE')->[0] } // '') eq 'master' } $self->servers;
}

sub ask {
    my ($self, $server, @command) = @_;
    die "it does not run\n" unless $server->pid;
    return Resp->connect($server->address, timeout => 2)->cmd(@command);
}

sub master {
    my ($self) = @_;
    return ($self->servers)[0] unless $self->{sentinels};
    my $sentinel = first { $_->is_running } $self->{sentinels}->sentinels;
    my $port = $sentinel->cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster')->[1];
    return first { $_->port == $port } $self->servers;
}

sub cmd {
    my ($self, $command, $key, @more) = @_;
    if ($self->{cluster}) {
        $_->disconnect for $self->servers;
        return $self->{cluster}->cmd($command, $key, @more);
    }
    return $self->ask($self->master, $command, $key // (), @more);
}

sub cmds {
    my ($self, @commands) = @_;
    my %of;
    if (my $cluster = $self->{cluster}) {
        my @slots = map { my $master = $_; map { [$master->port, @$_[0, 1]] } grep { $_->[2][1] == $master->port } @{ $self->ask($master, 'CLUSTER', 'SLOTS') } } $self->masters;
        for my $command (@commands) {
            my $slot = $cluster->slot_of($command->[1]);
            my ($owner) = grep { $slot >= $_->[1] && $slot <= $_->[2] } @slots;
            push @{ $of{ $owner->[0] } }, $command;
        }
    }
    else { $of{ $self->master->port } = \@commands }
    for my $port (keys %of) { _pipeline((first { $_->port == $port } $self->servers), @{ $of{$port} }) }
    return;
}

# The replies to many commands of one server.
sub _pipeline {
    my ($server, @commands) = @_;
    my $connection = Resp->connect($server->address, timeout => 10);
    my @replies;
    while (my @some = splice @commands, 0, 200) {
        $connection->send(@$_) for @some;
        push @replies, map { $connection->read } @some;
    }
    return @replies;
}

sub _masters_of_keys { my ($self) = @_; return $self->{cluster} ? $self->masters : $self->master }

sub _scan {
    my ($self, $server, $pattern) = @_;
    my ($cursor, %found) = (0);
    do {
        ($cursor, my $names) = @{ $self->ask($server, 'SCAN', $cursor, 'MATCH', $pattern, 'COUNT', 1000) };
        $found{$_} = 1 for @$names;
    } until $cursor eq '0';
    return sort keys %found;
}

sub scan {
    my ($self, $pattern) = @_;
    return uniq(map { $self->_scan($_, $pattern) } $self->_masters_of_keys);
}

sub hashes {
    my ($self, $pattern) = @_;
    my %hashes;
    for my $server ($self->_masters_of_keys) {
        my @names = $self->_scan($server, $pattern);
        @hashes{@names} = map { +{@$_} } _pipeline($server, map { ['HGETALL', $_] } @names);
    }
    return \%hashes;
}

sub entries {
    my ($self, $pattern) = @_;
    my @entries;
    for my $server ($self->_masters_of_keys) {
        for my $stream ($self->_scan($server, $pattern)) {
            my $from = '-';
            while (my @page = @{ $self->ask($server, 'XRANGE', $stream, $from, '+', 'COUNT', 1000) }) {
                push @entries, map { [$_->[0], { @{ $_->[1] } }] } @page;
                $from = "($page[-1][0]";
            }
        }
    }
    return @entries;
}

sub files { my ($self) = @_; return grep { -f } map { my $dir = $_->dir; glob "$dir/*.rdb $dir/*.aof $dir/appendonlydir/*" } $self->servers }

sub available {
    my ($self) = @_;
    return eval {
        if ($self->{cluster}) {
            my @masters = $self->masters;
            return @masters && !grep { $self->ask($_, 'CLUSTER', 'INFO') !~ /cluster_state:ok.*cluster_slots_ok:16384/s } @masters;
        }
        return $self->ask($self->master, 'ROLE')->[0] eq 'master';
    };
}

1;
