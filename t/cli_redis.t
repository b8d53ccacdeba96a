# How the command connects to Redis, and its messages if it can't.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use FakeRedis qw(pause);
use IO::Socket::INET;
use RedisServer;
use Test::More;
use TestProcess;
use Time::HiRes qw(time);
use Wait qw(free_port);

my $password = 'p@ss:w/rd%?#';
my $encoded = 'p%40ss%3Aw%2frd%25%3F%23';
my $redis = RedisServer->start(
    tcp      => 1,
    password => $password,
    conf     => ['bind 127.0.0.1 -::1', "user app on >$password ~* &* +\@all", 'user reader on >r ~* &* +@read +@connection +time'],
);
my ($port, $socket) = ($redis->port, $redis->socket);

sub run { my ($url, @arguments) = @_; return Command->new(redis => $url)->run(@arguments) }

# Issues a key through this URL and returns the database in which its id is found.
sub database_after {
    my ($url) = @_;
    $redis->cmd('FLUSHALL');
    my $result = run($url, qw(key issue --plan p --id x));
    return "status $result->{status}: $result->{err}" if $result->{status};
    my @found;
    for my $database (0 .. 15) {
        $redis->cmd('SELECT', $database);
        push @found, $database if $redis->cmd('EXISTS', 'ids');
    }
    return "@found";
}

is database_after("redis://:$encoded\@127.0.0.1:$port"), '0', 'a password, percent-encoded';
is database_after("redis://app:$encoded\@localhost:$port/"), '0', 'a user and a host name';
is database_after("redis://app:$encoded\@127.0.0.1:$port/7"), '7', 'a database';
is database_after("unix://:$encoded\@$socket"), '0', 'a password on a unix socket';
is database_after("unix://app:$encoded\@$socket?db=3"), '3', 'a user and a database on a unix socket';
SKIP: {
    skip 'no IPv6 here', 1 unless eval { require IO::Socket::IP; IO::Socket::IP->new(PeerHost => '::1', PeerPort => $port) };
    is database_after("redis://:$encoded\@[::1]:$port/2"), '2', 'an IPv6 address';
}

sub fails {
    my ($url, $status, $message, $name) = @_;
    my $result = run($url, qw(key list));
    is $result->{status}, $status, "$name: status $status";
    like $result->{err}, qr/\Atollgate: [ -~]*\n\z/, '… in one line';
    like $result->{err}, $message, '… that says so';
    unlike $result->{err}, qr/secret|\Q$password\E|\Q$encoded/, '… without the password';
    is $result->{out}, '', '… and nothing else';
}

fails("unix:$socket", 1, qr/NOAUTH/, 'no password');
fails("redis://:secret\@127.0.0.1:$port", 1, qr/127\.0\.0\.1:$port refuses.*WRONGPASS/, 'a wrong password');
fails("redis://nobody:secret\@127.0.0.1:$port", 1, qr/WRONGPASS/, 'an unknown user');
fails("redis://:$encoded\@127.0.0.1:$port/99", 1, qr/DB index/, 'no such database');
fails('redis://127.0.0.1:' . free_port(), 1, qr/127\.0\.0\.1:\d+.*refused/, 'no server listens');
fails("unix:$socket.gone", 1, qr/\Q$socket\E\.gone.*No such file/, 'no such socket');
fails('redis://no-such-host.invalid', 1, qr/no-such-host\.invalid/, 'no such host');
# Redis 8 does not answer a handshake.
fails("rediss://:secret\@127.0.0.1:$port", 1, qr/127\.0\.0\.1:$port: .*(?:SSL|wrong version|timed out)/, 'a Redis without TLS');
fails($_, 2, qr/invalid Redis URL/, "the URL \"$_\"")
    for 'localhost', 'http://secret@localhost', 'redis://', 'redis://:secret@', 'redis://secret@localhost', 'redis://user:@localhost',
    'redis://localhost:0', 'redis://localhost:65536', 'redis://localhost:x', 'redis://localhost:', 'redis://::1:6379', 'redis://[::1',
    'redis://[::1]6379', 'redis://localhost/one', 'redis://localhost/-1', 'redis://localhost/0/1', 'redis://:secret%4@localhost',
    'redis://:secret%zz@localhost', 'redis://:secret%-1@localhost', 'unix:', 'unix:/s?database=1', 'redis://localhost?db=1', 'redis://localhost?tls_ca=x', 'redis://localhost?password_file=', 'rediss://localhost?tls_cert=x',
    'redis://user:secret@localhost?password_file=x', 'rediss://localhost?tls_verify=no', 'rediss://localhost?tls_ca=a&tls_ca=b', 'unix:/s?db=x', 'unix://:secret@', 'unix://host/path';

my $reader = run("redis://reader:r\@127.0.0.1:$port", qw(key issue --plan p --id reader));
is $reader->{status}, 1, 'a user who may not write';
like $reader->{err}, qr/\Atollgate: .*NOPERM.*\n\z/, '… is told so';

my $default = Command->new->run(qw(key list --redis), "redis://:$encoded\@127.0.0.1:$port");
is $default->{status}, 0, '--redis on the command line, after the command too' or diag $default->{err};
my $wins = Command->new(redis => 'redis://127.0.0.1:' . free_port())->run('--redis', "unix://:$encoded\@$socket", qw(key list));
is $wins->{status}, 0, '… wins over the environment' or diag $wins->{err};

$redis->cmd('SELECT', 0);
$redis->cmd('FLUSHALL');
Command->new(redis => "unix://:$encoded\@$socket", prefix => 'env:')->run(qw(key issue --plan p --id env));
Command->new(redis => "unix://:$encoded\@$socket", prefix => 'env:')->run(qw(key issue --plan p --id opt --prefix opt:));
is_deeply [sort grep { /ids/ } @{ $redis->cmd('KEYS', '*') }], ['env:ids', 'opt:ids'], 'the prefix, from the environment and from the command line';

# A server that answers everything with this text, then closes the connection or sends nothing.
sub stub {
    my ($answer, $then) = @_;
    my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
    my $server = TestProcess->start('stub', sub {
        my ($control) = @_;
        my $client = $listener->accept;
        $client->sysread(my $request, 65536) if $answer ne '';
        $client->syswrite($answer);
        sysread $control, my $end, 1 if $then eq 'wait';
    });
    return ('redis://127.0.0.1:' . $listener->sockport, $server);
}

for my $case (
    ['closes at once', '', 'close'],
    ['closes in the midst of an answer', "*2\r\n\$10\r\n17", 'close'],
    ['speaks another protocol', "HTTP/1.1 400 Bad Request\r\n\r\n", 'close'],
    ['promises more than there is memory for', "\$9223372036854775807\r\nx", 'close'],
    ['answers something else', "+PONG\r\n:1\r\n-ERR no\e[31m\r\n", 'close'],
    ['is loading', "-LOADING Redis is loading the dataset in memory\r\n", 'close'],
    ['never answers', '', 'wait'],
) {
    my ($name, $answer, $then) = @$case;
    my ($url, $server) = stub($answer, $then);
    my $start = time;
    my $result = run($url, qw(key list));
    is $result->{status}, 1, "a server that $name: status 1" or diag explain $result;
    like $result->{err}, qr/\Atollgate: [ -~]+\n\z/, '… with one line';
    cmp_ok time - $start, '<', 20, '… without waiting for the end of the connection';
    like $result->{err}, qr/: no reply in time$/, '… that says so' if $then eq 'wait';
}

# The reply with the plan tables comes half a second after the command has stopped waiting for it.
{
    my $own = RedisServer->start;
    my $is_late = 0;
    my $late = FakeRedis->start(
        redis  => $own->address,
        faults => {
            late => {
                reply => sub {
                    my ($bytes, $command) = @_;
                    return "@$command" eq 'HGETALL plans' && !$is_late++ ? (pause(5.5), $bytes) : $bytes;
                }
            }
        },
    );
    $late->fault('late');
    my $result = run($late->address, qw(key issue --plan p --id x));
    is $result->{status}, 0, 'a late reply to a call that may fail: status 0' or diag $result->{err};
    like $result->{err}, qr/^tollgate: .*the plan cannot be checked: .*no reply in time$/m, '… with a warning';
    like $result->{out}, qr/^tg_\w{38}$/m, '… and it is not taken for the reply to the next one';
    is $own->cmd('SCARD', 'id:{x}'), 1, '… whose key is in Redis';
}

done_testing;
