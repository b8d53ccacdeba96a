# What the command shows about quotas and bans, and what it publishes to the gateways.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use RedisServer;
use Test::More;

my $redis = RedisServer->start;
my $prefix = 'a*[b]?\\';
my $tollgate = Command->new(redis => $redis->address, prefix => $prefix);

sub now { return $redis->cmd('TIME')->[0] }

sub rfc3339 {
    my @t = gmtime $_[0];
    return sprintf '%04d-%02d-%02dT%02d:%02d:%02dZ', $t[5] + 1900, $t[4] + 1, @t[3, 2, 1, 0];
}

chomp(my $key = $tollgate->run(qw(key issue --plan p --id u))->{out});
$tollgate->run(qw(key issue --plan p --id u2));

subtest 'usage' => sub {
    is_deeply $tollgate->json('usage', 'u'),
        { id => 'u', plan => 'p', limits => undef, billing_day => undef, state => 'active', banned_until => undef, complete => JSON::PP::true(), windows => [], group => undef }, 'nothing is counted yet';
    like $tollgate->run('usage', 'u')->{out}, qr/^plan +p\n.*\n\nNothing is counted\.\n\z/ms, '… as text';
    my $now = now();
    my ($hour, $day) = map { int($now / $_) } 3600, 86400;
    $redis->cmd('HSET', "${prefix}quota:{u}:api", '86400.number', $day, '86400.count', 7, '3600.number', $hour - 1, '3600.count', 5);
    $redis->cmd('HSET', "${prefix}quota:{u}:search", '86400.number', $day, '86400.count', 3, '86400.previous', 9,
        '3600.number', $hour - 1, '3600.count', 4, '3600.previous', 8, '7200.number', 1, '7200.count', 4, '7200.previous', 8);
    $redis->cmd('HSET', "${prefix}quota:{u2}:api", '3600.number', $hour, '3600.count', 99);
    $redis->cmd('HSET', 'aXbYquota:{u}:api', '3600.number', $hour, '3600.count', 98);
    my $windows = $tollgate->json('usage', 'u')->{windows};
    is_deeply [map { [@$_{qw(table window seconds count previous)}] } @$windows],
        [['api', 'hour', 3600, 0, undef], ['api', 'day', 86400, 7, undef],
         ['search', 'hour', 3600, 0, 4], ['search', '2-hours', 7200, 0, 0], ['search', 'day', 86400, 3, 9]],
        'the counts of the windows that are running, of this id and prefix alone';
    is $windows->[1]{reset}, rfc3339(($day + 1) * 86400), 'and when they reset';
    is_deeply [map { [@$_{qw(used limit remaining)}] } @$windows[0, 1]], [[0, undef, undef], [7, undef, undef]],
        'limits of a plan are not known here';
    my $day_part = 9 * (1 - ($now % 86400) / 86400);
    cmp_ok abs($windows->[4]{used} - 3 - $day_part), '<', 1.1, 'a window that slides has used some of the one before';
    like $tollgate->run('usage', 'u')->{out},
        qr/^state +active\n\nTABLE +WINDOW +LIMIT +USED +LEASED +REMAINING +PREVIOUS +RESET\napi +hour +- +0 +0 +- +- +\S+Z \(\d+[ms][^)]*\)\napi +day +- +7 +0 +- +- /m,
        'as a table';
    $tollgate->run(qw(key set u --limits), '5r/h 10r/d');
    $windows = $tollgate->json('usage', 'u')->{windows};
    is_deeply [map { [@$_{qw(used limit remaining)}] } @$windows[0, 1]], [[0, 5, 5], [7, 10, 3]], 'limits of the key itself are known';
    $tollgate->run(qw(key set u --limits), '5r/h 6r/d');
    is $tollgate->json('usage', 'u')->{windows}[1]{remaining}, 0, '… and nothing remains of one that was lowered';
    my $until = $now + 600;
    $redis->cmd('HSET', "${prefix}ban:{u}", until => $until * 1000, level => 1);
    is $tollgate->json('usage', 'u')->{banned_until}, rfc3339($until), 'a ban is shown';
    like $tollgate->run('usage', 'u')->{out}, qr/^banned +until \S+Z$/m, '… as text too';
    $redis->cmd('DEL', "${prefix}ban:{u}");
    is $tollgate->run('usage', 'nobody')->{status}, 3, 'an id that is unknown';
    $redis->cmd('HSET', "${prefix}quota:{u}:api", 'junk', 1, 'x.count', 1, '0.count', 1, '99999999999999999999.count', 1, '86400.number', 'x');
    is $tollgate->run('usage', 'u')->{status}, 0, 'fields that make no sense do no harm';
    like $tollgate->run(qw(key reset u))->{err}, qr/it is not known which tables count the id/, 'reset needs the tables of the gateways';
    $redis->cmd('HSET', "${prefix}plans", $_, '{"plans":{"p":{"rates":["5r/h"]}}}') for qw(api search);
    $redis->cmd('DEL', "${prefix}quota:{u}:search");
    $redis->cmd('HSET', "${prefix}quota:{u}:search", '86400.number', $day, '86400.count', 3);
    my %unlimited = map { ("$_->{table} $_->{window}" => $_) } @{ $tollgate->json('usage', 'u')->{windows} };
    is_deeply [map { [@{ $unlimited{$_} }{qw(limit unlimited remaining)}] } 'search hour', 'search day'],
        [[5, JSON::PP::false(), 5], [undef, JSON::PP::true(), undef]], 'a period that the plan does not limit is unlimited';
    like $tollgate->run('usage', 'u')->{out}, qr/^search +day +unlimited +3 +0 +- /m, '… as text too';
    my $leased = sub {
        my ($lease, $of_other, $recalled) = @_;
        $redis->cmd('HSET', "${prefix}quota:{u}:search", '3600.number', int(now() / 3600), '3600.count', 9, lease_grant => $lease,
            lease_grant_of_other => $of_other, lease_recalled => $recalled);
        return +(grep { $_->{table} eq 'search' } @{ $tollgate->json('usage', 'u')->{windows} })[0]{leased};
    };
    my $ms = 1000 * now();
    is $leased->("$ms:1:4", ($ms - 1) . ':1:3', 0), 7, 'what nodes have leased last is told apart';
    is $leased->("$ms:1:40", 0, 0), 9, '… not more than was counted';
    is $leased->(($ms - 10_000) . ':1:4', $ms, 0), 0, '… not a lease that no node holds any more, nor one that was taken back';
    is $leased->("$ms:1:4", "$ms:x:y", $ms), 0, '… nor one that was recalled, nor what makes no sense';
    my $reset = $tollgate->json(qw(key reset u));
    is_deeply [map { $_->{used} } @{ $reset->{windows} }], [0, 0], '… begins the windows anew, and shows them';
    is_deeply [grep { $redis->cmd('EXISTS', $_) } map { "${prefix}quota:{$_}:api" } qw(u u2)], ["${prefix}quota:{u2}:api"], '… those of no other id';
    like $tollgate->run('audit', 'u')->{out}, qr/ reset +u +-\n\z/, '… and is in the audit';
    is $tollgate->run(qw(key reset nobody))->{status}, 3, '… of an id that is unknown';
    $redis->cmd('DEL', "${prefix}plans");
};

subtest 'ban' => sub {
    my $none = { id => 'u', banned => JSON::PP::false(), until => undef, level => 0, strikes => 0, since => undef };
    is_deeply $tollgate->json(qw(ban show u)), $none, 'no ban';
    my $now = now();
    my ($since, $until) = ($now - 5, $now + 600);
    $redis->cmd('HSET', "${prefix}ban:{u}", strikes => 3, since => $since * 1000, level => 2, until => $until * 1000);
    is_deeply $tollgate->json(qw(ban show u)),
        { id => 'u', banned => JSON::PP::true(), until => rfc3339($until), level => 2, strikes => 3, since => rfc3339($since) }, 'a ban';
    like $tollgate->run(qw(ban show u))->{out}, qr/^banned +until \S+Z$/m, 'as text';
    $redis->cmd('HSET', "${prefix}ban:{u}", until => ($now - 1) * 1000);
    ok !$tollgate->json(qw(ban show u))->{banned}, 'a ban that has ended';
    is_deeply $tollgate->json(qw(ban lift u)), $none, 'lift';
    is $redis->cmd('EXISTS', "${prefix}ban:{u}"), 0, '… forgets all of it';
    is $tollgate->run(qw(ban lift u))->{status}, 0, 'to lift no ban is no error';
};

subtest 'events' => sub {
    my $listener = $redis->connection;
    $listener->cmd('SUBSCRIBE', "${prefix}events");
    my $told = sub {
        my $result = $tollgate->run(@_);
        die $result->{err} if $result->{status};
        my %told;
        $redis->cmd('PING');
        $told{ $listener->read->[2] } = 1 while $listener->pending;
        return ($result, [sort keys %told]);
    };
    my $digest = sha256_hex($key);
    for my $command ([qw(key set u --plan q)], [qw(key disable u)], [qw(key enable u)]) {
        is_deeply +($told->(@$command))[1], [sort 'u', $digest], "@$command tells the id and the digest";
    }
    my ($rotated, $told_rotated) = $told->(qw(key rotate u));
    chomp(my $new = $rotated->{out});
    is_deeply $told_rotated, [sort 'u', $digest, sha256_hex($new)], 'rotate tells both digests';
    is_deeply +($told->(qw(ban lift u)))[1], ['u'], 'ban lift tells the id';
    is_deeply +($told->(qw(key revoke --yes u)))[1], [sort 'u', $digest, sha256_hex($new)], 'revoke tells all';
    my ($issued, $told_issued) = $told->(qw(key issue --plan p --id u));
    chomp(my $again = $issued->{out});
    is_deeply $told_issued, [sort 'u', sha256_hex($again)], 'issue tells the new one';
    is_deeply +($told->(@$_))[1], [], "@$_ tells nothing" for [qw(key show u)], [qw(key list)], [qw(usage u)], [qw(ban show u)];
};

done_testing;
