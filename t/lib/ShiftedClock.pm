package ShiftedClock;

# A wall clock that a test sets, for servers that are started with it. It runs at the usual speed. Their monotonic clock
# does not change. See shifted_clock.cpp.
#
#   my $clock = ShiftedClock->new;              # undef if the build has no shifted_clock.so, or has sanitizers
#   my $redis = $clock->start(sub { RedisServer->start });      # servers that are started in it have this clock
#   $clock->set($seconds);                      # Unix time: the clock shows it, or up to a second more
#   $clock->set('2028-02-29 23:59:58');         # the same, in UTC
#   $clock->time                                # the time by the clock

use strict;
use warnings;
use Cwd         ();
use File::Temp  ();
use POSIX       ();
use Time::HiRes ();
use Time::Local qw(timegm_modern);

my $root = Cwd::abs_path(__FILE__) =~ s{/t/lib/[^/]+$}{}r;
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // "$root/build");

sub new {
    my ($class) = @_;
    return undef if $ENV{TOLLGATE_SANITIZE} || !-e "$build/shifted_clock.so";
    my $self = bless { file => File::Temp->new(TEMPLATE => 'clock-XXXXXX', TMPDIR => 1), ahead => 0 }, $class;
    $self->_write;
    return $self;
}

sub start {
    my ($self, $start) = @_;
    local $ENV{LD_PRELOAD} = "$build/shifted_clock.so";
    local $ENV{TOLLGATE_CLOCK} = $self->{file}->filename;
    return $start->();
}

sub set {
    my ($self, $time) = @_;
    if ($time =~ /^(\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)$/) {
        $time = timegm_modern($6, $5, $4, $3, $2 - 1, $1);
    }
    $self->{ahead} = POSIX::ceil($time - Time::HiRes::time());
    $self->_write;
}

sub time { return Time::HiRes::time() + $_[0]{ahead} }

sub _write {
    my ($self) = @_;
    sysseek $self->{file}, 0, 0;
    syswrite($self->{file}, pack 'q<', $self->{ahead}) == 8 or die "clock: $!\n";
}

1;
