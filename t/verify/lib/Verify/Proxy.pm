package Verify::Proxy;

# A proxy between one node and its Redis servers, in a separate process. It does not read what passes: it also serves TLS.
# The end of a connection arrives after the data that was sent before: a call that its node has given up still reaches Redis, late.
#
#   my $proxy = Verify::Proxy->start(to => ['unix:/…', …], tcp => 0);    # listens on a Unix socket for each, or on a port
#   $proxy->addresses             # where it listens, in the order of `to`
#   $proxy->set('delay', 0.2)     # each piece of data arrives so many seconds later, in both directions
#   $proxy->set('hold')           # nothing passes, not even the end of a connection; also on new connections
#   $proxy->set('refuse')         # connections are closed, also new ones
#   $proxy->set('mute', 0.3)      # Redis gets everything; replies are dropped, and each connection that lost some is
#                                 #   closed after so many seconds
#   $proxy->set('truncate', 7)    # of the next data from Redis on each connection, so many bytes arrive; it is closed
#   $proxy->set('pass')           # everything passes: the state at the start. Data that was held back arrives now
#   $proxy->cut                   # closes all connections
#   my $count = $proxy->affected  # how many pieces of data and connections the last fault has changed
#   my $number = $proxy->accepted # how many connections it has accepted
#   $proxy->pid

use strict;
use warnings;
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use List::Util qw(min uniq);
use TestProcess;
use Verify::Clock qw(now);

sub start {
    my ($class, %options) = @_;
    my $dir = File::Temp->newdir('proxy-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, addresses => [] }, $class;
    my (@listeners, %to);
    for my $to (@{ $options{to} }) {
        my $path = "$dir/proxy" . @listeners . '.sock';
        my $listener = $options{tcp}
            ? IO::Socket::INET->new(Listen => 256, LocalAddr => '127.0.0.1', ReuseAddr => 1)
            : IO::Socket::UNIX->new(Listen => 256, Local => $path);
        push @listeners, $listener // die "proxy: $!\n";
        push @{ $self->{addresses} }, $options{tcp} ? '127.0.0.1:' . $listener->sockport : "unix:$path";
        $to{ fileno $listener } = $to;
    }
    $self->{process} = TestProcess->start('proxy', sub {
        my ($control) = @_;
        @$self{qw(listeners to mode parameter affected accepted links)} = (\@listeners, \%to, 'pass', 0, 0, 0, {});
        $self->_serve($control);
    });
    return $self;
}

sub addresses { @{ $_[0]{addresses} } }
sub set      { my ($self, @mode) = @_; $self->{process}->ask(set => @mode) }
sub cut      { $_[0]{process}->ask('cut') }
sub affected { $_[0]{process}->ask('affected') }
sub accepted { $_[0]{process}->ask('accepted') }
sub pid      { $_[0]{process}->pid }

sub _serve {
    my ($self, $control) = @_;
    local $SIG{PIPE} = 'IGNORE';
    while (1) {
        my $read = IO::Select->new($control, @{ $self->{listeners} }, map { my $link = $_; grep { !$link->{ended}{$_} } @$link{qw(client server)} } $self->_links);
        my ($ready) = IO::Select->select($read, undef, undef, $self->_next_event);
        for my $socket (@{ $ready // [] }) {
            if    ($socket == $control)          { TestProcess::answer($control, sub { $self->_command(@_) }) }
            elsif (!defined fileno $socket)      { next }
            elsif ($self->{to}{ fileno $socket }) { $self->_accept($socket) }
            else                                 { $self->_receive($socket) }
        }
        $self->_deliver;
    }
}

# A link is known by both of its sockets.
sub _links { my ($self) = @_; return uniq(values %{ $self->{links} }) }

sub _next_event {
    my ($self) = @_;
    my @due = map { $_->{close_at} // (), map { $_->[0] } @{ $_->{queue} }[0 .. ($#{ $_->{queue} } < 0 ? -1 : 0)] } $self->_links;
    @due = grep { $_ < 9**99 } @due;
    my $wait = @due ? min(@due) - now() : 1;
    return $wait < 0 ? 0 : $wait;
}

sub _command {
    my ($self, $what, @arguments) = @_;
    return $self->{$what} if $what =~ /^(?:affected|accepted)$/;
    my @links = $self->_links;
    if ($what eq 'cut') {
        $self->{affected} = @links;
        $self->_close($_) for @links;
        return 1;
    }
    $self->{affected} = 0 unless $arguments[0] eq 'pass';
    @$self{qw(mode parameter)} = @arguments;
    if ($self->{mode} eq 'refuse') {
        $self->{affected} = @links;
        $self->_close($_) for @links;
    }
    elsif ($self->{mode} eq 'pass') {
        for my $link (@links) { $_->[0] = 0 for @{ $link->{queue} } }
    }
    return 1;
}

sub _accept {
    my ($self, $listener) = @_;
    my $client = $listener->accept or return;
    $self->{accepted}++;
    my $to = $self->{to}{ fileno $listener };
    my ($path) = $to =~ /^unix:(.*)/;
    my $server = $self->{mode} eq 'refuse' ? undef : $path ? IO::Socket::UNIX->new(Peer => $path) : IO::Socket::INET->new(PeerAddr => $to);
    if (!$server) {
        # A server that has ended is no fault of the proxy.
        $self->{affected}++ if $self->{mode} eq 'refuse';
        return close $client;
    }
    my $link = { client => $client, server => $server, queue => [] };
    $_->blocking(0) for $client, $server;
    $self->{links}{ fileno $_ } = $link for $client, $server;
}

sub _receive {
    my ($self, $socket) = @_;
    my $link = $self->{links}{ fileno $socket } or return;
    my $read = sysread $socket, my $data, 1 << 18;
    return if !defined $read && $!{EAGAIN};
    my $is_reply = $socket == $link->{server};
    my $mode = $self->{mode};
    my $due = 0;
    $due = now() + $self->{parameter} if $mode eq 'delay';
    $due = 9**99 if $mode eq 'hold';
    $self->{affected}++ if $due;
    if (!$read) {
        $link->{ended}{$socket} = 1;
        push @{ $link->{queue} }, [$due, 'end'];
        return;
    }
    if ($mode eq 'mute' && $is_reply) {
        $self->{affected}++;
        $link->{close_at} //= now() + $self->{parameter};
        return;
    }
    if ($mode eq 'truncate' && $is_reply) {
        $self->{affected}++;
        $data = substr $data, 0, $self->{parameter};
        $link->{close_at} = now();
    }
    # Nothing overtakes what was sent before on the same connection.
    push @{ $link->{queue} }, [$due, $is_reply ? 'client' : 'server', $data];
}

sub _deliver {
    my ($self) = @_;
    my $now = now();
    for my $link ($self->_links) {
        my $queue = $link->{queue};
        while (@$queue && $queue->[0][0] <= $now) {
            my (undef, $target, $data) = @{ $queue->[0] };
            if ($target eq 'end') {
                $self->_close($link);
                last;
            }
            my $sent = syswrite $link->{$target}, $data;
            if (!defined $sent) {
                last if $!{EAGAIN} && ($queue->[0][0] = $now + 0.002);
                $self->_close($link);
                last;
            }
            if ($sent < length $data) {
                substr $queue->[0][2], 0, $sent, '';
                last;
            }
            shift @$queue;
        }
        $self->_close($link) if defined $link->{close_at} && $link->{close_at} <= $now;
    }
}

sub _close {
    my ($self, $link) = @_;
    for my $socket (@$link{qw(client server)}) {
        next unless defined fileno $socket;
        delete $self->{links}{ fileno $socket };
        close $socket;
    }
}

1;
