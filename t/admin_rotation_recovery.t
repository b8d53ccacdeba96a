# A rotation over HTTP whose response was lost is repeated with its Idempotency-Key: a new key that was never used is
# replaced, the old one keeps working until the overlap ends, and a key in use stays.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use FakeRedis qw(name_of token_of);
use Gateway;
use Http;
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $json = JSON::PP->new->canonical;
my ($redis, $gateway);

sub start {
    ($redis, my %options) = @_;
    $gateway = Gateway->start(
        redis_server => $redis,
        workers      => 2,
        plans        => 'plan free 100000r/m; anonymous 100000r/m;',
        http         => 'tollgate_plans ops redis=main { plan ops unlimited; }',
        server       => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; } location /alive { return 204; }',
        %options,
    );
    $gateway->import_key('operator', id => 'portal', plan => 'ops', scopes => 'admin');
}

sub fields { return { Authorization => 'Bearer operator', 'Content-Type' => 'application/json', $_[0] ? ('Idempotency-Key' => $_[0]) : () } }
sub ask {
    my ($method, $path, $body, $name) = @_;
    return $gateway->request($method, "/admin/$path", fields($name), defined $body ? $json->encode($body) : undef);
}
sub works { return $gateway->get('/', $_[0])->status == 200 }
sub ends { my ($key) = @_; wait_until('the key to end in line ' . (caller)[2], sub { !works($key) }); return 1 }

my $ids = 0;
sub issue {
    my $id = 'i' . ++$ids;
    return ($id, ask('POST', 'keys', { plan => 'free', id => $id, name => 'ACME' })->json->{key});
}

sub test_recovery {
    subtest 'with an overlap' => sub {
        my ($id, $old) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => '1h' }, "lost-$id");
        my $lost = ask(@rotation)->json;
        my $again = ask(@rotation);
        is $again->status, 200, 'the repetition';
        my $shown = $again->json;
        ok $shown->{key} && $shown->{key} ne $lost->{key}, '… shows another key' or return diag $again->body;
        ok works($shown->{key}), '… which works';
        is $shown->{name}, 'ACME', '… with the record of the old one';
        ok ends($lost->{key}), 'the lost key ends';
        ok works($old), 'the old key works';
        is_deeply [map { $_->{retiring} ? $_->{expires} : () } @{ $shown->{digests} }], [map { $_->{retiring} ? $_->{expires} : () } @{ $lost->{digests} }],
            '… until the end of the first overlap';
        is scalar @{ $shown->{digests} }, 2, 'there are two keys';
        is ask('GET', "keys/$id")->header('ETag'), $again->header('ETag'), 'the response has the ETag';
        my $third = ask(@rotation)->json->{key};
        ok !defined $third, 'a further repetition makes no key: the key is in use';
        ok works($shown->{key}), '… and works';
        is ask('POST', "keys/$id/rotate", { overlap => '1h' }, "other-$id")->json->{code}, 'two_keys', 'another rotation waits for the overlap';
    };

    subtest 'without an overlap' => sub {
        my ($id, $old) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => '0' }, "lost-$id");
        my @responses = map { ask(@rotation) } 1 .. 3;
        is_deeply [map { $_->status } @responses], [200, 200, 200], 'it is repeated' or return diag map { $_->body } @responses;
        my @keys = ($old, map { $_->json->{key} } @responses);
        ok ends($keys[$_]), "key $_ ends" for 0 .. 2;
        ok works($keys[3]), 'the last one works';
        is scalar @{ ask('GET', "keys/$id")->json->{digests} }, 1, '… and is the only one';
    };

    subtest 'a new key that is in use' => sub {
        for my $overlap ('0', '1h') {
            my ($id, $old) = issue();
            my @rotation = ('POST', "keys/$id/rotate", { overlap => $overlap }, "used-$id");
            my $new = ask(@rotation)->json->{key};
            ok works($new), "it is used, overlap $overlap";
            my $again = ask(@rotation);
            is $again->status, 200, 'the repetition follows at once';
            ok !exists $again->json->{key}, '… and shows no key';
            ok works($new), 'the new key works';
            is works($old), $overlap ne '0', 'the old one as before';
        }
    };

    subtest 'repetitions at once' => sub {
        my ($id, $old) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => '1h' });
        my $lost = ask(@rotation, "lost-$id")->json->{key};
        my @clients = map { Http->connect($gateway->address) } 1 .. 3;
        $_->send(Http::format_request('POST', "/admin/$rotation[1]", fields("lost-$id"), $json->encode($rotation[2]))) for @clients;
        my @responses = map { $_->response('POST') } @clients;
        is_deeply [map { $_->status } @responses], [200, 200, 200], 'all are answered';
        my @keys = map { $_->json->{key} // () } @responses;
        is scalar @keys, 1, '… one with a key' or diag map { $_->body } @responses;
        ok works($keys[0]), '… that works';
        ok ends($lost), 'the lost key ends';
        ok works($old), 'the old key works';
    };

    subtest 'an overlap that has ended' => sub {
        my ($id, $old) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => '1s' }, "lost-$id");
        my $lost = ask(@rotation)->json->{key};
        ok ends($old), 'the old key ends';
        my $shown = ask(@rotation)->json->{key};
        ok works($shown // 'none'), 'the repetition shows a key that works';
        ok ends($lost), 'the lost key ends, too';
        ok works($shown // 'none'), '… and not the new one';
    };

    subtest 'another change since' => sub {
        my ($id) = issue();
        my @rotation = ('POST', "keys/$id/rotate", { overlap => '0' }, "lost-$id");
        ask(@rotation);
        my $other = ask('POST', "keys/$id/rotate", { overlap => '0' }, "other-$id")->json->{key};
        ok !exists ask(@rotation)->json->{key}, 'a rotation that another one follows is not executed again';
        ok works($other), '… and the key of that one works';
        ask('DELETE', "keys/$id");
        is ask(@rotation)->json->{code}, 'no_key', '… nor one of an id that was revoked';
    };

    subtest 'a lost response to POST keys' => sub {
        for my $overlap ('0', '24h') {
            my @issue = ('POST', 'keys', { plan => 'free' }, "issue-$overlap");
            my $lost = ask(@issue)->json;
            my $again = ask(@issue);
            is $again->status . ' ' . $again->json->{id}, "200 $lost->{id}", 'the repetition shows the id';
            ok !exists $again->json->{key}, '… without a key';
            my @rotation = ('POST', "keys/$lost->{id}/rotate", { overlap => $overlap }, "rotate-$overlap");
            my $first = ask(@rotation)->json->{key};
            my $shown = ask(@rotation)->json->{key};
            ok works($shown), "a rotation with the overlap $overlap shows a key, also when its response is lost";
            ok ends($first), '… which was never used';
            is works($lost->{key}), $overlap ne '0', '… and the lost key has that overlap';
        }
    };
}

# What the script answers that notes uses, if the gateway's user in Redis may not write them.
sub refuse_uses {
    my ($command) = @_;
    # A management operation that reads uses has no key of the id.
    return undef unless name_of($command) eq 'used' && $command->[4] =~ /:id:\{/;
    return join '', "*2\r\n", map { '$' . length($_) . "\r\n$_\r\n" } token_of($command), 'NOPERM no permission';
}

for my $case (['one Redis', sub { RedisServer->start }], ['a cluster', sub { RedisCluster->start(masters => 3) }]) {
    my ($name, $server) = @$case;
    start($server->());
    subtest $name => \&test_recovery;
    $gateway->nginx->stop;
}

# A worker handles 16 requests at a time. 15 repetitions hold their places for two seconds, the first rotation of another
# id has the last one, and its repetition waits until it has ended.
subtest 'a repetition that waits for its turn' => sub {
    start(RedisServer->start, workers => 1);
    my @others = map { [issue()] } 1 .. 15;
    my @rotations = map { ["keys/$_->[0]/rotate", "lost-$_->[0]"] } @others;
    ask('POST', $_->[0], { overlap => '1h' }, $_->[1]) for @rotations;
    my ($id, $old) = issue();
    push @rotations, (["keys/$id/rotate", "lost-$id"]) x 2;
    $redis->sigstop;
    my @clients = map {
        my $client = Http->connect($gateway->address);
        my $body = '{"overlap":"1h"}';
        $client->send("POST /admin/$_->[0] HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\nIdempotency-Key: $_->[1]\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
        $client;
    } @rotations;
    my $sent = time;
    wait_until('the requests to have waited', sub { $gateway->get('/alive')->status == 204 && time > $sent + 0.1 });
    $redis->sigcont;
    my ($first, $second) = map { $_->response('POST') } @clients[-2, -1];
    is $second->status, 200, 'it is answered';
    ok !exists $second->json->{key}, '… without a key: the first response was not lost when it arrived' or diag $second->body;
    ok works($first->json->{key}), 'the key of the first response works';
    ok works($old), 'the old one, too';
    $_->response('POST') for @clients[0 .. 14];
    $gateway->nginx->stop;
};

subtest 'uses that are not recorded' => sub {
    my $server = RedisServer->start;
    my $fake = FakeRedis->start(
        redis  => $server->address,
        faults => { no_uses => { answer => \&refuse_uses } },
    );
    $fake->fault('no_uses');
    start($server, server_address => $fake->address, log_level => 'error');
    my ($id, $old) = issue();
    my @rotation = ('POST', "keys/$id/rotate", { overlap => '1h' }, "lost-$id");
    my $new = ask(@rotation)->json->{key};
    ok works($new), 'a key is used, and no one notes it';
    my $again = ask(@rotation);
    is $again->status, 200, 'the repetition';
    ok !exists $again->json->{key}, '… shows no key';
    ok works($new), 'the new key works';
    ok works($old), 'the old one, too';
    $gateway->nginx->stop;
};

done_testing;
