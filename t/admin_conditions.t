# If-Match and If-None-Match of tollgate_admin are evaluated before anything changes (RFC 9110, section 13), and at once
# with the change. If-Modified-Since and If-Unmodified-Since are ignored.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Command;
use Gateway;
use Http;
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(wait_until);

my $json = JSON::PP->new->canonical;
my %future = ('If-Modified-Since' => 'Thu, 01 Jan 2099 00:00:00 GMT');
my %past = ('If-Unmodified-Since' => 'Thu, 01 Jan 1970 00:00:10 GMT');

sub start {
    my ($redis) = @_;
    my $gateway = Gateway->start(
        redis_server => $redis,
        workers      => 2,
        plans        => 'plan free 100000r/m; plan own custom; anonymous 100000r/m;',
        http         => 'tollgate_plans ops redis=main { plan ops unlimited; }',
        server       => <<'END',
            location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
            location /gzip/ {
                tollgate ops; tollgate_scope admin; tollgate_admin main;
                gzip on; gzip_types application/json; gzip_min_length 0;
            }
END
    );
    $gateway->import_key('operator', id => 'portal', plan => 'ops', scopes => 'a admin');
    return $gateway;
}

my $redis = RedisServer->start;
my $gateway = start($redis);

sub ask {
    my ($method, $path, $body, %fields) = @_;
    $fields{'Content-Type'} = 'application/json' if defined $body;
    my $base = delete $fields{base} // 'admin';
    return $gateway->request($method, "/$base/$path", { Authorization => 'Bearer operator', %fields }, defined $body ? $json->encode($body) : undef);
}

my $ids = 0;

# A new id and its ETag.
sub issue {
    my $id = 'i' . ++$ids;
    my $response = ask('POST', 'keys', { plan => 'free', id => $id, name => 'first' });
    return ($id, scalar $response->header('ETag'), $response->json->{key});
}

# What Redis has of an id, and the entries of the audit.
sub stored {
    my ($id) = @_;
    my @digests = sort @{ $redis->cmd('SMEMBERS', "t:id:{$id}") };
    my %keys = map { $_ => { @{ $redis->cmd('HGETALL', "t:key:$_") }, ttl => $redis->cmd('PTTL', "t:key:$_") > 0 } } @digests;
    return $json->encode([\%keys, $redis->cmd('ZSCORE', 't:ids', $id), $redis->cmd('XLEN', 't:audit'), $redis->cmd('EXISTS', "t:ban:{$id}")]);
}

subtest 'the version' => sub {
    my ($id, $etag, $key) = issue();
    like $etag, qr/^"[0-9a-f]{32}"$/, 'a strong ETag of a new key';
    my $get = sub { return ask('GET', "keys/$id")->header('ETag') };
    is $get->(), $etag, 'GET shows the same';
    is ask('HEAD', "keys/$id")->header('ETag'), $etag, 'HEAD too';
    $gateway->get('/', $key);
    wait_until('the last use', sub { ask('GET', "keys/$id")->json->{digests}[0]{used} });
    is $get->(), $etag, 'a use does not change it';
    my %seen = ($etag => 'issued');
    my $changes = sub {
        my ($what, $shown) = @_;
        my $now = $get->();
        is $shown, $now, "the response to $what has the new one" if defined $shown;
        ok !$seen{$now}, "$what changes it" or diag "as after: $seen{$now}";
        $seen{$now} = $what;
    };
    $changes->("PATCH $_->[0]", ask('PATCH', "keys/$id", { @$_ })->header('ETag'))
        for [plan => 'ops'], [name => 'other'], [plan => 'own', limits => '5r/m'], [expires => '2040-01-01T00:00:00Z'], [state => 'disabled'], [scopes => ['a']], [meta => { a => 1 }];
    is ask('PATCH', "keys/$id", { name => 'other' })->header('ETag'), $get->(), 'a PATCH that changes nothing leaves it';
    $changes->('a rotation', ask('POST', "keys/$id/rotate", { overlap => '1h' }, 'Idempotency-Key' => 'r')->header('ETag'));
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    is $tollgate->run('key', 'set', $id, '--name', 'by the command')->{status}, 0, 'the command';
    $changes->('the command');
    $changes->('a rotation without overlap', ask('POST', "keys/$id/rotate", { overlap => '0' })->header('ETag'));
    my $repeated = ask('POST', 'keys', { plan => 'free' }, 'Idempotency-Key' => 'p');
    is ask('POST', 'keys', { plan => 'free' }, 'Idempotency-Key' => 'p')->header('ETag'), $repeated->header('ETag'), 'a repeated request shows it';
    $redis->cmd('DEL', "t:key:$_->{sha256}") for @{ ask('GET', "keys/$id")->json->{digests} };
    is $get->(), undef, 'an id without a key has none';
    is ask('DELETE', "keys/$id", undef, 'If-Match' => $etag)->status, 412, '… so no tag matches';
    is ask('PATCH', "keys/$id", { plan => 'free' }, 'If-Match' => $etag)->status, 409, '… where the request would succeed';
    is ask('DELETE', "keys/$id", undef, 'If-Match' => '*')->status, 204, '… and * does';
};

# Each condition, with the ETag in place of E: may the request proceed?
my @conditions = (
    [{}, 1],
    [{ 'If-Match' => 'E' }, 1], [{ 'If-Match' => '*' }, 1], [{ 'If-Match' => '"x" ,, E' }, 1],
    [{ 'If-Match' => '"x"' }, 0], [{ 'If-Match' => 'W/E' }, 0], [{ 'If-Match' => '"x", W/"y"' }, 0],
    [{ 'If-None-Match' => 'E' }, 'same'], [{ 'If-None-Match' => 'W/E' }, 'same'], [{ 'If-None-Match' => '*' }, 'same'],
    [{ 'If-None-Match' => '"x", W/E' }, 'same'], [{ 'If-None-Match' => '"x"' }, 1],
    [{ 'If-Match' => 'E', 'If-None-Match' => 'E' }, 'same'], [{ 'If-Match' => '"x"', 'If-None-Match' => 'E' }, 0],
    [{ 'If-Match' => 'E', 'If-None-Match' => '"x"' }, 1],
    [{%future}, 1], [{%past}, 1], [{ %future, %past, 'If-Match' => 'E' }, 1], [{ %past, 'If-Match' => '"x"' }, 0],
    [{ %future, 'If-None-Match' => '"x"' }, 1], [{ %future, 'If-None-Match' => 'E' }, 'same'],
    [{ 'If-Match' => ['"x"', 'E'] }, 'malformed'],    # for nginx
    map({ my $field = $_; map { [{ $field => $_ }, 'malformed'] } 'x', '', '"x', '*, "x"', '"x" "y"', 'w/"x"', ',' } 'If-Match', 'If-None-Match'),
);
my @requests = (
    ['GET', sub { "keys/$_[0]" }, undef, 200], ['HEAD', sub { "keys/$_[0]" }, undef, 200], ['PATCH', sub { "keys/$_[0]" }, { name => 'second' }, 200],
    ['DELETE', sub { "keys/$_[0]" }, undef, 204], ['POST', sub { "keys/$_[0]/rotate" }, { overlap => '0' }, 200], ['POST', sub { "keys/$_[0]/rotate" }, { overlap => '1h' }, 200],
);
for my $request (@requests) {
    my ($method, $path, $body, $success) = @$request;
    subtest join(' ', $method, $path->('ID'), $body ? $json->encode($body) : ()) => sub {
        my $reads = $method =~ /GET|HEAD/;
        for my $condition (@conditions) {
            my ($given, $proceeds) = @$condition;
            my ($id, $etag) = issue();
            my $fill = sub { my ($value) = @_; return $value =~ s/E/$etag/r };
            my %fields = map { my $value = $given->{$_}; $_ => /Match/ ? ref $value ? [map { $fill->($_) } @$value] : $fill->($value) : $value } keys %$given;
            my $before = stored($id);
            my $response = ask($method, $path->($id), $body, %fields);
            my $name = join(' ', map { my $value = $given->{$_}; "$_: " . (ref $value ? "@$value" : $value) } sort keys %$given) || 'no condition';
            my $expected = $proceeds eq 'malformed' ? 400 : $proceeds eq 'same' ? $reads ? 304 : 412 : $proceeds ? $success : 412;
            is $response->status, $expected, "$expected: $name" or diag $response->body;
            is $response->json->{code}, 'precondition_failed', '… with its code' if $expected == 412 && $method ne 'HEAD';
            is $response->header('ETag'), $etag, '… with the ETag' if $expected == 304;
            my $changes = $expected == $success && !$reads;
            ok $changes == (stored($id) ne $before), $changes ? '… is executed' : '… changes nothing' or diag stored($id), $before;
        }
    };
}

subtest 'what has no version' => sub {
    my @cases = (
        [{ 'If-Match' => '"x"' }, 0], [{ 'If-Match' => '*' }, 1], [{ 'If-None-Match' => '*' }, 0], [{ 'If-None-Match' => '"x"' }, 1], [{%future}, 1], [{%past}, 1],
    );
    for my $case (@cases) {
        my ($fields, $proceeds) = @$case;
        my $name = join ' ', %$fields;
        my $id = 'n' . ++$ids;
        is ask('POST', 'keys', { plan => 'free', id => $id }, %$fields)->status, $proceeds ? 201 : 412, "POST keys, $name";
        is $redis->cmd('EXISTS', "t:id:{$id}"), $proceeds, '… has done as it says';
        my ($banned) = issue();
        $redis->cmd('HSET', "t:ban:{$banned}", until => 9e12, level => 1);
        is ask('DELETE', "keys/$banned/ban", undef, %$fields)->status, $proceeds ? 204 : 412, "DELETE keys/ID/ban, $name";
        is $redis->cmd('EXISTS', "t:ban:{$banned}"), $proceeds ? 0 : 1, '… has done as it says';
        my $reading = $proceeds ? 200 : $fields->{'If-Match'} ? 412 : 304;
        is ask('GET', $_, undef, %$fields)->status, $reading, "GET $_, $name" for 'keys', 'audit', 'openapi.json', map { "keys/$banned/$_" } qw(ban usage history);
    }
    for my $request (['GET', 'keys/nobody'], ['PATCH', 'keys/nobody', { plan => 'free' }], ['DELETE', 'keys/nobody'], ['POST', 'keys/nobody/rotate'], ['DELETE', 'keys/nobody/ban']) {
        is ask(@$request[0 .. 2], 'If-Match' => '"x"')->status, 404, "$request->[0] $request->[1] does not exist";
    }
    my ($id, $etag) = issue();
    is ask('PATCH', "keys/$id", {}, 'If-Match' => '"x"')->status, 400, 'a request that is refused without its condition';
};

subtest 'filters of nginx' => sub {
    my ($id) = issue();
    my $response = ask('GET', "keys/$id", undef, base => 'gzip', 'Accept-Encoding' => 'gzip');
    like $response->header('ETag'), qr/^"/, 'the ETag is not made weak';
    is ask('PATCH', "keys/$id", { name => 'x' }, base => 'gzip', 'Accept-Encoding' => 'gzip', 'If-Match' => $response->header('ETag'))->status, 200, '… and matches';
    is ask('GET', 'keys', undef, base => 'gzip', 'Accept-Encoding' => 'gzip')->header('Content-Encoding'), 'gzip', 'a list is compressed';
};

subtest 'a request that is repeated with its condition' => sub {
    for my $overlap ('0', '1h') {
        my ($id, $etag, $old) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => $overlap }, 'If-Match' => $etag, 'Idempotency-Key' => "once-$id");
        my $first = ask(@rotation);
        is $first->status, 200, "a rotation with the overlap $overlap";
        $gateway->get('/', $first->json->{key});
        wait_until('the last use', sub { ask('GET', "keys/$id")->json->{digests}[0]{used} });
        my $again = ask(@rotation);
        is $again->status, 200, '… repeated';
        is $again->header('ETag'), $first->header('ETag'), '… shows the same';
        is ask('POST', "keys/$id/rotate", { overlap => $overlap }, 'If-Match' => $etag, 'Idempotency-Key' => "twice-$id")->status, 412, 'another request with its condition';
    }
};

# Sends requests at once, each on a connection of its own, and returns the statuses.
sub at_once {
    my @requests = @_;
    my @clients = map { Http->connect($gateway->address) } @requests;
    for my $i (0 .. $#requests) {
        my ($method, $path, $body, %fields) = @{ $requests[$i] };
        $clients[$i]->send(Http::format_request($method, "/admin/$path", { Authorization => 'Bearer operator', %fields }, defined $body ? $json->encode($body) : undef));
    }
    return map { $clients[$_]->response($requests[$_][0])->status } 0 .. $#requests;
}

sub test_races {
    for my $round (1 .. 10) {
        my ($id, $etag) = issue();
        my @statuses = at_once(map { ['PATCH', "keys/$id", { name => "writer $_" }, 'If-Match' => $etag] } 1 .. 8);
        is_deeply [sort @statuses], [200, (412) x 7], "round $round: one of eight changes succeeds" or diag "@statuses";
        my ($winner) = grep { $statuses[ $_ - 1 ] == 200 } 1 .. 8;
        is ask('GET', "keys/$id")->json->{name}, "writer $winner", '… and is stored';

        ($id, $etag) = issue();
        @statuses = at_once(map { ['PATCH', "keys/$id", { name => 'the same' }, 'If-Match' => $etag] } 1 .. 4);
        is_deeply [sort @statuses], [200, (412) x 3], 'one of four equal changes succeeds' or diag "@statuses";

        ($id, $etag) = issue();
        @statuses = at_once(map { ['POST', "keys/$id/rotate", { overlap => $_ }, 'If-Match' => $etag] } '0', '1h', '1h');
        is_deeply [sort @statuses], [200, 412, 412], 'one of three rotations succeeds' or diag "@statuses";
        is scalar(grep { !$_->{retiring} } @{ ask('GET', "keys/$id")->json->{digests} }), 1, '… and there is one current key';

        ($id, $etag) = issue();
        my %condition = ('If-Match' => $etag);
        @statuses = at_once(
            map({ ['PATCH', "keys/$id", { name => "writer $_" }, %condition] } 1 .. 2),
            map({ ['POST', "keys/$id/rotate", { overlap => $_ }, %condition] } '0', '1h'),
            ['DELETE', "keys/$id", undef, %condition],
        );
        is scalar(grep { $_ < 300 } @statuses), 1, 'one of five different changes succeeds' or diag "@statuses";
        is scalar(grep { $_ >= 500 } @statuses), 0, '… and none fails';

        ($id) = issue();
        $etag = ask('POST', "keys/$id/rotate", { overlap => '1h' })->header('ETag');
        at_once(['PATCH', "keys/$id", { state => 'active' }, 'If-Match' => $etag], ['PATCH', "keys/$id", { state => 'disabled' }]);
        my $shown = ask('GET', "keys/$id")->json;
        is_deeply [map { $redis->cmd('HGET', "t:key:$_->{sha256}", 'state') } @{ $shown->{digests} }], [($shown->{state}) x 2],
            'two changes leave equal keys, with and without a condition';

        at_once(['PATCH', "keys/$id", { name => 'other' }], ['POST', "keys/$id/rotate", { overlap => '0' }], ['DELETE', "keys/$id"]);
        is_deeply [grep { /\n(?:\d+:)?\Q$id\E\z/ } @{ $redis->cmd('ZRANGE', 't:index', 0, -1) }], [], 'a revocation leaves nothing in the index';
    }
}
subtest 'requests at once' => \&test_races;
$gateway->nginx->stop;

$redis = RedisCluster->start(masters => 3);
$gateway = start($redis);
subtest 'requests at once, in a cluster' => \&test_races;
$gateway->nginx->stop;

done_testing;
