package Contender;

# One gateway with one set of keys: sends requests to it and measures it.
#
#   my $hot = Contender->new(
#       name   => 'Tollgate, one key',
#       server => $nginx,                         # whose workers are measured
#       address => Gateways->address($nginx, 'tollgate'),
#       redis  => $redis, work => RedisWork->new($redis, …),
#       api_keys => $keys,
#       wrk    => $wrk,
#       status => 200,                            # of every response; 200 by default
#       quota  => 1,                              # its responses have X-RateLimit-*
#       begin  => sub { … }, end => sub { … },    # run before and after each measurement
#       redis_stopped => 1,                       # between them
#   );
#   $hot->ask_with_every_key;                     # fills every cache; dies at a wrong response
#   my $response = $hot->probe;                   # one request, with a check of the response
#   my $m = $hot->measure(seconds => 3, seed => 1);
#   $m->{requests}, $m->{errors}                  # errors: unexpected responses
#   $m->{rate}, $m->{cpu}, $m->{redis}            # requests per second; CPU of its workers and of Redis, µs per request
#   $m->{calls}, $m->{ids}                        # scripts that Redis ran, and ids that it decided, per request;
#                                                 #   undefined without `work`, and while Redis is stopped
#   $m->{ids_a_call}                              # ids per script; undefined also if there was no script
#   Contender->most_new_keys(measurements => 5, seconds => 3, every => 20)    # that the keys need (ApiKeys)
#   my ($result, $spent) = $hot->count(sub { … });       # cpu, redis, calls and ids in all, while the code ran
#
# Measuring dies at unexpected responses.

use strict;
use warnings;
use Gateways;
use Http qw(http_get);
use POSIX ();

my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

# Before each measurement: leases need an estimate of arrivals, and the first renewals. 10,000 keys have four requests
# each after about 160,000. Of more keys, each has less than one request a second.
my %warm_up = (each => 4, least => 50_000, most => 200_000);

sub new {
    my ($class, %options) = @_;
    return bless { status => 200, begin => sub { }, end => sub { }, new_keys => 0, %options }, $class;
}

sub name     { $_[0]{name} }
sub address  { $_[0]{address} }
sub api_keys { $_[0]{api_keys} }
sub redis    { $_[0]{redis} }

sub ask_with_every_key {
    my ($self) = @_;
    $self->_ask($self->{api_keys}->count);
}

sub probe {
    my ($self) = @_;
    my $response = http_get($self->{address}, '/', Authorization => 'Bearer ' . $self->{api_keys}->token(0));
    my @fields = $self->{quota} ? qw(x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset) : ();
    push @fields, 'retry-after' if $self->{quota} && $self->{status} == 429;
    my @missing = grep { !defined $response->header($_) } @fields;
    die "$self->{name}: answers with status @{[ $response->status ]}, without @missing\n@{[ $response->body ]}\n"
        if $response->status != $self->{status} || @missing
        || $self->{status} == 200 && $response->body ne $Gateways::body;
    return $response;
}

sub measure {
    my ($self, %options) = @_;
    $self->{begin}->();
    $self->_ask(2000);
    $self->_run(%warm_up, seed => $options{seed});
    my $first = $self->probe;
    my ($result, $spent) = $self->count(sub { $self->_run(%options) });
    my $last = $self->probe;
    $self->{end}->();

    my $requests = $result->{requests};
    $spent->{ids} += $result->{new} if defined $spent->{ids};    # RedisWork does not see the first decision of an id
    my $wrong = $self->{status} >= 400 ? $requests - $result->{refused} : $result->{refused};
    my $errors = $wrong + $result->{broken};
    die "$self->{name}: $errors of $requests answers are not $self->{status}\n" if $errors > $requests / 1000;
    $self->_check_quota($first, $last, $requests) if $self->{quota} && $self->{status} == 200;
    return {
        requests   => $requests,
        errors     => $errors,
        rate       => $requests / $result->{seconds},
        ids_a_call => $spent->{calls} ? $spent->{ids} / $spent->{calls} : undef,
        map { $_ => defined $spent->{$_} ? $spent->{$_} / $requests : undef } keys %$spent,
    };
}

# A new key is new only once.
sub _run {
    my ($self, %options) = @_;
    my $result = $self->{wrk}->run($self->{address}, $self->{api_keys}, %options, from => $self->{new_keys});
    $self->{new_keys} += $result->{new};
    return $result;
}

# The new keys that so many measurements of so many seconds take at most: the rate is far below 100,000 a second.
sub most_new_keys {
    my ($class, %options) = @_;
    return int $options{measurements} * ($warm_up{most} + 100_000 * $options{seconds}) / $options{every};
}

sub count {
    my ($self, $code) = @_;
    my $counts = sub {
        my $work = $self->{work} && !$self->{redis_stopped} ? $self->{work}->counts : { calls => undef, ids => undef };
        return { cpu => _cpu($self->{server}->workers), redis => _cpu($self->{redis}->pid), %$work };
    };
    my $before = $counts->();
    my $result = $code->();
    my $after = $counts->();
    return ($result, { map { $_ => defined $after->{$_} ? $after->{$_} - $before->{$_} : undef } keys %$after });
}

sub _ask {
    my ($self, $requests) = @_;
    $self->{wrk}->ask_with_every_key($self->{address}, $self->{api_keys}, status => $self->{status}, requests => $requests);
}

# User and system time, which are the fields 14 and 15 of /proc/PID/stat, in µs.
sub _cpu {
    my (@pids) = @_;
    my $sum = 0;
    for my $pid (@pids) {
        open my $file, '<', "/proc/$pid/stat" or die "no process $pid\n";
        my @fields = split ' ', <$file> =~ s/^.*\) //r;
        $sum += $fields[11] + $fields[12];
    }
    return $sum / $ticks * 1e6;
}

# The first key shows whether requests are counted. The slack is for leased units, which may already have been shown as
# spent. If the window has ended meanwhile, nothing is checked.
sub _check_quota {
    my ($self, $first, $last, $requests) = @_;
    return if grep { $first->header($_) ne $last->header($_) } qw(x-ratelimit-limit x-ratelimit-reset);
    my $fell = $first->header('x-ratelimit-remaining') - $last->header('x-ratelimit-remaining');
    my $least = $self->{api_keys}->count == 1 ? 0.75 * $requests : 1;
    die "$self->{name}: X-RateLimit-Remaining fell by $fell over $requests requests\n" if $fell < $least;
}

1;
