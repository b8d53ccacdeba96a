package MemoryTrace;

# Traces each access of an nginx with two workers to its shared memory, with valgrind's lackey. The start of nginx takes
# one to two minutes: lackey writes a line for each instruction and access, and there is no way to begin later.
#
#   my $trace = MemoryTrace->start(sub { my (@options) = @_; return Gateways->all($upstream, $redis, @options) });
#   $trace->ask('bare', $address, sub { $keys->draw }, 100, 200);    # one after the other: so many requests of each worker,
#                                                 #   with status 200, recorded as 'bare'; undef: not recorded
#   my $counts = $trace->counts;                  # after all requests
#   $counts->{bare}[0]{written}                   # of each request: lines of 64 bytes of shared memory that it wrote
#   $counts->{bare}[0]{shared}                    # those of them that the other worker accessed in requests of this name
#   $counts->{bare}[0]{locks}                     # calls of ngx_shmtx_lock and ngx_shmtx_trylock
#   $trace->nginx, $trace->stop
#
# The trace does not tell which process an access is from. Therefore one request is under way at a time. It begins where
# nginx calls ngx_http_create_request. It ends after ngx_http_free_request, where nginx makes the connection reusable.
# Timers that expire between requests do not count; those that expire during a request do.

use strict;
use warnings;
use File::Temp ();
use Gateways;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Wait qw(wait_until);

my $binary = $ENV{TOLLGATE_NGINX} // '/usr/sbin/nginx';

sub start {
    my ($class, $start) = @_;
    my $folder = File::Temp->newdir('trace-XXXXXX', TMPDIR => 1);
    my $fifo = "$folder/fifo";
    POSIX::mkfifo($fifo, 0600) or die "mkfifo: $!\n";
    open my $keep_open, '+<', $fifo or die "$fifo: $!\n";    # a reader ends, but the pipe has no end
    my $self = bless { folder => $folder, fifo => $fifo, keep_open => $keep_open, names => [] }, $class;
    my $drain = $self->_reader('/dev/null', 'cat');
    $self->{nginx} = $start->(
        workers  => 2,
        zone     => '16m',
        http     => 'add_header X-Worker $pid always;',
        valgrind => ['--tool=lackey', '--trace-mem=yes', "--log-file=$fifo"],
    );
    $self->_one_connection_each(Gateways->address($self->{nginx}, 'bare'), sub { 'any' }, 200);
    $self->{names} = [];
    wait_until('the trace so far', sub { $self->_unread == 0 });
    kill TERM => $drain;
    waitpid $drain, 0;
    $self->_find_addresses(($self->{nginx}->worker_pids)[0]);
    $self->{reader} = $self->_reader("$folder/lines", 'grep', '--line-buffered', '-E', $self->_pattern);
    return $self;
}

sub nginx { $_[0]{nginx} }

sub ask {
    my ($self, $name, $address, $token, $count, $status) = @_;
    my @sockets = $self->_one_connection_each($address, $token, $status);
    for my $side (0, 1) {
        for (1 .. $count) {
            $self->_request($sockets[$side], $token, $status);
            $self->{names}[-1] = [$name, $side];
        }
    }
}

sub counts {
    my ($self) = @_;
    $self->_read_all;
    my (%requests, %accessed, $request, $number);
    open my $file, '<', "$self->{folder}/lines" or die $!;
    $number = 0;
    while (my $line = <$file>) {
        my ($kind, $address) = $line =~ /^ ?([ILSM]) +([0-9a-f]+),/ or next;
        $address = hex $address;
        if ($kind eq 'I') {
            if ($address == $self->{create_request}) {
                my $of = $self->{names}[$number++];
                $request = $of && defined $of->[0] ? { side => $of->[1], name => $of->[0], locks => 0, lines => {} } : undef;
                push @{ $requests{ $of->[0] } }, $request if $request;
            } elsif ($request && $address == $self->{free_request}) {
                $request->{is_free} = 1;
            } elsif ($request && $address == $self->{reusable}) {
                $request = undef if $request->{is_free};
            } elsif ($request) {
                $request->{locks}++;
            }
            next;
        }
        next unless $request && grep { $address >= $_->[0] && $address < $_->[1] } @{ $self->{shared} };
        my $cache_line = $address >> 6;
        $accessed{ $request->{name} }[$request->{side}]{$cache_line} = 1;
        $request->{lines}{$cache_line} = 1 if $kind ne 'L';
    }
    for my $request (map { @$_ } values %requests) {
        my $others = $accessed{ $request->{name} }[1 - $request->{side}];
        $request->{written} = keys %{ $request->{lines} };
        $request->{shared} = grep { $others->{$_} } keys %{ $request->{lines} };
    }
    return \%requests;
}

sub stop {
    my ($self) = @_;
    $self->_end_reader;
    my $drain = $self->_reader('/dev/null', 'cat');
    $self->{nginx}->stop;
    kill TERM => $drain;
    waitpid $drain, 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->_end_reader;
}

sub _end_reader {
    my ($self) = @_;
    my $pid = delete $self->{reader} or return;
    kill TERM => $pid;
    waitpid $pid, 0;
}

# Starts a program that reads the trace.
sub _reader {
    my ($self, $output, @command) = @_;
    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;
    $ENV{LC_ALL} = 'C';
    open STDIN, '<', $self->{fifo} or POSIX::_exit(127);
    open STDOUT, '>', $output or POSIX::_exit(127);
    exec @command or POSIX::_exit(127);
}

# The shared memory of nginx is not a file, and the workers have it at the same addresses.
sub _find_addresses {
    my ($self, $pid) = @_;
    my $base;
    for my $line (split /\n/, Nginx::_read("/proc/$pid/maps")) {
        my ($from, $to, $flags, $path) = $line =~ /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s*(.*)/ or next;
        push @{ $self->{shared} }, [hex $from, hex $to] if $flags =~ /^rw.s/ && $path =~ m{^/dev/zero};
        $base = hex $from if !defined $base && $path eq $binary;
    }
    die "no shared memory in the maps of $pid\n" unless $self->{shared} && defined $base;
    my %symbol = map { /^([0-9a-f]+) T (\w+)/ ? ($2 => $base + hex $1) : () } `nm -D '$binary'`;
    ($self->{create_request}, $self->{free_request}, $self->{reusable}, @{ $self->{locks} }) =
        map { $symbol{$_} // die "nginx has no symbol $_\n" }
        qw(ngx_http_create_request ngx_http_free_request ngx_reusable_connection ngx_shmtx_lock ngx_shmtx_trylock);
}

# Matches accesses near the shared memory, by the megabyte.
sub _pattern {
    my ($self) = @_;
    my %prefixes;
    for my $range (@{ $self->{shared} }) {
        $prefixes{ substr sprintf('%08x', $_ << 20), 0, -5 } = 1 for $range->[0] >> 20 .. ($range->[1] - 1) >> 20;
    }
    my @instructions = map { sprintf '%08x', $_ } @$self{qw(create_request free_request reusable)}, @{ $self->{locks} };
    return '^I  (' . join('|', @instructions) . '),|^ [LSM] (' . join('|', sort keys %prefixes) . ')[0-9a-f]{5},';
}

# The bytes in the pipe: FIONREAD of ioctl(2).
sub _unread {
    my ($self) = @_;
    my $bytes = pack 'i', 0;
    ioctl $self->{keep_open}, 0x541b, $bytes or die "FIONREAD: $!\n";
    return unpack 'i', $bytes;
}

# Connections to the workers, in the order of their pids.
sub _one_connection_each {
    my ($self, $address, $token, $status) = @_;
    my %socket_of;
    for (1 .. 100) {
        my $socket = IO::Socket::INET->new(PeerAddr => $address) or die "$address: $!\n";
        $socket_of{ $self->_request($socket, $token, $status) } //= $socket;
        return @socket_of{ sort { $a <=> $b } keys %socket_of } if keys %socket_of == 2;
    }
    die "all connections came to one worker\n";
}

# Returns the worker's pid.
sub _request {
    my ($self, $socket, $token, $status) = @_;
    push @{ $self->{names} }, undef;
    $socket->syswrite("GET / HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " . $token->() . "\r\n\r\n");
    my $answer = '';
    until ($answer =~ /^(.*?\r\n\r\n)(.*)/s && length $2 >= ($1 =~ /^Content-Length: (\d+)/mi ? $1 : 0)) {
        die "no answer from nginx\n" unless IO::Select->new($socket)->can_read(300);
        $socket->sysread($answer, 65536, length $answer) or die "nginx closed the connection\n";
    }
    my ($worker) = $answer =~ /^X-Worker: (\d+)/m;
    die "expected status $status: $answer\n" unless $answer =~ m{^HTTP/1\.1 $status } && $worker;
    return $worker;
}

# Waits until the trace of all requests is written.
sub _read_all {
    my ($self) = @_;
    my $count = @{ $self->{names} };
    my $address = sprintf '%08x', $self->{create_request};
    my $found;
    wait_until("the trace of $count requests", sub {
        $found = 0 + `grep -c '^I  $address,' '$self->{folder}/lines'`;
        return $found >= $count;
    }, 60);
    die "the trace has $found requests, not $count\n" if $found != $count;
}

1;
