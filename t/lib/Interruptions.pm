package Interruptions;

# Runs each changing command of tollgate, interrupted at every fourth step: the state is safe after it, and the same
# command completes it when it is run again. The unit test order_search_test kills the operations after each step, without
# Redis and without connections.
#
#   my $interruptions = use_deployment(
#       redis   => $redis,                     # cmd(COMMAND, KEY, …) as the servers answer it
#       masters => [$redis],                   # the RedisServer objects with the keys
#       url     => $redis->address,            # of the tollgate command
#       proxy   => sub { my ($n, $when) = @_; … },     # a proxy that closes all connections at the Nth command:
#   );                                         #   an object with `url`, and `reached`: whether there was an Nth command
#   test_interruptions();                      # subtests
#   run_cut($n, $when, @command)               # the result of the command through such a proxy, and `reached`
#   run_batches([@command], …)             # the results
#   record($key), works($key), working($id), issued($id), key_of($result), next_id()
#   most_steps(), steps($when)             # the greatest N, and those at which a command is interrupted
#
# `before`: Redis does not get the Nth command. `after`: Redis runs it, and its reply is lost.
#
# Other steps are interrupted for `before` than for `after`.

use strict;
use warnings;
use Command;
use Digest::SHA qw(sha256_hex);
use Exporter 'import';
use Test::More;

our @EXPORT = qw(use_deployment test_interruptions run_cut run_batches record works working issued key_of next_id most_steps steps);

my $kMostSteps = 150;
my $kStride = 4;
my ($redis, $tollgate, %deployment);
my $case = 0;

sub use_deployment {
    %deployment = @_;
    $redis = $deployment{redis};
    $tollgate = Command->new(redis => $deployment{url});
}

sub most_steps { return $kMostSteps }
sub steps      { my ($when) = @_; return grep { $_ % $kStride == ($when eq 'before' ? 1 : 3) } 1 .. $kMostSteps }
sub next_id    { return 'c' . ++$case }

sub run_cut {
    my ($n, $when, @command) = @_;
    my $proxy = $deployment{proxy}->($n, $when);
    my $result = Command->new(redis => $proxy->url)->run(@command);
    return ($result, $proxy->reached);
}

# Runs commands, 20 at a time. Returns their results in this order.
sub run_batches {
    my (@commands) = @_;
    my @results;
    while (my @batch = splice @commands, 0, 20) { push @results, $tollgate->run_at_once(@batch) }
    return @results;
}

sub on_all { my @command = @_; return map { my $reply = $_->cmd(@command); ref $reply ? @$reply : $reply } @{ $deployment{masters} } }

sub record { return { @{ $redis->cmd('HGETALL', 'key:' . sha256_hex($_[0])) } } }
sub works { my $record = record($_[0]); return ($record->{state} // '') eq 'active' && ($record->{expires} // 9e9) > time }

# The digests of all keys of an id that a gateway accepts, found without the id's set.
sub working {
    my ($id) = @_;
    return sort { $a cmp $b } on_all('EVAL', <<'END', 0, $id, time);
        local found = {}
        for _, key in ipairs(redis.call('KEYS', 'key:*')) do
            local record = redis.call('HMGET', key, 'id', 'state', 'expires')
            if record[1] == ARGV[1] and record[2] == 'active' and tonumber(record[3] or '9e9') > tonumber(ARGV[2]) then
                found[#found + 1] = key:sub(5)
            end
        end
        return found
END
}

# The errors in the lists: a valid key that is not listed, or a set of digests whose id is not listed.
sub unlisted {
    my ($id) = @_;
    my @wrong = map { "$_ works and is not listed" } grep { !$redis->cmd('SISMEMBER', "id:{$id}", $_) } working($id);
    my $listed = defined $redis->cmd('ZSCORE', 'ids', $id);
    push @wrong, "$id has a key and is not listed" if working($id) && !$listed;
    push @wrong, "the set of $id stays and is not listed" if !$listed && $redis->cmd('EXISTS', "id:{$id}") && $redis->cmd('PTTL', "id:{$id}") < 0;
    return @wrong;
}

# Reservations must expire. PTTL is -2 if one has expired since HGET.
sub lasting_reservations {
    return grep { ($redis->cmd('HGET', $_, 'state') // '') eq 'pending' && $redis->cmd('PTTL', $_) == -1 } on_all('KEYS', 'key:*');
}

sub key_of { my ($result) = @_; return $result->{out} =~ /(tg_\w{38})/ ? $1 : undef }

# Runs a command again and again, and cuts the connection at another step each time. prepare($id) prepares the id and
# returns the argument of the other two. safe($id, $prepared) returns what is wrong after the interruption,
# done($id, $prepared, $result, $first) what is wrong after the second run.
sub at_steps {
    my ($name, %test) = @_;
    subtest $name => sub {
        on_all('FLUSHALL');
        my (@interrupted, @wrong);
        my $steps = 0;
        for my $when (qw(before after)) {
            for my $n (steps($when)) {
                my $id = next_id();
                my $prepared = $test{prepare} ? $test{prepare}->($id) : undef;
                my @command = $test{command}->($id, $prepared);
                my ($result, $cut) = run_cut($n, $when, @command);
                last unless $cut;
                $steps++;
                my $place = "cut $when command $n";
                push @wrong, map { "$place: $_" } ($test{unlisted} ? () : unlisted($id)), $test{safe} ? $test{safe}->($id, $prepared) : ();
                push @wrong, "$place: status $result->{status}: $result->{err}" if $result->{status} && $result->{status} != 1;
                push @interrupted, { place => $place, id => $id, prepared => $prepared, command => \@command, first => $result };
            }
        }
        cmp_ok $steps, '>=', $test{steps}, "$steps interruptions";
        is_deeply \@wrong, [], 'each leaves a safe state';
        @wrong = ();
        my @again = grep { $_->{first}{status} } @interrupted;
        my @results = run_batches(map { $_->{command} } @again);
        $_->{again} = shift @results for @again;
        for my $one (@interrupted) {
            my $result = $one->{again} // $one->{first};
            my @found = unlisted($one->{id});
            push @found, "status $result->{status}: $result->{err}" if $result->{status};
            push @found, $test{done}->($one->{id}, $one->{prepared}, $result, $one->{first});
            push @wrong, map { "$one->{place}: $_" } @found;
        }
        is_deeply \@wrong, [], 'and the same command, run again, is done';
        is_deeply [lasting_reservations()], [], 'no reservation lasts';
    };
}

sub issued { my ($id) = @_; my $r = $tollgate->run(qw(key issue --plan free --limits 5r/s --name N --expires 2040-01-01 --id), $id); die $r->{err} if $r->{status}; return key_of($r) }
sub have { my ($id, @keys) = @_; my $have = join ' ', working($id); my $want = join ' ', sort map { sha256_hex($_) } @keys; return $have eq $want ? () : "working are <$have>, not <$want>" }
sub copied { my $r = record($_[0]); my $is = join ' ', map { $_ // '-' } @$r{qw(plan limits name expires)}; return $is eq 'free 5r/s N 2208988800' ? () : "the new key has <$is>" }

sub test_interruptions {
    at_steps('issue',
        steps   => 9,
        command => sub { qw(key issue --plan free --id), $_[0] },
        done    => sub { my ($id, undef, $result) = @_; return have($id, key_of($result) // 'none') },
    );

    at_steps('issue, the id made up',
        steps   => 9,
        command => sub { qw(key issue --plan free --json) },
        done    => sub { my (undef, undef, $result) = @_; return works(key_of($result) // 'none') ? () : 'the key does not work' },
    );
    is_deeply [map { unlisted($_) } map { /\{(.*)\}/ } on_all('KEYS', 'id:*')], [], 'made-up ids are listed';

    at_steps('import',
        steps   => 9,
        command => sub { ({ stdin => "token-$_[0]" }, qw(key import --plan free --id), $_[0]) },
        done    => sub { my ($id) = @_; return have($id, "token-$id") },
    );

    at_steps('import, the id made up',
        steps   => 9,
        command => sub { ({ stdin => "token-$_[0]" }, qw(key import --plan free)) },
        done    => sub {
            my ($name) = @_;
            my $id = record("token-$name")->{id} // return 'not stored';
            return (unlisted($id), have($id, "token-$name"));
        },
    );

    at_steps('import of a file',
        steps   => 6,
        command => sub { my ($id) = @_; ({ stdin => join '', map { qq({"id":"$id-$_","plan":"free","token":"token-$id-$_"}\n) } 1 .. 3 }, qw(import -)) },
        done    => sub {
            my ($id) = @_;
            my @ids = map { "$id-$_" } 1 .. 3;
            return map { (unlisted($_), have($_, "token-$_")) } @ids;
        },
    );

    at_steps('import of what files declare',
        steps    => 20,
        unlisted => 1,    # the id has other names than those of the declared ones
        prepare  => sub {
            my ($id) = @_;
            $tollgate->run({ stdin => "old-$id" }, qw(key import --plan free --id), "$id-1");
            $tollgate->run({ stdin => "gone-$id" }, qw(key import --plan free --meta), "owner=$id", '--id', "$id-3");
        },
        command => sub {
            my ($id) = @_;
            my @lines = (qq({"id":"$id-1","plan":"pro","token":"new-$id"}), qq({"id":"$id-2","plan":"free","token":"added-$id"}));
            return ({ stdin => join "\n", @lines }, qw(import - --update --prune --owner), $id);
        },
        done => sub {
            my ($id) = @_;
            return (have("$id-1", "old-$id", "new-$id"), have("$id-2", "added-$id"), have("$id-3"), map { unlisted("$id-$_") } 1, 2),
                record("new-$id")->{plan} eq 'pro' ? () : 'the plan is not changed';
        },
    );

    at_steps('credit',
        steps   => 4,
        prepare => sub {
            $redis->cmd('HSET', 'plans', 'api', '{"plans":{"free":{"custom":true}}}');
            return issued($_[0]);
        },
        command => sub { qw(key credit), $_[0], qw(5 --ref order-1) },
        done    => sub { my ($id) = @_; my $left = $redis->cmd('HGET', "quota:{$id}:api", 'balance.left') // 'nothing'; return $left eq 5 ? () : "$left is left" },
    );

    at_steps('rotate with an overlap',
        steps   => 14,
        prepare => \&issued,
        command => sub { qw(key rotate --overlap 1h), $_[0] },
        safe    => sub { my ($id, $old) = @_; return works($old) ? () : 'the old key has ended' },
        done    => sub {
            my ($id, $old, $result) = @_;
            my $new = key_of($result) // 'none';
            my $left = $redis->cmd('PTTL', 'key:' . sha256_hex($old));
            return (have($id, $old, $new), copied($new), $left > 0 && $left <= 3600_000 ? () : "the old key ends in $left ms");
        },
    );

    for my $overlapping (0, 1) {
        my $name = $overlapping ? 'rotate without an overlap, two keys' : 'rotate without an overlap';
        at_steps($name,
            steps   => 14,
            prepare => sub {
                my ($id) = @_;
                my @keys = issued($id);
                push @keys, key_of($tollgate->run(qw(key rotate), $id)) if $overlapping;
                return \@keys;
            },
            command => sub { qw(key rotate --overlap 0s), $_[0] },
            # The command has not begun if nothing of the id has changed.
            safe => sub {
                my ($id, $old) = @_;
                my $begun = !works($old->[-1]) || @{ $redis->cmd('SMEMBERS', "id:{$id}") } != @$old;
                return $begun && works($old->[-1]) ? 'the old key still works' : ();
            },
            done => sub {
                my ($id, $old, $result) = @_;
                my $new = key_of($result) // 'none';
                return (have($id, $new), copied($new));
            },
        );
    }

    at_steps('revoke',
        steps    => 9,
        prepare  => sub { my ($id) = @_; my $key = issued($id); $redis->cmd('HSET', "ban:{$id}", until => 9e12, level => 1); return $key },
        command  => sub { qw(key revoke --yes), $_[0] },
        unlisted => 1,    # the set is deleted last
        safe     => sub { my ($id, $key) = @_; return works($key) && !defined $redis->cmd('ZSCORE', 'ids', $id) ? 'it still works' : () },
        done     => sub { my ($id) = @_; return (have($id), map { $redis->cmd('EXISTS', $_) ? "$_ is left" : () } "id:{$id}", "ban:{$id}") },
    );

    for my $command ([qw(set --plan pro), plan => 'pro'], [qw(disable), state => 'disabled'], [qw(enable), state => 'active']) {
        my ($field, $value) = splice @$command, -2;
        at_steps("@$command",
            steps   => 14,
            prepare => sub {
                my ($id) = @_;
                my @keys = issued($id);
                push @keys, key_of($tollgate->run(qw(key rotate), $id));
                $tollgate->run(qw(key disable), $id) if $command->[0] eq 'enable';
                return \@keys;
            },
            command => sub { 'key', @$command, $_[0] },
            done    => sub { my (undef, $keys) = @_; return map { record($_)->{$field} eq $value ? () : "$field is " . record($_)->{$field} } @$keys },
        );
    }

    at_steps('lift',
        steps   => 6,
        prepare => sub { my ($id) = @_; $redis->cmd('HSET', "ban:{$id}", until => 9e12, level => 1); return issued($id) },
        command => sub { qw(ban lift), $_[0] },
        done    => sub { my ($id) = @_; return $redis->cmd('EXISTS', "ban:{$id}") ? 'the ban is left' : () },
    );

    # An interrupted command may be followed by a different one.
    subtest 'another command after an interruption' => sub {
        my @cases;
        for my $n (steps('after')) {
            my $id = next_id();
            issued($id);
            my (undef, $cut) = run_cut($n, 'after', qw(key rotate --overlap 0s), $id);
            last unless $cut;
            push @cases, { id => $id, n => $n };
        }
        my $each = sub { my @command = @_; return run_batches(map { [@command, $_->{id}] } @cases) };
        my @set = $each->(qw(key set --plan pro));
        my @rotated = $each->(qw(key rotate --overlap 1h));
        my @wrong;
        for my $i (0 .. $#cases) {
            my $new = key_of($rotated[$i]) // '';
            push @wrong, "after command $cases[$i]{n}: $set[$i]{err}$rotated[$i]{err}" if $set[$i]{status} || $rotated[$i]{status};
            push @wrong, "after command $cases[$i]{n}: the new key has no plan pro" unless (record($new)->{plan} // '') eq 'pro' && works($new);
        }
        my @revoked = $each->(qw(key revoke --yes));
        push @wrong, map { "after command $cases[$_]{n}: it can not be revoked" }
            grep { $revoked[$_]{status} || working($cases[$_]{id}) } 0 .. $#cases;
        is_deeply \@wrong, [], 'set, rotate and revoke do their work';
    };
}

1;
