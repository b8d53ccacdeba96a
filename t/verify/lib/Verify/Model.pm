package Verify::Model;

# What a history says about limits, faults and answers. The properties build on it. Nothing here decides what is right.
#
#   my $model = Verify::Model->new($history);
#   $model->limits($id, $table, $from, $to)     # [{ most, least, period, sliding }, …]: the rates that every plan of the id
#                                               #   in this time has, with the highest and lowest limit; of a month, also
#                                               #   the billing `day`
#   $model->rates($id, $table, $from, $to)      # the same, from the shortest window to the longest
#   $model->plans($owner, $from, $to)           # those that may apply to it at a node in this time; without a time, in the run
#   $model->noticed_by($operation, $node)       # when the node, or without one every node, has noticed a change
#   $model->bucket($id, $table)               # { rate (tokens a second), burst } of the plan of an id that keeps its plan
#   $model->tables($request)                  # in which it is counted
#   $model->charged($request, $table)         # the request with the `cost` that this table charges, and what it has `used`
#                                             #   of it: another record, if tables charge differently
#   $model->charged_in($table, @requests)     # of these requests those that the table counts, as it charges them
#   is_charged($request)                      # whether it takes units of a table, at once or when it is settled
#   $model->settles($request, $table)         # whether what it has used is charged when it ends
#   $model->needs($request, $table)           # the units that must be left for it
#   $model->balance($id, $table)              # whether its plan has a balance in this table
#   $model->owners                            # whose counters there are: the ids, and the groups
#   $model->requests($owner, $from, $to)      # of the id, or of all ids of the group; with times, those that began between them
#   $model->tables_of($owner)                 # in which it has counters: a table counts either ids or groups
#   $model->used_tables($owner)               # those of them that its requests use
#   $model->owner($table, $id)                # whose counter has the requests of this id: wherever an id is expected with a
#                                             #   table, its group is accepted, too
#   $model->group($id)                        # undef: none
#   $model->members($owner)                   # the number of ids that share its counters
#   $model->counter($table, $request)         # the name of its counter: each value of a table with `by=$arg_v` has one
#   $model->held($table, $owner, $limit)      # the most units that nodes hold of a window with this limit
#   $model->has_place($request)               # whether a zone that is not full has a place for each of its quotas
#   $model->faults($from, $to, 'outage')        # the faults of a group, or of all, whose effects overlap this time; without
#                                               #   those that change nothing by themselves; 'costly': without those
#                                               #   that lose no call, unit or place
#   $model->may_cost_units($request, $since)    # the faults since a time for which a request may be refused wrongly
#   kinds('harmless')                           # the kinds of faults of a group
#   $model->may_lack_redis($request)            # whether its node may have been without Redis
#   $model->may_lack_redis_during($fault)       # the same of the workers that a fault ends
#   $model->may_lack_record($request)           # whether its full zone may have no record for a request in flight
#   $model->stood_still($request)               # whether that may be because the machine stood still
#   $model->long_stalls($from, $to)             # when it stood still for so long that calls may have got no reply
#   $model->may_be_executed($request)           # whether its call may have been, if it was answered without the reply
#   $model->stalled($from, $to)                 # for how many seconds the machine stood still
#   $model->client_waited($from, $to)           # for how many seconds clients and the upstream waited for a processor
#   $model->grants($id, $table)                 # the requests that were granted and take units there, as charged
#   $model->window($rate, $request)             # the number of the window in which it was decided; undef if that is not certain
#   end_of($rate, $number)                      # when a window ends
#   $model->decided($request)                   # the earliest and the latest time of Redis's clock when that was
#   $model->windows($rate, $request)            # the first and the last window in which it may have been decided
#   $model->in_flight($id)                      # how many requests of it may be in flight at a time; undef: any number
#   units($request)                             # what it takes if it is granted, once that is settled
#   least($request), most($request)             # the lower and the higher of its cost and what it has used
#   answered_by($request)                       # a text: the request and its answer, as evidence

use strict;
use warnings;
use Exporter 'import';
use JSON::PP   ();
use List::Util qw(any first max min sum0 uniq);
use POSIX      qw(floor);
use Time::Local qw(timegm);

our @EXPORT_OK = qw(answered_by evidence is_charged least most units);

# A fault affects clients until a worker has connected again: at most one second between attempts, and one to connect
# (connect_timeout); then the units of the outage are reported, and subscriptions and heartbeats are renewed.
our $recovery = 5;

my %group;
$group{full_outage}{$_} = 1 for qw(kill_redis stop_redis strand_calls pause_redis refuse_memory refuse_user wrong_master);    # at every node, all the time
$group{outage}{$_} = 1 for keys %{ $group{full_outage} }, qw(restart_redis refuse_tls delay hold refuse mute truncate cut
    kill_master stop_master fail_over stop_sentinels move_slots kill_node stop_worker);
$group{loss}{$_} = 1 for qw(lose_counts kill_master stop_master fail_over);          # counts may be lost
$group{forget}{$_} = 1 for qw(kill_node resize_zone move_address);                    # a node loses what it knows
$group{harmless}{$_} = 1 for qw(reload rename_redis change_limits lose_scripts);      # no call, unit or place is lost
$group{node}{$_} = 1 for qw(kill_worker kill_node);
$group{places}{$_} = 1 for keys %{ $group{loss} }, 'step_clock';    # other nodes may get the places of those that have them

sub new {
    my ($class, $history) = @_;
    my $self = bless { history => $history, config => $history->config }, $class;
    # A full zone changes nothing that a client sees, as long as Redis answers.
    $self->{faults} = [grep { $_->{kind} ne 'fill_zone' } $history->of('fault')];
    $self->{stalls} = [_stalls($history)];
    for my $op ($history->of('op')) { push @{ $self->{changes}{ $op->{id} } }, $op if $op->{kind} =~ /^(?:plan|group)$/ }
    for my $id (grep { defined $self->group($_) } $history->ids) { push @{ $self->{of_group}{ $self->group($id) } }, $id }
    return $self;
}

# Times in which a part of the machine stood still, without overlaps.
sub _stalls {
    my ($history) = @_;
    my @stalls;
    for my $stall (sort { $a->{at} <=> $b->{at} } $history->of('stall')) {
        if (@stalls && $stall->{at} <= $stalls[-1]{end}) { $stalls[-1]{end} = max($stalls[-1]{end}, $stall->{end}) }
        else                                             { push @stalls, { at => $stall->{at}, end => $stall->{end} } }
    }
    return @stalls;
}

sub history { $_[0]{history} }
sub config  { $_[0]{config} }

sub group { my ($self, $id) = @_; return ($self->{config}{ids}{$id} // {})->{group} }
sub _by    { my ($self, $table) = @_; return $self->{config}{tables}{$table}{by} // 'id' }

# An empty value is not counted, and a table of groups does not count an id without one.
sub tables {
    my ($self, $request) = @_;
    # A long run asks for each request, several times.
    my ($has_group, $has_value) = (defined $self->group($request->{id}) ? 1 : 0, length($request->{value} // '') ? 1 : 0);
    return @{ $self->{tables}{ $request->{loc} }{$has_group}{$has_value} //= [grep {
        my $by = $self->_by($_);
        $by eq 'id' || ($by eq 'group' ? $has_group : $has_value)
    } @{ $self->{config}{locations}{ $request->{loc} } // [] }] };
}

# What each table charges at the location of a request. Undef: all charge the cost.
sub _costs { my ($self, $request) = @_; return ($self->{config}{costs} // {})->{ $request->{loc} } }

sub charged {
    my ($self, $request, $table) = @_;
    my $costs = $self->_costs($request);
    return $request if !$costs || $request->{table};
    my $cost = $costs->{$table};
    return $request->{charged}{$table} //= {
        %$request, charged => undef, table => $table,
        defined $cost->{fixed}
            ? (cost => $cost->{fixed}, used => undef)
            : map { ($_ => defined $request->{$_} && length $request->{$_} ? $request->{$_} * $cost->{times} : undef) } qw(cost used),
    };
}

sub charged_in {
    my ($self, $table, @requests) = @_;
    return map { $self->charged($_, $table) } grep { my $request = $_; any { $_ eq $table } $self->tables($request) } @requests;
}

sub settles {
    my ($self, $request, $table) = @_;
    my $costs = $self->_costs($request);
    return $costs->{$table}{settled} if $costs;
    return defined $request->{used} || (($self->{config}{upstream} // {})->{ $request->{loc} } // '') =~ /settle/;
}

# What is only charged when it is settled is granted while a unit is left.
sub needs {
    my ($self, $request, $table) = @_;
    return max($self->charged($request, $table)->{cost}, $self->settles($request, $table) ? 1 : 0);
}

sub balance {
    my ($self, $id, $table) = @_;
    return ($self->{config}{tables}{$table}{plans}{ ($self->{config}{ids}{$id} // {})->{plan} // '' } // {})->{balance};
}

sub owners { my ($self) = @_; return ((grep { $_ ne '-' } $self->{history}->ids), sort keys %{ $self->{of_group} // {} }) }

sub owner { my ($self, $table, $id) = @_; return $self->_by($table) eq 'group' ? $self->group($id) // $id : $id }

sub requests {
    my ($self, $owner, $from, $to) = @_;
    my $all = $self->{of_owner}{$owner} //= [sort { $a->{begin} <=> $b->{begin} } map { $self->{history}->requests($_) } @{ $self->{of_group}{$owner} // [$owner] }];
    return @$all unless defined $from;
    return _between($all, begin => $from, begin => $to);
}

# Of sorted records, those from the first one whose one field is at least $from to the last one whose other field is at most
# $to. A long run has many of them.
sub _between {
    my ($records, $one, $from, $other, $to) = @_;
    my ($first, $end) = (0, scalar @$records);
    while ($first < $end) {
        my $middle = int(($first + $end) / 2);
        if ($records->[$middle]{$one} < $from) { $first = $middle + 1 } else { $end = $middle }
    }
    my $last = $first;
    ++$last while $last < @$records && $records->[$last]{$other} <= $to;
    return @$records[$first .. $last - 1];
}

sub tables_of {
    my ($self, $owner) = @_;
    my $is_group = $self->{of_group}{$owner} ? 1 : 0;
    return grep { ($self->_by($_) eq 'group' ? 1 : 0) == $is_group } sort keys %{ $self->{config}{tables} };
}

sub used_tables {
    my ($self, $owner) = @_;
    return @{ $self->{used_tables}{$owner} //= do {
        my %used = map { $_ => 1 } map { $self->tables($_) } $self->requests($owner);
        [grep { $used{$_} } $self->tables_of($owner)];
    } };
}

sub members { my ($self, $owner) = @_; return scalar @{ $self->{of_group}{$owner} // [$owner] } }

sub counter {
    my ($self, $table, $request) = @_;
    my $name = $self->owner($table, $request->{id}) . " in $table";
    return $self->_by($table) =~ /^(?:id|group)$/ ? $name : "$name of $request->{value}";
}

# Redis leases an eighth of what is left at most: to each node, and of a group for each of its ids.
sub held {
    my ($self, $table, $owner, $limit) = @_;
    return 0 unless $self->is_leased($table);
    return $limit * ($self->members($owner) == 1 ? $self->nodes / 8 : 1 - (7 / 8)**($self->nodes * $self->members($owner)));
}

sub bucket {
    my ($self, $id, $table) = @_;
    return $self->{bucket}{$table}{$id} if exists $self->{bucket}{$table}{$id};
    my ($plan, @others) = $self->plans($self->owner($table, $id));
    my $bucket = ($self->{config}{tables}{$table}{plans}{$plan} // {})->{bucket};
    return $self->{bucket}{$table}{$id} = $bucket && !@others ? { rate => $bucket->[0], burst => $bucket->[1] } : undef;
}

# A zone has few places for the quotas of buckets and of more than two windows (module/SIZING.md: The zone). Each table of
# ids keeps a history, which is one more. Clients may use any number of values.
sub has_place {
    my ($self, $request) = @_;
    return !any {
        my $table = $_;
        my $windows = $self->_by($table) eq 'id' ? 1 : 2;
        $self->_by($table) !~ /^(?:id|group)$/ || any { $_->{bucket} || @{ $_->{rates} // [] } + ($_->{balance} // 0) > $windows }
            map { $self->{config}{tables}{$table}{plans}{$_} // () } $self->plans($self->owner($table, $request->{id}));
    } $self->tables($request);
}

sub is_leased { my ($self, $table) = @_; return $self->{config}{tables}{$table}{lease} }
sub nodes   { $_[0]{config}{nodes} // 3 }

# A change without acknowledgement may be made up to 20 s later, also after the next one.
sub plans {
    my ($self, $owner, $from, $to) = @_;
    my $of = $self->{config}{ids}{$owner} // ($self->{config}{groups} // {})->{$owner} // {};
    my $changes = $self->{changes}{$owner} or return $of->{plan} // 'small';
    my @plans = [$of->{plan} // 'small'];
    for my $change (@$changes) {
        last if defined $to && $change->{begin} > $to;
        my $is_certain = $change->{status} =~ /^2/ && !$change->{durability};
        @plans = grep { defined $_->[1] && $_->[1] > $change->{begin} } @plans if $is_certain && defined $from && $self->noticed_by($change) < $from;
        push @plans, [$change->{value}, $is_certain ? undef : $change->{end} + 20];
    }
    return uniq(map { $_->[0] } @plans);
}

# A change is announced, which takes up to 200 ms. A fault may delay that: a node that is subscribed again asks for it.
our $announced = 0.2;

sub noticed_by {
    my ($self, $operation, $node) = @_;
    return $operation->{noticed}{ $node // 'all' } //= do {
        my $by = $operation->{end} + $announced + $self->stalled($operation->{begin}, $operation->{end} + 1);
        while (1) {
            my ($from, $to) = ($operation->{begin} - 1, $by);
            my @faults = defined $node ? $self->faults_of($node, $from, $to) : $self->faults($from, $to);
            my $later = max($by, map { $_->{end} + $recovery } @faults);
            last if $later <= $by;
            $by = $later;
        }
        $by + $self->stalled($operation->{begin}, $by + 1);
    };
}

sub limits {
    my ($self, $id, $table, $from, $to) = @_;
    my $owner = $self->owner($table, $id);
    my $day = ($self->{config}{ids}{$owner} // $self->{config}{groups}{$owner} // {})->{billing_day} // 1;
    my @plans = $self->plans($owner, $from, $to);
    my @changes = $self->faults($from - 1, $to + 1, 'change_limits');
    # A long run asks for each request.
    return @{ $self->{limits}{$table}{"$day @plans"} //= [$self->_limits($table, $day, \@plans)] } unless @changes;
    return $self->_limits($table, $day, \@plans, @changes);
}

# Whether every plan that the owner of a table had during a request has a rate of this period.
sub counts_in {
    my ($self, $id, $table, $period, $request) = @_;
    return 1 unless $self->{changes}{ $self->owner($table, $id) };
    return scalar grep { $_->{period} eq $period } $self->limits($id, $table, $request->{begin}, $request->{end});
}

sub _limits {
    my ($self, $table, $day, $plans, @changes) = @_;
    my %rates;
    for my $name (@$plans) {
        my $plan = $self->{config}{tables}{$table}{plans}{$name} or next;
        my @sets = ($plan->{rates} // []);
        for my $change (@changes) {
            next unless $change->{table} eq $table && $change->{plan} eq $name;
            $change->{decoded} //= JSON::PP::decode_json($change->{rates});
            push @sets, $change->{decoded};
        }
        for my $rate (map { @$_ } @sets) { push @{ $rates{ $rate->[1] }{limits} }, $rate->[0]; $rates{ $rate->[1] }{plans}{$name} = 1 }
        $rates{$_}{sliding} = $plan->{sliding} for map { $_->[1] } @{ $plan->{rates} // [] };
    }
    return map { { period => $_, $_ eq 'month' ? (day => $day) : (), most => max(@{ $rates{$_}{limits} }), least => min(@{ $rates{$_}{limits} }), sliding => $rates{$_}{sliding} } }
        grep { keys %{ $rates{$_}{plans} } == @$plans } sort keys %rates;
}

sub rates { my ($self, @of) = @_; return sort { _length($a) <=> _length($b) } $self->limits(@of) }

sub _length { return $_[0]{period} eq 'month' ? 30 * 86400 : $_[0]{period} }

sub faults {
    my ($self, $from, $to, $what) = @_;
    return grep {
        $_->{begin} <= $to && $_->{end} + $recovery >= $from
            && (!defined $what || ($what eq 'costly' ? !$group{harmless}{ $_->{kind} } : $group{$what} ? $group{$what}{ $self->_kind($_) } : $_->{kind} eq $what))
    } $self->_faults_near($from, $to);
}

# Without leases, the end of a worker or a zone costs what its unanswered requests may have taken, and a node that has begun
# anew may refuse requests alone. Of a table with leases, workers of both names may have some while a `tollgate_redis` is
# renamed.
sub may_cost_units {
    my ($self, $request, $since) = @_;
    my $is_leased = any { $self->is_leased($_) } $self->tables($request);
    my @faults = grep {
        $is_leased || !$group{node}{ $_->{kind} } && !$group{forget}{ $_->{kind} } || $_->{node} == $request->{node} && $_->{end} + $recovery >= $request->{begin}
    } $self->faults($since, $request->{end}, 'costly');
    push @faults, $self->faults($since, $request->{end}, 'rename_redis') if $is_leased;
    return @faults;
}

sub kinds { my ($name) = @_; return sort keys %{ $group{$name} } }

# In a cluster, a master that stands still for longer than cluster-node-timeout (Deployment.pm) may be replaced.
sub _kind {
    my ($self, $fault) = @_;
    my $is_replaced = $fault->{kind} eq 'stop_redis' && ($self->{config}{deployment} // '') eq 'cluster' && $fault->{end} - $fault->{begin} > 2;
    return $is_replaced ? 'stop_master' : $fault->{kind};
}

# A long run has hundreds of faults, and asks for each request.
my $bucket = 16;

sub _faults_near {
    my ($self, $from, $to) = @_;
    return @{ $self->{faults} } if $to - $from > 10 * $bucket;
    if (!$self->{near}) {
        for my $fault (@{ $self->{faults} }) {
            push @{ $self->{near}{$_} }, $fault for floor($fault->{begin} / $bucket) .. floor(($fault->{end} + $recovery) / $bucket);
        }
        $self->{near} //= {};
    }
    my %seen;
    return grep { !$seen{$_}++ } map { @{ $self->{near}{$_} // [] } } floor($from / $bucket) .. floor($to / $bucket);
}

# Faults of a node, or of all nodes.
sub faults_of {
    my ($self, $node, $from, $to, $what) = @_;
    return grep { $_->{kind} !~ /^(?:delay|hold|refuse|mute|truncate|cut|kill_worker|stop_worker|kill_node|reload|rename_redis|move_address|resize_zone)$/ || $_->{node} == $node }
        $self->faults($from, $to, $what);
}

# Whether the node of a request may have been without Redis.
sub may_lack_redis {
    my ($self, $request) = @_;
    return 1 if $self->faults_of($request->{node}, $request->{begin}, $request->{end}, 'outage');
    return $self->stood_still($request);
}

# Whether calls of workers that a fault of their node ends may be lost. They end within the recovery.
sub may_lack_redis_during {
    my ($self, $fault) = @_;
    my ($begin, $end) = ($fault->{begin}, $fault->{end} + $recovery);
    return 1 if $self->faults_of($fault->{node}, $begin, $end, 'outage');
    return $self->stood_still({ begin => $begin, end => $end });
}

# A zone has few records of requests in flight, and the crowd needs many of them.
sub may_lack_record {
    my ($self, $request) = @_;
    my $plan = $self->{config}{ids}{ $request->{id} }{plan};
    return 0 unless any { $self->{config}{tables}{$_}{plans}{$plan}{in_flight} } $self->tables($request);
    return any { $_->{kind} eq 'fill_zone' && $_->{node} == $request->{node} && $_->{begin} <= $request->{end} && $_->{end} >= $request->{begin} } $self->{history}->of('fault');
}

# Whether the machine stood still for half of `timeout` while a call waited so long. The call may have been lost.
sub stood_still { my ($self, $request) = @_; return scalar $self->long_stalls($request->{begin} - $recovery, $request->{end}) }

sub long_stalls {
    my ($self, $from, $to) = @_;
    my $timeout = $self->{config}{timeout} // 0.5;
    return grep { $_->{is_long} //= $self->stalled($_->{at}, max($_->{end}, $_->{at} + $timeout)) > $timeout / 2 ? 1 : 0 } $self->_stalls_near($from, $to);
}

# Whether Redis may have executed the call of a request that was answered without its reply. A Redis that stands still, or
# that data does not reach, executes no call that was sent meanwhile and whose deadline has passed when it goes on,
# whatever else happens. A Redis that is dead or refuses scripts executes none.
sub may_be_executed {
    my ($self, $request) = @_;
    my $timeout = $self->{config}{timeout} // 0.5;
    my @own = $self->faults($request->{begin}, $request->{end} + 1);
    my $is_held_back = first { $_->{kind} =~ /^(?:delay|hold)$/ && $_->{node} == $request->{node} } @own;
    my @idle = grep {
        my ($from, $to) = @$_{qw(from to)};
        my $refuses = $_->{kind} =~ /^(?:kill_redis|refuse_memory|refuse_user)$/;
        my $is_still = $_->{kind} =~ /^(?:stop_redis|strand_calls|pause_redis)$/ || $_->{kind} eq 'hold' && $_->{node} == $request->{node};
        my $last = $refuses && !$is_held_back ? $to : $to - $timeout - 0.1;
        ($refuses || $is_still) && $request->{begin} >= $from && $request->{end} <= $last;
    } @own;
    return 1 unless @idle;
    # The other masters of a cluster go on.
    return ($self->{config}{deployment} // '') eq 'cluster' && @idle < @own;
}

sub _stalls_near {
    my ($self, $from, $to) = @_;
    return _between($self->{stalls}, end => $from, at => $to);
}

sub stalled {
    my ($self, $from, $to) = @_;
    return sum0(map { $_->{end} - $_->{at} } $self->_stalls_near($from, $to));
}

sub client_waited {
    my ($self, $from, $to) = @_;
    return sum0(map { $_->{end} - $_->{at} } grep { $_->{end} >= $from && $_->{at} <= $to } $self->{history}->of('wait'));
}

sub in_flight { my ($self, $id) = @_; return ($self->{config}{in_flight} // {})->{$id} }

# The upstream says what a request has used, unless the field is missing.
sub units { my ($request) = @_; return $request->{used} // $request->{cost} }
sub is_charged { my ($request) = @_; return $request->{cost} > 0 || units($request) > 0 }
sub least { my ($request) = @_; return min($request->{cost}, units($request)) }
sub most  { my ($request) = @_; return max($request->{cost}, units($request)) }

sub grants {
    my ($self, $id, $table) = @_;
    return grep { is_charged($_) } $self->charged_in($table, grep { $_->{status} == 200 } $self->requests($self->owner($table, $id)));
}

# A month has the number of its first day since 1970. It begins on the billing day, or on the last day of a shorter month.
sub _number {
    my ($rate, $time) = @_;
    return floor($time / $rate->{period}) unless $rate->{period} eq 'month';
    my (undef, undef, undef, undef, $month, $year) = gmtime $time;
    my $begin = _begin_of_month($rate, $month, $year);
    return $begin * 86400 <= $time ? $begin : _begin_of_month($rate, $month - 1, $year);
}

# The months of a year are 0 to 11, and -1 and 12 those beside it.
sub _begin_of_month {
    my ($rate, $month, $year) = @_;
    my ($first, $next) = map { timegm(0, 0, 0, 1, $_ % 12, 1900 + $year + floor($_ / 12)) / 86400 } $month, $month + 1;
    return min($first + ($rate->{day} // 1), $next) - 1;
}

sub end_of {
    my ($rate, $number) = @_;
    return ($number + 1) * $rate->{period} unless $rate->{period} eq 'month';
    my (undef, undef, undef, undef, $month, $year) = gmtime $number * 86400;
    return 86400 * _begin_of_month($rate, $month + 1, $year);
}

sub decided {
    my ($self, $request) = @_;
    return @{ $request->{redis_time} //= [$self->{history}->redis_time($request->{begin}, $request->{by} // $request->{end})] };
}

sub windows {
    my ($self, $rate, $request) = @_;
    return map { _number($rate, $_) } $self->decided($request);
}

sub window {
    my ($self, $rate, $request) = @_;
    my ($first, $last) = $self->windows($rate, $request);
    return $first == $last ? $first : undef;
}

sub answered_by {
    my ($request) = @_;
    return join ' ', sprintf('%.4f..%.4f', @$request{qw(begin end)}), "node $request->{node}", $request->{id}, "/$request->{loc}", "cost $request->{cost}:",
        $request->{status} || 'no answer', map { defined $request->{$_} ? ($_ eq 'verdict' ? $request->{$_} : "$_=$request->{$_}") : () } qw(value verdict code used retry limit remaining reset);
}

# A violation: what is wrong, and the records that show it, at most so many of them.
sub evidence {
    my ($what, @requests) = @_;
    my @shown = @requests > 8 ? (@requests[0 .. 3], undef, @requests[-4 .. -1]) : @requests;
    return join "\n", $what, map { '    ' . ($_ ? ref $_ ? answered_by($_) : $_ : '…') } @shown;
}

1;
