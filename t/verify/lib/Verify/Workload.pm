package Verify::Workload;

# What a run consists of, apart from faults: plan tables, keys, clients, and settings that the seed chooses. The `config`
# record of the history contains it, so that the checker needs nothing else.
#
#   my $workload = Verify::Workload->new(seed => 7, deployment => 'redis', tls => 0);
#   $workload->{tables}{api}{plans}{small}      # { rates => [[20, 2], [50, 8]], sliding => 0, in_flight => 3 }; a month is the
#                                               #   period "month"
#                                               #   and { bucket => [10, 20] }: tokens a second, burst; { balance => 1 }
#   $workload->{locations}{b}                   # ['api', 'strict']
#   $workload->{upstream}{u}                    # of locations with an upstream: the parameters of tollgate_cost
#   $workload->{costs}{r}{money}                # of locations whose tables charge differently: { times => 3 } the cost of
#                                               #   the request, and if { settled => 1 } what it has used; or { fixed => 1 }
#   $workload->{ids}{hot1}                      # { plan => 'small', role => 'hot', alone => 0, group => undef,
#                                               #   billing_day => undef }
#   $workload->{groups}{team1}                  # { plan => 'squad', billing_day => undef }: of tables with by => 'group'
#   $workload->{credits}                        # [{ id => 'paid1', units => 300 }, …]: what is credited again and again
#   $workload->in_flight                        # the ids with this limit: { flight1 => 1, … }
#   $workload->{on_failure}, {timeout}          # of tollgate_redis; seconds. `new` takes on_failure, too
#   $workload->{zones}                          # the sizes of tollgate_zone that nodes have, the first one at the start
#   $workload->crowd_lanes($node)               # of clients that use the keys of the crowd in turn, at one node
#   $workload->lanes($n, $of)                   # the lanes of the nth of so many processes: see Verify::Clients
#   $workload->tables_text                      # the plan tables, as nginx.conf has them
#   $workload->sums_text                        # the variables of what tables charge
#   $workload->costs_text('r')                  # what the tables of a location charge

use strict;
use warnings;
use Verify::Random;

# More keys than the largest of the small zones has places for, and of each kind of quota more than it has places for that
# kind. The nth of them is used by the client with the number n modulo 8. With `groups`, ten of them share one.
my $crowd = 3000;
my @crowd = (
    { locations => ['a'] },
    { locations => ['t'], groups => 1 },
    { locations => ['r'], holds => [0, 0.05], costs => [0, 10, 40], uses => [0, 5, 25, ''] },
    ({ locations => ['f'], holds => [0, 0.05] }) x 2,
    { locations => ['k'], costs => [1, 1, 3] },
    { locations => ['v'], values => [map { "c$_" } 1 .. 40] },
    { locations => ['m'], holds => [0, 0.05], costs => [10, 40], uses => [0, 5, 25, ''] },
);

sub new {
    my ($class, %options) = @_;
    my $random = Verify::Random->new("$options{seed}/workload");
    my $self = bless {
        %options, nodes => 3, workers => 2, timeout => $random->one_of(0.3, 0.5, 1), key_cache => 60,
        on_failure => $random->chance(0.7) ? 'local' : 'deny', $options{on_failure} ? (on_failure => $options{on_failure}) : (),
        tables => {
            api => {
                lease => 1, notify => [80, 100], anonymous => [[4, 2], [12, 10]],
                plans => {
                    small => { rates => [[20, 2], [60, 8]] },    # both can be exhausted at once
                    wide  => { rates => [[80, 2], [1200, 30]] },
                    lazy  => { rates => [[1200, 60]] },
                    rush  => { rates => [[1500, 60]] },
                    slide => { rates => [[30, 3]], sliding => 1 },
                    crowd => { rates => [[60, 60]] },
                    pour  => { rates => [[120, 8]] },
                    month => { rates => [[40, 2], [$random->one_of(60, 200), 'month']] },
                },
            },
            strict => {
                lease => 0, notify => [80, 100], anonymous => [[6, 3]],
                plans => {
                    small => { rates => [[12, 2], [36, 8]] },
                    wide  => { rates => [[60, 2], [900, 30]] },
                    lazy  => { rates => [[900, 60]] },
                    rush  => { rates => [[900, 60]] },
                    slide => { rates => [[20, 3]], sliding => 1 },
                    month => { rates => [[30, 2], [$random->one_of(60, 200), 'month']] },
                    crowd => { rates => [[60, 60]] },
                },
            },
            also => { lease => 1, plans => { lazy => { rates => [[1000, 60]] } } },
            banning => {
                lease => 1, plans => { small => { rates => [[120, 20]] } },
                # A ban is remembered for longer than strikes are.
                ban => { after => 4, within => 2, for => 2, up_to => 6 },
            },
            # Its window is always full: beside a table with a ban, it refuses what that table has room for. So a strike
            # recalls no lease.
            closed => { lease => 0, plans => { small => { rates => [[1, 20]] } } },
            # There is room for all requests: only those that another table refuses are strikes.
            watching => {
                lease => 0, plans => { small => { rates => [[4000, 20]] } },
                ban => { after => 8, within => 2, for => 2, up_to => 6 },
            },
            # The same with leases, which last for up to 3 s.
            leading => {
                lease => 1, plans => { small => { rates => [[12_000, 60]] } },
                ban => { after => 5, within => 2, for => 2, up_to => 6 },
            },
            # No request is refused but for those that are in flight.
            flying => {
                lease => 1,
                plans => { map { ($_->[0] => { rates => [[6000, 60]], in_flight => $_->[1] }) } ['one', 1], ['two', 2], ['few', 3], ['many', 5], ['crowd', 4] },
            },
            # What is settled decides how many further requests a window grants.
            metered => { lease => 0, notify => [80, 100], plans => { meter => { rates => [[200, 2], [700, 8]] }, map { ($_ => { rates => [[2000, 2], [8000, 8]] }) } qw(ample crowd) } },
            # No plan with a bucket has leases.
            poured  => { lease => 0, plans => { map { ($_ => { bucket => [10, 20] }) } qw(pour crowd) } },
            valued  => { lease => 1, notify => [80, 100], by => '$arg_v', plans => { map { ($_ => { rates => [[10, 2], [32, 8]] }) } qw(wide crowd) } },
            # Two windows, and no history: Redis decides such requests on a path of their own. The month shows what was
            # counted.
            teams => {
                lease => 1, notify => [80, 100], by => 'group',
                plans => {
                    squad => { rates => [[30, 2], [1_000_000, 'month']] },
                    # So large that nodes have leases and workers slices. A program changes the plan of a group to and fro.
                    troop => { rates => [[1200, 30], [1_000_000, 'month']] },
                    host  => { rates => [[1500, 30], [1_000_000, 'month']] },
                },
            },
            crews => {
                lease => 0, notify => [80, 100], by => 'group',
                plans => {
                    squad => { rates => [[18, 2], [64, 8], [1_000_000, 'month']] },
                    pair  => { rates => [[8, 2], [28, 8], [1_000_000, 'month']] },
                    crowd => { rates => [[300, 60], [1_000_000, 'month']] },
                },
            },
            # One decision over three units, of which two are settled.
            calls   => { lease => 1, plans => { apart => { rates => [[40, 2], [300, 30]] }, crowd => { rates => [[600, 60]] } } },
            tokens  => { lease => 1, notify => [80, 100], plans => { apart => { rates => [[500, 2], [1500, 8]] }, crowd => { rates => [[6000, 60]] } } },
            money   => { lease => 0, notify => [80, 100], plans => { apart => { rates => [[4000, 8]] }, crowd => { rates => [[18_000, 60]] } } },
            entries => { lease => 0, plans => { single => { rates => [[14, 2]] } } },
            bytes   => { lease => 0, plans => { single => { rates => [[40, 2], [120, 8]] } } },
            # Credits come often enough that each balance is now spent, now not.
            prepaid => { lease => 1, plans => { paid => { rates => [[120, 2]], balance => 1 } } },
            saved   => { lease => 0, plans => { owned => { balance => 1 } } },
            # More units than 32 bits hold, also in a lease.
            vast    => { lease => 1, plans => { vast => { rates => [[300_000_000_000, 2], [900_000_000_000, 8]] } } },
            pooled  => { lease => 1, plans => { meter => { rates => [[240, 2], [4000, 30]] } } },
        },
        locations => {
            a => ['api'], s => ['strict'], b => ['api', 'strict'], c => ['api', 'also'], n => ['banning'], w => ['watching'], l => ['leading'],
            nc => ['banning', 'closed'], wc => ['watching', 'closed'], lc => ['leading', 'closed'],
            f => ['flying'], m => ['metered'], p => ['pooled'], k => ['poured'], j => ['api', 'poured'], v => ['valued'], x => ['api', 'valued'],
            g => ['api', 'teams'], h => ['teams'], t => ['strict', 'crews'], y => ['vast'],
            r => [qw(calls tokens money)], q => [qw(entries bytes)], e => ['prepaid'], o => ['saved'],
        },
        upstream => { f => '', map { ($_ => 'settle=$upstream_http_x_used') } qw(m p o r) },
        costs => {
            r => { calls => { fixed => 1 }, tokens => { times => 1, settled => 1 }, money => { times => 3, settled => 1 } },
            q => { entries => { fixed => 1 }, bytes => { times => 1 } },
        },
    }, $class;
    $self->{ids} = {
        (map { ("hot$_" => { plan => 'small', role => 'hot' }) } 1 .. 3),
        (map { ("even$_" => { plan => 'wide', role => 'even' }) } 1 .. 4),
        (map { ("lazy$_" => { plan => 'lazy', role => 'lazy' }) } 1 .. 2),
        # So busy at a node that its workers take slices.
        rush1 => { plan => 'rush', role => 'rush' },
        # Several of its requests are in one call, also when a window is nearly full.
        beat1 => { plan => 'small', role => 'beat', loc => 's' },
        (map { ("solo$_" => { plan => 'small', role => 'solo', alone => 1, loc => $_ }) } qw(a s b)),
        (map { ("slide$_" => { plan => 'slide', role => 'slide' }) } 1 .. 2),
        (map { ("month$_" => { plan => 'month', role => 'month' }) } 1 .. 2),
        # The last day of shorter months.
        month3 => { plan => 'month', role => 'month', billing_day => 31 },
        (map { ("apart$_" => { plan => 'apart', role => 'apart', loc => 'r' }) } 1 .. 2),
        single1 => { plan => 'single', role => 'solo', alone => 1, loc => 'q' },
        paid1 => { plan => 'paid', role => 'paid', loc => 'e' },
        paid2 => { plan => 'owned', role => 'paid', loc => 'o' },
        (map { ("ban$_" => { plan => 'small', role => 'ban', loc => 'n' }) } 1 .. 2),
        # Most of its strikes are too old for a ban when the fourth one comes.
        slow1 => { plan => 'small', role => 'slow', loc => 'n' },
        # Often asks the node that has seen its few strikes.
        strike1 => { plan => 'small', role => 'strike', loc => 'w' },
        # A node grants from a lease while another one refuses until the key is banned.
        lead1 => { plan => 'small', role => 'lead', loc => 'l' },
        flight1 => { plan => 'one',  role => 'flight', loc => 'f' },
        flight2 => { plan => 'few',  role => 'flight', loc => 'f' },
        flight3 => { plan => 'many', role => 'flight', loc => 'f' },
        # Its requests last longer than places do that are not renewed. A node has one, and does not ask for more.
        stream1 => { plan => 'two', role => 'stream', loc => 'f' },
        meter1 => { plan => 'meter', role => 'meter', loc => 'm' },
        # Its requests often end in another window.
        ample1 => { plan => 'ample', role => 'ample', loc => 'm' },
        pool1 => { plan => 'meter', role => 'pool', loc => 'p' },
        pour1 => { plan => 'pour', role => 'pour', loc => 'k' },
        pour2 => { plan => 'pour', role => 'pour', loc => 'j' },
        pour3 => { plan => 'pour', role => 'solo', alone => 1, loc => 'k' },
        vast1 => { plan => 'vast', role => 'vast', loc => 'y' },
        value1 => { plan => 'wide', role => 'value', loc => 'x' },
        value2 => { plan => 'wide', role => 'value', loc => 'v' },
        # A group with a limit that its ids reach together; one of them also reaches its own.
        member1 => { plan => 'small', role => 'member', loc => 'g', group => 'team1' },
        member2 => { plan => 'wide',  role => 'member', loc => 'h', group => 'team1' },
        member3 => { plan => 'wide',  role => 'member', loc => 't', group => 'team1' },
        (map { ("busy$_" => { plan => 'rush', role => 'busy', loc => 'h', group => 'team2' }) } 1 .. 2),
        # The only id of its group.
        pair1 => { plan => 'small', role => 'solo', alone => 1, loc => 't', group => 'team3' },
    };
    $self->{groups} = { team1 => { plan => 'squad' }, team2 => { plan => 'troop' }, team3 => { plan => 'pair' } };
    $self->{credits} = [{ id => 'paid1', units => 70 }, { id => 'paid2', units => 220 }];
    # In a small zone, the crowd evicts other keys, and is evicted.
    my $is_small = $options{small_zone} // $random->chance(0.4);
    $self->{zones} = $is_small ? [qw(128k 160k 192k)] : [qw(1m 1536k 2m)];
    $self->{small_zone} = $is_small ? 1 : 0;
    for my $nth ($is_small ? 0 .. $crowd - 1 : ()) {
        my $group = $crowd[$nth % @crowd]{groups} ? 'crowd' . int($nth / (10 * @crowd)) : undef;
        $self->{ids}{ 'crowd' . ($nth + 1) } = { plan => 'crowd', role => 'crowd', $group ? (group => $group) : () };
        $self->{groups}{$group} = { plan => 'crowd' } if $group;
    }
    # Through a proxy, a node is never refused a connection to a server that has ended.
    $self->{proxies} = $options{deployment} eq 'redis' ? 1 : $options{proxies} // ($random->chance(0.5) ? 1 : 0);
    $self->{groups}{team3}{billing_day} = $random->whole(2, 28);
    $self->{token}{$_} = "token-$_-$options{seed}" for keys %{ $self->{ids} };
    return $self;
}

sub lanes {
    my ($self, $nth, $of) = @_;
    my $random = Verify::Random->new("$self->{seed}/lanes");
    my @lanes;
    for my $id (sort keys %{ $self->{ids} }) {
        my $role = $self->{ids}{$id}{role};
        my %lane = (id => $id, token => $self->{token}{$id});
        my $costs = [(1) x 6, 0, 3];
        if    ($role eq 'hot')   { push @lanes, map { { %lane, locations => [qw(a b s)], gap => 0.14, costs => $costs } } 1 .. 4 }
        elsif ($role eq 'even')  { push @lanes, map { { %lane, locations => [qw(a b s)], gap => 0.2, costs => $costs, burst => $random->one_of(0, 6) } } 1 .. 2 }
        elsif ($role eq 'lazy')  { push @lanes, map { { %lane, locations => [qw(a c)], gap => 0.08, costs => [1, 1, 1, 3], $id eq 'lazy1' ? (address => '192.0.2.1') : () } } 1 .. 2 }
        elsif ($role eq 'rush')  { push @lanes, map { { %lane, locations => ['a'], gap => 0.015, costs => [1], stays => 2 } } 1 .. 4 }
        elsif ($role eq 'solo')  { push @lanes, { %lane, locations => [$self->{ids}{$id}{loc}], gap => 0.06, obeys => 1, costs => [1, 1, 1, 0, 3] } }
        elsif ($role eq 'beat')  { push @lanes, map { { %lane, locations => ['s'], gap => 0.3, beat => 0.3, stays => 0.3 } } 1 .. 8 }
        elsif ($role eq 'slide') { push @lanes, map { { %lane, locations => [qw(a b s)], gap => 0.12 } } 1 .. 2 }
        elsif ($role eq 'month') { push @lanes, map { { %lane, locations => [qw(a b)], gap => 0.3 } } 1 .. 2 }
        elsif ($role eq 'slow')  { push @lanes, { %lane, locations => ['n'], gap => 0.25 }, { %lane, locations => ['nc'], gap => 1.3 } }
        elsif ($role eq 'ban')   { push @lanes, map { { %lane, locations => ['n'], gap => 0.1, costs => [(1) x 9, 70] } } 1 .. 2 }
        elsif ($role eq 'flight') { push @lanes, map { { %lane, locations => ['f'], gap => 0.12, holds => [0, 0.3], leaves => 0.1 } } 1 .. 2 * $self->in_flight->{$id} }
        elsif ($role eq 'stream') { push @lanes, map { { %lane, locations => ['f'], node => $_, gap => 1, holds => [3, 14], streams => 1 } } 0 .. $self->{nodes} - 1 }
        elsif ($role eq 'meter') { push @lanes, map { { %lane, locations => ['m'], gap => 0.2, holds => [0, 0.25], costs => [10, 40], uses => [0, 5, 10, 25, 40, 50, ''] } } 1 .. 4 }
        elsif ($role eq 'ample') { push @lanes, map { { %lane, locations => ['m'], gap => 0.1, holds => [0.2, 0.8], costs => [40], uses => [0, 5, 10, ''], leaves => 0.1 } } 1 .. 4 }
        elsif ($role eq 'pour')  { push @lanes, map { { %lane, locations => [$self->{ids}{$id}{loc}, 'k'], gap => 0.15, costs => [1, 1, 1, 0, 5], burst => 8 } } 1 .. 3 }
        elsif ($role eq 'value') { push @lanes, map { { %lane, locations => [$self->{ids}{$id}{loc}], gap => 0.12, costs => [1, 1, 1, 0, 3], values => ['', qw(u1 u1 u1 u2 u2), "u$_"] } } 3 .. 5 }
        elsif ($role eq 'vast')  { push @lanes, map { { %lane, locations => ['y'], gap => 0.12, costs => [1, 1, 1, 1000, 2**31 - 1, 2**33, 2**36, 2**38, 2**40] } } 1 .. 2 }
        elsif ($role eq 'apart') { push @lanes, map { { %lane, locations => ['r'], gap => 0.12, holds => [0, 0.25], costs => [0, 10, 10, 40], uses => [0, 5, 10, 25, 50, ''], leaves => 0.05 } } 1 .. 4 }
        elsif ($id eq 'paid1')   { push @lanes, map { { %lane, locations => ['e'], gap => 0.08, costs => [1, 1, 1, 3] } } 1 .. 3 }
        elsif ($id eq 'paid2')   { push @lanes, map { { %lane, locations => ['o'], gap => 0.12, holds => [0, 0.2], costs => [10, 20], uses => [0, 5, 10, 25, ''] } } 1 .. 3 }
        elsif ($role eq 'member') { push @lanes, map { { %lane, locations => [qw(g h t)], gap => 0.18, costs => $costs } } 1 .. 2 }
        elsif ($role eq 'busy')  { push @lanes, map { { %lane, locations => [qw(h h g)], gap => 0.04, stays => 2 } } 1 .. 2 }
        elsif ($role eq 'pool')  { push @lanes, map { { %lane, locations => ['p'], gap => 0.08, holds => [0, 0.1], costs => [3, 10], uses => [0, 2, 3, 12, ''] } } 1 .. 4 }
    }
    push @lanes, map { { %$_, costs => [1] } }
        # A client with a good key has this address, too: lazy1.
        { sends => 'nothing', address => '192.0.2.1', locations => [qw(a s)], gap => 0.12 },
        { sends => 'unknown', address => '192.0.2.1', locations => ['a'], gap => 0.4 },
        { sends => 'unknown', address => '192.0.2.2', locations => [qw(a s)], gap => 0.15 },
        { sends => 'wrong', address => '192.0.2.3', locations => ['s'], gap => 0.15 },
        { sends => 'nothing', address => '2001:db8:1:2::', locations => [qw(a b)], gap => 0.1 },
        { sends => 'nothing', address => '192.0.2.4', locations => [qw(a s)], gap => 2 };    # seldom: its budget lasts
    my %strike = (id => 'strike1', token => $self->{token}{strike1}, locations => ['w'], stays => 12);
    push @lanes, { %strike, gap => 0.08 }, { %strike, gap => 0.08 }, { %strike, locations => ['wc'], gap => 0.8 };
    my %lead = (id => 'lead1', token => $self->{token}{lead1}, locations => ['l'], stays => 8);
    push @lanes, { %lead, gap => 0.04 }, { %lead, gap => 0.04 }, { %lead, locations => ['lc'], gap => 0.3, burst => 20, beside => 1 };
    return [@lanes[grep { $_ % $of == $nth } 0 .. $#lanes]];
}

sub in_flight {
    my ($self) = @_;
    my %ids = map { $_ => $self->{tables}{flying}{plans}{ $self->{ids}{$_}{plan} } } keys %{ $self->{ids} };
    return { map { $ids{$_} ? ($_ => $ids{$_}{in_flight}) : () } keys %ids };
}

# They come from an address with a whole `anonymous` budget: of one that has spent it, few keys are looked up.
sub crowd_lanes {
    my ($self, $node) = @_;
    my @ids = map { "crowd$_" } 1 .. $crowd;
    return [map {
        my $nth = $_;
        my @own = map { [$ids[$_], $self->{token}{ $ids[$_] }] } grep { $_ % @crowd == $nth } 0 .. $#ids;
        +{ keys => \@own, node => $node, gap => 0.008, address => '192.0.2.7', %{ $crowd[$nth] } };
    } 0 .. $#crowd];
}

# The variables of what tables charge that do not charge the cost itself: `$verify_cost_3`, `$verify_used_3`.
sub sums_text {
    my ($self) = @_;
    my %times = map { ($_->{times} // 1) => 1 } map { values %$_ } values %{ $self->{costs} };
    return join ' ', map { "tollgate_sum \$verify_cost_$_ \$verify_cost*$_; tollgate_sum \$verify_used_$_ \$upstream_http_x_used*$_;" }
        grep { $_ != 1 } sort keys %times;
}

sub costs_text {
    my ($self, $location) = @_;
    my $settle = $self->{upstream}{$location} // '';
    my $costs = $self->{costs}{$location} or return "tollgate_cost \$verify_cost $settle;";
    return join ' ', map {
        my ($fixed, $times) = @{ $costs->{$_} }{qw(fixed times)};
        my $terms = defined $fixed ? $fixed : $times == 1 ? "\$verify_cost $settle" : "\$verify_cost_$times" . ($settle ? " settle=\$verify_used_$times" : '');
        "tollgate_cost $terms table=$_;";
    } sort keys %$costs;
}

sub tables_text {
    my ($self) = @_;
    my $text = '';
    for my $name (sort keys %{ $self->{tables} }) {
        my $table = $self->{tables}{$name};
        $text .= "tollgate_plans $name" . ($table->{lease} ? '' : ' lease=off') . ($table->{by} ? " by=$table->{by}" : '') . " {\n";
        for my $plan (sort keys %{ $table->{plans} }) {
            my ($sliding, $places, $bucket, $balance) = @{ $table->{plans}{$plan} }{qw(sliding in_flight bucket balance)};
            my $rates = join ' ', $bucket ? "$bucket->[0]r/s burst=$bucket->[1]" : (), $balance ? 'balance' : (),
                map { "$_->[0]r/" . ($_->[1] eq 'month' ? 'month' : "$_->[1]s") } @{ $table->{plans}{$plan}{rates} // [] };
            $text .= "    plan $plan $rates" . ($sliding ? ' window=sliding' : '') . ($places ? " in_flight=$places" : '') . ";\n";
        }
        if (my $ban = $table->{ban}) { $text .= "    ban after=$ban->{after} within=$ban->{within}s for=$ban->{for}s up_to=$ban->{up_to}s;\n" }
        $text .= '    anonymous ' . join(' ', map { "$_->[0]r/$_->[1]s" } @{ $table->{anonymous} }) . ";\n" if $table->{anonymous};
        $text .= '    notify ' . join(' ', map { "$_%" } @{ $table->{notify} }) . ";\n" if $table->{notify};
        $text .= "    history 3d;\n" unless ($table->{by} // '') eq 'group';    # a group has none
        $text .= "}\n";
    }
    return $text;
}

# What the history's `config` record contains.
sub config {
    my ($self) = @_;
    return { in_flight => $self->in_flight, map { $_ => $self->{$_} } qw(seed deployment tls small_zone proxies nodes workers timeout key_cache on_failure tables locations upstream costs ids groups) };
}

1;
