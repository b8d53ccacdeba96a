# `tollgate import` stores records from files of JSON lines, `tollgate export keys` writes them.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use Gateway;
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(wait_until);

my $dir = tempdir(CLEANUP => 1);
my $files = 0;

sub file {
    my (@lines) = @_;
    my $name = "$dir/" . ++$files . '.jsonl';
    open my $file, '>', $name or die;
    print $file map { "$_\n" } @lines;
    close $file;
    return $name;
}

sub counts { my ($result) = @_; return $result->{out} =~ /^(\d+) records: (\d+) imported, (\d+) unchanged, (\d+) refused$/m ? "$1 $2 $3 $4" : $result->{err} }

for my $deployment ('one Redis', 'a cluster') {
    subtest $deployment => sub {
        my @conf = (conf => ['appendonly yes']);
        my $redis = $deployment eq 'one Redis' ? RedisServer->start(@conf) : RedisCluster->start(masters => 3, @conf);
        my $url = $redis->isa('RedisCluster') ? 'redis+cluster://' . join ',', map { '127.0.0.1:' . $_->port } $redis->nodes : $redis->address;
        my $tollgate = Command->new(redis => $url);
        test_import($redis, $tollgate, Command->new(redis => $url, prefix => 'copy:'));
    };
}

sub test_import {
    my ($redis, $tollgate, $copy) = @_;
    my $many = file(map { qq({"id":"m$_","plan":"free","digest":") . sha256_hex("many$_") . '"}' } 1 .. 1200);
    is counts($tollgate->run('import', $many)), '1200 1200 0 0', 'records in several batches';
    is counts($tollgate->run('import', $many)), '1200 0 1200 0', 'the same file again changes nothing';
    is scalar @{ $redis->cmd('ZRANGE', 'ids', 0, -1) }, 1200, '… each id is listed once';
    is scalar @{ $redis->cmd('ZRANGE', 'changes', 0, -1) }, 1200, '… each key once among the changes';
    ok defined $redis->cmd('ZSCORE', 'changes', sha256_hex('many7')), '… by its digest';

    my $longest = sprintf '%-1048576s', qq({"id":"m1","plan":"free","digest":") . sha256_hex('many1') . '"}';
    my $long = file(' ' x 1048577, qq({"id":"long","plan":"free","name":") . 'x' x 2_000_000 . '"}', $longest);
    my $cut = $tollgate->run('import', $long);
    is counts($cut), '3 0 1 2', 'lines that are too long';
    like $cut->{err}, qr/2: the line is longer than 1 MiB/, '… are refused by their numbers';

    my $full = file('{"id":"full","plan":"pro","name":"N","limits":"5r/s","billing_day":31,"state":"disabled","created":"2020-02-03T04:05:06Z","expires":"2040-01-01T00:00:00Z","scopes":["b","a"],"meta":{"x":1},"from":["192.0.2.1/24"],"prefix":"acme","group":"acme-group","token":"full-token"}');
    is counts($tollgate->run('import', $full)), '1 1 0 0', 'all members';
    my $shown = JSON::PP::decode_json($tollgate->run(qw(key show full --json))->{out});
    is_deeply $shown, {
        id => 'full', plan => 'pro', name => 'N', limits => '5r/s', billing_day => 31, state => 'disabled', created => '2020-02-03T04:05:06Z', expires => '2040-01-01T00:00:00Z',
        scopes => ['a', 'b'], meta => { x => 1 }, from => ['192.0.2.0/24'], prefix => 'acme', group => 'acme-group',
        digests => [{ sha256 => sha256_hex('full-token'), hint => undef, created => '2020-02-03T04:05:06Z', expires => '2040-01-01T00:00:00Z', retiring => JSON::PP::false, used => undef }],
    }, '… are stored';
    my $place = "\n001580702706:full";
    is $redis->cmd('ZSCORE', 'index', $_), 0, "… and in the index: $_" =~ s/\n/ /r
        for "name:n\nfull", "group:acme-group$place", "meta:x=1$place", "scope:a$place", "scope:b$place";
    my $hinted = file('{"id":"hinted","plan":"free","created":"2020-01-01T00:00:00Z","digests":[{"sha256":"' . 'ab' x 32 . '","hint":"zZ9A","created":"2021-01-01T00:00:00Z"}]}');
    is counts($tollgate->run('import', $hinted)), '1 1 0 0', 'the hint of a key';
    my $of_hint = $tollgate->json(qw(key show hinted));
    is_deeply [$of_hint->{created}, @{ $of_hint->{digests}[0] }{qw(hint created)}], ['2020-01-01T00:00:00Z', 'zZ9A', '2021-01-01T00:00:00Z'], '… and when the id was issued';
    $tollgate->run(qw(key revoke --yes hinted));

    # The copy has no last uses, and exports the same without them.
    $redis->cmd('HSET', 'used:{full}', sha256_hex('full-token'), 1795428000);
    like $tollgate->run(qw(export keys))->{out}, qr/"id":"full".*"used":"2026-11-23T10:00:00Z"/, 'an export has the last use';
    my ($issued) = $tollgate->run(qw(key issue --plan free --id rotating))->{out} =~ /(tg_\w+)/;
    $tollgate->run(qw(key rotate rotating --overlap 1h));
    my $exported = $tollgate->run(qw(export keys));
    is $exported->{status}, 0, 'export';
    my @lines = split /\n/, $exported->{out};
    is scalar @lines, 1202, '… has each id';
    unlike $exported->{out}, qr/full-token|\Q$issued/, '… and no key';
    is counts($copy->run('import', file(@lines))), '1202 1202 0 0', 'an export can be imported';
    is $copy->run(qw(export keys))->{out}, $exported->{out} =~ s/"used":"[^"]+"/"used":null/r, '… and exports the same, without the last use';
    my $left = $redis->cmd('PTTL', 'copy:key:' . sha256_hex($issued));
    ok $left > 0 && $left <= 3600_000, 'a retiring key expires at the same time' or diag $left;

    my @refused = (
        ['{"id":"full","plan":"free","token":"full-token"}',                   'already exists with other keys or values'],
        ['{"id":"other","plan":"pro","token":"full-token"}',                   'its id is "full"'],
        ['{"id":"m1","plan":"free","token":"another"}',                        'already exists with other keys'],
        ['{"id":"a b","plan":"free","token":"t1"}',                            'invalid id'],
        ['{"id":"x1","token":"t1"}',                                           'plan: a key needs a plan'],
        ['{"id":"x1","plan":"free","token":"t1","digests":[' . join(',', map { '{"sha256":"' . $_ x 64 . '","retiring":true,"expires":"2040-01-01T00:00:00Z"}' } 'a', 'b') . ']}', 'at most two keys'],
        ['{"id":"x1","plan":"free"}',                                          'needs one key'],
        ['{"id":"x1","plan":"free","token":"t1","digest":"' . 'a' x 64 . '"}', 'needs one key'],
        ['{"id":"x1","plan":"free","digest":"abc"}',                           '64 lower-case'],
        ['{"id":"x1","plan":"free","token":"a b"}',                            '"token" is not a key'],
        ['{"id":"x1","plan":"free","token":"tg_00000000000000000000000000000000123456"}', '"token" is not a key'],
        ['{"id":"x1","plan":"free","token":"t1","color":"red"}',               '"color" is not a member'],
        ['{"id":"x1","plan":"free","token":"t1","expires":"soon"}',            'expires: use a time'],
        ['{"id":"x1","plan":"free","token":"t1","limits":"many"}',             'limits:'],
        ['{"id":"x1","plan":"free","token":"t1","scopes":[1]}',                '"scopes"'],
        ['{"id":"x1","plan":"free","token":"t1","meta":{"A":1}}',              'meta: a name'],
        ['{"id":"x1","plan":"free","token":"t1","state":"on"}',                'state: use'],
        ['[]',                                                                 'not a JSON object'],
        ['{"id":',                                                             'not valid JSON'],
        # As in a request of tollgate_admin.
        ['{"id":"x1","plan":"free","plan":"free","token":"t1"}',               '"plan" is given twice'],
        ['{"id":"x1","plan":"free","token":"t1","meta":{"a":1,"a":2}}',        '"a" is given twice'],
        ['{"id":"x1","plan":"free","token":"t1","scopes":{"a":"b"}}',          '"scopes" is not a list of texts'],
        ['{"id":"x1","plan":"free","token":"t1","scopes":"a b"}',              '"scopes" is not a list of texts'],
        ['{"id":"x1","plan":"free","token":"t1","scopes":["a b"]}',            'a value of the list is empty or has a space'],
        ['{"id":"x1","plan":"free","token":"t1","meta":[]}',                   '"meta" is not an object'],
        ['{"id":"x1","plan":"free","token":"t1","meta":""}',                   '"meta" is not an object'],
        ['{"id":"x1","plan":"free","token":"t1","state":""}',                  '"state" is not a text that is not empty'],
        ['{"id":"x1","plan":"free","token":"t1","created":7}',                 '"created" is not a text'],
        ['{"id":"x1","plan":"free","digests":{"sha256":"' . 'a' x 64 . '"}}',  '"digests" is not a list of objects'],
        ['{"id":"x1","plan":"free","digests":["' . 'a' x 64 . '"]}',           '"digests" is not a list of objects'],
        ['{"id":"x1","plan":"free","digests":[{"sha256":"' . 'a' x 64 . '","retiring":"yes"}]}', '"retiring" is not true or false'],
        ['{"id":"x1","plan":"free","digests":[{"sha256":"' . 'a' x 64 . '","sha256":"' . 'b' x 64 . '"}]}', '"sha256" is given twice'],
        ['{"id":"x1","plan":"free","digests":[{"retiring":false}]}',           'has no "sha256"'],
        ['{"id":"x1","plan":"free","digests":[{"sha256":"' . 'a' x 64 . '","x":1}]}', '"x" is not a member'],
    );
    my $bad = file((map { $_->[0] } @refused), '{"id":"good","plan":"free","token":"good-token"}', '', '{"id":"good","plan":"free","token":"good-token"}');
    my $result = $tollgate->run('import', $bad);
    is $result->{status}, 4, 'refused records are a conflict';
    is counts($result), (@refused + 2) . ' 1 1 ' . @refused, '… the others are imported, each once';
    for my $i (0 .. $#refused) {
        my $line = $i + 1;
        like $result->{err}, qr/^\Q$bad\E:$line: .*\Q$refused[$i][1]/m, "line $line: $refused[$i][1]";
    }
    unlike $result->{err} . $result->{out}, qr/full-token|a b"|t1/, 'no key is printed';
    my $keys = scalar @{ $redis->cmd('ZRANGE', 'ids', 0, -1) };
    is $tollgate->run('import', file('{"id":"first","plan":"free","token":"first-token"}'), "$dir/none")->{status}, 2, 'a file that does not exist';
    is scalar @{ $redis->cmd('ZRANGE', 'ids', 0, -1) }, $keys, '… and nothing of the other one is stored';
    my $json = JSON::PP::decode_json($tollgate->run('import', '--json', $full)->{out});
    is_deeply $json, { records => 1, imported => 0, unchanged => 1, refused => 0 }, 'the counts as JSON';

    like $tollgate->run('audit')->{out}, qr/\ATIME +ACTOR +ACTION +ID +DETAIL\n\S+Z  \S+@\S+ +import +- +begins\n\S+Z  \S+@\S+ +import +- +1200 of 1200 records: \S+ \S.*…$/m, 'the audit has the import';
    my $entries = () = $tollgate->run('audit')->{out} =~ / import +- /g;
    is $tollgate->run('import', $many)->{status}, 0, 'a file that stores nothing';
    is scalar(() = $tollgate->run('audit')->{out} =~ / import +- /g), $entries, '… has no entry';
    my $build = $ENV{TOLLGATE_BUILD} // 'build';
    my $pid = open my $interrupted, '|-', "$build/tollgate", '--redis', $tollgate->{redis}, qw(import -) or die;
    print $interrupted map { qq({"id":"part$_","plan":"free","digest":") . sha256_hex("part$_") . qq("}\n) } 1 .. 500;
    $interrupted->flush;
    wait_until('a batch', sub { defined $redis->cmd('ZSCORE', 'ids', 'part500') });
    kill KILL => $pid;
    close $interrupted;
    like $tollgate->run('audit')->{out}, qr/ import +- +begins\n\z/, 'an interrupted import has its first entry';
    $redis->cmd('HSET', 'key:' . sha256_hex('full-token'), 'name', "a\xe2\x80\xaeb");
    like $tollgate->run(qw(export keys))->{out}, qr/"name":"a\\u202eb"/, 'an export escapes format characters of a stored name';
    like $tollgate->run(qw(audit rotating))->{out}, qr/ ACTION  ID        DETAIL\n.*  issue   rotating  plan=free\n.*  rotate  rotating  overlap=1h\n\z/, '… and the operations on an id';
}

subtest 'audit --follow' => sub {
    my $redis = RedisServer->start;
    my $tollgate = Command->new(redis => $redis->address);
    $tollgate->run(qw(key issue --plan free --id first));
    my $build = $ENV{TOLLGATE_BUILD} // 'build';
    my $pid = open my $followed, '-|', "$build/tollgate", '--redis', $redis->address, qw(audit --follow) or die;
    like scalar <$followed>, qr/^TIME +ACTOR +ACTION +ID +DETAIL$/, 'a head';
    like scalar <$followed>, qr/  issue   first  /, 'the entries that exist';
    $tollgate->run(qw(key disable first));
    like scalar <$followed>, qr/  disable  first  state=disabled \(before: state=active\)$/, 'an entry that is added later';
    kill TERM => $pid;
    close $followed;
};

subtest 'a gateway accepts an imported key that it has refused before' => sub {
    my $gateway = Gateway->start(plans => 'plan free 1000r/m; anonymous 1000r/m;');
    $gateway->subscribed(1);
    is $gateway->get('/', 'late-token')->status, 401, 'unknown';
    my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
    is counts($tollgate->run('import', file('{"id":"late","plan":"free","token":"late-token"}'))), '1 1 0 0';
    Wait::wait_until('the key to work', sub { $gateway->get('/', 'late-token')->status == 200 });
    pass 'it works';
    $gateway->nginx->stop;
};

done_testing;
