package Verify::Property::Refusals;

# No wrong refusal: no 401 or 403 for a good key, no 5xx but 503 `service_unavailable` in an outage, and with `local` not
# for keys that the node knows, no 429 while the quota certainly has room, no Retry-After that is too early; no late answer
# of a request that needs no Redis; no crash, no alert; descriptors and memory do not grow.

use strict;
use warnings;
use List::Util qw(first max min sum0 uniq);
use Verify::Model qw(evidence is_charged most);

# A client gives up after 15 s.
my $longest = 15;
# A node returns a place that was not used for a second, and looks twice a second. Those of a killed node are kept for
# ten seconds.
my ($returned, $kept) = (2, 10.5);

# Seconds. A worker that waits for Redis would need `timeout`.
my $prompt = 0.25;

# How many 429 of quotas were judged by the units that were left, in all checks of this process.
our $judged = 0;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    return (_check_answers($model), _check_known_keys($model), _check_promptness($model), _check_refusals($model), _check_processes($model));
}

sub _check_answers {
    my ($model) = @_;
    my $history = $model->history;
    my @violations;
    my %life;
    push @{ $life{ $_->{id} } }, $_ for $history->changes;
    for my $request (grep { $_->{id} ne '-' && $_->{status} } $history->of('req')) {
        my ($status, $code) = ($request->{status}, $request->{code} // '');
        if ($status =~ /^40[13]$/) {
            next if $life{ $request->{id} } && !_is_good($model, $life{ $request->{id} }, $request);
            push @violations, evidence('a good key is refused', $request);
        }
        elsif ($status == 503) {
            push @violations, evidence('503 without its fields', $request) if $code ne 'service_unavailable' || ($request->{retry} // '') !~ /^[1-9]\d*$/;
            push @violations, evidence('503 without an outage', $request) unless $model->may_lack_redis($request) || $model->may_lack_record($request);
        }
        elsif ($status == 429) {
            if ($code eq 'cost_exceeds_limit') {    # it would never be granted: no Retry-After
                push @violations, evidence('a cost within the limit', $request) if length($request->{retry} // '') || $request->{cost} <= ($request->{limit} // 'inf');
                next;
            }
            # Nobody knows when a balance is credited.
            my $must_retry = $code ne 'balance_exhausted' || length($request->{retry} // '');
            push @violations, evidence('429 without its fields', $request)
                if $code !~ /^(?:rate_limit_exceeded|api_key_banned|too_many_in_flight|balance_exhausted)$/ || $must_retry && ($request->{retry} // '') !~ /^[1-9]\d*$/;
        }
        elsif ($status != 200) {
            push @violations, evidence("an answer with the status $status", $request);
        }
        elsif ($request->{verdict} eq 'degraded') {
            push @violations, evidence('granted alone without an outage', $request) unless $model->may_lack_redis($request);
        }
    }
    return @violations;
}

# With `local`, a node without Redis serves each key that it knows. It knows one that it has served before, unless the key
# or its group has changed, or the node has lost its zone. A zone notes changes in sets: when many keys have changed, it
# may take a key for changed, but not several ones at a time.
my $several = 3;

sub _check_known_keys {
    my ($model) = @_;
    my ($history, $config) = ($model->history, $model->config);
    return if ($config->{on_failure} // '') ne 'local' || $config->{small_zone};    # a full zone may have no room
    my %is_changed = map { $_->{id} => 1 } $history->changes;
    my (%refused, @violations);
    for my $id (grep { my $group = $model->group($_); !$is_changed{$_} && !(defined $group && $is_changed{$group}) } sort keys %{ $config->{ids} }) {
        my %served;    # the last requests that a node has served: some are under way at the same time
        for my $request ($history->requests($id)) {
            my $of_node = $served{ $request->{node} } //= [];
            if ($request->{status} == 200) {
                push @$of_node, $request;
                shift @$of_node if @$of_node > 20;
            }
            next unless $request->{status} == 503 && $model->has_place($request);
            my $served = first { $_->{end} < $request->{begin} } reverse @$of_node;
            push @{ $refused{ $request->{node} } }, [$request, $served]
                if $served && !$model->faults_of($request->{node}, $served->{begin}, $request->{end}, 'forget');
        }
    }
    for my $node (sort keys %refused) {
        my @near;
        for my $pair (sort { $a->[0]{begin} <=> $b->[0]{begin} } @{ $refused{$node} }) {
            @near = ((grep { $_->[0]{begin} > $pair->[0]{begin} - $Verify::Model::recovery } @near), $pair);
            next if uniq(map { $_->[0]{id} } @near) < $several;
            push @violations, evidence("503 for keys that node $node has served", map { @$_[1, 0] } @near);
            @near = ();
        }
    }
    return @violations;
}

# A worker answers a request without a valid key at once, whatever Redis does, unless it is killed or stopped.
sub _check_promptness {
    my ($model) = @_;
    return map { evidence('a late answer that needs no Redis', $_) } grep {
        ($_->{sends} // '') =~ /^(?:nothing|wrong)$/ && $_->{status}
            && $_->{end} - $_->{begin} > $prompt
            && $_->{end} - $_->{begin} - $model->stalled($_->{begin}, $_->{end}) - $model->client_waited($_->{begin}, $_->{end}) > $prompt
            && !$model->faults_of($_->{node}, $_->{begin}, $_->{end}, 'node') && !$model->faults_of($_->{node}, $_->{begin}, $_->{end}, 'stop_worker')
    } $model->history->requests('-');
}

# Whether a key was certainly valid: its issue or its last enabling was acknowledged before the request, and nothing else
# began before the request ended. A node learns a change within 200 ms, or after a fault later: new workers, within a
# second, when they are subscribed.
my $subscribed = 2;

sub _is_good {
    my ($model, $operations, $request) = @_;
    my ($last) = grep { $_->{begin} < $request->{end} } reverse @$operations;
    return if !$last || $last->{kind} !~ /^(?:issue|plan|enable)$/ || grep { $_->{status} !~ /^2/ } @$operations;
    my @of_node = map { [$model->faults_of($request->{node}, $last->{begin} - 1, $request->{begin}, $_)] } qw(costly harmless);
    return $request->{begin} > max($last->{end} + $Verify::Model::announced, (map { $_->{end} + $Verify::Model::recovery } @{ $of_node[0] }), map { $_->{end} + $subscribed } @{ $of_node[1] });
}

sub _check_refusals {
    my ($model) = @_;
    my $history = $model->history;
    my @violations;
    for my $id (grep { $model->config->{ids}{$_} } $history->ids) {
        my @requests = $history->requests($id);
        # By counter and period: units that may have been counted in a window, sorted by time. Other ids of the group may
        # have used them.
        my %possible;
        for my $request ($model->requests($model->group($id) // $id)) {
            next if $request->{status} && $request->{status} != 200;
            for my $table ($model->tables($request)) {
                my $charged = $model->charged($request, $table);
                next unless is_charged($charged);
                $charged->{most} = most($charged);
                my $counter = $possible{ $model->counter($table, $request) } //= {};
                for my $rate ($model->limits($request->{id}, $table, $request->{begin}, $request->{end})) {
                    my ($first, $last) = $model->windows($rate, $request);
                    push @{ $counter->{ $rate->{period} }{$_} }, $charged for $first .. $last;
                }
                push @{ $counter->{bucket}{ int $request->{begin} } }, $charged if $model->bucket($request->{id}, $table);
            }
        }
        my $near = 0;    # of the requests, the first one that may have lasted until this one
        for my $request (grep { $_->{status} == 429 && ($_->{code} // '') =~ /^(?:rate_limit_exceeded|too_many_in_flight)$/ } @requests) {
            next if $model->stalled($request->{begin} - 2, $request->{end}) > 0.3;
            if ($request->{code} eq 'too_many_in_flight') {
                # The places of a call without a reply are kept.
                next if $model->long_stalls($request->{begin} - $kept, $request->{end}) || grep { $_->{kind} ne 'kill_worker' } $model->faults($request->{begin} - $kept, $request->{end}, 'costly');
                ++$near while $requests[$near]{begin} < $request->{begin} - $longest - $returned;
                push @violations, _check_places($model, $request, \@requests, $near);
                next;
            }
            push @violations, _check_room($model, \%possible, $request);
            push @violations, _check_retry($model, $request) unless $model->faults_of($request->{node}, $request->{begin}, $request->{end}, 'costly');
        }
    }
    return @violations;
}

sub _check_places {
    my ($model, $request, $requests, $near) = @_;
    my $limit = $model->in_flight($request->{id}) // 0;
    my @others;
    for (my $i = $near; $i < @$requests && $requests->[$i]{begin} < $request->{end}; ++$i) {
        my $other = $requests->[$i];
        push @others, $other if $other != $request && $other->{status} =~ /^(?:0|200)$/ && $other->{end} + $returned > $request->{begin};
        return if @others >= $limit;
    }
    return evidence("refused while places are free: $limit requests may be in flight", @others, $request);
}

# Whether Redis may have counted units that nobody was granted, since a time of Redis's clock.
sub _may_have_lost_units {
    my ($model, $request, $since) = @_;
    return scalar $model->may_cost_units($request, $request->{begin} - ($request->{redis_time}[1] - $since));
}

# With leases, nodes hold a part of what remains.
sub _check_room {
    my ($model, $possible, $request) = @_;
    my @windows;
    for my $table ($model->tables($request)) {
        my $cost = $model->needs($request, $table) or next;
        my $counter = $model->counter($table, $request);
        if (my $bucket = $model->bucket($request->{id}, $table)) {
            return if _may_have_lost_units($model, $request, ($model->decided($request))[0] - 4 * $bucket->{burst} / $bucket->{rate});
            my $left = _left_in_bucket($model, $bucket, $possible->{$counter}{bucket}, $request);
            if ($left < $cost) { ++$judged; return }
            push @windows, sprintf '%s, bucket of %d: at least %.1f tokens were left', $counter, $bucket->{burst}, $left;
        }
        for my $rate ($model->limits($request->{id}, $table, $request->{begin} - 1, $request->{end})) {
            my ($first, $last) = $model->windows($rate, $request);
            return if _may_have_lost_units($model, $request, _begin_of($rate, $first));
            my $held = $model->held($table, $model->owner($table, $request->{id}), $rate->{least});
            for my $window ($first .. $last) {
                my $in = $possible->{$counter}{ $rate->{period} };
                my $units = sum0(map { $_->{most} } grep { $_->{begin} < $request->{end} } @{ $in->{$window} // [] });
                my $before = $rate->{sliding} ? sum0(map { $_->{most} } @{ $in->{ $window - 1 } // [] }) : 0;
                # The share of the window before, and its rounding.
                $before = 1 + $before * (1 - max(0, $request->{redis_time}[0] / $rate->{period} - $window)) if $before;
                if ($units + $before + $held + $cost > $rate->{least}) { ++$judged; return }
                push @windows, sprintf '%s, window of %s: at most %.1f of %d units were used', $counter, $rate->{period}, $units + $before, $rate->{least};
            }
        }
    }
    ++$judged;
    return evidence('refused while the quota has room', @windows, $request);
}

# When the units of a window may have been counted first. A month is so long that faults before it are never known.
sub _begin_of {
    my ($rate, $window) = @_;
    return 0 if $rate->{period} eq 'month';
    return $rate->{period} * ($rate->{sliding} ? $window - 1 : $window);
}

# The tokens that are certainly left: each request that may have been granted took them as late as possible.
sub _left_in_bucket {
    my ($model, $bucket, $by_second, $request) = @_;
    my ($from, $to) = $model->decided($request);
    # The bucket may have been empty at first. The longer ago that was, the less it matters.
    my $fills = $bucket->{burst} / $bucket->{rate};
    my ($owes, $at) = ($bucket->{burst}, $from - 4 * $fills);
    my @before = map { @{ $by_second->{$_} // [] } } int($request->{begin} - 4 * $fills - $longest) .. int $request->{end};
    for my $other (sort { $a->[1] <=> $b->[1] } map { [$model->decided($_), $_] } @before) {
        my ($begin, $end) = @$other;
        next if $begin > $to || $end < $at;
        $end = min($end, $from);
        $owes = max(0, $owes - $bucket->{rate} * ($end - $at)) + $other->[2]{most};
        $at = $end;
    }
    return $bucket->{burst} - max(0, $owes - $bucket->{rate} * ($from - $at));
}

# Without leases, Retry-After is never earlier than the reset of the window, and less than a second and the precision of
# clocks later.
sub _check_retry {
    my ($model, $request) = @_;
    return unless $request->{reset} && $request->{retry};
    my ($from, $to) = $model->decided($request);
    return if grep { $model->bucket($request->{id}, $_) } $model->tables($request);    # its reset is when it is full, unless it refused
    my $is_leased = grep { $model->is_leased($_) } $model->tables($request);
    my $is_sliding = grep { $_->{sliding} } map { $model->limits($request->{id}, $_, $request->{begin}, $request->{end}) } $model->tables($request);
    return evidence('Retry-After is before the reset', $request) if !$is_leased && !$is_sliding && $to + $request->{retry} < $request->{reset};
    return evidence('Retry-After is more than a second after the reset', $request) if !$is_sliding && $from + $request->{retry} > $request->{reset} + 2;
    return;
}

sub _check_processes {
    my ($model) = @_;
    my $history = $model->history;
    my @violations = map { "node $_->{node}: $_->{line}" } $history->of('complaint');
    my %of;
    push @{ $of{ defined $_->{node} ? "node $_->{node}" : "Redis $_->{server}" } }, $_ for $history->of('resources');
    for my $name (sort keys %of) {
        # The first sample is from before any traffic.
        my (undef, $first, @later) = @{ $of{$name} };
        next unless @later;
        my %allowed = (fds => 48, rss => 4096, memory => 16 << 20);
        for my $what (grep { defined $first->{$_} } sort keys %allowed) {
            my $last = $later[-1]{$what};
            push @violations, "$name: $what has grown from $first->{$what} to $last" if $last > $first->{$what} + $allowed{$what};
        }
    }
    return @violations;
}

1;
