package RedisCluster;

# Starts a Redis Cluster of masters and replicas on free ports of 127.0.0.1.
#
#   my $cluster = RedisCluster->start(masters => 3, replicas => 1);     # of each master; node_timeout => 5000, in ms;
#                                              # tls => sub { my ($port) = @_; … }, as RedisServer->start
#   $cluster->address                          # the first two nodes, as the directive `cluster` has them
#   $cluster->nodes                            # RedisServer objects; the masters first
#   my $node = $cluster->master_of('t:quota:{k1}:api');     # the node that serves the slot of a key now
#   $cluster->slot_of($key)
#   $cluster->cmd('HGET', $key, $field)        # a command for one key, at its master; one without a key, at any node
#   $cluster->stable                           # waits until all nodes agree that all slots are served
#   $cluster->masters_agree                    # whether all masters have the same config epochs and slots of all masters
#   $cluster->move_slots($from, $to, @slots)   # moves slots and their keys while clients use them
#
# The nodes are stopped when the object is destroyed.

use strict;
use warnings;
use RedisServer;
use Wait qw(wait_until free_port);

sub start {
    my ($class, %options) = @_;
    my ($masters, $replicas) = ($options{masters} // 3, $options{replicas} // 0);
    my @conf = ('cluster-enabled yes', 'cluster-node-timeout ' . ($options{node_timeout} // 5000),
        'cluster-require-full-coverage no', 'cluster-replica-validity-factor 0', 'repl-diskless-sync-delay 0',
        @{ $options{conf} // [] });
    my @nodes = map { RedisServer->start(tcp => 1, tls => $options{tls}, conf => [@conf, 'cluster-port ' . free_port()]) } 1 .. $masters * (1 + $replicas);
    my $self = bless { nodes => \@nodes }, $class;
    for my $i (0 .. $masters - 1) {
        my ($first, $last) = map { int(16384 * $_ / $masters) } $i, $i + 1;
        $nodes[$i]->cmd('CLUSTER', 'ADDSLOTSRANGE', $first, $last - 1);
        $nodes[$i]->cmd('CLUSTER', 'SET-CONFIG-EPOCH', $i + 1);
    }
    for my $node (@nodes[1 .. $#nodes]) {
        $node->cmd('CLUSTER', 'MEET', '127.0.0.1', $nodes[0]->port, _bus_port($nodes[0]));
    }
    for my $i ($masters .. $#nodes) {
        my $id = $nodes[$i % $masters]->cmd('CLUSTER', 'MYID');
        wait_until('the replica to know its master', sub { $nodes[$i]->cmd('CLUSTER', 'NODES') =~ /^$id .* connected/m });
        $nodes[$i]->cmd('CLUSTER', 'REPLICATE', $id);
    }
    $self->stable;
    wait_until('replicas', sub { !grep { $_->cmd('INFO', 'replication') !~ /master_link_status:up/ } @nodes[$masters .. $#nodes] });
    return $self;
}

sub _bus_port { my ($node) = @_; return $node->cmd('CONFIG', 'GET', 'cluster-port')->[1] }

sub nodes { return @{ $_[0]{nodes} } }
sub address { my ($self) = @_; return join ' ', map { '127.0.0.1:' . $_->port } @{ $self->{nodes} }[0, 1] }

sub stable {
    my ($self) = @_;
    my @up = grep { $_->pid } $self->nodes;
    my %is_up = map { $_->port => 1 } @up;
    my $is_stable = sub {
        my ($node) = @_;
        my $info = $node->cmd('CLUSTER', 'INFO');
        return 0 unless $info =~ /cluster_state:ok/ && $info =~ /cluster_slots_ok:16384/;
        # It takes a while until a master that has ended counts as failed.
        return !grep { !$is_up{ $_->[2][1] } } @{ $node->cmd('CLUSTER', 'SLOTS') };
    };
    wait_until('the cluster', sub { !grep { !eval { $is_stable->($_) } } @up }, 60);
    return;
}

sub slot_of { my ($self, $key) = @_; return $self->_any->cmd('CLUSTER', 'KEYSLOT', $key) }
sub _any { my ($self) = @_; return (grep { $_->pid } $self->nodes)[0] }

sub master_of {
    my ($self, $key) = @_;
    my $slot = $self->slot_of($key);
    # Other nodes learn later that a slot has moved.
    for my $node (grep { $_->pid } $self->nodes) {
        my @own = grep { $_->[2][1] == $node->port } @{ $node->cmd('CLUSTER', 'SLOTS') };
        return $node if grep { $slot >= $_->[0] && $slot <= $_->[1] } @own;
    }
    die "no master of slot $slot\n";
}

sub cmd {
    my ($self, $command, $key, @more) = @_;
    my $has_key = defined $key && $command !~ /^(?:PUBLISH|PUBSUB)$/;
    return ($has_key ? $self->master_of($key) : $self->_any)->cmd($command, $key // (), @more);
}

sub move_slots {
    my ($self, $from, $to, @slots) = @_;
    my ($from_id, $to_id) = map { $_->cmd('CLUSTER', 'MYID') } $from, $to;
    for my $slot (@slots) {
        $to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from_id);
        $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to_id);
        while (my @keys = @{ $from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 100) }) {
            $from->cmd('MIGRATE', '127.0.0.1', $to->port, '', 0, 5000, 'KEYS', @keys);
        }
        # As redis-cli does it: the new owner first, then each other master.
        my @others = grep { $_ != $to } $self->_masters;
        $_->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to_id) for $to, @others;
        # A master that does not know the new config epoch yet can let the next slot lose its owner.
        wait_until('the masters to agree', sub { $self->masters_agree });
    }
    return;
}

sub _masters { my ($self) = @_; return grep { $_->pid && $_->cmd('ROLE')->[0] eq 'master' } $self->nodes }

sub masters_agree {
    my ($self) = @_;
    my %views;
    for my $node ($self->_masters) {
        my @known = map { [split] } grep { / (?:myself,)?master / } split /\n/, $node->cmd('CLUSTER', 'NODES');
        $views{ join ';', sort map { join ' ', @$_[0, 6, 8 .. $#$_] } @known }++;
    }
    return keys %views == 1;
}

1;
