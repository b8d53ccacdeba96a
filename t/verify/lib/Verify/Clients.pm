package Verify::Clients;

# Clients of the nodes, in a separate process. Each lane is one client: it has one request under way at a time, over a
# kept-alive connection to each node. Every request is written to the history when it ends.
#
#   my $clients = Verify::Clients->start(name => 'c1', part => "$dir/part-c1", seed => $text, nodes => [@addresses], lanes => [
#       { id => 'hot1', token => '…', locations => ['a', 'b'], costs => [1, 3], gap => 0.05 },     # mean pause in seconds
#       { id => 'solo1', …, obeys => 1 },        # waits as long as Retry-After says
#       { id => 'rush1', …, stays => 3 },        # all its requests go to one node, another one after so many seconds
#       { id => 'lead1', …, stays => 8, beside => 1 },       # they go to the node after the one where other lanes stay
#       { id => 'beat1', …, beat => 0.4 },       # one request each 0.4 s, at the same time as other lanes with this beat
#       { keys => [['id1', '…'], …], node => 2, … },      # each key in turn, at this node
#       { sends => 'unknown', … },               # another token each time, which no key has; its id is "-". Or 'nothing'; or
#                                                #   'wrong': its checksum is, so that no node looks it up
#       { …, address => '192.0.2.1' },           # of the client. One that ends with "::" is a network: each request has another
#                                                #   address of it
#       { …, holds => [0, 0.3] },                # Verify::Upstream holds the requests so many seconds
#       { …, uses => [0, 10, ''] },              # what they have used in the end; '': the upstream does not say
#       { …, values => ['u1', ''] },             # the argument `v`: of tables with by=$arg_v
#       { …, leaves => 0.1 },                    # the share of requests whose client leaves before the answer
#       { …, streams => 1 },                     # `pause` does not wait for the answer: the client leaves
#   ]);
#   $clients->pause        # waits until no request is under way
#   $clients->resume
#   $clients->pid
#
#   my $record = Verify::Clients::ask($node, $server, { id => …, loc => …, cost => 1 }, $token);            # one request, blocking
#   my $asked = Verify::Clients::begin($node, $server, { id => …, loc => …, cost => 1 }, $token, $hold);    # several at a
#   Verify::Clients::finish($asked)                                                 #   time: the record of each
#   $history->write(Verify::Clients::written(client => 'probe', %$record))          # as a request, or as a connection that
#                                                                                   #   the node has refused

use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(max min);
use TestProcess;
use Verify::Clock qw(now);
use Verify::History;
use Verify::Random;

# A request that has no answer by then is given up: it may have been counted.
my $patience = 15;

my %field_of = (
    'x-ratelimit-limit' => 'limit', 'x-ratelimit-remaining' => 'remaining', 'x-ratelimit-reset' => 'reset',
    'ratelimit' => 'rl', 'retry-after' => 'retry', 'x-verdict' => 'verdict', 'x-began' => 'by',
);

sub start {
    my ($class, %options) = @_;
    my $process = TestProcess->start('clients', sub {
        my ($control) = @_;
        my $self = bless { %options, control => $control, running => 0, number => 0 }, $class;
        $self->{history} = Verify::History->append($options{part});
        $self->{random} = Verify::Random->new($options{seed});
        local $SIG{PIPE} = 'IGNORE';
        $_->{next} = now() + $self->{random}->real(0, $_->{gap}) for @{ $self->{lanes} };
        $self->_turn while 1;
    });
    return bless { process => $process }, $class;
}

sub pause  { $_[0]{process}->ask('pause') }
sub resume { $_[0]{process}->ask('resume') }
sub pid    { $_[0]{process}->pid }

sub _turn {
    my ($self) = @_;
    my $now = now();
    my @lanes = @{ $self->{lanes} };
    if ($self->{running}) {
        for my $lane (@lanes) { $self->_send($lane) if !$lane->{waits} && $lane->{next} <= $now }
    }
    my @waiting = grep { $_->{waits} } @lanes;
    my $due = min(map { $_->{waits} ? $_->{leaves_at} : $_->{next} } @lanes);
    my $timeout = $self->{running} || @waiting ? max(0, min($due - now(), 0.5)) : 0.5;
    my $select = IO::Select->new($self->{control} // (), map { $_->{waits} } @waiting);
    my %ready = map { fileno($_) => 1 } $select->can_read($timeout);
    for my $lane (@waiting) {
        if    ($ready{ fileno $lane->{waits} })           { $self->_receive($lane) }
        elsif (now() > $lane->{leaves_at})                { $self->_end($lane, { unanswered => $lane->{is_patient} ? 'late' : 'left' }) }
    }
    return unless $self->{control} && $ready{ fileno $self->{control} };
    TestProcess::answer($self->{control}, sub {
        my ($what) = @_;
        $self->{running} = $what eq 'resume';
        if (!$self->{running}) {
            $self->_end($_, { unanswered => 'left' }) for grep { $_->{waits} && $_->{streams} } @lanes;
            local $self->{control};    # nothing else is asked meanwhile
            $self->_turn while grep { $_->{waits} } @lanes;
        }
        my $now = now();
        $_->{next} = max($_->{next}, $now) for @lanes;
        return 1;
    });
}

sub _send {
    my ($self, $lane) = @_;
    my $random = $self->{random};
    if (my $keys = $lane->{keys}) { @$lane{qw(id token)} = @{ $keys->[ $lane->{turn}++ % @$keys ] } }
    my $node =
          defined $lane->{node} ? $lane->{node}
        : $lane->{stays}        ? (int(now() / $lane->{stays}) + ($lane->{beside} // 0)) % @{ $self->{nodes} }
        :                         $random->whole(0, $#{ $self->{nodes} });
    $lane->{record} = {
        client => $self->{name}, n => ++$self->{number}, node => $node, id => $lane->{id} // '-',
        loc => $random->one_of(@{ $lane->{locations} }), cost => $random->one_of(@{ $lane->{costs} // [1] }),
        sends => $lane->{sends}, address => $lane->{address},
    };
    my $used = $lane->{uses} ? $random->one_of(@{ $lane->{uses} }) : '';
    $lane->{record}{used} = $used if length $used;
    $lane->{record}{value} = $random->one_of(@{ $lane->{values} }) if $lane->{values};
    my $hold = $lane->{holds} ? $random->real(@{ $lane->{holds} }) : 0;
    $lane->{record}{hold} = sprintf '%.3f', $hold if $hold;
    my $text = _format($lane->{record}, $self->_token($lane), $random->whole(1, 0xffff), $hold);
    my $socket = $lane->{sockets}[$node];
    # A connection that nginx has closed meanwhile is readable.
    if ($socket && IO::Select->new($socket)->can_read(0)) { close $socket; undef $socket }
    $socket //= IO::Socket::UNIX->new(Peer => $self->{nodes}[$node] =~ s/^unix://r);
    if (!$socket) {    # the node is down
        $self->{history}->write(written(node => $node, begin => sprintf('%.4f', now()), unanswered => 'refused'));
        $lane->{sockets}[$node] = undef;
        $lane->{next} = now() + 0.1;
        return;
    }
    $socket->blocking(0);
    $lane->{sockets}[$node] = $lane->{waits} = $socket;
    @$lane{qw(begin buffer)} = (now(), '');
    $lane->{is_patient} = !($lane->{leaves} && $random->chance($lane->{leaves}));
    $lane->{leaves_at} = $lane->{begin} + ($lane->{is_patient} ? $patience : $random->real(0, $hold));
    syswrite($socket, $text) // $self->_end($lane, { unanswered => 'closed' });
}

sub _token {
    my ($self, $lane) = @_;
    my $sends = $lane->{sends} or return $lane->{token};
    my $number = sprintf '%08x', $self->{random}->whole(0, 2**32 - 1);
    return $sends eq 'nothing' ? undef : $sends eq 'wrong' ? 'tg_' . $number x 4 . 'aaaaaa' : "unknown-$number";
}

# `host` is the part of an address that its network does not determine.
sub _format {
    my ($record, $token, $host, $hold) = @_;
    my $address = $record->{address} // '';
    $address .= sprintf '%x', $host if $address =~ /::$/;
    my $arguments = "c=$record->{cost}" . (defined $record->{used} ? "&u=$record->{used}" : '') . (defined $record->{value} ? "&v=$record->{value}" : '') . ($hold ? '&h=' . int(1000 * $hold) : '');
    return join "\r\n", "GET /$record->{loc}?$arguments HTTP/1.1", 'Host: verify', defined $token ? "Authorization: Bearer $token" : (),
        length $address ? "X-Forwarded-For: $address" : (), '', '';
}

sub _receive {
    my ($self, $lane) = @_;
    my $read = sysread $lane->{waits}, $lane->{buffer}, 65536, length $lane->{buffer};
    return if !defined $read && ($!{EAGAIN} || $!{EINTR});
    return $self->_end($lane, { unanswered => 'closed' }) unless $read;
    my $answer = _parse(\$lane->{buffer}) or return;
    $self->_end($lane, $answer);
}

# The fields of a complete response, otherwise undef.
sub _parse {
    my ($buffer) = @_;
    my ($head) = $$buffer =~ /^(.*?\r\n\r\n)/s or return;
    my %answer;
    ($answer{status}) = $head =~ m{^HTTP/1\.1 (\d+)} or return;
    my $length = 0;
    while ($head =~ /^([\w-]+): *(.*?)\r$/mg) {
        my $name = lc $1;
        $length = $2 if $name eq 'content-length';
        $answer{close} = 1 if $name eq 'connection' && lc $2 eq 'close';
        $answer{ $field_of{$name} } = $2 if $field_of{$name};
    }
    return if length($$buffer) < length($head) + $length;
    ($answer{code}) = substr($$buffer, length $head) =~ /"code": *"(\w+)"/ if $answer{status} >= 400;
    return \%answer;
}

sub _end {
    my ($self, $lane, $answer) = @_;
    my $end = now();
    my $node = $lane->{record}{node};
    if (!$answer->{status} || delete $answer->{close}) {
        close $lane->{waits};
        $lane->{sockets}[$node] = undef;
    }
    delete $lane->{waits};
    $self->{history}->write(req => {
        %{ $lane->{record} }, begin => sprintf('%.4f', $lane->{begin}), end => sprintf('%.4f', $end), status => 0, %$answer,
    });
    if (my $beat = $lane->{beat}) { $lane->{next} = $beat * (1 + int($end / $beat)); return }
    my $gap = $self->{random}->gap($lane->{gap});
    # A lane that sends bursts sends some requests at once, then waits.
    $gap = $self->{random}->chance(1 / $lane->{burst}) ? $gap * $lane->{burst} : 0 if $lane->{burst};
    $gap = $answer->{retry} + 0.001 if $lane->{obeys} && ($answer->{status} // 0) == 429 && $answer->{retry};
    $lane->{next} = $end + $gap;
}

sub written {
    my (%record) = @_;
    return ($record{unanswered} // '') eq 'refused' ? (refused => { node => $record{node}, at => $record{begin} }) : (req => \%record);
}

sub ask {
    return finish(begin(@_));
}

sub begin {
    my ($node, $server, $record, $token, $hold) = @_;
    $record = { %$record, node => $node, begin => sprintf('%.4f', now()), status => 0, $hold ? (hold => $hold) : () };
    my $socket = IO::Socket::UNIX->new(Peer => $server =~ s/^unix://r);
    local $SIG{PIPE} = 'IGNORE';
    $record->{unanswered} = $socket ? 'closed' : 'refused';
    return { record => $record, socket => $socket && syswrite($socket, _format($record, $token, undef, $hold)) ? $socket : undef };
}

sub finish {
    my ($asked) = @_;
    my $socket = $asked->{socket};
    my $buffer = '';
    my $answer;
    my %record = %{ $asked->{record} };
    while ($socket) {
        if (!IO::Select->new($socket)->can_read($patience)) { $record{unanswered} = 'late'; last }
        sysread($socket, $buffer, 65536, length $buffer) or last;
        $answer = _parse(\$buffer) and last;
    }
    delete $record{unanswered} if $answer;
    delete $answer->{close} if $answer;
    return { %record, %{ $answer // {} }, end => sprintf('%.4f', now()) };
}

1;
