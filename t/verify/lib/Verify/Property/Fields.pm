package Verify::Property::Fields;

# The fields of a response show the quota that decided it (module/docs/directives.md: tollgate_headers).
#
# `RateLimit` has an item for each rate, bucket and limit of requests in flight, none with more units than its limit.
# `X-RateLimit-*` show one of them: that with the fewest units left, and on a 429 one that has too few for the request. Its
# reset, and the time of each item, are those of a window in which the request may have been decided.
#
# A 429 shows the exhausted window that resets last: its reset is not before the end of a window that others have certainly
# filled. A node may repeat a refusal for a second, so only what was granted before that counts. Of a table with leases,
# the refusing node does not know which units others have granted.
#
# Limits that a reload changes, and plans that a program changes, are not known exactly. A clock that is set has no
# windows, and without Redis, a node knows its clock less precisely. An address that has no budget left gets a 429 which
# shows that, if its key has to be looked up.

use strict;
use warnings;
use List::Util qw(any min sum0);
use POSIX      qw(ceil floor);
use Verify::Model qw(evidence least);

# How long a node repeats a refusal, and the precision of the clocks.
my $repeated = 1.1;

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my @violations;
    for my $id (grep { $model->config->{ids}{$_} } $history->ids) {
        my @requests = $history->requests($id);
        push @violations, map { _check_response($model, $_) } grep { _shows_quota($_) } @requests;
    }
    return (@violations, _check_resets($model));
}

sub _shows_quota {
    my ($request) = @_;
    return $request->{status} == 200 || $request->{status} == 429 && ($request->{code} // '') =~ /^(?:rate_limit|balance)_ex/ && !defined $request->{address};
}

# What a response has to show, in this order: [{ limit, rate or bucket or places }, …]; of a balance { balance => 1 }. Undef
# if that is not certain.
sub _expected {
    my ($model, $request) = @_;
    my ($begin, $end) = @$request{qw(begin end)};
    return if grep { $model->faults($begin - 1, $end + 1, $_) } qw(step_clock change_limits);
    my @expected;
    for my $table ($model->tables($request)) {
        my ($name, @others) = $model->plans($model->owner($table, $request->{id}), $begin, $end);
        return if @others;
        my $plan = $model->config->{tables}{$table}{plans}{$name} // return;
        my $bucket = $model->bucket($request->{id}, $table);
        push @expected, { limit => $bucket->{burst}, bucket => $bucket } if $bucket;
        push @expected, map { { limit => $_->{most}, rate => $_ } } $model->rates($request->{id}, $table, $begin, $end);
        push @expected, { balance => 1 } if $plan->{balance};
        push @expected, { limit => $plan->{in_flight}, places => 1 } if $plan->{in_flight};
    }
    return \@expected;
}

sub _check_response {
    my ($model, $request) = @_;
    my $expected = _expected($model, $request) // return;
    return unless @$expected;
    my $knows_clock = !$model->may_lack_redis($request);    # a node that is alone estimates Redis's clock
    my @items = ($request->{rl} // '') =~ /"[^"]*";r=(\d+(?:;t=\d+)?)/g;
    my $show = sub { return evidence("$_[0]: " . ($request->{rl} // 'no RateLimit'), $request) };
    return $show->(sprintf '%d limits are shown of %d', scalar @items, scalar @$expected) if @items != @$expected;
    for my $i (0 .. $#items) {
        my ($wanted, $item) = ($expected->[$i], $items[$i]);
        @$wanted{qw(left after)} = $item =~ /^(\d+)(?:;t=(\d+))?$/;
        return $show->('an item has no time, or one too many') if !defined $wanted->{after} != !!($wanted->{places} || $wanted->{balance});
        return $show->("$wanted->{left} units are left of $wanted->{limit}") if !$wanted->{balance} && $wanted->{left} > $wanted->{limit};
        # A node that repeats a refusal may show how long the others lasted then.
        return $show->("no window ends in $wanted->{after} s") if $knows_clock && $request->{status} == 200 && !_may_end($model, $request, $wanted);
    }
    my ($limit, $remaining, $reset) = @$request{qw(limit remaining reset)};
    my $is_balance = (any { $_->{balance} } @$expected) && !defined $limit;
    defined $request->{$_} xor $is_balance && $_ ne 'remaining' or return $show->("X-RateLimit has no $_, or one too many") for qw(limit remaining reset);
    my @shown = grep { $_->{left} == $remaining && ($is_balance ? $_->{balance} : !$_->{balance} && $_->{limit} == $limit) } grep { !$_->{places} } @$expected;
    return $show->('no limit of ' . ($limit // 'a balance') . " has $remaining units left") unless @shown;
    if ($request->{status} == 200) {
        my $fewest = min(map { $_->{left} } grep { !$_->{places} } @$expected);
        return $show->("$remaining units are shown as left, of another window $fewest") if $remaining != $fewest;
    }
    return $show->("no window ends at $reset") unless $is_balance || !$knows_clock || any { _may_end_at($model, $request, $_, $reset) } @shown;
    return;
}

# The ends of the windows in which a request may have been decided.
sub _ends {
    my ($model, $request, $rate) = @_;
    my ($first, $last) = $model->windows($rate, $request);
    return map { Verify::Model::end_of($rate, $_) } $first .. $last;
}

sub _is_fixed { my ($wanted) = @_; return $wanted->{rate} && !$wanted->{rate}{sliding} }

sub _may_end_at {
    my ($model, $request, $wanted, $reset) = @_;
    return !_is_fixed($wanted) || any { $_ == $reset } _ends($model, $request, $wanted->{rate});
}

# Seconds are rounded up.
sub _may_end {
    my ($model, $request, $wanted) = @_;
    return 1 unless _is_fixed($wanted);
    my ($from, $to) = $model->decided($request);
    return any { $wanted->{after} >= floor($_ - $to) && $wanted->{after} <= ceil($_ - $from) } _ends($model, $request, $wanted->{rate});
}

# The certain grants of each counter fill windows. A later 429 of the same counter has no earlier reset.
sub _check_resets {
    my ($model) = @_;
    my (%filled, @violations);
    for my $owner ($model->owners) {
        for my $table (grep { !$model->is_leased($_) } $model->used_tables($owner)) {
            for my $grant (grep { $_->{verdict} eq 'granted' } $model->grants($owner, $table)) {
                for my $rate (grep { !$_->{sliding} } $model->rates($owner, $table, $grant->{begin}, $grant->{end})) {
                    my $window = $model->window($rate, $grant) // next;
                    push @{ $filled{ $model->counter($table, $grant) }{ $rate->{period} }{$window} }, $grant;
                }
            }
        }
    }
    for my $request (grep { $_->{status} == 429 && $model->config->{ids}{ $_->{id} } && _shows_quota($_) && defined $_->{reset} } $model->history->of('req')) {
        next unless _expected($model, $request);
        next if any { $model->is_leased($_) } $model->tables($request);
        for my $table ($model->tables($request)) {
            for my $rate (grep { !$_->{sliding} } $model->rates($request->{id}, $table, $request->{begin}, $request->{end})) {
                my $window = $model->window($rate, $request) // next;
                my $end = Verify::Model::end_of($rate, $window);
                next if $request->{reset} >= $end;
                my @before = grep { ($_->{by} // $_->{end}) < $request->{begin} - $repeated } @{ $filled{ $model->counter($table, $request) }{ $rate->{period} }{$window} // [] };
                my $units = sum0(map { least($_) } @before);
                next if $units + $model->needs($request, $table) <= $rate->{most};
                next if $model->faults($before[0]{begin}, $request->{end}, 'loss') || $model->may_lack_redis($request) || $model->stalled($request->{begin} - 3, $request->{end}) > 0.3;
                push @violations, evidence("$request->{id} in $table: the reset is $request->{reset}, but the window of $rate->{period} with $units units ends at $end", @before, $request);
            }
        }
    }
    return @violations;
}

1;
