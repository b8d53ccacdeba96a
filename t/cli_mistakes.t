# The messages of the command for mistakes that it detects: words, plans, limits, prefixes, names.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;

my $redis = RedisServer->start(conf => ['appendonly yes']);
my $tollgate = Command->new(redis => $redis->address, prefix => 'shop:');

sub says {
    my ($status, $message, @command) = @_;
    my $result = $tollgate->run(@command);
    my $name = join ' ', @command;
    is $result->{status}, $status, "$name: status $status";
    like $result->{err}, $message, '… and what it says';
    return $result;
}

subtest 'words' => sub {
    says(2, qr/unknown command "lst" \(did you mean "list"\?\): see tollgate key --help/, qw(key lst));
    says(2, qr/unknown command "rotat" \(did you mean "rotate"\?\)/, qw(key rotat x));
    says(2, qr/unknown command "isue" \(did you mean "issue"\?\): see tollgate key --help/, qw(key isue --plan free));
    says(2, qr/unknown command "usge" \(did you mean "usage"\?\): see tollgate --help/, qw(usge x));
    says(2, qr/unknown command "nothing": see/, 'nothing');
    says(2, qr/unknown option "--nam" \(did you mean "--name"\?\): see tollgate key issue --help/, qw(key issue --plan p --nam x));
    says(2, qr/unknown option "--pln" \(did you mean "--plan"\?\)/, qw(key issue --pln p));
    says(2, qr/unknown option "--jsn" \(did you mean "--json"\?\): see tollgate key list --help/, qw(key list --jsn=1));
    says(2, qr/no command given: use one of issue, import, .*rotate: see tollgate key --help/, 'key');
    says(2, qr/too many arguments: see tollgate key show --help/, qw(key show a b));
    for my $secret ('tg_0123456789abcdefghijABCDEFGHIJ0123456789', 'Secret1', 'canary-imported-token-of-a-client') {
        for my $command (['key', $secret], [$secret], [qw(key show a), $secret], ['key', 'list', "--$secret"]) {
            my $result = $tollgate->run(@$command);
            unlike $result->{err}, qr/\Q$secret/, 'what may be a key is not repeated';
            is $result->{status}, 2, '… and refused';
        }
    }
    for my $option ('--help', '--version') {
        my $result = $tollgate->run({ stdout => '/dev/full' }, $option);
        is $result->{status}, 1, "$option that cannot be printed";
        like $result->{err}, qr/\Atollgate: cannot write to standard output: [^\n]+\n\z/, '… is an error';
    }
    says(1, qr/refuses the user or password \(ERR\): it may not require a password$/, qw(key list --redis), 'unix://:secret@' . $redis->socket);
    says(2, qr{--limits: invalid rate "fast": use .*60r/m 1000r/d}, qw(key issue --plan p --limits fast));
};

subtest 'names' => sub {
    for my $name ("\xc2\x9b31m", "\x9b", "\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xe2\x80\xa8", "\xf4\x90\x80\x80") {
        my $result = $tollgate->run(qw(key issue --plan p --name), $name);
        is $result->{status}, 2, 'a name with ' . unpack('H*', $name) . ' is refused';
        like $result->{err}, qr/\Atollgate: --name: [ -~]+\n\z/, '… with a reason';
    }
    is $redis->cmd('DBSIZE'), 0, 'nothing is stored';
    my $good = "S\xc3\xb6hne \xe2\x82\xac \xf0\x9f\x98\x80";
    is $tollgate->run(qw(key issue --plan p --id good --name), $good)->{status}, 0, 'other names are taken';
    my ($digest) = @{ $redis->cmd('SMEMBERS', 'shop:id:{good}') };
    is $redis->cmd('HGET', "shop:key:$digest", 'name'), $good, '… as they are';
    $redis->cmd('HSET', "shop:key:$digest", 'name', "a\xe2\x80\xaeb\xc2\x9bc\x9bd\ee\x7ff\xf3\xa0\x81\x81g");
    for my $command ([qw(key list)], [qw(key show good)]) {
        my $text = $tollgate->run(@$command)->{out};
        like $text, qr/a\\u\{202e\}b\\u\{9b\}c\\x9bd\\x1be\\u\{7f\}f\\u\{e0041\}g/, "@$command escapes what a terminal acts on";
        my $json = $tollgate->run(@$command, '--json')->{out};
        unlike $json =~ s/\xef\xbf\xbd//r, qr/[^\n\x20-\x7e]/, '… in JSON too';
        my $decoded = JSON::PP->new->utf8->decode($json);
        my $name = (ref $decoded eq 'ARRAY' ? $decoded->[0] : $decoded)->{name};
        is $name, "a\x{202e}b\x{9b}c\x{fffd}d\ee\x7ff\x{e0041}g", '… which says the same';
    }
};

my %api = (
    plans   => { free => { rates => ['5r/h', '100r/d'], window => 'fixed' }, pro => { rates => ['9r/h'], window => 'sliding' },
                 enterprise => { custom => JSON::PP::true() }, partner => { unlimited => JSON::PP::true() } },
    default => undef, published => time,
);
my %search = (plans => { free => { rates => ['2r/h'] } }, default => 'free', published => time);
sub publish { my ($prefix, %tables) = @_; $redis->cmd('HSET', "${prefix}plans", map { $_ => JSON::PP::encode_json($tables{$_}) } keys %tables) }

subtest 'the prefix' => sub {
    $redis->cmd('FLUSHALL');
    is says(0, qr/\AThe key of a\. .*\n\z/, qw(key issue --plan free --id a))->{status}, 0, 'no plan tables at all: no warning';
    publish('web:', api => \%api);
    my $forgotten = qr/^tollgate: warning: no gateway has published plan tables with the prefix "shop:", but plan tables exist with "web:": set --prefix/m;
    my $refused = qr/^tollgate: no gateway has published plan tables with the prefix "shop:", but plan tables exist with "web:": set --prefix .*, or see --force$/m;
    my %before = map { $_ => 1 } @{ $redis->cmd('KEYS', '*') };
    for my $command ([qw(key issue --plan free --id b)], [qw(import -)], [qw(group set g --plan free)]) {
        says(2, $refused, @$command);
    }
    is_deeply [grep { !$before{$_} } @{ $redis->cmd('KEYS', '*') }], [], '… and nothing is stored';
    says(0, $forgotten, qw(key issue --plan free --id b --force));
    says(0, $forgotten, qw(key set b --plan pro));
    says(2, qr/the prefix "", but plan tables exist with "web:"/, qw(key issue --plan free --id b --prefix), '');
    says(0, qr/\AThe key of b\. .*\n\z/, qw(key issue --plan free --id b --prefix web:));
    my $without_colon = qr/\Atollgate: warning: no gateway has published plan tables with the prefix "web", but plan tables exist with "web:": [^\n]*\n/;
    for my $command ([0, qw(key list)], [3, qw(key show b)], [3, qw(key revoke --yes b)], [0, qw(audit)], [0, qw(export keys)], [0, qw(top --count 1 --interval 100ms)]) {
        my ($status, @words) = @$command;
        says($status, $without_colon, @words, '--prefix', 'web');
    }
    $redis->cmd('ACL', 'SETUSER', 'stranger', 'on', '>secret', '~web:*', '+@all');
    my $stranger = Command->new(redis => 'unix://stranger:secret@' . $redis->socket, prefix => 'shop:')->run(qw(key list));
    like $stranger->{err}, qr/\Atollgate: [^\n]*NOPERM[^\n]*\n\z/, 'who may not read the prefix does not know whether it is wrong';
    $redis->cmd('SET', 'other:plans', 'a text');
    $redis->cmd('HSET', 'another:plans', 'api', 'no table');
    $redis->cmd('RENAME', 'web:plans', 'saved');
    says(0, qr/\AThe key of c\. .*\n\z/, qw(key issue --plan free --id c));
    # The cost must not grow with the number of keys.
    $redis->cmd('EVAL', q[for i = 1, 30000 do redis.call('SET', 'x' .. i, 1) end], 0);
    $redis->cmd('CONFIG', 'RESETSTAT');
    $tollgate->run(qw(key issue --plan free --id d));
    my ($scans) = $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_scan:calls=(\d+)/m;
    is $scans, 10, 'a bounded part of Redis is searched';
    $redis->cmd('RENAME', 'saved', 'web:plans');
    says(0, $without_colon, qw(key list --prefix web));
    # A user who may not read other keys, or not search, gets no warning about that.
    $redis->cmd('ACL', 'SETUSER', 'limited', 'on', '>secret', '~shop:*', '+@all', '-scan');
    my $limited = Command->new(redis => 'unix://limited:secret@' . $redis->socket, prefix => 'shop:')->run(qw(key list));
    is_deeply [@$limited{qw(status err)}], [0, ''], 'a user who may not search';
};

subtest 'the prefix in a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $from_cluster = Command->new(redis => 'redis+cluster://127.0.0.1:' . ($cluster->nodes)[0]->port, prefix => 'shop:');
    # Each master has more keys than are searched, except for the one with the plan tables.
    my $with_plans = $cluster->master_of('other:plans')->port;
    my %filled = ($with_plans => 1);
    for my $tag (map { "{$_}" } 1 .. 100) {
        my $master = $cluster->master_of($tag);
        next if $filled{ $master->port }++;
        $master->cmd('EVAL', q[for i = 1, 12000 do redis.call('SET', KEYS[1] .. i, 1) end], 1, $tag);
    }
    $cluster->cmd('HSET', 'other:plans', 'api', JSON::PP::encode_json(\%api));
    like $from_cluster->run(qw(key list))->{err}, qr/the prefix "shop:", but plan tables exist with "other:"/, 'all masters are searched';
    my $tagged = $from_cluster->run(qw(key list --prefix), '{shop}:');
    is "$tagged->{status} $tagged->{err}", qq(2 tollgate: "{" in the prefix with a cluster of Redis\n), 'a prefix with a hash tag';
};

subtest 'plans and limits' => sub {
    $redis->cmd('FLUSHALL');
    publish('shop:', api => \%api);
    says(0, qr/\AThe key of ok\. [^\n]*\n\z/, qw(key issue --plan free --id ok));
    my $plans = 'the plans are "enterprise", "free", "partner", "pro": see --force';
    my $unknown = qr/\Atollgate: --plan: no plan table has "fre": $plans\n\z/;
    says(2, $unknown, qw(key issue --plan fre --id typo));
    is $redis->cmd('EXISTS', 'shop:id:{typo}'), 0, '… and nothing is stored';
    says(2, $unknown, qw(key set ok --plan fre));
    is $tollgate->json(qw(key show ok))->{plan}, 'free', '… and nothing is changed';
    my $import = sub { $tollgate->run({ stdin => $_[0] }, @_[1 .. $#_]) };
    my $imported = $import->('a-token', qw(key import --plan fre --id typo));
    is_deeply [$imported->{status}, $imported->{out}], [2, ''], 'key import refuses it';
    like $imported->{err}, $unknown, '… and says why';
    my $file = qq({"id":"f1","plan":"fre","token":"t1"}\n{"id":"f2","plan":"free","token":"t2"}\n{"id":"f3","plan":"enterprise","token":"t3"}\n);
    my $records = $import->($file, qw(import -));
    is_deeply [$records->{status}, $records->{out}], [4, "3 records: 1 imported, 0 unchanged, 2 refused\n"], 'import refuses the record';
    like $records->{err}, qr/^-:1: plan: no plan table has "fre": the plans are .*\n-:3: limits: the plan "enterprise" is custom in "api", and the key has no limits$/m,
        '… and says why';
    is $import->($file, qw(import --force -))->{out}, "3 records: 2 imported, 1 unchanged, 0 refused\n", '… unless it is forced';
    says(0, qr/^tollgate: warning: no plan table has the plan "fre" \(did you mean "free"\?\): requests with the key are refused with 403 plan_not_allowed$/m,
        qw(key issue --plan fre --id typo --force));
    says(0, qr/\A\z/, qw(key disable typo));
    says(0, qr/^tollgate: warning: no plan table has the plan "fre"/m, qw(key set typo --name), 'a name can be changed');
    says(0, qr/^tollgate: warning: no plan table has the plan "prp" \(did you mean "pro"\?\)/m, qw(key set ok --plan prp --force));
    my $unused = qr/\Atollgate: --limits: the plan "free" is not custom in any plan table: the limits would have no effect: see --force\n\z/;
    says(2, $unused, qw(key issue --plan free --id limits --limits 5r/h));
    says(2, $unused, qw(key set ok --plan free --limits 5r/h));
    says(0, qr/^tollgate: warning: the limits of the key have no effect: the plan "free" is not custom in any plan table$/m,
        qw(key issue --plan free --id limits --limits 5r/h --force));
    says(2, qr/\Atollgate: --limits: the plan "enterprise" is custom in "api", and the key has no limits: see --force\n\z/, qw(key issue --plan enterprise --id big));
    says(0, qr/^tollgate: warning: the plan "enterprise" is custom in "api" and the key has no limits: give --limits$/m,
        qw(key issue --plan enterprise --id big --force));
    is says(0, qr/\A\z/, qw(key set big --limits 7r/h))->{status}, 0, 'a custom plan with limits: no warning';
    publish('shop:', search => \%search);
    says(0, qr/has the plan "fre" .*: requests with the key are refused with 403 plan_not_allowed, except where the default plan applies: in "search"$/m,
        qw(key set ok --plan fre --force));
    $redis->cmd('HDEL', 'shop:plans', 'api');
    says(0, qr/has the plan "fre" .*: the key gets the default plan of "search"$/m, qw(key set ok --plan fre --force));
    $redis->cmd('HSET', 'shop:plans', 'api', '{"broken"');
    is $tollgate->run(qw(key set ok --plan free))->{status}, 0, 'a field that is no table does no harm';
    $redis->cmd('DEL', 'shop:plans');
    is $tollgate->run(qw(key issue --plan any))->{status}, 0, 'no published tables: any plan is accepted';
};

subtest 'usage' => sub {
    $redis->cmd('FLUSHALL');
    publish('shop:', api => \%api, search => \%search);
    my ($seconds) = @{ $redis->cmd('TIME') };
    $tollgate->run(qw(key issue --plan free --id u --limits 5r/d --force));
    $redis->cmd('HSET', 'shop:quota:{u}:api', '3600.number', int($seconds / 3600), '3600.count', 4, '60.number', int($seconds / 60), '60.count', 1);
    my $windows = sub { [map { [@$_{qw(table window used limit remaining)}] } @{ $tollgate->json('usage', $_[0])->{windows} }] };
    $redis->cmd('CONFIG', 'RESETSTAT');
    is_deeply $windows->('u'),
        [['api', 'minute', 1, undef, undef], ['api', 'hour', 4, 5, 1], ['api', 'day', 0, 100, 100], ['search', 'hour', 0, 2, 2]],
        'shows the limits that the gateways enforce, not those of the record, also of windows in which nothing is counted';
    unlike $redis->cmd('INFO', 'commandstats'), qr/cmdstat_scan/, '… and does not search Redis';
    like $tollgate->run(qw(usage u))->{err}, qr/limits of the key have no effect/, '… with a warning';
    $tollgate->run(qw(key set u --plan enterprise --limits 8r/h));
    is_deeply $windows->('u'), [['api', 'minute', 1, undef, undef], ['api', 'hour', 4, 8, 4], ['search', 'hour', 0, 2, 2]],
        'limits of the key itself where its plan is custom, and the default plan elsewhere';
    $tollgate->run(qw(key set u --plan partner));
    is_deeply $windows->('u'), [['api', 'minute', 1, undef, undef], ['api', 'hour', 4, undef, undef], ['search', 'hour', 0, 2, 2]], 'an unlimited plan';
    $tollgate->run(qw(key set u --plan pro));
    is $tollgate->json(qw(usage u))->{windows}[1]{limit}, 9, 'another plan';
    $redis->cmd('DEL', 'shop:plans');
    like $tollgate->run(qw(usage u))->{err}, qr/\Atollgate: warning: no gateway has published its plan tables with the prefix "shop:": the limits of plans are unknown\n\z/,
        'without published tables there is a note';
    $redis->cmd('EVAL', q[for i = 1, 110000 do redis.call('SET', 'x' .. i, 1) end], 0);
    $redis->cmd('CONFIG', 'RESETSTAT');
    my $result = $tollgate->run(qw(usage u));
    like $result->{err}, qr/, and only a part of Redis was searched for counts$/m, '… which says so where Redis is large';
    my ($scans) = $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_scan:calls=(\d+)/m;
    cmp_ok $scans, '<=', 110, '… and only a bounded part is searched';
    ok !$tollgate->json(qw(usage u))->{complete}, '… in JSON too';
};

subtest 'revoke' => sub {
    $redis->cmd('FLUSHALL');
    $tollgate->run(qw(key issue --plan free --id b));
    $redis->cmd('HSET', 'shop:ban:{b}', until => 9e12, level => 1);
    $redis->cmd('HSET', 'shop:quota:{b}:api', '86400.number', 1, '86400.count', 4);
    is $tollgate->run(qw(key revoke --yes b))->{status}, 0, 'done';
    is $redis->cmd('EXISTS', 'shop:ban:{b}'), 0, 'the ban is gone: a new key of the id is not banned';
    is $redis->cmd('EXISTS', 'shop:quota:{b}:api'), 1, '… what the id has used stays';
};

done_testing;
