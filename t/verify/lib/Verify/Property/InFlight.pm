package Verify::Property::InFlight;

# At no time are more requests of an id in flight than `in_flight` allows.
#
# What is certain is what the upstream has: Verify::Upstream. Requests that nodes granted alone (`degraded`) come in
# addition: each node its share of the limit, at least one, or the whole limit if it may not know the other nodes. A node
# whose call for places has failed gives its share, too, while Redis decides the quotas of these requests. If
# places were lost in Redis (a failover, a step of its clock), other nodes get them until those that have them have
# renewed them: the limit once more for each time, among the requests that began before.

use strict;
use warnings;
use List::Util qw(max min);
use POSIX      qw(floor);
use Verify::Model qw(evidence);

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my (%flights, @violations);
    for my $flight ($history->of('flight')) { push @{ $flights{ $flight->{id} } }, $flight if $model->in_flight($flight->{id}) }
    for my $id (sort keys %flights) {
        my @now;
        for my $flight (@{ $flights{$id} }) {
            $flight->{certain_end} = _certain_end($model, $flight);
            @now = grep { $_->{certain_end} > $flight->{begin} } @now, $flight;
            push @violations, _check_time($model, $id, $flight->{begin}, @now) if @now > $model->in_flight($id);
        }
    }
    return @violations;
}

# The places of a node last for ten seconds, and it renews them after three: a request that runs for longer loses its
# place if the node does not reach Redis meanwhile.
my $lasts = 6;

sub _certain_end {
    my ($model, $flight) = @_;
    my ($begin, $end) = @$flight{qw(begin end)};
    return $end if $end - $begin < $lasts;
    my ($from, $to);
    for my $fault (sort { $a->{begin} <=> $b->{begin} } $model->faults_of($flight->{node}, $begin, $end, 'outage')) {
        ($from, $to) = ($fault->{begin}, $fault->{begin}) if !defined $to || $fault->{begin} > $to;
        $to = max($to, $fault->{end} + $Verify::Model::recovery);
        return min($end, $from + $lasts) if $to - $from > $lasts;
    }
    return $end;
}

sub _check_time {
    my ($model, $id, $time, @now) = @_;
    my $limit = $model->in_flight($id);
    my $losses = () = $model->faults(min(map { $_->{begin} } @now), $time, 'places');
    my $allowed = $limit * (1 + $losses);
    my %alone = map { $_->{node} => 1 }
        grep { $_->{verdict} eq 'degraded' || $model->faults_of($_->{node}, $_->{begin} - 1, $_->{begin}, 'outage') } @now;
    for my $node (keys %alone) {
        my $forgot = () = $model->faults_of($node, $time - 15, $time, 'forget');
        $allowed += $forgot ? $limit : max(1, floor($limit / $model->nodes));
    }
    return if @now <= $allowed;
    return evidence(sprintf('%s: %d requests are in flight at %.4f; %d may be', $id, scalar @now, $time, $allowed),
        map { sprintf '%.4f..%.4f node %s %s', @$_{qw(begin end node verdict)} } @now);
}

1;
