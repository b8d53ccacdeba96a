# Calls over TLS that the socket takes in parts: if the connection is then lost, no call is executed twice.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Certificates;
use Gateway;
use Http;
use IO::Select;
use IO::Socket::INET;
use OwnNetwork;
use RedisServer;
use Socket qw(INADDR_LOOPBACK PF_INET SOCK_STREAM SOL_SOCKET SO_RCVBUF pack_sockaddr_in unpack_sockaddr_in);
use TestProcess;
use Time::HiRes ();
use Wait qw(free_port wait_until);

plan skip_all => 'needs root, for small buffers of sockets' unless OwnNetwork->enter;
OwnNetwork->set('ipv4/tcp_wmem', '4096 8192 8192');

my $certificates = Certificates->new;
$certificates->issue('server', 'DNS:localhost');
my $tls_port = free_port();
my $redis = RedisServer->start(conf => [$certificates->redis('server', $tls_port)]);

# A proxy whose sockets take few bytes.
socket my $listener, PF_INET, SOCK_STREAM, 0 or die $!;
setsockopt $listener, SOL_SOCKET, SO_RCVBUF, 2048 or die $!;
bind $listener, pack_sockaddr_in(0, INADDR_LOOPBACK) or die $!;
listen $listener, 64 or die $!;
my ($port) = unpack_sockaddr_in(getsockname $listener);

# It passes all bytes. After the question `cut`, the next connection on which the gateway sends a large piece gets no
# more replies. Redis gets 20,000 bytes of it, more than one record; then the connection is closed.
my $most = 20_000;
my $proxy = TestProcess->start('proxy', sub {
    my ($control) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $select = IO::Select->new($control, $listener);
    my (%peer, %is_gateway, $waits_to_cut, $victim, $taken, @cuts);
    my $close = sub {
        my ($one) = @_;
        for my $socket (my @both = ($one, $peer{$one})) {
            $select->remove($socket);
            delete @$_{$socket} for \%peer, \%is_gateway;
            close $socket;
        }
    };
    while (1) {
        for my $socket ($select->can_read) {
            next unless defined fileno $socket;    # closed in this turn
            if ($socket == $control) {
                TestProcess::answer($control, sub { $waits_to_cut = 1 if $_[0] eq 'cut'; return \@cuts });
            } elsif ($socket == $listener) {
                accept my $gateway, $listener or next;
                my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$tls_port") or die "connect: $!\n";
                @peer{$gateway, $server} = ($server, $gateway);
                $is_gateway{$gateway} = 1;
                $select->add($gateway, $server);
            } else {
                my $is_victim = defined $victim && ($socket == $victim || $peer{$socket} == $victim);
                my $n = sysread $socket, my $bytes, $is_victim || $waits_to_cut ? 1000 : 65536;
                if (!$n) {
                    $close->($socket);
                    next;
                }
                if ($waits_to_cut && $is_gateway{$socket} && $n == 1000) {
                    ($victim, $taken, $waits_to_cut, $is_victim) = ($socket, 0, 0, 1);
                }
                next if $is_victim && !$is_gateway{$socket};
                syswrite $peer{$socket}, $bytes;
                next unless $is_victim;
                $taken += $n;
                Time::HiRes::sleep(0.001);    # The gateway fills the room that this made.
                if ($taken >= $most) {
                    push @cuts, $taken;
                    undef $victim;
                    $close->($socket);
                }
            }
        }
    }
});
close $listener;

my $clients = 300;
my $gateway = Gateway->start(
    plans => 'plan free 1000r/h;', table => 'lease=off', redis_server => $redis, server_address => "localhost:$port",
    redis  => 'timeout 2s; tls on; tls_ca ' . $certificates->certificate('ca') . ';',
    events => 'worker_connections 1024;',
    http   => 'tollgate_zone 32m;',    # lost calls of long ids are kept in large places, of which a small zone has few
);
$gateway->import_key("k$_", id => "k$_" . 'x' x 36, plan => 'free') for 1 .. $clients;
$gateway->subscribed(1);
my @connections = map { Http->connect($gateway) } 1 .. $clients;

# One request of each client, all in one turn of the worker's event loop. Returns the statuses.
sub requests {
    my ($worker) = $gateway->nginx->workers;
    kill STOP => $worker;
    $connections[$_ - 1]->send(Http::format_request('GET', '/', { Authorization => "Bearer k$_" })) for 1 .. $clients;
    kill CONT => $worker;
    my %seen;
    $seen{ $_->response->status }++ for @connections;
    return \%seen;
}
is_deeply(requests(), { 200 => $clients }, 'the keys are known');

my $monitor = $redis->connection;
$monitor->cmd('MONITOR');
my $losses = 10;    # The calls that the socket took at the end differ.
for my $n (1 .. $losses) {
    $proxy->ask('cut');
    is_deeply(requests(), { 200 => $clients }, "all requests are granted ($n)");
    wait_until('all to be settled', sub { $gateway->unsettled == 0 });
}
is(scalar @{ $proxy->ask('cuts') }, $losses, 'connections were lost');
$redis->cmd('ECHO', 'the end');

# How often Redis executed a call, by its token, which follows the keys.
my %executed;
while ((my $line = $monitor->read) !~ /"the end"/) {
    my @words = $line =~ /"((?:[^"\\]|\\.)*)"/g;
    $executed{ $words[3 + $words[2]] }++ if $words[0] =~ /^EVAL/i;
}
cmp_ok(scalar keys %executed, '>=', 2, 'Redis executed calls');
is_deeply([grep { $executed{$_} > 1 } sort keys %executed], [], '... each once');
$gateway->nginx->stop;
done_testing;
