# A command that the user of Redis may not use costs the function that needs it, and nothing else: neither a connection nor
# a request of another key.

use strict;
use warnings;
use lib 't/lib';
use Gateway;
use HeldUpstream;
use Http;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

my $redis = RedisServer->start;
my $upstream = HeldUpstream->new;
my $held = 'proxy_pass http://unix:' . $upstream->path . ';';
my $gateway = Gateway->start(
    redis_server => $redis,
    redis        => 'on_failure deny;',
    plans        => 'plan free 5r/d in_flight=2; ban after=1 within=1m for=10m up_to=1h; history 9d; notify 80%; anonymous 30r/m shared;',
    http         => 'tollgate_plans plain redis=main lease=off { plan free 100000r/d; } tollgate_headers ietf;',
    server       => "location /held { tollgate api; $held } location /plain { tollgate plain; return 204; }",
);
$gateway->import_key('innocent', id => 'innocent', plan => 'free');
$gateway->subscribed(1);
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });

sub innocent { return $gateway->get('/plain', 'innocent')->status }

# The connections of the worker, by their ids.
sub connections { return join ' ', sort $redis->cmd('CLIENT', 'LIST') =~ /^id=(\d+) (?!.*cmd=client)/mg }

sub lines { my ($pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /^.*$pattern.*$/gm) }

my $limited_alone = qr/\[error\].*redis "main": requests in flight are limited by each node alone: /;

is(innocent(), 204, 'a key with a quota alone is granted');
# The script says by these names which commands it needs for what. The last one is called when places are returned.
for my $command (qw(hgetall hkeys hincrby exists zadd zrem zscore zrangebyscore publish xadd hdel)) {
    subtest "without $command" => sub {
        $gateway->import_key($command, id => $command, plan => 'free');
        my $further = 0;
        my $with_place = sub {
            my $key = "$command-" . ++$further;
            $gateway->import_key($key, id => $key, plan => 'free');
            is($gateway->get('/', $key)->status, 200, 'a key is granted');
            return $redis->cmd('EXISTS', "t:flight:{$key}");
        };
        # After a refusal, Redis is not asked for a second.
        wait_until('a place', sub { $with_place->() }) if $command eq 'hdel';
        my ($before, $alone) = (connections(), lines($limited_alone));
        $redis->cmd('ACL', 'SETUSER', 'default', "-$command");
        my %noisy;
        for (1 .. 20) {
            $noisy{ $gateway->get('/', $command)->status }++;
            is(innocent(), 204, 'an innocent key is granted') or last;
        }
        $gateway->get('/', 'made up');
        is_deeply([sort keys %noisy], [200, 429], 'the key itself is granted, then limited by its quota') or diag explain \%noisy;
        if ($command =~ /^(?:hgetall|hdel)$/) {
            is($with_place->(), 0, 'the node has no place that it could not return');
            becomes(sub { lines($limited_alone) - $alone }, 1, 'the log says once what does not work');
        }
        $redis->cmd('ACL', 'SETUSER', 'default', '+@all');
        is(connections(), $before, 'no connection is lost');
    };
}
is(lines(qr/\[error\].*redis "main"/), lines($limited_alone), 'nothing else is an error');
is(lines(qr/is unreachable/), 0, 'Redis is not taken to be unreachable');

subtest 'keys that the user may not use' => sub {
    my $before = connections();
    $gateway->import_key('hidden', id => 'hidden', plan => 'free');
    $redis->cmd('ACL', 'SETUSER', 'default', 'resetkeys', map { "~t:$_*" } qw(key id ban history quota report notices subject used nodes plans changes address probe));
    is($gateway->get('/', 'hidden')->status, 200, 'without the hash of its places');
    $redis->cmd('ACL', 'SETUSER', 'default', 'resetkeys', map { "~t:$_*" } qw(key quota:{innocent}));
    is($gateway->get('/', 'hidden')->status, 503, 'without its quota');
    like($gateway->nginx->error_log, qr/\[error\].*redis "main": NOPERM .*key/, 'the log says why');
    is(innocent(), 204, 'an innocent key is granted');
    $redis->cmd('ACL', 'SETUSER', 'default', 'allkeys');
    is(connections(), $before, 'no connection is lost');
};

subtest 'a node alone limits the requests in flight, and Redis the quota' => sub {
    $gateway->import_key('alone', id => 'alone', plan => 'free');
    $redis->cmd('ACL', 'SETUSER', 'default', '-hgetall');
    my $begin = sub {
        my $client = Http->connect($gateway);
        $client->send("GET /held HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer alone\r\n\r\n");
        return $client;
    };
    my @requests = map { my $client = $begin->(); [$client, $upstream->accept] } 1 .. 2;
    my $refused = $begin->()->response;
    is($refused->json->{code}, 'too_many_in_flight', 'one more is refused');
    is($gateway->count('alone', 'api', 86400), 2, 'Redis counts the requests');
    for my $request (@requests) {
        HeldUpstream::answer($request->[1]);
        is($request->[0]->response->status, 200, 'they end');
    }
    $redis->cmd('ACL', 'SETUSER', 'default', '+@all');
    $gateway->nginx->stop;
};

done_testing;
