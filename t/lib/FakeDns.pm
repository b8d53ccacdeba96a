package FakeDns;

# A name server on a UDP port of 127.0.0.1, in a separate process. A test changes its answers.
#
#   my $dns = FakeDns->start(names => { 'redis.test' => ['127.0.0.1', '::1'] }, ttl => 1);
#   my $dns = FakeDns->reserve;                 # a port where no server answers yet; $dns->serve(names => …) starts it
#   $dns->address                               # "127.0.0.1:PORT", for `resolver`
#   $dns->names('redis.test' => ['127.0.0.2'])  # the addresses of these names from now on; others do not change
#   $dns->fail('SERVFAIL')                      # or NXDOMAIN, REFUSED, silence: the answer to every query from now on
#   $dns->heal                                  # answers again
#   $dns->queries                               # the number of queries for A records since the last time this was asked
#   $dns->queries('times')                      # the times of these queries, by CLOCK_MONOTONIC, instead
#
# Names without an entry are NXDOMAIN. An IPv4 address is an A record, an IPv6 address is an AAAA record.

use strict;
use warnings;
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use Socket qw(AF_INET AF_INET6 inet_pton);
use TestProcess;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Wait qw(free_port);

my %codes = (SERVFAIL => 2, NXDOMAIN => 3, REFUSED => 5);
my %types = (A => 1, AAAA => 28);

sub start {
    my ($class, %options) = @_;
    return $class->reserve->serve(%options);
}

sub reserve { return bless { port => free_port() }, $_[0] }

sub serve {
    my ($self, %options) = @_;
    my $socket = IO::Socket::INET->new(Proto => 'udp', LocalAddr => '127.0.0.1', LocalPort => $self->{port}) or die "udp: $!\n";
    my $server = bless {
        socket  => $socket,
        names   => $options{names} // {},
        ttl     => $options{ttl} // 1,
        failure => $options{fail},
        times   => [],
    }, ref $self;
    $self->{process} = TestProcess->start('fake name server', sub { $server->_serve($_[0]) });
    return $self;
}

sub address { "127.0.0.1:$_[0]{port}" }
sub fail    { $_[0]{process}->ask('fail', $_[1]) }
sub heal    { $_[0]{process}->ask('fail', undef) }

sub names {
    my ($self, %names) = @_;
    return $self->{process}->ask('names', \%names);
}

sub queries {
    my ($self, $wants_times) = @_;
    my $times = $self->{process}->ask('queries');
    return $wants_times ? @$times : scalar @$times;
}

# --- in the other process -------------------------------------------------------------------------------------------

sub _serve {
    my ($self, $control) = @_;
    my $select = IO::Select->new($control, $self->{socket});
    while (1) {
        for my $ready ($select->can_read) {
            if ($ready == $control) {
                TestProcess::answer($control, sub { $self->_obey(@_) });
            } elsif (my $sender = $self->{socket}->recv(my $query, 4096)) {
                my $answer = $self->_answer($query);
                $self->{socket}->send($answer, 0, $sender) if defined $answer;
            }
        }
    }
}

sub _obey {
    my ($self, $what, $argument) = @_;
    if ($what eq 'fail') {
        die "no failure $argument\n" if defined $argument && $argument ne 'silence' && !$codes{$argument};
        $self->{failure} = $argument;
    } elsif ($what eq 'names') {
        %{ $self->{names} } = (%{ $self->{names} }, %$argument);
    } else {
        my $times = $self->{times};
        $self->{times} = [];
        return $times;
    }
    return undef;
}

# RFC 1035: a header of 12 bytes; the name as labels, each after its length; type and class.
sub _answer {
    my ($self, $query) = @_;
    my ($id) = unpack 'n', $query;
    my ($labels, $type) = substr($query, 12) =~ /\A((?:[\x01-\x3f][^\x00]*?)*\x00)(..)/s or return undef;
    $type = unpack 'n', $type;
    push @{ $self->{times} }, clock_gettime(CLOCK_MONOTONIC) if $type == $types{A};
    my $failure = $self->{failure} // '';
    return undef if $failure eq 'silence';
    my $name = lc join '.', unpack '(C/a)*', substr($labels, 0, -1);
    my $addresses = $self->{names}{$name};
    my $code = $failure ? $codes{$failure} : $addresses ? 0 : $codes{NXDOMAIN};
    my @records;
    if (!$code) {
        @records = grep { defined } map {
            $type == $types{A} && !/:/ ? inet_pton(AF_INET, $_) : $type == $types{AAAA} && /:/ ? inet_pton(AF_INET6, $_) : undef
        } @$addresses;
    }
    # Each record refers to the name at offset 12.
    return pack('n6', $id, 0x8180 | $code, 1, scalar @records, 0, 0) . $labels . pack('n2', $type, 1) .
        join '', map { pack 'n n n N n/a', 0xc00c, $type, 1, $self->{ttl}, $_ } @records;
}

1;
