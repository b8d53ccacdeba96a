# HTTP/3: a request over QUIC is authenticated, counted and shows its fields, as over TCP. A stream that is reset settles
# its cost and gives its place back. Its key is in no log.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Certificates;
use Gateway qw(wait_for_room);
use HeldUpstream;
use IO::Select;
use Nginx;
use Wait qw(becomes free_port);

plan skip_all => 'this nginx has no HTTP/3' unless Nginx->built_with('with-http_v3_module');
plan skip_all => 'this curl has no HTTP/3' unless `curl --version` =~ /\bHTTP3\b/;

my $certificates = Certificates->new;
$certificates->issue('server', 'DNS:localhost');
my $port = free_port();
my $held = HeldUpstream->new;
my $gateway = Gateway->start(
    plans    => 'plan free 3r/h 1000r/d; anonymous 100r/m;',
    log_level => 'debug',
    location => 'access_log %DIR%/access.log verdict;',
    http     => 'log_format verdict "$server_protocol $tollgate_verdict $tollgate_key_id";
        tollgate_plans held { plan free 1000r/h in_flight=2; }',
    server   => "location /held { tollgate held; tollgate_cost 10 settle=\$upstream_http_x_used; proxy_pass http://unix:@{[$held->path]}; }
        location /quick { tollgate held; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /header/ { tollgate api; tollgate_key_from header:apikey; proxy_pass http://unix:%DIR%/upstream.sock; }
        listen 127.0.0.1:$port quic; ssl_certificate @{[$certificates->certificate('server')]}; ssl_certificate_key @{[$certificates->key('server')]};",
);
$gateway->import_key('secret', id => 'k1', plan => 'free');
wait_for_room($gateway->redis, 3600);

my $tls = "--http3-only --cacert '@{[$certificates->certificate('ca')]}' --resolve localhost:$port:127.0.0.1";

# The status, the fields by their names in lower case, and the body.
sub fetch {
    my (@options) = @_;
    my $path = @options && $options[0] =~ m{^/} ? shift @options : '/path';
    my $text = `curl --silent --include --max-time 20 $tls @options https://localhost:$port$path`;
    my ($head, $body) = split /\r\n\r\n/, $text, 2;
    my ($status) = $head =~ m{^HTTP/3 (\d+)} or die "no response over HTTP/3: $text\n";
    my %fields = map { /^([^:]+): (.*)$/ ? (lc $1 => $2) : () } split /\r\n/, $head;
    return ($status, \%fields, $body);
}

my ($status, $fields) = fetch();
is($status, 401, 'without a key');
is($fields->{'www-authenticate'}, 'Bearer realm="api"', 'the challenge');
($status) = fetch("-H 'Authorization: Bearer wrong'");
is($status, 401, 'with a wrong key');

my @key = "-H 'Authorization: Bearer secret'";
($status, $fields, my $body) = fetch(@key);
is($status, 200, 'with a key');
is_deeply([@$fields{qw(x-ratelimit-limit x-ratelimit-remaining)}], [3, 2], 'the fields show the quota');
like($body, qr{^uri=/path authorization= }, 'the upstream does not get the key');
is($gateway->count('k1', 'api', 3600), 1, 'the request is counted');

($status) = fetch(@key, "--data-binary 'a body'");
is($status, 200, 'a request with a body');
($status) = fetch(@key, '--head');
is($status, 200, 'HEAD');
($status, $fields) = fetch(@key);
is($status, 429, 'the fourth request');
like($fields->{'retry-after'}, qr/^[1-9]\d*$/, 'Retry-After');
is($gateway->count('k1', 'api', 3600), 3, 'the refused request is not counted');
becomes(sub { open my $log, '<', $gateway->nginx->dir . '/access.log' or die $!; local $/; readline $log },
    join('', map { "HTTP/3.0 $_\n" } 'unauthenticated -', 'unauthenticated -', ('granted k1') x 3, 'limited k1'),
    'the log has the verdicts');

# Two streams of one connection. curl resets the one whose time has passed.
{
    my $options = "--silent $tls @key https://localhost:$port/held";
    open my $output, '-|', "curl --parallel --max-time 1 $options --next --write-out '%{num_connects}' $options" or die $!;
    my @upstreams = map { $held->accept } 1, 2;
    my ($reset) = IO::Select->new(@upstreams)->can_read(30);
    is($reset && $reset->sysread(my $nothing, 1), 0, 'the request to the upstream ends with its stream');
    becomes(sub { (fetch('/quick', @key))[0] }, 200, '… and its place is free');
    HeldUpstream::answer($_, 'X-Used' => 4) for grep { $_ != $reset } @upstreams;
    is(join('', <$output>), "ok\n0", 'the other stream of the connection ends as usual');
    becomes(sub { $gateway->count('k1', 'held', 3600) }, 10 + 1 + 4, '… and is settled; for the other one, the reservation stands');
}

# curl puts some fields into the table of QPACK and sends others as literals.
my $canary = 'CaNaRy0123456789';
$gateway->import_key($canary, id => 'k2', plan => 'free');
for my $name ('apikey', 'Authorization') {
    ($status) = fetch($name eq 'apikey' ? '/header/' : '/path', map { "-H '$name: " . ($name eq 'apikey' ? '' : 'Bearer ') . "$_'" } $canary);
    is($status, 200, "a key in $name");
}
($status) = fetch('/header/', "-H 'apikey: $canary.unknown'");
is($status, 401, 'a key that is not valid');
$gateway->nginx->stop;
my $log = $gateway->nginx->error_log;
like($log, qr/http3 header: "apikey: \*/, 'the error log has a field with a key') if Nginx->built_with('with-debug');
is(join('', grep { /\Q$canary/ } split /^/, $log), '', '… and no key');
done_testing;
