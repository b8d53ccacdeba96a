package Verify::Property::Liveness;

# After the last fault everything heals: no unit stays idle, every key is served, and a client that obeys Retry-After is
# granted. Without a fault, no unit is lost.
#
# Units are given back three seconds after the last use at the latest, or when Redis has not renewed the lease for six
# seconds; owed units are reported within about a second; workers connect again within two (module/README.md). So a round
# has settled 15 s after its traffic at the latest. A client that is alone with its key and waits as long as Retry-After
# says is not refused the same cost because of the same window. (Because of another one it may be: a node that refuses
# from memory may not know what other nodes granted since.)
#
# Places for requests in flight come back: after a round, as many requests at once as `in_flight` allows are granted.
# Nodes return places that were not used for a second. What nobody returns ends after ten seconds: the places of a node
# that was killed, and those of a call whose reply was lost.

use strict;
use warnings;
use List::Util qw(any max sum0);
use Verify::Model qw(evidence most);

my $longest = 15;

# Units of a lease come back, and Retry-After says when; but not if a fault has lost them.
sub _may_have_lost_leases {
    my ($model, $probe) = @_;
    return (grep { $model->is_leased($_) } $model->tables($probe)) && $model->may_cost_units($probe, $probe->{begin} - 30);
}

# Retry-After says when leases of other nodes are back at the latest. If their units were used, which the refusing node
# does not know, the window is full then.
sub _were_leases_used {
    my ($model, $request) = @_;
    return any {
        my $table = $_;
        any { !$_->{sliding} && _granted($model, $request, $table, $_) + $model->needs($request, $table) > $_->{least} }
            $model->limits($request->{id}, $table, $request->{begin}, $request->{end});
    } grep { $model->is_leased($_) } $model->tables($request);
}

# The units that may have been granted in the window of a request before it ended.
sub _granted {
    my ($model, $request, $table, $rate) = @_;
    my ($first, $last) = $model->windows($rate, $request);
    my $counter = $model->counter($table, $request);
    return sum0(map { most($_) } grep { $model->counter($table, $_) eq $counter } grep {
        my ($from, $to) = $model->windows($rate, $_);
        $from <= $last && $to >= $first && $_->{begin} <= $request->{end};
    } $model->grants($request->{id}, $table));
}

my ($returned, $kept) = (2, 10.5);

# Until when places may be missing after the traffic of a round.
sub _places_are_back {
    my ($model, $quiet, $now) = @_;
    return max($quiet + $returned, (map { $_->{end} + $kept } $model->long_stalls($quiet - 30, $now)),
        map { ($_->{kind} eq 'kill_node' ? $_->{from} : $_->{end}) + $kept } map { $model->faults($quiet - 30, $now, $_) } qw(outage step_clock));
}

sub _check_places {
    my ($model) = @_;
    my (%attempts, @violations);
    push @{ $attempts{"$_->{id} $_->{attempt}"} }, $_ for grep { ($_->{probe} // 0) == 3 } $model->history->of('req');
    for my $attempt (sort keys %attempts) {
        my @requests = @{ $attempts{$attempt} };
        my ($begin, $end) = ($requests[0]{begin}, max(map { $_->{end} } @requests));
        my ($round) = grep { $_->{begin} <= $begin && $_->{end} >= $begin } $model->history->rounds;
        next if !$round || !grep { $_->{status} != 200 } @requests;
        push @violations, evidence(@requests . ' requests at once are not granted', @requests)
            if $begin > _places_are_back($model, $round->{quiet}, $end) + $model->stalled($round->{quiet}, $end);
    }
    return @violations;
}

# A node counts units that it will never return as lost, and then it holds none. It has no reason for that in a round
# without faults.
sub _check_losses {
    my ($model) = @_;
    my $history = $model->history;
    my (%lost, @violations);
    for my $node ($history->of('node')) { $lost{ $node->{round} }{ $node->{node} } = $node->{'lease_units.lost'} // 0 }
    for my $round ($history->rounds) {
        my %span = (begin => $round->{begin}, end => $round->{end});
        next if $model->faults(@span{qw(begin end)}, 'costly') || $model->stood_still(\%span);
        my ($before, $after) = @lost{ $round->{number} - 1, $round->{number} };
        for my $node (sort keys %{ $after // {} }) {
            my $units = $after->{$node} - (($before // {})->{$node} // 0);
            push @violations, "node $node has lost $units units in round $round->{number}, without a fault" if $units > 0;
        }
    }
    return @violations;
}

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my @violations = (_check_places($model), _check_losses($model));
    for my $settled ($history->of('settled')) {
        my @held = map { /^held(\d+)$/ ? "node $1 holds $settled->{$_}" : () } sort keys %$settled;
        my $took = $settled->{at} - $settled->{begin} - $model->stalled($settled->{begin}, $settled->{at});
        push @violations, evidence("round $settled->{round} has not settled", @held) if @held;
        push @violations, sprintf 'round %d took %.1f s to settle', $settled->{round}, $took if !@held && $took > $longest;
    }
    for my $probe (grep { $_->{probe} } $history->of('req')) {
        my $is_excused = $probe->{status} == 503 && $model->stood_still($probe);
        push @violations, evidence('a key is not served after a round', $probe) if $probe->{status} !~ /^(?:200|429)$/ && !$is_excused;
        push @violations, evidence("refused again after waiting $probe->{waited} s", $probe)
            if $probe->{probe} == 2 && $probe->{status} != 200 && !_may_have_lost_leases($model, $probe) && !_were_leases_used($model, $probe) && ($probe->{after} // '') !~ /^(?:api_key_banned|balance_exhausted)$/ && ($probe->{after_limit} // 0) == ($probe->{limit} // 0);
    }
    for my $id (grep { $model->config->{ids}{$_}{alone} } sort keys %{ $model->config->{ids} }) {
        my @requests = $history->requests($id);
        for my $i (1 .. $#requests) {
            my ($refused, $after) = @requests[$i - 1, $i];
            next unless $refused->{status} == 429 && $refused->{retry} && $after->{status} == 429 && $after->{cost} <= $refused->{cost};
            next if $after->{begin} < $refused->{end} + $refused->{retry} || $model->may_cost_units($after, $refused->{begin} - 10);
            next if _were_leases_used($model, $after);
            next if $model->stalled($refused->{begin} - 3, $after->{end});    # a node may return its units as late
            push @violations, evidence("refused again after $refused->{retry} s", $refused, $after) if ($refused->{limit} // 0) == ($after->{limit} // 0);
        }
    }
    return @violations;
}

1;
