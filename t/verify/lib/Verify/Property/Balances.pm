package Verify::Property::Balances;

# No balance grants more than was credited, no credit is lost or made twice, and none is refused while units are left.
#
# A credit has a reference. It is made once, however often it is asked for; one that was never acknowledged may have been
# made or not. What an id was granted by Redis or from a lease is never more than its credits so far. In a failover, a
# replica may not know what was spent shortly before, so that may be granted again. In an outage, with on_failure local,
# each node may spend its share of what it saw last, each time: at most of the most that was left until then.
#
# Redis stores what is left and the sum of all credits. The difference is what the days of the id have counted, at any
# time: one script writes both. The sum grows by the credits of a round. Deleted counts take a balance with them.
#
# A refused request is judged if its round has no fault before it: then what was left at the end of the round before, and
# what was credited and used since, are known. With leases, nodes may hold an eighth each of what is left. While a node asks
# Redis, it refuses further requests by what it knew before: such a refusal is not judged.

use strict;
use warnings;
use List::Util   qw(any max sum0);
use Verify::Model qw(evidence least most);
use Verify::Property::Conservation;

# What a replica may lack, in seconds before a failover.
my $replicated = 10;
# A request without an answer may be executed so many seconds later.
my $late = 20;

# How many 429 were judged, in all checks of this process.
our $judged = 0;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my $counted = Verify::Property::Conservation::counted($history);
    my @violations;
    for my $id (sort keys %{ $model->config->{ids} }) {
        for my $table (grep { $model->balance($id, $_) } $model->tables_of($id)) {
            my @credits = _credits($history, $id);
            my @states = _states($history, $counted, $id, $table);
            push @violations, _check_granted($model, $id, $table, \@credits), _check_stored($model, $id, $table, \@credits, @states),
                _check_refusals($model, $id, $table, \@credits, @states);
        }
    }
    return @violations;
}

# Each credit: its units, and when it was first asked for, last asked for, and acknowledged. One that may be undone is not
# acknowledged.
sub _credits {
    my ($history, $id) = @_;
    my %of;
    for my $operation (grep { $_->{kind} eq 'credit' && $_->{id} eq $id && $_->{status} !~ /^4/ } $history->of('op')) {
        my ($units, $reference) = split ' ', $operation->{value};
        my $credit = $of{$reference} //= { units => $units, reference => $reference, begin => $operation->{begin} };
        $credit->{end} = $operation->{end};
        $credit->{acknowledged} //= $operation if $operation->{status} =~ /^2/ && !$operation->{durability};
    }
    return sort { $a->{begin} <=> $b->{begin} } values %of;
}

# What Redis has of the balance at the end of each round: { round, left, credited, counted }.
sub _states {
    my ($history, $counted, $id, $table) = @_;
    my %of = map { $_->{round} => $_ } grep { $_->{id} eq $id && $_->{table} eq $table } $history->of('quota');
    return map {
        my $quota = $of{ $_->{number} } // {};
        +{ round => $_, left => $quota->{'balance.left'} // 0, credited => $quota->{'balance.credited'} // 0, counted => $counted->{ $_->{number} }{$id}{$table} // 0 };
    } $history->rounds;
}

sub _units { return sum0(map { $_->{units} } @_) }

sub _check_granted {
    my ($model, $id, $table, $credits) = @_;
    my @grants = sort { $a->{end} <=> $b->{end} } $model->grants($id, $table);
    my ($granted, $credited, $most, $next) = (0, 0, 0, 0);
    my %alone;
    for my $grant (@grants) {
        $credited += $credits->[ $next++ ]{units} while $next < @$credits && $credits->[$next]{begin} < $grant->{end};
        $most = max($most, $credited - $granted);
        if ($grant->{verdict} eq 'degraded') { $alone{ $grant->{node} } += least($grant) }
        else                                 { $granted += least($grant) }
        my @so_far = ($grants[0]{begin}, $grant->{end});
        if ($granted > $credited) {
            my @failovers = grep { $_->{kind} ne 'lose_counts' } $model->faults(@so_far, 'loss');
            my $again = sum0(map {
                my $failover = $_;
                sum0(map { least($_) } grep { $_->{end} > $failover->{begin} - $replicated && $_->{begin} < $failover->{end} + $Verify::Model::recovery } @grants)
            } @failovers);
            return evidence("$id in $table: $granted units were granted, of $credited", $grant) if $granted > $credited + $again;
        }
        next unless $grant->{verdict} eq 'degraded';
        my $share = $model->config->{on_failure} eq 'local' ? $most / $model->nodes + 1 : 0;
        my $times = (() = $model->faults_of($grant->{node}, @so_far, 'outage')) + (() = $model->long_stalls(@so_far));
        my $alone = $alone{ $grant->{node} };
        return evidence("$id in $table: node $grant->{node} granted $alone units alone, of at most $most, in $times times", $grant) if $alone > $times * $share;
    }
    return;
}

sub _check_stored {
    my ($model, $id, $table, $credits, @states) = @_;
    my ($before, @violations) = { left => 0, credited => 0, counted => 0 };
    for my $state (@states) {
        my ($round, $left, $credited, $counted) = @$state{qw(round left credited counted)};
        my @losses = $model->faults($round->{begin}, $round->{end}, 'loss');
        my $what = "round $round->{number}, $id in $table";
        if (!grep { $_->{kind} eq 'lose_counts' } @losses) {
            my ($spent, $grown) = ($credited - $left - $before->{credited} + $before->{left}, $counted - $before->{counted});
            push @violations, "$what: $spent units were spent, its days have counted $grown" if $spent != $grown;
        }
        if (!@losses) {
            my @here = grep {
                $_->{end} >= $round->{begin} - $late && $_->{begin} <= $round->{end}
                    && !($_->{acknowledged} && $_->{acknowledged}{end} < $round->{begin})
            } @$credits;
            my @certain = grep { $_->{begin} >= $round->{begin} && $_->{acknowledged} && $_->{acknowledged}{end} <= $round->{end} } @here;
            my ($least, $most, $is) = (_units(@certain), _units(@here), $credited - $before->{credited});
            push @violations, "$what: $is units were credited, at least $least and at most $most must be" if $is < $least || $is > $most;
        }
        $before = $state;
    }
    return @violations;
}

sub _check_refusals {
    my ($model, $id, $table, $credits, @states) = @_;
    my ($before, @violations);
    for my $state (@states) {
        my ($round, $last) = ($state->{round}, $before);
        $before = $state;
        my @requests = $model->requests($id, $round->{begin}, $round->{end});
        for my $request (grep { $_->{status} == 429 && ($_->{code} // '') eq 'balance_exhausted' } @requests) {
            last if $model->faults($round->{begin} - $Verify::Model::recovery, $request->{end}, 'costly') || $model->faults($round->{begin}, $request->{end}, 'rename_redis');
            next if any { $_ != $request && $_->{node} == $request->{node} && $_->{begin} <= $request->{begin} && $_->{end} >= $request->{end} } @requests;
            my @credited = grep { $_->{acknowledged} && $_->{begin} > $round->{begin} && $model->noticed_by($_->{acknowledged}) < $request->{begin} } @$credits;
            my @used = grep { $_->{begin} < $request->{end} && $_->{status} =~ /^(?:0|200)$/ } @requests;
            my $there = ($last ? $last->{left} : 0) + _units(@credited);
            my $left = $there - sum0(map { most($model->charged($_, $table)) } @used);
            my $held = $model->is_leased($table) ? $model->nodes / 8 * max(0, $there) : 0;
            ++$judged;
            push @violations, evidence("$id in $table: refused while at least $left units are left", $request) if $left - $held >= $model->needs($request, $table);
        }
    }
    return @violations;
}

1;
