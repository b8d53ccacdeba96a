# `tollgate notify` delivers notices as webhooks: each at least once, with one id, whatever happens to the receiver, to
# Redis, and to the command.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(hmac_sha256 sha256_hex);
use File::Temp ();
use JSON::PP ();
use MIME::Base64 qw(decode_base64 encode_base64);
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);
use WebhookReceiver;

my $dir = File::Temp->newdir('notify-XXXXXX', TMPDIR => 1);
my @secrets = map { 'whsec_' . encode_base64($_ x 32, '') } qw(a b);
my $secret_file = "$dir/secret";
write_file($secret_file, "$secrets[0]\n");
chmod 0600, $secret_file;

# The lines of the page are sufficient for the users of the command.
my @users = do {
    open my $page, '<', 'module/docs/redis_data.md' or die $!;
    map { s/petstore:/t:/gr } grep { /^user (?:operator|notify) / } <$page>;
};

sub write_file { my ($path, $text) = @_; open my $file, '>', $path or die $!; print $file $text; close $file or die $! }

sub new_redis { return RedisServer->start(acl => ['user default on nopass ~* &* +@all', @users], @_) }

sub command_for {
    my ($redis, $user) = @_;
    my $url = $redis->isa('RedisCluster') ? "redis+cluster://$user:SECRET\@127.0.0.1:" . ($redis->nodes)[0]->port
            : "unix://$user:SECRET\@" . $redis->socket;
    return Command->new(redis => $url, prefix => 't:');
}

# Starts the command. It is killed when the object ends.
sub start_notify {
    my ($redis, $receiver, @arguments) = @_;
    my $started = command_for($redis, 'notify')->start('notify', '--url', $receiver->url, '--secret-file', $secret_file, @arguments);
    return bless $started, 'Started';
}
sub Started::kill9 {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;
    kill KILL => $pid;
    waitpid $pid, 0;
}
# The next line of its messages.
sub Started::line {
    my ($self) = @_;
    open my $file, '<', $self->{files}{err}->filename or die $!;
    return wait_until('a message', sub {
        seek $file, $self->{read} // 0, 0;
        my $line = <$file> // return;
        return unless $line =~ /\n\z/;
        $self->{read} = tell $file;
        return $line;
    });
}
sub Started::DESTROY {
    my ($self) = @_;
    my $error = $@;
    local ($?, $@, $!);
    $self->kill9;
    return unless $error;
    open my $file, '<', $self->{files}{err}->filename or return;
    diag map { "notify: $_" } <$file>;
}

# Appends a notice, as acquire/rare/notify.lua does.
my $level = 0;
sub add_notice {
    my ($redis, %fields) = @_;
    my %all = (id => 'k1', table => 'api', value => '', period => 86400, number => 20000, level => ++$level, limit => 1000, used => 800, %fields);
    return $redis->cmd('XADD', $fields{stream} // 't:notices', $fields{at} // '*', map { $_ => $all{$_} } grep { !/^(?:stream|at)$/ } sort keys %all);
}
sub rest { my ($redis) = @_; return $redis->cmd('XLEN', 't:notices') }

# Makes the entries of a command that was killed old enough for another one to take them.
sub age {
    my ($redis) = @_;
    my $pending = eval { $redis->cmd('XPENDING', 't:notices', 'tollgate', '-', '+', 1000) } // [];    # no group yet
    $redis->cmd('XCLAIM', 't:notices', 'tollgate', $_->[1], 0, $_->[0], 'IDLE', 60000, 'JUSTID') for @$pending;
    return scalar @$pending;
}

sub is_signed {
    my ($hook, $secret) = @_;
    my $mac = hmac_sha256("$hook->{id}.$hook->{timestamp}.$hook->{body}", decode_base64($secret =~ s/whsec_//r));
    return grep { $_ eq 'v1,' . encode_base64($mac, '') } split / /, $hook->{signature};
}

my @delivered;    # for the reference library

subtest 'a webhook' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    add_notice($redis, level => 80, value => '0123456789abcdef');
    my $notify = start_notify($redis, $receiver);
    my $hook = $receiver->accept;
    is($hook->{line}, 'POST /hook HTTP/1.1', 'its request');
    is($hook->{type}, 'application/json', '… of JSON');
    like($hook->{fields}{'user-agent'}, qr{^tollgate/\d}, '… by tollgate');
    like($hook->{id}, qr/^notice_[0-9a-f]{32}$/, 'its id');
    ok(abs($hook->{timestamp} - time) < 60, 'its time is that of the attempt');
    ok(is_signed($hook, $secrets[0]), 'its signature');
    like(delete $hook->{json}{timestamp}, qr/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, 'the time of the notice');
    is_deeply($hook->{json}, { type => 'quota.threshold_reached', data => { id => 'k1', table => 'api', value => '0123456789abcdef',
        period => 'day', begin => '2024-10-04T00:00:00Z', end => '2024-10-05T00:00:00Z', level => 80, limit => 1000, used => 800 } }, 'its data');
    is(rest($redis), 1, 'the notice is kept');
    push @delivered, $hook->answer(204);
    becomes(sub { rest($redis) }, 0, '… until it is accepted');
    add_notice($redis, period => 'month', number => 20042, ends => 1734220800000);
    $hook = $receiver->accept->answer(200);
    is_deeply([@{ $hook->{json}{data} }{qw(period begin end)}, exists $hook->{json}{data}{value}],
        ['month', '2024-11-15T00:00:00Z', '2024-12-15T00:00:00Z', !1], 'a month, which ends on a billing day, and no value');
    push @delivered, $hook;
    becomes(sub { rest($redis) }, 0, 'further notices');
};

subtest 'secrets are replaced' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    write_file($secret_file, "$secrets[1]\n$secrets[0]\n");
    my $notify = start_notify($redis, $receiver);
    add_notice($redis);
    my $hook = $receiver->accept->answer(200);
    write_file($secret_file, "$secrets[0]\n");
    ok(is_signed($hook, $_), 'a signature of each secret') for @secrets;
    push @delivered, $hook;
};

subtest 'a receiver that fails, hangs and comes back' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $notify = start_notify($redis, $receiver);
    add_notice($redis);
    my @hooks;
    for my $status (500, 404, 301, 200) {
        push @hooks, $receiver->accept->answer($status);
        is(rest($redis), 1, "$status: the notice is kept") if $status != 200;
    }
    is_deeply([map { $_->{id} } @hooks], [($hooks[0]{id}) x 4], 'all attempts have the same id');
    ok($hooks[3]{timestamp} > $hooks[0]{timestamp}, '… and their own times');
    becomes(sub { rest($redis) }, 0, 'delivered');

    $receiver->close;
    add_notice($redis);
    like($notify->line, qr/^tollgate: warning: notice_\w+ is not delivered: /, 'nobody listens');
    $receiver->open;
    my $hook = $receiver->accept->answer(200);
    becomes(sub { rest($redis) }, 0, 'the receiver is back');

    my $started = time;
    add_notice($redis);
    my $hanging = $receiver->accept;
    my $second = $receiver->accept;    # after 15 s
    ok(time - $started >= 14, 'a receiver that does not answer is given up after a time');
    ok($hanging->is_closed, '… its connection is closed');
    is($second->{id}, $hanging->{id}, 'the same id');
    $second->answer(200);
    becomes(sub { rest($redis) }, 0, 'delivered');
};

subtest 'a notice that the receiver refuses does not delay others for long' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $notify = start_notify($redis, $receiver);
    add_notice($redis, id => 'bad');
    add_notice($redis, id => "good$_") for 1 .. 5;
    my %accepted;
    while (keys %accepted < 5) {
        my $hook = $receiver->accept;
        my $id = $hook->{json}{data}{id};
        $hook->answer($id eq 'bad' ? 400 : 200);
        $accepted{$id}++ if $id ne 'bad';
    }
    becomes(sub { rest($redis) }, 1, 'five are delivered, one is not');
    add_notice($redis, id => 'bad') for 1 .. 120;
    add_notice($redis, id => 'late');
    my $tried = 0;
    while (1) {
        my $hook = $receiver->accept;
        my $is_late = $hook->{json}{data}{id} eq 'late';
        $hook->answer($is_late ? 200 : 400);
        last if $is_late || ++$tried > 1000;
    }
    cmp_ok($tried, '<', 300, "one behind many that are refused is delivered (after $tried)");
};

subtest 'what adds notices does not stop those that wait' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    $redis->cmd('SET', 't:ids', 'no list of ids');
    add_notice($redis);
    my $notify = start_notify($redis, $receiver);
    like($notify->line, qr/WRONGTYPE/, 'the ids cannot be examined');
    $receiver->accept->answer(200);
    becomes(sub { rest($redis) }, 0, 'a notice is delivered');
};

subtest 'no more keys are examined than the receiver takes' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $keys = 2500;
    $redis->cmd('EVAL', <<'END', 0, $keys, time, time + 86400 * 5);
for i = 1, ARGV[1] do
    local digest, id = string.format('%064x', i), 'k' .. i
    redis.call('HSET', 't:key:' .. digest, 'id', id, 'plan', 'free', 'created', ARGV[2] - 86400 * 90, 'state', 'active', 'expires', ARGV[3])
    redis.call('SADD', 't:id:{' .. id .. '}', digest)
    redis.call('ZADD', 't:ids', i, id)
end
END
    my $notify = start_notify($redis, $receiver);
    my (%seen, $most);
    while (keys %seen < $keys) {
        my $hook = $receiver->accept;
        $hook->answer(200);
        next if $seen{ $hook->{json}{data}{id} }++ || keys(%seen) % 50;
        my $waiting = $redis->cmd('XLEN', 't:notices');
        $most = $waiting if $waiting > ($most // 0);
    }
    cmp_ok($most, '<', 1600, "at most $most notices waited");
    is((grep { $_ > 1 } values %seen), 0, 'each key is noticed once');
};

subtest '410 ends the command' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $notify = start_notify($redis, $receiver);
    add_notice($redis);
    $receiver->accept->answer(410);
    waitpid delete $notify->{pid}, 0;
    is($? >> 8, 6, 'exit status');
    is(rest($redis), 1, 'the notice is kept');
};

subtest 'kill -9 at each step' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $entry = add_notice($redis);
    my $id;
    my $step = sub {
        my ($name, $code) = @_;
        my $notify = start_notify($redis, $receiver);
        $code->($notify);
        $notify->kill9;
        $redis->cmd('CLIENT', 'UNPAUSE');
        is(rest($redis), 1, "$name: the notice is in Redis");
        age($redis);
    };
    my $same = sub { my ($hook) = @_; $id //= $hook->{id}; is($hook->{id}, $id, '… its id is the same'); return $hook };
    my $is_taken = sub { eval { @{ $redis->cmd('XPENDING', 't:notices', 'tollgate', '-', '+', 10) } } };

    $redis->cmd('CLIENT', 'PAUSE', 60000, 'WRITE');
    $step->('before it is taken', sub { wait_until('the command to wait for Redis', sub { $redis->cmd('INFO', 'clients') =~ /blocked_clients:1/ }) });
    $receiver->close;
    $step->('after it was taken', sub { wait_until('the entry to be taken', $is_taken) });
    $receiver->open;
    $step->('before the request', sub { wait_until('a connection', sub { IO::Select->new($receiver->{listening})->can_read(0) }) });
    wait_until('that connection', sub { $same->($receiver->accept_within(0.1) // return 1); 1 });
    $step->('during the request', sub { $same->($receiver->accept) });
    $step->('after an error', sub { $same->($receiver->accept)->answer(500); $_[0]->line });
    $step->('after the response, before Redis knows', sub {
        my $hook = $same->($receiver->accept);
        $redis->cmd('CLIENT', 'PAUSE', 60000, 'WRITE');
        $hook->answer(200);
        wait_until('the command to wait for Redis', sub { $redis->cmd('INFO', 'clients') =~ /blocked_clients:1/ });
    });
    my $last = start_notify($redis, $receiver);
    push @delivered, $same->($receiver->accept)->answer(200);
    becomes(sub { rest($redis) }, 0, 'delivered at last');
};

subtest 'many notices, and commands that are killed at any time' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my %missing = map { add_notice($redis, id => "m$_") => "m$_" } 1 .. 60;
    %missing = map { $_ => 1 } values %missing;
    my (%ids, $repeats);
    my @running = map { start_notify($redis, $receiver) } 1 .. 2;
    my ($kills, $received) = (0, 0);
    while (%missing) {
        my $hook = $receiver->accept;
        my $id = $hook->{json}{data}{id};
        $ids{$id} //= $hook->{id};
        is($hook->{id}, $ids{$id}, "$id: the same webhook id") if $ids{$id} ne $hook->{id};
        my $is_killed = ++$received % 7 == 0 && $kills < 12;
        if ($is_killed && $received % 2) {    # before it has the answer
            $kills++;
            my $victim = shift @running;
            $victim->kill9;
        }
        $hook->answer(200);
        # A command that was killed before may not have told Redis: its entry is repeated.
        delete $missing{$id};
        if ($is_killed && !($received % 2)) {
            $kills++;
            (shift @running)->kill9;
        }
        if ($is_killed) {
            age($redis);
            push @running, start_notify($redis, $receiver);
        }
    }
    is(scalar keys %ids, 60, 'all are delivered');
    ok($kills >= 5, "$kills commands were killed");
    my %by_webhook = reverse %ids;
    is(scalar keys %by_webhook, 60, 'each has its own webhook id');
};

subtest 'Redis restarts, and the command continues' => sub {
    my $redis = new_redis(conf => ['appendonly yes', 'appendfsync always']);
    my $receiver = WebhookReceiver->new;
    my $notify = start_notify($redis, $receiver);
    add_notice($redis);
    $receiver->accept->answer(200);
    becomes(sub { rest($redis) }, 0, 'a notice');
    $redis->stop;
    $notify->line;
    $redis->restart;
    add_notice($redis);
    $receiver->accept->answer(200);
    becomes(sub { rest($redis) }, 0, 'another one');
};

subtest 'an entry that is no notice is removed' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $notify = start_notify($redis, $receiver);
    $redis->cmd('XADD', 't:notices', '*', 'hello', 'world');
    add_notice($redis);
    $receiver->accept->answer(200);
    becomes(sub { rest($redis) }, 0, 'and does not stop others');
};

subtest 'keys that expire' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $tollgate = command_for($redis, 'operator');
    my $day = 86400;
    my %keys = (
        never => [undef, 400], far => [40, 400], month => [29.5, 400], week => [6.5, 400], day => [0.5, 400],
        short => [29.5, 29.6], retiring => [29.5, 400], disabled => [6.5, 400],
    );
    for my $id (sort keys %keys) {
        my ($rest, $lifetime) = @{ $keys{$id} };
        my $token = "token-$id";
        my $result = $tollgate->run({ stdin => "$token\n" }, 'key', 'import', '--id', $id, '--plan', 'free', '--force',
            defined $rest ? ('--expires', int($rest * 24) . 'h') : ());
        is($result->{status}, 0, "$id is imported") or diag $result->{err};
        $redis->cmd('HSET', 't:key:' . sha256_hex($token), 'created', time - int(($lifetime - ($rest // 0)) * $day));
    }
    is($tollgate->run('key', 'rotate', 'retiring', '--overlap', '24h')->{status}, 0, 'one is replaced');
    is($tollgate->run('key', 'disable', 'disabled')->{status}, 0, 'one is disabled');
    my $notify = start_notify($redis, $receiver);
    my %days;
    my @hooks;
    for (1 .. 4) {
        push @hooks, $receiver->accept->answer(200);
        $days{ $hooks[-1]{json}{data}{id} } = $hooks[-1]{json}{data}{days};
    }
    is_deeply(\%days, { month => 30, week => 7, day => 1, retiring => 30 }, 'each has its level');
    is($hooks[0]{json}{type}, 'key.expires_soon', 'the type');
    is_deeply([sort keys %{ $hooks[0]{json}{data} }], [qw(days expires id)], 'the data');
    like($hooks[0]{json}{data}{expires}, qr/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, '… with the time');
    push @delivered, @hooks;
    becomes(sub { rest($redis) }, 0, 'all are delivered');
    $notify->kill9;
    is($tollgate->run('key', 'set', 'far', '--expires', '6d')->{status}, 0, 'a key expires earlier');
    my $again = start_notify($redis, $receiver);
    is_deeply({ %{ $receiver->accept->answer(200)->{json}{data} }, expires => '' }, { id => 'far', days => 7, expires => '' },
        'another command repeats none, and finds the one that is new');
    becomes(sub { rest($redis) }, 0, 'that is all');
    cmp_ok($redis->cmd('TTL', 't:noticed:' . sha256_hex('token-day')), '<=', $day / 2, 'what was noticed is forgotten with the key');
    is_deeply([map { $_->{object} } grep { $_->{username} eq 'notify' } map { +{@$_} } @{ $redis->cmd('ACL', 'LOG') }], ['exists'], 'the user may do all of this, but not search for tables of another prefix');
};

subtest 'Redis Cluster' => sub {
    my ($cluster, $receiver) = (RedisCluster->start(masters => 3), WebhookReceiver->new);
    my ($rules) = map { /^user notify (.*)/ } @users;
    $_->cmd('ACL', 'SETUSER', 'notify', split(/ /, $rules), qw(+cluster|slots +asking)) for $cluster->nodes;
    my %tag = map { $_ => 1 } 1 .. 300;
    # A tag of each of some slots: the smallest number of the slot.
    my %slots;
    $slots{ $cluster->slot_of($_) } //= $_ for 1 .. 300;
    my @tags = (sort { $a <=> $b } values %slots)[0, 100, 200];
    add_notice($cluster, stream => "t:notices:{$_}", id => "in$_", at => '1790000000000-*') for @tags, $tags[0];
    my $notify = start_notify($cluster, $receiver);
    my (%seen, %times);
    for (1 .. 4) {
        my $hook = $receiver->accept->answer(200);
        $seen{ $hook->{json}{data}{id} }++;
        $times{ $hook->{json}{timestamp} }++;
    }
    is_deeply([keys %times], ['2026-09-21T14:13:20Z'], 'the time is that of the first entry');
    is_deeply(\%seen, { "in$tags[0]" => 2, "in$tags[1]" => 1, "in$tags[2]" => 1 }, 'the notices of all slots');
    becomes(sub { join ' ', rest($cluster), map { $cluster->cmd('XLEN', "t:notices:{$_}") } @tags }, '0 0 0 0', '… once');
};

subtest 'mistakes' => sub {
    my ($redis, $receiver) = (new_redis(), WebhookReceiver->new);
    my $run = sub { my ($secret, $url) = @_; write_file("$dir/other", $secret); return command_for($redis, 'operator')->run('notify', '--url', $url // $receiver->url, '--secret-file', "$dir/other") };
    for my $secret ('', "secret\n", "whsec_abc\n", 'whsec_' . encode_base64('a' x 23, ''), 'whsec_' . encode_base64('a' x 65, '')) {
        my $result = $run->($secret);
        is($result->{status}, 2, "secret '" . $secret =~ s/\s//gr . "'");
        like($result->{err}, qr/^tollgate: --secret-file \S+: (a secret is whsec_ and 24 to 64 bytes in base64|there is no secret)$/m, '… the message');
        like($result->{err}, qr/^tollgate: warning: --secret-file \S+ has the mode 0644, so every user of this machine can read it: chmod 600$/m, '… and a warning of its mode');
    }
    is($run->("$secrets[0]\n", 'ftp://example.com/')->{status}, 2, 'another scheme');
    is(command_for($redis, 'operator')->run('notify', '--url', $receiver->url)->{status}, 2, 'no secret');
};

# TOLLGATE_STANDARDWEBHOOKS: a folder in which npm has installed the library.
subtest 'the reference library of Standard Webhooks verifies them' => sub {
    plan skip_all => 'no npm here' if system 'npm --version >/dev/null 2>&1';
    my $library = $ENV{TOLLGATE_STANDARDWEBHOOKS} // $dir;
    if (!-d "$library/node_modules/standardwebhooks") {
        my $log = `npm install --prefix '$library' --no-audit --no-fund --ignore-scripts standardwebhooks\@1.0.0 2>&1`;
        plan skip_all => "standardwebhooks can't be installed: $log" if $?;
    }
    my $json = JSON::PP->new->canonical;
    write_file("$dir/hooks.json", $json->encode([map { { body => $_->{body},
        headers => { 'webhook-id' => $_->{id}, 'webhook-timestamp' => $_->{timestamp}, 'webhook-signature' => $_->{signature} } } } @delivered]));
    write_file("$dir/verify.cjs", <<'END');
const [, , library, file, secret] = process.argv;
const {Webhook} = require(`${library}/node_modules/standardwebhooks`);
const hooks = JSON.parse(require('fs').readFileSync(file, 'utf8'));
const accepts = (secret, body, headers) => {
    try { new Webhook(secret).verify(body, headers); return true } catch { return false }
};
const accepted = hooks.filter(({body, headers}) => accepts(secret, body, headers)).length;
const changed = hooks.filter(({body, headers}) => accepts(secret, body + ' ', headers)).length;
console.log(`${accepted} of ${hooks.length} accepted, ${changed} changed ones accepted`);
END
    chomp(my $result = `node '$dir/verify.cjs' '$library' '$dir/hooks.json' '$secrets[0]' 2>&1`);
    my $count = @delivered;
    ok($count >= 5, "$count webhooks");
    is($result, "$count of $count accepted, 0 changed ones accepted", 'it accepts them, and no others');
};

done_testing;
