# What `tollgate key` prints, refuses and stores in Redis.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use POSIX qw(strftime);
use RedisServer;
use Test::More;
use Time::HiRes ();
use Wait qw(wait_until);

my $redis = RedisServer->start(conf => ['appendonly yes']);
my $tollgate = Command->new(redis => $redis->address, prefix => 'p[1]*:');

sub record { return { @{ $redis->cmd('HGETALL', 'p[1]*:key:' . sha256_hex($_[0])) } } }
sub digests { return [sort @{ $redis->cmd('SMEMBERS', "p[1]*:id:{$_[0]}") }] }

sub issue {
    my $result = $tollgate->run('key', 'issue', @_);
    die $result->{err} if $result->{status};
    chomp(my $key = $result->{out});
    return $key;
}

# Tests that a stored time is so many seconds after a time at which the command ran.
sub is_after {
    my ($time, $seconds, $begun, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $ended = int Time::HiRes::time();    # time() may be some milliseconds behind the clock of Redis
    ok $time >= $begun + $seconds && $time <= $ended + $seconds, $name or diag "$time is not $seconds s after $begun to $ended";
}

# Runs a command that must fail with one line on stderr and change nothing.
sub refused {
    my ($status, $message, @command) = @_;
    my $before = $redis->cmd('DBSIZE');
    my $result = $tollgate->run(@command);
    my $name = join ' ', map { ref $_ ? 'import' : $_ =~ s/[^ -~]/?/gr } @command;
    is $result->{status}, $status, "$name: status $status";
    like $result->{err}, qr/\Atollgate: [ -~]*\n\z/, '… one line that says why';
    like $result->{err}, $message, '… and names it';
    is $result->{out}, '', '… nothing else';
    is $redis->cmd('DBSIZE'), $before, '… and nothing is stored';
}

subtest 'issue' => sub {
    my $now = time;
    my $result = $tollgate->run('key', 'issue', '--plan', 'free', '--id', 'alice', '--name', 'Alice "A" & Söhne');
    is $result->{status}, 0, 'done';
    like $result->{out}, qr/\Atg_[0-9A-Za-z]{38}\n\z/, 'stdout is the key alone';
    like $result->{err}, qr/\A.*\balice\b.*\n\z/, 'stderr names the id';
    chomp(my $key = $result->{out});
    my $record = record($key);
    is_after(delete $record->{created}, 0, $now, 'created now');
    is_deeply $record, { id => 'alice', plan => 'free', name => 'Alice "A" & Söhne', state => 'active', hint => substr($key, -4) },
        'the record has what was given and nothing more';
    is_deeply digests('alice'), [sha256_hex($key)], 'the id has its digest';
    is_after($redis->cmd('ZSCORE', 'p[1]*:ids', 'alice'), 0, $now, 'the id is listed');

    my $other = issue('--plan', 'free');
    like record($other)->{id}, qr/\Akey_[0-9A-Za-z]{12}\z/, 'an id is made up where none is given';
    isnt $other, $key, 'no two keys are alike';
};

subtest 'limits and expiry' => sub {
    my $key = issue('--plan', 'x', '--limits', ' 1000000r/d   300r/60s', '--expires', '2031-02-03T04:05:06+02:00');
    my $record = record($key);
    is $record->{limits}, '300r/m 1000000r/d', 'limits are stored in one form';
    is $record->{expires}, 1927850706, 'an RFC 3339 time';
    is record(issue('--plan', 'x', '--expires', '2031-02-03'))->{expires}, 1927843200, 'a date is its midnight';
    my $now = time;
    is_after(record(issue('--plan', 'x', '--expires', '90d'))->{expires}, 90 * 86400, $now, 'a time from now');
    is record(issue('--plan', 'x', '--expires', 'never'))->{expires}, undef, 'never';
    is record(issue('--plan', 'x', '--expires', '2032-02-29T23:59:59.999Z'))->{expires}, 1961711999, 'a leap day';
};

subtest 'refused' => sub {
    refused(2, qr/plan/, qw(key issue));
    refused(2, qr/plan/, qw(key issue --plan), $_) for '', 'a b', "a\nb", 'a"b', 'x' x 65;
    refused(2, qr/name/, qw(key issue --plan p --name), $_) for "a\rb", "a\nb", "\e[31m", 'x' x 257;
    refused(2, qr/id/, qw(key issue --plan p --id), $_) for '', 'a b', "a\r\nb", '{a}', 'a"b', 'x' x 65;
    refused(2, qr/limits/, qw(key issue --plan p --limits), $_)
        for '', 'fast', '60r', '60r/m 30r/d', '60r/m 90r/60s', '1r/s 2r/m 3r/h 4r/d 5r/2d', "60r/m\n1000r/d", '0r/m';
    refused(2, qr/time|future/, qw(key issue --plan p --expires), $_)
        for '', '24', 'soon', '2020-01-01', '2031-13-01', '2031-02-30', '2031-01-01T24:00:00Z', '2031-01-01T00:00:00',
        '2031-01-01T00:00:00Zx', '0s', '-1d', '2031-1-1';
    refused(2, qr/^tollgate: --scope: none cannot be given with other values$/, qw(key issue --plan p --scope none --scope read));
    refused(2, qr/^tollgate: --scope: /, qw(key issue --plan p --scope), $_) for "a\nb", 'a"b', 'a\\b', 'é', 'x' x 257, join ' ', 'aa' .. 'dz';
    refused(2, qr/--meta: /, qw(key issue --plan p --meta), $_)
        for '', 'a', '=', '=1', 'A=1', 'a-b=1', 'x' x 33 . '=1', "a=\n", "a=\xff", 'a=' . 'x' x 505;
    refused(2, qr/--meta: more than 16/, qw(key issue --plan p), map { ('--meta', "m$_=1") } 1 .. 17);
    refused(4, qr/"alice" already exists/, qw(key issue --plan p --id alice));
    refused(2, qr/--help/, @$_) for [], ['key'], ['nothing'], [qw(key list --nothing)], [qw(key show)], [qw(key show a b)];
    refused(3, qr/unknown id "nobody"/, @$_)
        for map { [split / /] } 'key show nobody', 'key set nobody --plan p', 'key disable nobody', 'key enable nobody',
        'key revoke nobody --yes', 'key rotate nobody', 'ban show nobody', 'ban lift nobody', 'usage nobody';
    refused(2, qr/nothing to set/, qw(key set alice));
};

subtest 'import' => sub {
    my $import = sub { my $token = shift; return $tollgate->run({ stdin => $token }, qw(key import --plan pro), @_) };
    my $token = 'eyJ~x+/y._-z==';
    my $result = $import->("$token\n", '--id', 'bob');
    is $result->{status}, 0, 'done' or diag $result->{err};
    is record($token)->{id}, 'bob', 'it is stored under the digest of the line';
    unlike $result->{out} . $result->{err}, qr/\Q$token/, 'and not shown';
    like $result->{out}, qr/^id +bob$/m, 'the id is';
    is $import->('a' x 512, '--id', 'longest')->{status}, 0, '512 bytes';
    is $import->("crlf\r\n", '--id', 'crlf')->{status}, 0, 'CR LF';
    is record('crlf')->{id}, 'crlf', '… is no part of the key';

    my $own = issue('--plan', 'free', '--id', 'own');
    (my $mistyped = $own) =~ s/(.)\z/$1 eq 'x' ? 'y' : 'x'/e;
    my @command = qw(key import --plan pro --id fresh);
    refused(2, qr/standard input/, { stdin => $_ }, @command)
        for '', "\n", "a b\n", "a\nb\n", "a\0b", "a\r\n\r\n", 'a"b', '==', 'a=b', 'é', 'a' x 513, 'a' x 100_000;
    refused(2, qr/checksum/, { stdin => $mistyped }, @command);
    refused(4, qr/exists/, { stdin => $token }, @command);
    refused(4, qr/exists/, { stdin => $own }, @command);
    refused(4, qr/"bob" already exists/, { stdin => 'other' }, qw(key import --plan pro --id bob));
    is $redis->cmd('ZSCORE', 'p[1]*:ids', 'fresh'), undef, 'what was refused has no id';
    is record($token)->{id}, 'bob', 'and has changed no other key';
};

subtest 'list and show' => sub {
    my $list = $tollgate->json('key', 'list');
    is ref $list, 'ARRAY', 'a list';
    is $list->[0]{id}, 'alice', 'the oldest first';
    is scalar @$list, $redis->cmd('ZCARD', 'p[1]*:ids'), 'all of them';
    my $show = $tollgate->json('key', 'show', 'alice');
    is_deeply $show, $list->[0], 'show says what list says';
    is_deeply [sort keys %$show], [sort qw(id name plan limits billing_day state created expires scopes meta from prefix group digests)], 'its members';
    is_deeply [@$show{qw(id name plan limits state expires scopes meta)}],
        ['alice', "Alice \"A\" & S\x{f6}hne", 'free', undef, 'active', undef, [], {}], 'their values';
    like $show->{created}, qr/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\z/, 'times as RFC 3339';
    is $show->{digests}[0]{sha256}, digests('alice')->[0], 'its digest';

    my $text = $tollgate->run('key', 'list')->{out};
    like $text, qr/\AID +NAME +PLAN +STATE +LIMITS +CREATED +EXPIRES +USED\n/, 'a table';
    my ($heading, $row) = $text =~ /\A(.*)\n(.*)\n/;
    utf8::decode($row);
    is index($row, 'free'), index($heading, 'PLAN'), 'its columns are aligned, beyond ASCII too';

    $redis->cmd('HSET', 'p[1]*:key:' . digests('alice')->[0], 'name', "\e]0;x\a\nfoo\xff");
    unlike $tollgate->run('key', 'list')->{out}, qr/[^\n\x20-\x7e\x80-\xff]/, 'what another program stored steers no terminal';
    is $tollgate->json('key', 'show', 'alice')->{name}, "\e]0;x\a\nfoo\x{fffd}", 'and leaves the JSON valid';
};

subtest 'find' => sub {
    my $key = issue(qw(--plan free --id found --name Found));
    my $find = sub { my ($token, @more) = @_; return $tollgate->run({ stdin => $token }, qw(key find), @more) };
    my $result = $find->("$key\n");
    is $result->{status}, 0, 'done' or diag $result->{err};
    like $result->{out}, qr/^id +found\n.*^name +Found$/ms, 'the id and its record';
    like $result->{out}, qr/^sha256 +@{[sha256_hex($key)]}  hint @{[substr $key, -4]}  created \S+  used -  \(this key\)$/m, 'its digest is marked';
    chomp(my $new = $tollgate->run(qw(key rotate found))->{out});
    my $json = JSON::PP->new->utf8->decode($find->($key, '--json')->{out});
    is $json->{sha256}, sha256_hex($key), 'an old key during a rotation';
    is $json->{id}, 'found', '… has the same id';
    is $json->{digests}[0]{sha256}, sha256_hex($new), '… whose new key is listed first';
    like $find->($key)->{out}, qr/^sha256 +[0-9a-f]{64}  .*  used -\nsha256 +[0-9a-f]{64}  .*  used -  until \S+  \(this key\)$/m, '… and the old one is marked';
    is $find->('eyJ~x+/y._-z==')->{out} =~ /^id +bob$/m, 1, 'an imported key';
    refused(3, qr/no id has this key/, { stdin => "nobody's" =~ s/'//r }, qw(key find));
    refused(2, qr/standard input does not contain a key/, { stdin => '' }, qw(key find));
    (my $mistyped = $key) =~ s/(.)\z/$1 eq 'x' ? 'y' : 'x'/e;
    refused(2, qr/checksum/, { stdin => $mistyped }, qw(key find));
    refused(2, qr/too many arguments/, qw(key find), 'token');
    $redis->cmd('HSET', 'p[1]*:used:{found}', sha256_hex($key), 60, sha256_hex($new), 120, 'other', 'x');
    is_deeply [map { $_->{used} } @{ $tollgate->json(qw(key show found))->{digests} }], ['1970-01-01T00:02:00Z', '1970-01-01T00:01:00Z'], 'the last use of each';
    like $tollgate->run(qw(key list --name Found))->{out}, qr/^found .*  1970-01-01T00:02:00Z$/m, '… and of the id';
    $tollgate->run(qw(key rotate found --overlap 0s));
    is_deeply [sort @{ $redis->cmd('HKEYS', 'p[1]*:used:{found}') }], [sort { $a cmp $b } sha256_hex($new), 'other'], 'a rotation removes the last uses of ended keys';
    chomp($new = $tollgate->run(qw(key rotate found --overlap 0s))->{out});
    is_deeply $redis->cmd('HKEYS', 'p[1]*:used:{found}'), ['other'], '… and the next one those of its predecessor';
    $tollgate->run(qw(key disable found));
    like $find->($new)->{out}, qr/^state +disabled$/m, 'a disabled key';
    $tollgate->run(qw(key revoke --yes found));
    is $find->($new)->{status}, 3, 'a revoked one';
    is $redis->cmd('EXISTS', 'p[1]*:used:{found}'), 0, '… has no last use';
};

subtest 'list with filters' => sub {
    my $before = { map { $_->{id} => 1 } @{ $tollgate->json(qw(key list)) } };
    issue(qw(--plan p1 --id f1 --expires 10d --name), 'Acme main');
    issue(qw(--plan p1 --id f2 --expires 40d --name), 'acme test');
    issue(qw(--plan p2 --id f3 --name), 'Other [x]');
    issue(qw(--plan p2 --id f4 --expires 1h));
    $tollgate->run(qw(key disable f3));
    $redis->cmd('HSET', 'p[1]*:key:' . digests('f4')->[0], 'expires', 5);
    my $ids = sub { return join ' ', map { $_->{id} } grep { !$before->{ $_->{id} } } @{ $tollgate->json(qw(key list), @_) } };
    is $ids->(), 'f1 f2 f3 f4', 'without filters';
    is $ids->(qw(--plan p1)), 'f1 f2', 'a plan';
    is $ids->(qw(--plan p)), '', '… has its whole name';
    is $ids->(qw(--state disabled)), 'f3', 'a state';
    is $ids->(qw(--state expired)), 'f4', '…';
    is $ids->(qw(--state active)), 'f1 f2', '…';
    is $ids->(qw(--expires-before 30d)), 'f1 f4', 'keys that expire within a time, or have expired';
    is $ids->(qw(--expires-before 2020-01-01)), 'f4', 'a date in the past';
    is $ids->(qw(--name acme)), 'f1 f2', 'how a name begins, in any case';
    is $ids->(qw(--name cme)), '', '… not what it has elsewhere';
    is $ids->(qw(--name), '*TEST*'), 'f2', 'a pattern of the whole name';
    is $ids->(qw(--name), '*[a-z]'), 'f1 f2', '…';
    is $ids->(qw(--name), 'Other ?x?'), 'f3', '…';
    is $ids->(qw(--plan p1 --name *test --state active)), 'f2', 'several filters';
    my $none = $tollgate->run(qw(key list --plan nobody));
    like $none->{out}, qr/\AID .*\n\z/, 'no match: the heading';
    is $tollgate->run(qw(key list --plan nobody --json))->{out}, "[]\n", '… and an empty array';
    refused(2, qr/--state/, qw(key list --state), $_) for 'other', '';
    refused(2, qr/--plan: invalid name/, qw(key list --plan), $_) for 'a b', '';
    refused(2, qr/--name: /, qw(key list --name), 'x' x 257);
    refused(2, qr/invalid time/, qw(key list --expires-before), $_) for 'soon', '24', '';
    refused(2, qr/invalid time "10000-01-01": use 2027/, qw(key list --expires-before 10000-01-01));
    refused(2, qr/invalid time "40000d": use .*at most 100 years/, qw(key list --expires-before 40000d));
};

subtest 'set, disable, enable' => sub {
    my $key = issue(qw(--plan free --id carol --name Carol --expires 1d));
    is $tollgate->run(qw(key set carol --plan pro --limits), '5r/s')->{status}, 0, 'set';
    my $record = record($key);
    is_deeply [@$record{qw(id plan limits name state)}], [qw(carol pro 5r/s Carol active)], 'changes what is given alone';
    ok $record->{expires}, '… the expiry stays';
    $tollgate->run(qw(key set carol --expires never --limits none --name), '');
    is_deeply [sort keys %{ record($key) }], [qw(created hint id plan state)], 'never, none and an empty name remove';
    is $tollgate->json(qw(key disable carol))->{state}, 'disabled', 'disable';
    is record($key)->{state}, 'disabled', '… in Redis';
    is $tollgate->json(qw(key enable carol))->{state}, 'active', 'enable';
    is record($key)->{state}, 'active', '… in Redis';
    $redis->cmd('HSET', 'p[1]*:key:' . sha256_hex($key), 'expires', 5);
    is $tollgate->json(qw(key show carol))->{state}, 'expired', 'expired';
    refused(4, qr/expired/, qw(key rotate carol));
};

subtest 'scopes and meta' => sub {
    my $key = issue(qw(--plan free --id gina --meta seats=5 --meta beta=true --meta customer=c_7 --scope), 'pets:write  pets:read', qw(--scope admin));
    is record($key)->{scopes}, 'admin pets:read pets:write', 'scopes are stored in one form';
    is record($key)->{meta}, '{"beta":true,"customer":"c_7","seats":5}', 'so is meta';
    my $show = $tollgate->json(qw(key show gina));
    is_deeply $show->{scopes}, [qw(admin pets:read pets:write)], 'scopes as JSON';
    is_deeply $show->{meta}, { beta => JSON::PP::true(), customer => 'c_7', seats => 5 }, 'meta as JSON';
    like $tollgate->run(qw(key show gina))->{out}, qr/^scopes +admin pets:read pets:write\nmeta +\{"beta":true,/m, 'both as a text';
    $tollgate->run(qw(key rotate gina));
    my ($new) = grep { !$_->{retiring} } @{ $tollgate->json(qw(key show gina))->{digests} };
    is { @{ $redis->cmd('HGETALL', "p[1]*:key:$new->{sha256}") } }->{scopes}, 'admin pets:read pets:write', 'the key after a rotation has them';

    my $set = sub { my $result = $tollgate->json(qw(key set gina), @_); return [join(' ', @{ $result->{scopes} }), JSON::PP->new->canonical->encode($result->{meta})] };
    is_deeply $set->(qw(--meta seats= --meta zip=01234)), ['admin pets:read pets:write', '{"beta":true,"customer":"c_7","zip":"01234"}'],
        'one member is removed, one is added';
    is_deeply $set->(qw(--scope read)), ['read', '{"beta":true,"customer":"c_7","zip":"01234"}'], 'scopes are replaced';
    is_deeply $set->(qw(--scope none --meta none)), ['', '{}'], 'none removes all';
    is_deeply [grep { /scopes|meta/ } map { keys %{ { @{ $redis->cmd('HGETALL', "p[1]*:key:$_") } } } } @{ digests('gina') }], [], '… and the fields';
    is_deeply $set->(qw(--meta old=1 --meta none --meta new=2)), ['', '{"new":2}'], '… of what is before it';
    is_deeply $set->('--meta', 'text="5"', '--meta', 'empty=""', qw(--meta big=9007199254740993 --meta float=0.5 --meta float2=0.50 --meta eq=a=b)),
        ['', '{"big":"9007199254740993","empty":"","eq":"a=b","float":0.5,"float2":"0.50","new":2,"text":"5"}'], 'values and their types';
    $redis->cmd('HSET', "p[1]*:key:$new->{sha256}", 'meta', 'no JSON');
    is $tollgate->json(qw(key show gina))->{meta}, 'no JSON', 'what another program stored is shown';
    refused(2, qr/meta: invalid JSON/, qw(key set gina --meta a=1));
    is_deeply $set->(qw(--meta none --meta a=1)), ['', '{"a":1}'], '… and can be replaced';
};

subtest 'revoke' => sub {
    my $key = issue(qw(--plan free --id dave));
    issue(qw(--plan free --id dave2));
    my $before = $redis->cmd('DBSIZE');
    refused(2, qr/without a terminal, key revoke needs --yes/, qw(key revoke dave));
    my $result = $tollgate->run(qw(key revoke --yes dave));
    is_deeply [@$result{qw(status out err)}], [0, "revoked dave\n", ''], 'done';
    my $created = record($key)->{created};
    is_deeply record($key), { revoked => 'dave', plan => 'free', created => $created }, 'the record is gone, but for the note that it was revoked, and its plan';
    is_deeply $redis->cmd('SMEMBERS', 'p[1]*:ended:{dave}'), [sha256_hex($key)], 'its digest is noted';
    is $redis->cmd('DBSIZE'), $before, 'the set of the id is gone, and that of its ended keys is new';
    is $redis->cmd('ZSCORE', 'p[1]*:ids', 'dave'), undef, '… from the list too';
    refused(3, qr/unknown id/, qw(key revoke --yes nobody));
    $redis->cmd('HSET', 'p[1]*:key:' . sha256_hex($key), id => 'dave', plan => 'free', state => 'active');
    is $tollgate->run(qw(key revoke --yes dave))->{status}, 0, 'the id is revoked again';
    is_deeply record($key), { revoked => 'dave', plan => 'free', created => $created }, '… which ends a key that a failover has made valid again';
    is_deeply $tollgate->json(qw(key revoke --yes dave2)), { id => 'dave2', state => 'revoked' }, 'as JSON';
    issue(qw(--plan pro --id dave));
    is $tollgate->json(qw(key show dave))->{plan}, 'pro', 'the id can be issued again';
};

subtest 'rotate' => sub {
    my $old = issue(qw(--plan x --limits 5r/s --name Erin --id erin));
    my $now = time;
    $redis->cmd('HSET', 'p[1]*:key:' . sha256_hex($old), 'created', $now - 86400);
    my $result = $tollgate->run(qw(key rotate erin));
    is $result->{status}, 0, 'done' or diag $result->{err};
    like $result->{out}, qr/\Atg_\w{38}\n\z/, 'the new key alone';
    chomp(my $new = $result->{out});
    my ($was, $is) = (record($old), record($new));
    is_deeply [@$is{qw(id plan limits name state expires)}], ['erin', qw(x 5r/s Erin active), undef], 'the new one has all that the old has';
    is_after($was->{expires}, 86400, $now, 'the old key expires in a day');
    is $redis->cmd('PEXPIRETIME', 'p[1]*:key:' . sha256_hex($old)), $was->{expires} * 1000, '… and Redis removes it then';
    is $redis->cmd('PTTL', 'p[1]*:key:' . sha256_hex($new)), -1, 'the new one stays';
    is_deeply digests('erin'), [sort map { sha256_hex($_) } $old, $new], 'the id has both';
    my $show = $tollgate->json(qw(key show erin));
    is_deeply [map { [@$_{qw(sha256 retiring)}] } @{ $show->{digests} }],
        [[sha256_hex($new), JSON::PP::false()], [sha256_hex($old), JSON::PP::true()]], 'show tells which is which';
    is $show->{expires}, undef, '… and shows the current one';
    is $show->{created}, strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $now - 86400), 'the id was issued with its first key';
    my $text = $tollgate->run(qw(key show erin))->{out};
    like $text, qr/^created +\Q$show->{created}\E$/m, '… as a text';
    my ($current) = @{ $show->{digests} };
    like $text, qr/^sha256 +$current->{sha256}  hint $current->{hint}  created \Q$current->{created}\E  used -$/m, '… and its current key later';
    like $tollgate->run(qw(key list --name Erin))->{out}, qr/^erin .*  \Q$show->{created}\E  -  +-$/m, '… in a list as well';

    $tollgate->run(qw(key set erin --plan y --expires never));
    is record($old)->{plan}, 'y', 'a change reaches both';
    is record($old)->{expires}, $was->{expires}, '… but lets the old one live no longer';
    $tollgate->run(qw(key set erin --expires 1h));
    cmp_ok $redis->cmd('PTTL', 'p[1]*:key:' . sha256_hex($old)), '<=', 3600_000, 'and an earlier end counts for both';
    is $redis->cmd('PTTL', 'p[1]*:key:' . sha256_hex($new)), -1, '… though the current one is kept, to be extended';

    refused(4, qr/"erin" has two keys until \d{4}-\S+Z: .*--overlap 0s/, qw(key rotate erin), @$_) for [], [qw(--overlap 1s)];
    is_deeply digests('erin'), [sort map { sha256_hex($_) } $old, $new], 'a second rotation during the overlap adds no third key';

    my $key = issue(qw(--plan x --id frank));
    chomp(my $next = $tollgate->run(qw(key rotate frank --overlap 1s))->{out});
    ok eval { wait_until('the end of the overlap', sub { !%{ record($key) } }) }, 'the old key ends after the overlap' or diag $@;
    is $tollgate->json(qw(key show frank))->{digests}[0]{sha256}, sha256_hex($next), '… and the new one is there';
    is $tollgate->run(qw(key rotate frank))->{status}, 0, '… and can be rotated';

    chomp(my $last = $tollgate->run(qw(key rotate erin --overlap 0))->{out});
    is_deeply [record($old), record($new)], [({ revoked => 'erin' }) x 2], 'without an overlap both keys end at once';
    is_deeply [@{ record($last) }{qw(id plan limits name state)}], ['erin', qw(y 5r/s Erin active)], '… and the new one has all that they had';
    $tollgate->run(qw(key rotate erin --overlap 0));
    ok !(grep { $_ eq sha256_hex($old) } @{ digests('erin') }), 'digests that ended are cleared away';
    refused(2, qr/time/, qw(key rotate erin --overlap), $_) for '24', '', '-1h', 'soon';
    $tollgate->run(qw(key rotate erin));
    my $both = digests('erin');
    $tollgate->run(qw(key revoke --yes erin));
    is_deeply [map { my %note = @{ $redis->cmd('HGETALL', "p[1]*:key:$_") }; [@note{qw(id revoked plan limits)}] } @$both], [([undef, 'erin', 'y', '5r/s']) x 2], 'revoke ends both';
};

done_testing;
