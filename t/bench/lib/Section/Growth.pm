package Section::Growth;

# How cost grows: throughput, CPU and memory with the number of keys; throughput and CPU with the number of workers;
# instructions with the number of tables and windows.

use strict;
use warnings;
use ApiKeys;
use Callgrind;
use Comparison qw(meets);
use Gateways;
use KeyMemory;
use List::Util qw(max);
use RedisServer;

sub run {
    my ($class, $setup) = @_;
    _keys($setup);
    _workers($setup);
    _tables_and_windows($setup);
}

sub _keys {
    my ($setup) = @_;
    my (@comparisons, @memory);
    for my $count (grep { $_ <= $setup->option('keys') } map { 10**$_ } 0, 3 .. 6) {
        my $keys = ApiKeys->make(plan => 'endless', count => $count);
        my $redis = RedisServer->start;
        my $nginx = Gateways->tollgate($setup->upstream, $redis, zone => max(16, int $count / 1000) . 'm');
        my $name = "$count key" . ($count > 1 ? 's' : '');
        my $contender = $setup->contender("Tollgate, $name", 'tollgate', $keys, nginx => $nginx, redis => $redis);
        my @redis = KeyMemory->of_redis($redis, sub { $keys->write_records($redis, 't:') },
            sub { $keys->write_digests($redis, 't:') }, sub { $keys->write_ids($redis, 't:') });
        $contender->probe for 1 .. 20;    # the connections of the workers and the script do not count as memory of a key
        my $zone = KeyMemory->zone(Gateways->address($nginx, 'status'))->grown_by($count, sub {
            push @redis, KeyMemory->of_redis($redis, sub { $contender->ask_with_every_key });
        });
        push @memory, [$count, $name, map({ $_ / $count } @redis), @$zone{qw(bytes evictions)}] if $count > 1;
        push @comparisons, $setup->compare([$contender, $setup->contender("bare, $name", 'bare', $keys)]);
        $nginx->stop;
    }
    Comparison->print_head('bare');
    $_->print for @comparisons;
    printf "\n%-32s %8s %8s %8s %8s %8s %-14s %s\n", 'bytes a key',
        'record', 'id:{ID}', 'ids', 'quota', 'zone', 'target', 'evicted';
    for my $row (@memory) {
        my ($count, $name, @bytes) = @$row;
        my $evictions = pop @bytes;
        printf "%-32s %8.0f %8.0f %8.0f %8.0f %8.0f %-14s %d\n", $name, @bytes,
            $count == 1_000_000 ? meets($bytes[-1], '<= 256') : '', $evictions;
    }
}

# More workers than cores share the cores with each other, wrk and Redis.
sub _workers {
    my ($setup) = @_;
    my @comparisons;
    for my $workers (1, 2, 4) {
        my $redis = RedisServer->start;
        $setup->write_keys($setup->keys($_), $redis) for qw(one many);
        my $bare = Gateways->bare($setup->upstream, workers => $workers);
        my $tollgate = Gateways->tollgate($setup->upstream, $redis, workers => $workers);
        my @pairs = map {
            my ($name, $server, $keys) = @$_;
            my $of = "$workers worker" . ($workers > 1 ? 's' : '');
            [$setup->contender("$of, $name", $server, $keys, nginx => $tollgate, redis => $redis),
                $setup->contender("bare, $workers", 'bare', $keys, nginx => $bare)];
        } ['one key', 'tollgate', 'one'], ['10,000 keys', 'tollgate', 'many'], ['lease=off', 'exact', 'many'];
        $_->[0]->ask_with_every_key for @pairs;
        push @comparisons, $setup->compare(@pairs);
        $_->stop for $bare, $tollgate;
    }
    print "\n";
    Comparison->print_head('bare');
    $_->print for @comparisons;
}

sub _tables_and_windows {
    my ($setup) = @_;
    my $requests = 2000;
    my $redis = RedisServer->start;
    my %keys = map { $_ => ApiKeys->make(plan => 'endless', count => $_) } 1, 100, 5000;
    $setup->write_keys($_, $redis) for values %keys;
    my $bare = Callgrind->new(Gateways->bare($setup->upstream, Callgrind->options));
    my $tollgate = Callgrind->new(Gateways->tollgate($setup->upstream, $redis, shapes => 1, Callgrind->options));
    my $measure = sub {
        my ($callgrind, $server, $count) = @_;
        my $address = Gateways->address($callgrind->nginx, $server);
        # Each key is known before the measurement: the first request stores it in the zone, the second in the worker.
        my $next = 0;
        Callgrind->ask($address, $keys{$count}, 2 * $count, 200, token => sub { $keys{$count}->token($next++ % $count) });
        Callgrind->ask($address, $keys{$count}, $requests, 200) if $count == 1;
        return $callgrind->measure($address, $keys{$count}, $requests, 200)->{instructions};
    };
    my $of_bare = $measure->($bare, 'bare', 1);
    my @rows = (
        map({ ["$_->[0] of 2 windows", $_->[1], 1] }
            ['1 table', 'tollgate'], ['2 tables', 'tables2'], ['4 tables', 'tables4']),
        map({ ["1 table of $_->[0]", $_->[1], 1] }
            ['1 window', 'windows1'], ['2 windows', 'tollgate'], ['4 windows', 'windows4']),
        map { ["$_ keys", 'tollgate', $_] } 100, 5000,
    );
    printf "\n%-32s %10s %10s\n%-32s %10.0f\n", 'instructions, over bare', 'leases', 'lease=off', 'bare, in all', $of_bare;
    for my $row (@rows) {
        my ($name, $server, $count) = @$row;
        my $exact = $server eq 'tollgate' ? 'exact' : "${server}_exact";
        printf "%-32s %10.0f %10.0f\n", $name, map { $measure->($tollgate, $_, $count) - $of_bare } $server, $exact;
    }
    $_->nginx->stop for $bare, $tollgate;
}

1;
