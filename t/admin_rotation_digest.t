# A program rotates to a key that it has made itself: it gives the digest. A repetition is the same rotation, so a lost
# response costs nothing.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Digest::SHA qw(sha256_hex);
use Gateway;
use Http;
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(wait_until);

my $json = JSON::PP->new->canonical;
my (@gateways, $ids);

sub start {
    my ($redis, %options) = @_;
    my $gateway = Gateway->start(
        workers => 2,
        plans   => 'plan free 100000r/m;',
        http    => 'tollgate_plans ops redis=main { plan ops unlimited; }',
        server  => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
        redis_server => $redis,
        %options,
    );
    return $gateway;
}

sub fields { return { Authorization => 'Bearer operator', 'Content-Type' => 'application/json', @_ } }
sub ask_at {
    my ($gateway, $method, $path, $body, %fields) = @_;
    return $gateway->request($method, "/admin/$path", fields(%fields), defined $body ? $json->encode($body) : undef);
}
sub ask { return ask_at($gateways[0], @_) }
sub code { my $response = ask(@_); return $response->status . ' ' . ($response->json->{code} // '') }
sub works { my ($key) = @_; return $gateways[0]->get('/', $key)->status == 200 }
sub ends { my ($key) = @_; wait_until('the key to end in line ' . (caller)[2], sub { !works($key) }); return 1 }

# An id, its key and its ETag.
sub issue {
    my $id = 'i' . ++$ids;
    my $response = ask('POST', 'keys', { plan => 'free', id => $id, name => 'ACME' });
    return ($id, $response->json->{key}, scalar $response->header('ETag'));
}
sub rotations_of { my ($id) = @_; return scalar grep { $_->{action} eq 'rotate' } @{ ask('GET', "audit?id=$id&limit=100")->json->{entries} } }
sub current { my ($id) = @_; return ask('GET', "keys/$id")->json->{digests}[0]{sha256} }

# Sends requests at once, each on a connection of its own.
sub at_once {
    my @requests = @_;
    my @clients = map { Http->connect($gateways[$_ % 2]->address) } 0 .. $#requests;
    $clients[$_]->send(Http::format_request($requests[$_][0], "/admin/$requests[$_][1]", fields(), $json->encode($requests[$_][2]))) for 0 .. $#requests;
    return map { $clients[$_]->response($requests[$_][0]) } 0 .. $#requests;
}

sub test_rotations {
    for my $overlap ('1h', '0', undef) {
        subtest 'the overlap ' . ($overlap // 'that is not given') => sub {
            my ($id, $old, $etag) = issue();
            my $new = "own-key-of-$id";
            my @rotation = ('POST', "keys/$id/rotate", { digest => sha256_hex($new), defined $overlap ? (overlap => $overlap) : () });
            my $first = ask(@rotation, 'If-Match' => $etag);
            is $first->status, 200, 'a rotation whose response is lost' or diag $first->body;
            my $shown = $first->json;
            ok !exists $shown->{key}, '… which does not have the key in clear';
            is $shown->{digests}[0]{sha256}, sha256_hex($new), '… but its digest';
            is $shown->{name}, 'ACME', '… and the record of the old key';
            my %again = (
                'at once' => ask(@rotation), 'with its condition' => ask(@rotation, 'If-Match' => $etag), 'with an Idempotency-Key' => ask(@rotation, 'Idempotency-Key' => "late-$id"),
                'over another gateway' => ask_at($gateways[1], @rotation),
            );
            is_deeply [$again{$_}->status, $again{$_}->json], [200, $shown], "it is repeated $_: nothing changes" or diag $again{$_}->body for sort keys %again;
            is $again{'at once'}->header('ETag'), $first->header('ETag'), '… with the same ETag';
            is rotations_of($id), 1, 'the audit has it once';
            ok works($new), 'the new key works';
            ($overlap // '') eq '0' ? ok ends($old), 'the old one has ended' : ok works($old), 'the old one works';
            ask('PATCH', "keys/$id", { name => 'changed' });
            my $changed = ask(@rotation);
            is $changed->status . $changed->json->{name}, '200changed', 'it is repeated after another change';
        };
    }

    subtest 'digests that are refused' => sub {
        my ($id, $old) = issue();
        my (undef, $of_other) = issue();
        my ($gone, $revoked) = issue();
        ask('DELETE', "keys/$gone");
        my $before = ask('GET', "keys/$id")->body;
        for my $overlap ('0', '1h') {
            my $refuses = sub {
                my ($expected, $digest, $what) = @_;
                is code('POST', "keys/$id/rotate", { digest => $digest, overlap => $overlap }), $expected, "$what, overlap $overlap";
            };
            $refuses->('409 revoked_key', sha256_hex($revoked), 'a key that was revoked');
            $refuses->('409 key_exists', sha256_hex($of_other), 'a key of another id');
            $refuses->('409 key_exists', sha256_hex($old), 'the first key of the id');
            $refuses->('400 invalid_request', $_ // undef, 'a malformed digest: ' . ($_ // 'null')) for 'x', '', uc sha256_hex('a'), substr(sha256_hex('a'), 1), sha256_hex('a') . '0', undef, 1, [];
        }
        is ask('GET', "keys/$id")->body, $before, 'nothing has changed';
        is rotations_of($id), 0, '… and the audit has nothing';
        ok works($old), 'the key works';
        my $new = sha256_hex("own-$id");
        is code('POST', "keys/$id/rotate", { digest => $new }), '200 ', 'a rotation';
        is code('POST', "keys/$id/rotate", { digest => sha256_hex($old) }), '409 key_exists', 'the older key of the id';
        is code('POST', "keys/$id/rotate", { digest => sha256_hex("next-$id") }), '409 two_keys', 'another rotation waits for the overlap';
        is code('POST', "keys/$id/rotate", { digest => sha256_hex("next-$id"), overlap => '0' }), '200 ', '… or has none';
        is code('POST', "keys/$id/rotate", { digest => $new }), '409 revoked_key', 'the key before it has ended for good';
        is code('POST', 'keys/nobody/rotate', { digest => sha256_hex('x') }), '404 unknown_id', 'an id that does not exist';
    };

    subtest 'a condition that is not met' => sub {
        my ($id, $old, $etag) = issue();
        ask('PATCH', "keys/$id", { name => 'changed' });
        my $before = ask('GET', "keys/$id")->body;
        is code('POST', "keys/$id/rotate", { digest => sha256_hex("own-$id") }, 'If-Match' => $etag), '412 precondition_failed', 'the rotation is refused';
        is ask('GET', "keys/$id")->body, $before, '… and changes nothing';
    };

    subtest 'a rotation that is repeated after another one' => sub {
        my ($id, $old, $etag) = issue();
        my @first = ('POST', "keys/$id/rotate", { digest => sha256_hex("first-$id"), overlap => '1s' }, 'If-Match' => $etag);
        is code(@first), '200 ', 'the first one';
        ok ends($old), 'its overlap ends';
        is code('POST', "keys/$id/rotate", { digest => sha256_hex("second-$id"), overlap => '1s' }), '200 ', 'the second one';
        is code(@first), '409 key_exists', 'the first one is refused in the overlap';
        ok ends("first-$id"), 'its key ends';
        is code(@first), '412 precondition_failed', 'its condition is not met';
        is current($id), sha256_hex("second-$id"), 'the second key stays';
    };

    subtest 'two programs at once' => sub {
        for my $round (1 .. 5) {
            my ($id) = issue();
            my @digests = map { sha256_hex("$id of program $_") } 1, 2;
            my @responses = at_once(map { ['POST', "keys/$id/rotate", { digest => $_ }] } @digests);
            is_deeply [sort map { $_->status } @responses], [200, 409], 'one wins' or diag map { $_->body } @responses;
            my ($won) = grep { $responses[$_]->status == 200 } 0, 1;
            is current($id), $digests[$won], '… and has its key';
            is ask('POST', "keys/$id/rotate", { digest => $digests[$won] })->status, 200, '… also when it repeats the rotation';
            is ask('POST', "keys/$id/rotate", { digest => $digests[1 - $won] })->status, 409, '… and the other one does not';
        }
    };

    subtest 'one program, several times at once' => sub {
        for my $overlap ('0', '1h') {
            for my $round (1 .. 3) {
                my ($id) = issue();
                my $digest = sha256_hex("own-$id");
                my @responses = at_once(map { ['POST', "keys/$id/rotate", { digest => $digest, overlap => $overlap }] } 1 .. 4);
                is_deeply [map { $_->status } @responses], [(200) x 4], "each succeeds, overlap $overlap" or diag map { $_->body } @responses;
                is current($id), $digest, '… with the key';
                is scalar @{ ask('GET', "keys/$id")->json->{digests} }, $overlap eq '0' ? 1 : 2, '… and none is left';
            }
        }
    };

    subtest 'in a batch' => sub {
        my ($id, $old) = issue();
        my $rotate = { method => 'POST', path => "keys/$id/rotate", body => { digest => sha256_hex("own-$id"), overlap => '1h' } };
        my $other = { method => 'POST', path => "keys/$id/rotate", body => { digest => sha256_hex($old) } };
        for my $name ('b1', 'b1', 'b2') {
            my $results = ask('POST', 'keys:batch', { operations => [$rotate, $other, $rotate] }, 'Idempotency-Key' => "$name-$id")->json->{results};
            is_deeply [map { $_->{status} } @$results], [200, 409, 200], "the statuses, $name";
            is_deeply [grep { $_ && exists $_->{key} } map { $_->{body} } @$results], [], '… and no key in clear';
        }
        is rotations_of($id), 1, 'the audit has the rotation once';
        ok works("own-$id"), 'the key works';
    };

    subtest 'later' => sub {
        my ($id) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { digest => sha256_hex("own-$id") }, 'Idempotency-Key' => "later-$id");
        my $first = ask(@rotation)->json;
        $gateways[0]->nginx->reload;
        is_deeply ask(@rotation)->json, $first, 'after a reload';
        # As after 24 hours.
        my $redis = $gateways[0]->redis;
        for my $server ($redis->isa('RedisCluster') ? $redis->nodes : $redis) {
            $server->cmd('DEL', $_) for @{ $server->cmd('KEYS', 't:request:*') };
        }
        is_deeply ask(@rotation)->json, $first, 'after 24 hours';
        is rotations_of($id), 1, 'the audit has it once';
    };
}

for my $case (['one Redis', sub { RedisServer->start }], ['a cluster', sub { RedisCluster->start(masters => 3) }]) {
    my ($name, $server) = @$case;
    my $redis = $server->();
    @gateways = map { start($redis) } 1, 2;
    $gateways[0]->import_key('operator', id => 'portal', plan => 'ops', scopes => 'admin');
    subtest $name => \&test_rotations;
    $_->nginx->stop for @gateways;
}
done_testing;
