package Callgrind;

# Counts the instructions of one nginx process with valgrind's callgrind. nginx calls ngx_reopen_files at USR1;
# callgrind writes its counts to a file there, and starts again at zero. Therefore the start of nginx and the warm-up do
# not count.
#
#   my $callgrind = Callgrind->new(Gateways->bare($upstream, Callgrind->options));
#   my $count = $callgrind->measure($address, $keys, 2000, 200);      # so many requests, each with status 200; options:
#                                                 #   connections, token (see Load.pm)
#   $count->{instructions}, $count->{locks}       # per request; locks: calls of ngx_shmtx_lock and
#                                                 #   ngx_shmtx_trylock
#   $count->{seconds}                             # how long the requests took
#   $count->{functions}                           # name => its own instructions per request
#
# valgrind does not show instructions of the processor for SHA-256: the module takes the slower way.

use strict;
use warnings;
use Load;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $connections = 50;

sub options {
    my @valgrind = ('--tool=callgrind', '--callgrind-out-file=%DIR%/callgrind', '--dump-before=ngx_reopen_files');
    return (workers => 1, valgrind => \@valgrind);
}

sub new {
    my ($class, $nginx) = @_;
    return bless { nginx => $nginx, dumps => 0 }, $class;
}

sub nginx { $_[0]{nginx} }

# The order of the keys is the same each time.
sub ask {
    my ($class, $address, $keys, $requests, $status, %options) = @_;
    srand 1;
    my $result = Load->run(
        servers     => [$address],
        connections => $options{connections} // $connections,
        requests    => $requests,
        token       => $options{token} // ($keys->count == 1 ? $keys->token(0) : sub { $keys->draw }),
    );
    my $good = $result->{status}{$status} // 0;
    die "$address: $good of $requests answers have status $status\n" if $good != $requests;
}

sub measure {
    my ($self, $address, $keys, $requests, $status, %options) = @_;
    $self->_dump;
    my $start = time;
    $self->ask($address, $keys, $requests, $status, %options);
    my $seconds = time - $start;
    my $file = $self->_dump;
    my $count = _read($file);
    return {
        seconds      => $seconds,
        requests     => $requests,
        instructions => $count->{instructions} / $requests,
        locks        => $count->{locks} / $requests,
        functions    => { map { $_ => $count->{functions}{$_} / $requests } keys %{ $count->{functions} } },
    };
}

sub _dump {
    my ($self) = @_;
    my $file = $self->{nginx}->dir . '/callgrind.' . ++$self->{dumps};
    kill USR1 => $self->{nginx}->pid;
    wait_until("$file", sub { -e $file && Nginx::_read($file) =~ /^totals: \d+$/m }, 120);
    return $file;
}

# The file gives a name once, with a number that stands for it later: "cfn=(12) ngx_shmtx_lock". The line after "calls="
# has what the callee spends, which is not the function's own.
sub _read {
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    my %count = (instructions => 0, locks => 0, functions => {});
    my (%name, $object, $function, $is_lock, $is_of_callee);
    while (my $line = <$file>) {
        if ($line =~ /^(c?)(fn|ob)=(\(\d+\))(?: (.*))?/) {
            my ($is_callee, $kind, $number, $name) = ($1, $2, $3, $4);
            $name{$kind}{$number} = $name if defined $name;
            $name = $name{$kind}{$number};
            if ($is_callee) {
                $is_lock = $name =~ /^ngx_shmtx_(?:try)?lock$/ if $kind eq 'fn';
            } elsif ($kind eq 'ob') {
                $object = $name =~ s{.*/}{}r;
            } else {
                $function = "$name [$object]";
            }
        } elsif ($line =~ /^calls=(\d+)/) {
            $count{locks} += $1 if $is_lock;
            $is_of_callee = 1;
        } elsif ($line =~ /^[-+*\d]\S* (\d+)$/) {
            $count{functions}{$function} += $1 unless $is_of_callee;
            $is_of_callee = 0;
        } elsif ($line =~ /^totals: (\d+)/) {
            $count{instructions} = $1;
        }
    }
    return \%count;
}

1;
