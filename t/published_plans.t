# Gateways publish their plan tables in Redis, so that the command can detect mistakes. Requests don't depend on them.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway;
use JSON::PP qw(decode_json);
use Test::More;
use Wait qw(wait_until becomes);

sub published {
    my ($redis, $table) = @_;
    my $json = $redis->cmd('HGET', 't:plans', $table);
    return defined $json ? decode_json($json) : undef;
}

my $gateway = Gateway->start(
    plans   => 'plan free 60r/m 1000r/d window=sliding; plan enterprise custom; plan partner unlimited; default free;',
    http    => 'tollgate_plans search { plan free 5r/s; }',
    workers => 2,
);
my $redis = $gateway->redis;
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');

subtest 'what is published' => sub {
    wait_until('the tables', sub { $redis->cmd('EXISTS', 't:plans') });
    my ($api, $search) = map { published($redis, $_) } qw(api search);
    my $now = $redis->cmd('TIME')->[0];
    ok(abs(delete($api->{published}) - $now) < 60, 'the time');
    is_deeply($api, {
        default => 'free',
        unit    => 'requests',
        plans   => {
            free       => { rates => ['60r/m', '1000r/d'], window => 'sliding' },
            enterprise => { custom => JSON::PP::true, window => 'fixed' },
            partner    => { unlimited => JSON::PP::true },
        },
    }, 'a table');
    is($search->{default}, undef, 'a table without a default');
    is_deeply($search->{plans}, { free => { rates => ['5r/s'], window => 'fixed' } }, '… and its plan');
};

subtest 'the command uses it' => sub {
    my $issued = $tollgate->run(qw(key issue --id a --plan fre));
    is($issued->{status}, 2, 'a plan that no table names is refused');
    like($issued->{err}, qr/no plan table has "fre": the plans are "enterprise", "free", "partner"/, '… with the plans that exist');
    $issued = $tollgate->run(qw(key issue --id b --plan free --limits 5r/s));
    is($issued->{status}, 2, 'limits that no plan uses are refused');
    unlike($tollgate->run(qw(key issue --id c --plan free))->{err}, qr/plan/, 'no warning for an existing plan');
    my $key = $tollgate->json(qw(key issue --id d --plan partner --json))->{key};
    is($gateway->get('/', $key)->status, 200, 'the key works');
};

subtest 'it is kept up to date' => sub {
    $redis->cmd('DEL', 't:plans');
    $gateway->nginx->reload;
    becomes(sub { $redis->cmd('HLEN', 't:plans') }, 2, 'a reload publishes them');
    $redis->cmd('FLUSHALL');
    $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    becomes(sub { $redis->cmd('HLEN', 't:plans') }, 2, 'a connection that replaces a lost one publishes them');
    $redis->restart;
    becomes(sub { eval { $redis->cmd('HLEN', 't:plans') } }, 2, 'a worker publishes them after Redis restarts empty');
    $gateway->nginx->stop;
};

subtest 'Redis refuses it' => sub {
    my $first = Gateway->start(plans => 'plan free 5r/d;');
    $first->import_key('k', id => 'k1', plan => 'free');
    $first->redis->cmd('DEL', 't:plans');
    $first->redis->cmd('SET', 't:plans', 'of another program');
    $first->nginx->reload;
    wait_until('a line in the log', sub {
        $first->nginx->error_log =~ /\[warn\] .*tollgate: redis "main": plan tables are not published for the command: WRONGTYPE/;
    });
    is($first->get('/', 'k')->status, 200, 'requests are served');
    is($first->redis->cmd('GET', 't:plans'), 'of another program', 'and the other value is unchanged');
    $first->nginx->stop;
};

done_testing;
