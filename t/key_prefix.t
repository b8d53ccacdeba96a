# Prefixes of issued keys, and the regular expressions and the checksum that keys.md describes for secret scanning.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Compress::Zlib qw(crc32);
use Gateway;
use JSON::PP qw(decode_json);
use Test::More;

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/h;',
    server => 'location /admin/ { tollgate api; tollgate_scope keys; tollgate_admin main; }',
);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
my $readme = do { open my $file, '<', 'module/docs/keys.md' or die $!; local $/; <$file> };
my %expression = map { /\\b([a-z_]+)_\[/ ? ($1 => qr/$_/) : () } $readme =~ /^    (\\b\S+_\[0-9A-Za-z\]\S+)$/mg;

# The checksum, as keys.md describes it.
sub checksum_is_right {
    my ($key) = @_;
    my ($body, $digits) = $key =~ /\A(.*)(.{6})\z/ or return 0;
    my $alphabet = join '', 0 .. 9, 'A' .. 'Z', 'a' .. 'z';
    my $number = 0;
    $number = $number * 62 + index $alphabet, $_ for split //, $digits;
    return $number == crc32($body);
}

sub is_key {
    my ($key, $prefix, $name) = @_;
    like("x = \"$key\";", $expression{$prefix}, "$name: the expression finds it");
    ok(checksum_is_right($key), '... its checksum is right');
    is($gateway->get('/', $key)->status, 200, '... the gateway accepts it');
}

subtest 'the command' => sub {
    is_deeply([sort keys %expression], [qw(acme_live tg)], 'two expressions');
    my $issued = $tollgate->json(qw(key issue --plan free --id acme --key-prefix acme_live));
    is($issued->{prefix}, 'acme_live', 'the prefix is shown');
    is_key($issued->{key}, 'acme_live', 'an issued key');
    is_key($tollgate->json(qw(key rotate acme))->{key}, 'acme_live', 'its successor');
    $tollgate->json(qw(key set acme --key-prefix none));
    is_key($issued->{key}, 'acme_live', 'the key after a change of the prefix');
    is_key($tollgate->json(qw(key rotate acme --overlap 0s))->{key}, 'tg', 'the next successor');
    my $tg = $tollgate->json(qw(key issue --plan free --id tg --key-prefix tg));
    is($tg->{prefix}, undef, 'tg is no other prefix');
    is_key($tg->{key}, 'tg', '... of a key');
    like($tollgate->run(qw(key issue --plan free --key-prefix), $_)->{err}, qr/--key-prefix: invalid prefix: use 1 to 32/, "not $_") for 'tg_live', 'Acme', 'acme_';
};

subtest 'tollgate_admin' => sub {
    my $operator = $tollgate->json(qw(key issue --plan free --id operator --scope keys))->{key};
    my $send = sub {
        my ($path, $body) = @_;
        my %headers = (Authorization => "Bearer $operator", 'Content-Type' => 'application/json');
        my $r = $gateway->request('POST', $path, \%headers, $body);
        return { status => $r->status, %{ decode_json($r->body) } };
    };
    my $made = $send->('/admin/keys', '{"id":"api","plan":"free","prefix":"acme_live"}');
    is("$made->{status} $made->{prefix}", '201 acme_live', 'a new key');
    is_key($made->{key}, 'acme_live', '...');
    is_key($send->('/admin/keys/api/rotate', '{}')->{key}, 'acme_live', 'its successor');
    is($send->('/admin/keys', '{"plan":"free","prefix":"tg_x"}')->{code}, 'invalid_request', 'an invalid prefix');
};

subtest 'a mistyped key' => sub {
    my $calls = $gateway->calls(sub { is($gateway->get('/', 'tg_' . '0' x 38)->status, 401, 'of tg_') });
    is($calls, 0, '... is refused without a look-up');
    $calls = $gateway->calls(sub { is($gateway->get('/', 'acme_live_' . '0' x 38)->status, 401, 'of another prefix') });
    is($calls, 1, '... is looked up: it may be imported');
};

$gateway->nginx->stop;
done_testing;
