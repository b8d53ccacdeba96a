package Verify::Property::Safety;

# In no window are more units granted than its limit: to an id, to a value of an id, and to all ids of a group together.
#
# Units that Redis or a lease granted (verdict `granted`) never exceed the limit, whatever faults there are, unless Redis
# has lost counts: each loss gives at most the limit once more. Units that nodes granted alone (`degraded`, with
# on_failure local) come in addition: each node at most the limit, and once more for each time that it lost what it knew.
# With a full zone, that may be each outage: a quota that owes nothing is evicted before.
# Only what is certain counts: a grant whose window is not certain is left out. What a request uses in addition to its cost
# is not known when it is granted, so it may exceed the limit; what it does not use is granted to others. A response does
# not show more units as left than its window certainly has: what other windows get back does not belong to it.

use strict;
use warnings;
use List::Util qw(max min sum0);
use Verify::Model qw(evidence least);
use Verify::Property::Atomicity;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my @violations;
    for my $owner ($model->owners) {
        for my $table ($model->used_tables($owner)) {
            my %grants;
            push @{ $grants{ $model->counter($table, $_) } }, $_ for $model->grants($owner, $table);
            for my $counter (sort keys %grants) {
                my @grants = @{ $grants{$counter} };
                # The limits of a time: without changes of limits, those of the whole run.
                for my $rate ($model->limits($owner, $table, $grants[0]{begin}, $grants[-1]{end})) {
                    push @violations, _check_rate($model, $owner, $table, $rate, @grants), _check_shown($model, $owner, $table, $rate, @grants);
                }
                push @violations, _check_bucket($model, $counter, $model->bucket($owner, $table), @grants);
            }
        }
    }
    return @violations;
}

sub _check_rate {
    my ($model, $id, $table, $rate, @grants) = @_;
    my (%in, @violations);
    for my $grant (@grants) {
        my $window = $model->window($rate, $grant);
        push @{ $in{$window} }, $grant if defined $window;
    }
    my $length = $rate->{period} eq 'month' ? 0 : $rate->{period};
    my $name = $model->counter($table, $grants[0]) . ", $rate->{most} per $rate->{period}";
    for my $window (sort { $a <=> $b } keys %in) {
        my @here = @{ $in{$window} };
        my ($from, $to) = ($here[0]{begin} - $length, $here[-1]{end});
        next if $length && $model->faults($from - 20, $to, 'step_clock');
        my ($limit) = map { $_->{most} } grep { $_->{period} eq $rate->{period} } $model->limits($id, $table, $here[0]{begin}, $to);
        my @by_redis = grep { $_->{verdict} ne 'degraded' } @here;
        my $losses = $model->faults($from, $to, 'loss');
        my $units = sum0(map { least($_) } @by_redis);
        if ($units > $limit * (1 + $losses)) {
            push @violations, evidence("$name: $units units were granted in window $window, after $losses losses of counts", @by_redis);
        }
        elsif (!$losses && $rate->{sliding} && $in{ $window - 1 } && !$model->faults($from - $length, $to, 'costly')) {
            push @violations, _check_sliding($model, $name, $rate, $limit, $window, $in{ $window - 1 }, \@by_redis);
        }
        push @violations, _check_shares($model, $name, $limit, $window, $rate, @here);
        push @violations, _check_alone($model, $name, $limit, $window, $from, $to, @here);
    }
    return @violations;
}

# A sliding window counts the units of the window before by the share of it that it still covers.
sub _check_sliding {
    my ($model, $name, $rate, $limit, $window, $before, $here) = @_;
    my $previous = sum0(map { least($_) } grep { $_->{verdict} ne 'degraded' } @$before);
    my $end = ($window + 1) * $rate->{period};
    my @by_end = sort { $a->{end} <=> $b->{end} } @$here;
    my $units = 0;
    for my $grant (@by_end) {
        $units += least($grant);
        my $rest = ($end - $grant->{redis_time}[1]) / $rate->{period};
        next if $previous * $rest + $units <= $limit;
        return evidence(sprintf('%s: %d units in the window before count %.2f, and %d are granted in window %d', $name, $previous, $previous * $rest, $units, $window),
            @by_end);
    }
    return;
}

# In any time, a bucket grants no more than its burst and the tokens that it gets in this time. It is full again each time
# that counts are lost. In a failover, two masters may serve for a time, of which each has a bucket that gets tokens. Nodes
# that are alone have buckets of their own.
sub _check_bucket {
    my ($model, $name, $bucket, @grants) = @_;
    return unless $bucket;
    my (%of, @violations);
    for my $grant (@grants) {
        my ($from, $to) = $model->decided($grant);
        # Redis's clock has no steps here.
        push @{ $of{ $grant->{verdict} eq 'degraded' ? $grant->{node} : '' } }, [$from, $to, $grant] unless $model->faults($grant->{begin} - 20, $grant->{end}, 'step_clock');
    }
    for my $node (sort keys %of) {
        my @by_end = sort { $a->[1] <=> $b->[1] } @{ $of{$node} };
        for my $first (0 .. $#by_end) {
            my ($from, $units) = ($by_end[$first][0], 0);
            for my $last ($first .. $#by_end) {
                my ($begin, $to, $grant) = @{ $by_end[$last] };
                last if $to - $from > 30;
                next if $begin < $from;
                $units += least($grant);
                next if $units <= $bucket->{burst} + $bucket->{rate} * ($to - $from);
                my @times = ($by_end[$first][2]{begin}, $grant->{end});
                my @losses = length $node ? () : $model->faults(@times, 'loss');
                my $times = length $node ? _times_forgotten($model, $node, @times) : @losses;
                my $of_two = sum0(map { max(0, min($_->{end} + $Verify::Model::recovery, $times[1]) - max($_->{begin}, $times[0])) } grep { $_->{kind} ne 'lose_counts' } @losses);
                next if $units <= (1 + $times) * $bucket->{burst} + $bucket->{rate} * ($to - $from + $of_two);
                push @violations, evidence(sprintf('%s: %s%d units were granted within %.3f s, with a burst of %d and %d tokens a second', $name,
                    length $node ? "node $node alone: " : '', $units, $to - $from, $bucket->{burst}, $bucket->{rate}), map { $_->[2] } @by_end[$first .. $last]);
                return @violations;
            }
        }
    }
    return @violations;
}

# What is left of a window after each grant. The cost of others counts until they end.
sub _check_shown {
    my ($model, $id, $table, $rate, @grants) = @_;
    return if $model->is_leased($table) || $rate->{sliding} || $rate->{period} eq 'month';
    for my $i (0 .. $#grants) {
        my $seen = $grants[$i];
        my $window = $model->window($rate, $seen) // next;
        my $left = Verify::Property::Atomicity::remaining($model, $seen, $table)->{ $rate->{period} } // next;
        next if $model->faults($seen->{begin} - 10, $seen->{end}, 'costly');
        my @before;
        for (my $j = $i - 1; $j >= 0 && $grants[$j]{begin} > $seen->{begin} - $rate->{period} - 1; --$j) {
            my $grant = $grants[$j];
            push @before, $grant if ($grant->{by} // $grant->{end}) < $seen->{begin} && ($model->window($rate, $grant) // -1) == $window;
        }
        next if grep { $_->{verdict} eq 'degraded' } @before, $seen;    # Redis learns them later
        next if $model->faults($seen->{begin} - $rate->{period}, $seen->{end}, 'places');    # the counts of this window may be lost
        my $taken = $seen->{cost} + sum0(map { $_->{end} - 0.1 > $seen->{end} ? $_->{cost} : least($_) } @before);
        return evidence("$id in $table, $rate->{most} per $rate->{period}: $left units are left in window $window, of which at least $taken are taken", reverse(@before), $seen)
            if $left > $rate->{most} - $taken;
    }
    return;
}

# In an outage that contains the whole window, all nodes together grant at most twice the limit and one for each node
# (module/README.md: Several nodes in an outage).
sub _check_shares {
    my ($model, $name, $limit, $window, $rate, @here) = @_;
    return if $rate->{period} eq 'month' || $rate->{sliding};
    my ($from, $to) = (@here[0, -1]);
    my @alone = grep { $_->{verdict} eq 'degraded' } @here;
    my $units = sum0(map { least($_) } @alone);
    return if $units <= 2 * $limit + $model->nodes;
    # Earlier faults may have made nodes forget the others.
    return if $model->faults($from->{begin} - 15, $to->{end}, 'forget');
    my $offset = $from->{redis_time}[0] - $from->{begin};
    my ($begin, $end) = map { $_ * $rate->{period} - $offset } $window, $window + 1;
    my @outage = grep { $_->{begin} < $begin && $_->{end} > $end } $model->faults($from->{begin}, $to->{end}, 'full_outage');
    return @outage ? evidence("$name: all nodes granted $units units alone in window $window", @alone) : ();
}

# How often a node may have lost what it granted alone.
sub _times_forgotten {
    my ($model, $node, $from, $to) = @_;
    my $times = (() = $model->faults_of($node, $from, $to, 'forget')) + (() = $model->faults_of($node, $from, $to, 'loss'));
    $times += max(0, (() = $model->faults_of($node, $from, $to, 'outage')) - 1) if $model->config->{small_zone};
    return $times;
}

sub _check_alone {
    my ($model, $name, $limit, $window, $from, $to, @here) = @_;
    my %alone;
    push @{ $alone{ $_->{node} } }, $_ for grep { $_->{verdict} eq 'degraded' } @here;
    return map {
        my @grants = @{ $alone{$_} };
        my $units = sum0(map { least($_) } @grants);
        my $allowed = $model->config->{on_failure} eq 'local' ? $limit * (1 + _times_forgotten($model, $_, $from, $to)) : 0;
        $units > $allowed ? evidence("$name: node $_ granted $units units alone in window $window; $allowed are allowed", @grants) : ();
    } sort keys %alone;
}

1;
