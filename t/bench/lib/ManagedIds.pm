package ManagedIds;

# Many ids with all that management reads: a record, the index of keys, a group, a history, and some bans. A
# script writes them in Redis, in parts, so that it takes seconds. Nobody has their keys.
#
#   my $ids = ManagedIds->write($redis, 't:', count => 100_000, plan => 'endless', table => 'billed', day => 20_000);
#   $ids->id(7)                                   # 'm0000007'
#
# Each hundredth id is in the group `team`, has the scope `reports`, the member `tier=gold` of the meta, and a ban that
# lasts an hour. Their names are `customer 0000007`. Each second one has a history: a day in the table, with one unit.
# They were created 30 days ago: lists begin with them.

use strict;
use warnings;

my $script = <<'END';
local prefix, first, last, plan, table, day = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local now = redis.call('TIME')[1]
local created = now - 30 * 86400
local until_ms = (now + 3600) * 1000
for n = first, last do
    local number = string.format('%07d', n)
    local id, name = 'm' .. number, 'customer ' .. number
    local digest = redis.sha1hex(id) .. redis.sha1hex(name):sub(1, 24)
    local key = prefix .. 'key:' .. digest
    redis.call('HSET', key, 'id', id, 'name', name, 'plan', plan, 'created', created, 'state', 'active')
    redis.call('SADD', prefix .. 'id:{' .. id .. '}', digest)
    redis.call('ZADD', prefix .. 'ids', created, id)
    redis.call('ZADD', prefix .. 'index', 0, 'name:' .. name .. '\n' .. id)
    local tag = '{' .. id .. '}'
    if n % 100 == 0 then
        redis.call('HSET', key, 'group', 'team', 'scopes', 'reports', 'meta', '{"tier":"gold"}')
        for _, value in ipairs({'group:team', 'scope:reports', 'meta:tier=gold'}) do
            redis.call('ZADD', prefix .. 'index', 0, value .. string.format('\n%012d:', created) .. id)
        end
        redis.call('HSET', prefix .. 'group_of_ids', id, 'team')
        tag = '{team}' .. id
        redis.call('HSET', prefix .. 'ban:' .. tag, 'strikes', 0, 'since', (now - 1) * 1000, 'level', 1, 'until', until_ms)
        redis.call('PEXPIREAT', prefix .. 'ban:' .. tag, until_ms)
    end
    if n % 2 == 0 then
        redis.call('HSET', prefix .. 'history:' .. tag, table .. ':' .. day, 1)
    end
end
return last - first + 1
END

sub write {
    my ($class, $redis, $prefix, %options) = @_;
    my $part = 5000;
    for (my $first = 0; $first < $options{count}; $first += $part) {
        my $last = $first + $part < $options{count} ? $first + $part - 1 : $options{count} - 1;
        $redis->cmd('EVAL', $script, 0, $prefix, $first, $last, @options{qw(plan table day)});
    }
    $redis->cmd('HSET', "${prefix}group:{team}", id => 'team', plan => $options{plan});
    $redis->cmd('ZADD', "${prefix}groups", 0, 'team');
    $redis->cmd('ZADD', "${prefix}index", 0, 'complete name meta group scope');
    return bless {}, $class;
}

sub id { return sprintf 'm%07d', $_[1] }

1;
