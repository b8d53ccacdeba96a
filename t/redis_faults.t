# Redis dies, hangs or refuses commands. Requests get 503 in time, no worker dies, and counts are exact again soon
# after.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Calm;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Wait qw(wait_until free_port);

my $gateway = Gateway->start(
    plans         => 'plan free 5r/s; plan pro 9r/s;',
    server        => 'location = /status { tollgate_status; }',
    redis         => 'timeout 300ms; on_failure deny; key_cache 0;',
    workers       => 2,
    redis_options => { conf => ['appendonly yes', 'appendfsync no', 'lua-time-limit 20'] },
);
my $redis = $gateway->redis;
my $calm = Calm->new(gateway => $gateway);

sub wait_for_next_window {
    my $now = $redis->cmd('TIME')->[0];
    wait_until('the next window', sub { $redis->cmd('TIME')->[0] > $now });
}

sub answers { eval { $redis->connection->cmd('PING') eq 'PONG' } }

$calm->bears('nothing at all', begin => sub { }, refuses => 'none');

# --- gone or hanging

$calm->bears('killed', begin => sub { $redis->kill }, end => sub { $redis->restart }, refuses => 'all');
$calm->bears('restarted', begin => sub { $redis->restart });
$calm->bears('stopped', begin => sub { $redis->sigstop }, end => sub { $redis->sigcont }, refuses => 'all');
$calm->bears('paused',
    begin   => sub { $redis->pause(900) },
    end     => sub { wait_until('Redis', \&answers) },
    refuses => 'all',
);
$calm->bears('paused for writes',
    begin   => sub { $redis->cmd('CLIENT', 'PAUSE', 60_000, 'WRITE') },
    end     => sub { $redis->cmd('CLIENT', 'UNPAUSE') },
    refuses => 'all',
);
$calm->bears('busy with a script',
    begin => sub {
        my $script = $redis->{busy} = $redis->connection;
        $script->send('EVAL', 'while true do end', 0);
        wait_until('a busy Redis', sub { !answers() && $@ =~ /^BUSY/ });
    },
    end     => sub { $redis->cmd('SCRIPT', 'KILL'); delete $redis->{busy} },
    refuses => 'all',
);
$calm->bears('its connections killed',
    begin   => sub { $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes') },
    refuses => 'none',
);
$calm->bears('with no place for a connection',
    begin => sub {
        $redis->cmd('CONFIG', 'SET', 'maxclients', 1);
        $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    end     => sub { $redis->cmd('CONFIG', 'SET', 'maxclients', 1000) },
    refuses => 'all',
);

# --- answering with errors

# A request that an exhausted window refuses gets 429 without Redis. So these faults begin with new windows.
$calm->bears('OOM',
    begin   => sub { wait_for_next_window(); $redis->cmd('CONFIG', 'SET', 'maxmemory', 1) },
    end     => sub { $redis->cmd('CONFIG', 'SET', 'maxmemory', 0) },
    refuses => 'all',
);
$calm->bears('READONLY',
    begin   => sub { wait_for_next_window(); $redis->cmd('REPLICAOF', '127.0.0.1', free_port()) },
    end     => sub { $redis->cmd('REPLICAOF', 'NO', 'ONE') },
    refuses => 'all',
);
$calm->bears('MASTERDOWN',
    begin => sub {
        $redis->cmd('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
        $redis->cmd('REPLICAOF', '127.0.0.1', free_port());
    },
    end     => sub { $redis->cmd('REPLICAOF', 'NO', 'ONE') },
    refuses => 'all',
);
$calm->bears('NOAUTH',
    begin => sub {
        $redis->cmd('CONFIG', 'SET', 'requirepass', 'secret');
        $redis->cmd('AUTH', 'secret');
        $redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    end     => sub { $redis->cmd('CONFIG', 'SET', 'requirepass', '') },
    refuses => 'all',
);
$calm->bears('NOPERM',
    begin   => sub { $redis->cmd('ACL', 'SETUSER', 'default', '-@scripting') },
    end     => sub { $redis->cmd('ACL', 'SETUSER', 'default', '+@all') },
    refuses => 'all',
);
$calm->bears('NOSCRIPT', begin => sub { $redis->cmd('SCRIPT', 'FLUSH') }, refuses => 'none');

subtest 'WRONGTYPE refuses only the key that has it' => sub {
    my $record = 't:key:' . sha256_hex('free');
    for my $name ('t:quota:{free}:api', $record) {
        wait_for_next_window();
        $redis->cmd('RENAME', $name, 'moved') if $name eq $record;    # the record is restored below
        $redis->cmd('SET', $name, 'not a hash');
        my $r = $gateway->get('/', 'free');
        if ($name eq $record) {
            is($r->status, 401, "$name is a string: an invalid record");
            is($r->json->{code}, 'invalid_api_key', 'and an Error body');
        } else {
            is($r->status, 503, "$name is a string: 503");
            ok($r->header('retry-after'), 'with Retry-After');
            is($r->json->{code}, 'service_unavailable', 'and an Error body');
        }
        like($gateway->get('/', 'pro')->status, qr/^(200|429)$/, 'the other key is served');
        $redis->cmd('DEL', $name);
        $redis->cmd('RENAME', 'moved', $name) if $name eq $record;
        like($gateway->get('/', 'free')->status, qr/^(200|429)$/, 'both are served when it is gone');
    }
};

$gateway->nginx->stop;
done_testing;
