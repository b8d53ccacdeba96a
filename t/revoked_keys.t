# A key that was revoked stays so, whatever is imported; a record of a wrong type is no valid key; and a change that the
# audit or the gateways cannot be told of is not made.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp;
use Gateway;
use JSON::PP qw(encode_json);
use RedisCluster;
use Test::More;
use Wait qw(wait_until);

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/m; plan operators 100000r/m;',
    redis  => 'key_cache 1s; stale_keys 1h;',
    server => 'location /admin/ { tollgate api; tollgate_scope admin; tollgate_admin main; }',
);
$gateway->subscribed(1);
my $redis = $gateway->redis;
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
my $operator = $tollgate->json(qw(key issue --plan operators --scope admin --id operator))->{key};

sub status { my ($token) = @_; return $gateway->get('/', $token)->status }

sub succeeds {
    my @arguments = @_;
    my $result = $tollgate->run(@arguments);
    is $result->{status}, 0, join ' ', grep { !ref } @arguments or diag $result->{err};
    return $result;
}

sub imports {
    my ($lines, @options) = @_;
    return $tollgate->run({ stdin => $lines }, 'import', @options, '-');
}

subtest 'revoked is for ever' => sub {
    succeeds({ stdin => 'stolen' }, qw(key import --plan free --id acme));
    is status('stolen'), 200, 'the key works';
    my $yesterday = $tollgate->run(qw(export keys))->{out};
    succeeds(qw(key revoke --yes acme));
    wait_until('the end of the key', sub { status('stolen') == 401 });
    my %note = @{ $redis->cmd('HGETALL', 't:key:' . sha256_hex('stolen')) };
    is_deeply [map { "$_ " . ($_ eq 'created' ? $note{$_} > 0 : $note{$_}) } sort keys %note], ['created 1', 'plan free', 'revoked acme'], 'it is remembered, with its plan';
    is $redis->cmd('PTTL', 't:key:' . sha256_hex('stolen')), -1, '… for ever';

    my $again = imports($yesterday);
    is $again->{status}, 4, 'an export of yesterday';
    like $again->{out}, qr/^2 records: 0 imported, 1 unchanged, 1 refused$/m, '… does not revive it';
    like $again->{err}, qr/the key was revoked: its id was "acme"/, '… and says so';
    is $redis->cmd('EXISTS', 't:id:{acme}', 't:ids:acme'), 0, '… and leaves nothing of the id';
    for my $id (qw(acme other)) {
        my $result = $tollgate->run({ stdin => 'stolen' }, qw(key import --plan free --id), $id);
        is $result->{status}, 4, "key import --id $id is refused";
        like $result->{err}, qr/the key was revoked: its id was "acme": see --force/, '… and says why';
        my $response = $gateway->request('POST', '/admin/keys', { Authorization => "Bearer $operator", 'Content-Type' => 'application/json' },
            encode_json({ plan => 'free', id => $id, digest => sha256_hex('stolen') }));
        is $response->status, 409, 'POST with the digest';
        is $response->json->{code}, 'revoked_key', '… has its code';
    }
    is status('stolen'), 401, 'it does not work';
    succeeds(qw(key revoke --yes acme));

    is imports($yesterday, '--force')->{status}, 0, 'import --force revives it';
    wait_until('the key', sub { status('stolen') == 200 });
    succeeds(qw(key revoke --yes acme));
    succeeds({ stdin => 'stolen' }, qw(key import --force --plan free --id other));
    wait_until('the key', sub { status('stolen') == 200 });

    succeeds(qw(key rotate --overlap 0s other));
    is $tollgate->run({ stdin => 'stolen' }, qw(key import --plan free --id third))->{status}, 4, 'a key that a rotation has ended at once';
    cmp_ok $redis->cmd('PTTL', 't:key:' . sha256_hex('stolen')), '>', 365 * 86400 * 1000, '… is remembered for a year';
};

subtest 'a record of a wrong type' => sub {
    my $name = 't:key:' . sha256_hex('broken');
    for my $command (['SET', $name, 'x'], ['LPUSH', $name, 'x'], ['HSET', $name, 'x', 'y']) {
        succeeds({ stdin => 'broken' }, qw(key import --force --plan free --id broken));
        wait_until('the key', sub { status('broken') == 200 });
        $redis->cmd('DEL', $name);
        $redis->cmd(@$command);
        wait_until("the end of the key after $command->[0]", sub { status('broken') != 200 });
        is status('broken'), 401, "$command->[0]: an invalid record";
        is status($operator), 200, '… and other keys work';
        is $tollgate->run(qw(key show broken))->{status}, 0, '… the id is shown';
        is $tollgate->run(qw(key disable broken))->{status}, 3, '… has no key that can be disabled';
        like $tollgate->run(qw(doctor))->{out}, qr/no key exists of the listed "broken": use tollgate key revoke/, '… which doctor says';
        succeeds(qw(key revoke --yes broken));
        is_deeply $redis->cmd('HGETALL', $name), ['revoked', 'broken'], '… and is revoked';
    }
};

# Whether an operation by a user without these rights fails and changes nothing.
sub changes_nothing {
    my ($what, $store, $command) = @_;
    my $records = sub {
        my %records = map { $_ => [map { ref ? sort @$_ : $_ } $store->($_)] } qw(a b);
        return JSON::PP->new->canonical->encode(\%records);
    };
    my $before = $records->();
    my $result = $command->();
    isnt $result->{status}, 0, "$what fails";
    is $records->(), $before, '… and changes nothing' or diag $result->{err};
}

my @operations = ([qw(key disable a)], [qw(key set a --name N --group g)], [qw(key rotate a)], [qw(key rotate a --overlap 0s)],
    [qw(key revoke --yes a)], [{ stdin => 'b' }, qw(key import --plan free --id b)], [{ stdin => qq({"id":"b","plan":"free","token":"b"}\n) }, qw(import -)]);

sub test_refusals {
    my ($store, $url, $forbid) = @_;
    my $own = Command->new(redis => $url->('default'), prefix => 't:');
    my $limited = Command->new(redis => $url->('limited:x@'), prefix => 't:');
    $own->run({ stdin => 'a' }, qw(key import --plan free --id a));
    for my $case (['without XADD', '+@all', '-xadd', '&*'], ['without the channel', '+@all', 'resetchannels']) {
        my ($name, @rules) = @$case;
        $forbid->('limited', 'reset', 'on', '>x', '~*', @rules);
        changes_nothing("$name: " . join(' ', grep { !ref } @$_), $store, sub { $limited->run(@$_) }) for @operations;
    }
}

subtest 'the audit and the announcement come first' => sub {
    my $other = RedisServer->start;
    my $store = sub {
        my ($id) = @_;
        return map { $other->cmd(@$_) } ['HGETALL', 't:key:' . sha256_hex($id)], ['PTTL', 't:key:' . sha256_hex($id)], ['SMEMBERS', "t:id:{$id}"], ['ZSCORE', 't:ids', $id], ['ZRANGE', 't:index', 0, -1], ['HGETALL', 't:group_of_ids'];
    };
    test_refusals($store, sub { my ($user) = @_; return 'unix:' . ($user eq 'default' ? '' : "//$user") . $other->socket }, sub { $other->cmd('ACL', 'SETUSER', @_) });
    for my $name (qw(audit changes)) {
        $other->cmd('DEL', "t:$name");
        $other->cmd('SET', "t:$name", 'x');
        my $own = Command->new(redis => $other->address, prefix => 't:');
        changes_nothing("with an entry \"$name\" of another type: " . join(' ', grep { !ref } @$_), $store, sub { $own->run(@$_) }) for @operations;
        $other->cmd('DEL', "t:$name");
    }
};

subtest '… in a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $store = sub {
        my ($id) = @_;
        return map { $cluster->cmd(@$_) } ['HGETALL', 't:key:' . sha256_hex($id)], ['PTTL', 't:key:' . sha256_hex($id)], ['SMEMBERS', "t:id:{$id}"], ['ZSCORE', 't:ids', $id], ['HGETALL', 't:group_of_ids'];
    };
    my $url = sub { my ($user) = @_; return 'redis+cluster://' . ($user eq 'default' ? '' : $user) . join ',', map { '127.0.0.1:' . $_->port } $cluster->nodes };
    test_refusals($store, $url, sub { my @rules = @_; $_->cmd('ACL', 'SETUSER', @rules) for $cluster->nodes });
};

done_testing;
