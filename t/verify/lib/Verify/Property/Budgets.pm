package Verify::Property::Budgets;

# The budgets of addresses (`anonymous`): a node answers requests without a valid key with 401, and takes one from each
# window of their address's budget. It answers 429 if one of them has nothing left, and takes nothing then.
#
# Each node has budgets of its own, in the zone, by its own clock. A node that loses its zone begins with whole budgets
# again. Only what is certain counts: the 401s of a window lie between those that certainly are in it and those that may be.
# While Redis is unreachable, a key that would have to be looked up gets 503, and nothing is taken.

use strict;
use warnings;
use List::Util qw(max);
use Verify::Model qw(evidence);

# A node reads its clock at most so many seconds before or after a request is under way.
my $node_clock = 0.05;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my $self = { model => $model, margin => max(0, map { abs($_->{wall} // 0) } $history->rounds) + $node_clock };
    my (%requests, @violations);
    for my $request ($history->of('req')) {
        my ($table) = $model->tables($request);
        my $rates = ($model->config->{tables}{ $table // '' } // {})->{anonymous};
        push @{ $requests{$table}{ $request->{address} // '-' }{ $request->{node} } }, $request
            if $rates && ($request->{id} eq '-' || $request->{status} == 401);
    }
    for my $table (sort keys %requests) {
        for my $address (sort keys %{ $requests{$table} }) {
            for my $node (sort keys %{ $requests{$table}{$address} }) {
                push @violations, _check_budget($self, "the budget of address $address in $table at node $node",
                    $model->config->{tables}{$table}{anonymous}, @{ $requests{$table}{$address}{$node} });
            }
        }
    }
    return @violations;
}

sub _check_budget {
    my ($self, $name, $rates, @requests) = @_;
    my (%certain, %possible, @violations);
    for my $request (@requests) {
        next unless $request->{status} =~ /^(?:0|401)$/;
        for my $rate (@$rates) {
            my ($first, $last) = _windows($self, $rate, $request);
            push @{ $possible{ $rate->[1] }{$_} }, $request for $first .. $last;
            push @{ $certain{ $rate->[1] }{$first} }, $request if $first == $last && $request->{status};
        }
    }
    for my $rate (@$rates) {
        my ($limit, $period) = @$rate;
        for my $window (sort { $a <=> $b } keys %{ $certain{$period} }) {
            my @here = @{ $certain{$period}{$window} };
            my $begins = 1 + _times_forgotten($self, $here[0]{node}, $window * $period, ($window + 1) * $period);
            push @violations, evidence("$name, $limit per $period: " . @here . " requests got 401 in window $window; "
                . $limit * $begins . ' may', @here) if @here > $limit * $begins;
        }
    }
    for my $request (@requests) {
        push @violations, $request->{status} == 401 ? _check_shown($self, $name, $rates, \%certain, \%possible, $request)
            : $request->{id} eq '-' ? _check_refusal($self, $name, $rates, \%possible, $request) : ();
    }
    return @violations;
}

sub _windows {
    my ($self, $rate, $request) = @_;
    return (int(($request->{begin} - $self->{margin}) / $rate->[1]), int(($request->{end} + $self->{margin}) / $rate->[1]));
}

# How often a node began with an empty zone in this time.
sub _times_forgotten {
    my ($self, $node, $from, $to) = @_;
    return scalar grep { $_->{kind} =~ /^(?:kill_node|resize_zone)$/ && $_->{node} == $node && $_->{begin} - $self->{margin} <= $to && $_->{end} + $self->{margin} >= $from }
        $self->{model}->faults($from, $to);
}

# What a 401 shows as the rest of each window. Other requests may be under way at the same time.
sub _check_shown {
    my ($self, $name, $rates, $certain, $possible, $request) = @_;
    my @rest = ($request->{rl} // '') =~ /"[^"]*";r=(\d+);t=\d+/g;
    return evidence("$name is not shown", $request) if @rest != @$rates;
    for my $i (0 .. $#rest) {
        my ($limit, $period) = @{ $rates->[$i] };
        my ($window, $last) = _windows($self, $rates->[$i], $request);
        next if $window != $last || _times_forgotten($self, $request->{node}, $window * $period, $request->{end});
        my $least = grep { $_->{end} < $request->{begin} } @{ $certain->{$period}{$window} // [] };
        my $most = grep { $_->{begin} < $request->{end} && $_ != $request } @{ $possible->{$period}{$window} // [] };
        next if $least >= $limit;    # reported above
        return evidence(sprintf('%s, %d per %d: %d are left, after at least %d and at most %d requests', $name, $limit, $period, $rest[$i], $least, $most),
            $request) if $rest[$i] > $limit - $least - 1 || $rest[$i] < $limit - $most - 1;
    }
    return;
}

sub _check_refusal {
    my ($self, $name, $rates, $possible, $request) = @_;
    my $status = $request->{status};
    if ($status == 429) {
        return evidence("$name: 429 without its fields", $request) if ($request->{code} // '') ne 'rate_limit_exceeded' || ($request->{retry} // '') !~ /^[1-9]\d*$/;
        my @spent;
        for my $rate (@$rates) {
            for my $window (do { my ($first, $last) = _windows($self, $rate, $request); $first .. $last }) {
                push @spent, ($window + 1) * $rate->[1] if $rate->[0] <= grep { $_->{begin} < $request->{end} } @{ $possible->{ $rate->[1] }{$window} // [] };
            }
        }
        return evidence("$name is not spent", $request) unless @spent;
        # A key that is not looked up may be tried again at once.
        return if $request->{sends} eq 'unknown' && $request->{retry} == 1;
        my @fits = grep { $request->{end} + $self->{margin} + $request->{retry} >= $_ && $request->{begin} - $self->{margin} + $request->{retry} <= $_ + 1 } @spent;
        return @fits ? () : evidence("$name: Retry-After is not the end of its window", $request);
    }
    return evidence("$name: 503 for a request that needs no look-up", $request) if $status == 503 && $request->{sends} ne 'unknown';
    return evidence("$name: 503 without an outage", $request) if $status == 503 && !$self->{model}->may_lack_redis($request);
    return evidence("$name: the status is $status", $request) if $status !~ /^(?:0|503)$/;
    return;
}

1;
