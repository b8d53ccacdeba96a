# A reload that renames, removes or changes a Redis or a plan table: leases go back to where they were counted, units
# that were granted alone are reported, and nothing of one Redis is used with another one.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use Load;
use RedisServer;
use Wait qw(becomes wait_until);

sub start_gateway {
    my (%options) = @_;
    my $gateway = Gateway->start(plans => 'plan free 1000000r/h;', workers => 2, %options);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->subscribed(2);
    wait_for_room($gateway->redis, 3600);
    return $gateway;
}

sub load {
    my ($gateway, $requests) = @_;
    return Load->run(servers => [$gateway->address], connections => 16, token => 'k', requests => $requests)->{status}{200} // 0;
}

# Reloads with a changed configuration.
sub change {
    my ($gateway, $change) = @_;
    local $_ = $gateway->nginx->{options}{conf};
    my $before = $_;
    $change->();
    isnt($_, $before, 'the configuration changes');
    $gateway->nginx->reload(conf => $_);
    return;
}

my $other = RedisServer->start;
my $address = $other->address;
my %changes = (
    'a renamed Redis'       => sub { s/tollgate_redis main/tollgate_redis renamed/; s/redis=main/redis=renamed/ },
    'another prefix'        => sub { s/prefix t:/prefix u:/ },
    'another database'      => sub { s/prefix t:;/prefix t:; database 3;/ },
    'another server'        => sub { s/server [^;]+; prefix/server $address; prefix/ },
    'a renamed plan table'  => sub { s/tollgate_plans api/tollgate_plans renamed/; s/tollgate api/tollgate renamed/ },
);

for my $name (sort keys %changes) {
    subtest $name => sub {
        my $gateway = start_gateway();
        my $granted = load($gateway, 5000);
        is($granted, 5000, 'requests are granted');
        change($gateway, $changes{$name});
        $gateway->nginx->old_workers_gone;
        if ($name =~ /^a renamed/) {
            is($gateway->get('/', 'k')->status, 200, 'the key is valid after it');
            $granted++ if $name =~ /Redis/;
        } else {
            is($gateway->get('/', 'k')->status, 401, 'the other Redis does not know the key');
        }
        becomes(sub { $gateway->count('k1', 'api', 3600) }, $granted, 'Redis counts what was granted');
        $gateway->nginx->stop;
    };
}

subtest 'a Redis that is renamed during an outage' => sub {
    # A lease that is given back without a reply is lost.
    my $gateway = start_gateway(redis => 'timeout 300ms;', table => 'lease=off');
    my $granted = load($gateway, 200);
    $gateway->redis->sigstop;
    $granted += load($gateway, 300);
    change($gateway, $changes{'a renamed Redis'});
    $granted += load($gateway, 300);
    is($granted, 800, 'requests are granted');
    $gateway->redis->sigcont;
    # The calls that waited when Redis stopped, one of each worker, may be executed as well.
    my $count = sub { $gateway->count('k1', 'api', 3600) };
    wait_until('the units that were granted alone', sub { $count->() >= $granted });
    cmp_ok($count->() - $granted, '<=', 16, 'each is counted, once');
    $gateway->nginx->stop;
};

subtest 'leases of one prefix are not used with another one' => sub {
    my $gateway = start_gateway(plans => 'plan free 2000r/h;');
    # Both prefixes have the key.
    $gateway->redis->cmd('COPY', $_, $_ =~ s/^t:/u:/r) for grep { /^t:(?:key|id)/ } @{ $gateway->redis->cmd('KEYS', 't:*') };
    load($gateway, 500);
    change($gateway, $changes{'another prefix'});
    $gateway->nginx->old_workers_gone;
    my $granted = load($gateway, 4000);
    cmp_ok($granted, '<=', 2000, "$granted of 2000 are granted");
    cmp_ok($gateway->redis->cmd('HGET', 'u:quota:{k1}:api', '3600.count'), '>=', $granted, 'each is counted');
    $gateway->nginx->stop;
};

done_testing;
