package KeyMemory;

# The memory of keys in Redis and in the zone.
#
#   my @bytes = KeyMemory->of_redis($redis, sub { … }, sub { … });     # how many more Redis uses after each step
#   my $zone = KeyMemory->zone($address);         # of the server that has tollgate_status
#   my $grown = $zone->grown_by($keys, sub { … });       # empty if the status shows no stores
#   $grown->{bytes}                               # bytes of the zone per key that it has room for
#   $grown->{evictions}                           # evicted entries; if there are any, the zone was too small
#
# The stores share the zone in a fixed proportion. The one that is full first determines the result.

use strict;
use warnings;
use Http qw(http_get);
use List::Util qw(max sum0);
use Wait qw(wait_until);

sub of_redis {
    my ($class, $redis, @steps) = @_;
    my $last = _settled($redis);
    return map {
        $_->();
        my $before = $last;
        $last = _settled($redis);
        $last - $before;
    } @steps;
}

sub zone {
    my ($class, $address) = @_;
    return bless { address => $address }, $class;
}

sub grown_by {
    my ($self, $keys, $code) = @_;
    my ($size, $before) = $self->_stores;
    $code->();
    my (undef, $after) = $self->_stores;
    return {} unless %$after;
    my $share = max map { ($after->{$_}{entries} - $before->{$_}{entries}) / $after->{$_}{entries_max} } keys %$after;
    my $evictions = sum0 map { $after->{$_}{evictions} - $before->{$_}{evictions} } keys %$after;
    return { bytes => $share * $size / $keys, evictions => $evictions };
}

sub _stores {
    my ($self) = @_;
    my $zone = http_get($self->{address}, '/')->json->{zone};
    return ($zone->{size_bytes}, $zone->{stores} // {});
}

# Redis moves entries to a larger table in steps, and has both tables meanwhile.
sub _settled {
    my ($redis) = @_;
    my $last = 0;
    return wait_until('Redis to settle', sub {
        my %info = $redis->cmd('INFO', 'memory') =~ /^(\w+):(\d+)\r?$/mg;
        my $bytes = $info{used_memory} - $info{mem_clients_normal};
        my $settled = abs($bytes - $last) < 1024;
        $last = $bytes;
        select undef, undef, undef, 0.3 unless $settled;
        return $settled && $bytes;
    }, 60);
}

1;
