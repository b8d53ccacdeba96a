# `in_flight=N` in a plan: at most so many requests of an id at a time, over all nodes.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway;
use HeldUpstream;
use Http;
use Http2;
use List::Util qw(sum0);
use Nginx;
use RedisCluster;
use Test::More;
use Time::HiRes qw(time);
use Wait qw(becomes wait_until);

my $upstream = HeldUpstream->new;
my $held = 'proxy_pass http://unix:' . $upstream->path . ';';

sub start {
    my (%options) = @_;
    my $server = delete $options{server} // '';
    my $gateway = Gateway->start(
        plans    => 'plan free 1000r/h in_flight=3; plan own custom; plan calls unlimited in_flight=2; plan one 1000r/h in_flight=1;',
        http     => 'tollgate_headers ietf;',
        server   => "location /held { tollgate api; $held } location /usage { tollgate api; tollgate_cost 0; tollgate_usage; } $server",
        %options,
    );
    unless ($options{share}) {
        $gateway->import_key('k', id => 'k1', plan => 'free');
        $gateway->import_key('c', id => 'c1', plan => 'calls');
        $gateway->import_key('s', id => 's1', plan => 'one');
        $gateway->import_key('o', id => 'o1', plan => 'own', limits => '1000r/h in_flight=1');
    }
    return $gateway;
}

sub send_held {
    my ($gateway, $token, $path) = @_;
    my $client = Http->connect($gateway);
    $client->send('GET ' . ($path // '/held') . " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $token\r\n\r\n");
    return $client;
}

# Begins a request, which the upstream then has.
sub begin {
    my ($gateway, $token, $path) = @_;
    my $client = send_held($gateway, $token, $path);
    return { client => $client, upstream => $upstream->accept };
}

sub finish {
    my ($request) = @_;
    HeldUpstream::answer($request->{upstream});
    return $request->{client}->response->status;
}

sub refused {
    my ($gateway, $token, $name) = @_;
    my $response = send_held($gateway, $token)->response;
    is($response->status, 429, $name);
    is($response->json->{code}, 'too_many_in_flight', '… with its code');
    like($response->json->{policy}, qr/^api:\w+-in-flight$/, '… and its policy');
    is($response->header('Retry-After'), 1, '… for a second');
    return $response;
}

# Requests that end at once, until one gets a place.
sub becomes_free {
    my ($gateway, $token, $name) = @_;
    wait_until($name, sub { $gateway->get('/', $token)->status == 200 });
    pass($name);
}

# The places of all nodes in Redis.
sub places {
    my ($gateway) = @_;
    my %places = @{ $gateway->redis->cmd('HGETALL', 't:flight:{k1}') };
    return sum0(map { (split ' ', $places{$_})[0] } grep { /:/ } keys %places);
}

# Waits until the nodes have so many places of the id, because they have returned the others.
sub places_returned {
    my ($gateway, $left) = @_;
    wait_until('the return of places', sub { places($gateway) == ($left // 0) });
}

sub in_flight { $_[0]->status->{redis}[0]{in_flight} }

for my $workers (1, 2) {
    subtest "one node with $workers workers" => sub {
        my $gateway = start(workers => $workers);
        my @requests = map { begin($gateway, 'k') } 1 .. 3;
        is(in_flight($gateway), 3, 'the status has the requests in flight');
        my $count = $gateway->count('k1', 'api', 3600);
        my $response = refused($gateway, 'k', 'one more is refused');
        is($response->header('RateLimit-Policy'), '"free-hour";q=1000;w=3600, "free-in-flight";q=3;qu="concurrent-requests"', 'the policy');
        like($response->header('RateLimit'), qr/, "free-in-flight";r=0\z/, 'no place is left');
        is($gateway->count('k1', 'api', 3600), $count, 'it is not counted');
        my $usage = $gateway->get('/usage', 'k');
        is($usage->status, 200, 'a request of cost 0 needs no place');
        is_deeply($usage->json->{in_flight}, [{ table => 'api', policy => 'free-in-flight', limit => 3, requests => 3, remaining => 0 }], 'tollgate_usage has it');
        is(finish(shift @requests), 200, 'a request ends');
        becomes(sub { in_flight($gateway) }, 2, '… in its worker, too');
        is($gateway->get('/', 'k')->status, 200, 'its place is free');
        is(finish($_), 200, 'they end') for @requests;
        becomes(sub { in_flight($gateway) }, 0, 'nothing is in flight');
        places_returned($gateway);
        is($gateway->status->{redis}[0]{flights}{refused}, 1, 'the refusal is counted');
        $gateway->nginx->stop;
    };
}

subtest 'a limit is lowered while requests are in flight' => sub {
    my $gateway = start();
    $gateway->subscribed(1);
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my $key = $tollgate->json(qw(key issue --plan own --id low --limits), '1000r/h in_flight=4')->{key};
    my @requests = map { begin($gateway, $key) } 1 .. 4;
    $tollgate->run(qw(key set low --limits), '1000r/h in_flight=2');
    becomes(sub { $gateway->get('/usage', $key)->json->{in_flight}[0]{limit} }, 2, 'the limit is lowered');
    for my $running (3, 2) {
        is(finish(shift @requests), 200, 'one of them ends');
        refused($gateway, $key, "$running are in flight");
    }
    is(finish(shift @requests), 200, 'one of them ends');
    push @requests, begin($gateway, $key);
    refused($gateway, $key, 'its place is free again, and no other');
    is(finish($_), 200, 'they end') for @requests;
    $gateway->nginx->stop;
};

subtest 'limits of the key, and a plan without rates' => sub {
    my $gateway = start();
    my @requests = begin($gateway, 'o');
    refused($gateway, 'o', 'in_flight=1 in the limits of the key');
    push @requests, begin($gateway, 'c'), begin($gateway, 'c');
    my $response = refused($gateway, 'c', 'unlimited in_flight=2');
    is($response->header('RateLimit-Policy'), '"calls-in-flight";q=2;qu="concurrent-requests"', '… has one policy');
    $gateway->import_key('u', id => 'u1', plan => 'own', limits => 'unlimited in_flight=1');
    push @requests, begin($gateway, 'u');
    $response = refused($gateway, 'u', 'unlimited in_flight=1 in the limits of the key');
    is($response->header('RateLimit-Policy'), '"own-in-flight";q=1;qu="concurrent-requests"', '… is one policy as well');
    is(finish($_), 200, 'they end') for @requests;
    $gateway->nginx->stop;
};

subtest 'the command' => sub {
    my $gateway = start();
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my $key = $tollgate->json(qw(key issue --plan own --id made --limits), 'in_flight=1 60r/m')->{key};
    is($tollgate->json(qw(key show made))->{limits}, '60r/m in_flight=1', 'limits with in_flight');
    like($tollgate->run(qw(key set made --limits), '60r/m in_flight=0')->{err}, qr/invalid parameter "in_flight=0"/, '… of at least one');
    is($tollgate->run(qw(key set made --limits), 'in_flight=1 unlimited')->{status}, 0, 'in_flight alone');
    is($tollgate->json(qw(key show made))->{limits}, 'unlimited in_flight=1', '… without rates');
    wait_until('the plans', sub { $gateway->redis->cmd('EXISTS', 't:plans') });
    my $request = begin($gateway, $key);
    is_deeply($tollgate->json(qw(usage made))->{in_flight}, [{ table => 'api', limit => 1, places => 1 }], 'usage');
    like($tollgate->run(qw(usage made))->{out}, qr/^in flight +1 of 1 in api$/m, '… as text');
    is(finish($request), 200, 'it ends');
    $gateway->nginx->stop;
};

subtest 'in a cluster' => sub {
    my $gateway = start(redis_server => RedisCluster->start(masters => 3));
    my @requests = map { begin($gateway, 'k') } 1 .. 3;
    refused($gateway, 'k', 'one more is refused');
    is(finish($_), 200, 'they end') for @requests;
    $gateway->nginx->stop;
};

subtest 'invalid parameters' => sub {
    my $test = sub {
        my ($table, $plan) = @_;
        return Nginx->test_config(conf => "tollgate_redis main { server 127.0.0.1:1; }
            tollgate_plans api $table { plan $plan; }
            server { listen 127.0.0.1:%PORT%; location / { tollgate api; return 204; } }");
    };
    like($test->('', 'free 60r/m in_flight=0'), qr/invalid parameter "in_flight=0"/, 'no place');
    like($test->('', 'free 60r/m in_flight=1 in_flight=2'), qr/duplicate parameter "in_flight=2"/, 'two of them');
    like($test->('', 'own custom in_flight=1'), qr/"in_flight" of a custom plan is among the limits of a key/, 'a custom plan');
    like($test->("unit=$_", 'free 60r/m'), qr/invalid unit "\Q$_\E": use 1 to 32 lower-case letters/, "the unit '$_'") for 'Bytes', '1k', '', 'a_b', 'a' x 33;
};

subtest 'requests one after the other need no call' => sub {
    my $gateway = start();
    $gateway->subscribed(1);
    my $connection = Http->connect($gateway);
    my $send = sub { $connection->request('GET', '/', { Authorization => 'Bearer k' })->status };
    is($send->(), 200, 'the first one');
    my $calls = grep { /t:flight/ } $gateway->monitor_calls(sub { is(scalar(grep { $send->() == 200 } 1 .. 300), 300, 'all are granted') });
    cmp_ok($calls, '<', 30, "$calls calls for places");
    $gateway->nginx->stop;
};

subtest 'a client that leaves gives its place back' => sub {
    my $gateway = start(server => 'listen 127.0.0.1:%PORT2% http2;');
    my @requests = map { begin($gateway, 'k') } 1 .. 3;
    $requests[0]{client}->close;
    becomes_free($gateway, 'k', 'its place is free');
    is(finish($_), 200, 'they end') for @requests[1, 2];

    my $http2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my @streams = map { [$http2->request([':path' => '/held', authorization => 'Bearer k']), $upstream->accept] } 1 .. 3;
    refused($gateway, 'k', 'streams of one connection have places of their own');
    $http2->reset($streams[1][0]);
    becomes_free($gateway, 'k', 'the place of a reset stream is free');
    HeldUpstream::answer($_->[1]) for @streams[0, 2];
    is($http2->status($_->[0]), 200, 'the others end') for @streams[0, 2];
    $gateway->nginx->stop;
};

subtest 'two nodes' => sub {
    my $gateway = start(workers => 2);
    my $other = start(share => $gateway, workers => 2);
    $gateway->subscribed(4);
    my @requests = (begin($gateway, 'k'), begin($other, 'k'), begin($gateway, 'k'));
    refused($_, 'k', 'one more is refused') for $gateway, $other;
    is(finish(shift @requests), 200, 'a request ends');
    becomes_free($other, 'k', 'the other node has its place');
    is(finish($_), 200, 'they end') for @requests;
    places_returned($gateway);

    # A node that stands still for 20 ms does not return its place in time.
    my $in_turn = sub { my ($node) = @_; my $status = $node->get('/', 's')->status; return $status == 429 ? $node->get('/', 's')->status : $status };
    is(join(' ', map { $in_turn->($_) } ($gateway, $other) x 10), join(' ', (200) x 20), 'one request at a time, in turns');

    # A recall brings places back that no request uses.
    @requests = map { begin($gateway, 'k') } 1 .. 3;
    is(finish($_), 200, 'a burst at one node') for @requests;
    becomes_free($other, 'k', 'its places come back');

    places_returned($gateway);
    @requests = map { begin($gateway, 'k') } 1 .. 3;
    # As a failover that loses the last writes.
    $gateway->redis->cmd('DEL', 't:flight:{k1}');
    is($other->get('/', 'k')->status, 200, 'Redis has lost the places of requests');
    # The recall takes back the places that the other node has got.
    wait_until('the renewal', sub { places($gateway) >= 3 });
    becomes(sub { $other->get('/', 'k')->status }, 429, '… until their node has renewed them');
    refused($other, 'k', 'all places are at one node');
    $gateway->nginx->kill_all;
    wait_until('the places of the node that died', sub { $other->get('/', 'k')->status == 200 });
    pass('the places of a node that dies come back');
    $other->nginx->stop;
};

subtest 'places are recalled only if a node has got some since' => sub {
    my $gateway = start();
    my $other = start(share => $gateway);
    $gateway->subscribed(2);
    my $published = sub { $gateway->redis->cmd('INFO', 'commandstats') =~ /^cmdstat_publish:calls=(\d+)/m ? $1 : 0 };
    my @requests = map { begin($gateway, 'k') } 1 .. 3;
    my ($before, $end) = ($published->(), time + 1.5);
    my $tried = 0;
    while (time < $end) {
        is($other->get('/', 'k')->status, 429, 'refused') or last;
        $tried++;
    }
    cmp_ok($tried, '>', 10, "$tried requests are refused");
    is($published->() - $before, 1, 'one recall for all of them');
    is(finish(shift @requests), 200, 'a request ends');
    becomes_free($other, 'k', 'its place is returned at once, without another recall');
    is($published->() - $before, 1, '… indeed');
    is(finish($_), 200, 'they end') for @requests;
    $_->nginx->stop for $gateway, $other;
};

# A recall before the worker is killed finds nothing to return, and Redis sends no second one.
subtest 'a worker is killed after its place was recalled' => sub {
    my $gateway = start();
    my $other = start(share => $gateway);
    $gateway->subscribed(2);
    my $request = begin($gateway, 's');
    refused($other, 's', 'its place is wanted');
    my %fields = @{ $gateway->redis->cmd('HGETALL', 't:flight:{s1}') };
    my ($end) = map { (split ' ', $fields{$_})[2] } grep { /:/ } keys %fields;
    $gateway->nginx->kill_worker($gateway->nginx->workers);
    becomes_free($other, 's', 'its successor returns it');
    my ($seconds, $microseconds) = @{ $gateway->redis->cmd('TIME') };
    cmp_ok($seconds * 1000 + $microseconds / 1000, '<', $end, '… before it ends by itself');
    $_->nginx->stop for $gateway, $other;
};

# The connections to the workers of a gateway, of each one.
sub connections_to_workers {
    my ($gateway) = @_;
    my %of;
    wait_until('a connection to each worker', sub {
        my $client = Http->connect($gateway);
        $of{ $client->request('GET', '/pid')->body } //= $client;
        return keys %of == 2;
    });
    return values %of;
}

subtest 'more ids than the zone has records' => sub {
    my $ids = 400;
    my %options = (
        plans   => 'plan one 1000r/h in_flight=1; default one;',
        http    => 'tollgate_zone 1m;',
        workers => 2,
        server  => "location /subject { tollgate api; tollgate_subject \$arg_id; proxy_pass http://unix:%DIR%/upstream.sock; }
                    location /pid { return 200 \$pid; }",
    );
    my $gateway = Gateway->start(%options);
    my $other = Gateway->start(%options, share => $gateway);
    $gateway->subscribed(4);
    my ($one, $neighbour) = connections_to_workers($gateway);
    my ($two) = connections_to_workers($other);
    my $status = sub { $_[0]->request('GET', "/subject?id=s$_[1]")->status };
    is(scalar(grep { $status->($one, $_) != 200 } 1 .. $ids), 0, 'each id is granted at one node');
    is(scalar(grep { $status->($neighbour, "n$_") != 200 } 1 .. $ids), 0, '… others at another worker of it');
    # A node that stands still for 20 ms does not return its place in time.
    is(scalar(grep { $status->($two, $_) != 200 && $status->($two, $_) != 200 } 1 .. $ids), 0, '… and then at the other one: nothing runs');
    $_->nginx->stop for $gateway, $other;
};

subtest 'places are renewed while a request is in flight' => sub {
    my $gateway = start();
    my $request = begin($gateway, 'k');
    my $end = sub {
        my %fields = @{ $gateway->redis->cmd('HGETALL', 't:flight:{k1}') };
        return (map { (split ' ', $fields{$_})[2] } grep { /:/ } keys %fields)[0];
    };
    my $first = $end->();
    wait_until('a renewal', sub { $end->() > $first });
    is(finish($request), 200, 'it ends');
    $gateway->nginx->stop;
};

subtest 'a reload, and killed workers' => sub {
    my $gateway = start(workers => 1);
    my @requests = map { begin($gateway, 'k') } 1 .. 2;
    my ($old) = $gateway->nginx->workers;
    $gateway->nginx->reload;
    push @requests, begin($gateway, 'k');
    refused($gateway, 'k', 'requests of an old worker are in flight');
    is(finish(shift @requests), 200, 'one of them ends');
    becomes_free($gateway, 'k', 'its place is free');

    my ($new) = grep { $_ != $old } $gateway->nginx->workers;
    push @requests, begin($gateway, 'k');
    refused($gateway, 'k', 'three are in flight');
    $gateway->nginx->kill_worker($old);
    becomes_free($gateway, 'k', 'the place of an old worker that is killed is free');
    $gateway->nginx->kill_worker($new);
    my @further = map { begin($gateway, 'k') } 1 .. 3;
    is(scalar @further, 3, 'the places of a worker that is killed are free at once');
    refused($gateway, 'k', '… and not more');
    is(finish($_), 200, 'they end') for @further;
    $gateway->nginx->stop;
};

for my $running (0, 3) {
    subtest "a graceful shutdown, $running requests are in flight" => sub {
        my $gateway = start(workers => 2);
        my @requests = map { begin($gateway, 'k') } 1 .. 3;
        is(finish(shift @requests), 200, 'one ends before') while @requests > $running;
        kill QUIT => $gateway->nginx->pid;
        wait_until('the shutdown', sub { !eval { $gateway->status } });
        is(places($gateway), 3, 'the node keeps the places of requests that run') if @requests;
        is(finish($_), 200, 'one ends afterwards') for @requests;
        $gateway->nginx->stop;
        is(places($gateway), 0, 'its places are free');
    };
}

subtest 'the same Redis under another address' => sub {
    my $gateway = start(redis_options => { tcp => 1 });
    my @requests = map { begin($gateway, 'k') } 1 .. 3;
    my ($old, $new) = ('server ' . $gateway->redis->address, 'server 127.0.0.1:' . $gateway->redis->port);
    $gateway->nginx->reload(conf => $gateway->nginx->{options}{conf} =~ s/\Q$old\E;/$new;/r);
    refused($gateway, 'k', 'requests of an old worker are in flight');
    is(finish($_), 200, 'they end') for @requests;
    becomes_free($gateway, 'k', 'their places are free');
    $gateway->nginx->stop;
};

subtest 'an outage of Redis' => sub {
    my $gateway = start(redis => 'timeout 200ms;');
    my $other = start(share => $gateway, redis => 'timeout 200ms;');
    wait_until('two nodes', sub { ($_[0] // $gateway)->status->{redis}[0]{nodes} == 2 && $other->status->{redis}[0]{nodes} == 2 });
    is($_->get('/', 'k')->status, 200, 'the key is known') for $gateway, $other;
    $gateway->redis->sigstop;
    wait_until('the outage', sub { $_->get('/', 'k'); $_->status->{redis}[0]{breaker_open_workers} }) for $gateway, $other;
    my @requests = (begin($gateway, 'k'), begin($other, 'k'));
    refused($other, 'k', 'each node has its share');
    $gateway->redis->sigcont;
    wait_until('Redis', sub { $_->get('/', 'k'); !$_->status->{redis}[0]{breaker_open_workers} }) for $gateway, $other;
    places_returned($gateway, 2);
    push @requests, begin($gateway, 'k');
    refused($_, 'k', 'then the limit counts all requests') for $gateway, $other;
    is(finish($_), 200, 'they end') for @requests;
    $_->nginx->stop for $gateway, $other;
};

subtest 'two tables, an internal redirect and a dry run' => sub {
    my $gateway = start(
        http   => 'tollgate_headers ietf; tollgate_plans second redis=main { plan free 1000r/h in_flight=1; }',
        server => "location /both { tollgate api second; $held }
                   location /from { tollgate api second; rewrite ^ /held_again last; }
                   location /held_again { tollgate second; $held }
                   location /dry { tollgate api; tollgate_dry_run on; $held }",
    );
    my $request = begin($gateway, 'k', '/both');
    is(send_held($gateway, 'k', '/both')->response->json->{code}, 'too_many_in_flight', 'the second table refuses');
    my @others = map { begin($gateway, 'k') } 1 .. 2;
    refused($gateway, 'k', 'the first table has no place of the refused request');
    my $dry = begin($gateway, 'k', '/dry');
    is(finish($_), 200, 'they end') for $request, $dry, @others;
    is(finish(begin($gateway, 'k', '/from')), 200, 'a redirect needs one place');
    becomes(sub { in_flight($gateway) }, 0, 'nothing is in flight');
    $gateway->nginx->stop;
};

done_testing;
