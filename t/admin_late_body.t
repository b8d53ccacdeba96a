# A request to tollgate_admin whose body comes late: its key is checked again when the body is complete. A key that has
# changed meanwhile does nothing, on every worker.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Command;
use Gateway;
use Http2;
use JSON::PP qw(decode_json encode_json);
use Wait qw(wait_until);

my $kClients = 8;    # so many connections that both workers have some

my $gateway = Gateway->start(
    workers => 2,
    plans   => 'plan free 1000r/m;',
    http    => 'tollgate_plans ops redis=main lease=off { plan operators 100000r/d; }',
    server  => <<'END',
        listen 127.0.0.1:%PORT2% http2;
        location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
END
);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
my $issue = sub {
    my ($id, @options) = @_;
    return $tollgate->json('key', 'issue', '--plan', 'operators', '--scope', 'admin', '--id', $id, @options)->{key};
};
my $operator = $issue->('portal');
$gateway->subscribed(2);

my $exists = sub { return $gateway->get("/admin/keys/$_[0]", $operator)->status == 200 };

# Requests of which only the beginning is sent.
sub begin {
    my ($token, $method, $path, $body) = @_;
    my $client = Http->connect($gateway->address);
    my $text = encode_json($body);
    $client->send("$method /admin/$path HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $token\r\nContent-Length: " . length($text) . "\r\n\r\n" . substr $text, 0, 1);
    return { client => $client, rest => substr($text, 1), method => $method };
}

sub complete {
    my ($request) = @_;
    $request->{client}->send($request->{rest});
    return $request->{client}->response($request->{method});
}

# Waits until both workers have decided the beginnings: each has taken a unit of the key.
sub wait_until_begun {
    my ($id, $count) = @_;
    wait_until("$count requests to be counted", sub { ($gateway->count($id, 'ops', 86400) // 0) >= $count });
}

sub change {
    my @command = @_;
    my $result = $tollgate->run(@command);
    is($result->{status}, 0, 'the key is changed') or diag $result->{err};
}

# Waits until every worker refuses new requests of the key.
sub wait_until_refused {
    my ($token) = @_;
    my @clients = map { Http->connect($gateway->address) } 1 .. $kClients;
    wait_until('the refusal', sub {
        return !grep { $_->request('GET', '/admin/keys', { Authorization => "Bearer $token" })->status == 200 } @clients;
    });
}

for my $case (
    ['revoked',         401, 'invalid_api_key',    sub { change('key', 'revoke', '--yes', $_[0]) }],
    ['disabled',        401, 'invalid_api_key',    sub { change('key', 'disable', $_[0]) }],
    ['expired',         401, 'invalid_api_key',    sub { change('key', 'set', $_[0], '--expires', '1s') }],
    ['without scope',   403, 'insufficient_scope', sub { change('key', 'set', $_[0], '--scope', 'other') }],
    ['in another plan', 403, 'plan_not_allowed',   sub { change('key', 'set', $_[0], '--plan', 'free') }],
) {
    my ($what, $status, $code, $change) = @$case;
    subtest "a key that is $what" => sub {
        my $id = $what =~ tr/ /-/r;
        my $token = $issue->($id);
        $issue->($_) for "$id-changed", "$id-revoked";
        my @late = (
            (map { begin($token, 'POST', 'keys', { plan => 'operators', id => "$id-new$_", scopes => ['admin'] }) } 1 .. $kClients),
            begin($token, 'PATCH',  "keys/$id-changed", { name => 'changed' }),
            begin($token, 'DELETE', "keys/$id-revoked", {}),
        );
        wait_until_begun($id, scalar @late);
        $change->($id);
        wait_until_refused($token);
        my @responses = map { complete($_) } @late;
        is_deeply([map { $_->status } @responses], [($status) x @late], "gets $status when the body is complete");
        is($responses[0]->json->{code}, $code, "… $code");
        like($responses[0]->header('WWW-Authenticate'), qr/^Bearer /, '… with a challenge') unless $code eq 'plan_not_allowed';
        ok(!$exists->("$id-new1"), 'no key is issued');
        is($gateway->get("/admin/keys/$id-changed", $operator)->json->{name}, undef, 'no key is changed');
        ok($exists->("$id-revoked"), 'no key is revoked');
    };
}

subtest 'a key that is valid' => sub {
    my $token = $issue->('valid');
    my @late = map { begin($token, 'POST', 'keys', { plan => 'free', id => "valid-new$_" }) } 1 .. $kClients;
    wait_until_begun('valid', scalar @late);
    # The change makes each worker look the key up again.
    change('key', 'set', 'valid', '--name', 'renamed');
    my @responses = map { complete($_) } @late;
    is_deeply([map { $_->status } @responses], [(201) x @late], 'issues keys');
    is($responses[0]->header('X-RateLimit-Limit'), 100_000, 'the response shows the quota');
    is($gateway->count('valid', 'ops', 86400), scalar @late, 'each request is counted once');
};

subtest 'HTTP/2' => sub {
    my $token = $issue->('http2');
    my $client = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my $body = encode_json({ plan => 'free', id => 'http2-new' });
    my $stream = $client->request([':method' => 'POST', ':path' => '/admin/keys', authorization => "Bearer $token"], body => substr($body, 0, 1), more => 1);
    wait_until_begun('http2', 1);
    change('key', 'revoke', '--yes', 'http2');
    wait_until_refused($token);
    $client->data($stream, substr $body, 1);
    is($client->status($stream), 401, 'the key gets 401');
    ok(!$exists->('http2-new'), 'no key is issued');
};

subtest 'a check that Redis does not answer' => sub {
    my $slow = Gateway->start(
        redis  => 'timeout 200ms; on_failure allow;',
        plans  => 'plan free 1000r/d;',
        table  => 'lease=off',
        server => 'location /admin/ { tollgate api; tollgate_scope admin; tollgate_admin main; }',
    );
    $slow->import_key('late', id => 'late', plan => 'free', scopes => 'admin');
    $slow->subscribed(1);
    my $client = Http->connect($slow->address);
    $client->send("POST /admin/keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer late\r\nContent-Length: 15\r\n\r\n{");
    wait_until('the request to be counted', sub { $slow->count('late', 'api', 86400) });
    $slow->change_key('late', name => 'renamed');
    $slow->redis->cmd('CLIENT', 'PAUSE', 60_000, 'ALL');
    $client->send('"plan":"free"}');
    my $response = $client->response('POST');
    is($response->status, 503, 'gets 503');
    is($response->json->{code}, 'service_unavailable', '… with an Error body');
    is($response->header('Retry-After'), 1, '… and is to be repeated');
    $slow->redis->kill;
    $slow->nginx->stop;
};

$gateway->nginx->stop;
done_testing;
