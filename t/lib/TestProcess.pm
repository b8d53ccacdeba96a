package TestProcess;

# A Perl function in a separate process, which ends when the object is destroyed.
#
#   my $process = TestProcess->start('fake Redis', sub { my ($control) = @_; … });
#   $process->ask('fault', $name)     # sends a question to the process, waits, and returns the answer
#   $process->pid
#
# In the process, $control is readable when there is a question:
#
#   TestProcess::answer($control, sub { my ($what, @arguments) = @_; …; return $answer });
#
# Questions and answers are scalars, arrays and hashes. The name is for messages.

use strict;
use warnings;
use IO::Select ();
use JSON::PP   ();
use POSIX      ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);
use Wait qw(wait_until);

my $test_process = $$;

sub start {
    my ($class, $name, $function) = @_;
    socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "socketpair: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        close $ours;
        eval { $function->($theirs) };
        warn "$name: $@" if $@;
        POSIX::_exit(0);
    }
    close $theirs;
    $ours->autoflush(1);
    return bless { name => $name, pid => $pid, control => $ours }, $class;
}

sub pid { $_[0]{pid} }

sub ask {
    my ($self, @question) = @_;
    my $control = $self->{control};
    local $SIG{PIPE} = 'IGNORE';
    print $control JSON::PP::encode_json(\@question), "\n";
    my $answers = IO::Select->new($control);
    wait_until("$self->{name} to answer", sub { $answers->can_read(0.02) }, 120);
    my $answer = <$control> // die "$self->{name}: its process has ended\n";
    return JSON::PP::decode_json($answer)->[0];
}

sub answer {
    my ($control, $function) = @_;
    my $question = <$control> // die "the test has ended\n";
    my $answer = $function->(@{ JSON::PP::decode_json($question) });
    syswrite $control, JSON::PP::encode_json([$answer]) . "\n";
}

# Kills the process. In another process of the test, the object is only a copy.
sub DESTROY {
    my ($self) = @_;
    return unless $$ == $test_process;
    local ($?, $@, $!);
    kill KILL => $self->{pid};
    waitpid $self->{pid}, 0;
}

1;
