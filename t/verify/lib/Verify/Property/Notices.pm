package Verify::Property::Notices;

# Each level of `notify` that a window has reached is noticed once, and no other one: what the stream `notices` contains at
# the end of a run.
#
# A level was certainly reached if the grants that Redis has certainly counted in the window come to it. Requests that a
# node granted alone are not certain: it may report them when the window has ended. A level was certainly not reached if
# all that may have been counted, with the leases that nodes hold of the window, is less. If calls may have got no reply,
# each request may have been counted, one that was granted alone twice (Conservation.pm), and nothing is certain of leases.
#
# A loss of counts may have lost the notices of a window, or its level is noticed again: once more for each time. A failover
# may lose notices that the replica did not have. A sliding window reaches a level by an estimate. If the estimate falls
# below the level, or a reservation above what was used is settled, or a node takes back what it granted alone and Redis has
# counted, too, the level is noticed again, at most once in a tenth of the window, and the notice says so. A limit that
# becomes higher is noticed again. Nothing is checked while the clock of Redis steps.

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use List::Util  qw(max min sum0 uniq);
use Verify::Model qw(evidence is_charged least most);

# A failover loses no notice that is older than so many seconds.
my $replicated = 10;

sub check {
    my ($history) = @_;
    return () if $history->of('failure');    # the run ended before it read them
    my $model = Verify::Model->new($history);
    my (%notices, @violations);
    push @{ $notices{"$_->{id} $_->{table} $_->{value}"}{ $_->{period} }{ $_->{number} }{ $_->{level} } }, $_ for $history->of('notice');
    for my $owner ($model->owners) {
        for my $table (grep { $model->config->{tables}{$_}{notify} } $model->used_tables($owner)) {
            my %requests;
            for my $request (grep { is_charged($_) } $model->charged_in($table, $model->requests($owner))) {
                push @{ $requests{ $model->counter($table, $request) } }, $request;
            }
            for my $counter (sort keys %requests) {
                my $noticed = delete $notices{ join ' ', $owner, $table, _value($model, $table, $requests{$counter}[0]) } // {};
                push @violations, _check_counter($model, $owner, $table, $counter, $noticed, @{ $requests{$counter} });
            }
        }
    }
    return (@violations, map { "notices of $_, which nobody has asked for" } sort keys %notices);
}

# The stream has the digest of a value.
sub _value {
    my ($model, $table, $request) = @_;
    my $by = $model->config->{tables}{$table}{by} // 'id';
    return $by eq 'id' ? '' : $by eq 'group' ? 'group' : substr sha256_hex($request->{value}), 0, 16;
}

sub _check_counter {
    my ($model, $owner, $table, $counter, $noticed, @requests) = @_;
    my @violations;
    for my $rate ($model->limits($owner, $table, $requests[0]{begin}, $requests[-1]{end})) {
        my $length = $rate->{period} eq 'month' ? 0 : $rate->{period};
        my %here;    # by window, the requests that may be counted in it
        for my $request (@requests) {
            my ($first, $last) = _windows($model, $rate, $request);
            push @{ $here{$_} }, $request for $first .. $last;
        }
        my $of_period = $noticed->{ $rate->{period} } // {};
        for my $window (sort { $a <=> $b } uniq(keys %here, keys %$of_period)) {
            my @here = @{ $here{$window} // [] };
            my ($from, $to) = @here ? ($here[0]{begin} - $length, max(map { $_->{end} } @here)) : ($requests[0]{begin}, $requests[-1]{end});
            # Redis counts in the window before the step if that is in the future then.
            next if $model->faults($from - 20, $to + $length, 'step_clock');
            my ($limits) = grep { $_->{period} eq $rate->{period} } $model->limits($owner, $table, $from, $to);
            push @violations, map {
                _check_level($model, $owner, $table, "$counter, $rate->{most} per $rate->{period}", $limits, $window, $_, $of_period->{$window}{$_} // [], $from, $to, @here)
            } @{ $model->config->{tables}{$table}{notify} };
        }
    }
    return @violations;
}

# Redis may decide a request after its node has answered it alone, or its client has left.
sub _windows {
    my ($model, $rate, $request) = @_;
    my ($first, $last) = $model->windows($rate, $request);
    return ($first, $last) if $request->{status} == 200 && $request->{verdict} ne 'degraded';
    my %later = (begin => $request->{begin}, end => $request->{end} + ($model->config->{timeout} // 0.5));
    return ($first, ($model->windows($rate, \%later))[1]);
}

# The grants that have certainly counted for a level. What a call reserves for costs that are settled counts when the next
# call comes, or when it is settled, but not in a later window. Of a table with leases, nobody knows when that call comes.
sub _certain {
    my ($model, $table, $limits, @here) = @_;
    my @certain = grep { $_->{status} == 200 && $_->{verdict} ne 'degraded' && defined $model->window($limits, $_) } @here;
    my $last = $model->is_leased($table) ? -9**99 : max(-9**99, map { $_->{begin} } @certain);
    return grep { !$model->settles($_, $table) || ($_->{by} // $_->{end}) < $last } @certain;
}

sub _check_level {
    my ($model, $owner, $table, $name, $limits, $window, $level, $notices, $from, $to, @here) = @_;
    my $losses = $model->faults($from, $to + $replicated, 'loss');
    my @shown = map { "notice $_->{entry}: $_->{used} of $_->{limit} were used" } @$notices;
    # A limit that becomes higher has levels of its own. A repeated notice says so.
    my (%times, %first);
    $times{ $_->{limit} }++ for @$notices;
    $first{ $_->{limit} }++ for grep { !$_->{again} } @$notices;
    my ($times, $first) = map { max(0, values %$_) } \%times, \%first;
    my $again = $limits->{sliding} || grep({ defined $_->{used} || ($_->{verdict} // '') eq 'degraded' } @here) ? 10 : 0;
    return evidence("$name: $level% of window $window is noticed $times times, after $losses losses of counts", @shown, @here)
        if $times > 1 + $losses + $again || $first > 1 + $losses;
    return if $limits->{sliding};
    if (!@$notices) {
        my @certain = _certain($model, $table, $limits, @here);
        my $units = sum0(map { least($_) } @certain);
        return evidence("$name: $level% of window $window is not noticed, after $units units", @certain) if !$losses && 100 * $units >= $level * $limits->{most};
        return;
    }
    my $is_vague = $model->faults($from - 10, $to) || $model->stalled($from - 2, $to) > 0.3;
    return if $is_vague && $model->is_leased($table);
    my @possible = grep { $is_vague || $_->{status} =~ /^(?:0|200)$/ } @here;
    my $units = sum0((map { most($_) } @possible), map { $_->{cost} } grep { ($_->{verdict} // '') eq 'degraded' } @possible) + $model->held($table, $owner, $limits->{least});
    return evidence("$name: $level% of window $window is noticed, after at most $units units", @shown, @possible) if 100 * $units < $level * $limits->{least};
    return;
}

1;
