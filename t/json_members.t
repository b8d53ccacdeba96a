# The commands print exactly the members of --json that module/docs/output.md lists.

use strict;
use warnings;
use lib 't/lib';
use BackgroundLoad;
use Command;
use File::Temp ();
use Gateway qw(wait_for_room);
use JSON::PP ();
use Test::More;
use Time::HiRes qw(sleep);

my $page = do { open my $file, '<', 'module/docs/output.md' or die $!; local $/; <$file> };
my ($section) = $page =~ /^# Output for programs\n(.*)/ms or die "no page \"Output for programs\"\n";

# The members in the table, by its first cell, which names commands.
my (%listed, $commands);
for my $row ($section =~ /^\|(.*)\|$/mg) {
    my ($cell, $members) = map { s/^\s+|\s+$//gr } split /\|/, $row;
    next if $cell eq 'command' || $cell =~ /^-+$/;
    $commands = $cell if length $cell;
    push @{ $listed{$commands} }, $members =~ /`([^`]+)`/g;
    $listed{$commands} //= [];
}

my $gateway = Gateway->start(plans => 'plan free 2r/h 4r/d; plan busy 1000000r/d; plan slow 1r/d in_flight=5 window=sliding; plan prepaid balance; ban after=2 within=1m for=10m; history 2d;');
wait_for_room($gateway->redis, 3600, 60);
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');

# The paths of all members of a document: a, a.b, a[].b.
sub paths_of {
    my ($value, $prefix) = @_;
    return map { paths_of($_, "$prefix\[]") } @$value if ref $value eq 'ARRAY';
    return () unless ref $value eq 'HASH';
    my $dot = length $prefix ? '.' : '';
    return map { my $path = "$prefix$dot$_"; ($path, paths_of($value->{$_}, $path)) } keys %$value;
}

sub prints {
    my ($json, $documented, $what) = @_;
    my %seen = map { $_ => 1 } paths_of($json, '');
    is_deeply([sort keys %seen], [sort @$documented], $what);
}

my @key = @{ $listed{'`key show`, `key import`, `set`, `enable`, `disable`'} };
my @issued = (@key, 'key');
is_deeply($listed{'`key issue`, `rotate`'}, ['key'], 'issue and rotate have the members of show and the key');

my $issued = $tollgate->json(qw(key issue --plan free --name x --limits 5r/s --force --expires 30d --id k1));
prints($issued, \@issued, 'key issue');
prints($tollgate->json(qw(key rotate k1 --overlap 1h)), \@issued, 'key rotate');
prints($tollgate->json(qw(key show k1)), \@key, 'key show');
is_deeply([map { $_->{retiring} } @{ $tollgate->json(qw(key show k1))->{digests} }], [JSON::PP::false, JSON::PP::true], '… the newest key first');
prints($tollgate->json(qw(key set k1 --plan free --limits none)), \@key, 'key set');
prints($tollgate->json('key', $_, 'k1'), \@key, "key $_") for qw(disable enable);
my $imported = $tollgate->run({ stdin => "imported\n" }, qw(key import --plan slow --id k2 --json));
prints(JSON::PP->new->utf8->decode($imported->{out}), \@key, 'key import');
is(ref $tollgate->json(qw(key list)), 'ARRAY', 'key list is an array');
prints($tollgate->json(qw(key list))->[0], \@key, '… of objects with these members');
is_deeply($listed{'`key find`'}, ['sha256'], 'key find has the members of show and the digest');
my $found = $tollgate->run({ stdin => "imported\n" }, qw(key find --json));
prints(JSON::PP->new->utf8->decode($found->{out}), [@key, 'sha256'], 'key find');

$gateway->get('/', $issued->{key}) for 1 .. 8;
$gateway->get('/', 'imported') for 1 .. 2;
my $ban = $listed{'`ban show`, `lift`'};
prints($tollgate->json(qw(ban show k1)), $ban, 'ban show');
ok($tollgate->json(qw(ban show k1))->{banned}, '… of a banned id');
my $bans = $tollgate->json(qw(ban list));
is_deeply([map { $_->{id} } @$bans], ['k1'], 'ban list is an array of banned ids');
prints($bans->[0], $ban, '… with the members of ban show');
prints($tollgate->json(qw(key reindex)), $listed{'`key reindex`'}, 'key reindex');
my $usage = $listed{'`usage`, `key reset`'};
prints($tollgate->json(qw(usage k1)), [grep { !/^in_flight/ } @$usage], 'usage');
prints($tollgate->json(qw(usage k2)), $usage, '… with a limit of requests in flight');
prints($tollgate->json(qw(key reset k2)), $usage, 'key reset');
prints($tollgate->json(qw(ban lift k1)), $ban, 'ban lift');
prints($tollgate->json(qw(key credit k1 5 --ref a)), $listed{'`key credit`, `group credit`'}, 'key credit');
prints($tollgate->json(qw(group set acme --plan free --force)), $listed{'`group show`, `set`'}, 'group set');
prints($tollgate->json(qw(group show acme)), $listed{'`group show`, `set`'}, 'group show');
prints($tollgate->json(qw(group list))->[0], $listed{'`group show`, `set`'}, 'group list');
prints($tollgate->json(qw(group usage acme)), $listed{'`group usage`'}, 'group usage');
prints($tollgate->json(qw(usage k1 --history)), $listed{'`usage --history`'}, 'usage --history');
my ($day) = split /\n/, $tollgate->run(qw(--json export usage --to 9999-12-31))->{out};
prints(JSON::PP->new->utf8->decode($day), $listed{'`export usage`'}, 'export usage');
my ($month) = split /\n/, $tollgate->run(qw(--json export usage --by month --to 9999-12-31))->{out};
prints(JSON::PP->new->utf8->decode($month), $listed{'`export usage --by`'}, '… --by month');

$gateway->import_key('busy', id => 'k3', plan => 'busy');
my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 1, token => sub { sleep 0.01; 'busy' });
my $top = $tollgate->run(qw(top --json --count 10 --interval 100ms));
$load->finish;
my ($reading) = grep { @{ $_->{rows} } } map { JSON::PP->new->utf8->decode($_) } split /\n/, $top->{out};
prints($reading, $listed{'`top`'}, 'top');

my $doctor = $tollgate->run(qw(doctor --json));
prints(JSON::PP->new->utf8->decode($doctor->{out}), $listed{'`doctor`'}, 'doctor');

my $log = File::Temp->new;
print $log map { qq({"msec":$_.5,"key_id":"k","plan":"free"}\n) } 1 .. 3;
print $log "nonsense\n";
close $log;
my $plans = File::Temp->new;
print $plans 'tollgate_plans api { plan free 1r/m; }';
close $plans;
prints($tollgate->json('simulate', '--plans', "$plans", "$log"), $listed{'`simulate`'}, 'simulate');

my $records = File::Temp->new;
print $records $tollgate->run(qw(export keys))->{out};
$records->flush;
prints($tollgate->json('import', "$records"), $listed{'`import FILE`'}, 'import FILE');
print $records '{"id":"declared","plan":"free","token":"declared"}', "\n";
$records->flush;
prints($tollgate->json('import', "$records", '--update'), $listed{'`import FILE --update`'}, 'import FILE --update');
my ($entry) = split /\n/, $tollgate->run(qw(audit --json))->{out};
prints(JSON::PP->new->utf8->decode($entry), $listed{'`audit`'}, 'audit');

prints($tollgate->json(qw(key revoke --yes k2)), $listed{'`key revoke`'}, 'key revoke');
is_deeply([sort keys %listed], [sort '`key show`, `key import`, `set`, `enable`, `disable`', '`key issue`, `rotate`', '`key list`', '`key find`',
    '`key reindex`', '`key revoke`', '`ban show`, `lift`', '`ban list`', '`key credit`, `group credit`', '`group show`, `set`', '`group list`', '`group usage`', '`usage`, `key reset`', '`usage --history`', '`export usage`', '`export usage --by`', '`top`', '`doctor`', '`simulate`', '`import FILE`', '`import FILE --update`', '`audit`', '`status`'],
    'each command of the table was run');

subtest 'what revoke keeps' => sub {
    my $counted = $gateway->redis->cmd('KEYS', 't:quota:*');
    my $strikes = $gateway->redis->cmd('EXISTS', 't:ban:{k1}');
    $tollgate->run(qw(key revoke --yes k1));
    is_deeply([sort @{ $gateway->redis->cmd('KEYS', 't:quota:*') }], [sort @$counted], 'counts');
    is_deeply([sort grep { /k1/ } @{ $gateway->redis->cmd('KEYS', '*') }], ['t:credits:{k1}:api', 't:ended:{k1}', 't:quota:{k1}:api'], '… the balance, the digests, and nothing else');
    my $next = $tollgate->json(qw(key issue --plan free --id k1))->{key};
    is($gateway->get('/', $next)->status, 429, 'a new key of the id continues with these counts');
};

$gateway->nginx->stop;
done_testing;
