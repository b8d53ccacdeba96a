package Verify::Property::Endings;

# A key that was disabled or revoked is refused within 200 ms at every node, a ban begins at every node within 200 ms, and a
# key or a group has the limits of its new plan at every node within 200 ms.
#
# The 200 ms hold while the nodes are subscribed. After a fault that begins earlier, a node notices a change when it is
# subscribed again, so the bound is the end of the fault and its recovery. What a node has noticed, it keeps: a key that was
# revoked does not come back with the next fault. Time in which the machine stood still does not count. A ban begins
# with the Nth refusal within a time that begins with the first one: there are never 2N - 1 refusals within this time
# without a ban, and never a ban with less than N refusals. In an outage, a refusal may count twice: Redis has counted it,
# and the node, which has not got the reply, refuses the request alone; unless Redis has certainly executed no call. After
# an outage, nodes report their refusals: a ban may begin with them, long before a request sees it.
#
# A ban lasts for `up_to` at most, and its end is final: refusals during a ban are no strikes.

use strict;
use warnings;
use List::Util qw(max min sum0 uniq);
use Verify::Model qw(evidence);

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    return (_check_ends($model), _check_plans($model), _check_bans($model));
}

sub _check_ends {
    my ($model) = @_;
    return map { evidence(sprintf('%s: granted %.3f s after the end of its key was acknowledged', $_->[0]{id}, $_->[1]{begin} - $_->[0]{end}), $_->[2], $_->[1]) }
        _late($model, qr/^(?:disable|revoke)$/, sub { my ($end, $request) = @_; return $request->{status} == 200 });
}

# A response shows the plan of each window: "PLAN-PERIOD", or "TABLE-PLAN-PERIOD".
sub _check_plans {
    my ($model) = @_;
    my $shows_another = sub {
        my ($change, $request) = @_;
        return grep { $_ ne $change->{value} && ($request->{rl} // '') =~ /"(?:\w+-)?\Q$_\E-[\w-]+"/ } $model->plans($change->{id});
    };
    return map { evidence(sprintf('%s: another plan applies %.3f s after %s was acknowledged', $_->[0]{id}, $_->[1]{begin} - $_->[0]{end}, $_->[0]{value}), $_->[2], $_->[1]) }
        _late($model, qr/^(?:plan|group)$/, $shows_another);
}

# The operations of these kinds of which a request certainly should have seen the effect, and did not: the operation, the
# request, and the operation as evidence.
sub _late {
    my ($model, $kinds, $is_without_effect) = @_;
    my (%operations, @late);
    push @{ $operations{ $_->{id} } }, $_ for $model->history->of('op');
    for my $id (sort keys %operations) {
        my @operations = @{ $operations{$id} };
        for my $i (0 .. $#operations) {
            my $end = $operations[$i];
            next unless $end->{kind} =~ $kinds && $end->{status} =~ /^2/ && !$end->{durability};
            my $next = $i < $#operations ? $operations[ $i + 1 ]{begin} : 9**99;
            for my $request ($model->requests($id, $end->{end}, $next)) {
                next if $request->{end} >= $next || $request->{begin} <= $model->noticed_by($end, $request->{node}) || !$is_without_effect->($end, $request);
                push @late, [$end, $request, "operation $end->{kind} $end->{begin}..$end->{end} at node $end->{node}"];
            }
        }
    }
    return @late;
}

sub _is_banned { return ($_[0]{code} // '') eq 'api_key_banned' }

# Redis refused the request, or its decision has not arrived.
sub _may_be_strike {
    my ($request, $fits) = @_;
    return 0 if ($request->{code} // '') eq 'cost_exceeds_limit';
    return 1 if $request->{status} == 429;
    return !$fits->{$request} && (!$request->{status} || $request->{status} == 503 || ($request->{verdict} // '') eq 'degraded');
}

# A client gives up after 15 s.
my $longest = 15;

# The requests that Redis has certainly room for in each of their tables: a set.
sub _fitting {
    my ($model, $id, @requests) = @_;
    my %fits = map { $_ => 1 } @requests;
    for my $table (uniq(map { $model->tables($_) } @requests)) {
        my @counted = grep { my $request = $_; grep { $_ eq $table } $model->tables($request) } $model->history->requests($id);
        my $fits_in = _fitting_in($model, $table, $id, @counted);
        delete @fits{ grep { !$fits_in->{$_} } @counted };
    }
    return \%fits;
}

# The same in one table, whenever Redis decides them and even if it counts each request twice. With leases, nodes may hold
# the room.
sub _fitting_in {
    my ($model, $table, $id, @requests) = @_;
    return {} if $model->is_leased($table) || $model->bucket($id, $table);
    my %fits = map { $_ => 1 } @requests;
    for my $rate ($model->limits($id, $table, $requests[0]{begin}, $requests[-1]{end})) {
        return {} if $rate->{period} eq 'month';
        my $reach = $rate->{period} * ($rate->{sliding} ? 2 : 1) + $longest;
        my @counted = grep { $_->{cost} <= $rate->{least} } @requests;
        my ($first, $next, $units) = (0, 0, 0);
        for my $request (@requests) {
            $units += $counted[ $next++ ]{cost} while $next < @counted && $counted[$next]{begin} <= $request->{begin} + $longest;
            $units -= $counted[ $first++ ]{cost} while $first < $next && $counted[$first]{begin} < $request->{begin} - $reach;
            delete $fits{$request} if 2 * $units + $request->{cost} > $rate->{least};
        }
    }
    return \%fits;
}

# Whether Redis decided the request and granted it: the id was not banned then. Leases are granted without Redis.
sub _is_granted_by_redis {
    my ($model, $request) = @_;
    return $request->{status} == 200 && $request->{verdict} eq 'granted' && $request->{cost} && !grep { $model->is_leased($_) } $model->tables($request);
}

# The earliest time at which the ban may have begun that this request is the first one to see. Its end is known, and it
# lasts for `up_to` at most. It began after the last request that Redis has granted began. The refusals that were reported
# with it may be older by the time that their call took.
sub _earliest_begin {
    my ($model, $ban, $request, $granted) = @_;
    my $earliest = min($request->{begin}, $request->{begin} + $request->{retry} - 1 - $ban->{up_to});
    $earliest = max($earliest, $granted->{begin} - ($model->config->{timeout} // 0.5)) if $granted;
    return $model->faults($earliest, $request->{begin}, 'outage') || $model->stood_still($request) ? $earliest : $request->{begin};
}

# `$first` has shown a ban that has not ended yet. In an outage, nodes keep bans of their own, and report refusals of before.
sub _check_end {
    my ($model, $ban, $request, $first, $latest_end) = @_;
    return if $model->faults($request->{begin} - 20, $request->{end}, 'step_clock');
    return evidence("$request->{id} is banned for longer than $ban->{up_to} s", $request) if $request->{retry} > $ban->{up_to} + 1;
    return if !$first || $model->faults($request->{begin} - 20, $request->{end});
    return $request->{begin} + $request->{retry} - 1 > $latest_end ? evidence("the ban of $request->{id} has become longer", $first, $request) : ();
}

sub _check_bans {
    my ($model) = @_;
    my $history = $model->history;
    my @violations;
    for my $table (grep { $model->config->{tables}{$_}{ban} } sort keys %{ $model->config->{tables} }) {
        my $ban = $model->config->{tables}{$table}{ban};
        for my $id ($history->ids) {
            my @requests = grep { my $request = $_; grep { $_ eq $table } $model->tables($request) } $history->requests($id);
            my $fits = _fitting($model, $id, @requests);
            my ($ends, $latest_end, $announced_at, $last_banned, $last_granted) = (0, 0, 0, undef, undef);
            my @refusals;
            for my $i (0 .. $#requests) {
                my $request = $requests[$i];
                my $is_banned = _is_banned($request);
                my $is_certain = !$model->faults($request->{begin} - 10, $request->{end});
                $last_granted = $request if _is_granted_by_redis($model, $request);
                if ($request->{begin} > $announced_at && $request->{end} < $ends && !$is_banned && $is_certain && $request->{status} =~ /^(?:200|429)$/) {
                    push @violations, evidence("$id is banned, but not here", $last_banned, $request);
                }
                if ($is_banned) {
                    push @violations, _check_end($model, $ban, $request, $request->{end} < $ends ? ($last_banned, $latest_end) : ());
                    my $began = _earliest_begin($model, $ban, $request, $last_granted);
                    my @strikes = grep { $_->{end} > $began - $ban->{within} - 0.1 } @refusals;
                    my $is_new = $request->{begin} > $latest_end;
                    # Redis may have refused these before it, and the last of them has begun the ban.
                    for (my $next = $i + 1; $is_new && $next < @requests && $requests[$next]{begin} < $request->{end}; ++$next) {
                        push @strikes, $requests[$next] if _is_banned($requests[$next]) || _may_be_strike($requests[$next], $fits);
                    }
                    my $strikes = sum0(map { $model->may_lack_redis($_) && $model->may_be_executed($_) ? 2 : 1 } @strikes, $request);
                    push @violations, evidence("$id is banned after " . (1 + @strikes) . " refusals within $ban->{within} s", @strikes, $request)
                        if $is_new && $strikes < $ban->{after} && !$model->faults($request->{begin} - 20, $request->{end}, 'step_clock')
                        && !$model->faults($request->{begin} - 20, $request->{end}, 'loss');
                    @refusals = ();
                    # Retry-After is rounded up. A ban may follow the one before at once.
                    my $ends_after = $request->{begin} + $request->{retry} - 1;
                    if ($is_new || $ends_after > $latest_end) {
                        ($ends, $last_banned) = ($ends_after, $request);
                        $announced_at = $request->{end} + $Verify::Model::announced + $model->stalled($request->{begin}, $request->{end} + $Verify::Model::announced);
                    }
                    # A later one tells the end of the same ban more precisely.
                    elsif ($ends_after > $ends) { ($ends, $last_banned) = ($ends_after, $request) }
                    $latest_end = max($latest_end, $request->{end} + $request->{retry});
                }
                elsif (_may_be_strike($request, $fits)) {
                    push @refusals, $request;
                    my @certain = grep { $_->{status} == 429 } @refusals;
                    my $first = $#certain - 2 * ($ban->{after} - 1);
                    push @violations, evidence("$id is not banned after " . (2 * $ban->{after} - 1) . ' refusals', @certain[$first .. $#certain])
                        if $first >= 0 && $request->{end} - $certain[$first]{begin} < $ban->{within} && $is_certain && $request->{status} == 429;
                }
            }
        }
    }
    return @violations;
}

1;
