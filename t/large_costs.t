# Costs from 1 to 10^12: Redis counts exactly what was granted, with leases, slices and settled costs, over an outage, in the
# windows and in the history. A plan without a limit has the smallest places of the zone.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use List::Util qw(sum0);
use Load;
use Test::More;
use Wait qw(becomes wait_until);

my $gateway = Gateway->start(
    workers  => 2,
    plans    => 'plan all unlimited; plan much 1000000000000r/h; history 30d;',
    redis    => 'timeout 300ms;',
    upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }',
    http     => 'log_format cost "$tollgate_key_id $status $tollgate_cost";
                 map $arg_cost $cost { default $arg_cost; "" 1; }',
    server   => 'access_log %DIR%/cost.log cost;
                 location /cost   { tollgate api; tollgate_cost $cost; proxy_pass http://unix:%DIR%/upstream.sock:/used/; }
                 location /settle { tollgate api; tollgate_cost $cost settle=$upstream_http_x_used;
                                    proxy_pass http://unix:%DIR%/upstream.sock:/used/; }',
);
my $redis = $gateway->redis;
my $tollgate = Command->new(redis => 'unix://' . $redis->socket, prefix => 't:');
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
wait_for_room($redis, 86400, 60);

my @ids;
sub new_id {
    my ($plan) = @_;
    push @ids, my $id = 'k' . @ids;
    $gateway->import_key($id, id => $id, plan => $plan);
    $redis->cmd('ZADD', 't:ids', 1, $id);
    return $id;
}

# The sum of what the requests of an id cost that were granted.
sub granted {
    my ($id) = @_;
    open my $log, '<', $gateway->nginx->dir . '/cost.log' or die $!;
    return sum0 map { /^\Q$id\E 200 (\d+)$/ ? $1 : () } <$log>;
}
sub day { my ($id) = @_; return $gateway->count($id, 'api', 86400) // 0 }
sub is_exact {
    my ($id, $name) = @_;
    my $granted = granted($id);
    becomes(sub { day($id) }, $granted, "$name: Redis counts the $granted units that were granted");
    becomes(sub { $gateway->unsettled }, 0, '... nothing is left to report');
    my $days = $tollgate->json('usage', $id, '--history')->{days};
    is(sum0(map { $_->{units} } @$days), $granted, '... the history has them');
}
sub load {
    my ($id, $path, $requests) = @_;
    my $result = Load->run(servers => [$gateway->address], connections => 8, requests => $requests, token => $id, path => $path);
    is_deeply($result->{status}, { 200 => $requests }, "$requests requests for $path");
}

# Each of these ids has its own requests; all are settled at the same time.
my @cases;
for my $cost (1, 1000, 2**20, 10**8, 2**30, 2**31 - 1, 2**31, 2**32, 10**10, 10**12) {
    push @cases, [new_id('all'), "cost $cost", "/cost?cost=$cost", 300];
}
for my $used (2**31 - 1, 2**31, 10**10, 10**12) {
    push @cases, map { [new_id('all'), "cost $_, $used used", "/settle?cost=$_&used=$used", 60] } 0, 1, 10**12;
}
push @cases, [new_id('much'), 'a limit that is exceeded', '/settle?cost=1&used=' . 10**10, 5];
push @cases, [new_id('all'), 'more used than may be said', '/settle?cost=1&used=' . 9 x 20, 5];
load($_->[0], $_->[2], $_->[3]) for @cases;
is_exact($_->[0], $_->[1]) for @cases;
is(day($cases[-1][0]), 5 * 10**12, 'a larger number counts as 10^12');

subtest 'an outage' => sub {
    my %cost = map { new_id('all') => $_ } 1, 2**31, 10**10, 10**12;
    load($_, "/cost?cost=$cost{$_}", 20) for sort keys %cost;
    wait_until('leases to be returned', sub { !$gateway->unsettled });
    $redis->sigstop;
    load($_, "/cost?cost=$cost{$_}", 100) for sort keys %cost;
    load($_, "/settle?cost=$cost{$_}&used=" . 10**11, 20) for sort keys %cost;
    select undef, undef, undef, 0.7;  # Redis rejects the calls that it has not read: their deadline has passed.
    $redis->sigcont;
    is_exact($_, "cost $cost{$_}") for sort keys %cost;
};

my $main = $gateway->status->{redis}[0];
is($main->{lease_units}{lost}, 0, 'no unit of a lease is lost');
is($main->{owed_units}{lapsed}, 0, '... and none that is owed');
unlike($gateway->nginx->error_log, qr/out of range/, 'no count is out of range');
$gateway->nginx->stop;
done_testing;
