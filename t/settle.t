# `tollgate_cost VALUE settle=$variable`: a request takes units before, and what it has used is settled when it ends, in
# the windows that counted it.

use strict;
use warnings;
use lib 't/lib';
use FakeRedis qw($CLOSE name_of);
use Gateway qw(wait_for_room wait_for_window);
use HeldUpstream;
use Http;
use Http2;
use Load;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

my $settled = 'tollgate_cost 10 settle=$upstream_http_x_used;';
my $durable = { conf => ['appendonly yes', 'appendfsync always'] };

sub start {
    my (%options) = @_;
    my $gateway = Gateway->start(
        plans    => 'plan free 1000r/h 5000r/d;',
        upstream => 'location /used/ { add_header X-Used $arg_used always; return 200 "done\n"; }
                     location /error/ { return 503; }',
        location => $settled,
        %options,
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    return $gateway;
}

sub counts { my ($gateway, $table) = @_; return [map { $gateway->count('k1', $table // 'api', $_) // 0 } 3600, 86400] }

# Waits until Redis has counted these units, in both windows.
sub counted {
    my ($gateway, $units, $name, $table) = @_;
    becomes(sub { join ' ', @{ counts($gateway, $table) } }, "$units $units", $name);
}

sub send_request {
    my ($gateway, $path) = @_;
    my $client = Http->connect($gateway);
    $client->send("GET $path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n");
    return $client;
}

for my $table ('lease=off', '') {
    subtest "what was used is counted, $table" => sub {
        my $gateway = start(
            table  => $table,
            http   => 'log_format cost "$tollgate_cost";',
            server => 'access_log %DIR%/cost.log cost;',
        );
        my $cost = sub { my $log = Nginx::_read($gateway->nginx->dir . '/cost.log'); return ($log =~ /(.*)\n\z/)[0] };
        my $sum = 0;
        for my $case (['3', 3], ['25', 25], ['0', 0], ['', 10], ['3.5', 10], ['-1', 10], ['1e3', 10], ['10', 10]) {
            my ($used, $units) = @$case;
            is($gateway->get("/used/?used=$used", 'k')->status, 200, "used '$used'");
            $sum += $units;
            counted($gateway, $sum, '... is counted');
            is($cost->(), $units, '... and logged');
        }
        is($gateway->get('/error/', 'k')->status, 503, 'an error of the upstream');
        counted($gateway, $sum += 10, '... leaves the reservation');
        is(scalar(() = $gateway->nginx->error_log =~ /invalid tollgate_cost "[^"]*", the reservation stands/g), 3, 'a line for each invalid value');
        my $main = $gateway->status->{redis}[0];
        is_deeply($main->{cost_units}, { reserved => 90, settled => $sum }, 'the status has both sums');
        becomes(sub { $gateway->unsettled }, 0, 'nothing is left to report');
        $gateway->nginx->stop;
    };
}

for my $plan (['lease=off', '20r/h 5000r/d'], ['', '20r/h 5000r/d'], ['', '20r/h 5000r/d window=sliding'], ['', '1r/h burst=20']) {
    subtest "a cost that is known only at the end needs a unit that is left, @$plan" => sub {
        my $gateway = start(
            table         => $plan->[0],
            plans         => "plan free $plan->[1];",
            redis         => 'timeout 300ms;',
            redis_options => $durable,
            location      => 'tollgate_cost 0 settle=$upstream_http_x_used;',
            server        => 'location = /look { tollgate api; tollgate_cost 0; tollgate_usage; }
                              location = /one { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
        );
        my $used = sub { my ($window) = @{ $gateway->get('/look', 'k')->json->{windows} }; return $window->{limit} - $window->{remaining} };
        is($gateway->get('/used/?used=8', 'k')->status, 200, 'units are left');
        becomes($used, 8, '... of which some are used');
        is($gateway->get('/one', 'k')->status, 200, 'other requests') for 1 .. 11;
        becomes($used, 19, '... leave one');
        is($gateway->get('/used/?used=4', 'k')->status, 200, 'the last unit is enough');
        becomes(sub { $gateway->unsettled }, 0, '... for any number');
        my $refused = $gateway->get('/used/?used=1', 'k');
        is($refused->status, 429, 'none is left');
        is($refused->json->{code}, 'rate_limit_exceeded', '... which is told') if $refused->header('Content-Type') =~ /json/;
        cmp_ok($refused->header('Retry-After'), '>', 1, '... with a time to wait');
        is($gateway->get('/look', 'k')->status, 200, 'a request of cost 0 that is not settled looks at the quota');
        $gateway->redis->kill;
        is($gateway->get('/used/?used=1', 'k')->status, 429, 'an outage: none is left');
        is($gateway->get('/look', 'k')->status, 200, '... and the quota is shown');
        $gateway->nginx->stop;
    };
}

subtest 'a cost that is known only at the end, in an outage' => sub {
    my $gateway = start(plans => 'plan free 20r/h;', redis => 'timeout 300ms;', location => 'tollgate_cost 0 settle=$upstream_http_x_used;');
    is($gateway->get('/used/?used=8', 'k')->status, 200, 'with Redis');
    becomes(sub { $gateway->count('k1', 'api', 3600) }, 8, '... which counts it');
    $gateway->redis->kill;
    is(join(' ', map { $gateway->get('/used/?used=8', 'k')->status } 1 .. 4), '200 200 429 429', 'without Redis');
    $gateway->nginx->stop;
};

subtest 'a cost above a limit' => sub {
    my $gateway = start(
        plans    => 'plan free 60r/m 1000r/d; ban after=1 within=1m for=1h up_to=1h;',
        location => '',
        server   => 'location = /hundred { tollgate api; tollgate_json_errors on; tollgate_cost 100; proxy_pass http://unix:%DIR%/upstream.sock:/; }
                     location = /any { tollgate api; tollgate_cost $arg_cost settle=$arg_used; proxy_pass http://unix:%DIR%/upstream.sock:/; }',
    );
    for my $path (qw(/hundred /hundred /any?cost=61)) {
        my $refused = $gateway->get($path, 'k');
        is($refused->status, 429, "$path: refused");
        is($refused->json->{code}, 'cost_exceeds_limit', '... for another reason than that too few units are left');
        is($refused->header('Retry-After'), undef, '... which no time changes');
    }
    is($gateway->get('/any?cost=60', 'k')->status, 200, 'the limit, and no ban');
    $gateway->redis->kill;
    is($gateway->get('/hundred', 'k')->json->{code}, 'cost_exceeds_limit', 'an outage');
    $gateway->nginx->stop;
};

subtest 'two tables' => sub {
    my $gateway = start(
        http   => 'tollgate_plans search { plan free 2000r/h 3000r/d; }',
        server => "location /used/both { tollgate api search; $settled proxy_pass http://unix:%DIR%/upstream.sock; }",
    );
    my $sum = 0;
    for my $used (4, 40, 7) {
        is($gateway->get("/used/both?used=$used", 'k')->status, 200, "used $used");
        $sum += $used;
    }
    counted($gateway, $sum, "counted in $_", $_) for qw(api search);
    $gateway->nginx->stop;
};

subtest 'requests at the same time never get more than the limit' => sub {
    my $gateway = start(plans => 'plan free 3000r/h;', location => 'tollgate_cost 100 settle=$upstream_http_x_used;', workers => 2);
    my $used = 0;
    my $n = 0;
    my $load = Load->run(
        servers => [$gateway->address], connections => 32, requests => 600, token => 'k',
        path => sub { '/used/?used=' . (10 + $n++ % 91) },
    );
    my $granted = $load->{status}{200};
    cmp_ok($granted, '>=', 30, 'more requests than reservations');
    is($granted + ($load->{status}{429} // 0), 600, 'each is granted or refused');
    becomes(sub { $gateway->unsettled }, 0, 'all is reported');
    my $main = sub { $gateway->status->{redis}[0] };
    wait_until('the end of leases', sub { my $u = $main->()->{lease_units}; $u->{granted} == $u->{spent} + $u->{returned} + $u->{lost} });
    my $count = $gateway->count('k1', 'api', 3600);
    is($count, $main->()->{cost_units}{settled}, 'the count is the sum that was used');
    cmp_ok($count, '<=', 3000, '... and not above the limit');
    $gateway->nginx->stop;
};

subtest 'a window that has ended is not changed' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(
        plans    => 'plan free 1000r/2s 5000r/d;', table => 'lease=off', location => '',
        server   => "location /held { tollgate api; $settled proxy_pass http://unix:$path; }",
    );
    wait_for_window($gateway->redis, 2, 0.5);
    my $client = send_request($gateway, '/held');
    my $upstream = $held->accept;
    my $field = sub { $gateway->redis->cmd('HGET', 't:quota:{k1}:api', $_[0]) };
    my $number = $field->('2.number');
    is($field->('2.count'), 10, 'the reservation');
    wait_until('the next window', sub { $gateway->redis->cmd('TIME')->[0] >= 2 * ($number + 1) });
    $gateway->get('/', 'k');
    HeldUpstream::answer($upstream, 'X-Used' => 4);
    is($client->response('GET')->status, 200, 'the response');
    becomes(sub { $gateway->count('k1', 'api', 86400) }, 4 + 1, 'the day has what was used');
    SKIP: {
        skip 'the machine was too slow: another window has begun', 1 if $field->('2.number') != $number + 1;
        is($field->('2.count'), 1, 'the next window has its own request only');
    }
    $gateway->nginx->stop;
};

subtest 'a client that leaves' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(
        location => '',
        server   => "listen 127.0.0.1:%PORT2% http2; proxy_buffering off;
                     location /held { tollgate api; $settled proxy_pass http://unix:$path; }
                     location /sent { tollgate api; tollgate_cost 10 settle=\$bytes_sent; proxy_pass http://unix:$path; }",
    );
    my $leave = sub {
        my $client = send_request($gateway, $_[0]);
        my $upstream = $held->accept;
        $client->close;
        $upstream->sysread(my $nothing, 1);    # the gateway closes its connection
    };
    $leave->('/held');
    wait_until('its end', sub { $gateway->status->{redis}[0]{cost_units}{reserved} == 10 });
    counted($gateway, 10, 'without a value, the reservation stands');
    $leave->('/sent');
    counted($gateway, 10, 'a variable of nginx has a value: no byte was sent');

    my $http2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my $stream = $http2->request([':path' => '/sent', authorization => 'Bearer k']);
    my $upstream = $held->accept;
    $http2->reset($stream);
    $upstream->sysread(my $nothing, 1);
    counted($gateway, 10, 'a reset stream of HTTP/2 likewise');
    $stream = $http2->request([':path' => '/held', authorization => 'Bearer k']);
    $upstream = $held->accept;
    $upstream->syswrite("HTTP/1.0 200 OK\r\nX-Used: 4\r\nContent-Length: 100\r\n\r\na part");
    $http2->part($stream);
    $http2->reset($stream);
    $upstream->sysread($nothing, 1);
    counted($gateway, 14, 'a reset after the begin of the response: its value counts');
    $gateway->nginx->stop;
};

subtest 'a reload, and the end of Redis, while the request runs' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(
        redis_options => $durable, location => '',
        server => "location /held { tollgate api; $settled proxy_pass http://unix:$path; }",
    );
    my $client = send_request($gateway, '/held');
    my $upstream = $held->accept;
    $gateway->nginx->reload;
    HeldUpstream::answer($upstream, 'X-Used' => 3);
    is($client->response('GET')->status, 200, 'an old worker answers');
    counted($gateway, 3, '... and settles');

    $gateway->get('/', 'k');
    my @clients = map { send_request($gateway, '/held') } 1 .. 2;
    my @upstreams = map { $held->accept } 1 .. 2;
    $gateway->redis->kill;
    HeldUpstream::answer($upstreams[0], 'X-Used' => 7);
    is($clients[0]->response('GET')->status, 200, 'answered without Redis');
    push @clients, my $alone = send_request($gateway, '/held');
    push @upstreams, $held->accept;
    HeldUpstream::answer($upstreams[2], 'X-Used' => 50);
    is($alone->response('GET')->status, 200, 'granted and answered without Redis');
    $gateway->redis->restart;
    HeldUpstream::answer($upstreams[1], 'X-Used' => 30);
    is($clients[1]->response('GET')->status, 200, 'answered when it is back');
    counted($gateway, 3 + 1 + 7 + 50 + 30, 'all is settled');
    $gateway->nginx->stop;
};

subtest 'a refund whose call has no reply' => sub {
    my $is_acquire = sub { name_of($_[0]) eq 'acquire' };
    my $closes = sub { my ($bytes, $command) = @_; $is_acquire->($command) ? $CLOSE : $bytes };
    my $redis = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $redis->address,
        faults => {
            'Redis has not got it'  => { answer => sub { $is_acquire->($_[0]) ? '' : undef }, reply => $closes },
            'Redis has executed it' => { reply => $closes },
        },
    );
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(
        plans => 'plan free 1000r/h 5000r/d;', table => 'lease=off', redis_server => $redis, server_address => $fake->address,
        location => '', server => "location /held { tollgate api; $settled proxy_pass http://unix:$path; }",
    );
    my $units = sub { $gateway->status->{redis}[0]{lease_units} };
    my $refunds = 0;
    for my $fault ('Redis has not got it', 'Redis has executed it') {
        my $client = send_request($gateway, '/held');
        my $upstream = $held->accept;
        $fake->reads;
        $fake->fault($fault);
        HeldUpstream::answer($upstream, 'X-Used' => 3);
        is($client->response('GET')->status, 200, $fault);
        wait_until('the call', sub { grep { $_ eq 'acquire' } map { @$_ } @{ $fake->reads } });
        $fake->heal;
        becomes(sub { $units->()->{returned} }, 7 * ++$refunds, '... the refund is reported');
        counted($gateway, 3 * $refunds, '... and counted once');
        is($units->()->{lost}, 0, '... nothing is lost');
    }
    $gateway->nginx->stop;
};

subtest 'a graceful shutdown' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(location => '', server => "location /held { tollgate api; $settled proxy_pass http://unix:$path; }");
    my $client = send_request($gateway, '/held');
    my $upstream = $held->accept;
    my ($worker) = $gateway->nginx->workers;
    kill QUIT => $gateway->nginx->pid;
    wait_until('the shutdown', sub { !eval { $gateway->status } });
    HeldUpstream::answer($upstream, 'X-Used' => 3);
    is($client->response('GET')->status, 200, 'the last request');
    counted($gateway, 3, '... is settled');
    wait_until('the end', sub { !kill 0 => $worker });
    $gateway->nginx->stop;
};

subtest 'a worker that is killed leaves the reservation' => sub {
    my $held = HeldUpstream->new;
    my $path = $held->path;
    my $gateway = start(location => '', server => "location /held { tollgate api; $settled proxy_pass http://unix:$path; }");
    my $client = send_request($gateway, '/held');
    my $upstream = $held->accept;
    $gateway->nginx->kill_worker;
    wait_until('its successor', sub { eval { $gateway->status } });
    counted($gateway, 10, 'counted');
    $gateway->nginx->stop;
};

subtest 'internal redirects' => sub {
    my $gateway = start(
        location => '',
        upstream => 'location /accel/ { add_header X-Used $arg_used; add_header X-Accel-Redirect /scoped/; return 200 "x\n"; }',
        server   => "location /accel/ { tollgate api; $settled proxy_pass http://unix:%DIR%/upstream.sock; }
                     location /scoped/ { internal; tollgate api; tollgate_scope admin; $settled proxy_pass http://unix:%DIR%/upstream.sock; }
                     location /denied/ { tollgate api; tollgate_cost 10 settle=\$bytes_sent; error_page 403 /page.html; deny all; }
                     location = /page.html { tollgate api; tollgate_cost 10 settle=\$bytes_sent; return 200 page; }",
    );
    is($gateway->get('/accel/?used=3', 'k')->status, 403, 'a request that another location refuses');
    counted($gateway, 3, '... has cost what it used');
    $gateway->get('/denied/', 'k');
    is($gateway->get('/', 'k')->status, 200, 'another request');
    counted($gateway, 4, '... is counted, and an error page costs nothing');
    $gateway->nginx->stop;
};

subtest 'a dry run, a refusal, an error page' => sub {
    my $gateway = start(
        plans  => 'plan free 30r/h;', location => '',
        server => "location /dry/ { tollgate api; tollgate_dry_run on; $settled proxy_pass http://unix:%DIR%/upstream.sock:/used/; }
                   location /used/ { tollgate api; $settled proxy_pass http://unix:%DIR%/upstream.sock; }
                   location /page/ { tollgate api; $settled error_page 503 = /used/?used=5; proxy_intercept_errors on;
                                     proxy_pass http://unix:%DIR%/upstream.sock:/error/; }",
    );
    my $count = sub { $gateway->count('k1', 'api', 3600) // 0 };
    is($gateway->get('/dry/?used=2', 'k')->status, 200, 'a dry run');
    becomes($count, 2, '... counts what was used');
    is($gateway->get('/page/', 'k')->status, 200, 'an error page of another location');
    becomes($count, 7, '... is settled once, by the location that decided');
    is($gateway->get('/used/?used=20', 'k')->status, 200, 'more than it took');
    becomes($count, 27, '... is counted');
    is($gateway->get('/used/?used=1', 'k')->status, 429, 'a refused request');
    is($gateway->get('/dry/?used=1', 'k')->status, 200, '... passes a dry run');
    $gateway->get('/', 'k');
    is($count->(), 28, 'and neither takes anything');
    $gateway->nginx->stop;
};

done_testing;
