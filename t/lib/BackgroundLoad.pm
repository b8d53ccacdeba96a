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
use Load;
use TestProcess;

sub start {
    my ($class, %options) = @_;
    if (my $keys = delete $options{keys}) {
        my @keys = @$keys;
        $options{token} = sub { push @keys, my $key = shift @keys; return $key };
    }
    my $process = TestProcess->start('load', sub {
        my ($control) = @_;
        my $question = IO::Select->new($control);
        my $result = eval { Load->run(until => sub { $question->can_read(0) }, %options) } // { died => $@ };
        TestProcess::answer($control, sub { $result });
    });
    return bless { process => $process }, $class;
}

sub finish {
    my ($self) = @_;
    my $result = delete($self->{process})->ask('finish');
    die $result->{died} if $result->{died};
    return $result;
}

1;
