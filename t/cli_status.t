# tollgate status shows the contents of a node's tollgate_status, over HTTP and unix sockets.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Gateway;
use Http qw(http_get);
use JSON::PP ();
use Test::More;
use Wait qw(wait_until free_port);

delete $ENV{TOLLGATE_STATUS};
my $gateway = Gateway->start(
    plans  => 'plan free 3r/d; plan all unlimited;',
    files  => { passwords => "operator:{PLAIN}se%cr\@t\n" },
    server => <<'END',
        listen unix:%DIR%/status.sock;
        location = /status   { tollgate_status; }
        location = /guarded  { tollgate_status; auth_basic status; auth_basic_user_file %DIR%/passwords; }
        location = /text     { return 200 "hello"; }
        location = /json     { return 200 '{"hello":1}'; }
        location = /none     { return 404; }
        location = /large    { root %DIR%; }
        location = /moved    { return 302 /status; }
        location /dry/       { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }
END
);
$gateway->import_key("secret-$_", id => "id-$_", plan => $_) for qw(free all);
open my $large, '>', $gateway->nginx->dir . '/large' or die $!;
truncate $large, 65 << 20 or die $!;
my $tollgate = Command->new;
my $port = $gateway->nginx->port;
my $url = "http://127.0.0.1:$port";
my $socket = 'unix:' . $gateway->nginx->dir . '/status.sock';

sub status { return $tollgate->run('status', @_) }
sub verdicts { return JSON::PP->new->decode(status("$url/status", '--json')->{out})->{requests} }

subtest 'before any request' => sub {
    my $result = status("$url/status");
    is $result->{status}, 0, 'it is answered';
    like $result->{out}, qr/^version +\d+\.\d+\.\d+\ncounting since +\d{4}-\S+Z \(\d+s\)\nworkers +1\nzone +8 MiB\n\nNo requests yet\.\n\nREDIS +main\nreachable from +1 of 1 workers\n/,
        'in lines that can be read';
    is $result->{err}, '', 'and with no complaint';
};

$gateway->get('/', 'secret-free') for 1 .. 5;
$gateway->get('/', 'secret-all') for 1 .. 2;
$gateway->get('/');
$gateway->get('/dry/', 'secret-free');
wait_until('the counts', sub {
    my %count;
    for my $one (@{ verdicts() }) {
        $count{$_} += $one->{verdicts}{$_} + $one->{dry_run}{$_} for keys %{ $one->{verdicts} };
    }
    return $count{granted} == 5 && $count{limited} == 3 && $count{unauthenticated} == 1;
});

subtest 'the Redis of the node' => sub {
    my $warning = qr/\Atollgate: warning: Redis at \S+ loses keys when it ends: /;
    my $configured = Command->new(redis => $gateway->redis->address);
    my $result = $configured->run('status', "$url/status");
    is $result->{status}, 0, 'the status is shown';
    like $result->{err}, $warning, '… with a warning, if the environment says where Redis is';
    like status("$url/status", '--redis', $gateway->redis->address)->{err}, $warning, '… or an option';
    $result = Command->new(redis => 'unix:/nowhere')->run('status', "$url/status");
    is $result->{status}, 0, 'Redis is not needed';
    like $result->{err}, qr/\Atollgate: warning: Redis cannot be checked: no connection to Redis at unix:\/nowhere: .*\n\z/, '… which is said';
};

subtest 'tables' => sub {
    my $text = status("$url/status")->{out};
    like $text, qr/^TABLES +PLAN +GRANTED +LIMITED +UNAUTHENTICATED\n/m, 'verdicts that there were';
    like $text, qr/^api +free +3 +2 +0$/m, '… by table and plan';
    like $text, qr/^api +all +2 +0 +0$/m, '… each of them';
    like $text, qr/^api +- +0 +0 +1$/m, '… and of none';
    like $text, qr/\n\nDry runs \(nothing is refused\):\nTABLES +PLAN +LIMITED\n/, 'dry runs apart';
    like $text, qr/^round trip, median +[<>][\d.]+ms$/m, 'round trips';
    like $text, qr/^commands acquire +[1-9]\d*$/m, 'calls of Redis';
    like $text, qr/^key cache hits +\d+\.\d%$/m, 'the key cache';
    like $text, qr/^ZONE +USED +PLACES +FULL +EVICTIONS\nkeys +2 +\d+ +0\.\d% +0\n/m, 'the zone';
};

subtest 'ways to ask' => sub {
    like status("$socket:/status")->{out}, qr/^version /, 'a unix socket';
    like status("http://$socket:/status")->{out}, qr/^version /, '… as proxy_pass has it';
    my $guarded = "http://operator:se%25cr%40t\@127.0.0.1:$port/guarded";
    like status($guarded)->{out}, qr/^version /, 'a user and a password';
    local $ENV{TOLLGATE_STATUS} = $guarded;
    like status()->{out}, qr/^version /, '… from the environment';
};

subtest '--json' => sub {
    my $json = JSON::PP->new->utf8->canonical;
    my ($told, $answered);
    # A call of Redis may end between the two answers.
    wait_until('equal answers', sub {
        $told = $json->decode(status("$url/status", '--json')->{out});
        $answered = http_get($gateway, '/status')->json;
        delete @$_{qw(uptime)} for $told, $answered;
        return $json->encode($told) eq $json->encode($answered);
    });
    is_deeply $told, $answered, 'is what the node answers';
    is scalar(split(/\n/, status("$url/status?format=json", '--json')->{out})), 1, '… as it is';
};

subtest 'failures' => sub {
    my $closed = free_port();
    my $secret = "http://operator:hunter2\@127.0.0.1:$port/guarded";
    my @cases = (
        ["$url/none",                       1, qr{^tollgate: \Q$url\E/none responds with HTTP status 404\n\z}],
        [$secret,                           1, qr{^tollgate: http://127\.0\.0\.1:$port/guarded responds with HTTP status 401\n\z}],
        ["$url/large",                      1, qr{^tollgate: \Q$url\E/large responds with more than 64 MiB\n\z}],
        ["$url/moved",                      1, qr{HTTP status 302\n\z}],
        ["$url/text",                       1, qr{^tollgate: \Q$url\E/text does not return a tollgate_status document: check the URL\n\z}],
        ["$url/json",                       1, qr{does not return a tollgate_status document: check the URL\n\z}],
        ["$url/status?format=prometheus",   1, qr{^tollgate: \Q$url\E/status does not return a tollgate_status document}],
        ["http://127.0.0.1:$closed/status", 1, qr{^tollgate: no response from http://127\.0\.0\.1:$closed/status: .*connect}],
        ["https://127.0.0.1:$port/status",  1, qr{^tollgate: no response from https://}],
        ['unix:/nowhere/x.sock:/status',    1, qr{^tollgate: no response from unix:/nowhere/x\.sock:/status: }],
        ['file:///etc/passwd',              2, qr{^tollgate: invalid URL: it must begin with http://, https:// or unix:\n\z}],
        ["127.0.0.1:$port/status",          2, qr{^tollgate: invalid URL: }],
        ['http://[::1/status',              2, qr{^tollgate: invalid URL: }],
        ['unix::/status',                   2, qr{^tollgate: invalid URL: the socket}],
    );
    for my $case (@cases) {
        my ($address, $status, $message) = @$case;
        my $result = status($address);
        is $result->{status}, $status, "$address: $status";
        like $result->{err}, $message, '… with the reason';
        is $result->{out}, '', '… and nothing else';
        unlike $result->{err}, qr/hunter2/, '… nor the password';
    }
    is status()->{status}, 2, 'no URL';
};

$gateway->nginx->stop;
done_testing;
