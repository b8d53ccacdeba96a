package Section::Shared;

# Counts, in a trace of memory accesses, the cache lines of shared memory that a request writes, and those of them that
# the other worker uses for the same work. Two workers take turns. A request takes about 50 ms under valgrind, so leases
# are small, and a lease or a slice serves few requests. Therefore the median is given beside the mean: it is what a
# request does that needs no new lease.

use strict;
use warnings;
use ApiKeys;
use Gateways;
use List::Util qw(sum0);
use MemoryTrace;
use RedisServer;
use RedisWork;
use Statistics qw(median);
use Time::HiRes qw(time);

my $requests = 40;
my $warm_up = 10;

sub run {
    my ($class, $setup) = @_;
    my $redis = RedisServer->start;
    my %keys = (
        one   => $setup->keys('one'),
        few   => ApiKeys->make(plan => 'endless', count => 20),
        spent => $setup->keys('spent'),
    );
    $setup->write_keys($_, $redis) for values %keys;
    my $slow = 'timeout 10s; connect_timeout 10s;';
    my $trace = MemoryTrace->start(sub { Gateways->all($setup->upstream, $redis, redis => $slow, @_) });
    my @rows = (
        ['bare',                     'bare',            'one'],
        ['limit_req',                'limit_req',       'one'],
        ['Tollgate, one key',        'tollgate',        'one'],
        ['Tollgate, one, lease=off', 'exact',           'one'],
        ['Tollgate, 20 keys',        'tollgate',        'few'],
        ['the same, lease=off',      'exact',           'few'],
        ['limit_req, refused',       'limit_req_spent', 'spent', 429],
        ['Tollgate, refused',        'tollgate',        'spent', 429],
    );
    my %spent;
    for my $row (@rows) {
        my ($name, $server, $keys, $status) = @$row;
        $spent{$name} = _ask($trace, $redis, $name, $server, $keys{$keys}, $status // 200);
    }
    my $counts = $trace->counts;
    $trace->stop;

    printf "%-32s %8s %8s %10s %8s %10s %8s %8s %11s\n", 'per request',
        'locks', '', 'written', '', 'shared', '', 'scripts', 'requests/s';
    printf "%-32s %8s %8s %10s %8s %10s %8s\n", '', map { ('mean', 'median') } 1 .. 3;
    for my $row (@rows) {
        my @requests = @{ $counts->{ $row->[0] } };
        printf "%-32s", $row->[0];
        for my $what (qw(locks written shared)) {
            my @values = map { $_->{$what} } @requests;
            printf $what eq 'locks' ? ' %8.3f %8.0f' : ' %10.2f %8.0f', sum0(@values) / @values, median(@values);
        }
        printf " %8.3f %11.1f\n", @{ $spent{ $row->[0] } }{qw(scripts rate)};
    }
    print "written: cache lines of shared memory; shared: those of them that the other worker reads or writes\n";
}

sub _ask {
    my ($trace, $redis, $name, $server, $keys, $status) = @_;
    my $address = Gateways->address($trace->nginx, $server);
    my $next = 0;
    my $token = sub { $keys->token($next++ % $keys->count) };
    if ($status == 429) {
        # The first request may be granted.
        eval { $trace->ask(undef, $address, $token, 1, 200) };
    }
    $trace->ask(undef, $address, $token, $keys->count + $warm_up, $status);
    my $work = RedisWork->new($redis);
    my ($calls, $start) = ($work->counts->{calls}, time);
    $trace->ask($name, $address, $token, $requests, $status);
    return { scripts => ($work->counts->{calls} - $calls) / (2 * $requests), rate => 2 * $requests / (time - $start) };
}

1;
