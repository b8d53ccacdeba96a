package Verify::Property::Conservation;

# Redis has counted what was granted, and nothing else, once a round has settled.
#
# Each table of ids keeps a history, so Redis counts a day for every plan; each plan of a group has a month. What the day of
# an id or the month of a group grew by in a round is what the round granted. An answer that never came counts as 0, as its cost or as what the request has used. Without faults, there
# is no other difference.
#
#   counted, not granted (module/README.md): the calls whose reply was lost: their requests were answered 503 or
#     `degraded`, or not at all, or refused by their node alone; the lease in such a call; the leases and slices of a
#     killed node or worker; refunds that lie in such a lease
#   granted, not counted: units that a node granted alone and lost before it reported them; counts that Redis lost
#   the cost instead of what was used: requests that a worker or a node had not settled when it was killed

use strict;
use warnings;
use List::Util qw(max min sum0);
use POSIX      qw(ceil);
use Verify::Model qw(evidence least most units);

# The units of an id or a group that Redis has counted in a table by the end of a round, and the month of a group.
sub counted {
    my ($history) = @_;
    my %counted;
    for my $quota ($history->of('quota')) {
        my ($table, $of_group) = $quota->{table} =~ /^(.*?)(:group)?$/;
        my $of_owner = $counted{ $quota->{round} }{ $quota->{id} } //= {};
        $of_owner->{$table} += $quota->{ $of_group ? 'month.count' : '86400.count' } // 0;
        $of_owner->{"month of $table"} = $quota->{'month.number'} if $of_group;
    }
    for my $past ($history->of('history')) {
        for my $field (grep { /:/ } keys %$past) {
            my ($table) = $field =~ /^(.*):\d+$/;
            $counted{ $past->{round} }{ $past->{id} }{$table} += $past->{$field};
        }
    }
    return \%counted;
}

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my $counted = counted($history);
    my (@violations, $last);
    for my $round ($history->rounds) {
        my $here = $counted->{ $round->{number} } // {};
        for my $owner ($model->owners) {
            my @requests = grep { $_->{begin} >= $round->{begin} && $_->{begin} <= $round->{end} } $model->requests($owner);
            for my $table ($model->tables_of($owner)) {
                my @of_table = grep { my $request = $_; grep { $_ eq $table } $model->tables($request) } @requests;
                my $before = $last ? $last->{$owner}{$table} // 0 : 0;
                my $now = $here->{$owner}{$table} // 0;
                my ($month_before, $month) = map { $_->{$owner}{"month of $table"} } $last // {}, $here;
                next if defined $month_before && defined $month && $month != $month_before;
                push @violations, _check_round($model, $round, $owner, $table, $before, $now, @of_table) if @of_table || $now != $before;
            }
        }
        $last = $here;
    }
    return @violations;
}

sub _check_round {
    my ($model, $round, $id, $table, $before, $now, @requests) = @_;
    my @grants = grep { $_->{status} == 200 && $_->{cost} } @requests;
    my $granted = sum0(map { units($_) } @grants);
    my @unknown = grep { !$_->{status} } @requests;
    my @faults = $model->faults($round->{begin}, $round->{end});    # all settled after those before
    my @unsettled = grep { _may_be_unsettled($model, $_, @faults) } @grants;
    my $what = sprintf 'round %d, %s in %s: %d units were granted, Redis counted %d', $round->{number}, $id, $table, $granted, $now - $before;
    my $most = $before + $granted + sum0((map { most($_) } @unknown), map { most($_) - units($_) } @unsettled) + _counted_only($model, $id, $table, \@faults, \@requests);
    return evidence("$what; at most " . ($most - $before) . ' can be', map { "fault $_->{kind} at node $_->{node}, $_->{begin}..$_->{end}" } @faults) if $now > $most;
    # Redis has lost counts: leases from before are given back to the new ones.
    return if $model->faults($round->{begin}, $round->{end}, 'loss');
    my @lost = grep { my $grant = $_; $grant->{verdict} eq 'degraded' && grep { $_->{node} == $grant->{node} && $_->{end} + 1 >= $grant->{begin} } grep { $_->{kind} =~ /^(?:kill_node|resize_zone|move_address)$/ } @faults } @grants;
    my %is_lost = map { $_ => 1 } @lost;
    my $least = $before + $granted - sum0((map { units($_) } @lost), map { units($_) - least($_) } grep { !$is_lost{$_} } @unsettled);
    return evidence("$what; at least " . ($least - $before) . ' must be', (map { "fault $_->{kind} at node $_->{node}, $_->{begin}..$_->{end}" } @faults), @grants) if $now < $least;
    return;
}

# Whether a worker or a node may have been killed before it settled a request, or reported that to Redis. A client may
# have the response first. The old workers of a reload that changes the zone or the address do both if Redis is reachable;
# the request may end after the new ones have begun.
sub _may_be_unsettled {
    my ($model, $request, @faults) = @_;
    return defined $request->{used} && grep {
        my $keeps = { kill_worker => 0.1, kill_node => 10, resize_zone => 10, move_address => 10 }->{ $_->{kind} };
        my $is_killed = $_->{kind} =~ /^kill_/;
        defined $keeps && $_->{node} == $request->{node} && $request->{end} >= $_->{begin} - $keeps
            && $request->{ $is_killed ? 'end' : 'begin' } <= $_->{end} + 0.1 && ($is_killed || $model->may_lack_redis_during($_));
    } @faults;
}

# Whether the node may have decided a request after its call was lost. A refusal does not show who decided it: it counts
# if it was under way during an outage, or within the second after it.
sub _may_be_without_reply {
    my ($model, $request) = @_;
    return 1 if $request->{status} == 503 || ($request->{verdict} // '') eq 'degraded';
    return 0 if $request->{status} != 429 || $model->config->{on_failure} ne 'local';
    return 1 if $model->stood_still($request);
    return scalar grep { $_->{begin} <= $request->{end} && $request->{begin} <= $_->{end} + 1 }
        $model->faults_of($request->{node}, $request->{begin}, $request->{end}, 'outage');
}

# These lose no call and no lease.
my $harmless = qr/^(?:reload|rename_redis|change_limits|lose_scripts|step_clock)$/;

# A lease is returned six seconds after its last use at the latest.
sub _may_be_in_lost_lease {
    my ($request, @faults) = @_;
    return defined $request->{used} && grep {
        $_->{kind} !~ $harmless && $request->{end} >= $_->{begin} - 6 && $request->{end} <= $_->{end} + $Verify::Model::recovery;
    } @faults;
}

# The units that Redis may have counted for calls and leases of which nothing was granted.
sub _counted_only {
    my ($model, $id, $table, $faults, $requests) = @_;
    my @without_reply = grep { _may_be_without_reply($model, $_) && $model->may_be_executed($_) } @$requests;
    return 0 unless @$faults || @without_reply;
    my $units = sum0(map { $_->{cost} } @without_reply);
    return $units unless $model->is_leased($table);
    # A lease is at most an eighth of what remains of the smallest window. Each id of a group leases units of it.
    my @limits = map { $_->{most} } $model->limits($id, $table, $requests->[0] ? ($requests->[0]{begin}, $requests->[-1]{end}) : (0, 0));
    my $lease = @limits ? ceil(min(@limits) / 8) : 0;
    my $leases = $lease * $model->members($id);
    my ($nodes, $workers) = ($model->nodes, $model->config->{workers} // 2);
    $units += sum0(map { $_->{cost} - least($_) } grep { _may_be_in_lost_lease($_, @$faults) } @$requests);
    $units += $lease * grep { !$model->faults_of($_->{node}, $_->{begin}, $_->{end}, 'outage') } @without_reply;
    for my $fault (@$faults) {
        my $kind = $fault->{kind};
        # A worker perhaps has a call under way. Each worker of a node also has a slice, and the node holds a lease.
        if ($kind eq 'kill_worker') { $units += $leases }
        elsif ($kind eq 'kill_node') { $units += (1 + 2 * $workers) * $leases }
        # The old workers return what they have, if Redis is reachable.
        elsif ($kind =~ /^(?:resize_zone|move_address)$/) { $units += (1 + 2 * $workers) * $leases if $model->may_lack_redis_during($fault) }
        elsif ($kind =~ $harmless) { }
        else {
            # A worker has one call under way for an id; a call that is lost ends at `timeout`, or when the connection
            # is closed, and the next one follows at once.
            my $lasts = $model->config->{timeout} // 0.5;
            $lasts = min($lasts, $fault->{value}) if $kind eq 'mute';
            $lasts = 0.05 if $kind eq 'truncate';
            my $calls = 1 + ceil(($fault->{end} - $fault->{begin}) / max($lasts, 0.05));
            $units += ($kind =~ /^(?:delay|hold|refuse|mute|truncate|cut)$/ ? 1 : $nodes) * $workers * $calls * $leases;
        }
    }
    return $units;
}

1;
