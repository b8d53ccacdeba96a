# The command with Sentinel: it finds the master, also during and after a failover.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Certificates;
use Command;
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use IO::Socket::INET;
use Markdown;
use Sentinels;
use Test::More;
use TestProcess;
use Time::HiRes qw(time);
use Wait qw(free_port wait_until);

my ($page) = grep { $_->path eq 'module/docs/redis_data.md' } Markdown->pages("$FindBin::Bin/..");
my ($rules) = map { $_->{text} =~ /^user operator (.*)$/m } $page->blocks('redis');
my ($sentinel_rules) = join('', map { $_->[0] } @{ $page->{prose} }) =~ /`sentinel_username` needs `([^`]+)`/;
ok $rules && $sentinel_rules, 'the users are documented' or BAIL_OUT('no users');
$rules =~ s/petstore:/t:/g;

my $deployment = Sentinels->start(
    conf          => ["user watch on >seen resetchannels -\@all $sentinel_rules"],
    redis_options => { conf => ['appendonly yes'], acl => ["user operator $rules +select", 'user blind on >SECRET ~* &* +@all -role -wait'] },
);
my $password_file = File::Temp->new;
print $password_file "seen\n";
$password_file->flush;
my @addresses = map { $_->address } $deployment->sentinels;

sub url { my ($login, $path, @addresses) = @_; return "redis+sentinel://$login" . join(',', @addresses) . "/$path" }
my $url = url('operator:SECRET@', 'mymaster/2', @addresses) . "?sentinel_username=watch&sentinel_password_file=$password_file";
sub run { my ($url, @arguments) = @_; return Command->new(redis => $url, prefix => 't:')->run(@arguments) }
sub succeeds {
    my ($url, @arguments) = @_;
    my $result = run($url, @arguments);
    my @words = grep { !ref } @arguments;
    is $result->{status}, 0, "@words" or diag $result->{err};
    return $result;
}

subtest 'the documented users are sufficient' => sub {
    my ($master) = $deployment->servers;
    my $connection = $master->connection;
    $connection->cmd('SELECT', 2);
    my $issued = succeeds($url, qw(key issue --plan free --id a));
    ok $connection->cmd('ZSCORE', 't:ids', 'a'), '... in the database of the URL';
    ok $connection->cmd('ZSCORE', 't:changes', 'a'), '... and the change is recorded';
    unlike $issued->{err}, qr/warning/, '... without a warning';
    for my $command ([qw(key list)], [qw(key disable a)], [qw(key rotate a)], [qw(usage a)], [qw(ban lift a)], [qw(key revoke --yes a)]) {
        unlike succeeds($url, @$command)->{err}, qr/NOPERM|warning: (?!no gateway)/, '... is not refused anything';
    }
    my $password_of_redis = run(url('operator:SECRET@', 'mymaster', @addresses) . '?sentinel_username=operator&sentinel_password_file=' . $password_file, qw(key list));
    is $password_of_redis->{status}, 1, 'another user of the Sentinels';
    like $password_of_redis->{err}, qr/Sentinel at 127\.0\.0\.1:\d+ refuses the user or password \(WRONGPASS\)/, '... is refused, and the message says by whom';
};

subtest 'a user who may not call ROLE' => sub {
    my $blind = url('blind:SECRET@', 'mymaster', @addresses);
    succeeds($blind, qw(key issue --plan free --id b));
    like succeeds($blind, qw(key revoke --yes b))->{err}, qr/it is unknown whether a replica .*\+role \+wait/, '... is told what is missing';
};

subtest 'each Sentinel is asked in turn' => sub {
    my @gone = map { '127.0.0.1:' . free_port() } 1 .. 2;
    succeeds(url('', 'mymaster', @gone, $addresses[0]), qw(key list));
    my ($stopped) = $deployment->sentinels;
    $stopped->sigstop;
    succeeds(url('', 'mymaster', @addresses), qw(key list));
    $stopped->sigcont;
};

sub fails {
    my ($url, $message, $name, $seconds) = @_;
    my $start = time;
    my $result = run($url, qw(key list));
    cmp_ok time - $start, '<', $seconds, "$name: an error in time";
    is $result->{status}, 1, '... with status 1';
    like $result->{err}, qr/\Atollgate: [ -~]+\n\z/, '... in one line';
    like $result->{err}, $message, '... that says why';
    unlike $result->{err}, qr/SECRET|seen/, '... without a password';
}

subtest 'mistakes' => sub {
    fails(url('', 'other', @addresses), qr/no master "other" is found: (?:Sentinel at \S+ does not know this name(?:; |$)){3}/, 'an unknown name', 5);
    my @gone = map { '127.0.0.1:' . free_port() } 1 .. 2;
    fails(url('', 'mymaster', @gone), qr/no master "mymaster" is found: no connection to Sentinel at \Q$gone[0]\E: .*refused; no connection to Sentinel at \Q$gone[1]\E/, 'no Sentinel', 20);
    fails(url('operator:WRONG@', 'mymaster', @addresses), qr/Redis at \S+ refuses the user or password \(WRONGPASS\)/, 'a wrong password', 5);
    my ($master) = $deployment->servers;
    fails(url('', 'mymaster', '127.0.0.1:' . $master->port), qr/no master "mymaster" is found: Sentinel at \S+: ERR unknown command/, 'a Redis that is no Sentinel', 20);
};

# A Sentinel that reports a server which is not the master, until a file exists.
sub stale_sentinel {
    my ($wrong, $right, $file) = @_;
    my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die $!;
    my $sentinel = TestProcess->start('stale Sentinel', sub {
        local $SIG{PIPE} = 'IGNORE';
        while (my $client = $listener->accept) {
            $client->sysread(my $request, 65536) or next;
            my $port = -e $file ? $right : $wrong;
            my @fields = $request =~ /GET-MASTER/ ? ('127.0.0.1', $port) : (ip => '127.0.0.1', port => $port, 'config-epoch', 1, flags => 'master');
            $client->syswrite('*' . @fields . "\r\n" . join '', map { '$' . length($_) . "\r\n$_\r\n" } @fields);
        }
    });
    return ('127.0.0.1:' . $listener->sockport, $sentinel);
}

subtest 'a reported server must be a master' => sub {
    my ($master, $replica) = $deployment->servers;
    my $dir = File::Temp->newdir;
    my ($address, $sentinel) = stale_sentinel($replica->port, $master->port, "$dir/now");
    fails(url('', 'mymaster', $address), qr/no master "mymaster" is found: Redis at 127\.0\.0\.1:@{[$replica->port]} says that it is not a master/, 'a replica', 20);
    my $monitor = $replica->connection;
    $monitor->cmd('MONITOR');
    my $started = Command->new(redis => url('', 'mymaster', $address))->start(qw(key list));
    1 until $monitor->read =~ /"ROLE"/;
    open my $now, '>', "$dir/now" or die $!;
    waitpid $started->{pid}, 0;
    is $?, 0, 'the search continues until the failover has ended';
};

subtest 'replicas that do not confirm' => sub {
    my ($master, $replica) = $deployment->servers;
    succeeds($url, qw(key issue --plan free --id slow));
    is succeeds($url, qw(key disable slow))->{err}, '', 'a replica confirms: no message';
    $replica->sigstop;
    for my $command ([qw(key issue --plan free --id late)], [qw(key enable slow)], [qw(ban lift slow)], [qw(key revoke --yes slow)]) {
        my $warnings = () = succeeds($url, @$command)->{err} =~ /^tollgate: warning: no replica of Redis has confirmed the change of/mg;
        is $warnings, 1, '... warns once';
    }
    $replica->sigcont;
};

subtest 'Sentinels that do not answer' => sub {
    my @others = ($deployment->sentinels)[1, 2];
    $_->sigstop for @others;
    like succeeds($url, qw(key issue --plan free --id few))->{err}, qr/warning: it is unknown whether the change of "few" was made at the present master/, 'one of three is not enough';
    $_->sigcont for @others;
};

subtest 'a failover between two commands' => sub {
    my $old = $deployment->master;
    my $issued = succeeds($url, qw(key issue --plan free --id over));
    my ($key) = $issued->{out} =~ /(tg_\w{38})/;
    $deployment->drain($old);
    ($deployment->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster');
    my $new = $deployment->new_master($old);
    succeeds($url, qw(key revoke --yes over));
    my $connection = $new->connection;
    $connection->cmd('SELECT', 2);
    ok !$connection->cmd('HEXISTS', 't:key:' . sha256_hex($key), 'id'), 'the command has changed the new master';
};

subtest 'TLS' => sub {
    my $certificates = Certificates->new;
    $certificates->issue('server', 'IP:127.0.0.1');
    my ($port, $sentinel_port) = map { free_port() } 1 .. 2;
    my $redis = RedisServer->start(conf => [$certificates->redis('server', $port)]);
    my $sentinel = Sentinels::Sentinel->start(
        port => free_port(), tls_port => $sentinel_port,
        conf => [$certificates->redis('server', $sentinel_port, 'tls-replication yes'), "sentinel monitor mymaster 127.0.0.1 $port 1"],
    );
    my $tls = "rediss+sentinel://127.0.0.1:$sentinel_port/mymaster?tls_ca=";
    succeeds($tls . $certificates->certificate('ca'), qw(key issue --plan free --id tls));
    is $redis->cmd('ZCARD', 't:ids'), 1, 'a key is stored';
    fails("rediss+sentinel://127.0.0.1:$sentinel_port/mymaster", qr/no connection to Sentinel at \S+: .*certificate/, 'the CA certificates of the system', 20);
};

done_testing;
