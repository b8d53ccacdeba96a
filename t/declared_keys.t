# `tollgate import FILE --update`: what is stored becomes what files declare, such as those of a git repository.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use Gateway;
use JSON::PP ();
use RedisServer;
use Test::More;
use Wait qw(becomes);

my $folder = tempdir(CLEANUP => 1);

sub file {
    my ($name, @records) = @_;
    open my $file, '>', "$folder/$name" or die $!;
    print $file map { JSON::PP->new->canonical->encode($_) . "\n" } @records;
    close $file or die $!;
    return "$folder/$name";
}

sub record { my ($id, %values) = @_; return { id => $id, plan => 'free', digest => sha256_hex("token-$id"), %values } }

my $gateway = Gateway->start(plans => 'plan free 1000r/h; plan pro 2000r/h; plan own custom;', http => 'tollgate_plans teams redis=main by=group { plan free 100r/h; plan team 50r/h; default free; }');
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');
my $is_admitted = sub { $gateway->get('/', $_[0])->status };

sub update { my ($file, @options) = @_; return $tollgate->run('import', $file, '--update', @options) }
sub is_done { my ($result, $status, $lines, $name) = @_; is($result->{out}, $lines, $name); is($result->{status}, $status, '... with this status') or diag $result->{err} }

my @all = (record('a', name => 'A shop'), record('b', meta => { seats => 5 }), record('c', scopes => ['pets:read']), { group => 'acme', plan => 'team' });
is_done(update(file('keys', @all), '--dry-run'), 5, "group set acme plan=team\nissue a plan=free\nissue b plan=free\nissue c plan=free\ndry run: 4 added, 0 changed, 0 rotated, 0 revoked, 0 unchanged, 0 refused\n", 'a dry run');
is_deeply($tollgate->json('key', 'list'), [], '... changes nothing');
is_done(update(file('keys', @all)), 0, "group set acme plan=team\nissue a plan=free\nissue b plan=free\nissue c plan=free\n4 added, 0 changed, 0 rotated, 0 revoked, 0 unchanged, 0 refused\n", 'the first update');
is($is_admitted->('token-a'), 200, '... makes keys');
is_done(update(file('keys', @all), '--dry-run'), 0, "dry run: 0 added, 0 changed, 0 rotated, 0 revoked, 4 unchanged, 0 refused\n", 'nothing differs then');

@all = (record('a', plan => 'pro'), record('b', meta => { seats => 6 }, digest => sha256_hex('new-b')), record('c', scopes => ['pets:read'], group => 'acme'), { group => 'acme', plan => 'free' });
my $lines = 'group set acme plan=free (was plan=team)' . "\n" . 'set a plan=pro name=none (was plan=free name="A shop")' . "\n" . "set b meta=none meta=seats\n" . 'rotate b digest=' . sha256_hex('new-b') . "\n" . "set c group=acme (was group=none)\n";
is_done(update(file('keys', @all), '--dry-run'), 5, $lines . "dry run: 0 added, 4 changed, 1 rotated, 0 revoked, 0 unchanged, 0 refused\n", 'what differs');
my $data = $tollgate->run('import', "$folder/keys", '--update', '--dry-run', '--json');
is_deeply(JSON::PP->new->decode($data->{out})->{differences}[1], { operation => 'set', id => 'a', values => 'plan=pro name=none', before => 'plan=free name="A shop"' }, '... as JSON');
is_done(update("$folder/keys"), 0, $lines . "0 added, 4 changed, 1 rotated, 0 revoked, 0 unchanged, 0 refused\n", '... is changed');
is_done(update("$folder/keys"), 0, "0 added, 0 changed, 0 rotated, 0 revoked, 4 unchanged, 0 refused\n", '... once');
my ($b) = $tollgate->json('key', 'show', 'b');
is($b->{digests}[0]{sha256}, sha256_hex('new-b'), 'another key');
is($is_admitted->($_), 200, "... $_ works") for 'new-b', 'token-b';
is_deeply($b->{meta}, { seats => 6 }, 'the meta');
is($tollgate->json('key', 'show', 'a')->{name}, undef, 'a value that the file does not have is removed');

subtest 'a line with the retiring key first' => sub {
    my @digests = ({ sha256 => sha256_hex('token-a'), retiring => JSON::PP::true, expires => '2096-01-01T00:00:00Z' }, { sha256 => sha256_hex('new-a') });
    my $file = file('retiring', { id => 'a', plan => 'pro', digests => \@digests });
    is_done(update($file), 0, 'rotate a digest=' . sha256_hex('new-a') . "\n0 added, 0 changed, 1 rotated, 0 revoked, 0 unchanged, 0 refused\n", 'rotates to the other one');
    is($is_admitted->('new-a'), 200, '... which works');
    is_done(update($file), 0, "0 added, 0 changed, 0 rotated, 0 revoked, 1 unchanged, 0 refused\n", '... once');
};

subtest 'an owner' => sub {
    is($tollgate->run('key', 'issue', '--id', 'by-hand', '--plan', 'free')->{status}, 0, 'an id of somebody else');
    my @owned = map { record($_) } qw(o1 o2 o3);
    is_done(update(file('owned', @owned), '--owner', 'platform', '--prune'), 0, "issue o1 plan=free\nissue o2 plan=free\nissue o3 plan=free\n3 added, 0 changed, 0 rotated, 0 revoked, 0 unchanged, 0 refused\n", 'ids of an owner');
    is($tollgate->json('key', 'show', 'o1')->{meta}{owner}, 'platform', '... name it');
    is_done(update(file('owned', @owned[0, 1]), '--owner', 'platform', '--prune', '--dry-run'), 5, "revoke o3\ndry run: 0 added, 0 changed, 0 rotated, 1 revoked, 2 unchanged, 0 refused\n", 'one is missing');
    is($is_admitted->('token-o3'), 200, '... and works until');
    is_done(update("$folder/owned", '--owner', 'platform', '--prune'), 0, "revoke o3\n0 added, 0 changed, 0 rotated, 1 revoked, 2 unchanged, 0 refused\n", '... it is revoked');
    becomes(sub { $is_admitted->('token-o3') }, 401, '... at once');
    is(scalar @{ $tollgate->json('key', 'list') }, 6, 'no other id is revoked');
    my $other = update(file('taken', record('o1', plan => 'pro')), '--owner', 'sales');
    is($other->{status}, 4, 'another owner');
    like($other->{err}, qr/taken:1: the id "o1" belongs to "platform"/, '... does not change it');
    is(update(file('taken', record('o1', plan => 'pro')))->{status}, 4, '... nor does nobody');
    my $revived = update(file('owned', @owned), '--owner', 'platform', '--prune');
    is($revived->{status}, 4, 'a key that was revoked');
    like($revived->{err}, qr/owned:3: the key was revoked/, '... stays so');
    my $bad = file('owned', $owned[0], { id => 'x' });
    my $refused = update($bad, '--owner', 'platform', '--prune');
    is($refused->{status}, 4, 'a file with an invalid line');
    like($refused->{err}, qr/nothing is revoked/, '... revokes nothing');
    is(update(file('empty'), '--owner', 'platform', '--prune')->{status}, 2, 'an empty file');
    is($is_admitted->('token-o2'), 200, '... neither');
    is(update("$folder/owned", '--prune')->{status}, 2, '--prune needs --owner');
    isnt($tollgate->run('import', "$folder/owned", '--dry-run')->{status}, 0, '--dry-run needs --update');
};

subtest 'an export is a declaration' => sub {
    for my $kind (qw(keys groups)) {
        open my $file, '>', "$folder/exported-$kind" or die $!;
        print $file $tollgate->run('export', $kind)->{out};
        close $file;
    }
    my $result = $tollgate->run('import', "$folder/exported-keys", "$folder/exported-groups", '--update');
    is($result->{out}, "0 added, 0 changed, 0 rotated, 0 revoked, 7 unchanged, 0 refused\n", 'nothing differs') or diag $result->{err};
};

subtest 'two lines of one id, and of one group' => sub {
    my $result = update(file('twice', record('d'), record('d'), { group => 'g', plan => 'team' }, { group => 'g', plan => 'free' }, { group => 'h' }, { group => 'h', plan => 'none-such' }));
    is($result->{status}, 4, 'are a conflict');
    like($result->{err}, qr/twice:2: the id "d" is declared twice\n.*twice:4: the group "g" is declared twice\n.*twice:5: plan: a key needs a plan\n.*twice:6: plan:/s, '... each is named');
    is($is_admitted->('token-d'), 200, 'the first one counts');
};

$gateway->nginx->stop;
done_testing;
