# Each fault of the proxy does what it says, judged by the bytes that arrive: the test is both the client and the server.

use strict;
use warnings;
use lib 't/lib', 't/verify/lib';
use Test::More;
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Http;
use Nginx;
use Verify::Clock qw(now);
use Verify::Proxy;
use Wait qw(wait_until);

my $dir = File::Temp->newdir('proxy-test-XXXXXX', TMPDIR => 1);
my $listener = IO::Socket::UNIX->new(Listen => 16, Local => "$dir/server.sock") or die $!;
my $proxy = Verify::Proxy->start(to => ["unix:$dir/server.sock"], tcp => 0);

sub client { return IO::Socket::UNIX->new(Peer => ($proxy->addresses)[0] =~ s/^unix://r) // die "no connection: $!\n" }
sub accepted {
    IO::Select->new($listener)->can_read(30) or die "no connection of the proxy\n";
    return scalar $listener->accept;
}
sub link_through { my $client = client(); return ($client, accepted()) }
sub is_quiet { my ($socket) = @_; return !IO::Select->new($socket)->can_read(0) }

# The next bytes, as many as that; fewer if the connection ends.
sub next_bytes {
    my ($socket, $length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        IO::Select->new($socket)->can_read(30) or die "nothing arrives\n";
        sysread $socket, $bytes, $length - length $bytes, length $bytes or last;
    }
    return $bytes;
}
sub has_ended { my ($socket) = @_; return next_bytes($socket, 1) eq '' }
sub affects { my ($count, $name) = @_; is(eval { wait_until($name, sub { $proxy->affected >= $count }); $proxy->affected }, $count, $name) }

# Data of one direction, then of the other.
sub passes {
    my ($name, $client, $server) = @_;
    syswrite $client, 'question';
    is(next_bytes($server, 8), 'question', "$name: data reaches the server");
    syswrite $server, 'answer';
    is(next_bytes($client, 6), 'answer', '... and the client');
}

subtest 'pass' => sub {
    my ($client, $server) = link_through();
    passes('at the start', $client, $server);
    my $large = join '', map { pack 'N', $_ } 1 .. 200_000;
    if (!(my $pid = fork // die $!)) {
        for (my $sent = 0; $sent < length $large;) { $sent += syswrite($server, $large, 65536, $sent) // last }
        require POSIX;
        POSIX::_exit(0);
    }
    ok(next_bytes($client, length $large) eq $large, 'a large reply is complete and in order');
    wait;
    syswrite $client, 'last';
    close $client;
    is(next_bytes($server, 5), 'last', 'the end comes after the data');
    my ($other, $its_server) = link_through();
    syswrite $its_server, 'bye';
    close $its_server;
    is(next_bytes($other, 4), 'bye', '... also that of the server');
};

subtest 'delay' => sub {
    my ($client, $server) = link_through();
    $proxy->set('delay', 0.15);
    my $sent = now();
    syswrite $client, 'one';
    affects(1, 'a piece of data');
    syswrite $client, 'two';
    affects(2, 'another one');
    close $client;
    is(next_bytes($server, 7), 'onetwo', 'both arrive, and the end after them');
    cmp_ok(now() - $sent, '>=', 0.15, '... not earlier');
    ($client, $server) = link_through();
    $sent = now();
    syswrite $server, 'reply';
    is(next_bytes($client, 5), 'reply', 'a reply arrives');
    cmp_ok(now() - $sent, '>=', 0.15, '... not earlier');
    $proxy->set('delay', 1000);
    syswrite $client, 'late';
    affects(1, 'a piece of data');
    $proxy->set('pass');
    is(next_bytes($server, 4), 'late', 'what is under way arrives at the end of the fault');
    passes('afterwards', $client, $server);
};

subtest 'hold' => sub {
    my ($client, $server) = link_through();
    $proxy->set('hold');
    syswrite $client, 'first';
    syswrite $server, 'reply';
    affects(2, 'data of both directions');
    ok(is_quiet($server) && is_quiet($client), 'nothing arrives, and no connection ends');
    my ($late, $its_server) = link_through();
    syswrite $late, 'second';
    affects(3, 'a new connection is open');
    close $late;
    affects(4, 'its end is held back');
    ok(is_quiet($its_server), '... and its data');
    $proxy->set('pass');
    is(next_bytes($server, 5), 'first', 'the request arrives later');
    is(next_bytes($client, 5), 'reply', '... and the reply');
    is(next_bytes($its_server, 7), 'second', '... and the request of a connection that has ended meanwhile, with its end');
    passes('afterwards', $client, $server);
};

subtest 'refuse' => sub {
    my ($client, $server) = link_through();
    $proxy->set('refuse');
    ok(has_ended($client) && has_ended($server), 'a connection is closed at both ends');
    ok(has_ended(client()), 'a new one is closed');
    ok(is_quiet($listener), '... and does not reach the server');
    affects(2, 'both are counted');
    $proxy->set('pass');
    passes('afterwards', link_through());
};

subtest 'mute' => sub {
    my ($client, $server) = link_through();
    my ($idle, $its_server) = link_through();
    $proxy->set('mute', 0.1);
    my $sent = now();
    syswrite $client, 'question';
    is(next_bytes($server, 8), 'question', 'the server gets everything');
    syswrite $server, 'answer';
    affects(1, 'a reply is lost');
    syswrite $client, 'more';
    is(next_bytes($server, 4), 'more', 'the server still gets everything');
    is(next_bytes($client, 6), '', 'the connection ends without the reply');
    cmp_ok(now() - $sent, '>=', 0.1, '... not earlier');
    ok(has_ended($server), '... for the server, too');
    $proxy->set('pass');
    passes('a connection that lost nothing stays open', $idle, $its_server);
};

subtest 'truncate' => sub {
    my ($client, $server) = link_through();
    my ($idle, $its_server) = link_through();
    $proxy->set('truncate', 3);
    syswrite $client, 'question';
    is(next_bytes($server, 8), 'question', 'the server gets everything');
    syswrite $server, 'answer';
    is(next_bytes($client, 6), 'ans', 'so many bytes of the reply arrive, then the end');
    ok(has_ended($server), '... also for the server');
    affects(1, 'one reply');
    $proxy->set('pass');
    passes('a connection without a reply stays open', $idle, $its_server);
};

subtest 'cut' => sub {
    my @links = map { [link_through()] } 1 .. 2;
    $proxy->cut;
    is(scalar(grep { has_ended($_) } map { @$_ } @links), 4, 'all connections end');
    is($proxy->affected, 2, 'both are counted');
    passes('afterwards', link_through());
};

subtest 'TCP' => sub {
    my $server = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1') or die $!;
    my $second = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1') or die $!;
    my $other = Verify::Proxy->start(to => [map { '127.0.0.1:' . $_->sockport } $server, $second], tcp => 1);
    my ($to_server, $to_second) = $other->addresses;
    passes('over a port', IO::Socket::INET->new(PeerAddr => $to_server), scalar $server->accept);
    passes('to another server', IO::Socket::INET->new(PeerAddr => $to_second), scalar $second->accept);
    shutdown $server, 2;    # the process of the proxy has it, too
    ok(has_ended(IO::Socket::INET->new(PeerAddr => $to_server)), 'a connection is closed if there is no server');
    is($other->affected, 0, '... which is no fault of the proxy');
};

subtest 'nginx connects through the proxy' => sub {
    my ($server, $other) = map { IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1') // die $! } 1 .. 2;
    my $through = Verify::Proxy->start(to => ['127.0.0.1:' . $server->sockport], tcp => 1);
    my ($port) = ($through->addresses)[0] =~ /(\d+)$/;
    my $nginx = Nginx->start(
        conf => 'server { listen unix:%DIR%/http.sock; location = /server { proxy_pass http://127.0.0.1:' . $server->sockport . '; } '
            . 'location = /other { proxy_pass http://127.0.0.1:' . $other->sockport . '; } }',
        routes => { $server->sockport => $port },
    );
    for my $case ([server => $server, 1], [other => $other, 0]) {
        my ($name, $listener, $is_routed) = @$case;
        my $before = $through->accepted;
        my $client = Http->connect($nginx);
        $client->send(Http::format_request('GET', "/$name"));
        IO::Select->new($listener)->can_read(30) or die "no connection\n";
        my $connection = $listener->accept;
        syswrite $connection, "HTTP/1.0 204 No Content\r\n\r\n";
        close $connection;
        is($client->response->status, 204, "$name answers");
        is($through->accepted - $before, $is_routed, $is_routed ? '... through the proxy' : '... without it');
    }
    $nginx->stop;
};

done_testing;
