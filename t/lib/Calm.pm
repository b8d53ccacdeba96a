package Calm;

# Tests how a gateway handles a fault of its Redis.
#
#   my $calm = Calm->new(
#       gateway => $gateway,                      # its table "api" has the plans free (5r/s) and pro (9r/s), and it
#                                                 # serves tollgate_status at /status
#   );
#   $calm->bears('out of memory',                 # a subtest
#       begin   => sub { … },
#       end     => sub { … },                     # restores Redis; optional
#       refuses => 'all',                         # get 503; or 'none', or 'some'; left out: any number
#       window  => 0,                             # leave out the counting of a whole window, which takes up to 1 s
#   );
#
# While the fault lasts, requests of two keys are sent interleaved, several at once. Each must be answered within 10 s,
# which a busy machine also keeps, with the limit of its own plan or with a correct 503. After the fault, the gateway must
# serve again by itself within 10 s, with the same workers, and the next window must grant exactly the limit of each key.

use strict;
use warnings;
use Gateway qw(in_one_window);
use Http;
use Test::More;
use Time::HiRes qw(time sleep);
use Wait qw(wait_until);

my %limit = (free => 5, pro => 9);

sub new {
    my ($class, %options) = @_;
    $options{gateway}->import_key($_, id => $_, plan => $_) for keys %limit;
    return bless {%options}, $class;
}

sub bears {
    my ($self, $what, %fault) = @_;
    subtest $what => sub {
        my @workers = $self->{gateway}->nginx->workers;
        $fault{begin}->();
        my @answers = map { $self->_ask((qw(free pro)) x 6) } 1 .. 2;
        $self->_judge($fault{refuses}, @answers);
        $fault{end}->() if $fault{end};
        my $end = time + 10;
        my $served = 0;
        until ($served || time > $end) {
            $served = !grep { $_->{response}->status !~ /^(200|429)$/ } $self->_ask(qw(free pro) x 2);
            sleep 0.02 unless $served;
        }
        ok($served, 'it serves again');
        # Each worker reconnects by itself. One worker may have served all the requests above.
        wait_until('all workers to reach Redis', sub { !$self->_workers_without_redis });
        is_deeply($self->granted_in_a_window, \%limit, 'the next window grants exactly the limits') if $fault{window} // 1;
        is_deeply([sort $self->{gateway}->nginx->workers], [sort @workers], 'no worker died');
    };
}

# Counts what a window grants to each key. On a busy machine, a reply of Redis can be later than its timeout. Its unit is
# counted, but its request gets 503. Then the next window is counted, at most five.
sub granted_in_a_window {
    my ($self) = @_;
    my %granted;
    for (1 .. 5) {
        my @answers = @{ in_one_window($self->{gateway}->redis, 1, sub { [$self->_ask((qw(free pro)) x 12)] }) };
        %granted = map { $_ => 0 } keys %limit;
        $granted{ $_->{key} }++ for grep { $_->{response}->status == 200 } @answers;
        my $unavailable = grep { $_->{response}->status == 503 } @answers or last;
        note "$unavailable of " . @answers . ' requests got 503';
    }
    return \%granted;
}

sub _workers_without_redis {
    my ($self) = @_;
    my ($main) = @{ $self->{gateway}->get('/status')->json->{redis} };
    return $main->{breaker_open_workers};
}

# Sends requests with these keys, all at once, each on its own connection.
sub _ask {
    my ($self, @keys) = @_;
    my @asked = map { { key => $_, connection => Http->connect($self->{gateway}) } } @keys;
    my $start = time;
    for my $asked (@asked) {
        $asked->{connection}->send(Http::format_request('GET', '/', { Authorization => "Bearer $asked->{key}" }));
    }
    for my $asked (@asked) {
        $asked->{response} = $asked->{connection}->response;
        $asked->{took} = time - $start;
        $asked->{connection}->close;
    }
    return @asked;
}

sub _judge {
    my ($self, $refuses, @answers) = @_;
    my ($slowest) = sort { $b <=> $a } map { $_->{took} } @answers;
    cmp_ok($slowest, '<', 10, 'no request hangs');
    my @wrong = grep { !_is_proper($_) } @answers;
    ok(!@wrong, 'every response has the limit of its key, or is a correct 503') or diag explain [map { [$_->{key}, $_->{response}] } @wrong];
    my $refused = grep { $_->{response}->status == 503 } @answers;
    return unless $refuses;
    return cmp_ok($refused, '>', 0, 'some are refused') if $refuses eq 'some';
    is($refused, $refuses eq 'all' ? @answers : 0, "$refuses are refused");
}

sub _is_proper {
    my ($answer) = @_;
    my $r = $answer->{response};
    if ($r->status == 503) {
        my $error = eval { $r->json } // {};
        return ($r->header('retry-after') // '') =~ /^[1-9]\d*$/ && $r->header('content-type') eq 'application/json'
            && $error->{code} eq 'service_unavailable' && $error->{status} == 503;
    }
    return $r->status =~ /^(200|429)$/ && $r->header('x-ratelimit-limit') == $limit{ $answer->{key} };
}

1;
