# TLS to Redis: what is verified, what is said of a server that is refused, and that commands, the subscription and
# reconnects work as they do without TLS.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Certificates;
use Digest::SHA qw(sha256_hex);
use Gateway qw(spend_rest wait_for_room);
use Http qw(http_request);
use Load;
use Nginx;
use POSIX ();
use RedisServer;
use Time::HiRes qw(time);
use Wait qw(becomes free_port wait_until);

my $plans = 'plan free 100r/d; plan all unlimited;';
my $certificates = Certificates->new;
$certificates->authority('other');
$certificates->issue('server', 'DNS:localhost,IP:127.0.0.1');
$certificates->issue('named', 'DNS:redis.test');
$certificates->issue('numbered', 'IP:127.0.0.1');
$certificates->issue('elsewhere', 'IP:192.0.2.1');
$certificates->issue('expired', 'DNS:localhost', expired => 1);
$certificates->issue('foreign', 'DNS:localhost', ca => 'other');
$certificates->issue('client', undef);
my $ca = 'tls on; tls_ca ' . $certificates->certificate('ca') . ';';
my $client = 'tls_certificate ' . $certificates->certificate('client') . '; tls_certificate_key ' . $certificates->key('client') . ';';

# A gateway before a Redis that has TLS with this certificate.
sub gateway {
    my ($certificate, %options) = @_;
    my $port = free_port();
    my $host = delete $options{host} // 'localhost';
    my @lines = @{ delete $options{redis_conf} // [] };
    my $password = delete $options{password};
    my $redis = RedisServer->start(conf => [$certificates->redis($certificate, $port, @lines)], password => $password);
    my $gateway = Gateway->start(plans => $plans, redis_server => $redis, server_address => "$host:$port", %options);
    $gateway->import_key('k', id => 'k1', plan => 'free');
    $gateway->import_key('all', id => 'a1', plan => 'all');
    return $gateway;
}

sub tls { my ($gateway) = @_; return $gateway->status->{redis}[0] }

# The lines of the log with this text.
sub lines {
    my ($gateway, $text) = @_;
    return grep { /\Q$text\E/ } split /\n/, $gateway->nginx->error_log;
}

subtest 'a server that is accepted' => sub {
    my %cases = (
        'a name'                        => ['server',    'localhost', $ca],
        'an IP address'                 => ['numbered',  '127.0.0.1', $ca],
        'another name'                  => ['named',     '127.0.0.1', "$ca tls_server_name redis.test;"],
        'another IP address'            => ['elsewhere', '127.0.0.1', "$ca tls_server_name 192.0.2.1;"],
        'tls_verify off: wrong name'    => ['named',     'localhost', 'tls on; tls_verify off;'],
        'tls_verify off: unknown CA'    => ['foreign',   'localhost', "$ca tls_verify off;"],
        'a client certificate'          => ['server',    'localhost', "$ca $client", ['tls-auth-clients yes']],
        'TLS 1.2'                       => ['server',    'localhost', $ca, ['tls-protocols TLSv1.2']],
        'TLS 1.3'                       => ['server',    'localhost', $ca, ['tls-protocols TLSv1.3']],
    );
    for my $what (sort keys %cases) {
        my ($certificate, $host, $conf, $lines) = @{ $cases{$what} };
        my $gateway = gateway($certificate, host => $host, redis => "$conf password secret; database 1;",
            redis_conf => [@{ $lines // [] }], password => 'secret');
        $gateway->redis->cmd('SELECT', 1);
        $gateway->import_key('k', id => 'k1', plan => 'free');
        $gateway->subscribed(1);
        is($gateway->get('/', 'k')->status, 200, $what);
        is($gateway->count('k1', 'api', 86400) > 0, 1, '... and the request is counted');
        $gateway->nginx->stop;
    }
};

subtest 'the CA certificates of the system' => sub {
    for my $name (qw(ca other)) {
        local $ENV{SSL_CERT_FILE} = $certificates->certificate($name);
        local $ENV{SSL_CERT_DIR} = '/nonexistent';
        my $gateway = gateway('server', redis => 'tls on;');
        is($gateway->get('/', 'k')->status, $name eq 'ca' ? 200 : 503, "tls_ca left out: $name");
        $gateway->nginx->stop;
    }
};

my $test_process = $$;

# A server of `openssl s_server`, which prints what it receives, and never answers.
package Listener {
    sub start {
        my ($class, $certificate, @options) = @_;
        my $self = bless { port => Wait::free_port(), output => File::Temp->new }, $class;
        pipe my $input, $self->{input} or die $!;
        $self->{pid} = fork // die "fork: $!\n";
        if (!$self->{pid}) {
            open STDIN, '<&', $input;
            open STDOUT, '>', $self->{output}->filename;
            open STDERR, '>&', \*STDOUT;
            exec 'openssl', 's_server', '-accept', "127.0.0.1:$self->{port}", '-cert', $certificates->certificate($certificate),
                '-key', $certificates->key($certificate), '-CAfile', $certificates->certificate('ca'), @options or POSIX::_exit(127);
        }
        Wait::wait_until('openssl s_server', sub { $self->output =~ /ACCEPT/ });
        return $self;
    }
    sub output {
        my ($self) = @_;
        open my $file, '<', $self->{output}->filename or die $!;
        local $/;
        return <$file> // '';
    }
    sub stop {
        my ($self) = @_;
        my $pid = delete $self->{pid} or return;
        kill KILL => $pid;
        waitpid $pid, 0;
    }
    sub DESTROY { my ($self) = @_; local ($?, $@, $!); $self->stop if $$ == $test_process }
}

sub listening {
    my ($listener, $host, $conf) = @_;
    return Gateway->start(plans => $plans, redis => "$conf password secret; connect_timeout 500ms;", server_address => "$host:$listener->{port}");
}

subtest 'a server that is refused' => sub {
    my %cases = (
        'another name'         => ['named', 'localhost', $ca, 'the certificate of the server is not for "localhost"'],
        'another IP address'   => ['elsewhere', '127.0.0.1', $ca, 'the certificate of the server is not for "127.0.0.1"'],
        'a name, not the address' => ['named', '127.0.0.1', $ca, 'the certificate of the server is not for "127.0.0.1"'],
        'another tls_server_name' => ['server', 'localhost', "$ca tls_server_name redis.test;", 'the certificate of the server is not for "redis.test"'],
        'expired'              => ['expired', 'localhost', $ca, 'the certificate of the server is not accepted: certificate has expired'],
        'unknown CA'           => ['foreign', 'localhost', $ca, 'the certificate of the server is not accepted: unable to get local issuer certificate'],
        'no client certificate (TLS 1.2)' => ['server', 'localhost', $ca, qr/the TLS handshake failed: .*alert handshake failure/, '-Verify', 1, '-tls1_2'],
        'TLS 1.1'              => ['server', 'localhost', $ca, qr/the TLS handshake failed: .*alert protocol version/, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'],
    );
    for my $what (sort keys %cases) {
        my ($certificate, $host, $conf, $reason, @options) = @{ $cases{$what} };
        my $listener = Listener->start($certificate, @options);
        my $gateway = listening($listener, $host, $conf);
        my $pattern = ref $reason ? $reason : quotemeta $reason;
        wait_until($what, sub { $gateway->nginx->error_log =~ $pattern });
        # Requests make it try again, without the delay that grows.
        is($gateway->get('/', 'k')->status, 503, "$what: 503") for 1 .. 3;
        becomes(sub { scalar(grep { /is unreachable: .*$pattern/ } split /\n/, $gateway->nginx->error_log) }, 1, '... one line says why');
        unlike($listener->output, qr/AUTH|secret/, '... and nothing is sent to it');
        is(tls($gateway)->{tls_handshakes}, 0, '... no handshake is counted');
        $gateway->nginx->stop;
    }
    # The same servers, not verified: the password is seen.
    for my $certificate (qw(named expired foreign)) {
        my $listener = Listener->start($certificate);
        my $gateway = listening($listener, 'localhost', 'tls on; tls_verify off;');
        wait_until('AUTH', sub { $listener->output =~ /AUTH\s+\$6\s+secret/ });
        pass("$certificate with tls_verify off: AUTH is sent");
        $gateway->nginx->stop;
    }
};

subtest 'a client certificate that is missing' => sub {
    for my $version (qw(TLSv1.2 TLSv1.3)) {
        my $gateway = gateway('server', redis => $ca, redis_conf => ['tls-auth-clients yes', "tls-protocols $version"]);
        is($gateway->get('/', 'k')->status, 503, "$version: 503");
        my @commands = grep { !/info|ping|hset|sadd|command|config/ } $gateway->redis->cmd('INFO', 'commandstats') =~ /cmdstat_(\w+)/g;
        is_deeply(\@commands, [], '... and no command was received');
        wait_until('the reason', sub { $gateway->nginx->error_log =~ /alert (?:handshake failure|certificate required)|Connection reset|Broken pipe/ });
        pass('... with a reason');
        $gateway->nginx->stop;
    }
};

subtest 'the server name (SNI)' => sub {
    my @certificate = ('-cert2', $certificates->certificate('server'), '-key2', $certificates->key('server'), '-servername', 'x.test');
    for my $case (['localhost', $ca, 'localhost'], ['127.0.0.1', "$ca tls_server_name redis.test;", 'redis.test'], ['127.0.0.1', $ca, undef]) {
        my ($host, $conf, $expected) = @$case;
        my $listener = Listener->start('named', @certificate);
        my $gateway = listening($listener, $host, "$conf tls_verify off;");
        wait_until('the handshake', sub { $listener->output =~ /AUTH/ });
        my ($name) = $listener->output =~ /Hostname in TLS extension: "(.*)"/;
        is($name, $expected, "$host: " . ($expected // 'none'));
        $gateway->nginx->stop;
    }
};

subtest 'quotas are exact' => sub {
    my $gateway = gateway('server', redis => $ca, workers => 2);
    wait_for_room($gateway->redis, 86400);
    my $result = Load->run(servers => [$gateway->address], connections => 32, requests => 400, token => 'k');
    is($result->{status}{200} + $result->{status}{429}, 400, '400 requests are granted or refused');
    is(spend_rest([$gateway], 'k', $result->{status}{200}, 100), 100, '100 are granted');
    is($gateway->count('k1', 'api', 86400), 100, '... and counted');
    $gateway->nginx->stop;
};

subtest 'a revoked key' => sub {
    my $gateway = gateway('server', redis => $ca, workers => 2);
    $gateway->subscribed(2);
    is($gateway->get('/', 'k')->status, 200, 'a good key') for 1 .. 4;
    my $start = time;
    $gateway->change_key('k');
    wait_until('the refusal', sub { $gateway->get('/', 'k')->status == 401 });
    cmp_ok(time - $start, '<', 0.2, '... is refused within 200 ms');
    $gateway->nginx->stop;
};

# Without ACCEPT_MOVING_WRITE_BUFFER, OpenSSL ends a connection whose output grows while it waits for the socket.
subtest 'more output than the socket takes' => sub {
    my $prefix = 'p' x 3500;    # an acquire has a key with the prefix for each table: 400 of them are 14 MB
    my @names = map { "table$_" } 1 .. 10;
    my $tables = join ' ', map { "tollgate_plans $_ lease=off { plan all 1000r/d; }" } @names;
    my $port = free_port();
    my $redis = RedisServer->start(conf => [$certificates->redis('server', $port)]);
    my $nginx = Nginx->start(events => 'worker_connections 2048;', conf => <<"END");
        tollgate_redis main { server localhost:$port; prefix $prefix; $ca timeout 20s; connect_timeout 20s; }
        $tables
        server { listen 127.0.0.1:%PORT%; location / { tollgate @names; empty_gif; } }
        server { listen unix:%DIR%/status.sock; location / { tollgate_status; } location = /connections { stub_status; } }
END
    my $ask = sub { http_request('unix:' . $nginx->dir . '/status.sock', 'GET', $_[0]) };
    my $status = sub { $ask->('/')->json->{redis}[0] };
    my @tokens = map { "key$_" } 1 .. 400;
    $redis->cmd('HSET', "${prefix}key:" . sha256_hex($_), id => $_, plan => 'all', name => '', state => 'active') for @tokens;
    my $all = sub {
        my $next = 0;
        return Load->run(servers => [$nginx->address], connections => 400, requests => 400, token => sub { $tokens[$next++] })->{status};
    };
    is_deeply($all->(), { 200 => 400 }, 'the keys are known');
    $redis->sigstop;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        eval { wait_until('the requests', sub { my ($n) = $ask->('/connections')->body =~ /Writing: (\d+)/; $n > @tokens }) };
        $redis->sigcont;
        POSIX::_exit(0);
    }
    is_deeply($all->(), { 200 => 400 }, 'all requests are granted');
    waitpid $pid, 0;
    my $after = $status->();
    is($after->{errors}, 0, '... without an error');
    is($after->{reconnects}, 0, '... on the same connection');
    $nginx->stop;
};

subtest 'a lost connection resumes the session' => sub {
    for my $version (qw(TLSv1.2 TLSv1.3)) {
        my $gateway = gateway('server', redis => $ca, redis_conf => ["tls-protocols $version"]);
        $gateway->subscribed(1);
        is($gateway->get('/', 'all')->status, 200, "$version: a request");
        my $before = tls($gateway);
        $gateway->redis->cmd('CLIENT', 'KILL', 'TYPE', $_, 'SKIPME', 'yes') for qw(normal pubsub);
        wait_until('the connection', sub { tls($gateway)->{tls_handshakes} >= $before->{tls_handshakes} + 2 });
        is(tls($gateway)->{tls_resumed} - $before->{tls_resumed}, 2, '... both links resume it');
        is($gateway->get('/', 'all')->status, 200, '... and serve');

        $before = tls($gateway);
        $gateway->nginx->reload;
        $gateway->nginx->old_workers_gone;
        $gateway->subscribed(1);
        is($gateway->get('/', 'all')->status, 200, 'after a reload');
        my $after = tls($gateway);
        is($after->{tls_handshakes} - $before->{tls_handshakes}, 2, '... two handshakes');
        is($after->{tls_resumed} - $before->{tls_resumed}, 2, '... that resume the session of the old worker');

        $gateway->nginx->reload(conf => $gateway->nginx->{options}{conf} =~ s/tls_ca \S+;/tls_ca @{[$certificates->certificate('other')]};/r);
        wait_until('the verification', sub { lines($gateway, 'is not accepted') });
        pass('a session is not resumed with another CA');
        is(tls($gateway)->{tls_handshakes}, $after->{tls_handshakes}, '... no handshake succeeds');
        $gateway->nginx->stop;
    }
};

subtest 'a Redis that does not resume its sessions' => sub {
    my $gateway = gateway('server', redis => "$ca $client", redis_conf => ['tls-session-caching no', 'tls-auth-clients yes']);
    $gateway->subscribed(1);
    for (1 .. 3) {
        my $before = tls($gateway)->{tls_handshakes};
        $gateway->redis->cmd('CLIENT', 'KILL', 'TYPE', $_, 'SKIPME', 'yes') for qw(normal pubsub);
        wait_until('both links', sub { tls($gateway)->{tls_handshakes} >= $before + 2 });
        becomes(sub { $gateway->get('/', 'all')->status }, 200, 'connected again');
    }
    $gateway->nginx->stop;
};

subtest 'a Redis that is killed and restarted' => sub {
    my $gateway = gateway('server', redis => $ca);
    is($gateway->get('/', 'all')->status, 200, 'served');
    $gateway->redis->kill;
    is($gateway->get('/', 'all')->status, 200, 'on_failure local: a known key') for 1 .. 5;
    is($gateway->get('/', 'unknown')->status, 503, '... and an unknown one');
    $gateway->redis->restart;
    $gateway->import_key('new', id => 'n1', plan => 'free');
    becomes(sub { $gateway->get('/', 'new')->status }, 200, 'served again');
    $gateway->nginx->stop;
};

subtest 'a graceful end gives back leases at once' => sub {
    for my $version (qw(TLSv1.2 TLSv1.3)) {
        my $gateway = gateway('server', redis => $ca, redis_conf => ["tls-protocols $version"], plans => 'plan free 100000r/d;');
        wait_for_room($gateway->redis, 86400);
        $gateway->subscribed(1);
        my $granted = 0;
        wait_until('a lease', sub {
            $granted += Load->run(servers => [$gateway->address], connections => 8, requests => 64, token => 'k')->{status}{200};
            return $gateway->count('k1', 'api', 86400) > $granted;
        });
        my ($worker) = $gateway->nginx->workers;
        kill QUIT => $worker;
        wait_until('the worker to end', sub { !grep { $_ == $worker } $gateway->nginx->workers });
        becomes(sub { $gateway->count('k1', 'api', 86400) }, $granted, "$version: Redis has counted what was granted, and no lease");
        $gateway->nginx->stop;
    }
};

subtest 'a server that never completes the handshake' => sub {
    my $silent = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1') or die $!;
    my $gateway = Gateway->start(plans => $plans, redis => "$ca connect_timeout 100ms;", server_address => '127.0.0.1:' . $silent->sockport);
    is($gateway->get('/', 'k')->status, 503, 'connect_timeout covers the handshake');
    wait_until('the reason', sub { lines($gateway, 'connecting timed out') });
    $gateway->nginx->reload;    # while a handshake is under way
    my $start = time;
    $gateway->nginx->old_workers_gone;
    cmp_ok(time - $start, '<', 5, 'a worker does not wait for it');
    $gateway->nginx->stop;
};

done_testing;
