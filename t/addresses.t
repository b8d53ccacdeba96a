# `from`: a key may be used from some addresses only. Others get 403 before anything is counted.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway qw(wait_for_room);
use Test::More;
use Wait qw(becomes);

my $gateway = Gateway->start(
    plans    => 'plan free 3r/h; ban after=3 within=1h for=1h; anonymous 2r/h;',
    table    => 'lease=off',
    http     => <<'END',
        set_real_ip_from unix:;
        set_real_ip_from 127.0.0.1;
        real_ip_header X-Real-IP;
END
    server => <<'END',
        location = /usage { tollgate api; tollgate_usage; }
        location /admin/  { tollgate api; tollgate_scope keys; tollgate_admin main; }
END
);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
wait_for_room($gateway->redis, 3600);
$gateway->subscribed(1);

sub answer {
    my ($path, $token, $address) = @_;
    my $r = $gateway->get($path, $token, defined $address ? ('X-Real-IP' => $address) : ());
    return $r->status . ($r->status == 200 ? '' : ' ' . $r->json->{code});
}
sub counted { return $gateway->count($_[0], 'api', 3600) // 0 }

my $issued = $tollgate->json(qw(key issue --plan free --id shop --from), '192.0.2.77/24 2001:db8::/32', '--from', '203.0.113.9');
my $key = $issued->{key};
my $other = '403 address_not_allowed';

subtest 'addresses' => sub {
    is_deeply($issued->{from}, ['192.0.2.0/24', '2001:db8::/32', '203.0.113.9'], 'the command shows them');
    is(answer('/', $key, '192.0.2.1'), '200', 'in a block');
    is(answer('/', $key, '192.0.3.1'), $other, 'in none');
    is(answer('/', $key, '2001:db8:1::7'), '200', 'IPv6');
    is(answer('/', $key, '2001:db9::7'), $other, 'in no block of IPv6');
    is(answer('/', $key, '::ffff:203.0.113.9'), '200', 'IPv4 as mapped to IPv6');
    is(answer('/usage', $key, '192.0.3.1'), $other, 'in front of tollgate_usage');
    is(answer('/admin/keys', $key, '192.0.3.1'), $other, 'in front of tollgate_admin');
};

subtest 'a refusal' => sub {
    my $before = counted('shop');
    my $r = $gateway->get('/', $key, 'X-Real-IP' => '198.51.100.1');
    is_deeply([@{ $r->json }{qw(code status message)}], ['address_not_allowed', 403, 'This API key may not be used from this address.'], 'the Error body');
    is($r->header($_), undef, "no $_") for qw(WWW-Authenticate Retry-After);
    is(answer('/', $key, '198.51.100.1'), $other, 'again') for 1 .. 5;
    is(counted('shop'), $before, 'nothing is counted');
    is(answer('/', $key, '192.0.2.1'), '429 rate_limit_exceeded', 'the quota is spent');
    is(answer('/', $key, '198.51.100.1'), $other, 'a refused address is no strike');
    is(answer('/', $key, '192.0.2.1'), '429 rate_limit_exceeded', 'the second strike');
    is(answer('/', $key, '192.0.2.1'), '429 api_key_banned', 'the ban');
    is(answer('/', 'unknown', '198.51.100.1'), '401 invalid_api_key', 'the budget of the address is not charged');
    like($gateway->nginx->error_log, qr/\[error\] .*tollgate refuses the request: address_not_allowed, key "shop", plan "free"/, 'the log has the id of the key');
};

subtest 'changes' => sub {
    my $second = $tollgate->json(qw(key issue --plan free --id second))->{key};
    is(answer('/', $second, '198.51.100.1'), '200', 'without addresses, any is allowed');
    $tollgate->run(qw(key set second --from), '192.0.2.1');
    becomes(sub { answer('/', $second, '198.51.100.1') }, $other, 'a change takes effect');
    like($tollgate->run(qw(key show second))->{out}, qr/from\s+192\.0\.2\.1/i, 'it is shown');
    $tollgate->run(qw(key set second --from none));
    becomes(sub { answer('/', $second, '198.51.100.1') }, '200', '... and its end');
    my $rotated = $tollgate->json(qw(key rotate shop --overlap 0s));
    is_deeply($rotated->{from}, ['192.0.2.0/24', '2001:db8::/32', '203.0.113.9'], 'a rotation keeps them');
    is(answer('/', $rotated->{key}, '198.51.100.1'), $other, '... and the new key is refused elsewhere');
};

subtest 'what is not valid' => sub {
    my $refused = sub { my $result = $tollgate->run(qw(key set second --from), @_); return "$result->{status} $result->{err}" };
    like($refused->('192.0.2.1/33'), qr/^2 .*--from: invalid block: use addresses such as/s, 'no block');
    like($refused->(join ' ', map { "10.0.$_.1" } 1 .. 17), qr/^2 .*more than 16 blocks/s, 'too many');
    $gateway->import_key('bad', id => 'bad', plan => 'free', from => 'everywhere');
    is(answer('/', 'bad', '192.0.2.1'), '401 invalid_api_key', 'a record with an invalid block is refused');
};

$gateway->nginx->stop;
done_testing;
