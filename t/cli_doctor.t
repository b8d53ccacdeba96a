# `tollgate doctor` finds what an operator should change, and nothing in a deployment that needs no change.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use FakeRedis;
use File::Temp ();
use Gateway;
use JSON::PP ();
use Load;
use RedisCluster;
use RedisServer;
use ShiftedClock;
use Test::More;
use Wait qw(becomes);

my $gateway = Gateway->start(
    redis_options => { conf => ['appendonly yes'], acl => ['user blind on >SECRET ~* &* +@all -role -wait -info'] },
    plans         => 'plan free 1000r/d; plan own custom;',
);
my $redis = $gateway->redis;
my $dir_of_nobody = File::Temp->newdir('nobody-XXXXXX', TMPDIR => 1);
my $status_url = 'unix:' . $gateway->nginx->dir . '/gateway-status.sock:/';
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');

sub issue { my $r = $tollgate->run(qw(key issue --id), @_); die $r->{err} if $r->{status}; return $r->{out} =~ s/\n//r }

# The user of the gateways that a page describes.
sub user_of {
    my ($page) = @_;
    open my $file, '<', "$FindBin::Bin/../$page" or die $!;
    local $/;
    return <$file> =~ /^(user gateway .*)$/m ? $1 : die "no user in $page";
}

# The findings, as CHECK and text.
sub findings {
    my ($tollgate, @options) = @_;
    my $result = $tollgate->run('doctor', '--json', @options);
    my @found = map { "$_->{check}: $_->{text}" } @{ JSON::PP->new->utf8->decode($result->{out})->{findings} };
    is $result->{status}, @found ? 5 : 0, 'the exit status says whether there are findings';
    return @found;
}

sub finds {
    my ($name, $pattern, $tollgate, @options) = @_;
    my @found = findings($tollgate, @options);
    is @found, 1, "one finding: $name" or diag join "\n", @found;
    like $found[0], $pattern, '… says what to do';
}

issue(qw(alice --plan free));
becomes(sub { scalar @{ $redis->cmd('ZRANGE', 't:nodes', 0, -1) } }, 1, 'a node is alive');
is_deeply [findings($tollgate, '--status', $status_url)], [], 'nothing in a deployment in order';
my $result = $tollgate->run('doctor');
is "$result->{status} $result->{out}$result->{err}", '0 ', '… without --json, it prints nothing';

subtest 'Redis' => sub {
    $redis->cmd('CONFIG', 'SET', 'appendonly', 'no');
    $redis->cmd('HSET', 'more', 'x', 1);
    finds('persistence', qr/^persistence: Redis at unix:\S+ loses keys when it ends: .*: set appendonly yes$/, $tollgate);
    my $result = $tollgate->run('doctor');
    like $result->{out}, qr/\Apersistence: [^\n]+\n\z/, 'a line for each finding';
    is $result->{err}, "tollgate: the deployment has 1 problem\n", '… and their number';
    $redis->cmd('CONFIG', 'SET', 'appendonly', 'yes');
    $redis->cmd('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
    finds('eviction', qr/^eviction: .* set maxmemory-policy noeviction$/, $tollgate);
    $redis->cmd('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    my @found = findings(Command->new(redis => 'unix://blind:SECRET@' . $redis->address =~ s/^unix://r, prefix => 't:'));
    is scalar(grep { /^permissions: .* add \+(?:info|role \+wait)$/ } @found), 2, 'what the user may not call' or diag join "\n", @found;
    my $old = FakeRedis->start(redis => $redis->address, faults => { old => { reply => sub { $_[0] =~ s/^(redis_version:)\d+\.\d/${1}6.1/mr } } });
    $old->fault('old');
    finds('version', qr/^version: Redis at unix:\S+ has the version 6\.1\.\d+: Tollgate needs 6\.2 or later: upgrade it$/, Command->new(redis => $old->address, prefix => 't:'));
    finds('no plan tables', qr/^plans: no gateway has published plan tables with the prefix "t": /,
        Command->new(redis => $redis->address, prefix => 't'));
};

subtest 'the user of the gateways' => sub {
    my %line = map { $_ => user_of($_) } 'module/docs/redis_data.md', 'module/ADMIN.md';
    my $redis = RedisServer->start(conf => ['appendonly yes'], acl => ['user default on nopass ~* &* +@all', map { s/petstore:/t:/gr } @line{'module/docs/redis_data.md'}]);
    my $noticing = Gateway->start(redis_server => $redis, redis => 'username gateway; password SECRET;',
        plans => 'plan free 1000r/d in_flight=5; history 90d; notify 80%;');
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    becomes(sub { $redis->cmd('EXISTS', 't:plans') && @{ $redis->cmd('ZRANGE', 't:nodes', 0, -1) } }, 1, 'the plan tables, and a node');
    my $lacks = sub {
        my (@rules) = @_;
        $redis->cmd('ACL', 'SETUSER', 'gateway', 'reset', split / /, $_) for join ' ', @rules;
        return grep { /^permissions:/ } findings($tollgate, '--gateway-user', 'gateway');
    };
    for my $page (sort keys %line) {
        my (undef, undef, @rules) = split / /, $line{$page} =~ s/petstore:/t:/gr;
        is_deeply [$lacks->(@rules)], [], "the user of $page lacks nothing";
        for my $command (grep { /^\+/ } @rules) {
            my @without = grep { $_ ne $command } @rules;
            my @found = $lacks->(@without);
            is scalar(grep { !/: add .*\Q$command\E\b/ } @found), 0, "without $command, it lacks that" or diag join "\n", @found;
            ok scalar @found, '… and doctor says so';
        }
        my @other = $lacks->(map { s/~t:\*/~other:*/r } @rules);
        is scalar(grep { /may not use the keys of the prefix: add ~t:\*$/ } @other), 1, 'keys of another prefix' or diag join "\n", @other;
        @other = $lacks->(grep { !/^&/ } @rules);
        is scalar(grep { /may not use the channel of changes: add &t:events$/ } @other), 1, 'no channel' or diag join "\n", @other;
    }
    my ($found) = $lacks->('on', '>SECRET', 'resetchannels', '&t:events', '~t:*', grep({ /^\+/ && !/hkeys|xadd/ } split / /, $line{'module/docs/redis_data.md'}));
    like $found, qr/^permissions: the user "gateway" of the gateways, of Redis at \S+, lacks commands: no request can be counted from the end of a day on: add \+hkeys$/, 'a finding says what happens';
    my @rest = grep { !/hgetall|hdel|zscore|zrem$/ } split / /, $line{'module/docs/redis_data.md'} =~ s/^user gateway //r =~ s/petstore:/t:/gr;
    for my $case (
        ['a custom plan' => '"plans":{"own":{"custom":true}}', qr/lacks commands: each node limits requests in flight alone: add \+hgetall \+hdel$/],
        ['a custom plan of groups' => '"plans":{"own":{"custom":true}},"by":"group"'],
        ['a ban' => '"plans":{"free":{"unlimited":true}},"ban":true', qr/lacks commands: usage and bans of ids without a key .*: add \+zscore \+zrem$/],
        ['neither' => '"plans":{"free":{"unlimited":true}}'],
    ) {
        my ($name, $table, @expected) = @$case;
        $redis->cmd('HSET', 't:plans', api => "{$table,\"default\":null}");
        my @found = $lacks->(@rest);
        is scalar @found, scalar @expected, "what $name needs" or diag join "\n", @found;
        like $found[0], $_, '… is found' for @expected;
    }
    ($found) = findings($tollgate, '--gateway-user', 'nobody');
    like $found, qr/^permissions: Redis at \S+ has no user "nobody": /, 'a user that does not exist';
    $redis->cmd('ACL', 'SETUSER', 'blind', qw(on >SECRET ~* &* +@all -acl));
    ($found) = grep { /of doctor may not call ACL DRYRUN/ } findings(Command->new(redis => 'unix://blind:SECRET@' . $redis->socket, prefix => 't:'), '--gateway-user', 'gateway');
    like $found, qr/^permissions: the user of doctor may not call ACL DRYRUN: .*: add \+acl\|dryrun$/, 'the user of the command may not ask';
    is_deeply [grep { /^permissions/ } findings($tollgate)], [], 'without the option, it is not checked';
};

# Redis 7.0 reads its append-only file as the user `default`, and skips transactions that the user may not run.
subtest 'a Redis that loses keys when it starts' => sub {
    my $redis = RedisServer->start(conf => ['appendonly yes'], login => [qw(test test)], aclfile => <<'END');
user test on >test ~* &* +@all
user default off
END
    my $tollgate = Command->new(redis => 'unix://test:test@' . $redis->socket, prefix => 't:');
    my $issued = $tollgate->run(qw(key issue --force --plan free --id lost));
    like $issued->{err}, qr/warning: Redis at \S+ loses keys when it starts: .*"user default off ~\* &\* \+\@all"/, 'key issue warns';
    my @of = grep { /^persistence: / } findings($tollgate);
    is scalar @of, 1, 'doctor finds it before a restart';
    like $of[0], qr/^persistence: Redis at \S+ loses keys when it starts: .* such as those with hset: set "user default off ~\* &\* \+\@all" in redis\.conf/, '… and says what to do';

    # Each right that a transaction of the file needs.
    for my $rules (['-zadd'], ['-select'], ['resetkeys'], ['resetkeys', '~other:*'], ['-xgroup']) {
        $redis->cmd('ACL', 'SETUSER', 'default', 'reset', qw(~* &* +@all), @$rules);
        is scalar(grep { /^persistence: .* loses keys when it starts/ } findings($tollgate)), 1, "with @$rules, too";
    }
    $redis->cmd('ACL', 'SETUSER', 'default', 'reset', 'off', qw(~* &* +@all));
    is_deeply [grep { /^persistence/ } findings($tollgate)], [], 'nothing with all rights';
    $redis->cmd('ACL', 'SETUSER', 'default', 'reset', 'off');

    my @before = sort @{ $redis->cmd('KEYS', '*') };
    $redis->restart;
    my $has_lost = @{ $redis->cmd('KEYS', '*') } < @before;
    ok $has_lost, 'a restart loses keys' if $redis->cmd('INFO', 'server') =~ /^redis_version:7\.0/m;
    $redis->cmd('ZADD', 't:ids', 1, 'ghost');
    my @found = findings($tollgate);
    my ($ids) = grep { /^ids: / } @found;
    like $ids, qr/^ids: no key exists of the listed "ghost"(?:, "lost")?: change nothing before Redis has read all of its append-only file: see "persistence"$/,
        'no step is advised that makes it final';
    unlike join("\n", @found), qr/revoke|delete|reindex|group set/, '… by any finding';

    # The rights are corrected, and Redis was not yet restarted.
    $redis->cmd('ACL', 'SETUSER', 'default', 'reset', 'off', qw(~* &* +@all));
    $redis->cmd('ACL', 'SAVE');
    ($ids) = grep { /^ids: / } findings($tollgate);
    like $ids, $has_lost ? qr/: if the log of Redis has an error of its "AOF-loading-client", restart Redis, which brings back what is missing; otherwise use tollgate key revoke/
        : qr/: use tollgate key revoke/, 'a restart comes first, unless this Redis reads all';
    is scalar($redis->log =~ /AOF-loading-client/), $has_lost ? 1 : '', '… and the log has this';
    $redis->cmd('ZREM', 't:ids', 'ghost');
    $redis->restart;
    is_deeply [sort @{ $redis->cmd('KEYS', '*') }], \@before, '… which brings back all keys';
    is_deeply [grep { /^(?:ids|records|index|persistence): / } findings($tollgate)], [], '… without a finding';
};

subtest 'ids and records' => sub {
    $redis->cmd('CONFIG', 'RESETSTAT');    # without the commands that were refused to `blind`
    issue(qw(a --plan fre --force));
    issue("b$_", qw(--plan fre --force)) for 1 .. 4;
    finds('a plan that no table has', qr/^plans: keys of "a", "b1", "b2" and 2 more: no plan table has the plan "fre" \(did you mean "free"\?\): /, $tollgate);
    $tollgate->run(qw(key revoke --yes), $_) for 'a', map { "b$_" } 1 .. 4;

    issue(qw(c --plan own --force));
    finds('no limits', qr/^plans: keys of "c": the plan "own" is custom in "api" and the key has no limits/, $tollgate);
    $tollgate->run(qw(key revoke --yes c));

    my $digest = sha256_hex(issue(qw(d --plan free)));
    $redis->cmd('DEL', "t:key:$digest");
    finds('an id without a key', qr/^ids: no key exists of the listed "d": use tollgate key revoke/, $tollgate);
    $tollgate->run(qw(key revoke --yes d));

    issue(qw(n --plan free --name), 'Named');
    my @entries = @{ $redis->cmd('ZRANGE', 't:index', 0, -1) };
    $redis->cmd('ZREM', 't:index', "name:named\nn");
    finds('a name that the index does not have', qr/^index: searches do not find "n" by all values: use tollgate key reindex/, $tollgate);
    is $tollgate->run(qw(key reindex))->{out}, "the index of keys: 1 added, 0 removed\nthe groups of ids: 0 corrected\n", '… which is rebuilt';
    $redis->cmd('DEL', 't:index');
    finds('an index of a part of the ids', qr/^index: the index of keys is not complete: .*: use tollgate key reindex/, $tollgate);
    is $tollgate->run(qw(key reindex))->{status}, 0;
    is_deeply $redis->cmd('ZRANGE', 't:index', 0, -1), \@entries, '… which is rebuilt as well';
    is_deeply [grep { /^index/ } findings($tollgate)], [], '… and complete';
    $tollgate->run(qw(key revoke --yes n));

    issue(qw(g1 --plan free --group acme));
    $redis->cmd('HSET', 't:plans', teams => '{"plans":{"pro":{"rates":["10r/d"],"window":"fixed"}},"default":null,"by":"group"}');
    finds('a group without a plan', qr/^groups: the groups "acme" have no plan, so their keys are refused with 403 plan_not_allowed: use tollgate group set/, $tollgate);
    $tollgate->run(qw(group set acme --plan none --force));
    finds('a plan of a group that no table has', qr/^groups: groups "acme": no plan table has the plan "none": requests of the group are refused with 403/, $tollgate);
    $tollgate->run(qw(group set acme --plan pro));
    is_deeply [grep { /^groups/ } findings($tollgate)], [], '… and one that a table has';
    $redis->cmd('ZREM', 't:groups', 'acme');
    finds('a group that is not listed', qr/^groups: the list of groups does not have "acme": use tollgate group set/, $tollgate);
    $tollgate->run(qw(group set acme --plan pro));
    is_deeply [grep { /^groups/ } findings($tollgate)], [], '… which is listed again';
    $redis->cmd('HDEL', 't:group_of_ids', 'g1');
    finds('an id that the index has in another group', qr/^groups: usage and bans of "g1" are looked for in another group: use tollgate key reindex/, $tollgate);
    is $tollgate->run(qw(key reindex))->{out}, "the index of keys: 0 added, 0 removed\nthe groups of ids: 1 corrected\n", '… which is corrected';
    is $redis->cmd('HGET', 't:group_of_ids', 'g1'), 'acme';
    is_deeply [grep { /^groups/ } findings($tollgate)], [], '… which is repaired';
    issue(qw(g2 --plan free));
    $redis->cmd('HSET', 't:group_of_ids', 'g2', 'acme');
    finds('an id that the index has in a group', qr/^groups: usage and bans of "g2" are looked for in another group: /, $tollgate);
    is $tollgate->json(qw(key reindex))->{corrected}, 1, '… which is corrected as well';
    $redis->cmd('HSET', 't:group_of_ids', 'g2', 'acme');
    $tollgate->run(qw(key set g2 --group none));
    is_deeply [grep { /^groups/ } findings($tollgate)], [], '… which is repaired as well';
    $tollgate->run(qw(key revoke --yes g2));
    $tollgate->run(qw(key revoke --yes g1));
    finds('a group without ids', qr/^groups: no id is in the groups "acme": use tollgate group delete/, $tollgate);
    $tollgate->run(qw(group delete acme));
    $redis->cmd('HDEL', 't:plans', 'teams');

    $digest = sha256_hex(issue(qw(e --plan free)));
    $redis->cmd('SREM', 't:id:{e}', $digest);
    is scalar(grep { $_ eq qq(records: gateways accept keys that no id lists: "t:key:$digest": delete these records, or list their ids again) } findings($tollgate)), 1,
        'a record that its id does not list';
    $redis->cmd('SADD', 't:id:{e}', $digest);
    is_deeply [findings($tollgate)], [], '… which is listed again';
    $redis->cmd('ZREM', 't:ids', 'e');
    finds('an id that is not listed', qr/^records: .*"t:key:$digest": delete/, $tollgate);
    $redis->cmd('ZADD', 't:ids', time, 'e');
};

subtest 'nodes' => sub {
    my $small = Gateway->start(share => $gateway, plans => 'plan free 1000r/d; plan own custom;', http => 'tollgate_zone 128k;');
    $small->import_key("k$_", id => "id$_", plan => 'free') for 1 .. 2000;
    $redis->cmd('ZADD', 't:ids', map { (time, "id$_") } 1 .. 2000);
    my @tokens = map { "k$_" } 1 .. 2000;
    Load->run(servers => [$small->address], connections => 8, requests => 2000, token => sub { shift @tokens });
    my @urls = map { ('--status', 'unix:' . $_->nginx->dir . '/gateway-status.sock:/') } $gateway, $small;
    my @found = findings($tollgate, @urls);
    is scalar(grep { /^zone: the node at \S+ has evicted [1-9]\d* entries of "(?:keys|quotas)" since it started: set a larger tollgate_zone$/ } @found),
        scalar @found, 'a zone that is too small' or diag join "\n", @found;
    ok scalar @found, '… is found';

    my $other = Gateway->start(plans => 'plan free 1000r/d;', redis => 'timeout 100ms;');
    $other->import_key('k', id => 'k1', plan => 'free');
    $other->redis->stop;
    becomes(sub { $other->get('/', 'k'); $other->status->{redis}[0]{breaker_open_workers} }, 1, 'a node without its Redis');
    finds('it', qr/^reachable: the node at \S+ does not reach its Redis "main": see its error log$/, $tollgate,
        '--status', 'unix:' . $other->nginx->dir . '/gateway-status.sock:/');
    $other->nginx->stop;

    # What is unreachable does not prevent other checks.
    my @with_small = ('--status', "unix:$dir_of_nobody/nobody:/", @urls[2, 3]);
    my $nowhere = Command->new(redis => "unix:$dir_of_nobody/redis", prefix => 't:');
    for my $case (['Redis and a node', $nowhere, qr/^tollgate: warning: .*nobody.*\ntollgate: .*redis/], ['a node', $tollgate, qr/^tollgate: .*nobody/]) {
        my ($name, $command, $message) = @$case;
        my $result = $command->run('doctor', '--json', @with_small);
        is $result->{status}, 1, "$name cannot be reached";
        like $result->{err}, $message, '… which the command says';
        my @checks = map { $_->{check} } @{ JSON::PP->new->utf8->decode($result->{out})->{findings} };
        ok scalar(grep { $_ eq 'zone' } @checks), '… and the other node is checked' or diag $result->{out};
    }
    my $result = $nowhere->run('doctor', '--json');
    is "$result->{status} $result->{out}", '1 ', 'without another check, nothing is printed';
    $small->nginx->stop;

    $result = $tollgate->run('doctor', '--status', 'unix:' . $gateway->nginx->dir . '/upstream.sock:/');
    is $result->{status}, 1, 'another location than tollgate_status';
    like $result->{err}, qr/^tollgate: \S+ is not a tollgate_status$/, '… is no finding';
    $gateway->nginx->stop;
    becomes(sub { $tollgate->run('doctor')->{out} =~ /^nodes: no node is alive: / }, 1, 'no node');
};

subtest 'the clock' => sub {
    my $clock = ShiftedClock->new or plan skip_all => 'no shifted_clock.so in this build';
    my $shifted = $clock->start(sub { RedisServer->start });
    $clock->set('2028-02-29 23:59:00');
    my @found = findings(Command->new(redis => $shifted->address));
    is scalar(grep { /^clock: Redis at \S+ has a clock that is [\d.]+ s ahead of that of this machine: / } @found), 1, 'differs' or diag join "\n", @found;
};

subtest 'a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $in_cluster = Command->new(redis => 'redis+cluster://127.0.0.1:' . ($cluster->nodes)[0]->port);
    my @keys = map { my $r = $in_cluster->run(qw(key issue --force --plan free --id), "c$_"); die $r->{err} if $r->{status}; $r->{out} =~ s/\n//r } 1 .. 20;
    $cluster->cmd('SREM', 'id:{c7}', sha256_hex($keys[6]));
    my @found = grep { /^records: / } findings($in_cluster);
    is_deeply \@found, ['records: gateways accept keys that no id lists: "key:' . sha256_hex($keys[6]) . '": delete these records, or list their ids again'], 'records of all masters';
};

subtest 'notices' => sub {
    my $redis = RedisServer->start(conf => ['appendonly yes']);
    my $noticing = Gateway->start(redis_server => $redis, plans => 'plan free 1000r/d; notify 80%;');
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    becomes(sub { $redis->cmd('EXISTS', 't:plans') && @{ $redis->cmd('ZRANGE', 't:nodes', 0, -1) } }, 1, 'the plan tables, and a node');
    finds('nobody delivers them', qr/^notices: plan tables have "notify", and no tollgate notify delivers the notices: start one/, $tollgate);
    my $dir = File::Temp->newdir;
    open my $secret, '>', "$dir/secret" or die $!;
    print $secret 'whsec_' . 'a' x 32;
    close $secret or die $!;
    my $notify = $tollgate->start('notify', '--url', "unix:$dir/nobody:/", '--secret-file', "$dir/secret");
    becomes(sub { scalar findings($tollgate) }, 0, 'a command delivers them');
    $redis->cmd('XADD', 't:notices', (time - 7200) . '000-0', qw(id k table api value), '', qw(period 86400 number 20000 level 80 limit 10 used 8));
    finds('an old one', qr/^notices: the oldest notice has waited for 2h.*: see the messages of tollgate notify/, $tollgate);
    kill KILL => $notify->{pid};
    waitpid $notify->{pid}, 0;
};

done_testing;
