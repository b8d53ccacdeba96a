# Reloads, binary upgrades and killed workers under load. No request fails unnecessarily, and each is counted once.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Gateway qw(in_one_window);
use Wait qw(becomes);

# One request per connection: nginx closes idle connections when it reloads, and a client that has just sent a request
# can't know whether nginx has read it.
my %options = (
    plans   => 'plan free 5r/s; plan much 1000000r/d; anonymous 3r/h;',
    redis   => 'timeout 10s;',
    http    => 'keepalive_timeout 0;',
    events  => 'worker_connections 1024;',
    workers => 2,
);

sub start_gateway {
    my $gateway = Gateway->start(%options, @_);
    $gateway->import_key('k', id => 'k1', plan => 'much');
    $gateway->import_key('few', id => 'few', plan => 'free');
    return $gateway;
}

sub start_load {
    my ($gateway, %load) = @_;
    return BackgroundLoad->start(servers => [$gateway->address], connections => 8, token => 'k', %load);
}

sub counted { return $_[0]->count('k1', 'api', 86400) }

# The count after leases are returned.
sub is_counted {
    my ($gateway, $granted, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    becomes(sub { counted($gateway) }, $granted, $name);
}

# Checks the result of a load: every request was granted and counted once.
sub is_flawless {
    my ($gateway, $result) = @_;
    is_deeply([keys %{ $result->{status} }], [200], "all of $result->{status}{200} requests were granted");
    is($result->{broken}, 0, 'no connection was broken');
    is_counted($gateway, $result->{status}{200}, 'each was counted once');
}

subtest '100 reloads' => sub {
    my $gateway = start_gateway();
    my $load = start_load($gateway);
    $gateway->nginx->reload for 1 .. 100;
    my $result = $load->finish;
    is_flawless($gateway, $result);
    $gateway->nginx->old_workers_gone;
    becomes(sub { $gateway->redis->cmd('CLIENT', 'LIST') =~ tr/\n// }, 4, 'connections of old workers to Redis are gone');
    $gateway->nginx->stop;
};

subtest 'binary upgrades' => sub {
    my $gateway = start_gateway();
    my $load = start_load($gateway);
    $gateway->nginx->upgrade for 1 .. 3;
    is_flawless($gateway, $load->finish);
    $gateway->nginx->stop;
};

subtest 'workers killed' => sub {
    # The upstream is a separate nginx: a killed worker would end it too, and the response would be 502.
    my $upstream = Nginx->start(conf => 'server { listen unix:%DIR%/http.sock; location / { return 200; } }');
    # No leases: those of a killed worker are lost.
    my $gateway = start_gateway(table => 'lease=off', server => "location /far/ { tollgate api; proxy_pass http://" . $upstream->address . '; }');
    my $load = start_load($gateway, path => '/far/');
    $gateway->nginx->kill_worker for 1 .. 5;
    my $result = $load->finish;
    my $granted = $result->{status}{200};
    is_deeply([keys %{ $result->{status} }], [200], "$granted requests were granted, none refused");
    cmp_ok($result->{broken}, '<=', 40, 'at most one request per connection was cut off');
    cmp_ok(counted($gateway), '>=', $granted, 'each that was granted is counted');
    cmp_ok(counted($gateway), '<=', $granted + $result->{broken}, 'no request is counted twice');
    my $few = in_one_window($gateway->redis, 1, sub { scalar grep { $gateway->get('/', 'few')->status == 200 } 1 .. 8 });
    is($few, 5, 'a window grants its limit');
    $_->stop for $gateway->nginx, $upstream;
};

subtest 'other plans' => sub {
    my $gateway = start_gateway();
    my $nginx = $gateway->nginx;
    my $conf = $nginx->{options}{conf};
    my $reload = sub {
        my ($from, $to) = @_;
        (my $changed = $conf) =~ s/$from/$to/ or die "nothing to change\n";
        $nginx->reload(conf => $changed);
    };
    is($gateway->get('/', 'k')->header('x-ratelimit-remaining'), 999_999, 'one of a million units is spent');
    my $load = start_load($gateway);
    $reload->('plan much 1000000r/d', 'plan much 2000000r/d');
    my $r = $gateway->get('/', 'k');
    is($r->header('x-ratelimit-limit'), 2_000_000, 'the limit is doubled');
    $reload->('tollgate_plans api', 'tollgate_zone 1m; tollgate_plans api');
    $reload->('tollgate_plans api', 'tollgate_plans spare redis=main { plan free 1r/d; anonymous 5r/m; } tollgate_plans api');
    my $result = $load->finish;
    is_deeply([keys %{ $result->{status} }], [200], "all of $result->{status}{200} requests were granted meanwhile");
    is($result->{broken}, 0, 'no connection was broken');
    is_counted($gateway, $result->{status}{200} + 2, 'each is counted once');

    $reload->(qr/tollgate api;/, '');
    is($gateway->get('/', 'k')->header('x-ratelimit-limit'), undef, 'a location without a table has no limit');
    $nginx->reload(conf => 'server { listen 127.0.0.1:%PORT%; location / { return 204; } }');
    is($gateway->get('/', 'k')->status, 204, 'nginx without any table serves');
    becomes(sub { $gateway->redis->cmd('CLIENT', 'LIST') =~ tr/\n// }, 1, '... without connections to Redis');
    $nginx->reload(conf => $conf);
    is($gateway->get('/', 'k')->header('x-ratelimit-limit'), 1_000_000, 'it is back');
    $nginx->stop;
};

subtest 'the budgets of addresses survive a reload' => sub {
    my $gateway = start_gateway();
    is($gateway->get('/')->status, 401, 'a first failure');
    is($gateway->get('/')->status, 401, 'a second');
    $gateway->nginx->reload;
    $gateway->nginx->old_workers_gone;
    is($gateway->get('/')->status, 401, 'a third, after a reload');
    is($gateway->get('/')->status, 429, 'a fourth exceeds the budget');
    $gateway->nginx->stop;
};

done_testing;
