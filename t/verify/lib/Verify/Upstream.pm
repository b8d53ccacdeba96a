package Verify::Upstream;

# The upstream of the nodes, in a separate process. It holds each request as long as its argument `h` says, in
# milliseconds, and answers that it has used `u` units (X-Used; without `u`, it does not say). X-Began is the time when it
# had the header of the request.
#
#   my $upstream = Verify::Upstream->start(part => "$dir/part-upstream");
#   $upstream->directives($node)      # of a location
#   $upstream->pid
#
# Each request is written to the history when it ends: `flight`, with `authorization` if it has this field. It is certainly in flight in the gateway between its
# `begin` and its `end`, which is before the response, or when nginx closes the connection. nginx does that before the
# request ends. All requests come to this one process, which looks for closed connections before each begin: two requests
# overlap here only if they did in the gateway.

use strict;
use warnings;
use File::Temp ();
use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(max min);
use TestProcess;
use Verify::Clock qw(now);
use Verify::History;

sub start {
    my ($class, %options) = @_;
    my $dir = File::Temp->newdir('upstream-XXXXXX', TMPDIR => 1);
    my $path = "$dir/upstream.sock";
    my $listening = IO::Socket::UNIX->new(Local => $path, Listen => 512) or die "$path: $!\n";
    my $process = TestProcess->start('upstream', sub {
        my ($control) = @_;
        my $self = bless { control => $control, listening => $listening, history => Verify::History->append($options{part}), connections => {} }, $class;
        local $SIG{PIPE} = 'IGNORE';
        1 while $self->_turn;
    });
    return bless { dir => $dir, path => $path, process => $process }, $class;
}

sub pid { $_[0]{process}->pid }

sub directives {
    my ($self, $node) = @_;
    my $fields = join ' ', map { "proxy_set_header $_;" } "X-Node $node", 'X-Id $tollgate_key_id', 'X-Verdict $tollgate_verdict';
    return "$fields proxy_pass http://unix:$self->{path};";
}

# False if the run has ended.
sub _turn {
    my ($self) = @_;
    my @all = values %{ $self->{connections} };
    my $due = min(map { $_->{due} // () } @all);
    my @ready = IO::Select->new(@$self{qw(control listening)}, map { $_->{socket} } @all)->can_read(defined $due ? max(0, $due - now()) : undef);
    for my $socket (@ready) {
        return 0 if $socket == $self->{control};
        if ($socket == $self->{listening}) {
            my $new = $socket->accept or next;
            $new->blocking(0);
            $self->{connections}{ fileno $new } = { socket => $new, text => '' };
        }
        elsif (my $connection = $self->{connections}{ fileno($socket) // -1 }) { $self->_read($connection) }
    }
    my $now = now();
    $self->_answer($_) for grep { defined $_->{due} && $_->{due} <= $now } values %{ $self->{connections} };
    return 1;
}

sub _read {
    my ($self, $connection) = @_;
    my $read = sysread $connection->{socket}, $connection->{text}, 4096, length $connection->{text};
    return if !defined $read && ($!{EAGAIN} || $!{EINTR});
    return $self->_end($connection) unless $read;
    return if $connection->{due} || $connection->{text} !~ /\r\n\r\n/;
    my @held = grep { $_->{due} } values %{ $self->{connections} };
    my %held = map { fileno($_->{socket}) => $_ } @held;
    $self->_end($held{ fileno $_ }) for IO::Select->new(map { $_->{socket} } @held)->can_read(0);
    my $text = $connection->{text};
    my ($hold) = $text =~ /^GET [^ ]*\bh=(\d+)/;
    ($connection->{used}) = $text =~ /^GET [^ ]*\bu=(\w+)/;
    $connection->{begin} = now();
    $connection->{due} = $connection->{begin} + ($hold // 0) / 1000;
    $connection->{authorization} = 1 if $text =~ /^Authorization:/mi;
    $connection->{fields} = { map { lc $_ => $text =~ /^X-$_: *(.*?)\r$/m } qw(Node Id Verdict) };
}

sub _answer {
    my ($self, $connection) = @_;
    my $socket = $connection->{socket};
    my $used = defined $connection->{used} ? "X-Used: $connection->{used}\r\n" : '';
    my $began = sprintf '%.4f', $connection->{begin};
    $self->_end($connection);
    syswrite $socket, "HTTP/1.0 200 OK\r\n${used}X-Began: $began\r\nContent-Length: 3\r\n\r\nok\n";
}

sub _end {
    my ($self, $connection) = @_;
    delete $self->{connections}{ fileno $connection->{socket} };
    $self->{history}->write(flight => {
        %{ $connection->{fields} }, authorization => $connection->{authorization}, begin => sprintf('%.6f', $connection->{begin}), end => sprintf('%.6f', now()),
    }) if $connection->{begin};
}

1;
