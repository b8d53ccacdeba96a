# Requests of tollgate_admin with an Idempotency-Key do their work once, however they are repeated.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Http;
use JSON::PP ();
use RedisCluster;
use RedisServer;

my $json = JSON::PP->new->canonical;
for my $case (['one Redis', sub { RedisServer->start }], ['a cluster', sub { RedisCluster->start(masters => 3) }]) {
    my ($name, $start) = @$case;
    subtest $name => sub { test_requests($start->()) };
}

sub test_requests {
    my ($redis) = @_;
    my $gateway = Gateway->start(
        redis_server => $redis,
        workers      => 2,
        plans        => 'plan free 100000r/m; plan operators 100000r/m;',
        server       => 'location /admin/ { tollgate api; tollgate_scope admin; tollgate_admin main; }',
    );
    $gateway->import_key('operator', id => 'portal', plan => 'operators', scopes => 'admin');
    $gateway->import_key('other', id => 'other', plan => 'operators', scopes => 'admin');
    my $fields = sub {
        my ($idempotency_key, $token) = @_;
        return { Authorization => 'Bearer ' . ($token // 'operator'), 'Idempotency-Key' => $idempotency_key };
    };
    my $post = sub {
        my ($path, $body, @key) = @_;
        return $gateway->request('POST', "/admin/$path", $fields->(@key), $json->encode($body));
    };
    # The same request on several connections at once.
    my $post_at_once = sub {
        my ($number, $path, $body, $idempotency_key) = @_;
        my $text = $json->encode($body);
        my @clients = map { Http->connect($gateway->address) } 1 .. $number;
        $_->send("POST /admin/$path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\nIdempotency-Key: $idempotency_key\r\n"
            . 'Content-Length: ' . length($text) . "\r\n\r\n$text") for @clients;
        return map { $_->response('POST') } @clients;
    };
    my $works = sub { $gateway->get('/', $_[0])->status == 200 };

    subtest 'requests at once' => sub {
        for my $overlap ('0', '1h') {
            for my $round (1 .. 5) {
                my $id = "r$overlap-$round";
                $post->('keys', { plan => 'free', id => $id }, "issue $id" =~ s/ /-/r);
                my @responses = $post_at_once->(3, "keys/$id/rotate", { overlap => $overlap }, "rotate-$id");
                is_deeply([map { $_->status } @responses], [200, 200, 200], "rotations of $id");
                my @keys = grep { defined } map { $_->json->{key} } @responses;
                is(@keys, 1, '… one of them shows a key') or diag(map { $_->body } @responses);
                ok($works->($keys[0]), '… which works');
            }
        }
        my @responses = $post_at_once->(10, 'keys', { plan => 'free' }, 'issue-one');
        is_deeply([sort map { $_->status } @responses], [(200) x 9, 201], 'one of ten equal requests makes a key');
        my %ids = map { $_->json->{id} => 1 } @responses;
        is(keys %ids, 1, '… all have its id');
    };

    subtest 'a late repetition' => sub {
        my $issued = $post->('keys', { plan => 'free' }, 'late')->json;
        my $rotate = "keys/$issued->{id}/rotate";
        my $first = $post->($rotate, { overlap => '0' }, 'x')->json->{key};
        my $second = $post->($rotate, { overlap => '0' }, 'y')->json->{key};
        ok($works->($second), 'the key of the second rotation works');
        my $late = $post->($rotate, { overlap => '0' }, 'x');
        is($late->status, 200, 'the first rotation, repeated');
        ok(!exists $late->json->{key}, '… makes no key');
        ok($works->($second), '… and ends none');
        my $again = $post->('keys', { plan => 'free' }, 'late');
        is($again->status . ' ' . $again->json->{id}, "200 $issued->{id}", 'the first request, repeated');
        is($gateway->request('DELETE', "/admin/keys/$issued->{id}", $fields->('d'))->status, 204, 'the id is revoked');
        is($post->('keys', { plan => 'free' }, 'late')->json->{code}, 'no_key', 'the first request does not issue it again');
    };

    subtest 'another request' => sub {
        is($post->('keys', { plan => 'free', id => 'a' }, 'one')->status, 201, 'an id');
        is($post->('keys', { plan => 'free', id => 'b' }, 'one')->status, 422, 'another id');
        is($post->('keys', { plan => 'free' }, 'one')->status, 422, 'no id');
        is($post->('keys', { plan => 'free', id => 'a' }, 'one')->status, 200, 'the first one again');
        is($post->('keys', { plan => 'free', id => 'c' }, 'one', 'other')->status, 201, 'the name of another caller');
        is($post->('keys/a/rotate', {}, 'one')->status, 200, 'the name at another resource');
    };

    subtest 'a request that was refused' => sub {
        is($post->('keys', { plan => 'free', id => 'a' }, 'taken')->json->{code}, 'id_exists', 'an id that is in use');
        is($gateway->request('DELETE', '/admin/keys/a', $fields->('d'))->status, 204, 'the id is revoked');
        is($post->('keys', { plan => 'free', id => 'a' }, 'taken')->status, 201, 'the request is executed then');
    };

    subtest 'a request that was interrupted' => sub {
        my %before = map { $_ => 1 } records($redis);
        is($post->('keys', { plan => 'free', id => 'i' }, 'interrupted')->status, 201, 'a request');
        my ($record, @others) = grep { !$before{$_} } records($redis);
        is(@others, 0, 'it has one record');
        is($redis->cmd('HGET', $record, 'run'), '', '… which says that it ended');
        my $ttl = $redis->cmd('PTTL', $record);
        ok($ttl > 86_000_000 && $ttl <= 86_400_000, '… and is kept for 24 hours') or diag($ttl);
        # As it would be without the end of the operation: before the key existed, and after.
        $redis->cmd('HSET', $record, 'run', 'another');
        is($post->('keys', { plan => 'free', id => 'i' }, 'interrupted')->status, 200, 'the key exists');
        is($redis->cmd('HGET', $record, 'run'), '', '… and the record says so again');
        $gateway->request('DELETE', '/admin/keys/i', $fields->('d'));
        $redis->cmd('HSET', $record, 'run', 'another');
        is($post->('keys', { plan => 'free', id => 'i' }, 'interrupted')->status, 201, 'the request is executed again');
    };
    $gateway->nginx->stop;
}

# The names of the records, on all masters.
sub records {
    my ($redis) = @_;
    my @servers = $redis->isa('RedisCluster') ? $redis->nodes : $redis;
    return map { @{ $_->cmd('KEYS', 't:request:*') } } @servers;
}

done_testing;
