# A key is printed once, when it is issued. It is never sent to Redis, and no message contains it.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use RedisServer;
use Test::More;

my $redis = RedisServer->start(conf => ['appendonly yes', 'loglevel debug', 'slowlog-log-slower-than 0']);
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
my $monitor = $redis->connection;
$monitor->cmd('MONITOR');

my $imported = 'canary-imported-token';
my ($printed, @keys) = ('');
for my $arguments ([qw(issue --plan free --id a)], [qw(issue --plan free --id b --json)], [qw(rotate a)], [qw(rotate b --json)]) {
    my $result = $tollgate->run('key', @$arguments);
    my @found = $result->{out} =~ /(tg_\w{38})/g;
    is scalar @found, 1, "@$arguments prints the key once";
    unlike $result->{err}, qr/tg_/, '… and on standard output only';
    push @keys, @found;
}
my @commands = (
    [{ stdin => $imported }, qw(key import --plan free --id c)],
    [{ stdin => $imported }, qw(key import --plan free --id d)],
    [{ stdin => $imported }, qw(key find)],
    [{ stdin => $imported }, qw(key find --json)],
    [{ stdin => $keys[0] }, qw(key find)],
    ['key', 'find', $imported],
    [{ stdin => "$imported, " }, qw(key import --plan free --id e)],
    ['key', 'import', '--plan', 'free', $imported],
    ['key', 'issue', '--plan', 'free', $imported],
    ['key', 'issue', '--plan', 'free', '--id', $keys[0]],
    (map { ['key', $_, $keys[0]] } qw(show set disable enable revoke rotate)),
    ['usage', $keys[0]],
    (map { ['ban', $_, $keys[0]] } qw(show lift)),
    (map { my $id = $_; map { [@$_, $id], [@$_, $id, '--json'] } [qw(key show)], [qw(key disable)], [qw(key enable)], ['usage'], [qw(ban show)], [qw(ban lift)] } qw(a c)),
    [qw(key set a --plan pro)],
    [qw(key list)],
    [qw(key list --json)],
    [qw(key revoke --yes b)],
);
for my $command (@commands) {
    my $result = $tollgate->run(@$command);
    $printed .= $result->{out} . $result->{err};
}
my $dump = '';
my $seen = $redis->cmd('KEYS', '*');
for my $key (@$seen) {
    my $type = $redis->cmd('TYPE', $key);
    my %read = (hash => ['HGETALL', $key], set => ['SMEMBERS', $key], zset => ['ZRANGE', $key, 0, -1], stream => ['XRANGE', $key, '-', '+']);
    my $values = $redis->cmd(@{ $read{$type} or die "a $type: $key" });
    $dump .= join "\n", $key, map({ ref $_ ? ($_->[0], @{ $_->[1] }) : $_ } @$values), '';
}
my $traffic = '';
$redis->cmd('PING');
while ($monitor->pending) {
    my $line = $monitor->read;
    $traffic .= "$line\n";
}
my $files = join '', map { local (@ARGV, $/) = $_; <> // '' } glob($redis->dir . '/appendonlydir/* ' . $redis->dir . '/redis.log');

ok length $files > 1000, 'there is something to search';
like $traffic, qr/HSET/, 'MONITOR saw the commands';
like $dump, qr/^t:key:[0-9a-f]{64}$/m, 'Redis holds the digests';
for my $secret (@keys, $imported) {
    unlike $_->[1], qr/\Q$secret/, "$_->[0]: no key"
        for ['other commands', $printed], ['Redis', $dump], ['MONITOR', $traffic], ["Redis's files", $files];
}

my $lost = $tollgate->run({ stdout => '/dev/full' }, qw(key issue --plan free --id lost));
is $lost->{status}, 1, 'a key that could not be printed is an error';
like $lost->{err}, qr/\Atollgate: .*"lost".*lost.*\n\z/, '… that names its id';
unlike $lost->{err}, qr/tg_/, '… and not the key';

# A closed descriptor must not become the connection to Redis.
$redis->cmd('CONFIG', 'RESETSTAT');
my $unprinted = $tollgate->run({ closed => [1] }, qw(key issue --plan free --id closed));
is $unprinted->{status}, 1, 'without a standard output, a key is lost';
like $unprinted->{err}, qr/\Atollgate: .*"closed".*lost.*\n\z/, '… and the command says so';
my $unread = $tollgate->run({ closed => [0] }, qw(key import --plan free --id unread));
is $unread->{status}, 2, 'without a standard input, there is no key';
my $silent = $tollgate->run({ closed => [2] }, qw(key issue --plan free --id silent));
is $silent->{status}, 0, 'without a standard error, a key is issued';
like $silent->{out}, qr/\Atg_\w{38}\n\z/, '… and printed';
unlike $redis->cmd('INFO', 'errorstats'), qr/errorstat_ERR/, 'Redis gets nothing that it does not know';

done_testing;
