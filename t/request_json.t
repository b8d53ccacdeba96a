# `tollgate_request_json $variable POINTER…`: values of a JSON request body, read after the key is known and before the
# quota is decided; and `tollgate_sum`.

package BodyService;

# Answers with the SHA-256 of the body that it gets.

use strict;
use warnings;
use lib 't/lib';
use Digest::SHA qw(sha256_hex);
use parent 'TcpService';

sub line { my ($connection) = @_; my $line = ''; $line .= TcpService::take($connection, 1) until $line =~ /\r\n\z/; return $line }

sub serve {
    my ($connection) = @_;
    while (1) {
        my %field;
        line($connection);
        while ((my $line = line($connection)) ne "\r\n") { $field{ lc $1 } = $2 if $line =~ /^([^:]+):\s*(.*?)\r\n/ }
        my $body = '';
        if (lc($field{'transfer-encoding'} // '') eq 'chunked') {
            while (my $size = hex line($connection)) { $body .= TcpService::take($connection, $size); TcpService::take($connection, 2) }
            TcpService::take($connection, 2);
        }
        else { $body = TcpService::take($connection, $field{'content-length'} // 0) }
        my $answer = sha256_hex($body) . ' ' . ($field{'x-model'} // '-');
        $connection->syswrite("HTTP/1.1 200 OK\r\nContent-Length: " . length($answer) . "\r\n\r\n$answer");
    }
}

package main;

use strict;
use warnings;
use lib 't/lib';
use Digest::SHA qw(sha256_hex);
use Gateway qw(wait_for_room);
use Http;
use Http2;
use Nginx;
use Test::More;
use TwoTables qw(counted_in);
use Wait qw(becomes wait_until);

my $service = BodyService->start;
my $proxy = 'proxy_pass http://127.0.0.1:' . $service->port . ';';
my $gateway = Gateway->start(
    plans   => 'plan free 1000000r/d; plan tight 100r/d;',
    table   => 'lease=off',
    workers => 2,
    files   => { page => "a page\n" },
    http    => <<'END',
        tollgate_plans models by=$model lease=off { plan free 1000000r/d; plan tight 100r/d; }
        map $max_tokens $answer { default $max_tokens; "" 1000; }
        map $http_x_office $office { default ""; known office; }
        tollgate_sum $reserved $answer $content_length*0.25;
        log_format body '$status|$model|$max_tokens|$stream|$tollgate_cost|$tollgate_verdict';
END
    server => <<"END",
        listen 127.0.0.1:%PORT2% http2;
        access_log %DIR%/body.log body;
        root %DIR%;
        client_max_body_size 8m;
        tollgate_request_json \$model /model;
        tollgate_request_json \$max_tokens /max_completion_tokens /max_tokens max=64k;
        tollgate_request_json \$stream /stream;
        proxy_set_header X-Model \$model;
        location /chat { tollgate api models; tollgate_cost \$reserved; $proxy }
        location /file { tollgate api models; tollgate_cost \$reserved; client_body_buffer_size 1k; $proxy }
        location /unbuffered { tollgate api models; proxy_request_buffering off; proxy_http_version 1.1; $proxy }
        location /required { tollgate api models; tollgate_request_json \$model /model /deployment required; tollgate_json_errors on; $proxy }
        location /off { tollgate api; tollgate_request_json off; $proxy }
        location /bypassed { tollgate api models; tollgate_bypass 1; $proxy }
        location /dry { tollgate api; tollgate_dry_run on; tollgate_request_json \$model /model required; $proxy }
        location /mirrored { tollgate api models; mirror /copy; $proxy }
        location = /copy { internal; $proxy }
        location /checked { auth_request /auth; $proxy }
        location = /auth { internal; tollgate api models; proxy_pass_request_body off; proxy_set_header Content-Length ""; $proxy }
        location /any { tollgate api models; tollgate_cost 3; satisfy any; allow all; tollgate_subject \$office plan=free; $proxy }
        location /case { tollgate api; tollgate_request_json \$Model /model required; $proxy }
END
);
$gateway->import_key('k', id => 'k1', plan => 'free');
$gateway->import_key('small', id => 'k2', plan => 'tight');
wait_for_room($gateway->redis, 86400, 72);
my $json = 'application/json';

sub counted { my ($id, $value) = @_; return counted_in($gateway->redis, "t:quota:{$id}:models" . ($value eq '' ? '' : ':' . substr sha256_hex($value), 0, 16)) }
sub of_api { my ($id) = @_; return $gateway->count($id, 'api', 86400) }

sub ask {
    my ($path, $body, %fields) = @_;
    my $key = delete $fields{key} // 'k';
    return Http::http_request($gateway, 'POST', $path, { Authorization => "Bearer $key", 'Content-Type' => $json, %fields }, $body);
}

my $logged = 0;

sub log_line {
    return wait_until('the access log', sub {
        my @lines = Nginx::_read($gateway->nginx->dir . '/body.log') =~ /(.*)\n/g;
        return @lines > $logged ? $lines[$logged++] : undef;
    });
}

# The request is granted, and its body reaches the service unchanged.
sub passes {
    my ($name, $line, $path, $body, %fields) = @_;
    my $response = ask($path, $body, %fields);
    my ($model) = $line =~ /^200\|(.*?)\|/;
    is($response->body, sha256_hex($body) . " $model", "$name passes unchanged");
    is(log_line(), $line, '... its values');
}

sub padded { my ($size, $text) = @_; return $text =~ s/\}\z/',"pad":"' . ('x' x $size) . '"}'/er }

my $chat = '{"model":"example-4","messages":[{"role":"user","content":"{\"model\":\"none\"}"}],"max_tokens":200,"stream":true}';
my $cost = 200 + int((length($chat) + 3) / 4);

subtest 'values before the decision' => sub {
    passes('a key that is looked up', "200|example-4|200|true|$cost|granted", '/chat', $chat);
    is(counted('k1', 'example-4'), $cost, '... is counted for its model');
    is(of_api('k1'), $cost, '... and for its key');
    passes('a key that is known', "200|example-4|200|true|$cost|granted", '/chat', $chat);
    is(counted('k1', 'example-4'), 2 * $cost, '... is counted again');
    my $other = '{"model":"example-5","max_completion_tokens":1.5e2,"max_tokens":7}';
    passes('another model', '200|example-5|150|-|' . (150 + int((length($other) + 3) / 4)) . '|granted', '/chat', $other);
    my $few = '{"model":"example-5"}';
    passes('a default', '200|example-5|-|-|' . (1000 + int((length($few) + 3) / 4)) . '|granted', '/chat', $few);
    is(ask('/chat', '{"model":"m","max_tokens":1e300}')->json->{code}, 'cost_exceeds_limit', 'a huge number is no small one');
    is(log_line(), '429|m|1' . '0' x 40 . '|-|1000000000000|limited', '... and costs the most');
    my $small = '{"model":"m","max_tokens":50}';
    is(ask('/chat', $small, key => 'small')->status, 200, 'a small plan');
    is(log_line(), '200|m|50|-|58|granted', '... has room');
    is(ask('/chat', $small, key => 'small')->status, 429, '... for one');
    is(log_line(), '429|m|50|-|58|limited', '... and not for two');
    is(ask('/chat', $small =~ s/50/30/r, key => 'small')->status, 200, '... of this size');
    log_line();
};

subtest 'ways that a body comes' => sub {
    my $long = padded(40_000, $chat);
    my $units = 200 + length($long) / 4;
    passes('a body in memory and in a file', '200|example-4|200|true|' . int($units + 0.75) . '|granted', '/file', $long);
    passes('without request buffering', '200|example-4|200|true|1|granted', '/unbuffered', $long);
    passes('that is mirrored', '200|example-4|200|true|1|granted', '/mirrored', $long);
    my $client = Http->connect($gateway);
    my $head = "POST /unbuffered HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Type: $json\r\n";
    $client->send("${head}Transfer-Encoding: chunked\r\n\r\n");
    $client->send(sprintf "%x\r\n%s\r\n", length, $_) for $chat =~ /(.{1,7})/gs;
    $client->send("0\r\n\r\n");
    is($client->response('POST')->body, sha256_hex($chat) . ' example-4', 'chunks');
    is(log_line(), '200|example-4|200|true|1|granted', '... of a few bytes');
    $client->send("${head}Content-Length: " . length($chat) . "\r\n\r\n$chat" . "${head}Content-Length: 13\r\n\r\n{\"model\":\"b\"}");
    is($client->response('POST')->body, sha256_hex($chat) . ' example-4', 'two requests at once');
    is($client->response('POST')->body, sha256_hex('{"model":"b"}') . ' b', '... have their own values');
    is(log_line(), "200|$_|1|granted", '... and lines') for 'example-4|200|true', 'b|-|-';
    $client->send("${head}Expect: 100-continue\r\nContent-Length: " . length($chat) . "\r\n\r\n");
    is($client->_head->status, 100, 'a client that waits is asked for its body');
    $client->send($chat);
    is($client->response('POST')->status, 200, '... and gets an answer');
    is(log_line(), '200|example-4|200|true|1|granted', '... with values');
    my $h2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
    my $stream = $h2->request([':method' => 'POST', ':path' => '/chat', authorization => 'Bearer k', 'content-type' => $json], body => substr($chat, 0, 20), more => 1);
    $h2->data($stream, substr $chat, 20);
    like($h2->body($stream), qr/^\Q${\sha256_hex($chat)}\E example-4/, 'HTTP/2');
    like(log_line(), qr/^200\|example-4\|200\|true\|/, '... with values');
};

subtest 'bodies without values' => sub {
    for my $case (
        ['another type', $chat, 'Content-Type' => 'text/plain'],
        ['no type', $chat, 'Content-Type' => undef],
        ['an encoded one', $chat, 'Content-Encoding' => 'gzip'],
        ['a malformed one', substr($chat, 0, -1)],
        ['two documents', "$chat$chat"],
        ['an empty one', ''],
        ['one that is too large', padded(1 << 20, $chat)],
    ) {
        my ($name, $body, %fields) = @$case;
        passes($name, '200|-|-|-|1|granted', '/unbuffered', $body, %fields);
    }
    passes('one that is too large for a variable', '200|example-4|-|true|1|granted', '/unbuffered', padded(70_000, $chat));
    passes('a location that reads none', '200|-|-|-|1|granted', '/off', $chat);
    passes('a bypass', '200|-|-|-|-|bypassed', '/bypassed', $chat);
    is(ask('/checked', $chat)->status, 200, 'a subrequest');
    is(log_line(), '200|-|-|-|-|-', '... has no body');
    passes('text of a client', '200|-|-|-|1|granted', '/unbuffered', '{"model":"a\r\nX-Evil: 1"}');
    passes('one that is too long', '200|-|-|-|1|granted', '/unbuffered', '{"model":"' . 'm' x 128 . '"}');
    is(counted('k1', 'm' x 127), 0, '... is not cut');
    passes('a variable in another case', '200|example-4|-|-|1|granted', '/case', $chat);
};

subtest 'a value that is required' => sub {
    my $before = of_api('k1');
    for my $case (['{"messages":[]}'], ['{"model":null}'], ['{"model":'], [$chat, 'Content-Type' => 'text/plain'], ['']) {
        my ($body, %fields) = @$case;
        my $response = ask('/required', $body, %fields);
        is($response->status, 400, "'$body'");
        is_deeply($response->json, { code => 'invalid_request', message => 'The body has no value at "/model" or "/deployment".', status => 400 }, '... and why');
        is(log_line(), '400|-|-|-|-|forbidden', '... is logged');
    }
    is(of_api('k1'), $before, 'nothing is counted');
    passes('a value', '200|d|-|-|1|granted', '/required', '{"deployment":"d"}');
    passes('nothing is refused in a dry run', '200|-|-|-|-|forbidden', '/dry', '{}');
};

subtest 'whose bodies are read' => sub {
    my $client = Http->connect($gateway);
    $client->send("POST /chat HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer unknown\r\nContent-Type: $json\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
    is($client->_head->status, 401, 'not that of a stranger');
    $client->close;
    like(log_line(), qr/^401\|-\|-\|-\|-\|unauthenticated/, '... who has no values');
    my $before = of_api('k1');
    $client = Http->connect($gateway);
    $client->send("POST /chat HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Type: $json\r\nContent-Length: 1000\r\n\r\n{\"model\":\"gone\",");
    $client->close;
    is(log_line(), '400|-|-|-|-|-', 'a client that leaves in the middle');
    is(of_api('k1'), $before, '... pays nothing');
    is(counted('k1', 'gone'), 0, '... for no model');
    my $any = ask('/any', $chat, Authorization => undef, 'X-Office' => 'known');
    is($any->status, 200, 'a subject that another module has granted');
    is(log_line(), '200|example-4|200|true|3|granted', '... with its values');
    is(counted('office', 'example-4'), 3, '... is counted once');
};

subtest 'Redis is away' => sub {
    my $before = counted('k1', 'example-4');
    $gateway->redis->sigstop;
    passes('a known key', "200|example-4|200|true|$cost|degraded", '/chat', $chat);
    $gateway->redis->sigcont;
    becomes(sub { $gateway->unsettled }, 0, 'the units are reported');
    becomes(sub { counted('k1', 'example-4') }, $before + $cost, '... for the model');
};

$gateway->nginx->stop;
done_testing;
