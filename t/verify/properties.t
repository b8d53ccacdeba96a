# Each property accepts a right history and reports a wrong one. The histories are written by hand: small ones, in which
# one thing is wrong.

use strict;
use warnings;
use lib 't/lib', 't/verify/lib';
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Test::More;
use Verify::History;
use Verify::Property::Acknowledged;
use Verify::Property::Answers;
use Verify::Property::Atomicity;
use Verify::Property::Balances;
use Verify::Property::Budgets;
use Verify::Property::Conservation;
use Verify::Property::Endings;
use Verify::Property::Fields;
use Verify::Property::InFlight;
use Verify::Property::Liveness;
use Verify::Property::Notices;
use Verify::Property::Operations;
use Verify::Property::Refusals;
use Verify::Property::Safety;
use Verify::Property::Secrecy;

# Windows of 2 s of Redis's clock, which is that of the clients here. The times of records are seconds after this one.
my $zero = 1_800_000_000;

my %config = (
    nodes => 3, workers => 2, timeout => 0.5, on_failure => 'local',
    tables => {
        api     => { lease => 1, plans => { small => { rates => [[20, 2]] }, slide => { rates => [[10, 2]], sliding => 1 }, month => { rates => [[3, 'month']] } } },
        strict  => { lease => 0, anonymous => [[3, 2], [5, 8]], plans => { small => { rates => [[3, 2], [5, 8]] } } },
        banning => { lease => 0, plans => { small => { rates => [[5, 2]] } }, ban => { after => 3, within => 4, for => 3, up_to => 6 } },
        poured  => { lease => 0, plans => { small => { bucket => [2, 3] } } },
        valued  => { lease => 0, by => '$arg_v', plans => { small => { rates => [[2, 2]] } } },
        calls   => { lease => 0, plans => { small => { rates => [[3, 2]] } } },
        money   => { lease => 0, plans => { small => { rates => [[30, 2]] } } },
        saved   => { lease => 0, plans => { owned => { balance => 1 } } },
        prepaid => { lease => 1, plans => { paid => { rates => [[50, 2]], balance => 1 } } },
        crews   => { lease => 0, by => 'group', plans => { squad => { rates => [[4, 2]] }, large => { rates => [[6, 2]] } } },
    },
    locations => { a => ['api'], s => ['strict'], b => ['api', 'strict'], n => ['banning'], k => ['poured'], v => ['valued'], x => ['api', 'valued'], t => ['crews'], u => ['strict', 'crews'],
        r => ['calls', 'money'], o => ['saved'], e => ['prepaid'] },
    costs => { r => { calls => { fixed => 1 }, money => { times => 10, settled => 1 } } },
    ids => {
        k => { plan => 'small', alone => 1 }, slide => { plan => 'slide' }, month => { plan => 'month' }, b => { plan => 'small' },
        m1 => { plan => 'small', group => 'team' }, m2 => { plan => 'small', group => 'team' }, p => { plan => 'small', alone => 1, group => 'pair' },
        owned => { plan => 'owned' }, paid => { plan => 'paid' },
    },
    groups => { team => { plan => 'squad' }, pair => { plan => 'squad' } },
    in_flight => { b => 3 },
);

# A record: its times are relative, and a request has the usual fields.
sub record {
    my ($kind, %fields) = @_;
    for my $name (grep { defined $fields{$_} } qw(begin by from to end at quiet)) { $fields{$name} += $zero }
    if ($kind eq 'req') {
        %fields = (node => 0, id => 'k', loc => 's', cost => 1, status => 200, %fields);
        $fields{end} //= $fields{begin} + 0.01;
        $fields{verdict} //= { 200 => 'granted', 429 => 'limited', 503 => 'unavailable' }->{ $fields{status} };
        $fields{code} //= { 429 => 'rate_limit_exceeded', 503 => 'service_unavailable' }->{ $fields{status} };
        $fields{retry} //= 1 if $fields{status} =~ /^(?:429|503)$/;
    }
    return Verify::History::line($kind, \%fields);
}

sub history {
    my ($records, %changed) = @_;
    my $text = record(config => json => { %config, %changed });
    $text .= record(clock => begin => $_, end => $_ + 0.001, redis => $zero + $_ + 0.0005) for -10, 0, 5;
    return Verify::History->from_text(join '', $text, map { record(@$_) } @$records);
}

my $property;
sub right { my ($name, $records, %changed) = @_; is_deeply([$property->(history($records, %changed))], [], "right: $name") }
sub wrong {
    my ($name, $pattern, $records, %changed) = @_;
    my @violations = $property->(history($records, %changed));
    is(scalar @violations, 1, "wrong: $name") or diag(explain \@violations);
    like($violations[0] // '', $pattern, '... and the evidence says so');
}
sub requests { my ($times, %fields) = @_; return map { [req => begin => $_, %fields] } @$times }
sub fault { my ($kind, $begin, $end, %fields) = @_; return [fault => kind => $kind, begin => $begin, from => $begin, to => $end, end => $end, node => 0, value => 0.5, %fields] }

subtest 'safety' => sub {
    $property = \&Verify::Property::Safety::check;
    right('as many as the limit', [requests([0.1, 0.2, 0.3])]);
    right('more in two windows', [requests([0.1, 0.2, 0.3, 2.1, 2.2])]);
    wrong('one more than the limit', qr/3 per 2: 4 units were granted in window/, [requests([0.1, 0.2, 0.3, 0.4])]);
    wrong('more than the limit of the longer window', qr/5 per 8: 6 units/, [requests([0.1, 0.2, 0.3, 2.1, 2.2, 4.1])]);
    wrong('costs', qr/4 units/, [requests([0.1, 0.2], cost => 2)]);
    right('costs of which not all is used', [requests([0.1, 0.2, 0.3], cost => 2, used => 1)]);
    wrong('... one more', qr/4 units/, [requests([0.1, 0.2, 0.3, 0.4], cost => 2, used => 1)]);
    right('more is used than the cost', [requests([0.1, 0.2, 0.3], used => 9)]);
    wrong('... one more', qr/4 units/, [requests([0.1, 0.2, 0.3, 0.4], used => 9)]);
    my @held = map { [req => begin => 1.5 + $_ / 100, end => 2.5, by => 1.505 + $_ / 100] } 1 .. 4;
    right('requests that end in the next window', [@held[0 .. 2]]);
    my $shown = sub { my ($begin, $left, %fields) = @_; return [req => begin => $begin, cost => 2, used => 0, rl => qq("wide-2";r=$left;t=1), %fields] };
    my %wide_limit = (tables => { strict => { lease => 0, plans => { small => { rates => [[9, 2]] } } } });
    right('what is left, after one that has ended', [$shown->(0.1, 7), $shown->(0.5, 7)], %wide_limit);
    right('... that runs', [$shown->(0.1, 7, by => 0.12, end => 0.9), $shown->(0.5, 5)], %wide_limit);
    wrong('... and does not count', qr/9 per 2: 7 units are left in window \d+, of which at least 4 are taken/,
        [$shown->(0.1, 7, by => 0.12, end => 0.9), $shown->(0.5, 7)], %wide_limit);
    right('... that was granted alone', [$shown->(0.1, 7, by => 0.12, end => 0.9, verdict => 'degraded'), $shown->(0.5, 7)], %wide_limit);
    right('... of the window before', [$shown->(1.8, 7, by => 1.82, end => 2.9), $shown->(2.5, 7)], %wide_limit);
    right('... in a fault', [$shown->(0.1, 7, by => 0.12, end => 0.9), $shown->(0.5, 7), fault(mute => 0.3, 0.4)], %wide_limit);
    wrong('... in a reload', qr/7 units are left/, [$shown->(0.1, 7, by => 0.12, end => 0.9), $shown->(0.5, 7), fault(reload => 0.3, 0.4)], %wide_limit);
    my @plain = ([req => begin => 0.1, rl => '"small-2";r=2;t=2, "small-8";r=4;t=8'], [req => begin => 0.3, rl => '"small-2";r=1;t=2, "small-8";r=3;t=8']);
    right('... of two windows', [@plain]);
    wrong('... of which one shows too many', qr/5 per 8: 4 units are left in window \d+, of which at least 2 are taken/, [$plain[0], [@{ $plain[1] }, rl => '"small-2";r=1;t=2, "small-8";r=4;t=8']]);
    my @long = (tables => { strict => { lease => 0, plans => { small => { rates => [[9, 60]] } } } });
    my @fresh = ([req => begin => 0.1, rl => '"small-60";r=8;t=60'], [req => begin => 21, rl => '"small-60";r=8;t=39']);
    right('... of a window whose counts were lost', [@fresh, fault(lose_counts => 1, 1)], @long);
    wrong('... were not', qr/9 per 60: 8 units are left/, [@fresh], @long);
    wrong('... one more', qr/3 per 2: 4 units/, [@held]);
    right('requests of cost 0', [requests([0.1, 0.2, 0.3, 0.4], cost => 0)]);
    right('refused requests', [requests([0.1, 0.2, 0.3]), requests([0.4], status => 429)]);
    right('requests without an answer', [requests([0.1, 0.2, 0.3]), requests([0.4], status => 0)]);
    right('a request that may belong to the next window', [requests([0.1, 0.2, 0.3]), [req => begin => 1.9, end => 2.1]]);
    right('a grant so near to a window that a node may count it there', [requests([0.1, 0.2, 0.3]), [req => begin => 1.99, end => 1.995]]);
    wrong('two locations count together', qr/4 units/, [requests([0.1, 0.2]), requests([0.3, 0.4], loc => 'b')]);
    right('the same after Redis has lost counts', [requests([0.1, 0.2, 0.3, 0.4]), fault(lose_counts => 0.25, 0.26)]);
    wrong('more than twice the limit after one loss', qr/7 units were granted in window \d+, after 1 losses/,
        [requests([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], loc => 's'), fault(lose_counts => 0.25, 0.26)], tables => { %{ $config{tables} }, strict => { lease => 0, plans => { small => { rates => [[3, 2]] } } } });
    wrong('a month', qr/3 per month: 4 units/, [requests([0.1, 2000, 4000, 6000], id => 'month', loc => 'a')]);
    right('tables that charge differently', [requests([0.1, 0.2], loc => 'r')]);
    wrong('... one more of one unit', qr/k in calls, 3 per 2: 4 units/, [requests([0.1, 0.2, 0.3], loc => 'r', cost => 0), requests([0.4], loc => 'r', cost => 0)]);
    wrong('... too many of the other', qr/k in money, 30 per 2: 40 units/, [requests([0.1, 0.2], loc => 'r', cost => 2)]);
    right('... which are not used', [requests([0.1, 0.2], loc => 'r', cost => 2, used => 1)]);
    # The 15th of January 2027 is the day of the times here.
    my %billed = (ids => { month => { plan => 'month', billing_day => 16 } });
    my @over_night = requests([0.1, 2000, 60_000, 62_000], id => 'month', loc => 'a');
    wrong('a month', qr/3 per month: 4 units/, [@over_night]);
    right('a month that begins on another day', [@over_night], %billed);
    wrong('... one more', qr/3 per month: 4 units/, [@over_night, requests([64_000, 66_000], id => 'month', loc => 'a')], %billed);
    wrong('a sliding window', qr/count 9\.\d+, and \d are granted/, [requests([map { 0.1 + $_ / 100 } 1 .. 10], id => 'slide', loc => 'a'), requests([2.1, 2.11, 2.12, 2.13], id => 'slide', loc => 'a')]);
    right('a sliding window, late', [requests([map { 0.1 + $_ / 100 } 1 .. 10], id => 'slide', loc => 'a'), requests([map { 3.8 + $_ / 100 } 1 .. 8], id => 'slide', loc => 'a')]);
    my @alone = (verdict => 'degraded');
    right('alone in addition', [requests([0.1, 0.2, 0.3]), requests([0.4, 0.5, 0.6], @alone), fault(stop_redis => 0.35, 1.9)]);
    wrong('a node alone, more than the limit', qr/node 0 granted 4 units alone/, [requests([0.4, 0.5, 0.6, 0.7], @alone), fault(stop_redis => 0.35, 1.9)]);
    wrong('alone with deny', qr/0 are allowed/, [requests([0.4], @alone), fault(stop_redis => 0.35, 1.9)], on_failure => 'deny', tables => { strict => { lease => 0, plans => { small => { rates => [[3, 2]] } } } });
    my @all = map { my $node = $_; requests([2.1, 2.2, 2.3], @alone, node => $node) } 0 .. 2;
    my @short = (tables => { strict => { lease => 0, plans => { small => { rates => [[3, 2]] } } } });
    my @twice = (requests([0.2, 0.25, 0.3], @alone), requests([1.4, 1.5, 1.6], @alone), fault(hold => 0.1, 0.4), fault(hold => 1.3, 1.7));
    wrong('the limit in each of two outages', qr/granted 6 units alone in window \d+; 3 are allowed/, [@twice], @short);
    right('... with a full zone', [@twice], @short, small_zone => 1);
    wrong('... and one more', qr/granted 7 units alone in window \d+; 6 are allowed/, [@twice, requests([1.65], @alone)], @short, small_zone => 1);
    right('each node its share', [@all, fault(stop_redis => 0.35, 5)]);
    my %wide = (tables => { strict => { lease => 0, plans => { small => { rates => [[9, 2]] } } } });
    my @nine = map { my $node = $_; requests([map { 2.1 + $_ / 20 } 1 .. 9], @alone, node => $node) } 0 .. 2;
    wrong('each node all', qr/all nodes granted 27 units alone/, [@nine, fault(stop_redis => 0.35, 5)], %wide);
    right('... of which each may be in a window with other counts', [@nine, fault(stop_redis => 2.35, 5)], %wide);
    right('the clock of Redis steps', [requests([0.1, 0.2, 0.3, 0.4]), fault(step_clock => 0.25, 0.26, step => 3)]);
    right('the burst of a bucket, then its tokens', [requests([0.1, 0.2, 0.3, 0.9, 1.4, 1.9], loc => 'k')]);
    wrong('one before its token has come', qr/k in poured: 4 units were granted within 0\.\d+ s, with a burst of 3 and 2 tokens a second/, [requests([0.1, 0.2, 0.3, 0.4], loc => 'k')]);
    wrong('a bucket that fills too fast', qr/7 units/, [requests([0.1, 0.2, 0.3, 0.8, 1.2, 1.6, 1.9], loc => 'k')]);
    right('a bucket that is full again', [requests([0.1, 0.2, 0.3, 2.1, 2.2, 2.3], loc => 'k')]);
    wrong('costs of a bucket', qr/4 units/, [requests([0.1, 0.3], loc => 'k', cost => 2)]);
    right('a bucket, once more after a loss', [requests([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], loc => 'k'), fault(lose_counts => 0.35, 0.36)]);
    wrong('... and one more', qr/7 units/, [requests([0.1, 0.15, 0.2, 0.37, 0.39, 0.41, 0.43], loc => 'k'), fault(lose_counts => 0.35, 0.36)]);
    my @nine_of_k = requests([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1, 1.05, 1.1], loc => 'k');
    right('a bucket at each of two masters', [@nine_of_k, fault(fail_over => 0.35, 1.2)]);
    wrong('... that are one', qr/\d units/, [@nine_of_k, fault(lose_counts => 0.35, 0.36)]);
    my @outage = (fault(stop_redis => 0.35, 1.9), verdict => 'degraded', loc => 'k');
    right('alone, a bucket of its own', [requests([0.1, 0.2, 0.3], loc => 'k'), requests([0.4, 0.5, 0.6], @outage[1 .. 4]), $outage[0]]);
    wrong('alone, more than a bucket', qr/node 0 alone: 4 units/, [requests([0.4, 0.5, 0.6, 0.65], @outage[1 .. 4]), $outage[0]]);
    my @values = map { my $value = $_; requests([0.1, 0.2], loc => 'v', value => $value) } qw(u1 u2);
    right('as many for each value', [@values, requests([0.3, 0.4, 0.5], loc => 'v', value => '')]);
    wrong('one more for a value', qr/k in valued of u1, 2 per 2: 3 units/, [@values, requests([0.3], loc => 'x', value => 'u1')]);
    my @team = (requests([0.1, 0.2], id => 'm1', loc => 't'), requests([0.3, 0.4], id => 'm2', loc => 'u'));
    right('the limit of a group', [@team, requests([0.5, 0.6], id => 'k', loc => 't'), requests([0.5, 0.6], id => 'p', loc => 't')]);
    wrong('one more for one of its ids', qr/team in crews, 4 per 2: 5 units/, [@team, requests([0.5], id => 'm2', loc => 't')]);
    wrong('the limit of an id in it', qr/m2 in strict, 3 per 2: 4 units/, [requests([0.1, 0.2, 0.3, 0.4], id => 'm2', loc => 'u')]);
    right('a group, alone in addition', [@team, requests([0.5, 0.6], id => 'm1', loc => 't', @alone), requests([0.5, 0.6], id => 'm2', loc => 't', @alone), fault(stop_redis => 0.45, 1.9)]);
    wrong('... one more', qr/team in crews, 4 per 2: node 0 granted 5 units alone/, [@team, requests([0.5, 0.6, 0.7], id => 'm1', loc => 't', @alone), requests([0.5, 0.6], id => 'm2', loc => 't', @alone), fault(stop_redis => 0.45, 1.9)]);
    my @larger = ([op => kind => 'group', id => 'team', node => 0, begin => 0, end => 0.05, status => 200, value => 'large'], @team);
    right('another plan of a group', [@larger, requests([0.5, 0.6], id => 'm1', loc => 't')]);
    wrong('... one more', qr/team in crews, 6 per 2: 7 units/, [@larger, requests([0.5, 0.6, 0.7], id => 'm1', loc => 't')]);
    my $back = sub { return [op => kind => 'group', id => 'team', node => 0, begin => 1, end => 1.05, value => 'squad', @_] };
    my @later = requests([2.1, 2.2, 2.3, 2.4, 2.5], id => 'm1', loc => 't');
    wrong('... that has ended', qr/team in crews, \d per 2: 5 units/, [@larger, $back->(status => 200), @later]);
    right('... whose end was not acknowledged', [@larger, $back->(status => 503), @later]);
    right('... that may come late', [[op => kind => 'group', id => 'team', node => 0, begin => 0.8, end => 0.9, status => 503, value => 'large'], $back->(status => 200), @later]);
    right('... whose end a fault delays', [@larger, $back->(status => 200), @later, fault(cut => 0.9, 0.9)]);
    wrong('a changed limit', qr/5 per 2: 6 units/, [requests([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), fault(change_limits => 0, 3, table => 'strict', plan => 'small', rates => [[5, 2], [9, 8]])]);
};

subtest 'conservation' => sub {
    $property = \&Verify::Property::Conservation::check;
    my @round = ([round => number => 1, begin => 0, quiet => 9, end => 10, faults => 0]);
    my $counted = sub { [quota => round => $_[2] // 1, id => 'k', table => $_[1] // 'strict', '86400.count' => $_[0]] };
    right('counted', [@round, requests([1, 2]), requests([3], cost => 0), requests([4], status => 429), $counted->(2)]);
    wrong('one more than was granted', qr/2 units were granted, Redis counted 3; at most 2/, [@round, requests([1, 2]), $counted->(3)]);
    wrong('one less', qr/Redis counted 1; at least 2/, [@round, requests([1, 2]), $counted->(1)]);
    wrong('nothing', qr/Redis counted 0/, [@round, requests([1, 2])]);
    wrong('units of nobody', qr/0 units were granted, Redis counted 1/, [@round, requests([1], status => 429), $counted->(1)]);
    right('no answer: counted', [@round, requests([1]), requests([2], status => 0), $counted->(2)]);
    right('no answer: not counted', [@round, requests([1]), requests([2], status => 0), $counted->(1)]);
    right('more is used than the cost', [@round, requests([1, 2], used => 5), $counted->(10)]);
    right('less is used', [@round, requests([1, 2], cost => 5, used => 0), $counted->(0)]);
    wrong('an excess is not counted', qr/10 units were granted, Redis counted 2/, [@round, requests([1, 2], used => 5), $counted->(2)]);
    wrong('a refund is not counted', qr/Redis counted 10; at most 4/, [@round, requests([1, 2], cost => 5, used => 2), $counted->(10)]);
    wrong('a refund is counted twice', qr/Redis counted 1; at least 7/, [@round, requests([1], cost => 5, used => 2), requests([2], cost => 5), $counted->(1)]);
    right("no answer: $_ are counted", [@round, requests([1], status => 0, cost => 5, used => 9), $counted->($_)]) for 0, 5, 9;
    wrong('... more', qr/Redis counted 10; at most 9/, [@round, requests([1], status => 0, cost => 5, used => 9), $counted->(10)]);
    my @apart = requests([1, 2], cost => 3, used => 2, loc => 'r');
    right('tables that charge differently', [@round, @apart, $counted->(2, 'calls'), $counted->(40, 'money')]);
    wrong('... of which one charges what the other does', qr/k in money: 40 units were granted, Redis counted 2;/, [@round, @apart, $counted->(2, 'calls'), $counted->(2, 'money')]);
    right('what is charged at the end only', [@round, requests([1], cost => 0, used => 2, loc => 'r'), $counted->(1, 'calls'), $counted->(20, 'money')]);
    wrong('... and is not counted', qr/k in money: 20 units were granted, Redis counted 0/, [@round, requests([1], cost => 0, used => 2, loc => 'r'), $counted->(1, 'calls')]);
    my @killed = (requests([1], cost => 5, used => 2), requests([2], cost => 5, used => 9));
    right('a worker is killed before it settles', [@round, @killed, $counted->($_), fault(kill_worker => 2.05, 2.06)]) for 7, 11;
    wrong('... long before', qr/at least 7/, [@round, @killed, $counted->(6), fault(kill_worker => 2.05, 2.06)]);
    wrong('... at another node', qr/at least 11/, [@round, @killed, $counted->(7), fault(kill_worker => 2.05, 2.06, node => 1)]);
    wrong('... while another one serves a request to its end', qr/at least 6/, [@round, [req => begin => 2, end => 2.4, cost => 4, used => 6], $counted->(4), fault(kill_worker => 2.05, 2.06)]);
    right('a node is killed before it reports', [@round, @killed, $counted->($_), fault(kill_node => 4, 4.1)]) for 7, 14;
    wrong('a refund whose reply is lost', qr/at most 11/, [@round, @killed, $counted->(14), fault(mute => 1.5, 2.5)]);
    my @pool = map { [@$_, loc => 'a'] } @killed;
    right('... with the lease that has it', [@round, @pool, $counted->(14, 'api'), fault(mute => 1.5, 2.5)]);
    my @stalled = map { [stall => of => 'process 7', at => $_, end => $_ + 0.1] } 2.1, 2.2, 2.3;
    my @late = (requests([1]), [req => begin => 2, end => 2.6, verdict => 'degraded'], $counted->(3));
    right('a call that was lost while the machine stood still', [@round, @late, @stalled]);
    wrong('... twice', qr/at most 3/, [@round, @late[0, 1], $counted->(4), @stalled]);
    my @leased = (requests([1], loc => 'a'), [req => begin => 2, end => 2.6, verdict => 'degraded', loc => 'a'], @stalled);
    right('... with a lease', [@round, @leased, $counted->(6, 'api')]);
    wrong('... and more', qr/at most 6/, [@round, @leased, $counted->(7, 'api')]);
    right('... while Sentinels are stopped', [@round, @leased, $counted->(6, 'api'), fault(stop_sentinels => 1.9, 2.2)]);
    my @outage = (fault(refuse => 0.5, 0.9), requests([1], loc => 'a'), [req => begin => 2, end => 2.6, verdict => 'degraded', loc => 'a']);
    right('... after an outage', [@round, @outage, @stalled, $counted->(3 + 5 * 3, 'api')]);
    wrong('... of a machine that did not stand still', qr/at most 15/, [@round, @outage, $counted->(16, 'api')]);
    my @after = (requests([1], loc => 'a'), [req => begin => 4, end => 4.6, status => 429, loc => 'a'], @stalled);
    right('a request that the node refuses alone later', [@round, @after, $counted->(2, 'api')]);
    wrong('... with a lease', qr/at most 2/, [@round, @after, $counted->(3, 'api')]);
    my @together = (requests([1], loc => 'a'), (map { [req => begin => 2, end => 2.6, status => 429, loc => 'a'] } 1 .. 6), @stalled);
    right('... of two calls for each worker', [@round, @together, $counted->(1 + 6 + 4 * 3, 'api')]);
    wrong('... and more', qr/at most 19/, [@round, @together, $counted->(20, 'api')]);
    my @resized = (requests([1], loc => 'a'), $counted->(4, 'api'), fault(resize_zone => 1.5, 1.6));
    wrong('a lease that a reload with another zone loses', qr/at most 1/, [@round, @resized]);
    right('... on a machine that stood still', [@round, @resized, @stalled]);
    my @moved = (fault(move_address => 1.5, 1.6), requests([1]), [req => begin => 1.55, end => 1.85, cost => 4, used => 5]);
    right('what a request has used at an old worker, in an outage', [@round, @moved, $counted->($_), fault(refuse_user => 1.65, 2)]) for 5, 6;
    wrong('... its cost, too', qr/at least 5/, [@round, @moved, $counted->(4), fault(refuse_user => 1.65, 2)]);
    wrong('... while Redis is reachable', qr/at least 6/, [@round, @moved, $counted->(5)]);
    wrong('... at a new worker', qr/at least 6/, [@round, fault(move_address => 1.2, 1.3), @moved[1, 2], $counted->(5), fault(refuse_user => 1.65, 2)]);
    my @refused_late = (requests([1]), [req => begin => 2, end => 2.6, status => 429]);
    right('... and the node refused the request alone', [@round, @refused_late, @stalled, $counted->(2)]);
    wrong('... of a machine that did not stand still', qr/at most 1/, [@round, @refused_late, $counted->(2)]);
    right('in a later day', [@round, requests([1, 2]), $counted->(1), [history => round => 1, id => 'k', 'strict:20000' => 1]]);
    right('values together', [@round, requests([1], loc => 'v', value => 'u1'), requests([2], loc => 'v', value => 'u2'), requests([3], loc => 'v', value => ''), $counted->(2, 'valued'),
        [quota => round => 1, id => 'k', table => 'valued:0123456789abcdef', '2.count' => 1]]);
    my @team = (requests([1, 2], id => 'm1', loc => 'u'), requests([3], id => 'm2', loc => 't'));
    my $of_team = sub { my ($units, %more) = @_; return [quota => round => 1, id => 'team', table => 'crews:group', 'month.count' => $units, 'month.number' => 700, %more] };
    my @of_id = [quota => round => 1, id => 'm1', table => 'strict', '86400.count' => 2];
    right('a group', [@round, @team, @of_id, $of_team->(3)]);
    wrong('... one of its ids is not counted', qr/team in crews: 3 units were granted, Redis counted 2; at least 3/, [@round, @team, @of_id, $of_team->(2)]);
    wrong('... a request of an id without a group is', qr/team in crews: 3 units were granted, Redis counted 4; at most 3/, [@round, @team, requests([4], loc => 't'), @of_id, $of_team->(4)]);
    wrong('... only the group is counted', qr/m1 in strict: 2 units were granted, Redis counted 0/, [@round, @team, $of_team->(3)]);
    my @rounds = (@round, [round => number => 2, begin => 10, quiet => 19, end => 20, faults => 0], @team, @of_id, $of_team->(3), [quota => round => 2, id => 'm1', table => 'strict', '86400.count' => 2]);
    wrong('... less than before', qr/round 2, team in crews: 0 units were granted, Redis counted -2/, [@rounds, $of_team->(1, round => 2)]);
    right('... of another month', [@rounds, $of_team->(1, round => 2, 'month.number' => 701)]);
    wrong('an empty value', qr/k in valued: 0 units were granted, Redis counted 1/, [@round, requests([3], loc => 'v', value => ''), $counted->(1, 'valued')]);
    wrong('a table of two', qr/k in strict: 1 units were granted, Redis counted 0/, [@round, requests([1], loc => 'b'), $counted->(1, 'api')]);
    my @second = ([round => number => 2, begin => 10, quiet => 19, end => 20, faults => 0]);
    right('a second round', [@round, @second, requests([1, 11]), $counted->(1), $counted->(2, 'strict', 2)]);
    wrong('too much in the second round', qr/round 2/, [@round, @second, requests([1, 11]), $counted->(1), $counted->(3, 'strict', 2)]);
    my @lost = (requests([1]), requests([2], verdict => 'degraded'), $counted->(3));
    right('a call whose reply was lost', [@round, @lost, fault(kill_redis => 2.005, 3)]);
    my %vast = (tables => { %{ $config{tables} }, strict => { lease => 0, plans => { small => { rates => [[2**38, 2], [2**40, 8]] } } } });
    my @vast = (requests([1]), requests([2], verdict => 'degraded', cost => 2**33), fault(kill_redis => 2.005, 3));
    right('... of a large cost', [@round, @vast, $counted->(2**34 + 1)], %vast);
    wrong('... twice', qr/at most @{[2**34 + 1]} can be/, [@round, @vast, $counted->(3 * 2**33 + 1)], %vast);
    wrong('... twice', qr/at most 3/, [@round, @lost[0, 1], $counted->(4), fault(kill_redis => 2.005, 3)]);
    wrong('a call that a dead Redis executed', qr/at most 2/, [@round, @lost, fault($_ => 1.9, 3)]) for qw(kill_redis refuse_memory refuse_user);
    right('... when it was back', [@round, @lost, fault(kill_redis => 1.9, 3, to => 2)]);
    right('... because the call arrived late', [@round, @lost, fault(kill_redis => 1.9, 3, to => 2.3), fault(delay => 1.9, 2.5)]);
    wrong('... but not after its deadline', qr/at most 2/, [@round, @lost, fault(kill_redis => 1.9, 3), fault(delay => 1.9, 2.5)]);
    wrong('a call that a stopped Redis executed late', qr/at most 2/, [@round, requests([1]), requests([3], verdict => 'degraded'), $counted->(3), fault(stop_redis => 1.9, 6)]);
    my @refused = ([req => begin => 2, end => 2.3, status => 429], fault(mute => 1.9, 2.2));
    right('a call whose reply was lost, and whose node refused the request alone', [@round, requests([1]), @refused, $counted->(2)]);
    wrong('... twice', qr/at most 2/, [@round, requests([1]), @refused, $counted->(3)]);
    wrong('... at another node', qr/at most 1/, [@round, requests([1]), $refused[0], fault(mute => 1.9, 2.2, node => 1), $counted->(2)]);
    right('... which costs as much as the limit', [@round, requests([1]), [@{ $refused[0] }, cost => 3], $refused[1], $counted->(4)]);
    wrong('... which costs more than the limit', qr/at most 1/, [@round, requests([1]), [@{ $refused[0] }, cost => 4], $refused[1], $counted->(2)]);
    wrong('... with deny', qr/at most 1/, [@round, requests([1]), @refused, $counted->(2)], on_failure => 'deny');
    wrong('... long after the fault', qr/at most 1/, [@round, requests([1]), [req => begin => 3.5, status => 429], $refused[1], $counted->(2)]);
    right('units that were granted alone and lost with the node', [@round, requests([1]), requests([2], verdict => 'degraded'), $counted->(1), fault(kill_node => 2.1, 2.2)]);
    wrong('... of another node', qr/at least 2/, [@round, requests([1]), requests([2], verdict => 'degraded', node => 1), $counted->(1), fault(kill_node => 2.1, 2.2)]);
    my @reported = (requests([1]), requests([2], verdict => 'degraded'), fault(kill_redis => 1.9, 2.5));
    right('... before it has reported them', [@round, @reported, $counted->(1), fault(kill_node => 7, 7.1)]);
    wrong('... long after it has reported them', qr/at least 2/, [@round, @reported, $counted->(1), fault(kill_node => 8, 8.1)]);
    right('... after a second outage', [@round, @reported, $counted->(1), fault(refuse => 6, 7.5), fault(kill_node => 8, 8.1)]);
    wrong('... at another node', qr/at least 2/, [@round, @reported, $counted->(1), fault(refuse => 6, 7.5, node => 1), fault(kill_node => 8, 8.1)]);
    right('... with the workers of a reload', [@round, @reported, $counted->(1), fault(resize_zone => 2.3, 2.4)]);
    wrong('... that reach Redis', qr/at least 2/, [@round, requests([1]), requests([2], verdict => 'degraded'), $counted->(1), fault(resize_zone => 2.3, 2.4)]);
    my @full = (fault(fill_zone => 1.5, 6), requests([1, 2]));
    wrong('a full zone loses no counts', qr/at least 2/, [@round, @full, $counted->(1)]);
    wrong('... and counts nothing else', qr/at most 2/, [@round, @full, $counted->(3)]);
    wrong('... nor in an outage', qr/at least 3/, [@round, @full, requests([3], verdict => 'degraded'), $counted->(2), fault(kill_redis => 2.5, 3)]);
    right('lost counts', [@round, requests([1, 5]), $counted->(1), fault(lose_counts => 3, 3)]);
    right('... with what was granted within 5 s', [@round, requests([1, 7.9]), $counted->(0), fault(lose_counts => 3, 3)]);
    wrong('... with what was granted later', qr/2 units were granted, Redis counted 0; at least 1/, [@round, requests([1, 8.1]), $counted->(0), fault(lose_counts => 3, 3)]);
    right('... of leases', [@round, requests([1, 8.1], loc => 'a'), $counted->(0, 'api'), fault(lose_counts => 3, 3)]);
    right('... again', [@round, requests([1, 8.1]), $counted->(0), fault(lose_counts => 3, 3), fault(lose_counts => 9, 9)]);
    my @before = (requests([2], cost => 5, used => 3), requests([8.1], cost => 4), fault(lose_counts => 3, 3));
    right('what was not used is given back later', [@round, @before, $counted->(2)]);
    wrong('... and more', qr/at least 2/, [@round, @before, $counted->(1)]);
    my @long = ([round => number => 1, begin => 0, quiet => 29, end => 30, faults => 0], requests([1, 10, 20.1]), fault(kill_master => 13, 15));
    right('counts that a failover loses', [@long, $counted->(2)]);
    wrong('... and older ones', qr/at least 2/, [@long, $counted->(1)]);
    my @older = (@round, [round => number => 2, begin => 10, quiet => 29, end => 30, faults => 0], requests([1]), $counted->(1));
    right('counts of the round before', [@older, $counted->(0, 'strict', 2), fault(kill_master => 19, 20)]);
    wrong('... that are older', qr/round 2, k in strict: 0 units were granted, Redis counted -1; at least 0/, [@older, $counted->(0, 'strict', 2), fault(kill_master => 21, 22)]);
    my @alone_before = ([round => number => 1, begin => 0, quiet => 39, end => 40, faults => 0], requests([1], verdict => 'degraded'), fault(refuse => 0.9, 2));
    right('units of an outage that a failover loses', [@alone_before, $counted->(0), fault(kill_master => 16, 17)]);
    wrong('... and older ones', qr/at least 1/, [@alone_before, $counted->(0), fault(kill_master => 18, 19)]);
    my @cluster = (deployment => 'cluster');
    right('... of a master of a cluster that stood still', [@round, requests([1, 5]), $counted->(1), fault(stop_redis => 2, 4.5)], @cluster);
    wrong('... for a short time', qr/at least 2/, [@round, requests([1, 5]), $counted->(1), fault(stop_redis => 2, 3)], @cluster);
    right('the lease in a call of a killed worker', [@round, requests([1], loc => 'a'), $counted->(4, 'api'), fault(kill_worker => 2, 2)]);
    wrong('... without leases', qr/at most 1/, [@round, requests([1]), $counted->(4), fault(kill_worker => 2, 2)]);
    wrong('a reload returns everything', qr/at most 1/, [@round, requests([1], loc => 'a'), $counted->(4, 'api'), fault(reload => 2, 2)]);
    wrong('a fault that ended before the round', qr/round 2, k in api: 1 units were granted, Redis counted 2; at most 1/,
        [@round, @second, requests([1, 11], loc => 'a'), $counted->(1, 'api'), $counted->(3, 'api', 2), fault(kill_worker => 9.5, 9.5)]);
    # A lease of 20 units in 2 s has at most 3. Node 0 asks for one.
    my @leasing = (@round, requests([1], loc => 'a'));
    my $loses = sub {
        my ($name, $leases, $fault, %changed) = @_;
        my $most = 1 + 3 * $leases;
        right("$name: $leases leases", [@leasing, $counted->($most, 'api'), $fault], %changed);
        wrong('... one unit more', qr/Redis counted @{[$most + 1]}; at most $most/, [@leasing, $counted->($most + 1, 'api'), $fault], %changed);
    };
    $loses->('a worker is killed', 1, fault(kill_worker => 2, 2));
    $loses->('... at another node', 0, fault(kill_worker => 2, 2, node => 1));
    $loses->('a node is killed', 3, fault(kill_node => 2, 3));
    $loses->('... which is another one', 0, fault(kill_node => 2, 3, node => 1));
    $loses->("$_ for a long time", 4, fault($_ => 2, 8)) for qw(kill_redis stop_redis pause_redis strand_calls refuse_memory refuse_user kill_master move_slots hold);
    $loses->('a connection is cut at another node', 0, fault(cut => 2, 2, node => 1));
    $loses->('replies are lost for the time of two calls', 6, fault(mute => 2, 3));
    $loses->($_, 0, fault($_ => 2, 8)) for qw(stop_sentinels lose_counts lose_scripts rename_redis);
    my %large = (tables => { api => { lease => 1, plans => { small => { rates => [[8000, 2]] } } } });
    $loses->('a larger limit, and the same demand', 1, fault(kill_worker => 2, 2), %large);
    my @asked = (requests([1, 2, 3.5], loc => 'a'), requests([4.5], loc => 'a', status => 429, cost => 2), requests([4.6], loc => 'a', node => 1, cost => 7));
    right('as much as is asked for in 3 s at a node', [@round, @asked, $counted->(10 + 3 * 4, 'api'), fault(kill_worker => 5, 5)], %large);
    wrong('... one more', qr/at most 22/, [@round, @asked, $counted->(11 + 3 * 4, 'api'), fault(kill_worker => 5, 5)], %large);
    my %leased_values = (tables => { valued => { lease => 1, by => '$arg_v', plans => { small => { rates => [[2, 2]] } } } });
    my @two_values = map { [req => begin => 1 + $_ / 10, loc => 'v', value => "u$_"] } 1, 2;
    right('each value has a lease', [@round, @two_values, $counted->(4, 'valued'), fault(kill_worker => 5, 5)], %leased_values);
    wrong('... one more', qr/at most 4/, [@round, @two_values, $counted->(5, 'valued'), fault(kill_worker => 5, 5)], %leased_values);
    my $refund = sub { my ($most, @fault) = @_; return ([@round, @pool, $counted->($most, 'api'), fault(@fault)], [@round, @pool, $counted->($most + 1, 'api'), fault(@fault)]) };
    for my $case (['in the lost lease', 3, mute => 1.5, 1.6], ['long before', 0, mute => 8, 8.1], ['after the fault', 0, mute => 0.1, 0.2]) {
        my ($when, $refunded, @fault) = @$case;
        my ($right, $wrong) = $refund->(11 + 2 * 2 * 3 + $refunded, @fault);
        right("a refund $when", $right);
        wrong('... and more', qr/at most @{[23 + $refunded]}/, $wrong);
    }
    wrong('a refund at another node', qr/at most 11/, [@round, @pool, $counted->(14, 'api'), fault(mute => 1.5, 2.5, node => 1)]);

    # The window of 8 s that begins at 0. The round has settled before it ends.
    my @settling = ([round => number => 1, begin => 0, quiet => 6, end => 7.9, faults => 0], [settled => round => 1, begin => 6, at => 7], [settled => round => 1, begin => 7.8, at => 7.8]);
    my $window = sub { my ($day, $count, %more) = @_; return [quota => round => 1, id => 'k', table => 'strict', '86400.count' => $day, '8.number' => $zero / 8, '8.count' => $count, %more] };
    right('a window', [@settling, requests([1, 2]), $window->(2, 2)]);
    wrong('... one less', qr/round 1, k in strict, window \d+ of 8: 2 units were granted, Redis counted 1/, [@settling, requests([1, 2]), $window->(2, 1)]);
    wrong('... one more', qr/window \d+ of 8: at most 2 units can be counted, Redis counted 3/, [@settling, requests([1, 2]), $window->(2, 3)]);
    right('... of another plan', [@settling, requests([1, 2]), $window->(2, 2, '9.number' => $zero / 9, '9.count' => 0)]);
    my @next = ([round => number => 1, begin => 0, quiet => 9, end => 11, faults => 0], requests([1, 9]), [req => begin => 7.9, end => 8.1]);
    right("a request that may belong to the window before: $_", [@next, $window->(3, $_, '8.number' => $zero / 8 + 1)]) for 1, 2;
    wrong("... $_", qr/window/, [@next, $window->(3, $_, '8.number' => $zero / 8 + 1)]) for 0, 3;
    my @later = ([round => number => 2, begin => 8, quiet => 9, end => 10, faults => 0]);
    right('a round later', [@settling, @later, requests([1, 2]), $window->(2, 2), $window->(2, 2, round => 2)]);
    wrong('... in which the window has lost a unit', qr/round 2, k in strict, window \d+ of 8: 2 units/, [@settling, @later, requests([1, 2]), $window->(2, 2), $window->(2, 1, round => 2)]);
    my @of_plans = ([op => kind => 'plan', id => 'k', node => 0, begin => 1.5, end => 1.6, status => 200, value => 'small'], requests([1, 3]), [quota => round => 1, id => 'k', table => 'strict', '86400.count' => 2]);
    my %plans = (
        ids    => { %{ $config{ids} }, k => { plan => 'brief' } },
        tables => { %{ $config{tables} }, strict => { lease => 0, plans => { small => { rates => [[3, 2], [5, 8]] }, brief => { rates => [[3, 2]] } } } },
    );
    right('... of a plan that the key got in the window', [@settling, @later, @of_plans, $window->(2, 1, round => 2)], %plans);
    wrong('... that counts nothing', qr/round 2, k in strict, window \d+ of 8: 1 units were granted, Redis counted 0/, [@settling, @later, @of_plans, $window->(2, 0, round => 2)], %plans);
    my @alone = (requests([1]), requests([2], verdict => 'degraded'), fault(kill_redis => 1.9, 2.2));
    right('units of an outage', [@settling, @alone, $window->(2, 2)]);
    wrong('... that are reported for the day only', qr/window \d+ of 8: 2 units were granted, Redis counted 1/, [@settling, @alone, $window->(2, 1)]);
    my @early = ([round => number => 1, begin => 0, quiet => 12, end => 15, faults => 0], [settled => round => 1, begin => 12, at => 13], requests([9]), [req => begin => 7.8, verdict => 'degraded'], fault(kill_redis => 7.7, 7.9));
    right("... in the window before, and perhaps a call of it: $_", [@early, $window->(2, $_, '8.number' => $zero / 8 + 1)]) for 1, 2;
    wrong('... and more', qr/window \d+ of 8: at most 2 units/, [@early, $window->(2, 3, '8.number' => $zero / 8 + 1)]);
    my @unsettled = ($settling[0], [settled => round => 1, begin => 6, at => 8.1]);
    right('... after the window has ended', [@unsettled, @alone, $window->(2, 1)]);
    right('... by a round that does not say when it settled', [$settling[0], @alone, $window->(2, 1)]);
    right('... that are lost with the node', [@settling, @alone, $window->(1, 1), fault(kill_node => 2.1, 2.2)]);
    right('... without a reply', [@settling, @alone[0, 1], $window->(3, $_), fault(kill_redis => 2.005, 2.2)]) for 2, 3;
    wrong('... twice', qr/at most 3 units can be counted, Redis counted 4/, [@settling, @alone[0, 1], $window->(3, 4), fault(kill_redis => 2.005, 2.2)]);
    right('counts are lost', [@settling, requests([1, 5]), $window->(1, 1), fault(lose_counts => 3, 3)]);
    right('the clock of Redis steps', [@settling, requests([1, 2]), $window->(2, 1), fault(step_clock => 0.5, 0.6)]);
    my @less = (requests([1], cost => 3, used => 2), requests([2], used => 2));
    right('costs that are settled', [@settling, @less, $window->(4, 4)]);
    wrong("... $_ are counted", qr/window \d+ of 8/, [@settling, @less, $window->(4, $_)]) for 1, 5;
    right("... later: $_ are counted", [@unsettled, @less, $window->(4, $_)]) for 3, 4, 5;
    my $of_lease = sub { [quota => round => 1, id => 'k', table => 'api', '86400.count' => 1, '2.number' => $zero / 2 + 3, '2.count' => $_[0]] };
    right('a lease', [@settling, requests([6.1], loc => 'a'), $of_lease->(1)]);
    wrong('... that is not returned', qr/window \d+ of 2: at most 1 units can be counted, Redis counted 3/, [@settling, requests([6.1], loc => 'a'), $of_lease->(3)]);
    right('... until its window has ended', [@unsettled, requests([6.1], loc => 'a'), $of_lease->(3)]);
    wrong('... that has not counted a request', qr/1 units were granted, Redis counted 0/, [@settling, requests([6.1], loc => 'a'), $of_lease->(0)]);
    my @of_values = (requests([6.1], loc => 'v', value => 'u1'), requests([6.2], loc => 'v', value => 'u2'), [quota => round => 1, id => 'k', table => 'valued', '86400.count' => 2]);
    my $of_value = sub { my ($value, $count) = @_; return [quota => round => 1, id => 'k', table => 'valued:' . substr(sha256_hex($value), 0, 16), '2.number' => $zero / 2 + 3, '2.count' => $count] };
    right('each value', [@settling, @of_values, $of_value->('u1', 1), $of_value->('u2', 1)]);
    wrong('... one has counted both', qr/k in valued, window \d+ of 2: at most 1/, [@settling, @of_values, $of_value->('u1', 2)]);
    my @both = (requests([1], id => 'm1', loc => 't'), requests([2.5], id => 'm2', loc => 't'));
    right('a group', [@settling, @both, $of_team->(2, '2.number' => $zero / 2 + 1, '2.count' => 1)]);
    wrong('... of which one id is not counted', qr/team in crews, window \d+ of 2: 1 units were granted, Redis counted 0/, [@settling, @both, $of_team->(2, '2.number' => $zero / 2 + 1, '2.count' => 0)]);
};

subtest 'atomicity' => sub {
    $property = \&Verify::Property::Atomicity::check;
    my $rl = sub { my ($first, $second) = @_; return (rl => qq("strict-small-2";r=$first;t=1, "strict-small-8";r=$second;t=3)) };
    my @first = [req => begin => 0.1, $rl->(2, 4)];
    right('each grant counts', [@first, [req => begin => 0.2, $rl->(1, 3)]]);
    right('refused between', [@first, [req => begin => 0.2, status => 429, cost => 5, $rl->(2, 4)], [req => begin => 0.3, $rl->(1, 3)]]);
    wrong('the refused request counts', qr/window of 2 s: 2 remained, then 0/, [@first, [req => begin => 0.2, status => 429, cost => 5, $rl->(2, 4)], [req => begin => 0.3, $rl->(0, 3)]]);
    wrong('it counts in one window', qr/window of 8 s: 4 remained, then 2/, [@first, [req => begin => 0.2, $rl->(1, 2)]]);
    right('another window', [@first, [req => begin => 2.2, $rl->(2, 3)]]);
    wrong('another window of one rate', qr/window of 8 s/, [@first, [req => begin => 2.2, $rl->(2, 2)]]);
    right('an answer is missing', [@first, [req => begin => 0.2, status => 0], [req => begin => 0.3, $rl->(0, 2)]]);
    right('an answer without Redis', [@first, [req => begin => 0.2, status => 503], [req => begin => 0.3, $rl->(0, 2)]]);
    right('a fault', [@first, [req => begin => 0.3, $rl->(0, 2)], fault(kill_redis => 0.2, 0.21)]);
    my @both = map { $_ =~ s/^/"api-small-2";r=19;t=1, /r } { $rl->(2, 4) }->{rl}, { $rl->(2, 4) }->{rl};
    my $of_group = sub { return (id => 'p', loc => 'u', rl => join ', ', map { qq("$_->[0]";r=$_->[1];t=1) } ['strict-small-2', $_[0]], ['strict-small-8', $_[1]], ['crews-squad-2', $_[2]]) };
    right('an id and its group', [[req => begin => 0.1, $of_group->(2, 4, 3)], [req => begin => 0.2, $of_group->(1, 3, 2)]]);
    wrong('the group does not count', qr/p in crews, window of 2 s: 3 remained, then 3/, [[req => begin => 0.1, $of_group->(2, 4, 3)], [req => begin => 0.2, $of_group->(1, 3, 3)]]);
    wrong('a table of two does not count', qr/in strict, window of 2 s: 2 remained, then 2/, [[req => begin => 0.1, loc => 'b', rl => $both[0]], [req => begin => 0.2, loc => 'b', rl => $both[1]]]);
};

subtest 'liveness' => sub {
    $property = \&Verify::Property::Liveness::check;
    right('settled', [[settled => round => 1, begin => 0, at => 2]]);
    wrong('units are held', qr/node 1 holds leased=3/, [[settled => round => 1, begin => 0, at => 30, held1 => 'leased=3']]);
    wrong('too late', qr/took 16\.0 s/, [[settled => round => 1, begin => 0, at => 16]]);
    right('late on a machine that stood still', [[settled => round => 1, begin => 0, at => 16], [stall => at => 3, end => 8]]);
    my $lost = sub { my ($round, $units) = @_; return ([round => number => $round, begin => 10 * $round, quiet => 10 * $round + 8, end => 10 * $round + 9, faults => 0], [node => round => $round, node => 1, 'lease_units.lost' => $units]) };
    right('no unit is lost', [$lost->(1, 0), $lost->(2, 0)]);
    wrong('a unit is lost', qr/node 1 has lost 3 units in round 2, without a fault/, [$lost->(1, 0), $lost->(2, 3)]);
    wrong('... with a reload', qr/has lost 3 units/, [$lost->(1, 0), $lost->(2, 3), fault(reload => 21, 21.1)]);
    right('... in a fault', [$lost->(1, 0), $lost->(2, 3), fault(kill_worker => 21, 21.1)]);
    right('... while the machine stood still', [$lost->(1, 0), $lost->(2, 3), [stall => at => 22, end => 23]]);
    right('a probe', [[req => begin => 0, probe => 1], [req => begin => 1, probe => 1, status => 429], [req => begin => 3, probe => 2, waited => 1]]);
    wrong('a probe has no answer', qr/no answer/, [[req => begin => 0, probe => 1, status => 0]]);
    wrong('a probe is unavailable', qr/503/, [[req => begin => 0, probe => 1, status => 503]]);
    my @still = map { [stall => of => 'process 7', at => $_, end => $_ + 0.1] } 0.1, 0.2, 0.3;
    right('... while the machine stood still', [[req => begin => 0, end => 0.5, probe => 1, status => 503], @still]);
    wrong('... for a good key', qr/401/, [[req => begin => 0, end => 0.5, probe => 1, status => 401], @still]);
    wrong('a probe is refused again', qr/refused again after waiting 1 s/, [[req => begin => 3, probe => 2, waited => 1, status => 429]]);
    my @again = [req => begin => 3, loc => 'a', probe => 2, waited => 1, status => 429];
    right('the units of leases were used', [requests([map { 2 + $_ / 100 } 1 .. 20], loc => 'a'), @again]);
    wrong('they were not', qr/refused again after waiting 1 s/, [requests([map { 2 + $_ / 100 } 1 .. 19], loc => 'a'), @again]);
    right('... but lost', [@again, fault(kill_worker => 2, 2.1)]);
    right('... or held by workers of another name', [@again, fault(rename_redis => 2, 2.1)]);
    wrong("... by a $_", qr/refused again after waiting 1 s/, [@again, fault($_ => 2, 2.1)]) for qw(reload lose_scripts);
    my @end = ([round => number => 1, begin => -20, quiet => 0, end => 40, faults => 1]);
    my $at_once = sub { my ($begin, @status) = @_; return map { [req => begin => $begin, id => 'b', loc => 'n', probe => 3, attempt => "1.$begin", status => $_] } @status };
    right('as many requests at once', [@end, $at_once->(3, 200, 200, 200)]);
    wrong('one of them is refused', qr/3 requests at once are not granted/, [@end, $at_once->(3, 200, 429, 200)]);
    right('... at first', [@end, $at_once->(1.5, 200, 429, 200), $at_once->(3, 200, 200, 200)]);
    right("... after $_->[0]", [@end, $at_once->(7, 200, 429, 200), fault(@$_)]) for ['kill_node', -3, 2], ['mute', -4, -3], ['step_clock', -3, -3];
    wrong("... long after $_->[0]", qr/not granted/, [@end, $at_once->(8, 200, 429, 200), fault(@$_)]) for ['kill_node', -3, 2], ['mute', -4, -3];
    wrong("... after $_", qr/not granted/, [@end, $at_once->(7, 200, 429, 200), fault($_ => -3, -3)]) for qw(kill_worker reload lose_counts);
    my @refused = [req => begin => 0.5, status => 429, retry => 2];
    wrong('a bucket that refuses after Retry-After', qr/refused again after 2 s/, [[@{ $refused[0] }, loc => 'k'], requests([2.6], status => 429, loc => 'k')]);
    right('granted after Retry-After', [@refused, requests([2.6])]);
    right('refused before Retry-After', [@refused, requests([1.6], status => 429)]);
    wrong('refused after Retry-After', qr/refused again after 2 s/, [@refused, requests([2.6], status => 429)]);
    right('... for a higher cost', [@refused, requests([2.6], status => 429, cost => 2)]);
    right('... because of another window', [[@{ $refused[0] }, limit => 3], requests([2.6], status => 429, limit => 5)]);
    right('... during a fault', [@refused, requests([2.6], status => 429), fault(kill_redis => 1, 1.1)]);
    wrong("... during a $_, which costs nothing", qr/refused again after 2 s/, [@refused, requests([2.6], status => 429), fault($_ => 1, 1.1)]) for qw(reload rename_redis lose_scripts);
};

subtest 'revocations and bans' => sub {
    $property = \&Verify::Property::Endings::check;
    my @revoked = [op => kind => 'revoke', id => 'k', node => 1, begin => 1, end => 1.1, status => 200];
    right('refused afterwards', [@revoked, requests([0.5]), requests([1.4], status => 401)]);
    right('granted within 200 ms', [@revoked, requests([1.25])]);
    wrong('granted after 200 ms', qr/granted 0\.300 s after the end of its key/, [@revoked, requests([1.4])]);
    right('the machine stood still', [@revoked, requests([1.4]), [stall => at => 1.1, end => 1.3]]);
    right('a fault before', [@revoked, requests([1.4]), fault(cut => 0.9, 0.9)]);
    wrong('long after a fault', qr/granted 9\.\d+ s after/, [@revoked, requests([10.5]), fault(cut => 0.9, 0.9)]);
    wrong('in the next fault', qr/granted 0\.500 s after/, [@revoked, requests([1.6]), fault(cut => 1.35, 1.4)]);
    wrong('a fault of another node', qr/granted 0\.300 s after/, [@revoked, requests([1.4]), fault(cut => 0.9, 0.9, node => 1)]);
    wrong('after a failover', qr/granted 7\.\d+ s after/, [@revoked, requests([9]), fault(fail_over => 2, 3)]);
    right('... that may have undone it', [[@{ $revoked[0] }, durability => 'unconfirmed'], requests([9]), fault(fail_over => 2, 3)]);
    right('not acknowledged', [[@{ $revoked[0] }, status => 503], requests([1.4])]);
    right('enabled again', [[@{ $revoked[0] }, kind => 'disable'], [op => kind => 'enable', id => 'k', begin => 1.2, end => 1.3, status => 200, node => 0], requests([1.6])]);

    my @changed = [op => kind => 'group', id => 'team', node => 1, begin => 1, end => 1.1, status => 200, value => 'large'];
    my $shows = sub { my ($begin, $plan, %more) = @_; return [req => begin => $begin, id => 'm2', loc => 't', rl => qq("$plan-2-seconds";r=1;t=1), %more] };
    right('another plan of a group', [@changed, $shows->(0.5, 'squad'), $shows->(1.2, 'squad'), $shows->(1.4, 'large')]);
    wrong('... that does not apply after 200 ms', qr/team: another plan applies 0\.300 s after large was acknowledged/, [@changed, $shows->(1.4, 'crews-squad')]);
    wrong('... and refuses', qr/another plan applies/, [@changed, $shows->(1.4, 'squad', status => 429)]);
    right('... of another group', [@changed, $shows->(1.4, 'squad', id => 'p')]);
    right('... in a fault', [@changed, $shows->(1.4, 'squad'), fault(cut => 0.9, 0.9)]);
    right('... while it is changed again', [@changed, [@{ $changed[0] }, begin => 1.405, end => 1.5, value => 'squad'], $shows->(1.4, 'squad')]);
    my @own = ([@{ $changed[0] }, kind => 'plan', id => 'm2', value => 'squad'], [@{ $changed[0] }, kind => 'plan', id => 'm2', begin => 8, end => 8.1]);
    wrong('another plan of a key', qr/m2: another plan applies 0\.300 s after squad/, [@own, $shows->(1.4, 'large')]);
    right('... changed again', [@changed, [@{ $changed[0] }, begin => 1.35, end => 1.5, value => 'squad'], $shows->(1.4, 'squad')]);

    my %n = (id => 'b', loc => 'n');
    my @ban = ((map { [req => begin => $_, status => 429, %n] } 0.1, 0.2), [req => begin => 0.3, status => 429, code => 'api_key_banned', retry => 3, %n]);
    right('banned at the third refusal', [@ban]);
    wrong('banned at the second', qr/banned after 2 refusals within 4 s/, [@ban[1, 2]]);
    right('banned at the third refusal, of which one was not known', [$ban[0], [req => begin => 0.25, status => $_, verdict => 'degraded', %n], $ban[2]])
        for 200, 503;
    my ($slow, $last) = ([req => begin => 0.15, end => 0.3, status => 429, code => 'api_key_banned', retry => 3, %n], $ban[2]);
    right('banned by refusals that began later', [$ban[0], $slow, [req => begin => 0.2, end => 0.21, status => 429, %n], [@$last, begin => 0.25, end => 0.26]]);
    wrong('banned by refusals after its end', qr/banned after 2 refusals/, [$ban[0], $slow, [req => begin => 0.35, status => 429, %n]]);
    wrong('banned by old refusals', qr/banned after 1 refusals/, [[req => begin => -20, status => 429, %n], [req => begin => -19, status => 429, %n], $ban[2]]);
    right('banned again by the same ban', [@ban, [req => begin => 2, status => 429, code => 'api_key_banned', retry => 2, %n]]);
    wrong('granted during the ban', qr/is banned, but not here/, [@ban, [req => begin => 0.6, %n, node => 2]]);
    right('granted within 200 ms', [@ban, [req => begin => 0.4, %n, node => 2]]);
    wrong('only limited during the ban', qr/is banned, but not here/, [@ban, [req => begin => 0.6, %n, status => 429]]);
    my @next = ([req => begin => 3.2, status => 429, code => 'api_key_banned', retry => 4, %n], [req => begin => 3.205, status => 429, %n, node => 2]);
    right('only limited while the next ban begins', [@ban, @next]);
    right('granted after the ban', [@ban, [req => begin => 3.4, %n]]);
    right('banned at the second, of which one may count twice', [@ban[1, 2], fault(stop_redis => 0.15, 0.25)]);
    my $late = sub { [req => begin => 5.5, status => 429, code => 'api_key_banned', retry => $_[0], %n] };
    my @outage = (@ban[0, 1], [req => begin => 0.25, status => 429, %n], fault(stop_redis => 0, 0.4));
    right('banned by refusals that nodes have reported after an outage', [@outage, $late->(1)]);
    wrong('... long before the ban', qr/banned after 1 refusals/, [@outage, $late->(6)]);
    wrong('... without an outage', qr/banned after 1 refusals/, [@outage[0 .. 2], $late->(1)]);
    my $granted = [req => begin => 5.2, %n];
    wrong('... before a request that Redis has granted', qr/banned after 1 refusals/, [@outage, $granted, $late->(1)]);
    right('... that ran during the report', [@outage, [req => begin => 4.5, %n], $late->(1)]);
    right('... that a node has granted alone', [@outage, [@$granted, verdict => 'degraded'], $late->(1)]);
    right('... that needs no unit', [@outage, [@$granted, cost => 0], $late->(1)]);
    my %leased = (tables => { %{ $config{tables} }, banning => { %{ $config{tables}{banning} }, lease => 1 } });
    right('... that a lease has granted', [@outage, $granted, $late->(1)], %leased);
    my %grown = (tables => { %{ $config{tables} }, banning => { %{ $config{tables}{banning} }, plans => { small => { rates => [[50, 2]] } }, ban => { %{ $config{tables}{banning}{ban} }, after => 5 } } });
    my @alone = map { [req => begin => $_ / 20, verdict => 'degraded', %n] } 2 .. 5;
    my @refused = ([req => begin => 0.05, status => 429, cost => 51, %n], $ban[2]);
    wrong('banned by requests that Redis had room for', qr/banned after 2 refusals/, [$refused[0], @alone, $refused[1], fault(stop_redis => 0.1, 0.2)], %grown);
    right('banned by requests that Redis may have refused', [$refused[0], @alone, $refused[1], [req => begin => -1, cost => 21, %n], fault(stop_redis => 0.1, 0.2)], %grown);
    my $held = sub { my ($until) = @_; return [[req => begin => 0.2, status => 429, %n], [req => begin => 0.25, status => 429, %n], [@{ $ban[2] }, begin => 2.1], fault(stop_redis => 0.15, $until)] };
    right('banned by refusals that may count twice', $held->(0.7), %grown);
    wrong('... but not while Redis executed no call', qr/banned after 3 refusals/, $held->(2), %grown);
    my %beside = (%grown, locations => { %{ $config{locations} }, o => ['strict', 'banning'] });
    right('banned by requests that another table may have refused', [$refused[0], (map { [@$_, loc => 'o'] } @alone), $refused[1], fault(stop_redis => 0.1, 0.2)], %beside);
    wrong('banned by requests that another table does not concern', qr/banned after 2 refusals/, [$refused[0], @alone, $refused[1], [req => begin => 0.2, id => 'b', loc => 'o'], fault(stop_redis => 0.1, 0.2)], %beside);
    my $banned = sub { my ($begin, $retry, %more) = @_; return [req => begin => $begin, status => 429, code => 'api_key_banned', retry => $retry, %n, %more] };
    wrong('granted at the end of a ban, which a later answer tells', qr/is banned, but not here/, [@ban, $banned->(1.15, 3), [req => begin => 2.9, %n, node => 2]]);
    right('banned for the longest time', [@ban[0, 1], $banned->(0.3, 6)]);
    wrong('... for longer', qr/b is banned for longer than 6 s/, [@ban[0, 1], $banned->(0.3, 8)]);
    wrong('... in an outage', qr/banned for longer/, [@ban[0, 1], $banned->(0.3, 8), fault(stop_redis => 0.1, 0.2)]);
    right('... of a clock that was set', [@ban[0, 1], $banned->(0.3, 8), fault(step_clock => 0.25, 0.25, step => -3)]);
    right('a ban has one end', [@ban, $banned->(1.1, 3), $banned->(2.1, 2), $banned->(3.2, 1)]);
    wrong('... which its refusals defer', qr/the ban of b has become longer/, [@ban, $banned->(1.1, 3), $banned->(2.2, 3)]);
    right('... in an outage', [@ban, $banned->(2.2, 3), fault(stop_redis => 0.1, 0.2)]);
    right('... for the next ban', [@ban, $banned->(2.31, 4)]);
    right('answered without Redis', [map { [req => begin => $_ / 10, status => $_ == 2 ? 503 : 429, %n] } 1 .. 5]);
    wrong('never banned', qr/not banned after 5 refusals/, [map { [req => begin => $_ / 10, status => 429, %n] } 1 .. 5]);
};

subtest 'no wrong refusal' => sub {
    $property = \&Verify::Property::Refusals::check;
    right('grants', [requests([0.1, 0.2])]);
    wrong('401 for a good key', qr/a good key is refused/, [requests([0.1], status => 401)]);
    wrong('403 for a good key', qr/a good key is refused/, [requests([0.1], status => 403)]);
    my @above = (status => 429, code => 'cost_exceeds_limit', cost => 9, limit => 8);
    right('a cost above the limit', [requests([0.1], @above, retry => '')]);
    wrong('... that may come back', qr/a cost within the limit/, [requests([0.1], @above)]);
    wrong('a cost that is not', qr/a cost within the limit/, [requests([0.1], @above, cost => 8, retry => '')]);
    my @issued = [op => kind => 'issue', id => 'life', node => 0, begin => 1, end => 1.1, status => 201];
    right('401 before the issue', [@issued, requests([0.5], id => 'life', status => 401)]);
    wrong('401 after the issue', qr/a good key is refused/, [@issued, requests([1.5], id => 'life', status => 401)]);
    right('... in a fault', [@issued, requests([1.5], id => 'life', status => 401), fault(restart_redis => 1, 1.2)]);
    wrong('... long after it', qr/a good key is refused/, [@issued, requests([7], id => 'life', status => 401), fault(restart_redis => 1, 1.2)]);
    my @unknown = (@issued, requests([1.8], id => 'life', status => 401));
    right('... of a node that was killed', [@unknown, fault(kill_node => 0, 0.5)]);
    wrong('... of another one', qr/a good key is refused/, [@unknown, fault(kill_node => 0, 0.5, node => 1)]);
    right('... at new workers', [@unknown, fault(reload => 0.9, 1)]);
    wrong('... that have been subscribed for a second', qr/a good key is refused/, [@issued, requests([3.1], id => 'life', status => 401), fault(reload => 0.9, 1)]);
    right('401 after the revocation', [@issued, [op => kind => 'revoke', id => 'life', node => 0, begin => 2, end => 2.1, status => 200], requests([2.05], id => 'life', status => 401)]);
    wrong('a 5xx', qr/status 502/, [requests([0.1], status => 502)]);
    wrong('503 without an outage', qr/503 without an outage/, [requests([0.1], status => 503)]);
    right('503 in an outage', [requests([0.1], status => 503), fault(kill_redis => 0, 1)]);
    my %one_window = (tables => { %{ $config{tables} }, strict => { lease => 0, plans => { small => { rates => [[9, 2]] } } } });
    my @ids = qw(k b p m1);
    my $of_each = sub { my ($begin, @more) = @_; return map { [req => begin => $begin, id => $_, @more] } @ids };
    my @without = ($of_each->(0.5, status => 503), fault(kill_redis => 0.3, 1));
    wrong('503 for known keys', qr/503 for keys that node 0 has served/, [$of_each->(0.1), @without], %one_window, ids => { map { $_ => { plan => 'small' } } qw(k b p) });
    right('... with deny', [$of_each->(0.1), @without], %one_window, on_failure => 'deny');
    right('... of a full zone', [$of_each->(0.1), @without], %one_window, small_zone => 1);
    right('... that another node has served', [$of_each->(0.1, node => 1), @without], %one_window);
    right('... of a node that was killed', [$of_each->(-9), @without, fault(kill_node => -3, -2)], %one_window);
    right("... of a node with another $_", [$of_each->(-9), @without, fault($_ => -3, -2)], %one_window) for qw(resize_zone move_address);
    wrong("... of a node after a $_", qr/503 for keys/, [$of_each->(-9), @without, fault($_ => -3, -2)], %one_window, ids => { map { $_ => { plan => 'small' } } qw(k b p) })
        for qw(reload rename_redis kill_worker);
    right('... two of them', [(map { [req => begin => 0.1, id => $_] } qw(k b)), @without], %one_window);
    right('... that have changed', [$of_each->(0.1), @without, map { [op => kind => 'plan', id => $_, value => 'small', node => 1, begin => 0.2, end => 0.25, status => 200] } qw(k b)], %one_window);
    right('... whose group has changed', [$of_each->(0.1), @without, map { [op => kind => 'group', id => $_, value => 'squad', node => 1, begin => 0.2, end => 0.25, status => 200] } qw(team pair)], %one_window);
    right('... whose quotas have few places', [$of_each->(0.1), @without]);
    my @late = [req => begin => 0, end => 0.35, id => '-', sends => 'nothing', status => 401];
    my $waits = sub { return map { [stall => of => 'process 7', at => $_, end => $_ + 0.1] } @_ };
    right('... whose processes waited for a processor', [requests([1], status => 503), $waits->(0.1, 0.3, 0.5)]);
    wrong('... seldom', qr/503 without an outage/, [requests([3], status => 503), $waits->(0.1, 1, 2)]);
    wrong('a late answer that needs no Redis', qr/a late answer that needs no Redis/, [@late]);
    wrong('... in an outage', qr/a late answer/, [@late, fault(stop_redis => 0, 1)]);
    right('... whose node waited for a processor', [@late, $waits->(0.1)]);
    right('... whose client did', [@late, [wait => of => 'process 8', at => 0.1, end => 0.25]]);
    right("... or had a $_", [@late, fault($_ => 0.1, 0.2)]) for qw(kill_node stop_worker);
    wrong('... another one', qr/a late answer/, [@late, fault(stop_worker => 0.1, 0.2, node => 1)]);
    right('503 of a worker that was stopped', [requests([0.1], status => 503), fault(stop_worker => 0, 0.05)]);
    wrong('... at another node', qr/503 without an outage/, [requests([0.1], status => 503), fault(stop_worker => 0, 0.05, node => 1)]);
    wrong('503 with a full zone', qr/503 without an outage/, [requests([0.1], status => 503), fault(fill_zone => 0, 1)]);
    my @in_flight = (tables => { strict => { plans => { small => { rates => [[10, 2]], in_flight => 3 } } } });
    right('... that has no record of its requests in flight', [requests([0.1], status => 503), fault(fill_zone => 0, 1)], @in_flight);
    wrong('... at another time', qr/503 without an outage/, [requests([3], status => 503), fault(fill_zone => 0, 1)], @in_flight);
    wrong('... at another node', qr/503 without an outage/, [requests([0.1], status => 503), fault(fill_zone => 0, 1, node => 1)], @in_flight);
    wrong('503 without Retry-After', qr/without its fields/, [requests([0.1], status => 503, retry => ''), fault(kill_redis => 0, 1)]);
    wrong('503 in the outage of another node', qr/503 without an outage/, [requests([0.1], status => 503, node => 1), fault(hold => 0, 1)]);
    wrong('granted alone without an outage', qr/granted alone/, [requests([0.1], verdict => 'degraded')]);
    for my $reload (qw(resize_zone move_address)) {
        wrong("503 after $reload", qr/503 without an outage/, [requests([0.1], status => 503), fault($reload => 0, 0.1)]);
        wrong("granted alone after $reload", qr/granted alone/, [requests([0.1], verdict => 'degraded'), fault($reload => 0, 0.1)]);
        right("... in an outage", [requests([0.1], verdict => 'degraded'), fault($reload => 0, 0.1), fault(hold => 0.05, 0.2)]);
    }
    right('... of a node that was killed', [requests([0.1], status => 503), fault(kill_node => -1, 0)]);
    right('429 after the limit', [requests([0.1, 0.2, 0.3]), requests([0.4], status => 429, reset => $zero + 2, retry => 2)]);
    wrong('429 while there is room', qr/refused while the quota has room/, [requests([0.1, 0.2]), requests([0.4], status => 429, reset => $zero + 2, retry => 2)]);
    wrong('... with a full zone', qr/refused while the quota has room/, [requests([0.1, 0.2]), requests([0.4], status => 429, reset => $zero + 2, retry => 2), fault(fill_zone => 0, 1)]);
    my @room = (requests([0.1, 0.2]), requests([0.4], status => 429, reset => $zero + 2, retry => 2));
    wrong('... in a window that has begun after a fault', qr/refused while the quota has room/, [@room, fault(kill_node => -8, -6)]);
    right('... a little after it', [@room, fault(kill_node => -8, -4)]);
    wrong("... after a $_, which costs nothing", qr/refused while the quota has room/, [@room, fault($_ => 0.2, 0.3)]) for qw(reload rename_redis lose_scripts);
    wrong("... after a $_->[0] that concerns another node", qr/refused while the quota has room/, [map({ [@$_, node => 1] } @room), fault(@$_)]) for [kill_worker => 0.2, 0.3], [kill_node => 0.1, 0.3], [resize_zone => 0.1, 0.3];
    my $limits = sub { return fault(change_limits => 0, 0.3, table => 'strict', plan => 'small', rates => [@_]) };
    right('... which the lower limit does not have', [@room, $limits->([2, 2], [5, 8])]);
    wrong('... which it has', qr/at most 2\.0 of 3 units/, [@room, $limits->([4, 2], [6, 8])]);
    wrong('... which it has, of a lower one', qr/at most 1\.0 of 2 units/, [@room[0, 2], $limits->([2, 2], [4, 8])]);
    right('429 while an answer is missing', [requests([0.1, 0.2]), requests([0.3], status => 0), requests([0.4], status => 429, reset => $zero + 2, retry => 2)]);
    right('429 for a higher cost', [requests([0.1, 0.2]), requests([0.4], status => 429, cost => 2, reset => $zero + 2, retry => 2)]);
    my @many = requests([map { $_ / 100 } 1 .. 13], loc => 'a');
    right('429 while other nodes may have leases', [@many, requests([0.4], loc => 'a', status => 429)]);
    wrong('429 while leases can\'t hold the rest', qr/refused while/, [@many[0 .. 9], requests([0.4], loc => 'a', status => 429)]);
    my @leased = (@many[0 .. 9], requests([0.4], loc => 'a', status => 429));
    wrong('... after a reload', qr/refused while/, [@leased, fault(reload => 0.2, 0.3)]);
    right('... with leases of two names', [@leased, fault(rename_redis => 0.2, 0.3)]);
    my @spent = requests([0.1, 0.2, 0.3]);
    wrong('Retry-After is too early', qr/before the reset/, [@spent, requests([0.4], status => 429, reset => $zero + 2, retry => 1)]);
    wrong('Retry-After is too late', qr/more than a second after the reset/, [@spent, requests([0.4], status => 429, reset => $zero + 2, retry => 4)]);
    my @early = (@spent, requests([0.4], status => 429, reset => $zero + 2, retry => 1));
    right('... in a fault', [@early, fault(mute => 0.2, 0.3)]);
    wrong("... in a fault of another node, or one that costs nothing: $_->[0]", qr/before the reset/, [@early, fault(@$_)]) for ['mute', 0.2, 0.3, node => 1], ['reload', 0.2, 0.3];
    my @poured = requests([0.1, 0.2, 0.3], loc => 'k');
    right('429 of an empty bucket', [@poured, [req => begin => 0.4, status => 429, loc => 'k']]);
    wrong('... that has a token again', qr/poured, bucket of 3: at least 1\.\d tokens were left/, [@poured, [req => begin => 0.85, status => 429, loc => 'k']]);
    right('... for a higher cost', [@poured, [req => begin => 0.85, status => 429, loc => 'k', cost => 2]]);
    wrong('429 of a full bucket', qr/at least 3\.0 tokens/, [@poured, [req => begin => 2.5, status => 429, loc => 'k', cost => 3]]);
    my @valued = map { my $value = $_; requests([0.1, 0.2], loc => 'v', value => $value) } qw(u1);
    my @team = (requests([0.1, 0.2], id => 'm1', loc => 't'), requests([0.3, 0.4], id => 'm2', loc => 't'));
    my $of_team = sub { [req => begin => 0.5, id => $_[0], status => 429, loc => 't', reset => $zero + 2, retry => 2] };
    right('429 of a group that another id has used', [@team, $of_team->('m1')]);
    wrong('... that has a unit left', qr/team in crews, window of 2: at most 3\.0 of 4/, [@team[0 .. 2], $of_team->('m1')]);
    wrong('... of another group', qr/pair in crews, window of 2: at most 0\.0 of 4/, [@team, $of_team->('p')]);
    right('429 of a value', [@valued, [req => begin => 0.4, status => 429, loc => 'v', value => 'u1', reset => $zero + 2, retry => 2]]);
    wrong('... of another one', qr/valued of u2, window of 2: at most 0\.0 of 2/, [@valued, [req => begin => 0.4, status => 429, loc => 'v', value => 'u2', reset => $zero + 2, retry => 2]]);
    my @places = (id => 'b', loc => 'n');
    my @three = requests([0.1, 0.2, 0.3], end => 1, @places);
    my $full = sub { [req => begin => $_[0], status => 429, code => 'too_many_in_flight', @places] };
    right('no place is free', [@three, $full->(0.4)]);
    right('... for the nodes that have them', [@three, $full->(2.5)]);
    wrong('places are free', qr/refused while places are free: 3 requests/, [@three[0, 1], $full->(0.4)]);
    wrong('... long after the end of the others', qr/refused while places are free/, [@three, $full->(3.5)]);
    right('... in a fault', [$full->(0.4), fault(kill_node => 0.2, 0.3)]);
    wrong('... long after it', qr/refused while places are free/, [$full->(0.4), fault(kill_node => -17, -16)]);
    wrong("... after a $_, which loses no place", qr/refused while places are free/, [$full->(0.4), fault($_ => 0.2, 0.3)]) for qw(reload rename_redis kill_worker lose_scripts);
    wrong('an alert', qr/node 1: \[alert\]/, [[complaint => node => 1, line => '[alert] worker exited on signal 11']]);
    my $fds = sub { [resources => at => $_[0], node => 0, fds => $_[1], rss => 9000] };
    right('descriptors', [$fds->(0, 10), $fds->(1, 40), $fds->(2, 41)]);
    wrong('descriptors leak', qr/fds has grown from 40 to 400/, [$fds->(0, 10), $fds->(1, 40), $fds->(2, 400)]);
};

subtest 'balances' => sub {
    $property = \&Verify::Property::Balances::check;
    my @round = ([round => number => 1, begin => 0, quiet => 9, end => 10, faults => 0]);
    my $credit = sub { my ($begin, $units, $reference, %more) = @_; return [op => kind => 'credit', id => 'owned', node => 0, begin => $begin, end => $begin + 0.05, status => 200, value => "$units $reference", %more] };
    my $state = sub {
        my ($credited, $left, $counted, %more) = @_;
        return [quota => round => 1, id => 'owned', table => 'saved', 'balance.credited' => $credited, 'balance.left' => $left, '86400.count' => $counted, %more];
    };
    my %of = (id => 'owned', loc => 'o');
    my @refused = (status => 429, code => 'balance_exhausted', %of);
    right('as many as were credited', [@round, $credit->(0.5, 3, 'a'), requests([1, 2, 3], %of), $state->(3, 0, 3)]);
    wrong('one more', qr/owned in saved: 4 units were granted, of 3/, [@round, $credit->(0.5, 3, 'a'), requests([1, 2, 3, 4], %of), $state->(3, -1, 4)]);
    wrong('before the credit', qr/1 units were granted, of 0/, [@round, requests([1], %of), $credit->(1.5, 3, 'a'), $state->(3, 2, 1)]);
    right('more is used than was reserved', [@round, $credit->(0.5, 3, 'a'), requests([1], %of, cost => 3, used => 5), $state->(3, -2, 5)]);
    right('a reference twice', [@round, $credit->(0.5, 3, 'a'), $credit->(0.7, 3, 'a'), requests([1], %of), $state->(3, 2, 1)]);
    wrong('... that is credited twice', qr/6 units were credited, at least 3 and at most 3 must be/, [@round, $credit->(0.5, 3, 'a'), $credit->(0.7, 3, 'a'), requests([1], %of), $state->(6, 5, 1)]);
    wrong('a credit that is lost', qr/3 units were credited, at least 7/, [@round, $credit->(0.5, 3, 'a'), $credit->(0.7, 4, 'b'), $state->(3, 3, 0)]);
    right('... without acknowledgement', [@round, $credit->(0.5, 3, 'a'), $credit->(0.7, 4, 'b', status => 503), $state->(3, 3, 0)]);
    right('... or made', [@round, $credit->(0.5, 3, 'a'), $credit->(0.7, 4, 'b', status => 503), $state->(7, 7, 0)]);
    wrong('units that are spent and not counted', qr/3 units were spent, its days have counted 2/, [@round, $credit->(0.5, 3, 'a'), requests([1, 2], %of), $state->(3, 0, 2)]);
    right('... in a loss', [@round, $credit->(0.5, 3, 'a'), requests([1, 2], %of), $state->(0, 0, 0), fault(lose_counts => 3, 3)]);
    wrong('refused while units are left', qr/refused while at least 2 units are left/, [@round, $credit->(0.5, 3, 'a'), requests([1], %of), requests([2], @refused), $state->(3, 2, 1)]);
    right('refused with too few', [@round, $credit->(0.5, 3, 'a'), requests([1], %of), requests([2], @refused, cost => 3), $state->(3, 2, 1)]);
    right('refused beside the credit', [@round, $credit->(0.5, 3, 'a'), requests([0.6], @refused), $state->(3, 3, 0)]);
    right('refused after a fault', [@round, $credit->(0.5, 3, 'a'), fault(mute => 0.8, 1), requests([2], @refused), $state->(3, 3, 0)]);
    right('refused while the node asks for another request', [@round, $credit->(0.5, 3, 'a'), requests([1], %of), requests([2], @refused),
        [req => begin => 1.999, end => 2.02, @refused, cost => 3], $state->(3, 2, 1)]);
    my @next = ([round => number => 2, begin => 10, quiet => 19, end => 20, faults => 0], $state->(3, 2, 1, round => 2));
    wrong('refused in the next round', qr/at least 2 units are left/, [@round, $credit->(0.5, 3, 'a'), requests([1], %of), $state->(3, 2, 1), @next, requests([12], @refused)]);
    my @leased = (@round, $credit->(0.5, 8, 'a', id => 'paid'), [req => begin => 2, @refused, id => 'paid', loc => 'e']);
    my $granted = sub { my ($units) = @_; return ([req => begin => 1, id => 'paid', loc => 'e', cost => $units], $state->(8, 8 - $units, $units, id => 'paid', table => 'prepaid')) };
    wrong('refused with more than leases', qr/at least 4 units are left/, [@leased, $granted->(4)]);
    right('... that may have them', [@leased, $granted->(5)]);
    my @alone = (fault(stop_redis => 2, 4), map { [req => begin => 2.5, node => $_, verdict => 'degraded', %of, cost => 2] } 0 .. 2);
    my @spends = map { [req => begin => 2.5 + $_ / 10, verdict => 'degraded', %of] } 1 .. 3;
    wrong('alone, one node all', qr/node 0 granted 3 units alone, of at most 3, in 1 times/, [@round, $credit->(0.5, 3, 'a'), @spends, $alone[0], $state->(3, 0, 3)]);
    right('alone, a share for each', [@round, $credit->(0.5, 3, 'a'), @alone, $state->(3, -3, 6)]);
    wrong('alone, more', qr/node 0 granted 4 units alone, of at most 3, in 1 times/, [@round, $credit->(0.5, 3, 'a'), @alone, [req => begin => 2.6, verdict => 'degraded', %of, cost => 2], $state->(3, -5, 8)]);
    wrong('alone with deny', qr/node 0 granted 2 units alone/, [@round, $credit->(0.5, 3, 'a'), @alone, $state->(3, -3, 6)], on_failure => 'deny');
    my @again = (@round, $credit->(0.5, 3, 'a'), requests([1, 2], %of), requests([3, 3.5], %of, cost => 1), $state->(3, -1, 4));
    right('a failover that forgets what was spent', [@again, fault(fail_over => 2.5, 2.8)]);
    wrong('... long before', qr/4 units were granted, of 3/, [@again, fault(fail_over => 40, 41)]);
    wrong('... and no more', qr/15 units were granted, of 3/, [@round, $credit->(0.5, 3, 'a'), requests([1], %of, cost => 3), requests([20], %of, cost => 12), $state->(3, -12, 15), fault(fail_over => 2.5, 2.8)]);
    my @later = ([round => number => 2, begin => 5, quiet => 19, end => 20, faults => 0], $state->(6, 6, 0, round => 2));
    wrong('an old credit that is made again', qr/round 2, .* 3 units were credited, at least 0 and at most 0/, [[round => number => 1, begin => 0, quiet => 3, end => 4, faults => 0], $credit->(0.5, 3, 'a'), $state->(3, 3, 0), @later]);
};

subtest 'budgets of addresses' => sub {
    $property = \&Verify::Property::Budgets::check;
    # 401s at these times, which show what is left of both windows; then 429s.
    my $refused = sub {
        my ($times, %fields) = @_;
        my (%taken, @records);
        for my $time (@$times) {
            my @left = (3 - ++$taken{ 2, int($time / 2) }, 5 - ++$taken{ 8, int($time / 8) });
            push @records, [req => begin => $time, id => '-', sends => 'nothing', status => 401, code => 'missing_api_key',
                rl => sprintf('"anonymous-2";r=%d;t=1, "anonymous-8";r=%d;t=1', map { $_ < 0 ? 0 : $_ } @left), %fields];
        }
        return @records;
    };
    my $limited = sub { my ($time, $retry, %fields) = @_; return [req => begin => $time, id => '-', sends => 'nothing', status => 429, retry => $retry, %fields] };
    right('as many as the budget', [$refused->([0.1, 0.2, 0.3]), $limited->(0.4, 2)]);
    wrong('one more', qr/3 per 2: 4 requests got 401 in window \d+; 3 may/, [$refused->([0.1, 0.2, 0.3]), $refused->([0.4], rl => '"";r=0;t=1, "";r=1;t=1')]);
    wrong('one more than the longer window has', qr/5 per 8: 6 requests/, [$refused->([0.1, 0.2, 0.3, 2.1, 2.2]), $refused->([4.1], rl => '"";r=2;t=1, "";r=0;t=1')]);
    right('each node has its own', [map { $refused->([0.1, 0.2, 0.3], node => $_) } 0 .. 2]);
    right('each address has its own', [map { $refused->([0.1, 0.2, 0.3], address => $_) } 'one', 'two']);
    wrong('a key that is gone, too', qr/4 requests got 401/, [$refused->([0.1, 0.2, 0.3]), $refused->([0.4], id => 'life', sends => undef, rl => '"";r=0;t=1, "";r=1;t=1')]);
    my @again = ($refused->([0.1, 0.2, 0.3]), map { [@$_[0 .. $#$_], begin => $_->[2] + 1] } $refused->([0.1, 0.2, 0.3]));
    right('again after the node was killed', [@again, fault(kill_node => 0.5, 0.8)]);
    right('... or got another zone', [@again, fault(resize_zone => 0.5, 0.8)]);
    ok(scalar $property->(history([@again, fault($_->[0] => 0.5, 0.8, node => $_->[1])])), "wrong: again after $_->[0] at node $_->[1]") for ['reload', 0], ['kill_node', 1];
    wrong('the budget is not taken', qr/2 are left, after at least 1 and at most 1/, [$refused->([0.1]), $refused->([0.2])]);
    wrong('too much is taken', qr/1 are left, after at least 0 and at most 0/, [$refused->([0.1], rl => '"";r=1;t=1, "";r=4;t=1')]);
    wrong('the budget is not shown', qr/is not shown/, [$refused->([0.1], rl => undef)]);
    wrong('429 before the budget is spent', qr/is not spent/, [$refused->([0.1, 0.2]), $limited->(0.4, 2)]);
    right('... an answer is missing', [$refused->([0.1, 0.2]), [req => begin => 0.3, id => '-', status => 0], $limited->(0.4, 2)]);
    wrong('429 takes nothing', qr/is not spent/, [$refused->([0.1, 0.2, 0.3]), $limited->(0.4, 2), $limited->(0.5, 2), $limited->(2.1, 6)]);
    wrong('Retry-After is too early', qr/not the end of its window/, [$refused->([0.1, 0.2, 0.3]), $limited->(0.4, 1)]);
    wrong('Retry-After is too late', qr/not the end of its window/, [$refused->([0.1, 0.2, 0.3]), $limited->(0.4, 8)]);
    right('the look-ups of the address are limited', [$refused->([0.1, 0.2, 0.3]), $limited->(0.4, 1, sends => 'unknown')]);
    my $down = sub { [req => begin => 0.1, id => '-', sends => $_[0], status => 503] };
    right('no look-up in an outage', [$down->('unknown'), fault(kill_redis => 0, 1)]);
    wrong('... without one', qr/503 without an outage/, [$down->('unknown')]);
    wrong('503 without a key', qr/needs no look-up/, [$down->('nothing'), fault(kill_redis => 0, 1)]);
    wrong('served without a key', qr/the status is 200/, [[req => begin => 0.1, id => '-', sends => 'nothing']]);
    right('a table without budgets', [[req => begin => 0.1, id => '-', status => 401, loc => 'a']]);
};

subtest 'requests in flight' => sub {
    $property = \&Verify::Property::InFlight::check;
    my $flights = sub { my ($times, %fields) = @_; return map { [flight => begin => $_->[0], end => $_->[1], id => 'b', node => 0, verdict => 'granted', %fields] } @$times };
    my @three = $flights->([[0.1, 1], [0.2, 1], [0.3, 1]]);
    right('as many as the limit', [@three]);
    wrong('one more', qr/4 requests are in flight at \d+\.5000; 3 may be/, [@three, $flights->([[0.5, 0.6]])]);
    wrong('... at another node', qr/4 requests/, [@three, $flights->([[0.5, 0.6]], node => 1)]);
    right('when one has ended', [@three, $flights->([[1, 2], [1, 2], [1, 2]])]);
    right('of another id', [@three, $flights->([[0.5, 0.6]], id => 'k')]);
    my @fourth = $flights->([[0.5, 0.6]], verdict => 'degraded');
    right('one more alone', [@three, @fourth]);
    my @other = $flights->([[0.5, 0.6]], node => 1);
    right('... whose call for places has failed', [@three, @other, fault(refuse_memory => 0.4, 0.6)]);
    wrong('... and more than its share', qr/5 requests are in flight at \d+\.5000; 4 may be/, [@three, @other, @other, fault(refuse_memory => 0.4, 0.6)]);
    right('one more at each of three nodes', [@three, map { $flights->([[0.5, 0.6]], verdict => 'degraded', node => $_) } 0 .. 2]);
    wrong('two more alone', qr/5 requests are in flight at \d+\.5500; 4 may be/, [@three, @fourth, $flights->([[0.55, 0.6]], verdict => 'degraded')]);
    right('... at a node that knows no others', [@three, @fourth, $flights->([[0.55, 0.6]], verdict => 'degraded'), fault(kill_node => -3, -2)]);
    my @next = $flights->([[2, 3], [2, 3], [2, 3]], node => 1);
    my @long = $flights->([[0.1, 5], [0.2, 5], [0.3, 5]]);
    right('once more after a loss', [@long, @next, fault($_ => 1, 1)]) for qw(lose_counts fail_over step_clock);
    wrong('... twice', qr/7 requests/, [@long, @next, $flights->([[2.5, 2.6]], node => 2), fault(lose_counts => 1, 1)]);
    my @late = $flights->([[8, 9]], node => 1);
    wrong('... when all have begun long after it', qr/4 requests/, [$flights->([[7, 9], [7, 9], [7, 9]]), @late, fault(lose_counts => 1, 1)]);
    my @stream = $flights->([[0.1, 30], [0.2, 30], [0.3, 30]]);
    wrong('places of long requests are lost', qr/4 requests/, [@stream, $flights->([[20, 21]], node => 1)]);
    right('... if their node has not reached Redis', [@stream, $flights->([[20, 21]], node => 1), fault(hold => 5, 9)]);
    wrong('... but another one', qr/4 requests/, [@stream, $flights->([[20, 21]], node => 1), fault(hold => 5, 9, node => 1)]);
    wrong('... or not for long enough', qr/4 requests/, [@stream, $flights->([[20, 21]], node => 1), fault(hold => 5, 5.5)]);
};

subtest 'notices' => sub {
    $property = \&Verify::Property::Notices::check;
    my %tables = map { ($_ => { %{ $config{tables}{$_} }, notify => [80, 100] }) } qw(valued crews);
    $tables{strict} = { lease => 0, notify => [80, 100], plans => { small => { rates => [[5, 2]] } } };
    $tables{api} = { lease => 1, notify => [80, 100], plans => { small => { rates => [[8, 2]] }, slide => { rates => [[4, 2]], sliding => 1 } } };
    my %levels = (tables => \%tables, locations => { %{ $config{locations} }, b => ['api'] });
    my $window = $zero / 2;
    my $notice = sub {
        my ($level, %fields) = @_;
        return [notice => entry => '1-0', id => 'k', table => 'strict', value => '', period => 2, number => $window, level => $level, limit => 5, used => 5, %fields];
    };
    my @four = requests([0.1, 0.2, 0.3, 0.4]);
    right('below the level', [@four[0 .. 2]], %levels);
    right('the level', [@four, $notice->(80)], %levels);
    wrong('... is not noticed', qr/k in strict, 5 per 2: 80% of window \d+ is not noticed, after 4 units/, [@four], %levels);
    right('... before the run failed', [@four, [failure => at => 1, error => 'it failed']], %levels);
    wrong('... is noticed twice', qr/is noticed 2 times, after 0 losses/, [@four, $notice->(80), $notice->(80, entry => '2-0')], %levels);
    wrong('... is noticed too early', qr/80% of window \d+ is noticed, after at most 3 units/, [@four[0 .. 2], $notice->(80)], %levels);
    wrong('... by a request that was refused', qr/after at most 3 units/, [@four[0 .. 2], requests([0.4], status => 429), $notice->(80)], %levels);
    right('... by one that has no answer', [@four[0 .. 2], requests([0.4], status => 0), $notice->(80)], %levels);
    right('... or not', [@four[0 .. 2], requests([0.4], status => 0)], %levels);
    my @all = (@four, requests([0.5]), $notice->(80));
    right('the limit', [@all, $notice->(100)], %levels);
    wrong('... is not noticed', qr/100% of window \d+ is not noticed, after 5 units/, [@all], %levels);
    wrong('... is noticed with the level', qr/100% of window \d+ is noticed, after at most 4 units/, [@four, $notice->(80), $notice->(100)], %levels);
    wrong('another window', qr/80% of window \d+ is noticed, after at most 0 units/, [@four, $notice->(80), $notice->(80, number => $window + 1)], %levels);
    wrong('of nobody', qr/notices of x strict , which nobody has asked for/, [@four, $notice->(80), $notice->(80, id => 'x')], %levels);
    my @late = (@four[0 .. 2], requests([0.4], verdict => 'degraded'), fault(mute => 0.35, 0.45));
    right('granted alone, and noticed when it was reported', [@late, $notice->(80)], %levels);
    right('... after the window', [@late], %levels);
    my @twice = (@four[0, 1], requests([0.4], verdict => 'degraded'), fault(mute => 0.35, 0.45));
    right('... whose call was counted, too', [@twice, $notice->(80)], %levels);
    wrong('... and no more', qr/80% of window \d+ is noticed, after at most 3 units/, [@twice[0, 2, 3], $notice->(80)], %levels);
    my @refused = (@four[0 .. 2], requests([0.4], status => 429));
    right('a refusal whose reply was lost', [@refused, $notice->(80), fault(mute => 0.35, 0.45)], %levels);
    my @between = ([req => begin => 1.9, status => 503], requests([2.1, 2.2, 2.3]), fault(mute => 1.8, 1.95));
    right('a call that Redis decides later', [@between, $notice->(80, number => $window + 1)], %levels);
    right('twice after a loss', [@four, $notice->(80), $notice->(80, entry => '2-0'), fault(lose_counts => 0.3, 0.3)], %levels);
    wrong('... three times', qr/is noticed 3 times, after 1 losses/, [@four, $notice->(80), $notice->(80), $notice->(80), fault(lose_counts => 0.3, 0.3)], %levels);
    right('never after a failover', [@four, fault(fail_over => 4, 6)], %levels);
    wrong('... long before it', qr/is not noticed/, [@four, fault(fail_over => 40, 42)], %levels);
    right('the clock of Redis steps', [@four, fault(step_clock => 0.2, 0.2, step => 3)], %levels);
    right('... back, soon after', [@four[0 .. 2], $notice->(80), fault(step_clock => 1.2, 1.2, step => -3)], %levels);
    my @leased = requests([map { $_ / 10 } 1 .. 4], loc => 'b');
    right('leases reach the level', [@leased, $notice->(80, table => 'api')], %levels);
    wrong('... which they cannot', qr/k in api, 8 per 2: 80% of window \d+ is noticed, after at most 6 units/, [@leased[0 .. 2], $notice->(80, table => 'api')], %levels);
    right('... but those of lost calls', [@leased[0 .. 2], $notice->(80, table => 'api'), fault(mute => 0.25, 0.45)], %levels);
    right('costs that are settled', [requests([0.1], cost => 2, used => 4), $notice->(80)], %levels);
    right('... when it was too late', [requests([0.1], cost => 2, used => 4)], %levels);
    right('... and were reserved', [requests([0.1], cost => 4, used => 2), $notice->(80)], %levels);
    right('... of a reservation that no later call has seen', [requests([0.1], cost => 5, used => 5)], %levels);
    wrong('... that one has', qr/80% of window \d+ is not noticed, after 4 units/, [requests([0.1], cost => 3, used => 3), requests([0.3])], %levels);
    my @taken_back = (@four[0 .. 2], requests([0.4], verdict => 'degraded'), fault(mute => 0.35, 0.45), $notice->(80));
    right('again, after a node has taken back what was counted twice', [@taken_back, $notice->(80, entry => '2-0', again => 1)], %levels);
    wrong('... but it does not say so', qr/is noticed 2 times/, [@taken_back, $notice->(80, entry => '2-0')], %levels);
    my @slide = (id => 'slide', loc => 'a');
    right('a sliding window', [requests([0.1], @slide), $notice->(80, id => 'slide', table => 'api'), $notice->(100, id => 'slide', table => 'api')], %levels);
    my $again = sub { return [requests([0.1], @slide), map { $notice->(80, id => 'slide', table => 'api', entry => "$_-0", $_ > 1 ? (again => 1) : ()) } 1 .. $_[0]] };
    right('... that reaches the level again', $again->(2), %levels);
    wrong('... more often than in each tenth of it', qr/slide in api, 4 per 2: 80% of window \d+ is noticed 12 times/, $again->(12), %levels);
    my $value = sub { return $notice->(80, table => 'valued', value => substr sha256_hex($_[0]), 0, 16) };
    my @values = (requests([0.1, 0.2], loc => 'v', value => 'u1'), requests([0.3], loc => 'v', value => 'u2'));
    my $limit = sub { my @notice = @{ $value->($_[0]) }; return [@notice, level => 100] };
    right('a value', [@values, $value->('u1'), $limit->('u1')], %levels);
    wrong('... another one', qr/k in valued of u2, 2 per 2: 80% of window \d+ is noticed, after at most 1 units/, [@values, $value->('u1'), $limit->('u1'), $value->('u2')], %levels);
    my @team = (requests([0.1, 0.2], id => 'm1', loc => 't'), requests([0.3, 0.4], id => 'm2', loc => 't'));
    my @of_team = map { $notice->($_, id => 'team', table => 'crews', value => 'group') } 80, 100;
    right('a group', [@team, @of_team], %levels);
    wrong('... is not noticed', qr/team in crews, 4 per 2: 100% of window \d+ is not noticed, after 4 units/, [@team, $of_team[0]], %levels);
};

subtest 'acknowledged operations' => sub {
    $property = \&Verify::Property::Acknowledged::check;
    my $op = sub { my ($kind, $begin, %more) = @_; [op => kind => $kind, id => 'life', node => 0, begin => $begin, end => $begin + 0.1, status => 200, %more] };
    my @key = [key => id => 'life', plan => 'small', state => 'active'];
    my @other = [key => id => 'other', plan => 'small', state => 'active'];
    right('issued', [$op->(issue => 1), @key]);
    wrong('issued and missing', qr/exists is 0, but issue was acknowledged/, [$op->(issue => 1), @other]);
    right('a refused issue', [$op->(issue => 1, status => 400), @other]);
    right('an issue that may not have happened', [$op->(issue => 1, status => 503), @other]);
    wrong('revoked and there', qr/exists is 1, but revoke/, [$op->(issue => 1), $op->(revoke => 2), @key]);
    right('a revocation that may not have happened', [$op->(issue => 1), $op->(revoke => 2, status => 0), @key]);
    wrong('another plan', qr/plan is small, but plan was acknowledged/, [$op->(issue => 1), $op->(plan => 2, value => 'wide'), @key]);
    wrong('disabled and active', qr/state is active, but disable/, [$op->(issue => 1), $op->(disable => 2), @key]);
    my @group = $op->(group => 1, id => 'team', value => 'large');
    right('the plan of a group', [@group, @key, [key => id => 'team', plan => 'large']]);
    wrong('... is another one', qr/team: plan is squad, but group was acknowledged/, [@group, @key, [key => id => 'team', plan => 'squad']]);
    right('enabled', [$op->(issue => 1), $op->(disable => 2), $op->(enable => 3), @key]);
    right('a failover may undo it', [$op->(issue => 1), $op->(disable => 2, durability => 'unconfirmed'), @key]);
};

subtest 'operations' => sub {
    $property = \&Verify::Property::Operations::check;
    my $op = sub { my ($kind, $begin, $status, %more) = @_; [op => kind => $kind, id => 'life', node => 0, begin => $begin, end => $begin + 0.1, status => $status, %more] };
    my @unavailable = (503, code => 'service_unavailable');
    my @issued = $op->(issue => 1, 201);
    right('successes', [@issued, $op->(plan => 2, 200), $op->(revoke => 3, 204)]);
    wrong('503 without an outage', qr/life: plan got 503 service_unavailable without an outage/, [@issued, $op->(plan => 2, @unavailable)]);
    right('... in an outage', [@issued, $op->(plan => 2, @unavailable), fault(kill_redis => 1.5, 1.9)]);
    wrong('... of another node', qr/503/, [@issued, $op->(plan => 2, @unavailable), fault(hold => 1.5, 2.5, node => 1)]);
    wrong("$_ in an outage", qr/disable got $_/, [@issued, $op->(disable => 2, $_), fault(kill_redis => 1.5, 2.5)]) for 400, 401, 403, 429, 500, 502;
    my @gone = (404, code => 'unknown_id');
    wrong('a key is not found', qr/enable got 404 unknown_id/, [@issued, $op->(enable => 2, @gone)]);
    wrong('... in an outage', qr/enable got 404/, [@issued, $op->(enable => 2, @gone), fault(wrong_master => 1.5, 2.5)]);
    wrong('... after a failover', qr/enable got 404/, [@issued, $op->(enable => 2, @gone), fault(fail_over => 1.5, 1.6)]);
    my @unconfirmed = $op->(issue => 1, 201, durability => 'unconfirmed');
    right('... that undid its issue', [@unconfirmed, $op->(enable => 2, @gone), fault(fail_over => 1.5, 1.6)]);
    wrong('... and counts were lost only', qr/enable got 404/, [@unconfirmed, $op->(enable => 2, @gone), fault(lose_counts => 1.5, 1.6)]);
    my @tried = (@issued, $op->(revoke => 2, @unavailable), fault(kill_redis => 1.5, 2.05));
    right('revoked by an operation that was not acknowledged', [@tried, $op->(revoke => 3, @gone)]);
    wrong('... revoked by nobody', qr/revoke got 404/, [@issued, $op->(revoke => 3, @gone)]);
    right('... that goes on', [@tried, $op->(revoke => 3, 409, code => 'concurrent_change')]);
    wrong('changed by nobody else', qr/plan got 409/, [@issued, $op->(plan => 3, 409, code => 'concurrent_change')]);
    wrong('... but by this program, long ago', qr/plan got 409/, [@tried, $op->(plan => 3, 409, code => 'id_exists')]);
    my $exists = $op->(issue => 3, 409, code => 'id_exists');
    right('issued before', [$op->(issue => 2, @unavailable), $exists, fault(kill_redis => 1.5, 2.05)]);
    wrong('... by nobody', qr/issue got 409 id_exists/, [$exists]);
    wrong('no answer', qr/issue has no answer/, [$op->(issue => 2, 0)]);
    right("... for $_", [$op->(issue => 2, 0), fault($_ => 2.05, 2.06)]) for qw(kill_worker kill_node);
    wrong("... for $_->[0]", qr/no answer/, [$op->(issue => 2, 0), fault(@$_)]) for ['kill_node', 1, 1.9], ['kill_worker', 2.05, 2.06, node => 1], ['reload', 2.05, 2.06];
};

subtest 'answers' => sub {
    $property = \&Verify::Property::Answers::check;
    my $took = sub { my ($seconds, %more) = @_; return [req => begin => 1, end => 1 + $seconds, %more] };
    right('in time', [$took->(1.5), $took->(1.5, status => 503)]);
    wrong('late', qr/answered after 1\.600 s; at most 1\.500 s are allowed/, [$took->(1.6)]);
    wrong('... in an outage', qr/answered after/, [$took->(1.6, status => 503), fault(stop_redis => 0, 4)]);
    wrong('... without a key', qr/answered after/, [$took->(1.6, id => '-', status => 401)]);
    right('held', [$took->(4.4, hold => 3)]);
    wrong('... longer', qr/answered after 4\.600 s; at most 4\.500/, [$took->(4.6, hold => 3)]);
    right("late, in a $_", [$took->(1.7), map { my $what = $_; [$what => of => 'process 7', at => 1.5, end => 1.8] } $_]) for qw(stall wait);
    wrong("... after a $_", qr/answered after/, [$took->(1.7), map { my $what = $_; [$what => of => 'process 7', at => 0.5, end => 0.8] } $_]) for qw(stall wait);
    right('late, at a worker that was stopped', [$took->(2.4), fault(stop_worker => 0.5, 1.5)]);
    wrong('... later', qr/answered after 2\.600 s; at most 2\.500/, [$took->(2.6), fault(stop_worker => 0.5, 1.5)]);
    wrong('... another worker', qr/answered after/, [$took->(2.4), fault(stop_worker => 0.5, 1.5, node => 1)]);
    my %none = (status => 0);
    wrong('no answer', qr/no answer after 15\.000 s/, [$took->(15, %none, unanswered => 'late')]);
    right('... to a request that is held', [$took->(15, %none, unanswered => 'late', hold => 13.9)]);
    right('the client left', [$took->(3, %none, unanswered => 'left'), $took->(15, %none)]);
    my $closed = sub { return $took->($_[0], %none, unanswered => 'closed') };
    wrong('a closed connection', qr/a connection was closed without an answer/, [$closed->(0.01)]);
    right("... of a $_", [$closed->(0.5), fault($_ => 1.45, 1.6)]) for qw(kill_worker kill_node);
    wrong("... after $_->[0]", qr/was closed/, [$closed->(0.5), fault(@$_)]) for ['kill_worker', 0.5, 0.6], ['kill_node', 1.45, 1.6, node => 1], ['kill_redis', 1.45, 1.6], ['cut', 1.45, 1.46];
    my @refused = [refused => node => 0, at => 1.5];
    wrong('a refused connection', qr/node 0 refused a connection/, [$took->(0.1), @refused]);
    right('... of a killed node', [$took->(0.1), @refused, fault(kill_node => 1.4, 1.6)]);
    wrong("... in $_->[0]", qr/refused a connection/, [$took->(0.1), @refused, fault(@$_)]) for ['kill_node', 1.4, 1.6, node => 1], ['kill_node', 0.5, 1.4], ['reload', 1.4, 1.6];
    right('... that a reload found idle', [$closed->(0.01), fault(reload => 0.95, 1.1)]);
    wrong('... with a request', qr/was closed/, [$closed->(0.5), fault(reload => 0.95, 1.1)]);
};

subtest 'fields' => sub {
    $property = \&Verify::Property::Fields::check;
    my %fields = (rl => '"small-2-seconds";r=2;t=2, "small-8-seconds";r=4;t=8', limit => 3, remaining => 2, reset => $zero + 2);
    my $shows = sub { return [req => begin => 0.1, %fields, @_] };
    right('the quota', [$shows->()]);
    wrong('... of one window', qr/1 limits are shown of 2/, [$shows->(rl => '"small-2-seconds";r=2;t=2')]);
    wrong('... of three', qr/3 limits are shown of 2/, [$shows->(rl => "$fields{rl}, \"small-9-seconds\";r=2;t=2")]);
    wrong('no RateLimit', qr/0 limits are shown of 2: no RateLimit/, [$shows->(rl => undef)]);
    wrong('an item without a time', qr/an item has no time/, [$shows->(rl => '"small-2-seconds";r=2, "small-8-seconds";r=4;t=8')]);
    wrong('more units than the limit', qr/6 units are left of 5/, [$shows->(rl => '"small-2-seconds";r=2;t=2, "small-8-seconds";r=6;t=8')]);
    wrong('a time after the window', qr/no window ends in 9 s/, [$shows->(rl => '"small-2-seconds";r=2;t=2, "small-8-seconds";r=4;t=9')]);
    wrong('... and before', qr/no window ends in 0 s/, [$shows->(rl => '"small-2-seconds";r=2;t=0, "small-8-seconds";r=4;t=8')]);
    wrong("no X-RateLimit of $_", qr/X-RateLimit has no $_/, [$shows->($_ => undef)]) for qw(limit remaining reset);
    wrong('another limit', qr/no limit of 4 has 2 units left/, [$shows->(limit => 4)]);
    wrong('... that has more units left', qr/4 units are shown as left, of another window 2/, [$shows->(limit => 5, remaining => 4, reset => $zero + 8)]);
    wrong('another number than the item', qr/no limit of 3 has 1 units left/, [$shows->(remaining => 1)]);
    wrong('another reset', qr/no window ends at 1800000004/, [$shows->(reset => $zero + 4)]);
    right('... in an outage', [$shows->(reset => $zero + 4, verdict => 'degraded'), fault(kill_redis => 0, 1)]);
    right('at the end of a window', [$shows->(begin => 1.99, end => 2.01, reset => $zero + $_, rl => '"small-2-seconds";r=2;t=1, "small-8-seconds";r=4;t=7')]) for 2, 4;
    my $month = sub { return [req => begin => 0.1, id => 'month', loc => 'a', rl => '"month";r=2;t=1440000', limit => 3, remaining => 2, reset => $_[0]] };
    right('a month', [$month->(1_801_440_000)]);
    wrong('... that ends with another one', qr/no window ends at/, [$month->(1_804_118_400)]);
    my $bucket = sub { return [req => begin => 0.1, loc => 'k', rl => qq("small-bucket";r=$_[0];t=1), limit => 3, remaining => $_[0], reset => $zero + 1] };
    right('a bucket', [$bucket->(2)]);
    wrong('... with more tokens than its burst', qr/4 units are left of 3/, [$bucket->(4)]);
    my %places = (tables => { %{ $config{tables} }, strict => { lease => 0, plans => { small => { rates => [[9, 2]], in_flight => 2 } } } });
    my $flight = sub { return [req => begin => 0.1, rl => qq("small-2-seconds";r=8;t=2, "small-in-flight";r=$_[0]), limit => 9, remaining => 8, reset => $zero + 2] };
    right('requests in flight', [$flight->(1)], %places);
    wrong('... more than may be', qr/3 units are left of 2/, [$flight->(3)], %places);
    right('two tables', [$shows->(loc => 'b', rl => qq("api-small-2-seconds";r=19;t=2, $fields{rl}))]);
    wrong('... of which one is missing', qr/2 limits are shown of 3/, [$shows->(loc => 'b')]);
    right('an empty value', [[req => begin => 0.1, loc => 'v', value => '']]);
    my @changed = fault(change_limits => 0, 3, table => 'strict', plan => 'small', rates => [[4, 2], [9, 8]]);
    right('limits that change', [$shows->(limit => 4), @changed]);
    my @grants = map { [req => begin => $_->[0], limit => 3, remaining => $_->[1], reset => $zero + $_->[2], rl => sprintf '"small-2";r=%d;t=2, "small-8";r=%d;t=%d', @$_[1, 3, 4]] }
        [0.1, 2, 2, 4, 8], [0.2, 1, 2, 3, 8], [0.3, 0, 2, 2, 8];
    my $second = [req => begin => 2.1, limit => 5, remaining => 1, reset => $zero + 8, rl => '"small-2";r=2;t=2, "small-8";r=1;t=6'];
    my $third = [req => begin => 2.2, limit => 5, remaining => 0, reset => $zero + 8, rl => '"small-2";r=1;t=2, "small-8";r=0;t=6'];
    my $late = sub { return [req => begin => 3.7, status => 429, @_] };
    my @of_long = (limit => 5, remaining => 0, reset => $zero + 8, rl => '"small-2";r=1;t=1, "small-8";r=0;t=5');
    my @of_short = (limit => 3, remaining => 1, reset => $zero + 4, rl => '"small-2";r=1;t=1, "small-8";r=0;t=5');
    right('429 shows the window that resets last', [@grants, $second, $third, $late->(@of_long)]);
    wrong('... an earlier one', qr/the reset is \d+4, but the window of 8 with 5 units ends at \d+8/, [@grants, $second, $third, $late->(@of_short)]);
    right('... that the node may not know', [@grants, $second, [@$third, begin => 2.7], $late->(@of_short)]);
    right('... after lost counts', [@grants, $second, $third, $late->(@of_short), fault(lose_counts => 1, 1)]);
};

subtest 'secrecy' => sub {
    $property = \&Verify::Property::Secrecy::check;
    my $flight = sub { return [flight => begin => 1, end => 2, id => 'b', node => 1, verdict => 'granted', @_] };
    right('a request without its key', [$flight->()]);
    wrong('... with it', qr/node 1 has passed the key of b to the upstream/, [$flight->(authorization => 1)]);
    wrong('a key in a log', qr/a key is in error\.log: unknown-0000ffff/, [[leak => file => 'error.log', text => 'unknown-0000ffff']]);
};

# The last line that the checker prints about a history, and its exit status.
sub checked {
    my (@records) = @_;
    my $file = File::Temp->new;
    print $file record(config => json => \%config), map { record(@$_) } @records;
    close $file;
    my @lines = split /\n/, `$^X t/verify/check $file 2>&1`;
    return ($lines[-1], $? >> 8);
}

subtest 'a history that proves nothing' => sub {
    my @round = ([round => number => 1, begin => 0, quiet => 5, end => 6, faults => 0], [settled => round => 1, begin => 5, at => 5.1]);
    my ($granted, $refused) = ([req => begin => 1], [req => begin => 2, status => 429]);
    for my $case (['no refusal', @round, $granted], ['no grant', @round, $refused]) {
        my ($name, @records) = @$case;
        my ($line, $status) = checked(@records);
        is($line, 'the history proves nothing', $name);
        isnt($status, 0, '... is no success');
    }
    isnt((checked(@round, $granted, $refused))[0], 'the history proves nothing', 'with both, it is judged');
    isnt((checked())[1], 0, 'an empty history is no success');
};

done_testing;
