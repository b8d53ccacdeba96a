# Who reaches tollgate_admin: a key that is changed no longer does, on every worker. Requests over HTTP/2 do.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Command;
use Gateway;
use Http2;
use JSON::PP qw(decode_json encode_json);
use List::Util qw(min);
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $gateway = Gateway->start(
    workers => 2,
    plans   => 'plan free 1000r/m; plan operators 100000r/m;',
    server  => <<'END',
        listen 127.0.0.1:%PORT2% http2;
        location /admin/ { tollgate api; tollgate_scope admin; tollgate_admin main; }
END
);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
my $key = sub {
    my $issued = $tollgate->json('key', 'issue', '--plan', 'operators', '--scope', 'admin', '--id', $_[0]);
    return $issued->{key};
};
$gateway->subscribed(2);

# Requests on so many connections, so that both workers answer, until all are refused. Returns the seconds.
sub seconds_until_refused {
    my ($token, $status, $change) = @_;
    my @clients = map { Http->connect($gateway->address) } 1 .. 8;
    my $statuses = sub { map { $_->request('GET', '/admin/keys', { Authorization => "Bearer $token" })->status } @clients };
    is_deeply([$statuses->()], [(200) x 8], 'an operator, on all connections');
    $change->();
    my $start = time;
    wait_until('the refusal', sub { 8 == grep { $_ == $status } $statuses->() });
    return time - $start;
}

my @seconds;
for my $case (
    ['revoked',       401, 'key', 'revoke', '--yes'],
    ['disabled',      401, 'key', 'disable'],
    ['without scope', 403, 'key', 'set', '--scope', 'other'],
) {
    my ($what, $status, @command) = @$case;
    subtest $what => sub {
        my $id = $what =~ tr/ /-/r;
        my $token = $key->($id);
        my $seconds = seconds_until_refused($token, $status, sub {
            my $result = $tollgate->run(@command[0, 1], $id, @command[2 .. $#command]);
            is($result->{status}, 0, 'the key is changed') or diag $result->{err};
        });
        push @seconds, $seconds;
    };
}
# One of them is enough on a busy machine.
cmp_ok(min(@seconds), '<', 0.2, sprintf 'refused after %s s', join ', ', map { sprintf '%.3f', $_ } @seconds);

# Batches of one caller to one worker: some are executed, the others wait.
subtest 'a key that is revoked while its batches are executed' => sub {
    my $token = $key->('importer');
    my $ids = sub { $gateway->redis->cmd('ZCARD', 't:ids') };
    my $before = $ids->();
    my @clients;
    for my $batch (1 .. 24) {
        my @operations = map { { method => 'POST', path => 'keys', body => { plan => 'free', id => "b$batch-$_" } } } 1 .. 300;
        my $body = encode_json({ operations => \@operations });
        push @clients, Http->connect($gateway->address);
        $clients[-1]->send("POST /admin/keys:batch HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $token\r\nContent-Length: "
            . length($body) . "\r\nConnection: close\r\n\r\n$body");
    }
    wait_until('the first keys', sub { $ids->() > $before + 50 });
    is($tollgate->run(qw(key revoke importer --yes))->{status}, 0, 'it is revoked');
    wait_until('the refusal', sub { $gateway->get('/admin/me', $token)->status == 401 });
    my $at_refusal = $ids->();
    my ($refused, $issued, @last) = (0, 0);
    for my $response (map { $_->response('POST') } @clients) {
        if ($response->status == 401) {
            $refused++;
            next;
        }
        my @statuses = map { $_->{status} } @{ $response->json->{results} };
        $issued += grep { $_ == 201 } @statuses;
        push @last, $statuses[-1];
    }
    is_deeply([grep { $_ != 401 } @last], [], 'a batch that had begun ends with 401 for the operations that were left');
    cmp_ok($refused, '>=', 24 - 2 * 4, '… and those that waited get 401');
    is(scalar @last + $refused, 24, 'all are answered');
    cmp_ok($ids->() - $at_refusal, '<=', 2 * 4, '… no key is issued afterwards but those of operations that had begun');
};

subtest 'HTTP/2' => sub {
    my $token = $key->('portal');
    my $client = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my @fields = (authorization => "Bearer $token", 'content-type' => 'application/json');
    my $ask = sub {
        my ($method, $path, $body) = @_;
        my $stream = $client->request([':method' => $method, ':path' => "/admin/$path", @fields], defined $body ? (body => $body) : ());
        return ($client->status($stream), $client->body($stream));
    };
    # The body has no Content-Length.
    my ($status, $body) = $ask->('POST', 'keys', encode_json({ plan => 'free', id => 'customer' }));
    is($status, 201, 'a key is issued');
    is($gateway->get('/', decode_json($body)->{key})->status, 200, '… and works');
    ($status, $body) = $ask->('GET', 'keys/customer');
    is(decode_json($body)->{id}, 'customer', 'it is shown');
    ($status) = $ask->('POST', 'keys', 'x' x 20_000);
    is($status, 413, 'a large body is refused');
    my $stream = $client->request([':method' => 'POST', ':path' => '/admin/keys', @fields, 'content-length' => 1000], body => '{}');
    isnt(eval { $client->status($stream) } // 'reset', 201, 'a body that is shorter than its length');
    is(($ask->('DELETE', 'keys/customer'))[0], 204, 'it is revoked');
};

$gateway->nginx->stop;
done_testing;
