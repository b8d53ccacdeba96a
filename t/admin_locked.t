# The locked location of module/ADMIN.md: who has no certificate, comes from another network, or has no key of an
# operator, gets a refusal before any operation, which costs the key nothing.

use strict;
use warnings;
use lib 't/lib';
use Certificates;
use Command;
use Cwd qw(getcwd);
use File::Temp ();
use JSON::PP qw(encode_json);
use Markdown;
use Nginx;
use RedisServer;
use Test::More;

my $page = Markdown->read(getcwd, 'module/ADMIN.md');
my ($block) = grep { $_->{heading} eq 'A locked location' } $page->blocks('nginx');
my $certificates = Certificates->new;
$certificates->authority('stranger');
$certificates->issue('server', 'IP:127.0.0.1');
$certificates->issue('portal');
$certificates->issue('expired', undef, expired => 1);
$certificates->issue('other', undef, ca => 'stranger');

my %of_this_test = (
    qr/\blisten\s+\K10\.0\.0\.5:8443/              => '127.0.0.1:%PORT%',
    qr/\ballow\s+\K10\.0\.0\.0\/24/                => '127.0.0.1',
    qr/\bssl_certificate\s+\Kadmin\.pem/           => $certificates->certificate('server'),
    qr/\bssl_certificate_key\s+\Kadmin\.key/       => $certificates->key('server'),
    qr/\bssl_client_certificate\s+\Koperators-ca\.pem/ => $certificates->certificate('ca'),
);
my $conf = $block->{text};
for my $pattern (sort keys %of_this_test) {
    $conf =~ s/$pattern/$of_this_test{$pattern}/ or die "the example has no $pattern\n";
}

my $redis = RedisServer->start;
my $nginx = Nginx->start(conf => "tollgate_redis production { server @{[$redis->address]}; prefix petstore:; timeout 2s; }
    tollgate_plans ops { plan ops 600r/d; anonymous 100r/d; }
    $conf");
my $tollgate = Command->new(redis => $redis->address, prefix => 'petstore:');
# The operator's key is that of the page.
my ($bootstrap) = $page->blocks('sh');
my ($operator) = Command->new(redis => $redis->address)->shell("exec 2>/dev/null\n$bootstrap->{text}");
my $portal = $tollgate->json(qw(key list))->[0]{id};
my $customer = $tollgate->json(qw(key issue --plan ops --id customer))->{key};

# Issues a key over the API, with this certificate and key. Returns the status and the code of the Error body.
my $made = 0;
my $response = File::Temp->new;
sub post {
    my (%options) = @_;
    my $name = $options{certificate};
    my ($scheme, $from) = ($options{scheme} // 'https', $options{from} // '127.0.0.1');
    my @curl = (qw(curl -s --max-time 30 -o), $response->filename, '-w', '%{http_code}', '--interface', $from, '--cacert', $certificates->certificate('ca'),
        ($name ? ('--cert', $certificates->certificate($name), '--key', $certificates->key($name)) : ()),
        ($options{key} ? ('-H', "Authorization: Bearer $options{key}") : ()),
        '--json', encode_json({ id => 'made-' . ++$made, plan => 'ops' }), "$scheme://127.0.0.1:" . $nginx->port . '/admin/keys');
    open my $curl, '-|', @curl or die "curl: $!\n";
    my $status = <$curl> // 'none';
    close $curl;
    my $body = do { open my $file, '<', $response->filename or die $!; local $/; <$file> // '' };
    return join ' ', $status, $body =~ /"code":"(\w+)"/;
}

sub counted { return $redis->cmd('HGET', "petstore:quota:{$_[0]}:ops", '86400.count') // 0 }

# The operations that Redis knows of: those of this test's own commands come first.
sub operations { return $redis->cmd('XLEN', 'petstore:audit') }
my $own = operations();

my @locked = (
    ['without TLS',                     '400', scheme => 'http'],
    ['without a certificate',           '400'],
    ['a certificate of another CA',     '400', certificate => 'other'],
    ['a certificate that has expired',  '400', certificate => 'expired'],
    ['from another network',            '403', certificate => 'portal', from => '127.0.0.2'],
    ['without a certificate, from another network', '400', from => '127.0.0.2'],
);
my $calls = $redis->connection;
$calls->cmd('MONITOR');
for (@locked) {
    my ($what, $status, %options) = @$_;
    like(post(%options, key => $operator), qr/^$status\b/, "$what: $status, also with the operator's key");
}
$redis->cmd('ECHO', 'the end of the locked requests');
my @seen;
while ((my $line = $calls->read) !~ /the end of the locked requests/) {
    push @seen, $line if $line =~ /"petstore:(?:key|id|quota)/;
}
is_deeply(\@seen, [], 'none of them looks up a key');
is(counted($portal), 0, '… nor costs it anything');

my @refused = (
    ['no key',                401, 'missing_api_key'],
    ['a made-up key',         401, 'invalid_api_key', key => 'of-somebody'],
    ['a key without the scope', 403, 'insufficient_scope', key => $customer],
);
for (@refused) {
    my ($what, $status, $code, %options) = @$_;
    is(post(certificate => 'portal', %options), "$status $code", "$what, with a certificate: $status $code");
}
is(operations(), $own, 'no operation was executed');
is_deeply([sort map { $_->{id} } @{ $tollgate->json(qw(key list)) }], [sort 'customer', $portal], '… and no key was made');

is(post(certificate => 'portal', key => $operator), '201', 'with certificate and key, from the network: an operation');
is(operations(), $own + 1, '… which the audit has');
is(counted($portal), 1, '… and which is counted');

# The table says what these requests get.
my ($section) = do { open my $file, '<', 'module/ADMIN.md' or die $!; local $/; <$file> } =~ /^## A locked location\n(.*?)^## /ms;
for (@refused) {
    my ($status, $code) = @$_[1, 2];
    like($section, qr/^\|[^|]+\| $status .*`$code`/m, "the page says: $status $code");
}
$nginx->stop;
done_testing;
