package Verify::Property::Answers;

# Each request is answered in time: within the time that the upstream holds it, once `timeout` for the look-up of its key
# and once for its decision (module/docs/faults.md: no call lasts longer), and a margin. The time in which the machine stood
# still is added, that in which the client or the upstream waited for a processor, and that in which a worker of the node
# was stopped: the other one may wait for what it has locked.
#
# A request has no answer only if its client left it, or if a fault has ended its connection: a worker or a node was
# killed, or an old worker of a reload closed a connection that was idle, at the moment at which the request was sent. A
# node refuses a connection only while it is killed.

use strict;
use warnings;
use List::Util qw(sum0);
use Verify::Model qw(evidence);

my $margin = 0.5;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my @refused = grep { my $at = $_->{at}; !grep { $_->{begin} <= $at && $_->{end} >= $at } $model->faults_of($_->{node}, $at, $at, 'kill_node') } $history->of('refused');
    return (
        (map { my $wrong = _wrong($model, $_); $wrong ? evidence($wrong, $_) : () } $history->of('req')),
        map { evidence("node $_->{node} refused a connection at $_->{at}") } @refused,
    );
}


sub _wrong {
    my ($model, $request) = @_;
    my $unanswered = $request->{status} ? '' : $request->{unanswered} // 'left';
    return if $unanswered eq 'left';
    my $took = $request->{end} - $request->{begin};
    if ($unanswered eq 'closed') { return _may_be_closed($model, $request) ? undef : 'a connection was closed without an answer' }
    my $most = ($request->{hold} // 0) + 2 * ($model->config->{timeout} // 0.5) + $margin;
    return if $took <= $most;
    $most += sum0(map { $_->{end} - $_->{begin} } grep { $_->{begin} <= $request->{end} && $_->{end} >= $request->{begin} }
        $model->faults_of($request->{node}, $request->{begin}, $request->{end}, 'stop_worker'));
    return if $took <= $most + $model->stalled($request->{begin}, $request->{end}) + $model->client_waited($request->{begin}, $request->{end});
    return sprintf '%s after %.3f s; at most %.3f s are allowed', $unanswered ? 'no answer' : 'answered', $took, $most;
}

sub _may_be_closed {
    my ($model, $request) = @_;
    my ($begin, $end) = @$request{qw(begin end)};
    my @faults = grep { $_->{begin} <= $end + 0.1 && $_->{end} >= $begin - 0.1 } $model->faults_of($request->{node}, $begin, $end);
    return 1 if grep { $_->{kind} =~ /^kill_(?:worker|node)$/ } @faults;
    return $end - $begin < 0.1 && grep { $_->{kind} =~ /^(?:reload|rename_redis|resize_zone|move_address|change_limits)$/ } @faults;
}

1;
