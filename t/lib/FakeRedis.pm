package FakeRedis;

# A proxy between a gateway and a Redis, in a separate process. It injects the faults that a test selects.
#
#   my $fake = FakeRedis->start(
#       redis  => $redis->address,              # the server; without it each command is answered +OK
#       faults => {
#           no_memory => { answer => sub { name_of($_[0]) eq 'acquire' ? "-OOM command not allowed\r\n" : undef } },
#           truncated => { reply  => sub { my ($bytes, $command) = @_; (substr($bytes, 0, 9), $CLOSE) } },
#           refusing  => { greet  => sub { ("-ERR max number of clients reached\r\n", $CLOSE) } },
#       },
#   );
#   $fake->address                              # "unix:…", for tollgate_redis
#   $fake->fault('no_memory'); $fake->heal      # for every connection, from the next command or reply on
#   $fake->inject("+stray\r\n")                 # sends these bytes now, on every connection
#   $fake->cut                                  # closes every connection
#   $fake->refuse_writes                        # from now on, the gateway's writes to its open connections fail with EPIPE;
#                                               #   until it writes, it gets no event
#   $fake->connections                          # the number of connections
#   $fake->reads                                # the names of the commands that came in each read since the last
#                                               #   time this was asked: [['probe', 'lookup'], ['acquire'], …]
#   name_of($command)                           # 'lookup', 'acquire', 'probe', 'plans', 'nodes', 'changes' or 'used' of a
#                                               #   call of the gateway's scripts, with EVALSHA or EVAL; of any other command its
#                                               #   first word
#   token_of($command)                          # the token that the reply to such a call must start with
#
# `answer` gets each command (an array) before Redis does. What it returns is the reply; Redis then does not get the
# command. `reply` gets the bytes of each reply, and the command, and returns what to send: any number of strings, each
# in a separate write; pause(SECONDS) between them; $CLOSE. `greet` returns what a new connection gets. They run in the
# other process: their changes are not visible here. Published messages pass unchanged. Without `reply`, the replies to
# commands that arrived together are sent together, as Redis does.

use strict;
use warnings;
use Exporter 'import';
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use TestProcess;
use Time::HiRes qw(time);

our @EXPORT_OK = qw($CLOSE name_of pause token_of);
our $CLOSE = \'close';

sub pause { return [$_[0]] }

sub name_of {
    my ($command) = @_;
    return $command->[0] if $command->[0] !~ /^EVAL/;
    return $1 if $command->[3] =~ /:(probe|plans|nodes|changes)\z/;
    return 'used' if $command->[3] =~ /:used:\{/;
    return $command->[3] =~ /key:[0-9a-f]{64}\z/ ? 'lookup' : 'acquire';
}

sub token_of { my ($command) = @_; return $command->[3 + $command->[2]] }

sub start {
    my ($class, %options) = @_;
    my $dir = File::Temp->newdir('fake-redis-XXXXXX', TMPDIR => 1);
    my $listener = IO::Socket::UNIX->new(Local => "$dir/redis.sock", Listen => 128) or die "listen: $!\n";
    my $server = bless {
        listener => $listener,
        redis    => $options{redis},
        faults   => $options{faults} // {},
        fault    => {},
        links    => {},
        reads    => [],
    }, $class;
    return bless { dir => $dir, process => TestProcess->start('fake Redis', sub { $server->_serve($_[0]) }) }, $class;
}

sub address     { "unix:$_[0]{dir}/redis.sock" }
sub fault       { $_[0]{process}->ask('fault', $_[1]) }
sub heal        { $_[0]{process}->ask('fault', undef) }
sub inject      { $_[0]{process}->ask('inject', unpack 'H*', $_[1]) }
sub cut         { $_[0]{process}->ask('cut') }
sub refuse_writes { $_[0]{process}->ask('refuse_writes') }
sub connections { $_[0]{process}->ask('connections') }
sub reads       { $_[0]{process}->ask('reads') }

# --- in the other process; a link is a connection of the gateway and its connection to Redis ------------------------

sub _serve {
    my ($self, $control) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $select = $self->{select} = IO::Select->new($control, $self->{listener});
    while (1) {
        my @due = map { $_->{due} } grep { $_->{due} } $self->_links;
        my ($next) = sort { $a <=> $b } @due;
        my $wait = defined $next ? $next - time : undef;
        for my $socket ($select->can_read(defined $wait && $wait < 0 ? 0 : $wait)) {
            if    ($socket == $control)          { TestProcess::answer($control, sub { $self->_obey(@_) }) }
            elsif ($socket == $self->{listener}) { $self->_accept }
            elsif (my $link = $self->{links}{ fileno($socket) // -1 }) { $self->_read($link, $socket) }
        }
        $self->_write($_) for $self->_links;
    }
}

sub _links {
    my ($self) = @_;
    my %links = map { $_ => $_ } values %{ $self->{links} };
    return values %links;
}

sub _obey {
    my ($self, $what, $argument) = @_;
    if ($what eq 'fault') {
        $self->{fault} = defined $argument ? $self->{faults}{$argument} // die "no fault $argument\n" : {};
    } elsif ($what eq 'inject') {
        push @{ $_->{out} }, pack 'H*', $argument for $self->_links;
    } elsif ($what eq 'cut') {
        $self->_drop($_) for $self->_links;
    } elsif ($what eq 'refuse_writes') {
        for my $gateway (map { $_->{gateway} } $self->_links) {
            $self->{select}->remove($gateway);    # After shutdown it is readable, as if the gateway had closed it.
            shutdown $gateway, 0;
        }
    } elsif ($what eq 'connections') {
        return scalar $self->_links;
    } elsif ($what eq 'reads') {
        my $reads = $self->{reads};
        $self->{reads} = [];
        return $reads;
    }
    return undef;
}

sub _accept {
    my ($self) = @_;
    my $gateway = $self->{listener}->accept or return;
    my $redis = $self->{redis} && _connect($self->{redis});
    return if $self->{redis} && !$redis;
    my $greet = $self->{fault}{greet};
    my $link = { gateway => $gateway, redis => $redis, in => '', replies => '', queue => [], out => [$greet ? $greet->() : ()] };
    for my $socket (grep { $_ } $gateway, $redis) {
        $self->{links}{ fileno $socket } = $link;
        $self->{select}->add($socket);
    }
}

sub _connect {
    my ($address) = @_;
    return $address =~ /^unix:(.*)/ ? IO::Socket::UNIX->new(Peer => $1) : IO::Socket::INET->new(PeerAddr => $address);
}

sub _drop {
    my ($self, $link) = @_;
    for my $socket (grep { $_ } @$link{qw(gateway redis)}) {
        delete $self->{links}{ fileno $socket };
        $self->{select}->remove($socket);
        close $socket;
    }
}

sub _read {
    my ($self, $link, $socket) = @_;
    my $from_gateway = $socket == $link->{gateway};
    my $buffer = $from_gateway ? \$link->{in} : \$link->{replies};
    return $self->_drop($link) unless sysread $socket, $$buffer, 1 << 20, length $$buffer;
    if ($from_gateway) {
        my @commands;
        while (defined(my $bytes = _take_value($buffer))) {
            push @commands, [$bytes, [$bytes =~ /\$\d+\r\n(.*?)\r\n(?=\$|\z)/sg]];
        }
        push @{ $self->{reads} }, [map { name_of($_->[1]) } @commands] if @commands;
        my $forwarded = join '', map { $self->_forward($link, @$_) } @commands;
        syswrite $link->{redis}, $forwarded if length $forwarded;
    } else {
        while (defined(my $bytes = _take_value($buffer))) {
            if ($bytes =~ /\A\*3\r\n\$7\r\nmessage\r\n/) {
                push @{ $link->{out} }, $bytes;
                next;
            }
            my ($waiting) = grep { !defined $_->{reply} } @{ $link->{queue} };
            $waiting->{reply} = $bytes;
        }
    }
    my $spoil = $self->{fault}{reply};
    my @replies;
    while (@{ $link->{queue} } && defined $link->{queue}[0]{reply}) {
        my $entry = shift @{ $link->{queue} };
        push @replies, $spoil ? $spoil->(@$entry{qw(reply command)}) : $entry->{reply};
    }
    push @{ $link->{out} }, $spoil ? @replies : join '', @replies;
}

# Returns the bytes that Redis gets for this command, or nothing if a fault answers it.
sub _forward {
    my ($self, $link, $bytes, $command) = @_;
    my $answer = $self->{fault}{answer};
    my $reply = $answer ? $answer->($command) : undef;
    $reply //= "+OK\r\n" unless $link->{redis};
    push @{ $link->{queue} }, { command => $command, reply => $reply };
    return defined $reply ? '' : $bytes;
}

# Removes a complete RESP value from the start of the buffer and returns its bytes; undef if there is none yet.
sub _take_value {
    my ($buffer) = @_;
    my ($open, $at) = (1, 0);
    while ($open--) {
        pos($$buffer) = $at;
        $$buffer =~ /\G([-+:\$*])([^\r]*)\r\n/gc or return undef;
        $at = pos $$buffer;
        $open += $2 if $1 eq '*' && $2 > 0;
        $at += $2 + 2 if $1 eq '$' && $2 >= 0;
        return undef if $at > length $$buffer;
    }
    return substr $$buffer, 0, $at, '';
}

sub _write {
    my ($self, $link) = @_;
    return if $link->{due} && $link->{due} > time;
    delete $link->{due};
    while (defined(my $item = shift @{ $link->{out} })) {
        return $self->_drop($link) if ref $item eq 'SCALAR';
        if (ref $item) {
            $link->{due} = time + $item->[0];
            return;
        }
        my $sent = 0;
        while ($sent < length $item) {
            my $n = syswrite $link->{gateway}, $item, length($item) - $sent, $sent;
            return $self->_drop($link) unless defined $n;
            $sent += $n;
        }
    }
}

1;
