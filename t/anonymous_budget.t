# Failed authentications are counted by client address. An address that has spent its budget gets 429 instead of 401. A
# valid key from the same address is still accepted.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(wait_for_room);
use Http qw(http_get);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; anonymous 3r/h;',
    workers => 2,
    http   => <<'END',
        set_real_ip_from 127.0.0.1;
        set_real_ip_from unix:;
        real_ip_header X-Forwarded-For;
        tollgate_plans open { plan free 1000r/d; }
        tollgate_plans other { plan free 1000r/d; anonymous 5r/h 6r/d; }
END
    server => <<'END',
        listen unix:%DIR%/local.sock;
        location /open  { tollgate open; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /other { tollgate open other api; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /dry   { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }
END
);
my $redis = $gateway->redis;
$gateway->import_key('k', id => 'k1', plan => 'free');
wait_for_room($redis, 3600);

sub from { my ($address, $key, $path) = @_; return $gateway->get($path // '/', $key, 'X-Forwarded-For' => $address) }

sub statuses { my ($times, @request) = @_; return join ' ', map { from(@request)->status } 1 .. $times }

subtest 'an IPv4 address' => sub {
    my $before = time;
    my @left = map { from('192.0.2.1', $_) } undef, 'unknown', 'tg_bad', undef;
    my $after = time;
    is(join(' ', map { $_->status } @left), '401 401 401 429', 'three failures, then 429');
    is(join(' ', map { $_->header('X-RateLimit-Remaining') } @left), '2 1 0 0', 'Remaining falls to 0');
    is(join(' ', map { $_->header('X-RateLimit-Limit') } @left), '3 3 3 3', 'Limit');
    my $reset = 3600 * (1 + int($before / 3600));
    is(join(' ', map { $_->header('X-RateLimit-Reset') } @left), "$reset $reset $reset $reset", 'Reset');
    my $refused = $left[3];
    is($refused->json->{code}, 'rate_limit_exceeded', 'code');
    is($refused->header('WWW-Authenticate'), undef, 'no challenge on the 429');
    my $wait = $refused->header('Retry-After');
    ok($wait >= $reset - $after && $wait <= $reset - $before + 2, "Retry-After ($wait) reaches the reset ($reset)")
        or diag("asked from $before to $after");
    is($left[2]->header('Retry-After'), undef, 'no Retry-After on a 401');
    is(from('192.0.2.1', 'k')->status, 200, 'a valid key from there passes');
    is(from('192.0.2.1', 'k')->header('X-RateLimit-Limit'), 1000, '... with its own quota');
    is(from('192.0.2.2')->status, 401, 'the next address has its own budget');
    is(from('::ffff:192.0.2.1')->status, 429, 'the IPv4-mapped IPv6 address is the same address');
};

subtest 'an IPv6 address counts by its /64' => sub {
    is(join(' ', map { from("2001:db8:1:2:$_")->status } ':1', ':2', 'ffff::1', '1:2:3:4'), '401 401 401 429', 'addresses of one /64 share a budget');
    is(from('2001:db8:1:3::1')->status, 401, 'the next /64 has its own');
    is(from('2001:db8:1:2::1', 'k')->status, 200, 'a valid key from there passes');
};

subtest 'clients of a unix socket' => sub {
    my $socket = 'unix:' . $gateway->nginx->dir . '/local.sock';
    is(join(' ', map { http_get($socket, '/')->status } 1 .. 4), '401 401 401 429', 'have a budget of their own');
    is(http_get($socket, '/', 'X-Forwarded-For' => '192.0.2.9')->status, 401, 'realip gives the address instead');
};

subtest 'tables' => sub {
    is(statuses(8, '192.0.2.20', undef, '/open'), '401 ' x 7 . '401', 'a table without `anonymous` has no budget');
    is(from('192.0.2.20', undef, '/open')->header('X-RateLimit-Limit'), undef, '... and shows none');
    is(statuses(6, '192.0.2.21', undef, '/other'), '401 401 401 401 401 429', 'several tables use the first budget');
    is(from('192.0.2.21')->status, 401, 'each table has its own budget');
};

subtest 'dry run' => sub {
    is(statuses(5, '192.0.2.30', undef, '/dry'), '200 200 200 200 200', 'refuses nothing');
    is(from('192.0.2.30')->status, 429, '... but counts');
};

subtest 'other refusals are not charged' => sub {
    $gateway->import_key('gold', id => 'k2', plan => 'gold');
    from('192.0.2.40', 'gold') for 1 .. 5;
    is(from('192.0.2.40', 'gold')->status, 403, 'a plan that is not allowed');
    is(from('192.0.2.40')->header('X-RateLimit-Remaining'), 2, 'the budget is unspent');
};

$gateway->nginx->stop;
done_testing;
