# `plan NAME balance`: units that are credited to an id or a group, spent by requests, and never reset.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Gateway qw(spend_rest);
use JSON::PP ();
use Load;
use Test::More;
use Wait qw(becomes wait_until);

my $durable = { conf => ['appendonly yes', 'appendfsync always'] };

sub start {
    my (%options) = @_;
    my $gateway = Gateway->start(
        plans    => 'plan prepaid balance; plan both 100r/h balance; plan own custom; plan free 1000000r/h; default free;',
        location => 'tollgate_json_errors on; tollgate_headers both;',
        upstream => 'location /used { add_header X-Used $arg_used always; return 200 "done\n"; }',
        server   => 'location /settle { tollgate api; tollgate_cost 10 settle=$upstream_http_x_used; tollgate_json_errors on;
                                        proxy_pass http://unix:%DIR%/upstream.sock:/used; }
                     location /usage { tollgate api; tollgate_cost 0; tollgate_usage; }',
        %options,
    );
    $gateway->import_key('k', id => 'k1', plan => 'prepaid') unless $options{share};
    return $gateway;
}

sub command { my ($gateway) = @_; return Command->new(redis => $gateway->redis->address, prefix => 't:') }
sub credit { my ($gateway, $id, @options) = @_; return command($gateway)->run('key', 'credit', $id, @options) }
sub left { my ($gateway, $id) = @_; return $gateway->redis->cmd('HGET', "t:quota:{$id}:api", 'balance.left') }

# Waits until no node holds a lease or owes units.
sub settled {
    my (@nodes) = @_;
    for my $node (@nodes) {
        wait_until('the end of leases', sub {
            my $units = $node->status->{redis}[0]{lease_units};
            $node->unsettled == 0 && $units->{granted} == $units->{spent} + $units->{returned} + $units->{lost};
        });
    }
}

for my $lease ('lease=off', '') {
    subtest "a balance is spent and credited, $lease" => sub {
        my $gateway = start(table => $lease);
        my $refused = $gateway->get('/', 'k');
        is($refused->status, 429, 'without a credit');
        is($refused->json->{code}, 'balance_exhausted', '... for want of a balance');
        is($refused->json->{policy}, 'api:prepaid-balance', '... which the body names');
        is($refused->header('Retry-After'), undef, '... at any time');
        is($refused->header('X-RateLimit-Remaining'), 0, '... with nothing left');
        my $result = credit($gateway, 'k1', 3, '--ref', 'order-1');
        is($result->{status}, 0, 'a credit') or diag $result->{err};
        like($result->{out}, qr/^credited +3$/m, '... which the command prints');
        becomes(sub { $gateway->get('/', 'k')->status }, 200, '... is known within a moment');
        my $second = $gateway->get('/', 'k');
        is($second->header('X-RateLimit-Remaining'), 1, 'the rest of the balance');
        is($second->header('X-RateLimit-Limit'), undef, '... has no limit');
        is($second->header('X-RateLimit-Reset'), undef, '... and no reset');
        is($second->header('RateLimit'), '"prepaid-balance";r=1', '... also by the draft');
        is($second->header('RateLimit-Policy'), undef, '... which has no policy for it');
        is($gateway->get('/', 'k')->status, 200, 'the last unit');
        is($gateway->get('/', 'k')->json->{code}, 'balance_exhausted', 'the next request');
        is(credit($gateway, 'k1', 3, '--ref', 'order-1')->{status}, 0, 'the same credit again');
        is($gateway->get('/', 'k')->status, 429, '... adds nothing');
        my $other = credit($gateway, 'k1', 4, '--ref', 'order-1');
        isnt($other->{status}, 0, 'the same reference with other units');
        like($other->{err}, qr/was credited with 3 units/, '... is refused');
        is(credit($gateway, 'k1', 2, '--ref', 'order-2')->{status}, 0, 'another credit');
        becomes(sub { $gateway->get('/', 'k')->status }, 200, '... is spent');
        is(left($gateway, 'k1'), 1, '... unit by unit');
        is($gateway->redis->cmd('PTTL', 't:quota:{k1}:api'), -1, 'the balance does not expire');
        $gateway->nginx->stop;
    };
}

subtest 'a balance beside a window' => sub {
    my $gateway = start();
    $gateway->import_key('b', id => 'b1', plan => 'both');
    is($gateway->get('/', 'b')->json->{code}, 'balance_exhausted', 'without a credit');
    credit($gateway, 'b1', 150, '--ref', 'a');
    becomes(sub { $gateway->get('/', 'b')->status }, 200, 'with one');
    is($gateway->get('/', 'b')->header('X-RateLimit-Limit'), 100, 'the window has fewer units left');
    my $load = Load->run(servers => [$gateway->address], connections => 8, requests => 150, token => 'b');
    is($load->{status}{200}, 98, 'the window refuses first');
    my $refused = $gateway->get('/', 'b');
    is($refused->json->{code}, 'rate_limit_exceeded', '... for another reason');
    ok($refused->header('Retry-After'), '... and for a while');
    settled($gateway);
    is(left($gateway, 'b1'), 50, 'the balance has what was not granted');
    is($gateway->redis->cmd('PTTL', 't:quota:{b1}:api'), -1, 'the windows do not let it expire');
    is(command($gateway)->run('key', 'reset', 'b1')->{status}, 0, 'a reset');
    becomes(sub { $gateway->get('/', 'b')->status }, 200, '... begins the window anew');
    settled($gateway);
    is(left($gateway, 'b1'), 49, '... and leaves the balance');
    $gateway->redis->cmd('HSET', 't:key:' . sha256_hex('b'), plan => 'free');
    $gateway->redis->cmd('PUBLISH', 't:events', 'b1');
    becomes(sub { ($gateway->get('/', 'b')->header('X-RateLimit-Limit') // '') }, 1000000, 'another plan');
    is($gateway->redis->cmd('PTTL', 't:quota:{b1}:api'), -1, '... does not let the balance expire');
    is(left($gateway, 'b1'), 49, '... nor spend it');
    $gateway->nginx->stop;
};

subtest 'own limits, usage and the API' => sub {
    my $gateway = start();
    my $command = command($gateway);
    is($command->run('key', 'issue', '--id', 'o1', '--plan', 'own', '--limits', '5r/m balance')->{status}, 0, 'a key with limits of its own');
    is($command->run('key', 'credit', 'o1', 7, '--ref', 'x')->{status}, 0, '... is credited');
    my ($balance) = grep { $_->{window} eq 'balance' } @{ $command->json('usage', 'o1')->{windows} };
    is_deeply({ map { $_ => $balance->{$_} } qw(limit used remaining seconds reset) },
        { limit => 7, used => 0, remaining => 7, seconds => undef, reset => undef }, 'the usage has the balance');
    like($command->run('usage', 'o1')->{out}, qr/^api +balance +7 +0 +0 +7 +- +never$/m, '... also as text');
    is($command->run('key', 'credit', 'nobody', 7, '--ref', 'x')->{status}, 3, 'an unknown id');
    is($command->run('key', 'credit', 'nobody', 7, '--ref', 'x', '--subject')->{status}, 0, '... may be a subject');
    isnt($command->run('key', 'credit', 'k1', 0, '--ref', 'x')->{status}, 0, 'no units');
    isnt($command->run('key', 'credit', 'k1', -1, '--ref', 'x')->{status}, 0, 'fewer than none');
    isnt($command->run('key', 'credit', 'k1', '1000000000000001', '--ref', 'x')->{status}, 0, 'too many');
    isnt($command->run('key', 'credit', 'k1', 1, '--ref', 'a b')->{status}, 0, 'an invalid reference');
    isnt($command->run('key', 'credit', 'k1', 1, '--ref', 'y', '--table', 'other')->{status}, 0, 'another table');
    is(left($gateway, 'k1'), undef, '... nothing was credited');
    my $usage = $gateway->get('/usage', 'k')->json->{windows}[0];
    is_deeply([@$usage{qw(policy remaining exhausted)}, exists $usage->{limit}, exists $usage->{reset}], ['prepaid-balance', 0, JSON::PP::true(), '', ''], 'what a client sees');
    is($command->run('key', 'set', 'o1', '--group', 'acme')->{status}, 4, 'an id with a balance does not change its group');
    my $line = '{"id":"o1","plan":"own","limits":"5r/m balance","group":"acme","digest":"' . $command->json('key', 'show', 'o1')->{digests}[0]{sha256} . '"}';
    my $dry_run = $command->run({ stdin => "$line\n" }, 'import', '-', '--update', '--dry-run');
    is($dry_run->{status}, 4, '... nor does a file change it');
    like($dry_run->{err}, qr/^-:1: group: "o1" has a balance in "api"/, '... which a dry run says');
    is($command->run('key', 'revoke', 'o1', '--yes')->{status}, 0, 'the id is revoked');
    is($command->run('key', 'issue', '--id', 'o1', '--plan', 'prepaid')->{status}, 0, '... and issued again');
    is(left($gateway, 'o1'), 7, '... with its balance');
    $gateway->nginx->stop;
};

subtest 'three nodes with two workers each spend exactly what was credited' => sub {
    my @nodes = (start(workers => 2));
    push @nodes, map { start(share => $nodes[0], workers => 2) } 1, 2;
    credit($nodes[0], 'k1', 700, '--ref', 'a');
    becomes(sub { $_->get('/', 'k')->status }, 200, 'each node knows the credit') for @nodes;
    my $granted = 3;
    my $more = 300;
    my $load = Load->run(servers => [map { $_->address } @nodes], connections => 8, requests => 1500, token => sub {
        credit($nodes[0], 'k1', 300, '--ref', 'b') if $more-- == 0;
        return 'k';
    });
    $granted += $load->{status}{200};
    $granted = spend_rest(\@nodes, 'k', $granted, 1000);
    is($granted, 1000, 'each unit of both credits is granted once');
    settled(@nodes);
    is(left($nodes[0], 'k1'), 0, 'nothing is left');
    $_->nginx->stop for reverse @nodes;
};

subtest 'what was used is settled' => sub {
    my $gateway = start(workers => 2);
    credit($gateway, 'k1', 100, '--ref', 'a');
    becomes(sub { $gateway->get('/settle?used=3', 'k')->status }, 200, 'a request that uses less');
    becomes(sub { left($gateway, 'k1') }, 97, '... pays what it has used');
    is($gateway->get('/settle?used=120', 'k')->status, 200, 'a request that uses more than is left');
    becomes(sub { left($gateway, 'k1') }, -23, '... owes it');
    is($gateway->get('/settle?used=1', 'k')->json->{code}, 'balance_exhausted', 'the next one is refused');
    credit($gateway, 'k1', 30, '--ref', 'b');
    is(left($gateway, 'k1'), 7, 'a credit pays it back');
    is($gateway->get('/settle?used=1', 'k')->status, 429, '... too little for another reservation');
    my ($balance) = grep { $_->{window} eq 'balance' } @{ command($gateway)->json('usage', 'k1')->{windows} };
    is_deeply([@$balance{qw(limit used remaining)}], [130, 123, 7], 'the usage');
    $gateway->nginx->stop;
};

subtest 'an outage' => sub {
    my $gateway = start(redis_options => $durable, redis => 'on_failure local; timeout 1s;', table => 'lease=off');
    # Not by the command: a node looks a changed key up again, and cannot in the outage.
    $gateway->redis->cmd('HSET', 't:quota:{k1}:api', 'balance.left', 10, 'balance.credited', 10);
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'the node knows the balance');
    $gateway->redis->kill;
    wait_until('the outage', sub { $gateway->get('/', 'k'); $gateway->nginx->error_log =~ /is unreachable/ });
    $gateway->get('/', 'k') for 1 .. 12;
    is($gateway->get('/', 'k')->status, 429, 'the node spends what it last saw');
    $gateway->redis->restart;
    becomes(sub { left($gateway, 'k1') }, 0, '... and reports it');
    is($gateway->get('/', 'k')->json->{code}, 'balance_exhausted', 'nothing is left');
    $gateway->nginx->stop;
};

subtest 'the balance of a group' => sub {
    my $gateway = start(plans => 'plan team balance;', table => 'by=group');
    $gateway->import_key("g$_", id => "g$_", plan => 'x', group => 'acme') for 1, 2;
    my $command = command($gateway);
    is($command->run('group', 'set', 'acme', '--plan', 'team')->{status}, 0, 'a group');
    is($gateway->get('/', 'g1')->json->{code}, 'balance_exhausted', '... without a credit');
    is($command->run('group', 'credit', 'acme', 4, '--ref', 'a')->{status}, 0, '... and with one');
    becomes(sub { $gateway->get('/', 'g1')->status }, 200, 'one id');
    is($gateway->get('/', 'g2')->status, 200, '... another one');
    is(Load->run(servers => [$gateway->address], requests => 6, token => 'g2')->{status}{200}, 2, '... and the rest');
    is($gateway->get('/', 'g1')->json->{code}, 'balance_exhausted', 'nothing is left');
    isnt($command->run('key', 'credit', 'g1', 4, '--ref', 'a')->{status}, 0, 'an id has no balance in this table');
    $gateway->nginx->stop;
};

subtest 'balances move to another Redis' => sub {
    my $gateway = start(http => 'tollgate_plans teams redis=main by=group { plan team balance; }');
    my $command = command($gateway);
    my $other = Command->new(redis => $gateway->redis->address, prefix => 'o:');
    $command->run('key', 'issue', '--id', 'm1', '--plan', 'prepaid');
    credit($gateway, 'm1', 30, '--ref', 'a');
    $command->run('group', 'set', 'acme', '--plan', 'team');
    is($command->run('group', 'credit', 'acme', 40, '--ref', 'a')->{status}, 0, 'two balances');
    $gateway->redis->cmd('RESTORE', 'o:plans', 0, $gateway->redis->cmd('DUMP', 't:plans'));
    my $folder = File::Temp->newdir;
    for my $what (['keys'], ['balances', '--ref', 'move']) {
        open my $file, '>', "$folder/$what->[0]" or die $!;
        print $file $command->run('export', @$what)->{out};
        close $file;
    }
    is(Nginx::_read("$folder/balances"), '{"id":"m1","table":"api","units":30,"reference":"move"}' . "\n" . '{"group":"acme","table":"teams","units":40,"reference":"move"}' . "\n", 'the export');
    is($other->run('import', "$folder/keys")->{status}, 0, 'the keys');
    $other->run('group', 'set', 'acme', '--plan', 'team');
    like($other->run('import', "$folder/balances")->{out}, qr/^2 records: 2 imported/, '... and the balances');
    like($other->run('import', "$folder/balances")->{out}, qr/^2 records: 0 imported, 2 unchanged/, '... once');
    is($gateway->redis->cmd('HGET', 'o:quota:{m1}:api', 'balance.left'), 30, 'that of an id');
    is($gateway->redis->cmd('HGET', 'o:quota:{acme}:teams:group', 'balance.left'), 40, '... and of a group');
    isnt($command->run('export', 'balances')->{status}, 0, 'the reference is required');
    $gateway->nginx->stop;
};

subtest 'credits over HTTP' => sub {
    my $gateway = start(
        http   => 'tollgate_plans ops redis=main { plan ops 100000r/h; } tollgate_plans teams redis=main by=group { plan team balance; }',
        server => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
    );
    $gateway->import_key('operator', id => 'operator', plan => 'ops', scopes => 'admin', group => 'staff');
    my $ask = sub { my ($path, $body) = @_; $gateway->request('POST', "/admin/$path", { Authorization => 'Bearer operator' }, $body) };
    my $first = $ask->('keys/k1/credit', '{"units":3,"reference":"order-1"}');
    is($first->status, 200, 'a credit') or diag $first->body;
    is_deeply($first->json, { table => 'api', unit => 'requests', credited => 3, left => 3, repeated => JSON::PP::false }, '... shows the balance');
    becomes(sub { $gateway->get('/', 'k')->status }, 200, '... which is spent');
    is_deeply($ask->('keys/k1/credit', '{"units":3,"reference":"order-1"}')->json->{repeated}, JSON::PP::true, 'a repetition');
    my $reused = $ask->('keys/k1/credit', '{"units":4,"reference":"order-1"}');
    is($reused->status . ' ' . $reused->json->{code}, '409 reference_reused', 'other units');
    is($ask->('keys/nobody/credit', '{"units":4,"reference":"order-1"}')->status, 404, 'an unknown id');
    is($ask->('keys/s1/credit', '{"units":4,"reference":"order-1","subject":true}')->status, 200, '... that is a subject');
    for my $body ('{}', '{"units":1}', '{"reference":"a"}', '{"units":0,"reference":"a"}', '{"units":1.5,"reference":"a"}', '{"units":"1","reference":"a"}',
        '{"units":1,"reference":""}', '{"units":1,"reference":"a","table":"teams"}', '{"units":1e20,"reference":"a"}', '{"units":1,"reference":"a","more":1}') {
        is($ask->('keys/k1/credit', $body)->status, 400, "not $body");
    }
    is($ask->('keys/operator/credit', '{"units":4,"reference":"a"}')->status, 403, 'a caller does not credit its own id');
    is(command($gateway)->run('group', 'set', $_, '--plan', 'team')->{status}, 0, "the group $_") for qw(acme staff);
    $gateway->redis->cmd('HSET', 't:group_of_ids', operator => 'staff');
    is($ask->('groups/acme/credit', '{"units":4,"reference":"a"}')->json->{left}, 4, 'a group');
    is($ask->('groups/acme/credit', '{"units":5,"reference":"a"}')->status, 409, '... once for a reference');
    is($ask->('groups/staff/credit', '{"units":4,"reference":"a"}')->status, 403, '... but not its own');
    is($ask->('groups/nobody/credit', '{"units":4,"reference":"a"}')->status, 404, '... nor an unknown one');
    my @audit = map { my %f = @{ $_->[1] }; "$f{actor} $f{action} $f{id} $f{detail}" } @{ $gateway->redis->cmd('XRANGE', 't:audit', '-', '+') };
    is_deeply([grep { /credit/ } @audit], ['key:operator credit k1 units=3 reference=order-1 table=api',
        'key:operator credit s1 units=4 reference=order-1 table=api', 'key:operator credit-group acme units=4 reference=a table=teams'], 'the audit has each credit once');
    $gateway->nginx->stop;
};

subtest 'kills, a reload and an outage' => sub {
    my @nodes = (start(workers => 2, redis_options => $durable));
    push @nodes, map { start(share => $nodes[0], workers => 2) } 1, 2;
    credit($nodes[0], 'k1', 3000, '--ref', 'a');
    becomes(sub { $_->get('/', 'k')->status }, 200, 'each node knows the credit') for @nodes;
    my ($sent, %status) = (0);
    my %faults = (
        300  => sub { $nodes[0]->nginx->kill_worker },
        700  => sub { $nodes[0]->redis->kill; $nodes[0]->redis->restart },
        1200 => sub { $nodes[1]->nginx->reload },
        1700 => sub { $nodes[2]->nginx->kill_worker },
    );
    my $load = Load->run(servers => [map { $_->address } @nodes], connections => 8, requests => 2500, token => sub {
        my $fault = $faults{++$sent};
        $fault->() if $fault;
        return 'k';
    });
    my $granted = 3 + $load->{status}{200};
    cmp_ok($granted, '>=', 1000, 'most requests are granted');
    settled(@nodes);
    my $spent = 3000 - left($nodes[0], 'k1');
    cmp_ok($granted, '<=', $spent, 'nothing is granted that was not taken from the balance');
    $granted = spend_rest(\@nodes, 'k', 0, 3000 - $spent);
    is($granted, 3000 - $spent, 'the rest is granted');
    is(left($nodes[0], 'k1'), 0, '... exactly');
    $_->nginx->stop for reverse @nodes;
};

subtest 'notices about what is left of the last credit' => sub {
    my $gateway = start(plans => 'plan prepaid balance; notify 80% 100%;', table => 'lease=off');
    my $levels = sub { join ' ', map { my %f = @{ $_->[1] }; "$f{level}:$f{used}/$f{limit}" } @{ $gateway->redis->cmd('XRANGE', 't:notices', '-', '+') } };
    credit($gateway, 'k1', 10, '--ref', 'a');
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'a request');
    $gateway->get('/', 'k') for 1 .. 6;
    is($levels->(), '', 'more than a fifth is left');
    $gateway->get('/', 'k') for 1 .. 3;
    is($levels->(), '80:8/10 100:10/10', 'both levels');
    credit($gateway, 'k1', 5, '--ref', 'b');
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'another credit');
    $gateway->get('/', 'k') for 1 .. 4;
    is($levels->(), '80:8/10 100:10/10 80:4/5 100:5/5', '... has levels of its own');
    $gateway->nginx->stop;
};

done_testing;
