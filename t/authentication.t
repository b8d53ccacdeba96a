# Authentication: forms of bearer credentials, key records, and the responses to refused clients.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Http qw(http_raw);
use Load;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; plan enterprise custom;',
    redis  => 'key_cache 0;',
    http   => 'tollgate_plans narrow { plan gold 10r/d; } tollgate_plans wide { plan gold 10r/d; default gold; }',
    server => <<'END',
        location /narrow/ { tollgate narrow; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /wide/   { tollgate wide;   proxy_pass http://unix:%DIR%/upstream.sock; }
        location /realm/  { tollgate api; tollgate_realm "a \"b\" \\ c\r\nX-Injected: 1\t$arg_r"; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /path/   { tollgate api; tollgate_realm $uri; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /warned/ { tollgate api; tollgate_log_level warn; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /basic/  { tollgate api; tollgate_realm ""; proxy_pass http://unix:%DIR%/upstream.sock; }
END
);
my $redis = $gateway->redis;
$gateway->import_key('k', id => 'k1', plan => 'free');

# The status, the code of the Error body, and what WWW-Authenticate says after the realm.
sub answer {
    my ($field, $path) = @_;
    my $r = $gateway->request('GET', $path // '/', { Authorization => $field });
    my ($error) = ($r->header('WWW-Authenticate') // '-') =~ /^(?:Bearer realm="api"(?:, )?)?(.*)$/;
    return $r->status == 200 ? 200 : join ' ', $r->status, $r->json->{code}, $error;
}

my $missing = '401 missing_api_key ';
my $invalid = '401 invalid_api_key error="invalid_token"';

subtest 'the scheme in any case, and spaces' => sub {
    is(answer($_), 200, $_) for 'Bearer k', 'bearer k', 'BEARER k', 'bEaReR k', 'Bearer  k', 'Bearer       k', 'Bearer k  ';
};

subtest 'no key' => sub {
    is(answer($_), $missing, $_ // 'no field') for undef, '', 'Bearer', 'Bearer   ', 'Basic azpr', 'Bearerk', 'Digest k', 'k', "Bearer\tk";
};

subtest 'malformed keys' => sub {
    is(answer("Bearer $_"), $invalid, $_)
        for 'k k', 'k"', '"k"', "k'", 'k,k', 'k;', 'k=k', '=', '==k', "k\tx", "k\x01", "k\x7f", "k\xe9", 'k*', '{k}', 'k:k', '$k', '%6b';
    is(answer('Bearer ' . 'k' x 513), $invalid, '513 bytes');
    is(answer('Bearer ' . 'k' x 4000), $invalid, '4,000 bytes');
};

subtest 'well-formed keys' => sub {
    for my $key ('AZaz09-._~+/', 'k==', 'k' x 512) {
        $gateway->import_key($key, id => 'k1', plan => 'free');
        is(answer("Bearer $key"), 200, substr $key, 0, 20);
    }
};

subtest 'the record of the key' => sub {
    is(answer('Bearer K'), $invalid, 'keys are case-sensitive');
    my %refused = (
        disabled              => { state => 'disabled' },
        'of an odd state'     => { state => 'Active' },
        expired               => { expires => int(time) - 1 },
        'expires: not a time' => { expires => 'tomorrow' },
        'expires: half a one' => { expires => int(time) + 60 . 's' },
        'expires: negative'   => { expires => -1 },
        'expires: too large'  => { expires => '9' x 30 },
        'id with CR LF'       => { id => "k\r\nX-Injected: 1" },
        'id with a brace'     => { id => 'k}{' },
        'id with a quote'     => { id => 'k"' },
        'id with NUL'         => { id => "k\0" },
        'id: empty'           => { id => '' },
        'id: too long'        => { id => 'k' x 65 },
        'plan with CR LF'     => { plan => "free\r\n" },
        'plan: empty'         => { plan => '' },
        'name with CR LF'     => { name => "a\r\nX-Injected: 1" },
    );
    for my $name (sort keys %refused) {
        $gateway->import_key('odd', id => 'k2', plan => 'free', %{ $refused{$name} });
        is(answer('Bearer odd'), $invalid, $name);
        $redis->cmd('DEL', 't:key:' . sha256_hex('odd'));
    }
    for my $field (qw(plan state)) {
        $gateway->import_key('odd', id => 'k2', plan => 'free');
        $redis->cmd('HDEL', 't:key:' . sha256_hex('odd'), $field);
        is(answer('Bearer odd'), $invalid, "no $field");
    }
    like($gateway->nginx->error_log, qr/malformed record of a key/, 'a malformed record is logged');
    unlike($gateway->nginx->error_log, qr/^X-Injected/m, '... on one line');
};

subtest 'a key that is about to expire' => sub {
    my ($expires, $answer);
    do {    # again if the response came too late to tell
        $expires = int(time) + 2;
        $gateway->import_key('brief', id => 'k3', plan => 'free', expires => $expires);
        $answer = answer('Bearer brief');
    } until time < $expires;
    is($answer, 200, 'is valid until it expires');
    wait_until('its end', sub { time >= $expires });
    is(answer('Bearer brief'), $invalid, '... and then no longer');
};

subtest 'the checksum of issued keys' => sub {
    my $calls = sub { $redis->cmd('INFO', 'commandstats') =~ /cmdstat_hmget:calls=(\d+)/ ? $1 : 0 };
    my $before = $calls->();
    is(answer("Bearer $_"), $invalid, $_) for 'tg_', 'tg_' . 'a' x 38, 'tg_' . 'a' x 37, 'tg_' . '-' x 38;
    is($calls->(), $before, 'a wrong checksum is refused without a look-up');
    is(answer('Bearer Tg_' . 'a' x 38), $invalid, 'a key in another format');
    is($calls->(), $before + 1, '... is looked up');
};

subtest 'plans' => sub {
    is(answer('Bearer k', '/narrow/'), '403 plan_not_allowed -', 'a plan that is not in the table');
    is(answer('Bearer k', '/wide/'), 200, 'a table with a default plan');
    my %custom = ('10r/m 100r/d' => 200, '5r/m 4r/h' => 403, '' => 403, 'many' => 403, '10r/m;' => 403, "10r/m\r\nX: 1" => 403);
    for my $limits (sort keys %custom) {
        $gateway->import_key('own', id => 'k4', plan => 'enterprise', limits => $limits);
        like(answer('Bearer own'), qr/^$custom{$limits}/, "custom limits: $limits");
    }
    unlike($gateway->nginx->error_log, qr/^X: 1/m, 'invalid limits are logged on one line');
    $gateway->import_key('own', id => 'k4', plan => 'enterprise', limits => '5r/m 4r/h');
    wait_until('invalid limits are logged', sub {
        answer('Bearer own');
        return $gateway->nginx->error_log =~ /limits of key "k4": "4r\/h" allows less/;
    });
    my $lines = sub { scalar(() = $gateway->nginx->error_log =~ /limits of key "k4"/g) };
    my $before = $lines->();
    my $refused = Load->run(servers => [$gateway->address], connections => 4, requests => 3000, token => 'own')->{status}{403};
    is($refused, 3000, 'a client that goes on is refused');
    cmp_ok($lines->() - $before, '<', 100, '... and does not fill the log');
};

subtest 'the realm' => sub {
    my $r = $gateway->get('/realm/?r=x"y%0d');
    is($r->header('WWW-Authenticate'), 'Bearer realm="a \\"b\\" \\\\ c  X-Injected: 1 x\\"y%0d"', 'is quoted, its control characters are spaces');
    is($r->header('X-Injected'), undef, '... and add no field');
    $r = $gateway->get('/path/%0d%0aX-Injected:%201%0d%0a%0d%0a"');
    is($r->header('WWW-Authenticate'), 'Bearer realm="/path/  X-Injected: 1    \\""', '... nor does a decoded path');
    is($r->json->{code}, 'missing_api_key', '... and the Error body is unchanged');
    is($gateway->get('/basic/')->header('WWW-Authenticate'), 'Bearer realm=""', 'may be empty');
    is(scalar(() = $gateway->get('/')->headers('WWW-Authenticate')), 1, 'one challenge');
    is($gateway->get('/', 'k')->header('WWW-Authenticate'), undef, 'no challenge for a valid key');
};

subtest 'two Authorization fields' => sub {
    for my $pair (['k', 'k'], ['k', 'other'], ['other', 'k']) {
        my $r = $gateway->request('GET', '/', { Authorization => [map { "Bearer $_" } @$pair] });
        is($r->status, 400, "@$pair: nginx refuses the request");
    }
};

subtest 'bytes that are invalid in a header field' => sub {
    for my $key ("k\0", "k\0\r\nX: 1", "\0k", "k\rX: 1") {
        (my $name = $key) =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ge;
        my $r = http_raw($gateway, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer $key\r\n\r\n");
        like($r->status, qr/^40[01]$/, $name);
    }
};

subtest 'the log line of a refusal' => sub {
    my $log = sub { my $old = length $gateway->nginx->error_log; $gateway->get(@_); substr $gateway->nginx->error_log, $old };
    like($log->('/'), qr/\[error\] .*tollgate refuses the request: missing_api_key, key "", plan "", client: 127/, 'level error');
    like($log->('/warned/'), qr/\[warn\] .*tollgate refuses the request: missing_api_key/, 'the level of tollgate_log_level');
    like($log->('/narrow/', 'k'), qr/plan_not_allowed, key "k1", plan "free"/, 'the line has the id of the key');
};

$gateway->nginx->stop;
done_testing;
