# A window grants exactly its limit, with any number of requests, nodes, workers and connections. Refused requests cost
# nothing.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(spend_rest wait_for_room);
use Load;

subtest 'a burst on two windows counts in the day what the hour grants' => sub {
    my $gateway = Gateway->start(plans => 'plan free 60r/h 1000r/d;', workers => 2);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $result = Load->run(servers => [$gateway->address], connections => 16, requests => 1000, token => 'k');
    is($result->{status}{200} + $result->{status}{429}, 1000, '1,000 requests are granted or refused');
    is(spend_rest([$gateway], 'k', $result->{status}{200}, 60), 60, '60 are granted');
    is($gateway->count('k1', 'api', 86400), 60, 'the day counts 60');
    $gateway->nginx->stop;
};

subtest 'three nodes of two workers share one key' => sub {
    my @nodes = my $first = Gateway->start(plans => 'plan free 100r/h;', workers => 2);
    push @nodes, map { Gateway->start(plans => 'plan free 100r/h;', workers => 2, share => $first) } 2 .. 3;
    $first->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($first->redis, 3600);
    my $result = Load->run(
        servers     => [map { $_->address } @nodes],
        connections => 64,
        requests    => 2000,
        token       => 'k',
    );
    is($result->{status}{200} + $result->{status}{429}, 2000, '2,000 requests are granted or refused');
    is(spend_rest(\@nodes, 'k', $result->{status}{200}, 100), 100, 'exactly 100 are granted');
    $_->nginx->stop for @nodes;
};

subtest '1,000 keys in random order' => sub {
    my @nodes = my $first = Gateway->start(plans => 'plan free 5r/h;', workers => 2);
    push @nodes, Gateway->start(plans => 'plan free 5r/h;', workers => 2, share => $first);
    my (%sent, @order);
    for my $n (1 .. 1000) {
        $first->import_key("key$n", id => "k$n", plan => 'free');
        $sent{"key$n"} = int rand 10;
        push @order, ("key$n") x $sent{"key$n"};
    }
    for my $i (reverse 1 .. $#order) {
        my $j = int rand $i + 1;
        @order[$i, $j] = @order[$j, $i];
    }
    wait_for_room($first->redis, 3600);
    my $result = Load->run(
        servers     => [map { $_->address } @nodes],
        connections => 32,
        requests    => scalar @order,
        token       => sub { shift @order },
    );
    my @wrong = grep { ($result->{by_token}{$_}{200} // 0) != ($sent{$_} < 5 ? $sent{$_} : 5) } keys %sent;
    is_deeply(\@wrong, [], 'each key was granted min(sent, 5)');
    $_->nginx->stop for @nodes;
};

done_testing;
