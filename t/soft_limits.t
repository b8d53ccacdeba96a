# `plan NAME RATE… over=allow`: units beyond the limits are counted and granted, and $tollgate_over names the limits.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use JSON::PP ();
use Load;
use Test::More;
use Wait qw(becomes wait_until);

sub start {
    my (%options) = @_;
    my $gateway = Gateway->start(
        plans    => 'plan soft 3r/h 10r/d over=allow; plan own custom; ban after=1 within=1m for=1h;',
        http     => 'tollgate_plans hard { plan soft 12r/h; } log_format over "$status $tollgate_over";',
        location => 'tollgate_headers both; proxy_set_header X-Over $tollgate_over;',
        upstream => 'location /over { return 200 "$http_x_over\n"; }',
        server   => 'access_log %DIR%/over.log over;
                     location /both { tollgate api hard; proxy_pass http://unix:%DIR%/upstream.sock:/; }
                     location /usage { tollgate api; tollgate_cost 0; tollgate_usage; }',
        %options,
    );
    $gateway->import_key('k', id => 'k1', plan => 'soft') unless $options{share};
    wait_for_room($gateway->redis, 3600);
    return $gateway;
}

for my $lease ('lease=off', '') {
    subtest "requests beyond a limit, $lease" => sub {
        my $gateway = start(table => $lease);
        my @over = map { $gateway->get('/over', 'k') } 1 .. 11;
        is(join(' ', map { $_->status } @over), join(' ', (200) x 11), 'all are granted');
        is_deeply([map { $_->body } @over], [("\n") x 3, ("api:soft-hour\n") x 7, "api:soft-hour, api:soft-day\n"], 'the upstream learns which limits they exceed');
        is($over[10]->header('X-RateLimit-Limit'), 10, 'the limit is shown') or diag explain $over[10];
        is($over[10]->header('X-RateLimit-Remaining'), 0, '... with nothing left');
        is($over[2]->header('X-RateLimit-Remaining'), 0, 'nothing is left after the last unit');
        is($over[1]->header('X-RateLimit-Remaining'), 1, '... and one before it');
        like($over[10]->header('RateLimit-Policy'), qr/^"soft-hour";q=3;w=3600, "soft-day";q=10;w=86400$/, 'the policies');
        becomes(sub { $gateway->count('k1', 'api', 86400) }, 11, 'each is counted');
        is($gateway->redis->cmd('EXISTS', 't:ban:{k1}'), 0, 'none is a strike');
        is((grep { $_->{plan} eq 'soft' } @{ $gateway->status->{requests} })[0]{over}, 8, 'the status counts those beyond a limit');
        my $usage = $gateway->get('/usage', 'k')->json->{windows};
        is_deeply([map { [@$_{qw(limit remaining over)}] } @$usage], [[3, 0, 8], [10, 0, 1]], 'the usage of a client');
        my $command = Command->new(redis => $gateway->redis->address, prefix => 't:');
        is_deeply([map { [@$_{qw(limit used remaining soft)}] } grep { $_->{table} eq 'api' } @{ $command->json('usage', 'k1')->{windows} }], [[3, 11, 0, JSON::PP::true], [10, 11, 0, JSON::PP::true]], '... and of the operator');
        like($command->run('usage', 'k1')->{out}, qr/^api +hour +3 \(soft\) +11 +\d+ +0 /m, '... as text');
        like(Nginx::_read($gateway->nginx->dir . '/over.log'), qr/^200 -\n.*^200 api:soft-hour\n.*^200 api:soft-hour, api:soft-day\n/ms, 'the log');
        is($gateway->get('/both', 'k')->status, 200, 'a hard limit in another table');
        is(Load->run(servers => [$gateway->address], requests => 20, token => 'k', path => '/both')->{status}{429}, 9, '... refuses');
        $gateway->nginx->stop;
    };
}

subtest 'an invoice' => sub {
    my $gateway = start(plans => 'plan soft 3r/d 8r/month over=allow; history 90d;', table => 'lease=off');
    is($gateway->get('/', 'k')->status, 200, 'granted') for 1 .. 10;
    my $command = Command->new(redis => $gateway->redis->address, prefix => 't:');
    wait_until('the plan tables', sub { $gateway->redis->cmd('EXISTS', 't:plans') });
    $gateway->redis->cmd('ZADD', 't:ids', 1, 'k1');
    my $over = sub {
        return { map { my $by = $_; $by => [map { [@{$_}{qw(units limit over)}] } map { JSON::PP::decode_json($_) }
            split /\n/, $command->run(qw(--json export usage --to 9999-12-31 --by), $by)->{out}] } qw(day month) };
    };
    my $billed = { day => [[10, 3, 7]], month => [[10, 8, 2]] };
    is_deeply($over->(), $billed, 'an export has the units beyond the limits');
    is($command->run(qw(key revoke --yes k1))->{status}, 0, 'the id is revoked');
    is_deeply($over->(), $billed, '... and is billed by the plan that it had');
    my $stored = { plan => 'own', limits => '2r/d', created => 5 };
    $gateway->redis->cmd('HSET', 't:key:' . 'a' x 64, revoked => 'k1', %$stored);
    $gateway->redis->cmd('SADD', 't:ended:{k1}', 'a' x 64);
    is_deeply($over->(), $billed, '... not by that of an earlier key');
};

subtest 'leases are not cut at the limit' => sub {
    my $gateway = start(plans => 'plan soft 1000r/h over=allow;', workers => 2);
    my $calls = $gateway->calls(sub {
        is(Load->run(servers => [$gateway->address], connections => 8, requests => 4000, token => 'k')->{status}{200}, 4000, 'all are granted');
    });
    cmp_ok($calls, '<', 1000, 'most of them from leases');
    my $units = sub { $gateway->status->{redis}[0]{lease_units} };
    wait_until('the end of leases', sub { my $u = $units->(); $u->{granted} == $u->{spent} + $u->{returned} + $u->{lost} });
    is($gateway->count('k1', 'api', 3600), 4000, 'each is counted');
    my @over = Nginx::_read($gateway->nginx->dir . '/over.log') =~ /^200 api:soft-hour$/mg;
    cmp_ok(scalar @over, '>=', 2900, 'those beyond the limit are marked');
    cmp_ok(scalar @over, '<=', 3100, '... and no others');
    $gateway->nginx->stop;
};

subtest 'notices and limits of a key' => sub {
    my $gateway = start(plans => 'plan soft 10r/h over=allow; plan own custom; notify 80% 100%;', table => 'lease=off');
    $gateway->get('/', 'k') for 1 .. 12;
    my $levels = join ' ', map { my %f = @{ $_->[1] }; "$f{level}:$f{used}/$f{limit}" } @{ $gateway->redis->cmd('XRANGE', 't:notices', '-', '+') };
    is($levels, '80:8/10 100:10/10', 'the levels are those of the limit');
    my $command = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my $issued = $command->run('key', 'issue', '--id', 'o1', '--plan', 'own', '--limits', '2r/h over=allow');
    is($issued->{status}, 0, 'limits of a key') or diag $issued->{err};
    chomp(my $key = $issued->{out});
    is(join(' ', map { $gateway->get('/over', $key)->body =~ s/\n//r } 1 .. 4), '  api:own-hour api:own-hour', '... can be soft');
    isnt($command->run('key', 'set', 'o1', '--limits', $_)->{status}, 0, "not: $_")
        for '2r/s burst=3 over=allow', 'balance over=allow', 'unlimited over=allow', '2r/h over=deny', 'over=allow 2r/h';
    $gateway->nginx->stop;
};

subtest 'an outage' => sub {
    my $gateway = start(redis => 'on_failure deny; timeout 1s;');
    $gateway->get('/', 'k') for 1 .. 5;
    $gateway->redis->kill;
    wait_until('the outage', sub { $gateway->get('/', 'k'); $gateway->nginx->error_log =~ /is unreachable/ });
    is($gateway->get('/over', 'k')->status, 200, 'what no limit refuses is granted');
    $gateway->nginx->stop;
};

done_testing;
