package Verify::Property::Conservation;

# Redis has counted what was granted, and nothing else, once a round has settled.
#
# Each table of ids keeps a history, so Redis counts a day for every plan; each plan of a group has a month. What the day of
# an id or the month of a group grew by in a round is what the round granted. An answer that never came counts as 0, as its
# cost or as what the request has used. Without faults, there is no other difference.
#
# The same holds for each window whose count is recorded at the end of a round, the last one of each rate that anything was
# counted in. There, only those requests must be counted that were certainly decided in the window, and what a node reports
# later than its decision only if the round has settled before the window ended: otherwise, it lapses. A lease, too, is
# returned in its window or not at all.
#
#   counted, not granted (module/docs/faults.md): the calls whose reply was lost: their requests were answered 503 or
#     `degraded`, or not at all, or refused by their node alone; the lease in such a call; the leases and slices of a
#     killed node or worker; refunds that lie in such a lease
#   granted, not counted: units that a node granted alone and lost before it reported them; counts that Redis lost
#   the cost instead of what was used: requests that a worker or a node had not settled when it was killed

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use List::Util  qw(any first max min sum0);
use POSIX       qw(ceil);
use Verify::Model qw(evidence is_charged least most units);

# A failover loses nothing that was counted more than so many seconds before it.
my $replicated = 10;
# What nodes hold and owe is settled within so many seconds.
my $settles_within = 15;

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
            my %of_table;
            for my $request ($model->requests($owner, $round->{begin}, $round->{end})) {
                push @{ $of_table{$_} }, $model->charged($request, $_) for $model->tables($request);
            }
            for my $table ($model->tables_of($owner)) {
                my @of_table = @{ $of_table{$table} // [] };
                my $before = $last ? $last->{$owner}{$table} // 0 : 0;
                my $now = $here->{$owner}{$table} // 0;
                my ($month_before, $month) = map { $_->{$owner}{"month of $table"} } $last // {}, $here;
                next if defined $month_before && defined $month && $month != $month_before;
                push @violations, _check_round($model, $round, $owner, $table, $before, $now, @of_table) if @of_table || $now != $before;
            }
        }
        $last = $here;
    }
    return (@violations, _check_windows($model));
}

sub _check_round {
    my ($model, $round, $id, $table, $before, $now, @requests) = @_;
    my @grants = grep { $_->{status} == 200 && is_charged($_) } @requests;
    my $granted = sum0(map { units($_) } @grants);
    my @unknown = grep { !$_->{status} } @requests;
    # What those have caused that ended before is settled.
    my @faults = grep { $_->{end} >= $round->{begin} } $model->faults($round->{begin}, $round->{end});
    my @unsettled = grep { _may_be_unsettled($model, $_, @faults) } @grants;
    my $what = sprintf 'round %d, %s in %s: %d units were granted, Redis counted %d', $round->{number}, $id, $table, $granted, $now - $before;
    my $most = $before + $granted + sum0((map { most($_) } @unknown), map { most($_) - units($_) } @unsettled) + _counted_only($model, $id, $table, \@faults, \@requests);
    return evidence("$what; at most " . ($most - $before) . ' can be', map { _described($_) } @faults) if $now > $most;
    my %is_loss = map { $_ => 1 } $model->faults($round->{begin}, $round->{end}, 'loss');
    my @losses = grep { $is_loss{$_} } @faults;
    # Leases from before are given back to the new counts.
    return if @losses && $model->is_leased($table);
    my @lost = grep { _may_be_lost($model, $_, @faults) } @grants;
    my %is_lost = map { $_ => 1 } @lost;
    my $least = $before + $granted - sum0((map { units($_) } @lost), map { units($_) - least($_) } grep { !$is_lost{$_} } @unsettled);
    $least = _least_after_losses($model, $round, $before, \@losses, [grep { !$is_lost{$_} } @grants], \@requests) if @losses;
    return evidence("$what; at least " . ($least - $before) . ' must be', (map { _described($_) } @faults), @grants) if $now < $least;
    return;
}

# What Redis must have counted after losses, of a table without leases: what was granted after each loss; after a failover,
# also what was counted so long before it that the replica had it. What was not used of another request may be given back
# after the loss.
sub _least_after_losses {
    my ($model, $round, $before, $losses, $grants, $requests) = @_;
    my $survives = sub {
        my ($from, $by) = @_;
        return !any { $from < $_->{end} + $Verify::Model::recovery && !($_->{kind} ne 'lose_counts' && $by < $_->{begin} - $replicated) } @$losses;
    };
    my %counted = map { $_ => 1 } grep { $survives->($_->{begin}, _counted_by($model, $_, $round->{end})) } @$grants;
    my @given_back = grep {
        my $request = $_;
        ($_->{status} == 200 ? defined $_->{used} : !$_->{status}) && !$counted{$_} && any { $request->{end} >= $_->{begin} - $settles_within } @$losses
    } @$requests;
    return ($survives->($round->{begin} - 9**9, $round->{begin}) ? $before : 0) + sum0(map { least($_) } grep { $counted{$_} } @$grants)
        - sum0(map { $_->{status} ? $_->{cost} - least($_) : $_->{cost} } @given_back);
}

# When Redis has counted what was granted: what a node granted alone, once the outages have ended in which it may not have
# reported it.
sub _counted_by {
    my ($model, $grant, $until) = @_;
    return $grant->{end} if $grant->{verdict} ne 'degraded';
    my $by = $grant->{end} + $Verify::Model::recovery;
    for my $outage ($model->faults_of($grant->{node}, $grant->{begin}, $until, 'outage')) {
        $by = max($by, $outage->{end} + $Verify::Model::recovery) if $outage->{begin} <= $by;
    }
    return $by + $model->stalled($grant->{end}, $by);
}

sub _described { my ($fault) = @_; return "fault $fault->{kind} at node $fault->{node}, $fault->{begin}..$fault->{end}" }

# Whether a node may have lost what it granted alone before it reported that. The old workers of a reload report it, if
# Redis is reachable.
sub _may_be_lost {
    my ($model, $grant, @faults) = @_;
    return 0 if $grant->{verdict} ne 'degraded';
    return any {
        $_->{kind} =~ /^(?:kill_node|resize_zone|move_address)$/ && $_->{node} == $grant->{node} && $_->{end} + 1 >= $grant->{begin}
            && ($_->{kind} eq 'kill_node' || $model->may_lack_redis_during($_)) && _counted_by($model, $grant, $_->{begin}) >= $_->{begin}
    } @faults;
}

# The last window of each rate that has a count at the end of a round.
sub _check_windows {
    my ($model) = @_;
    my %rounds = map { $_->{number} => $_ } $model->history->rounds;
    my (%settled, %windows, @windows, %last);
    push @{ $settled{ $_->{round} } }, $_ for $model->history->of('settled');
    for my $quota (grep { $rounds{ $_->{round} } } $model->history->of('quota')) {
        my $round = $rounds{ $quota->{round} };
        my ($table, $value) = split /:/, $quota->{table}, 2;
        next unless grep { $_ eq $table } $model->tables_of($quota->{id});
        my $has_lost = $round->{has_lost} //= () = $model->faults(0, $round->{end}, 'loss');
        for my $rate ($model->limits($quota->{id}, $table, $round->{begin}, $round->{end})) {
            my ($number, $count) = map { $quota->{"$rate->{period}.$_"} } qw(number count);
            next unless defined $number && defined $count;
            # A month spans the rounds: what was granted before a loss says nothing about its count.
            next if $rate->{period} eq 'month' && $has_lost;
            # Nothing new: the check of an earlier round is stricter.
            my $is_known = ($last{ $quota->{id} }{ $quota->{table} }{ $rate->{period} } // '') eq "$number $count";
            next if $is_known && ($model->windows($rate, { begin => $round->{begin}, end => $round->{begin} }))[0] > $number;
            $last{ $quota->{id} }{ $quota->{table} }{ $rate->{period} } = "$number $count";
            my $window = {
                round => $round, settled => $settled{ $round->{number} } // [], owner => $quota->{id}, table => $table, rate => $rate,
                number => $number, count => $count, certain => [], possible => [],
            };
            push @windows, $window;
            my $of_rate = $windows{ $quota->{id} }{$table}{ $value // '' }{ $rate->{period} } //= { owner => $quota->{id}, table => $table, rate => $rate };
            push @{ $of_rate->{windows}{$number} }, $window;
        }
    }
    for my $owner (sort keys %windows) {
        for my $request ($model->requests($owner)) {
            for my $table (grep { $windows{$owner}{$_} } $model->tables($request)) {
                my $charged = $model->charged($request, $table);
                next unless is_charged($charged);
                my $by = $model->config->{tables}{$table}{by} // 'id';
                my $of_value = $by eq 'id' ? '' : $by eq 'group' ? 'group' : substr sha256_hex($request->{value}), 0, 16;
                _note_request($model, $charged, $_) for values %{ $windows{$owner}{$table}{$of_value} // {} };
            }
        }
    }
    return map { _check_window($model, $_) } @windows;
}

# Adds a request to the windows of a rate, by number, in which it may have been counted. Redis may decide it after its node
# has answered it alone, or its client has left.
sub _note_request {
    my ($model, $request, $of_rate) = @_;
    my $rate = $of_rate->{rate};
    my ($first, $last) = my @decided = $model->windows($rate, $request);
    my $is_late = $request->{status} != 200 || $request->{verdict} eq 'degraded';
    ($last) = reverse $model->windows($rate, { begin => $request->{begin}, end => $request->{end} + ($model->config->{timeout} // 0.5) }) if $is_late;
    # A plan that the owner had before may lack the rate.
    my $is_of_rate = $request->{status} == 200 && $model->counts_in($of_rate->{owner}, $of_rate->{table}, $rate->{period}, $request);
    for my $window (map { @{ $of_rate->{windows}{$_} // [] } } $first .. $last) {
        next if $request->{begin} > $window->{round}{end};
        push @{ $window->{possible} }, $request;
        push @{ $window->{certain} }, $request if $is_of_rate && !grep { $_ != $window->{number} } @decided;
    }
}

sub _check_window {
    my ($model, $window) = @_;
    my ($round, $owner, $table, $rate, $count) = @$window{qw(round owner table rate count)};
    my @possible = @{ $window->{possible} };
    my ($from, $to) = (min($round->{end}, map { $_->{begin} } @possible), $round->{end});
    # Redis counts in the window before the step if that is in the future then.
    return if $model->faults($from - 20, $to, 'step_clock');
    my @faults = $model->faults($from, $to);
    my @settled = map { [$_->{begin}, _is_settled_in($model, $window, $_, @faults)] } @{ $window->{settled} };
    my $is_settled = sub { my ($request) = @_; my $next = first { $_->[0] >= $request->{end} } @settled; return $next && $next->[1] };
    my @certain = grep { !_may_be_lost($model, $_, @faults) && ($_->{verdict} ne 'degraded' || $is_settled->($_)) } @{ $window->{certain} };
    my $least = $model->faults($from, $to, 'loss') ? 0 : sum0(map { least($_) } @certain);
    my $what = sprintf 'round %d, %s in %s, window %d of %s', $round->{number}, $owner, $table, $window->{number}, $rate->{period};
    my @shown = map { _described($_) } @faults;
    return evidence("$what: $least units were granted, Redis counted $count", @shown, @certain) if $count < $least;
    # What is left of a lease stays counted.
    return if $model->is_leased($table) && !(@settled && $settled[-1][1]);
    # A lease is as large as what was asked for before, also in the window before.
    my $asked = sub {
        return grep { $model->counter($table, $_) eq $model->counter($table, $possible[0]) } $model->charged_in($table, $model->requests($owner, $from - 10, $to));
    };
    my $most = sum0(map {
        my $is_exact = $_->{status} == 200 && $is_settled->($_) && !_may_be_unsettled($model, $_, @faults);
        $_->{status} == 200 || !$_->{status} ? $is_exact ? units($_) : most($_) : ();
    } @possible) + _counted_only($model, $owner, $table, \@faults, \@possible, $asked);
    return evidence("$what: at most $most units can be counted, Redis counted $count", @shown, @possible) if $count > $most;
    return;
}

# Whether all that nodes held and owed was settled before the window ended. A round settles twice: before the keys are tried
# again, and after it. The workers that a reload ends are not asked.
sub _is_settled_in {
    my ($model, $window, $settled, @faults) = @_;
    return 0 if grep { /^held/ } keys %$settled;
    my $at = max($settled->{at}, map { $_->{end} + $Verify::Model::recovery } grep { $_->{begin} <= $settled->{at} } @faults);
    return ($model->windows($window->{rate}, { begin => $at, end => $at }))[1] <= $window->{number};
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

# These lose no call and no lease. What Sentinels say is needed only for a new connection.
my $harmless = qr/^(?:${\ join '|', Verify::Model::kinds('harmless'), qw(lose_counts step_clock stop_sentinels)})$/;

# How many leases a fault may lose at a node that it concerns.
sub _lost_leases {
    my ($model, $fault) = @_;
    my ($kind, $workers, $timeout) = ($fault->{kind}, $model->config->{workers} // 2, $model->config->{timeout} // 0.5);
    return 0 if $kind =~ $harmless;
    # That of a call under way. What is left of a slice is in the zone.
    return 1 if $kind eq 'kill_worker';
    # The lease of the node, and one for each worker. A slice is a part of a lease. The old workers of a reload return what
    # they have, if Redis is reachable.
    return 1 + $workers if $kind eq 'kill_node';
    return $model->may_lack_redis_during($fault) ? 1 + $workers : 0 if $kind =~ /^(?:resize_zone|move_address)$/;
    # A worker has one call under way for an id. A server that is dead, refuses calls or stands still executes none: those
    # at the begin and at the end may be lost.
    return 2 * $workers unless $kind =~ /^(?:delay|mute|truncate)$/;
    # Here, it executes each call. One that is lost ends at `timeout`, or when the connection is closed, and the next one
    # follows at once.
    my $lasts = $kind eq 'mute' ? min($timeout, $fault->{value}) : $kind eq 'truncate' ? 0.05 : $timeout;
    return $workers * (1 + ceil(($fault->{end} - $fault->{begin}) / max($lasts, 0.05)));
}

# How many calls of a node were lost, at most, because the machine stood still for half of `timeout`, if these requests had
# no reply: the stall was during the call, or during another one whose loss has closed the connection. Requests wait for a
# call together: in the time of `timeout`, a worker loses one that ends then, and one with its connection.
sub _calls_lost_by_stalls {
    my ($model, @requests) = @_;
    my ($timeout, $workers) = ($model->config->{timeout} // 0.5, $model->config->{workers} // 2);
    my ($until, $here, $calls) = (0, 0, 0);
    for my $end (sort { $a <=> $b } map { $_->{end} } grep { $model->stalled($_->{begin} - $timeout, $_->{end}) > $timeout / 2 } @requests) {
        if ($end > $until) { ($until, $here) = ($end + $timeout, 0) }
        $calls++ if ++$here <= 2 * $workers;
    }
    return $calls;
}

# The faults among these that concern a node.
sub _faults_of {
    my ($model, $node, @faults) = @_;
    my %are = map { $_ => 1 } @faults;
    return @faults ? grep { $are{$_} } $model->faults_of($node, min(map { $_->{begin} } @faults), max(map { $_->{end} } @faults)) : ();
}

# The largest lease of an owner at each node. It is at most an eighth of what remains of the smallest window: each id of a
# group and each value leases units of its own. A node leases what it expects to need within a horizon of at most 3 s, by a
# count of what was asked for lately that decays to 1/e within a horizon: it is at most e/(e-1) times the most of any
# horizon. A call may also return a lease that is as large.
sub _largest_leases {
    my ($model, $id, $table, $limit, @requests) = @_;
    my %counters = map { $model->counter($table, $_) => 1 } @requests;
    my $most = ceil($limit / 8) * max($model->members($id), scalar keys %counters);
    return map { my $node = $_; min($most, 3 * _most_asked(grep { $_->{node} == $node } @requests)) } 0 .. $model->nodes - 1;
}

# The most units that requests, in the order of their begin, ask for within 3 s.
sub _most_asked {
    my @requests = @_;
    my ($first, $units, $most) = (0, 0, 0);
    for my $request (@requests) {
        $units += $request->{cost};
        $units -= $requests[ $first++ ]{cost} while $requests[$first]{begin} < $request->{begin} - 3;
        $most = max($most, $units);
    }
    return $most;
}

# What a request did not use goes to the lease of its node. A lease is returned six seconds after its last use at the
# latest; a call with it that is lost ends at `timeout`. Old workers end within the recovery.
sub _may_be_in_lost_lease {
    my ($model, $request, @faults) = @_;
    return 0 unless defined $request->{used};
    return any {
        my $lasts = $_->{kind} =~ /^(?:resize_zone|move_address)$/ ? $Verify::Model::recovery : $model->config->{timeout} // 0.5;
        $request->{end} >= $_->{begin} - 6 && $request->{end} <= $_->{end} + $lasts + $model->stalled($_->{end}, $_->{end} + $Verify::Model::recovery)
    } grep { _lost_leases($model, $_) } _faults_of($model, $request->{node}, @faults);
}

# The units that Redis may have counted for calls and leases of which nothing was granted. `$asked` returns the requests
# that decide how large leases are, if these are others.
sub _counted_only {
    my ($model, $id, $table, $faults, $requests, $asked) = @_;
    return 0 unless @$requests;
    # Redis grants no request that costs more than the limit. A bucket has none.
    my $limit = min(9**99, map { $_->{most} } $model->limits($id, $table, $requests->[0]{begin}, $requests->[-1]{end}));
    my @without_reply = grep { $_->{cost} <= $limit && _may_be_without_reply($model, $_) && $model->may_be_executed($_) } @$requests;
    return 0 unless @$faults || @without_reply;
    my $units = sum0(map { $_->{cost} } @without_reply);
    return $units unless $model->is_leased($table);
    my @lease = _largest_leases($model, $id, $table, $limit, $asked ? $asked->() : @$requests);
    $units += sum0(map { $_->{cost} - least($_) } grep { _may_be_in_lost_lease($model, $_, @$faults) } @$requests);
    for my $node (0 .. $#lease) {
        $units += $lease[$node] * (_calls_lost_by_stalls($model, grep { $_->{node} == $node } @without_reply) + sum0(map { _lost_leases($model, $_) } _faults_of($model, $node, @$faults)));
    }
    return $units;
}

1;
