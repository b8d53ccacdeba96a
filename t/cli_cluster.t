# The command with Redis Cluster: all subcommands, slots that move, failovers, replicas that do not confirm.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Certificates;
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp;
use Markdown;
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(free_port wait_until);

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $cluster = RedisCluster->start(masters => 3, replicas => 1);
my @masters = ($cluster->nodes)[0 .. 2];
my $prefix = 't:';

# The URL of a cluster whose first address does not answer.
sub url { my ($login, @nodes) = @_; return "redis+cluster://${login}127.0.0.1:" . join ',127.0.0.1:', free_port(), map { $_->port } @nodes }
my $tollgate = Command->new(redis => url('', $cluster->nodes), prefix => $prefix);

sub succeeds {
    my ($command, @arguments) = @_;
    my $result = $command->run(@arguments);
    my @words = grep { !ref } @arguments;
    is $result->{status}, 0, "@words" or diag $result->{err};
    return $result;
}
sub key_of { my ($result) = @_; return $result->{out} =~ /(tg_\w{38})/ ? $1 : 'none' }
sub field_of { my ($key, $field) = @_; return $cluster->cmd('HGET', "${prefix}key:" . sha256_hex($key), $field) }
sub other_than { my ($node) = @_; return (grep { $_ != $node } @masters)[0] }
sub now_of { my ($node) = @_; my $time = $node->cmd('TIME'); return $time->[0] * 1000 + int($time->[1] / 1000) }

subtest 'ids of all masters' => sub {
    my @ids = map { "many$_" } 1 .. 30;
    my %key_of = map { $_ => key_of($tollgate->run(qw(key issue --plan free --id), $_)) } @ids;
    my %masters = map { $cluster->master_of("${prefix}id:{$_}")->port => 1 } @ids;
    is scalar keys %masters, 3, 'each master has some';
    is_deeply [grep { field_of($key_of{$_}, 'id') ne $_ } @ids], [], 'all keys are stored';
    is_deeply [sort map { $_->{id} } @{ $tollgate->json(qw(key list)) }], [sort @ids], 'list finds all';
    $cluster->cmd('HSET', "${prefix}quota:{$_}:api", '86400.number', int(time / 86400), '86400.count', 4) for @ids;
    is $tollgate->json('usage', $_)->{windows}[0]{used}, 4, "usage of $_" for @ids[0 .. 4];
    my $top = $tollgate->start(qw(top --interval 500ms --count 30 --limit 100 --json));
    my $shown = sub { open my $file, '<', $top->{files}{out}->filename or die $!; local $/; return <$file> // '' };
    wait_until('the first reading', sub { $shown->() =~ /"ids":30,/ });
    $cluster->cmd('HINCRBY', "${prefix}quota:{$_}:api", '86400.count', 100) for @ids;
    wait_until('the table', sub { my %ids = map { $_ => 1 } $shown->() =~ /"id":"(many\d+)"/g; keys %ids == 30 });
    like $shown->(), qr/"sampled":false/, 'top reads all masters';
    kill TERM => $top->{pid};
    waitpid $top->{pid}, 0;
    my $sample = succeeds($tollgate, qw(top --count 1 --interval 100ms --budget 10 --json));
    like $sample->{out}, qr/"ids":30,|"sampled":true/, 'a sample';
};

subtest 'a key that is valid again after its id was revoked' => sub {
    my $key = key_of($tollgate->run(qw(key issue --plan free --id undone)));
    my @record = @{ $cluster->cmd('HGETALL', "${prefix}key:" . sha256_hex($key)) };
    succeeds($tollgate, qw(key revoke --yes undone));
    $cluster->cmd('HSET', "${prefix}key:" . sha256_hex($key), @record);
    $cluster->cmd('ZREM', "${prefix}changes", sha256_hex($key));
    succeeds($tollgate, qw(key revoke --yes undone));
    is field_of($key, 'id'), undef, 'another revocation removes it';
    ok defined $cluster->cmd('ZSCORE', "${prefix}changes", sha256_hex($key)), '… and announces it';
};

subtest 'a file with one key for two ids' => sub {
    my $file = File::Temp->new;
    print $file qq({"id":"dup1","plan":"free","token":"dup","name":"first"}\n{"id":"dup2","plan":"free","token":"dup","name":"second"}\n);
    close $file;
    my $result = $tollgate->run('import', "$file");
    like "$result->{out}$result->{err}", qr/the key already exists: its id is "dup1"/, 'the second is refused';
    is_deeply [grep { /^dup/ } map { $_->{id} } @{ $tollgate->json(qw(key list)) }], ['dup1'], '… and not listed';
    is_deeply [grep { /dup2/ } @{ $cluster->cmd('ZRANGE', "${prefix}index", 0, -1) }], [], '… and not in the index';
};

subtest 'the URL of one server' => sub {
    for my $node (@masters) {
        my $result = Command->new(redis => 'redis://127.0.0.1:' . $node->port, prefix => 'one:')->run(qw(key issue --plan free --id alone));
        is $result->{status}, 1, 'a master of a cluster is refused';
        like $result->{err}, qr/^tollgate: Redis replies with an error: (?:MOVED|CROSSSLOT) .*: use redis\+cluster:\/\/ for a cluster$/m, '... and the message says what to use';
    }
    my $all = Command->new(redis => url('', @masters), prefix => 'one:');
    is_deeply $all->json(qw(key list)), [], 'nothing is left of the key';
};

subtest 'the documented user is sufficient' => sub {
    my ($page) = grep { $_->path eq 'module/docs/redis_data.md' } Markdown->pages("$FindBin::Bin/..");
    my ($rules) = map { $_->{text} =~ /^user operator (.*)$/m } $page->blocks('redis');
    my ($more) = join('', map { $_->[0] } @{ $page->{prose} }) =~ /In a cluster, the operator and `notify` need `(\+cluster\S* \+asking)`/ or die 'no commands in the documentation';
    $rules =~ s/petstore:/$prefix/g;
    $_->cmd('ACL', 'SETUSER', 'operator', 'reset', split(/ /, $rules), split(/ /, $more)) for $cluster->nodes;
    my $operator = Command->new(redis => url('operator:SECRET@', @masters), prefix => $prefix);
    my $does = sub {
        my $result = succeeds($operator, @_);
        unlike $result->{err}, qr/NOPERM|cannot be checked|unknown whether/, '... and is not refused anything';
        return $result;
    };
    $does->(qw(key issue --plan free --id a --name N));
    $does->({ stdin => 'imported' }, qw(key import --plan free --id b));
    $does->(@$_) for [qw(key list)], [qw(key show a)], [qw(key set a --plan pro --limits 5r/s --expires 1d)], [qw(key disable a)],
        [qw(key enable a)], [qw(key rotate a)], [qw(key rotate a --overlap 0s)], [qw(ban show a)], [qw(ban lift a)], [qw(usage a)],
        [qw(top --count 1 --interval 100ms)];
    my $from = $cluster->master_of("${prefix}id:{asked}");
    my $slot = $cluster->slot_of('{asked}');
    other_than($from)->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->cmd('CLUSTER', 'MYID'));
    $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', other_than($from)->cmd('CLUSTER', 'MYID'));
    $does->(qw(key issue --plan free --id asked));
    $does->(qw(key revoke --yes), $_) for qw(a b asked);
    $_->cmd('CLUSTER', 'SETSLOT', $slot, 'STABLE') for other_than($from), $from;
    my $wrong = Command->new(redis => url('operator:WRONG@', @masters))->run(qw(key list));
    is $wrong->{status}, 1, 'a wrong password';
    like $wrong->{err}, qr/refuses the user or password \(WRONGPASS\)/, '... is one message';
    unlike $wrong->{err}, qr/WRONG\b(?!PASS)/, '... without the password';
};

subtest 'changes are recorded, then published' => sub {
    my $node = $cluster->master_of("${prefix}changes");
    my $events = $cluster->master_of("${prefix}ids")->connection;
    $events->cmd('SUBSCRIBE', "${prefix}events");
    my $key = key_of($tollgate->run(qw(key issue --plan free --id changed)));
    my $digest = sha256_hex($key);
    $cluster->cmd('ZADD', "${prefix}changes", 1, 'old', now_of($node) - 3500_000, 'recent');
    my $before = now_of($node);
    succeeds($tollgate, qw(key disable changed));
    my $after = now_of($node);
    for my $name ($digest, 'changed') {
        my $score = $cluster->cmd('ZSCORE', "${prefix}changes", $name);
        ok $score >= $before && $score <= $after, 'the time is in milliseconds of Redis' or diag "$before <= $score <= $after";
    }
    is $cluster->cmd('ZSCORE', "${prefix}changes", 'old'), undef, 'names of the previous hour are removed';
    ok $cluster->cmd('ZSCORE', "${prefix}changes", 'recent'), '... others are kept';
    my %seen;
    wait_until('the messages', sub { $seen{ $events->read->[2] }++; $seen{changed} && $seen{$digest} });
    pass 'any node gets the messages';
};

# A master that does not know the new config epoch yet can let the next slot lose its owner.
my $agree = sub { wait_until('the masters to agree', sub { $cluster->masters_agree }) };

# Each operation, with the slot `{ID}` or the slot of the key in each state of a migration.
for my $case (['the slot of the id', sub { "{$_[0]}" }], ['the slot of the key', sub { "${prefix}key:" . sha256_hex("token-$_[0]") }]) {
    my ($name, $hashed) = @$case;
    for my $moved (0, 1) {
        subtest "$name migrates, and its keys are " . ($moved ? 'moved' : 'not moved yet') => sub {
            my $id = 'slow' . $moved . ($name =~ /key/ ? 'key' : 'id');
            my $existing = "token-$id";
            my $slot = $cluster->slot_of($hashed->($id));
            my $from = $cluster->master_of($hashed->($id));
            my $to = other_than($from);
            my $migrate = sub {
                while ($moved and my @keys = @{ $from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 100) }) {
                    $from->cmd('MIGRATE', '127.0.0.1', $to->port, '', 0, 5000, 'KEYS', @keys);
                }
            };
            $to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->cmd('CLUSTER', 'MYID'));
            $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->cmd('CLUSTER', 'MYID'));
            # The new keys are made at the importing server.
            succeeds($tollgate, { stdin => $existing }, qw(key import --plan free --id), $id);
            ok !@{ $from->cmd('CLUSTER', 'GETKEYSINSLOT', $slot, 9) }, 'the source gets no new key';
            # The rest of the operations meets keys at the source.
            $from->cmd('CLUSTER', 'SETSLOT', $slot, 'STABLE');
            $to->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->cmd('CLUSTER', 'MYID'));
            $_->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->cmd('CLUSTER', 'MYID')) for @masters;
            $agree->();
            ($from, $to) = ($to, $from);
            $to->cmd('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $from->cmd('CLUSTER', 'MYID'));
            $from->cmd('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $to->cmd('CLUSTER', 'MYID'));
            $migrate->();
            succeeds($tollgate, qw(key disable), $id);
            is $tollgate->json(qw(key show), $id)->{state}, 'disabled', '... is done';
            succeeds($tollgate, qw(key enable), $id);
            succeeds($tollgate, qw(key set --plan pro), $id);
            my $new = key_of(succeeds($tollgate, qw(key rotate), $id));
            is $tollgate->json(qw(key show), $id)->{plan}, 'pro', 'the new key has the plan';
            succeeds($tollgate, qw(usage), $id);
            succeeds($tollgate, qw(ban lift), $id);
            succeeds($tollgate, qw(key revoke --yes), $id);
            is $tollgate->run(qw(key show), $id)->{status}, 3, '... the id is removed';
            my @left = map { @{ $_->cmd('EVAL', q[return redis.call('KEYS', ARGV[1])], 0, "*{$id}*") } } @masters;
            is_deeply \@left, ["${prefix}ended:{$id}"], '... from all masters, except the digests that it had';
            $to->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->cmd('CLUSTER', 'MYID'));
            $_->cmd('CLUSTER', 'SETSLOT', $slot, 'NODE', $to->cmd('CLUSTER', 'MYID')) for @masters;
            $agree->();
            is $tollgate->run({ stdin => $existing }, qw(key import --plan free --force --id), "$id-again")->{status}, 0, 'the key can be imported again';
        };
    }
}

subtest 'slots that move while a command runs' => sub {
    my $from = $cluster->master_of("${prefix}quota:{many1}:api");
    my $top = $tollgate->start(qw(top --interval 100ms --count 20 --json));
    my $shown = sub { open my $file, '<', $top->{files}{out}->filename or die $!; local $/; return <$file> // '' };
    wait_until('the first reading', sub { $shown->() =~ /\n/ });
    $cluster->move_slots($from, other_than($from), $cluster->slot_of('{many1}'));
    waitpid $top->{pid}, 0;
    is $?, 0, 'MOVED is followed';
    is $tollgate->json(qw(usage many1))->{windows}[0]{used}, 104, 'the counts have moved';
};

subtest 'a prompt confirmation by replicas' => sub {
    my $issue = sub { return key_of($tollgate->run(qw(key issue --plan free --id replicated))) };
    my @replicas = ($cluster->nodes)[3 .. 5];
    $issue->();
    is succeeds($tollgate, qw(key revoke --yes replicated))->{err}, '', 'replicas confirm: no message';
    $issue->();
    $_->sigstop for @replicas;
    for my $command ([qw(key disable)], [qw(key rotate --overlap 1h)], [qw(key set --expires 1d)], [qw(key revoke --yes)]) {
        my $result = succeeds($tollgate, @$command, 'replicated');
        like $result->{err}, qr/^tollgate: warning: no replica of Redis has confirmed .*a failover may undo it and make a key valid again\. Run the command again/m,
            '... warns';
    }
    $_->sigcont for @replicas;
};

subtest 'a master fails' => sub {
    my $key = key_of($tollgate->run(qw(key issue --plan free --id survivor)));
    my $failing = $cluster->master_of("${prefix}id:{survivor}");
    # The replicas were stopped before.
    wait_until('the replicas', sub {
        return !grep {
            my $role = $_->cmd('ROLE');
            @{ $role->[2] } != 1 || $role->[2][0][2] < $role->[1] || $_->cmd('CLUSTER', 'NODES') =~ /fail/;
        } @masters;
    });
    $failing->kill;
    my $start = time;
    my $early = $tollgate->run(qw(key show survivor));
    cmp_ok time - $start, '<', 20, 'a command before the failover ends in time';
    like "$early->{status} $early->{err}", qr/^(?:0 |1 tollgate: (?:no connection to Redis at 127\.0\.0\.1:\d+: |no master serves a slot|Redis replies with an error: CLUSTERDOWN).*\n\z)/, '... with a message';
    $cluster->stable;
    is succeeds($tollgate, qw(key show survivor --json))->{out} =~ /"active"/, 1, 'after the failover';
    succeeds($tollgate, qw(key revoke --yes survivor));
    is field_of($key, 'id'), undef, '... the key is removed';
};

subtest 'a server that is not in a cluster' => sub {
    my $redis = RedisServer->start(tcp => 1);
    my $result = Command->new(redis => 'redis+cluster://127.0.0.1:' . $redis->port)->run(qw(key list));
    is $result->{status}, 1, 'status 1';
    like $result->{err}, qr/\Atollgate: no server of the cluster is usable: .*cluster support disabled\n\z/, '... and the reason';
    my $none = Command->new(redis => url(''))->run(qw(key list));
    like $none->{err}, qr/\Atollgate: no server of the cluster is usable: no connection to Redis at .*refused\n\z/, 'no server answers';
};

subtest 'TLS' => sub {
    my $certificates = Certificates->new;
    $certificates->issue('server', 'IP:127.0.0.1');
    my $tls = RedisServer->start(tcp => 1, conf => ['cluster-enabled yes', 'cluster-port ' . free_port(), $certificates->redis('server', my $port = free_port(), 'tls-cluster yes')]);
    $tls->cmd('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
    wait_until('the cluster', sub { $tls->cmd('CLUSTER', 'INFO') =~ /cluster_state:ok/ });
    my $secure = Command->new(redis => "rediss+cluster://127.0.0.1:$port?tls_ca=" . $certificates->certificate('ca'));
    succeeds($secure, qw(key issue --plan free --id tls));
    is $tls->cmd('ZCARD', 'ids'), 1, 'a key is stored';
    is succeeds($secure, qw(key revoke --yes tls))->{err}, '', 'no replica, no message';
};

done_testing;
