package BackgroundLoad;

# Load.pm in a separate process, until finish.
#
#   my $load = BackgroundLoad->start(servers => …, connections => 8, token => 'k');    # as Load->run
#   my $load = BackgroundLoad->start(servers => …, keys => \@keys);                    # each key in turn
#   …
#   my $result = $load->finish;                   # of Load->run
#
# finish waits for all requests in flight.

use strict;
use warnings;
use IO::Select;
use JSON::PP ();
use Load;
use POSIX ();

my $test_process = $$;

sub start {
    my ($class, %options) = @_;
    if (my $keys = delete $options{keys}) {
        my @keys = @$keys;
        $options{token} = sub { push @keys, my $key = shift @keys; return $key };
    }
    pipe my $from, my $to or die "pipe: $!\n";
    pipe my $until, my $end or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        close $end;
        my $ended = IO::Select->new($until);
        my $result = eval { Load->run(until => sub { $ended->can_read(0) }, %options) } // { died => $@ };
        syswrite $to, JSON::PP::encode_json($result);
        POSIX::_exit(0);
    }
    close $to;
    return bless { pid => $pid, from => $from, end => $end }, $class;
}

sub finish {
    my ($self) = @_;
    close $self->{end};
    local $/;
    my $from = $self->{from};
    my $text = <$from>;
    waitpid delete $self->{pid}, 0;
    die "load: its process ended with wait status $?\n" unless length($text // '');
    my $result = JSON::PP::decode_json($text);
    die $result->{died} if $result->{died};
    return $result;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    return unless $$ == $test_process && $self->{pid};
    kill KILL => $self->{pid};
    waitpid $self->{pid}, 0;
}

1;
