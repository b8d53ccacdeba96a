package RedisWork;

# What Redis has done for a gateway, as counts since both were started. The difference of two readings is exact.
#
#   my $work = RedisWork->new($redis, Gateways->address($tollgate, 'status'));    # the address only of a Tollgate
#   my $counts = $work->counts;
#   $counts->{calls}                              # scripts that Redis ran: acquires, look-ups and all others
#   $counts->{ids}                                # ids that it decided; an id counts once for each table of its location
#
# The script of an acquire runs one HMGET for each id and table. Redis runs an HMGET also for each look-up of a key,
# which the status of Tollgate counts, for each use of a key, with an EXISTS, and for each report of a node, with a PTTL.
# Therefore ids are HMGET less look-ups less EXISTS less PTTL. The first decision of an id in its longest window runs a
# PTTL too: count only after every id was decided once, and not at midnight UTC. An id with too few units left for one
# more request counts twice: a second HMGET reads the last leases. A script of the Lua gateway decides one id.

use strict;
use warnings;
use Http qw(http_get);
use List::Util qw(sum0);

sub new {
    my ($class, $redis, $status) = @_;
    return bless { redis => $redis, status => $status }, $class;
}

sub counts {
    my ($self) = @_;
    my %of = $self->{redis}->cmd('INFO', 'commandstats') =~ /^cmdstat_(\w+):calls=(\d+)/mg;
    my $calls = sum0 map { $of{$_} // 0 } qw(evalsha eval fcall);
    return { calls => $calls, ids => $calls } unless defined $self->{status};
    my $lookups = sum0 map { $_->{commands}{lookup} } @{ http_get($self->{status}, '/')->json->{redis} };
    return { calls => $calls, ids => ($of{hmget} // 0) - $lookups - ($of{exists} // 0) - ($of{pttl} // 0) };
}

1;
