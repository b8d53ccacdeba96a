# module/SIZING.md: a zone of each size has the places in its table, and entries of Redis take the memory shown.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Http qw(http_get);
use List::Util qw(max min);
use Nginx;
use RedisServer;
use Test::More;

my $page = do { open my $file, '<', 'module/SIZING.md' or die $!; local $/; <$file> };

# A table of the page: the cells of each row below the row that begins with this text.
sub rows_below {
    my ($heading) = @_;
    my ($table) = $page =~ /^\| \Q$heading\E .*\n\|[-|]+\n((?:\|.*\n)+)/m or die "no table \"$heading\"\n";
    return map { [map { s/^\s+|\s+$//gr } split /\|/, substr $_, 1] } split /\n/, $table;
}

sub number { return $_[0] =~ s/,//gr }

my @sizes = rows_below('size');
cmp_ok(scalar @sizes, '>=', 5, 'sizes are shown');
for my $row (@sizes) {
    my ($size) = $row->[0] =~ /^(\d+m)/;
    my $nginx = Nginx->start(conf => <<"END");
        tollgate_zone $size;
        tollgate_redis main { server 127.0.0.1:1; }
        tollgate_plans api { plan free 60r/m; }
        server { listen unix:%DIR%/http.sock; location = /status { tollgate_status; } }
END
    my $stores = http_get($nginx, '/status')->json->{zone}{stores};
    my %size = map { $_ => $stores->{$_}{entries_max} } keys %$stores;
    # Each of up to 16 stripes has a whole number of pairs of sets with 16 places.
    cmp_ok(abs($size{quotas} - $size{keys}), '<=', max(256, 0.001 * $size{keys}), "$size: as many quotas as keys");
    my @places = (min(@size{qw(keys quotas)}), @size{qw(long_keys long_quotas unknown_keys addresses)});
    is_deeply([map { number($_) } @$row[1 .. 5]], \@places, '… and the places shown') or diag("@places");
    $nginx->stop;
}

subtest 'bytes of a key in the zone' => sub {
    my ($key, $record, $quota) = $page =~ /takes (\d+) bytes, (\d+) of them for its record and (\d+) for its quota/ or die;
    is($record + $quota, $key, 'are the sum of its parts');
    my ($largest) = grep { $_->[0] =~ /^256m/ } @sizes;
    my $share = number($largest->[1]) * $key / (256 << 20);
    cmp_ok($share, '<', 1, 'fit the zone');
    cmp_ok($share, '>', 0.9, '… and are most of it');
};

# The memory per entry, by used_memory, which includes the tables of Redis.
sub bytes_each {
    my ($redis, $number, $code) = @_;
    my $used = sub { my ($bytes) = $redis->cmd('INFO', 'memory') =~ /^used_memory:(\d+)/m; return $bytes };
    my $before = $used->();
    $code->();
    return ($used->() - $before) / $number;
}

my $is_newer = RedisServer->start->cmd('INFO', 'server') !~ /^redis_version:7\.0\./m;

# The page shows the memory of Redis 7.0. Later versions, and Valkey, take less.
sub near {
    my ($measured, $shown, $what) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    cmp_ok($measured, '<=', 1.05 * $shown, sprintf '%s takes %d bytes (measured: %.0f)', $what, $shown, $measured);
    cmp_ok($measured, '>=', 0.95 * $shown, '… and not less') unless $is_newer;
}

subtest 'memory of Redis' => sub {
    my %shown = map { $_->[0] =~ /^(a \w+)/ ? ($1 => number($_->[1])) : () } rows_below('what | bytes');
    # Halfway between two sizes of Redis's hash tables.
    my $number = 3 << 13;
    my $script = sub {
        my ($redis, $text) = @_;
        $redis->cmd('EVAL', $text, 0, $number);
    };
    my $redis = RedisServer->start;
    Command->new(redis => $redis->address, prefix => 'petstore:')->run(qw(key issue --plan free --id warm --name), 'a name');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a key'}, 'a key');
        for i = 1, tonumber(ARGV[1]) do
            local digest, id = redis.sha1hex(i) .. string.sub(redis.sha1hex(-i), 1, 24), 'key_' .. string.sub(redis.sha1hex(i), 1, 12)
            redis.call('HSET', 'petstore:key:' .. digest, 'id', id, 'name', 'a name', 'plan', 'free', 'created', '1795254000', 'state', 'active')
            redis.call('SADD', 'petstore:id:{' .. id .. '}', digest)
            redis.call('ZADD', 'petstore:ids', 1795254000 + i, id)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a note'}, 'a note that a key was revoked');
        for i = 1, tonumber(ARGV[1]) do
            local digest, id = redis.sha1hex(i) .. string.sub(redis.sha1hex(-i), 1, 24), 'key_' .. string.sub(redis.sha1hex(i), 1, 12)
            redis.call('HSET', 'petstore:key:' .. digest, 'revoked', id, 'plan', 'free', 'created', '1795254000')
        end
END
    $redis->cmd('FLUSHALL');
    $redis->cmd('ZADD', 'petstore:index', 0, 'complete name meta group scope');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a group'}, 'a group');
        for i = 1, tonumber(ARGV[1]) do
            local id = 'key_' .. string.sub(redis.sha1hex(i), 1, 12)
            redis.call('ZADD', 'petstore:index', 0, 'group:team' .. i % 10 .. '\n001795254000:' .. id)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a quota'}, 'a quota');
        for i = 1, tonumber(ARGV[1]) do
            local quota = 'petstore:quota:{key_' .. string.sub(redis.sha1hex(i), 1, 12) .. '}:api'
            redis.call('HSET', quota, '60.number', '29920900', '60.count', '12', '86400.number', '20778', '86400.count', '345')
            redis.call('PEXPIRE', quota, 86400000)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a value'}, 'a value');
        for i = 1, tonumber(ARGV[1]) do
            local quota = 'petstore:quota:{key_0123456789ab}:api:' .. string.sub(redis.sha1hex(i), 1, 16)
            redis.call('HSET', quota, '60.number', '29920900', '60.count', '12', '86400.number', '20778', '86400.count', '345')
            redis.call('PEXPIRE', quota, 86400000)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number >> 3, sub { $script->($redis, <<'END') }), $shown{'a history'}, 'a history');
        local days = {}
        for day = 20700, 20789 do
            days[#days + 1] = 'api:' .. day
            days[#days + 1] = day % 7 * 345
        end
        for i = 1, tonumber(ARGV[1]) / 8 do
            local history = 'petstore:history:{key_' .. string.sub(redis.sha1hex(i), 1, 12) .. '}'
            redis.call('HSET', history, unpack(days))
            redis.call('PEXPIRE', history, 7776000000)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a mark'}, 'a mark');
        for i = 1, tonumber(ARGV[1]) do
            local report = 'petstore:report:{key_' .. string.sub(redis.sha1hex(i), 1, 12) .. '}:api:0123456789abcdef:60-86400'
            redis.call('HSET', report, 'number', '123456')
            redis.call('PEXPIRE', report, 86400000)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a use'}, 'a use');
        for i = 1, tonumber(ARGV[1]) do
            local used = 'petstore:used:{key_' .. string.sub(redis.sha1hex(i), 1, 12) .. '}'
            redis.call('HSET', used, redis.sha1hex(i) .. string.sub(redis.sha1hex(-i), 1, 24), '1795254000')
            redis.call('PEXPIRE', used, 86400000)
        end
END
    $redis->cmd('FLUSHALL');
    near(bytes_each($redis, $number, sub { $script->($redis, <<'END') }), $shown{'a ban'}, 'a ban');
        for i = 1, tonumber(ARGV[1]) do
            local ban = 'petstore:ban:{key_' .. string.sub(redis.sha1hex(i), 1, 12) .. '}'
            redis.call('HSET', ban, 'strikes', '3', 'since', '1795254000000')
            redis.call('PEXPIRE', ban, 60000)
        end
END
};

subtest 'MEMORY USAGE of an entry' => sub {
    my $redis = RedisServer->start;
    my $tollgate = Command->new(redis => $redis->address, prefix => 'petstore:');
    $tollgate->run(qw(key issue --plan free));
    my ($record, $set) = map { $redis->cmd('KEYS', "petstore:$_:*")->[0] } qw(key id);
    my $bytes = sub { return $redis->cmd('MEMORY', 'USAGE', $_[0]) };
    my ($shown_record, $shown_set) = $page =~ /its record \((\d+)\), its id's set \((\d+)\)/ or die;
    near($bytes->($record), $shown_record, 'a record');
    near($bytes->($set), $shown_set, 'the set of an id');
    # A quota of these periods; sliding windows have a third field.
    my $quota = sub {
        my ($periods, @more) = @_;
        my $name = 'petstore:quota:{key_0123456789ab}:api';
        $redis->cmd('DEL', $name);
        $redis->cmd('HSET', $name, map { my $period = $_; ("$period.number", int(1_795_254_000 / $period), map { ("$period.$_", 345) } 'count', @more) } @$periods);
        $redis->cmd('PEXPIRE', $name, 86_400_000);
        return $bytes->($name);
    };
    my @shown = $page =~ /two fixed windows \((\d+) by `MEMORY USAGE`; (\d+) with one window, (\d+) with two that slide, (\d+) with four\)/;
    my @measured = ($quota->([60, 86400]), $quota->([60]), $quota->([60, 86400], 'previous'), $quota->([1, 60, 3600, 86400]));
    is(scalar @shown, 4, 'four kinds of quotas are shown');
    near(shift @measured, $_, 'a quota') for @shown;
    my $report = 'petstore:report:{key_0123456789ab}:api:0123456789abcdef:60-86400';
    $redis->cmd('HSET', $report, number => 123_456);
    my ($shown_report) = $page =~ /a mark of [^(]*\((\d+) by/;
    near($bytes->($report), $shown_report, 'a mark of a report');
    my $used = 'petstore:used:{key_0123456789ab}';
    $redis->cmd('HSET', $used, 'a' x 64, 1_795_254_000);
    my ($shown_use) = $page =~ /a use: [^(]*\((\d+) by/;
    near($bytes->($used), $shown_use, 'the last uses of a key');
};

done_testing;
