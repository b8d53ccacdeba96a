# A key is only in the client's request: it is not in logs of any level, in Redis or at the upstream.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Http qw(http_raw);
use Http2;
use IO::Socket::INET;
use IO::Socket::UNIX;

my $gateway = Gateway->start(
    plans     => 'plan free 1000r/d; anonymous 1000r/h;',
    log_level => 'debug',
    files     => { page => "a page\n", 'ssi.html' => '<!--#include virtual="/" -->' },
    http      => <<'END',
        log_format all '$request $status "$http_authorization" "$http_x_ratelimit_limit" $tollgate_key_id $request_uri';
        limit_req_zone $server_protocol zone=one:64k rate=1r/m;
END
    server => <<'END',
        listen 127.0.0.1:%PORT2% http2;
        access_log %DIR%/access.log all;
        root %DIR%;
        location /any/       { tollgate api; satisfy any; allow all; proxy_pass http://unix:%DIR%/raw.sock; }
        location /raw/       { tollgate api; proxy_pass http://unix:%DIR%/raw.sock; }
        location /bypass/    { tollgate api; tollgate_bypass $arg_free; proxy_pass http://unix:%DIR%/raw.sock; }
        location /dry/       { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/raw.sock; }
        location /mirrored/  { tollgate api; satisfy any; allow all; mirror /mirror; try_files /page =404; }
        location = /mirror   { internal; proxy_pass http://unix:%DIR%/raw.sock; }
        location /ssi.html   { ssi on; access_log off; }
        location /return/    { tollgate api; return 200 "returned\n"; }
        location /denied/    { tollgate api; deny all; }
        location /checked/   { tollgate api; if ($http_authorization = x) { return 400; } proxy_pass http://unix:%DIR%/upstream.sock; }
        location /limited/   { tollgate api; limit_req zone=one; }
        location /fallback/  { tollgate api; error_page 401 403 404 429 @raw; try_files /none =404; }
        location /slowed/    { tollgate api; limit_req zone=one; error_page 503 @raw; }
        location /turned/    { tollgate api; deny all; error_page 403 = @raw; }
        location /large/     { tollgate api; client_max_body_size 1; error_page 413 @raw; }
        location @raw        { proxy_pass http://unix:%DIR%/raw.sock; }
        location /forward/   { tollgate api; tollgate_forward_authorization on; proxy_pass http://unix:%DIR%/raw.sock; }
        location /own/       { error_log %DIR%/own.log debug; tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /syslog/    { error_log syslog:server=127.0.0.1:%PORT3% debug; tollgate api; tollgate_forward_authorization on; proxy_pass http://unix:%DIR%/upstream.sock; }
END
);
my ($redis, $dir) = ($gateway->redis, $gateway->nginx->dir);
my $canary = 'CaNaRy0123456789';
my $known = "$canary.known";
$gateway->import_key($known, id => 'k1', plan => 'free', name => 'a name');
$gateway->import_key("$canary.disabled", id => 'k2', plan => 'free', state => 'disabled');

my $monitor = $redis->connection;
$monitor->cmd('MONITOR');

# An upstream that records the bytes that it gets.
my $upstream = IO::Socket::UNIX->new(Local => "$dir/raw.sock", Listen => 8) or die $!;

# Sends a request, answers it at the upstream, and returns what the upstream got.
sub upstream_gets {
    my ($path, %headers) = @_;
    my $client = Http->connect($gateway);
    $client->send(Http::format_request('GET', $path, { Connection => 'close', %headers }));
    IO::Select->new($upstream)->can_read(10) or die "nothing reaches the upstream\n";
    my $connection = $upstream->accept;
    my $bytes = '';
    sysread $connection, $bytes, 65536, length $bytes or die "no request\n" until $bytes =~ /\r\n\r\n/;
    syswrite $connection, "HTTP/1.0 200 OK\r\nX-Auth: none\r\n\r\nraw\n";
    close $connection;
    is($client->response->status =~ /^[245]/, 1, "$path: answered");
    return $bytes;
}

my @forged = map { ("X-RateLimit-$_" => 'forged', "x-ratelimit-\L$_" => 'forged') } qw(Limit Remaining Reset);
my %with_key = (Authorization => "Bearer $known", RateLimit => 'forged', 'RateLimit-Policy' => 'forged', 'X-Other' => 'kept', @forged);

subtest 'the upstream' => sub {
    for my $path ('/raw/', '/any/', '/bypass/?free=1', '/dry/', '/mirrored/', '/fallback/') {
        my $got = upstream_gets($path, %with_key);
        unlike($got, qr/$canary|Authorization/i, "$path: no key");
        unlike($got, qr/forged|ratelimit/i, "$path: none of the fields that are the gateway's");
        like($got, qr/^X-Other: kept\r$/m, "$path: others are kept");
    }
    my $got = upstream_gets('/fallback/', %with_key, Authorization => "Bearer $canary.unknown");
    unlike($got, qr/$canary|Authorization/i, 'a refused key does not reach the page of an error');
    $gateway->get('/slowed/');
    for my $path ('/slowed/', '/turned/', '/large/') {
        unlike(upstream_gets($path, %with_key, $path eq '/large/' ? ('Content-Length' => 2) : ()), qr/$canary|Authorization/i, "$path: no key if nginx rejected the request first");
    }
    like(upstream_gets('/forward/', %with_key), qr/^Authorization: Bearer \Q$known\E\r$/m, 'tollgate_forward_authorization');
    unlike(upstream_gets('/forward/', %with_key), qr/forged/, '... forwards nothing else');
    unlike($gateway->get('/ssi.html', $known)->body, qr/$canary/, 'a subrequest');
};

my $syslog = IO::Socket::INET->new(Proto => 'udp', LocalAddr => '127.0.0.1:' . $gateway->nginx->port(3)) or die $!;
my $system_log = '';
$syslog->blocking(0);

subtest 'requests of all kinds' => sub {
    my @keys = ($known, map { "$canary$_" } '.disabled', '.unknown', '"quoted', '" quoted', ' two words', '=' x 3, '.' x 600);
    for my $key (@keys, "\"$canary\"", "tg_$canary") {
        $gateway->get($_, $key) for '/', '/return/', '/denied/', '/limited/', '/checked/', '/own/', '/none', '/ssi.html';
        is($gateway->get('/return/', $key)->status, 200, "HTTP/1.1: $key");
        my $http2 = Http2->connect('127.0.0.1:' . $gateway->nginx->port(2));
        for my $indexed (0, 1, 1) {
            my $stream = $http2->request([':path' => '/', authorization => "Bearer $key"], indexed => $indexed);
            ok(length $http2->response($stream), 'HTTP/2' . ($indexed ? ', in its table' : ''));
        }
        $gateway->get('/syslog/', $key);
        while (sysread $syslog, my $datagram, 65536) { $system_log .= $datagram }
    }
    is($gateway->request('GET', '/', { Authorization => ["Bearer $known", "Bearer $known"] })->status, 400, 'two fields');
    is(http_raw($gateway, "GET / HTTP/1.1\r\nHost: a\r\n$_\r\n\r\n")->status, 400, 'a broken field: ' . substr $_, 0, 20)
        for "Authorization: Bearer $known\0", "Authorization : Bearer $known", 'Authorization: Bearer ' . $canary x 3000;
};

subtest 'after a reload' => sub {
    $gateway->nginx->reload;
    is($gateway->get('/', $known)->status, 200, 'a request');
};

# The marks show that the log was written to and that a key could have been in it.
subtest 'the logs' => sub {
    $gateway->nginx->stop;
    my %text = (syslog => $system_log);
    for my $name (qw(error access own)) {
        open my $file, '<', "$dir/$name.log" or die "$name.log: $!\n";
        $text{$name} = do { local $/; <$file> };
    }
    my %mark = (
        error  => [
            qr/http header: "Authorization: \*/, qr/http2 header: "authorization: \*/, qr/http2 table add: "authorization: \*/,
            qr/duplicate header line: "Authorization: \*/, qr/invalid header line: "Authorization: \*/,
            qr/too long header line: "Authorization: \*/, qr/^Authorization: \*/m,
        ],
        own    => [qr/http proxy header:/],
        syslog => [qr/^Authorization: \*/m],
        access => [map { qr/^GET $_ HTTP\/1.1 \d+ "-" "-" /m } '/', '/return/', '/denied/', '/limited/', '/checked/', '/none', '/own/'],
    );
    for my $name (sort keys %mark) {
        like($text{$name}, $_, "$name: $_") for $name eq 'access' || Nginx->built_with('with-debug') ? @{ $mark{$name} } : ();
        is(join('', grep { /\Q$canary/ } split /^/, $text{$name}), '', "$name: no key");
    }
};

subtest 'Redis' => sub {
    my $end = 'end of this test';
    $redis->cmd('ECHO', $end);
    my $seen = '';
    $seen .= $monitor->read . "\n" until $seen =~ /$end/;
    like($seen, qr/"HMGET" "t:key:[0-9a-f]{64}"/, 'MONITOR shows look-ups by digest');
    unlike($seen, qr/\Q$canary/, '... and no key');
    my %dump;
    for my $key (@{ $redis->cmd('KEYS', '*') }) {
        $dump{$key} = $redis->cmd('TYPE', $key) eq 'hash' ? join ' ', @{ $redis->cmd('HGETALL', $key) } : '';
    }
    like(join(' ', %dump), qr/k1/, 'Redis has records');
    unlike(join(' ', %dump), qr/\Q$canary/, '... and no key in them');
};

done_testing;
