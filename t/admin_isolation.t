# Operations on keys do not disturb other requests: they have connections of their own, their replies are read in pages,
# and their number is limited.

use strict;
use warnings;
use lib 't/lib';
use BackgroundLoad;
use Gateway;
use Http;
use JSON::PP qw(encode_json);
use IO::Select;
use Load;
use Test::More;
use Time::HiRes qw(time);
use Wait qw(wait_until);

# Of one caller: a quarter of the places.
my $kLists   = 3;
my $kWaiting = 32;

# The plan of the operator needs no call of Redis. Clients get an answer as long as Redis is reachable.
my $gateway = Gateway->start(
    plans  => 'plan free 1000000r/m; history 3660d;',
    table  => 'lease=off',
    http   => 'tollgate_plans ops redis=main { plan ops unlimited; }',
    redis  => 'on_failure deny; timeout 60s;',
    server => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
);
my $redis = $gateway->redis;
$gateway->import_key('operator', id => 'portal', plan => 'ops', scopes => 'admin');
$gateway->import_key('second',   id => 'second', plan => 'ops', scopes => 'admin');
$gateway->import_key('client',   id => 'client', plan => 'free');
$redis->cmd('ZADD', 't:ids', 1, 'portal', 2, 'client', 3, 'second');

sub ask { my ($method, $path, $body) = @_; return $gateway->request($method, "/admin/$path", { Authorization => 'Bearer operator' }, $body) }
sub redis_status { return $gateway->status->{redis}[0] }
sub connections { return scalar grep { /^id=/ } split /\n/, $redis->cmd('CLIENT', 'LIST') }

$gateway->subscribed(1);
is ask('GET', 'openapi.json')->status, 200, 'a request without an operation';
my $before = connections();
is ask('GET', 'keys/client')->status, 200, 'an operation';
is connections(), $before + 1, '… has a connection of its own';
my $start = redis_status();


subtest 'a long history is read in pages' => sub {
    my @days = map { my $table = $_; map { ("$table:$_", $_) } 15_000 .. 15_999 } qw(api ended other);
    # Redis returns a small hash as a whole.
    $redis->cmd('CONFIG', 'SET', 'hash-max-listpack-entries', 3000);
    $redis->cmd('HSET', 't:history:{client}', splice @days, 0, 1000) while @days;
    my $response = ask('GET', 'keys/client/history');
    is $response->status, 200, 'all days';
    my $days = $response->json->{days};
    is scalar @$days, 3000, 'each once';
    is_deeply [map { "$_->{table} $_->{units}" } @{$days}[0, 1, 2999]], ['api 15000', 'ended 15000', 'other 15999'], 'in their order';
    $redis->cmd('HSET', 't:history:{client}', 'api:16000', 1);
    $redis->cmd('CONFIG', 'SET', 'hash-max-listpack-entries', 128);
    $redis->cmd('HSET', 't:history:{client}', 'api:16001', 1);    # another encoding
    is scalar @{ ask('GET', 'keys/client/history')->json->{days} }, 3002, 'a large hash is returned in parts';
};

subtest 'an audit is read in pages' => sub {
    my @entry = (actor => 'key:' . 'k' x 64, action => 'set', id => 'i' x 64);
    $redis->cmd('XADD', 't:audit', "1-$_", @entry, detail => 'd' x 512) for 1 .. 100;
    my $response = ask('GET', 'audit?limit=100');
    is $response->status, 200, 'a page of the largest entries';
    is scalar @{ $response->json->{entries} }, 100, '… has all';
    is ask('PATCH', 'keys/client', encode_json({ meta => { map { ("m$_" => undef) } 1 .. 33 } }))->status, 400, 'a patch removes no more members than there may be';
    is ask('PATCH', 'keys/client', encode_json({ meta => { map { ('m' x 30 . $_ => undef) } 10 .. 41 } }))->status, 200, 'the longest patch';
    my ($last) = @{ $redis->cmd('XREVRANGE', 't:audit', '+', '-', 'COUNT', 1) };
    my %entry = @{ $last->[1] };
    is length $entry{detail}, 512, 'its detail is cut';
    like $entry{detail}, qr/^meta=m{30}10,.*\xe2\x80\xa6$/, '… at the end';
};

subtest 'a reply that breaks the connection of management' => sub {
    my $place = $redis->cmd('XADD', 't:audit', '*', actor => 'a', action => 'set', id => 'i', detail => 'd' x 2_000_000);
    my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 2, token => 'client', path => '/');
    is ask('GET', 'audit?limit=100&after=1-100')->status, 503, 'a reply that is too long' for 1 .. 20;
    my $result = $load->finish;
    is_deeply [keys %{ $result->{status} }], [200], 'no other request notices it' or diag explain $result;
    is redis_status()->{reconnects}, $start->{reconnects}, '… and their connection remains';
    is redis_status()->{breaker_opened}, $start->{breaker_opened}, '… as does their breaker';
    is ask('GET', 'keys/client')->status, 200, 'the next operation has a new connection';
    $redis->cmd('XDEL', 't:audit', $place);
};

sub begin {
    my ($path, %options) = @_;
    my ($method, $key, $body) = ($options{method} // 'GET', $options{key} // 'operator', $options{body} // '');
    my $client = Http->connect($gateway->address);
    $client->send("$method /admin/$path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\nContent-Length: " . length($body) . "\r\nConnection: close\r\n\r\n$body");
    return $client;
}
# The worker has read all requests before.
sub are_read { $gateway->status }

subtest 'a command that the user may not call' => sub {
    $redis->cmd('ACL', 'SETUSER', 'default', '-hscan');
    my $histories = BackgroundLoad->start(servers => [$gateway->address], connections => 2, token => 'operator', path => '/admin/keys/client/history');
    is_deeply [map { ask('GET', 'keys/client')->status } 1 .. 50], [(200) x 50], '… does not disturb other operations';
    is_deeply [keys %{ $histories->finish->{status} }], [503], '… and its own is 503';
    $redis->cmd('ACL', 'SETUSER', 'default', '+hscan');
};

subtest 'more requests than a worker handles' => sub {
    $redis->sigstop;
    my @under_way = map { begin('keys?limit=1') } 1 .. $kLists;
    my @waiting = map { begin('usage?limit=1') } 1 .. $kWaiting;
    my $refused = begin('bans')->response('GET');
    is $refused->status, 429, 'one more of the same caller is refused';
    is $refused->json->{code}, 'too_many_operations', '… with the reason';
    is $refused->header('retry-after'), 1, '… and when to come back';
    $_->close for @waiting;
    are_read();
    my $later = begin('bans');
    my @others = (
        begin('keys/revoked', method => 'DELETE'), begin('keys/revoked', method => 'PATCH', body => '{"state":"disabled"}'),
        begin('keys/client'), begin('keys/lookup', method => 'POST', body => '{"token":"client"}'), begin('keys', key => 'second'),
    );
    $redis->sigcont;
    is_deeply [map { $_->response('GET')->status } @others], [404, 404, 200, 200, 200], 'a revocation, a state, a read of one id and other callers have places';
    is_deeply [map { $_->response('GET')->status } @under_way], [(200) x $kLists], 'those under way are answered';
    is $later->response('GET')->status, 200, 'a client that has left waits no more';
};

subtest 'batches of one caller' => sub {
    my @others = map { my $key = "batches$_"; $gateway->import_key($key, id => $key, plan => 'ops', scopes => 'admin'); $key } 1 .. 3;
    my $batch = encode_json({ operations => [map { { method => 'PATCH', path => 'keys/client', body => { name => "n$_" } } } 1 .. 200] });
    my @batches = map { begin('keys:batch', method => 'POST', body => $batch) } 1 .. 48;
    my (@ended, @goes_on);
    wait_until('the refusals', sub {
        @ended = @goes_on = ();
        push @{ IO::Select->new($_->{socket})->can_read(0) ? \@ended : \@goes_on }, $_ for @batches;
        return @ended >= 48 - 4 - $kWaiting;
    });
    is scalar(grep { $_->response('POST')->status == 429 } @ended), 48 - 4 - $kWaiting, 'it has a quarter of the places';
    # What another one asks for does not wait for them, not even if four callers have all places of batches.
    push @goes_on, map { my $key = $_; map { begin('keys:batch', method => 'POST', key => $key, body => $batch) } 1 .. 4 } @others;
    are_read();
    my $begin = time;
    my @statuses = map { begin($_->[0], method => $_->[1], key => 'second', body => $_->[2])->response($_->[1])->status }
        ['keys/leaked', 'DELETE'], ['keys/client', 'PATCH', '{"state":"active"}'], ['keys/client', 'PATCH', '{"name":"x"}'];
    is_deeply \@statuses, [404, 200, 200], 'another operator revokes and changes';
    my $seconds = time - $begin;
    my $left = grep { !IO::Select->new($_->{socket})->can_read(0) } @goes_on;
    is $left, @goes_on, sprintf('… before any of them has ended (%.2f s)', $seconds);
    $_->close for @goes_on;
};

subtest 'many searches beside other requests' => sub {
    my @ids = map { sprintf 'k%04d', $_ } 1 .. 998;
    $gateway->import_key($_, id => $_, plan => 'free') for @ids;
    $redis->cmd('ZADD', 't:ids', map { (1000, $_) } @ids);
    my $page = ask('GET', 'keys?meta=a=1&limit=1');
    is_deeply $page->json, { keys => [], next => undef }, 'a search without a result reads all ids';
    # Batches go on without their clients, but nothing else does.
    wait_until('the end of the batches', sub { $gateway->calls(sub { are_read() for 1 .. 200 }) == 0 }, 180);
    # A read ends with its client.
    my $whole = $gateway->calls(sub { ask('GET', 'keys?meta=a=1&limit=1') });
    my $of_left = $gateway->calls(sub {
        $redis->sigstop;
        my $search = begin('keys?meta=a=1&limit=1');
        are_read();
        $search->close;
        are_read();
        $redis->sigcont;
        is ask('GET', 'keys/second')->status, 200, 'a request after it' for 1 .. 3;
    });
    my $of_others = $gateway->calls(sub { ask('GET', 'keys/second') for 1 .. 3 });
    cmp_ok $of_left - $of_others, '<=', 2, "a search ends when its client has left: $whole calls otherwise";
    cmp_ok $whole, '>', 10, '… which are more';
    # With all ids, or with more refused searches between the other requests, a search could take a minute on a slow machine,
    # and would then get 503.
    $redis->cmd('ZREMRANGEBYRANK', 't:ids', 25, -1);
    my $searches = BackgroundLoad->start(servers => [$gateway->address], connections => $kLists + $kWaiting + 5, token => 'operator', path => '/admin/keys?meta=a=1&limit=100');
    my $result = Load->run(servers => [$gateway->address], connections => 4, requests => 2000, token => 'client', path => '/');
    is_deeply $result->{status}, { 200 => 2000 }, 'all other requests are served';
    my $searched = $searches->finish;
    is_deeply [sort keys %{ $searched->{status} }], [200, 429], 'searches are answered, or are too many' or diag explain $searched->{status};
};

is redis_status()->{reconnects}, $start->{reconnects}, 'the connection of the requests was never lost';
$gateway->nginx->stop;
done_testing;
