# When a key was last used: the gateway writes it to Redis, once a minute and node, and the command shows it.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Test::More;
use Wait qw(wait_until);

my $gateway = Gateway->start(
    plans   => 'plan free 1000000r/d; plan tiny 1r/d; plan all unlimited; anonymous 100000r/d;',
    workers => 2,
    server  => 'location /admin/ { tollgate api; tollgate_scope admin; proxy_pass http://unix:%DIR%/upstream.sock; }',
);
my $redis = $gateway->redis;
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
sub issue { my ($id, @options) = @_; return $tollgate->json(qw(key issue --id), $id, @options)->{key} }
sub used { my ($id, $key) = @_; return $redis->cmd('HGET', "t:used:{$id}", sha256_hex($key)) }

# Both are Unix times, of which the second is in seconds.
sub is_minute_of {
    my ($minute, $from, $to, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my %right = map { ($_ - $_ % 60) => 1 } $from, $to;
    ok($right{ $minute // '' }, $name) or diag(($minute // 'nothing') . " is not the minute of $from or $to");
}
# The clock of Redis is that of this machine.
sub now { return $redis->cmd('TIME')->[0] }

$gateway->subscribed(2);
my %key = (
    free => issue('free', qw(--plan free)),
    busy => issue('busy', qw(--plan free)),
    tiny => issue('tiny', qw(--plan tiny)),
    all  => issue('all', qw(--plan all)),
    off  => issue('off', qw(--plan free)),
    none => issue('none', qw(--plan free)),
);
$tollgate->run(qw(key disable off));
my $begun = now();

subtest 'what is a use' => sub {
    my $monitor = $redis->connection;
    $monitor->cmd('MONITOR');
    is($gateway->get('/', $key{free})->status, 200, 'a granted request');
    $gateway->get('/', $key{busy}) for 1 .. 500;
    is(join(' ', map { $gateway->get('/', $key{tiny})->status } 1 .. 2), '200 429', 'one that is over its limit');
    is($gateway->get('/', $key{all})->status, 200, 'one of an unlimited plan');
    is($gateway->get('/admin/', $key{none})->status, 403, 'one without a scope');
    is($gateway->get('/', $key{off})->status, 401, 'a disabled key');
    is($gateway->get('/', 'unknown')->status, 401, 'an unknown key');
    wait_until("the use of $_", sub { used($_, $key{$_}) }) for qw(free busy tiny all none);
    my $end = now();
    is_minute_of(used($_, $key{$_}), $begun, $end, "$_: the minute of the request") for qw(free busy tiny all none);
    $gateway->get('/', $key{$_}) for (qw(free busy tiny all none)) x 20;
    # Another key is written after these: no further write of them is pending.
    my $last = issue('last', qw(--plan free));
    $gateway->get('/', $last) for 1 .. 4;
    wait_until('the last use', sub { used('last', $last) });
    my %written;
    $redis->cmd('ECHO', 'end of this test');
    while ((my $line = $monitor->read) !~ /end of this test/) {
        $written{"$1 $2"}++ if $line =~ /\[0 lua\] "HSET" "t:used:\{(\w+)\}" "[0-9a-f]{64}" "(\d+)"/;
    }
    for my $id (qw(free busy tiny all none)) {
        is_deeply([grep { $_ != 1 } map { $written{$_} } grep { /^$id / } keys %written], [], "$id: one write for a minute");
        ok((grep { /^$id / } keys %written), '… and at least one');
    }
    is_deeply([grep { !/^(?:free|busy|tiny|all|none|last) / } keys %written], [], 'no write of a key that is not valid');
    is($redis->cmd('EXISTS', 't:used:{off}'), 0, '…');
    is_deeply([sort @{ $redis->cmd('HKEYS', 't:used:{free}') }], [sha256_hex($key{free})], 'the hash has the digest');
    my $lifetime = $redis->cmd('PTTL', 't:used:{free}') / 86_400_000;
    ok($lifetime > 366 && $lifetime <= 367, 'it expires 366 days after the end of the day') or diag $lifetime;
};

subtest 'the command' => sub {
    my $show = $tollgate->json(qw(key show free));
    like($show->{digests}[0]{used}, qr/\A\d{4}-\d\d-\d\dT\d\d:\d\d:00Z\z/, 'key show');
    is($tollgate->json(qw(key show off))->{digests}[0]{used}, undef, '… of a key that was not used');
    my $text = $tollgate->run(qw(key show free))->{out};
    like($text, qr/^sha256 +[0-9a-f]{64}  .*  used \Q$show->{digests}[0]{used}\E$/m, '… as a text');
    my %listed = map { $_->{id} => $_->{digests}[0]{used} } @{ $tollgate->json(qw(key list)) };
    is($listed{free}, $show->{digests}[0]{used}, 'key list');
    is($listed{off}, undef, '…');
    like($tollgate->run(qw(key list))->{out}, qr/^free .* \Q$show->{digests}[0]{used}\E$/m, '… as a text');
};

subtest 'a rotation' => sub {
    my $old = $key{free};
    my $minutes = sub { $gateway->status->{redis}[0]{retiring_key_uses} };
    is($minutes->(), 0, 'no key is retiring');
    chomp(my $new = $tollgate->run(qw(key rotate free --overlap 1h))->{out});
    $redis->cmd('DEL', 't:used:{free}');
    $gateway->get('/', $new);
    wait_until('the new key', sub { used('free', $new) });
    is(used('free', $old), undef, 'the new key was used');
    my @digests = @{ $tollgate->json(qw(key show free))->{digests} };
    is_deeply([map { [$_->{retiring} ? 1 : 0, defined $_->{used} ? 1 : 0] } @digests], [[0, 1], [1, 0]], 'key show tells which');
    is($minutes->(), 0, 'the metric is of the old one');
    # The node has noted the old key in this minute already; another node has not.
    my $node = Gateway->start(plans => 'plan free 1000000r/d;', share => $gateway);
    $node->get('/', $old) for 1 .. 3;
    wait_until('the old key', sub { used('free', $old) });
    $minutes = sub { $node->status->{redis}[0]{retiring_key_uses} };
    my $counted = $minutes->();
    ok($counted == 1 || $counted == 2, '… which is used') or diag $counted;    # 2 if a minute ended meanwhile
    my ($line) = grep { /^tollgate_redis_retiring_key_uses_total/ } split /\n/,
        Http::http_request('unix:' . $node->nginx->dir . '/gateway-status.sock', 'GET', '/?format=prometheus')->body;
    is($line, "tollgate_redis_retiring_key_uses_total{redis=\"main\"} $counted", '… as a metric');
    $node->nginx->stop;
};

subtest 'a revoked id' => sub {
    my $key = issue('gone', qw(--plan free));
    my $other = issue('other', qw(--plan free));
    $gateway->get('/', $key);
    $tollgate->run(qw(key revoke --yes gone));
    $gateway->get('/', $other) for 1 .. 4;
    wait_until('a later use', sub { used('other', $other) });
    is($redis->cmd('EXISTS', 't:used:{gone}'), 0, 'a use that was pending is not written');
    is($gateway->get('/', $other)->status, 200, 'another id');
    $tollgate->run(qw(key revoke --yes other));
    is($redis->cmd('EXISTS', 't:used:{other}'), 0, 'the uses of an id are removed with it');
};

subtest 'what Redis refuses' => sub {
    my $key = issue('wrong', qw(--plan free));
    $redis->cmd('SET', 't:used:{wrong}', 'a text');
    is($gateway->get('/', $key)->status, 200, 'a request of a key whose uses cannot be written');
    ok(eval { wait_until('the log', sub { $gateway->nginx->error_log =~ /\[warn\].*redis "main": the last use of keys is not written: WRONGTYPE/ }) }, 'the log has a warning');
    is($gateway->status->{redis}[0]{errors}, 0, 'it is no error of the connection');
};

$gateway->nginx->stop;
done_testing;
