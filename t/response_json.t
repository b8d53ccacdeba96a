# `tollgate_response_json $variable POINTER…`: values at JSON pointers in a response, as it passes, and their sum
# (`tollgate_sum`). The responses are those of the APIs of OpenAI and Anthropic.

use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Gateway qw(wait_for_room);
use Http;
use IO::Socket::UNIX;
use Nginx;
use Test::More;
use Wait qw(becomes wait_until);

my $openai = 'tollgate_response_json $total /usage/total_tokens;';
my $anthropic = 'tollgate_response_json $input /usage/input_tokens /message/usage/input_tokens; tollgate_response_json $output /usage/output_tokens;';
# A location has one of both.
my $usage = 'tollgate_sum $used $input $output; map "$total$used" $usage { default $total$used; "" -; }';
my ($json, $events) = ('application/json', 'text/event-stream; charset=utf-8');

my $completion = <<'END';
{
  "id": "chatcmpl-9aQ1", "object": "chat.completion", "created": 1767225600, "model": "example-4",
  "choices": [{
    "index": 0, "logprobs": null, "finish_reason": "stop",
    "message": {"role": "assistant", "content": "A \"usage\": {\"total_tokens\": 999} in a text \u2014 is no usage.", "refusal": null}
  }],
  "usage": {"prompt_tokens": 19, "completion_tokens": 23, "total_tokens": 42,
            "completion_tokens_details": {"reasoning_tokens": 0, "total_tokens": 7}},
  "system_fingerprint": "fp_1"
}
END

# The events of a chat completion: with `usage`, as with stream_options.include_usage, the last one has no choices.
sub chunks {
    my ($usage) = @_;
    my $chunk = sub { "data: {\"id\":\"chatcmpl-9aQ1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"example-4\",$_[0]}\n\n" };
    my $null = $usage ? ',"usage":null' : '';
    my @texts = ('{"role":"assistant","content":""}', '{"content":"Hello"}', '{"content":" there\n"}');
    return (
        (map { $chunk->("\"choices\":[{\"index\":0,\"delta\":$_,\"finish_reason\":null}]$null") } @texts),
        $chunk->("\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]$null"),
        ($usage ? $chunk->("\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":9,\"total_tokens\":$usage}") : ()),
        "data: [DONE]\n\n",
    );
}

my $message = '{"id":"msg_01A","type":"message","role":"assistant","model":"example-5","content":[{"type":"text","text":"Hi!"}],'
    . '"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":25,"cache_read_input_tokens":0,"output_tokens":15}}';

my @message_events = map { my ($type) = /"type":"(\w+)"/; "event: $type\ndata: $_\n\n" } (
    '{"type":"message_start","message":{"id":"msg_01A","type":"message","role":"assistant","content":[],"model":"example-5",'
        . '"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type": "ping"}' =~ s/: /:/r,
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}',
    '{"type":"message_stop"}',
);

# The service: the test sends its responses.
my $socket = tempdir(CLEANUP => 1) . '/service.sock';
my $service = IO::Socket::UNIX->new(Local => $socket, Listen => 16, Timeout => 30) or die "$socket: $!\n";
my $proxy = "proxy_pass http://unix:$socket:/;";

sub accept_request {
    my $connection = $service->accept or die "accept: $!\n";
    my $request = '';
    $connection->sysread($request, 4096, length $request) or die "no request\n" until $request =~ /\r\n\r\n/;
    return $connection;
}

sub head_of { my ($type, @fields) = @_; return join "\r\n", 'HTTP/1.1 200 OK', "Content-Type: $type", 'Connection: close', @fields, '', '' }

sub send_request {
    my ($nginx, $path, %fields) = @_;
    my $client = Http->connect($nginx);
    $client->send(Http::format_request($fields{method} // 'GET', $path, { Connection => 'close', %{ $fields{headers} // {} } }));
    return $client;
}

# Sends a request, and the pieces of a response to it. nginx may close before it has read all of them. Returns what the
# client gets.
sub exchange {
    my ($nginx, $path, $head, $pieces, %options) = @_;
    my $client = send_request($nginx, $path, %options);
    my $connection = accept_request();
    local $SIG{PIPE} = 'IGNORE';
    $connection->syswrite($_) for $head, @$pieces;
    $connection->close;
    return $client->response($options{method} // 'GET');
}

my $logged = 0;

# The next line of the access log.
sub log_line {
    my ($nginx) = @_;
    return wait_until('the access log', sub {
        my @lines = Nginx::_read($nginx->dir . '/usage.log') =~ /(.*)\n/g;
        return @lines > $logged ? $lines[$logged++] : undef;
    });
}

sub is_logged {
    my ($nginx, $usage, $name) = @_;
    is(log_line($nginx), $usage, $name);
}

my $can_add = Nginx->built_with('with-http_addition_module');
my $add = $can_add ? 'add_after_body /returned; addition_types application/json;' : '';
my $nginx = Nginx->start(files => { 'page.html' => '<!--# include virtual="/returned" -->' }, conf => <<"END");
    $usage
    log_format usage '\$usage';
    proxy_cache_path %DIR%/cache keys_zone=cache:1m;
    server {
        listen 127.0.0.1:%PORT%;
        access_log %DIR%/usage.log usage;
        root %DIR%;
        sendfile on;
        location /openai { $openai $proxy }
        location /anthropic { $anthropic $proxy }
        location /none { $proxy }
        location /unbuffered { $openai proxy_buffering off; proxy_http_version 1.1; $proxy }
        location /gzip { $openai gzip on; gzip_types application/json; gzip_min_length 1; $proxy }
        location /cached { $openai proxy_cache cache; proxy_cache_valid 1m; proxy_force_ranges on; proxy_buffers 4 4k; $proxy }
        location /replaced { $openai sub_filter_types application/json; sub_filter usage use; $proxy }
        location /outer { $openai location /outer/off { tollgate_response_json off; $proxy } location /outer/inherits { $proxy } }
        location = /returned { $openai default_type application/json; return 200 '{"usage":{"total_tokens":3}}'; }
        location /added { $openai $add $proxy }
        location = /page.html { $openai ssi on; }
        location /intercepted { $openai proxy_intercept_errors on; error_page 503 /error_page; $proxy }
        location = /error_page { default_type application/json; return 200 '{"usage":{"total_tokens":4}}'; }
        location /internal/ { internal; $openai $proxy }
        location /internal_none/ { internal; $proxy }
    }
END

subtest 'the formats of both APIs' => sub {
    for my $case (
        ['a chat completion', '/openai', $json, [$completion], 42],
        ['... in pieces', '/openai', $json, [split //, $completion], 42],
        ['a stream with usage', '/openai', $events, [chunks(17)], 17],
        ['... in pieces of a byte', '/openai', $events, [split //, join '', chunks(17)], 17],
        ['... with CRLF', '/openai', $events, [map { s/\n/\r\n/gr } chunks(17)], 17],
        ['a stream without usage', '/openai', $events, [chunks()], '-'],
        ['a message', '/anthropic', $json, [$message], 40],
        ['a stream of a message', '/anthropic', $events, [@message_events], 40],
        ['... all at once', '/anthropic', $events, [join '', @message_events], 40],
        ['an error', '/anthropic', $json, ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'], '-'],
        ['a message of an unbuffered location', '/unbuffered', $json, [split /(?<=,)/, $completion], 42],
    ) {
        my ($name, $path, $type, $pieces, $usage) = @$case;
        my $response = exchange($nginx, $path, head_of($type), $pieces);
        is($response->body, join('', @$pieces), "$name passes unchanged");
        is_logged($nginx, $usage, '... its usage');
    }
};

subtest 'which responses are read' => sub {
    my $usage = '{"usage":{"total_tokens":5}}';
    for my $case (
        ['application/problem+json', '/openai', 5],
        ['APPLICATION/JSON', '/openai', 5],
        ['text/html', '/openai', '-'],
        ['application/x-ndjson', '/openai', '-'],
        [$json, '/none', '-'],
        [$json, '/outer/off', '-'],
        [$json, '/outer/inherits', 5],
        [$json, '/replaced', 5],
    ) {
        my ($type, $path, $expected) = @$case;
        exchange($nginx, $path, head_of($type), [$usage]);
        is_logged($nginx, $expected, "$type at $path");
    }
    for my $malformed ('{"usage":{"total_tokens":5}', '{"usage":{"total_tokens":5}}}', '{"usage":{"total_tokens":[5]}}', '[DONE]', '') {
        exchange($nginx, '/openai', head_of($json), [$malformed]);
        is_logged($nginx, '-', "'$malformed'");
    }
    is(exchange($nginx, '/openai', head_of($json), [], method => 'HEAD')->status, 200, 'HEAD');
    is_logged($nginx, '-', '... has no body');
    exchange($nginx, '/openai', "HTTP/1.1 204 No Content\r\nContent-Type: $json\r\n\r\n", []);
    is_logged($nginx, '-', 'nor has 204');
    exchange($nginx, '/openai', "HTTP/1.1 206 Partial Content\r\nContent-Type: $json\r\nContent-Range: bytes 0-27/100\r\nContent-Length: 28\r\n\r\n", [$usage]);
    is_logged($nginx, '-', 'a part of a document is none');
    exchange($nginx, '/openai', "HTTP/1.1 500 Oops\r\nContent-Type: $json\r\nContent-Length: 28\r\n\r\n", [$usage]);
    is_logged($nginx, 5, 'an error of the service may have a usage');
};

subtest 'an encoded response' => sub {
    for my $encoding (qw(gzip br)) {
        exchange($nginx, '/openai', head_of($json, "Content-Encoding: $encoding"), ['{"usage":{"total_tokens":5}}']);
        is_logged($nginx, '-', "$encoding is not read");
    }
    my $warning = qr/\[warn\] .*"tollgate_response_json" does not read a response with "Content-Encoding"/;
    like($nginx->error_log, $warning, '... with a warning');
    exchange($nginx, '/openai', head_of($json, 'Content-Encoding: identity'), ['{"usage":{"total_tokens":5}}']);
    is_logged($nginx, 5, 'identity is none');
    my $response = exchange($nginx, '/gzip', head_of($json), [$completion], headers => { 'Accept-Encoding' => 'gzip' });
    is($response->header('Content-Encoding'), 'gzip', 'a response that nginx compresses');
    is_logged($nginx, 42, '... is read before');
};

subtest 'what nginx does with a response' => sub {
    is(Http::http_get($nginx, '/returned')->status, 200, 'a response by return');
    is_logged($nginx, 3, '... is read');
    is(Http::http_get($nginx, '/page.html')->body, '{"usage":{"total_tokens":3}}', 'the response to a subrequest');
    is_logged($nginx, '-', '... is not');
    SKIP: {
        skip 'nginx has no addition module', 2 unless $can_add;
        is(exchange($nginx, '/added', head_of($json), [$completion])->body, $completion . '{"usage":{"total_tokens":3}}', 'a subrequest after JSON');
        is_logged($nginx, 42, '... adds nothing');
    }
    is(exchange($nginx, '/intercepted', "HTTP/1.1 503 No\r\nContent-Type: $json\r\n\r\n", [$completion])->json->{usage}{total_tokens}, 4, 'an error page');
    is_logged($nginx, '-', '... belongs to its location');
    for my $case (['internal', 42], ['internal_none', '-']) {
        my ($location, $usage) = @$case;
        my $client = send_request($nginx, '/none');
        my $connection = accept_request();
        $connection->syswrite(head_of($json, "X-Accel-Redirect: /$location/"));
        $connection->close;
        $connection = accept_request();
        $connection->syswrite(head_of($json) . $completion);
        $connection->close;
        is($client->response->body, $completion, "X-Accel-Redirect to $location");
        is_logged($nginx, $usage, '... is read as this location says');
    }
};

subtest 'a cached response' => sub {
    # More than proxy_buffers, so that nginx sends parts of it from the file.
    my $long = $completion =~ s/A \\"usage/'x' x 200_000 . $&/er;
    is(exchange($nginx, '/cached', head_of($json, 'Content-Length: ' . length $long), [$long])->body, $long, 'the response');
    is_logged($nginx, 42, '... is read');
    wait_until('the cache', sub { glob $nginx->dir . '/cache/*' });
    is(Http::http_get($nginx, '/cached')->body, $long, 'the same from the cache');
    is_logged($nginx, 42, '... is read');
    my $part = Http::http_get($nginx, '/cached', Range => 'bytes=200000-');
    is($part->status, 206, 'a part of it');
    is_logged($nginx, '-', '... is not');
};

subtest 'a response that ends early' => sub {
    my $client = send_request($nginx, '/openai');
    my $connection = accept_request();
    $connection->syswrite(head_of($json, 'Content-Length: ' . length $completion) . substr $completion, 0, -10);
    $connection->close;
    ok(!eval { $client->response; 1 }, 'JSON');
    is_logged($nginx, '-', '... has no value');
    exchange($nginx, '/anthropic', head_of($events), [@message_events[0 .. 5], substr($message_events[6], 0, -3)]);
    is_logged($nginx, 34, 'events have that of the last one that is complete');
    exchange($nginx, '/anthropic', head_of($events), [@message_events[0 .. 5], $message_events[6] =~ s/\n+\z//r]);
    is_logged($nginx, 40, '... even without the end of its line');
};

subtest 'a client gets each event before the next one is sent' => sub {
    my $client = send_request($nginx, '/unbuffered');
    my $connection = accept_request();
    $connection->syswrite(head_of($events));
    is($client->_head->status, 200, 'the header');
    my @chunks = chunks(17);
    for my $i (0 .. $#chunks) {
        for my $half (0, 1) {
            my $middle = int(length($chunks[$i]) / 2);
            my $part = $half ? substr($chunks[$i], $middle) : substr($chunks[$i], 0, $middle);
            $connection->syswrite($part);
            $client->_fill until $client->{buffer} =~ s/.*\Q$part\E//s;
        }
        pass("event $i");
    }
    $connection->close;
    $client->closed;
    is_logged($nginx, 17, 'their usage');
};

subtest 'a client that leaves' => sub {
    my $client = send_request($nginx, '/unbuffered');
    my $connection = accept_request();
    $connection->syswrite(head_of($events) . "data: {\"usage\":{\"total_tokens\":6}}\n\n");
    $client->_fill until $client->{buffer} =~ /total_tokens.*\n\n/;
    $client->close;
    is($connection->sysread(my $nothing, 1), 0, 'nginx leaves the service');
    is_logged($nginx, 6, 'the usage so far');
};

subtest 'memory' => sub {
    my ($worker) = $nginx->workers;
    my $peak = sub { (Nginx::_read("/proc/$worker/status") =~ /^VmHWM:\s*(\d+) kB/m)[0] };
    my $before = $peak->();
    for my $location ('/openai', '/unbuffered') {
        my $client = send_request($nginx, $location);
        my $connection = accept_request();
        my $size = 64 << 20;
        my $writer = fork // die "fork: $!\n";
        if (!$writer) {
            my $piece = 'x' x 65536;
            $connection->syswrite(head_of($json) . '{"content":"');
            for (my $sent = 0; $sent < $size; $sent += length $piece) {
                my $done = 0;
                $done += $connection->syswrite($piece, 65536, $done) // POSIX::_exit(1) while $done < length $piece;
            }
            $connection->syswrite('","usage":{"total_tokens":77}}');
            POSIX::_exit(0);
        }
        $connection->close;
        my $body = $client->response->body;
        waitpid $writer, 0;
        is(length $body, $size + length '{"content":"","usage":{"total_tokens":77}}', "a string of 64 MiB at $location");
        is_logged($nginx, 77, '... is read');
    }
    my $grown = $peak->() - $before;
    cmp_ok($grown, '<', 4096, "in $grown KiB");
};
$nginx->stop;

subtest 'values, prices, and a value that is required' => sub {
    my $gateway = Gateway->start(
        plans    => 'plan free 1000000r/h;',
        table    => 'lease=off',
        location => '',
        http     => 'map $answered $price { default 2.5; model-s 0.15; }
                     tollgate_sum $used $prompt*$price $answer*10; log_format usage "$answered|$stop|$prompt|$tollgate_cost";',
        server   => "access_log %DIR%/usage.log usage;
                     tollgate_cost 4000 settle=\$used;
                     tollgate_response_json \$answered /model /message/model;
                     tollgate_response_json \$stop /done;
                     tollgate_response_json \$prompt /usage/prompt_tokens /usage/input_tokens required;
                     tollgate_response_json \$answer /usage/completion_tokens;
                     location /priced { tollgate api; $proxy }
                     location /inner { tollgate api; tollgate_response_json \$stop /stop; $proxy }",
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600, 72);
    ($logged, my $sum) = (0, 0);
    for my $case (
        ['/priced', $json, '{"model":"model-s","done":true,"usage":{"prompt_tokens":1001,"completion_tokens":2}}', 'model-s|true|1001|171', 171],
        ['/priced', $json, '{"model":"other","usage":{"input_tokens":3,"completion_tokens":0}}', 'other|-|3|8', 8],
        ['/priced', $json, '{"model":"other","usage":{"input_tokens":3}}', 'other|-|3|4000', 4000],
        ['/priced', $json, '{"model":"other"}', 'other|-|-|4000', 4000],
        ['/priced', $events, qq(data: {"message":{"model":"m"}}\n\ndata: {"usage":{"prompt_tokens":4,"completion_tokens":1}}\n\ndata: {"done":false}\n\n), 'm|false|4|20', 20],
        ['/inner', $json, '{"model":"x","stop":"end","done":true,"usage":{"prompt_tokens":1,"completion_tokens":1}}', '-|end|-|4000', 4000],
    ) {
        my ($path, $type, $body, $line, $units) = @$case;
        is(exchange($gateway, $path, head_of($type), [$body], headers => { Authorization => 'Bearer k' })->body, $body, $body);
        is(log_line($gateway->nginx), $line, '... its values and cost');
        becomes(sub { $gateway->count('k1', 'api', 3600) }, $sum += $units, '... is counted');
    }
    is($gateway->status->{redis}[0]{usage_missing}, 1, 'a response without a value that is required is counted');
    exchange($gateway, '/priced', head_of('text/html'), ['<p>'], headers => { Authorization => 'Bearer k' });
    log_line($gateway->nginx);
    is($gateway->status->{redis}[0]{usage_missing}, 2, '... also if it is no JSON');
    exchange($gateway, '/priced', "HTTP/1.1 500 Oops\r\nContent-Type: $json\r\nContent-Length: 2\r\n\r\n", ['{}'], headers => { Authorization => 'Bearer k' });
    log_line($gateway->nginx);
    is($gateway->status->{redis}[0]{usage_missing}, 2, '... but no error');
    my @warnings = $gateway->nginx->error_log =~ /\[warn\] .*a response has no value for "\$prompt", which "tollgate_response_json" requires/g;
    is(@warnings, 1, '... and logged once a minute');
    $gateway->nginx->stop;
};

subtest 'a cost that is settled' => sub {
    my $gateway = Gateway->start(
        plans    => 'plan free 100000r/h;',
        table    => 'lease=off',
        location => '',
        http     => "$usage log_format usage '\$usage \$tollgate_cost';",
        server   => "access_log %DIR%/usage.log usage;
                     tollgate_cost 4000 settle=\$total;
                     location /openai { tollgate api; $openai proxy_buffering off; $proxy }
                     location /anthropic { tollgate api; tollgate_cost 4000 settle=\$used; $anthropic $proxy }
                     location /errors { tollgate api; tollgate_json_errors on; $openai $proxy }",
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    ($logged, my $sum) = (0, 0);
    for my $case (
        ['/openai', $json, [$completion], 42, '42 42'],
        ['/openai', $events, [chunks(17)], 17, '17 17'],
        ['/openai', $events, [chunks()], 4000, '- 4000'],
        ['/openai', $events, [chunks(9000)], 9000, '9000 9000'],
        ['/anthropic', $json, [$message], 40, '40 40'],
        ['/anthropic', $events, [@message_events], 40, '40 40'],
        ['/openai', $json, ['{"usage":{"total_tokens":5'], 4000, '- 4000'],
        ['/openai', $json, ['{"usage":{"total_tokens":0}}'], 0, '0 0'],
    ) {
        my ($path, $type, $pieces, $units, $line) = @$case;
        is(exchange($gateway, $path, head_of($type), $pieces, headers => { Authorization => 'Bearer k' })->status, 200, "$path with $type");
        is_logged($gateway->nginx, $line, '... its usage and cost');
        becomes(sub { $gateway->count('k1', 'api', 3600) }, $sum += $units, '... is counted');
    }
    is($gateway->get('/errors', 'x')->json->{code}, 'invalid_api_key', 'an error of the gateway');
    is_logged($gateway->nginx, '- -', '... is no response of the service');
    $gateway->nginx->stop;
};

done_testing;
