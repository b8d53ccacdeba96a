# Commands that run at the same time. Each is done completely or refused, and every valid key is listed.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use RedisServer;
use Test::More;

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $redis = RedisServer->start;
my $tollgate = Command->new(redis => $redis->address);

sub records {
    my ($id) = @_;
    my @all = map { { @{ $redis->cmd('HGETALL', $_) }, ttl => $redis->cmd('PTTL', $_) } } @{ $redis->cmd('KEYS', 'key:*') };
    return grep { ($_->{id} // '') eq $id } @all;
}

sub statuses { return join ' ', sort map { $_->{status} } @_ }

subtest 'one id' => sub {
    my @results = $tollgate->run_at_once(map { [qw(key issue --id one --plan), "p$_"] } 1 .. 20);
    is statuses(@results), join(' ', 0, (4) x 19), 'exactly one of 20 gets it';
    my ($winner) = grep { $_->{status} == 0 } @results;
    my @records = records('one');
    is scalar @records, 1, 'there is one record';
    chomp(my $key = $winner->{out});
    is_deeply $redis->cmd('SMEMBERS', 'id:{one}'), [sha256_hex($key)], "and it is the winner's";
};

subtest 'one token' => sub {
    my @results = $tollgate->run_at_once(map { [{ stdin => 'token' }, qw(key import --plan p --id), "t$_"] } 1 .. 20);
    is statuses(@results), join(' ', 0, (4) x 19), 'exactly one of 20 imports it';
    my $id = $redis->cmd('HGET', 'key:' . sha256_hex('token'), 'id');
    is_deeply [grep { /^t/ } @{ $redis->cmd('ZRANGE', 'ids', 0, -1) }], [$id], 'the others leave no id';
    is scalar(grep { /id:\{t\d/ } @{ $redis->cmd('KEYS', '*') }), 1, '… and no digest';
};

subtest 'made-up ids' => sub {
    my @results = $tollgate->run_at_once(map { [qw(key issue --plan p)] } 1 .. 20);
    is statuses(@results), join(' ', (0) x 20), 'all are issued';
    is scalar(grep { /^key_/ } @{ $redis->cmd('ZRANGE', 'ids', 0, -1) }), 20, 'each under its own id';
};

subtest 'changes to one key' => sub {
    $tollgate->run(qw(key issue --id many --plan p));
    my @results = $tollgate->run_at_once(
        [qw(key set many --plan q)], [qw(key set many --name N)], [qw(key set many --limits 5r/s)],
        [qw(key set many --expires 2040-01-01)], [qw(key disable many)]);
    is statuses(@results), '0 0 0 0 0', 'all are done';
    my ($record) = records('many');
    is_deeply [@$record{qw(plan name limits expires state)}], ['q', 'N', '5r/s', 2208988800, 'disabled'], 'none undoes another';
};

subtest 'rotations of one key' => sub {
    for my $round (1 .. 5) {
        my $id = "turn$round";
        $tollgate->run(qw(key issue --plan p --id), $id);
        my @results = $tollgate->run_at_once(map { [qw(key rotate), $id] } 1 .. 6);
        is scalar(grep { $_->{status} != 0 && $_->{status} != 4 } @results), 0, 'each is done or refused';
        my @records = records($id);
        my @keys = map { $_->{out} =~ /(\S+)/ } grep { !$_->{status} } @results;
        ok @keys > 0, 'one at least is done';
        is scalar(grep { $_->{ttl} == -1 } @records), 1, 'one key is current';
        is scalar(grep { !$redis->cmd('EXISTS', 'key:' . sha256_hex($_)) } @keys), 0, 'every key that was printed works';
        is scalar @records, @keys + 1, 'no other does, but the first';
    }
};

subtest 'a change and a rotation' => sub {
    my $wrong = 0;
    for my $round (1 .. 25) {
        my $id = "both$round";
        $tollgate->run(qw(key issue --plan p --id), $id);
        my @results = $tollgate->run_at_once(map { [@$_, $id] } $round % 2 ? ([qw(key rotate)], [qw(key disable)]) : ([qw(key disable)], [qw(key rotate)]));
        my @enabled = grep { $_->{state} ne 'disabled' } records($id) or next;
        $wrong += @enabled;
        diag("round $round: ", explain([map { [@$_{qw(status err)}] } @results], \@enabled));
    }
    is $wrong, 0, 'what was disabled is disabled in every key';
};

subtest 'a revocation and others' => sub {
    my $left = 0;
    for my $round (1 .. 25) {
        my $id = "gone$round";
        $tollgate->run(qw(key issue --plan p --id), $id);
        my @others = ([qw(key rotate)], [qw(key set --plan q)], [qw(key enable)]);
        $tollgate->run_at_once(map { [@$_, $id] } $round % 2 ? (@others, [qw(key revoke --yes)]) : ([qw(key revoke --yes)], @others));
        $left += records($id) + $redis->cmd('EXISTS', "id:{$id}") + defined $redis->cmd('ZSCORE', 'ids', $id);
    }
    is $left, 0, 'nothing is left of what was revoked';
};

subtest 'commands that are killed' => sub {
    # A reservation of a killed command is not a valid key, and must expire.
    my $remaining = sub { grep { $_->{state} ne 'pending' || $_->{ttl} < 0 || $_->{ttl} > 60_000 } records($_[0]) };
    my $unlisted = 0;
    for my $round (1 .. 60) {
        my $id = "killed$round";
        my $started = $tollgate->start(qw(key issue --plan p --id), $id);
        select undef, undef, undef, 0.00025 * $round;
        kill KILL => $started->{pid};
        waitpid $started->{pid}, 0;
        my $stored = $remaining->($id);
        $unlisted++ if $stored && !(defined $redis->cmd('ZSCORE', 'ids', $id) && $redis->cmd('SCARD', "id:{$id}"));
        next unless defined $redis->cmd('ZSCORE', 'ids', $id);
        my $result = $tollgate->run(qw(key revoke --yes), $id);
        $unlisted++ if $result->{status} || $remaining->($id);
    }
    is $unlisted, 0, 'leave no key that is not listed';
    is $tollgate->run(qw(key list))->{status}, 0, 'and nothing that list stumbles over';
    $redis->cmd('ZADD', 'ids', 5, 'half');
    is $tollgate->json(qw(key show half))->{state}, 'none', 'an id whose key was never stored is shown as such';
    is $tollgate->run(qw(key rotate half))->{status}, 3, '… can not be rotated';
    is $tollgate->run(qw(key revoke --yes half))->{status}, 0, '… and can be removed';
};

done_testing;
