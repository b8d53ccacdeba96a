package FailingNew;

# Makes C++ allocations fail in the workers of an nginx. nginx must be started with failing_new.cpp.
#
#   my $failing = FailingNew->new;              # undef if the build has no failing_new.so, or has sanitizers
#   my $gateway = $failing->start(sub { Gateway->start(…) });      # starts nginx with it; nothing fails yet
#   $failing->begin(one_of => 50, seed => 1, workers => [$nginx->workers]);
#   $failing->also(@pids);                      # further workers; 13 in all
#   my $count = $failing->end;                  # the number of allocations that failed since begin

use strict;
use warnings;
use Cwd        ();
use File::Temp ();

my $root = Cwd::abs_path(__FILE__) =~ s{/t/lib/[^/]+$}{}r;
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // "$root/build");
my $most = 13;

sub new {
    my ($class) = @_;
    return undef if $ENV{TOLLGATE_SANITIZE} || !-e "$build/failing_new.so";
    my $file = File::Temp->new(TEMPLATE => 'failing-new-XXXXXX', TMPDIR => 1);
    my $self = bless { file => $file, workers => [] }, $class;
    $self->_write(0, pack 'L*', (0) x (3 + $most));
    return $self;
}

sub start {
    my ($self, $start) = @_;
    local $ENV{LD_PRELOAD} = "$build/failing_new.so";
    local $ENV{TOLLGATE_FAILING_NEW} = $self->{file}->filename;
    return $start->();
}

sub begin {
    my ($self, %options) = @_;
    $self->{workers} = [];
    $self->also(@{ $options{workers} });
    $self->_write(4, pack 'LL', $options{seed}, 0);
    $self->_write(0, pack 'L', $options{one_of});
}

sub also {
    my ($self, @workers) = @_;
    push @{ $self->{workers} }, @workers;
    die "too many workers\n" if @{ $self->{workers} } > $most;
    my @pids = (@{ $self->{workers} }, (0) x $most)[0 .. $most - 1];
    $self->_write(12, pack 'L*', @pids);
}

sub end {
    my ($self) = @_;
    $self->_write(0, pack 'L', 0);
    sysseek $self->{file}, 8, 0;
    sysread $self->{file}, my $bytes, 4;
    return unpack 'L', $bytes;
}

sub _write {
    my ($self, $at, $bytes) = @_;
    sysseek $self->{file}, $at, 0;
    syswrite($self->{file}, $bytes) == length $bytes or die "failing-new: $!\n";
}

1;
