# The command over TLS: rediss:// and its parameters.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Certificates;
use Command;
use File::Temp ();
use RedisServer;
use Test::More;
use Wait qw(free_port);

my $certificates = Certificates->new;
$certificates->authority('other');
$certificates->issue('server', 'DNS:localhost,IP:127.0.0.1');
$certificates->issue('named', 'DNS:redis.test');
$certificates->issue('expired', 'DNS:localhost', expired => 1);
$certificates->issue('client');
my %file = map { $_ => $certificates->certificate($_) } qw(ca other client);
my $key = $certificates->key('client');

# A Redis with this certificate, and its port.
sub redis {
    my ($certificate, @lines) = @_;
    my $port = free_port();
    return (RedisServer->start(password => 'secret', conf => [$certificates->redis($certificate, $port, @lines)]), $port);
}

sub run { my ($url, @arguments) = @_; return Command->new(redis => $url, prefix => 't:')->run(@arguments) }

sub fails {
    my ($url, $message, $name) = @_;
    my $result = run($url, qw(key list));
    is $result->{status}, 1, "$name: status 1";
    like $result->{err}, qr/\Atollgate: no connection to Redis at [\w.:]+: [ -~]*\n\z/, '... in one line';
    like $result->{err}, $message, '... that says why';
    unlike $result->{err}, qr/secret/, '... without the password';
}

my ($redis, $port) = redis('server');
my $url = "rediss://:secret\@localhost:$port/1?tls_ca=$file{ca}";

my $issued = run($url, qw(key issue --plan free --id one));
is $issued->{status}, 0, 'a key is issued' or diag $issued->{err};
$redis->cmd('SELECT', 1);
is $redis->cmd('ZSCORE', 't:ids', 'one') > 0, 1, '... in the database of the URL';
my $listed = run($url, qw(key list));
like $listed->{out}, qr/^one\b/m, '... and listed' or diag $listed->{err};
is run($url, qw(usage one))->{status}, 0, 'usage';
run($url, qw(key issue --plan free --name), 'n' x 256, '--id', "id$_") for 1 .. 3;
$redis->cmd('ZADD', 't:ids', $_, "id$_") for 4 .. 3000;
$redis->cmd('HSET', "t:key:$_", id => "id$_", plan => 'free', name => 'n' x 256, state => 'active') for 4 .. 3000;
$redis->cmd('SADD', "t:id:{id$_}", $_) for 4 .. 3000;
is scalar(my @lines = run($url, qw(key list))->{out} =~ /^id\d+\b/mg), 3000, 'replies of many records';

is run("rediss://:secret\@127.0.0.1:$port?tls_ca=$file{ca}", qw(key list))->{status}, 0, 'an IP address';
{
    local $ENV{SSL_CERT_FILE} = $file{ca};
    local $ENV{https_proxy} = 'http://127.0.0.1:1';
    is run("rediss://:secret\@localhost:$port?tls_ca=$file{ca}", qw(key list))->{status}, 0, 'a proxy of the environment is not used';
}
fails("rediss://:secret\@localhost:$port", qr/certificate/, 'the CA certificates of the system');
fails("rediss://:secret\@localhost:$port?tls_ca=$file{other}", qr/SSL certificate problem: (?:unable to get local issuer|self-signed) certificate/, 'another CA');
fails("rediss://:secret\@localhost:$port?tls_ca=/none", qr{/none}, 'a file that is not there');
fails("rediss://:secret\@localhost:$port?tls_ca=$file{ca}&tls_server_name=redis.test", qr/redis\.test/, 'another server name');

my $file = File::Temp->new;
print $file "secret\n";
$file->flush;
is run("rediss://default\@localhost:$port?tls_ca=$file{ca}&password_file=$file", qw(key list))->{status}, 0, 'a password file, with a user';
is run("rediss://localhost:$port?password_file=$file&tls_ca=$file{ca}", qw(key list))->{status}, 0, '... without a user';
is run('unix:' . $redis->socket . "?password_file=$file&db=1", qw(key list))->{status}, 0, '... on a unix socket';
my $missing = run("rediss://localhost:$port?password_file=/none&tls_ca=$file{ca}", qw(key list));
is $missing->{status}, 2, '... that is not there: status 2';
like $missing->{err}, qr{password_file /none}, '... and says so';

my ($named, $named_port) = redis('named');
fails("rediss://:secret\@localhost:$named_port?tls_ca=$file{ca}", qr/'?localhost'?/, 'the certificate of another name');
is run("rediss://:secret\@127.0.0.1:$named_port?tls_ca=$file{ca}&tls_server_name=redis.test", qw(key list))->{status}, 0, 'tls_server_name';
is run("rediss://:secret\@localhost:$named_port?tls_verify=off", qw(key list))->{status}, 0, 'tls_verify=off';
my @commands = $named->cmd('INFO', 'commandstats') =~ /cmdstat_auth:calls=(\d+)/;
$named->cmd('CONFIG', 'RESETSTAT');
fails("rediss://:secret\@localhost:$named_port?tls_ca=$file{ca}", qr/localhost/, 'once more');
cmp_ok $commands[0], '>=', 2, 'AUTH is sent to a server that is accepted';
unlike $named->cmd('INFO', 'commandstats'), qr/cmdstat_auth/, '... and not to one that is refused';

my ($expired, $expired_port) = redis('expired');
fails("rediss://:secret\@localhost:$expired_port?tls_ca=$file{ca}", qr/certificate has expired/, 'an expired certificate');

my ($strict, $strict_port) = redis('server', 'tls-auth-clients yes');
is run("rediss://:secret\@localhost:$strict_port?tls_ca=$file{ca}&tls_cert=$file{client}&tls_key=$key", qw(key list))->{status}, 0, 'a client certificate';
fails("rediss://:secret\@localhost:$strict_port?tls_ca=$file{ca}", qr/does it require a client certificate/, 'no client certificate');

done_testing;
