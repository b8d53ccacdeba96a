# What the command or tollgate_admin has acknowledged is there after a failover, or a warning was given.
#
# Environment: TOLLGATE_FAILOVERS, how often each kind of failover happens (1).

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Gateway;
use JSON::PP qw(decode_json encode_json);
use POSIX ();
use Sentinels;
use Test::More;
use Time::HiRes qw(sleep time);
use Wait qw(wait_until);

my $rounds = $ENV{TOLLGATE_FAILOVERS} // 1;
my $deployment = Sentinels->start(replicas => 2, down_after => 700);
my $url = 'redis+sentinel://' . join(',', map { $_->address } $deployment->sentinels) . '/mymaster';
my $tollgate = Command->new(redis => $url, prefix => 't:');
my ($first) = $deployment->servers;
my $gateway = Gateway->start(
    plans => 'plan free 1000000r/h;', workers => 2, redis_server => $first, servers => $deployment->directive, redis => 'timeout 100ms;',
    server => 'location /admin/ { tollgate api; tollgate_scope admin; tollgate_admin main; }',
);
$gateway->import_key('admin', id => 'admin', plan => 'free', scopes => 'admin');

# All servers agree which one is the master, and replicate from it.
sub settled {
    return wait_until('the deployment to settle', sub {
        my %named = map { $_->cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster')->[1] => 1 } $deployment->sentinels;
        my $failing = grep { { @{ $_->cmd('SENTINEL', 'MASTER', 'mymaster') } }->{flags} =~ /fail|down/ } $deployment->sentinels;
        my ($port, @more) = keys %named;
        return if @more || $failing;
        my ($master) = grep { $_->port == $port } $deployment->servers;
        $master->disconnect;
        my $role = eval { $master->cmd('ROLE') } or return;
        return $role->[0] eq 'master' && @{ $role->[2] } == 2 ? $master : undef;
    });
}

# Starts a process that makes changes, one after the other, for some seconds. Returns a function that waits for it and
# returns the changes.
sub start_changes {
    my ($seconds, @make) = @_;
    my $file = File::Temp->new;
    my $process = fork // die $!;
    if (!$process) {
        my $end = time + $seconds;
        for (my $i = 0; time < $end; ++$i) { print $file encode_json($make[$i % @make]->()), "\n" }
        $file->flush;
        POSIX::_exit(0);
    }
    return sub {
        waitpid $process, 0;
        open my $lines, '<', $file->filename or die $!;
        return map { decode_json($_) } <$lines>;
    };
}

my $n = 0;
my %unused = (command => [map { "c$_" } 1 .. 300 * $rounds], HTTP => [map { "h$_" } 1 .. 3000 * $rounds]);
{
    my $file = File::Temp->new;
    print $file encode_json({ id => $_, plan => 'free', digest => sha256_hex("key of $_") }), "\n" for map { @$_ } values %unused;
    $file->flush;
    my $result = $tollgate->run('import', $file->filename);
    diag $result->{err} if $result->{status};
}

sub by_command {
    my ($what, @arguments) = @_;
    my $result = $tollgate->run(@arguments);
    my $quiet = $result->{status} == 0 && $result->{err} !~ /warning: (?!no gateway)/;
    return (what => "$what by command", quiet => $quiet ? 1 : 0, told => "$result->{status} $result->{err}", out => $result->{out});
}

sub by_http {
    my ($what, $method, $path, $body) = @_;
    my $response = $gateway->request($method, "/admin/$path", { Authorization => 'Bearer admin' }, defined $body ? encode_json($body) : undef);
    my $durability = $response->header('Tollgate-Durability') // '';
    my $quiet = $response->status =~ /^2/ && !$durability;
    return (what => "$what over HTTP", quiet => $quiet ? 1 : 0, told => $response->status . " $durability", out => $response->body);
}

sub new_id { return ++$n . "-$$" }

sub issue {
    my ($by) = @_;
    my $id = new_id();
    my %made = $by eq 'HTTP' ? by_http("issue of $id", 'POST', 'keys', { id => $id, plan => 'free' }) : by_command("issue of $id", qw(key issue --plan free --id), $id);
    return { %made, issued => $id };
}

sub revoke {
    my ($by) = @_;
    my $id = shift @{ $unused{$by} } // return issue($by);
    my %made = $by eq 'HTTP' ? by_http("revocation of $id", 'DELETE', "keys/$id") : by_command("revocation of $id", qw(key revoke --yes), $id);
    return { %made, revoked => $id };
}

sub import_many {
    my @ids = map { new_id() } 1 .. 700;
    my $file = join '', map { encode_json({ id => $_, plan => 'free', digest => sha256_hex("key of $_") }) . "\n" } @ids;
    return { by_command('import', { stdin => $file }, qw(import -)), imported => \@ids };
}

# Whether a change is there.
sub holds {
    my ($master, $change) = @_;
    if (my $id = $change->{issued}) {
        my ($key) = $change->{out} =~ /(tg_\w{38})/;
        my ($owner, $operation) = @{ $master->cmd('HMGET', 't:key:' . sha256_hex($key), 'id', 'operation') };
        return ($owner // '') eq $id && !defined $operation;
    }
    if (my $id = $change->{revoked}) {
        return !$master->cmd('HEXISTS', 't:key:' . sha256_hex("key of $id"), 'id') && !$master->cmd('EXISTS', "t:id:$id");
    }
    return !grep { !$master->cmd('EXISTS', 't:key:' . sha256_hex("key of $_")) } @{ $change->{imported} };
}

my %failovers = (
    'a failover by command' => [4, sub { sleep 0.5; ($deployment->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster') }],
    'a master that is stopped for a while' => [8, sub { sleep 0.3; my $master = $deployment->master; $master->sigstop; sleep 2; $master->sigcont }],
);

for my $round (1 .. $rounds) {
    for my $name (sort keys %failovers) {
        my ($seconds, $fail) = @{ $failovers{$name} };
        subtest $name => sub {
            settled();
            delete $_->{connection} for $deployment->sentinels;
            my @changes = (
                start_changes($seconds, sub { issue('command') }, sub { revoke('command') }, \&import_many),
                start_changes($seconds, sub { issue('HTTP') }, sub { revoke('HTTP') }),
            );
            $fail->();
            my @made = map { $_->() } @changes;
            my $master = settled();
            my @acknowledged = grep { $_->{quiet} } @made;
            my @told = grep { !$_->{quiet} } @made;
            my @undone = grep { !holds($master, $_) } @acknowledged;
            is join(', ', map { $_->{what} } @undone), '', 'no change that was acknowledged is undone';
            my %why;
            ++$why{substr $_->{told} =~ s/\d+/N/gr, 0, 160} for @told;
            note scalar(@acknowledged), ' acknowledged, ', scalar(@told), ' told otherwise';
            note "$why{$_} × $_" for sort keys %why;
            my %revoked = map { ($_->{revoked} // '') => 1 } @made;
            @$_ = grep { !$revoked{$_} } @$_ for values %unused;
        };
    }
}

done_testing;
