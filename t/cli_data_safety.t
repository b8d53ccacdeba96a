# The command warns of a Redis that loses or evicts keys.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use RedisCluster;
use RedisServer;
use Test::More;

# The persistence of Debian's redis.conf.
my $redis = RedisServer->start(conf => ['save 3600 1 300 100 60 10000']);
my $tollgate = Command->new(redis => $redis->address);
my $record = qq({"id":"many","plan":"free","token":"a-token-of-a-file"}\n);
my @commands = ([qw(key issue --plan free)], [{ stdin => 'a-token' }, qw(key import --plan free)], [{ stdin => $record }, qw(import -)]);

sub warnings_of {
    my (@command) = @_;
    my $result = $tollgate->run(@command);
    my ($name) = grep { !ref } join ' ', grep { !ref } @command;
    is $result->{status}, 0, "$name is done" or diag $result->{err};
    return $result->{err} =~ s/^(?!tollgate: ).*\n//gmr;
}

my $loses = qr/\Atollgate: warning: Redis at unix:\S+ loses keys when it ends: appendonly is off, and it has written no snapshot within the last 5 minutes: set appendonly yes\n\z/;

subtest 'a key that is lost' => sub {
    like warnings_of(qw(key issue --plan free --id lost)), $loses, '… and why it will be';
    $redis->kill;
    $redis->restart;
    $redis->disconnect;
    is_deeply $tollgate->json(qw(key list)), [], 'it was in memory only';
    $redis->cmd('HSET', 'more', 'x', 1);
    like warnings_of(@$_), $loses, '… with a warning' for @commands;
    is warnings_of(qw(key list)), '', 'a command that makes no key does not warn';
};

subtest 'a key that is kept' => sub {
    $redis->cmd('CONFIG', 'SET', 'appendonly', 'yes');
    is warnings_of(qw(key issue --plan free --id kept)), '', '… has no warning';
    is warnings_of(@$_), '', '… and no other' for [qw(key issue --plan free)], [{ stdin => 'b-token' }, qw(key import --plan free)], $commands[2];
};

subtest 'a key that is evicted' => sub {
    $redis->cmd('CONFIG', 'SET', 'maxmemory', '100mb');
    is warnings_of(@$_), '', 'noeviction' for $commands[0];
    for my $policy (qw(allkeys-lru volatile-ttl)) {
        $redis->cmd('CONFIG', 'SET', 'maxmemory-policy', $policy);
        like warnings_of(@{ $commands[0] }),
            qr/\Atollgate: warning: Redis at \S+ evicts keys or counts when its memory is full: maxmemory-policy is $policy: set maxmemory-policy noeviction\n\z/,
            $policy;
    }
};

subtest 'every master of a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    $tollgate = Command->new(redis => 'redis+cluster://127.0.0.1:' . ($cluster->nodes)[0]->port);
    $cluster->cmd('HSET', "x$_", 'x', 1) for 1 .. 100;
    my @warned = warnings_of(qw(key issue --plan free)) =~ /Redis at (\S+) loses keys/g;
    is scalar @warned, 3, 'is checked' or diag "@warned";
};

done_testing;
