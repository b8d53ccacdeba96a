# What the command has acknowledged is there after a failover, or the command has warned.
#
# Environment: TOLLGATE_FAILOVERS, how often each kind of failover happens (1).

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use JSON::PP qw(encode_json);
use POSIX ();
use Sentinels;
use Test::More;
use Time::HiRes qw(sleep time);
use Wait qw(wait_until);

my $rounds = $ENV{TOLLGATE_FAILOVERS} // 1;
my $deployment = Sentinels->start(replicas => 2, down_after => 700);
my $url = 'redis+sentinel://' . join(',', map { $_->address } $deployment->sentinels) . '/mymaster';
my $tollgate = Command->new(redis => $url, prefix => 't:');

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

# Runs commands one after the other while `fail` happens, and returns those that succeed without a word.
sub change_during {
    my ($fail, $until, @kinds) = @_;
    my (@acknowledged, @told);
    my $failing = fork // die $!;
    if (!$failing) {
        $fail->();
        POSIX::_exit(0);
    }
    my $end = time + $until;
    for (my $n = 0; time < $end; ++$n) {
        my $change = $kinds[$n % @kinds]->();
        my $quiet = $change->{status} == 0 && $change->{err} !~ /warning: (?!no gateway)/;
        push @{ $quiet ? \@acknowledged : \@told }, $change;
    }
    waitpid $failing, 0;
    return (\@acknowledged, \@told);
}

my $n = 0;
my @unused = map { "r$_" } 1 .. 300 * $rounds;
{
    my $file = File::Temp->new;
    print $file encode_json({ id => $_, plan => 'free', digest => sha256_hex("key of $_") }), "\n" for @unused;
    $file->flush;
    my $result = $tollgate->run('import', $file->filename);
    diag $result->{err} if $result->{status};
}

my %kinds = (
    issue => sub {
        my $id = 'i' . ++$n;
        my $result = $tollgate->run(qw(key issue --plan free --id), $id);
        my ($key) = $result->{out} =~ /(tg_\w{38})/;
        return { %$result, what => "issue of $id", holds => sub { $_[0]->cmd('HGET', 't:key:' . sha256_hex($key), 'id') && !$_[0]->cmd('HEXISTS', 't:key:' . sha256_hex($key), 'operation') } };
    },
    revoke => sub {
        my $id = shift @unused;
        my $result = $tollgate->run(qw(key revoke), $id);
        return { %$result, what => "revocation of $id", holds => sub { !$_[0]->cmd('EXISTS', 't:key:' . sha256_hex("key of $id"), "t:id:$id") } };
    },
    import => sub {
        my @ids = map { 'm' . ++$n . "-$_" } 1 .. 700;
        my $file = join '', map { encode_json({ id => $_, plan => 'free', digest => sha256_hex($_) }) . "\n" } @ids;
        my $result = $tollgate->run({ stdin => $file }, qw(import -));
        return { %$result, what => 'import', holds => sub { my ($redis) = @_; !grep { !$redis->cmd('EXISTS', 't:key:' . sha256_hex($_)) } @ids } };
    },
);

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
            my ($acknowledged, $told) = change_during($fail, $seconds, @kinds{qw(issue revoke import)});
            my $master = settled();
            my @undone = grep { !$_->{holds}->($master) } @$acknowledged;
            is join(', ', map { $_->{what} } @undone), '', 'no change that was acknowledged is undone';
            my %why;
            ++$why{"$_->{status} " . substr $_->{err} =~ s/\d+/N/gr, 0, 160} for @$told;
            note scalar(@$acknowledged), ' acknowledged, ', scalar(@$told), ' told otherwise';
            note "$why{$_} × $_" for sort keys %why;
        };
    }
}

done_testing;
