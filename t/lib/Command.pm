package Command;

# Runs the tollgate command of the build directory and returns its output.
#
#   my $tollgate = Command->new(redis => 'unix:/…', prefix => 't:');     # in the environment of the command
#   my $configured = Command->new(configuration => $dir);                # $dir/tollgate/tollgate.conf is the user's file
#   my $result = $tollgate->run('key', 'issue', '--plan', 'free');       # list of arguments, no shell
#   my $result = $tollgate->run({ stdin => "token\n" }, 'key', 'import', …);
#   my $result = $tollgate->run({ closed => [1] }, 'key', 'list');         # without these descriptors
#   $result->{status}, $result->{out}, $result->{err}                    # exit status; -1 and $result->{signal} if killed
#   my $data = $tollgate->json('key', 'list');                           # what --json prints, decoded; dies on failure
#   my @results = $tollgate->run_at_once([@arguments], [@arguments] …);  # in parallel
#   my @lines = $tollgate->shell($text);                                 # what commands of a page print; dies on failure
#   my $started = $tollgate->start(@arguments); $started->{pid}          # keeps running; the caller ends it and waits
#
# Environment: TOLLGATE_BUILD, the build directory (build).

use strict;
use warnings;
use Cwd            ();
use File::Basename ();
use File::Temp     ();
use JSON::PP       ();
use POSIX          ();

my $root = Cwd::abs_path(File::Basename::dirname(__FILE__) . '/../..');
my $binary = ($ENV{TOLLGATE_BUILD} // "$root/build") . '/tollgate';

sub new {
    my ($class, %options) = @_;
    return bless {%options}, $class;
}

sub run {
    my ($self, @arguments) = @_;
    return _finish($self->start(@arguments));
}

sub shell {
    my ($self, $text) = @_;
    my $folder = File::Temp->newdir('command-XXXXXX', TMPDIR => 1);
    symlink Cwd::abs_path($binary), "$folder/tollgate" or die "symlink: $!\n";
    local $ENV{PATH} = "$folder:$ENV{PATH}";
    delete local @ENV{qw(TOLLGATE_REDIS TOLLGATE_PREFIX XDG_CONFIG_HOME)};
    $self->_set_environment;
    open my $shell, '-|', 'bash', '-euc', $text or die "bash: $!\n";
    chomp(my @lines = <$shell>);
    close $shell or die "exit status $? of:\n$text";
    return @lines;
}

sub _set_environment {
    my ($self) = @_;
    $ENV{XDG_CONFIG_HOME} = $self->{configuration} // '/nonexistent';
    $ENV{TOLLGATE_REDIS} = $self->{redis} if defined $self->{redis};
    $ENV{TOLLGATE_PREFIX} = $self->{prefix} if defined $self->{prefix};
}

sub run_at_once {
    my ($self, @commands) = @_;
    my @started = map { $self->start(@$_) } @commands;
    return map { _finish($_) } @started;
}

sub json {
    my ($self, @arguments) = @_;
    my $result = $self->run(@arguments, '--json');
    die "@arguments: $result->{err}" if $result->{status};
    return JSON::PP->new->utf8->decode($result->{out});
}

sub start {
    my ($self, @arguments) = @_;
    my %options = ref $arguments[0] eq 'HASH' ? %{ shift @arguments } : ();
    my %files = map { $_ => scalar File::Temp->new } qw(stdin out err);
    print { $files{stdin} } $options{stdin} // '';
    $files{stdin}->flush;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        delete @ENV{qw(TOLLGATE_REDIS TOLLGATE_PREFIX)};
        $self->_set_environment;
        open STDIN, '<', $files{stdin}->filename or die $!;
        open STDOUT, '>', $options{stdout} // $files{out}->filename or die $!;
        open STDERR, '>', $files{err}->filename or die $!;
        POSIX::close($_) for @{ $options{closed} // [] };
        alarm 300;    # a command that hangs ends as one that was killed
        exec $binary, @arguments or die "$binary: $!\n";
    }
    return { pid => $pid, files => \%files };
}

sub _finish {
    my ($started) = @_;
    waitpid $started->{pid}, 0;
    my %result = (status => $? & 127 ? -1 : $? >> 8, signal => $? & 127);
    for my $name (qw(out err)) {
        local $/;
        open my $file, '<', $started->{files}{$name}->filename or die $!;
        $result{$name} = <$file> // '';
    }
    return \%result;
}

1;
