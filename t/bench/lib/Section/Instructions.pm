package Section::Instructions;

# Instructions of nginx per request. Requests come over 50 connections, as fast as nginx under valgrind answers them.
# That is slow: the number of keys is such that each has about 5 requests a second. Rare keys have one request each.

use strict;
use warnings;
use ApiKeys;
use Callgrind;
use Comparison qw(meets);
use Gateways;
use RedisWork;
use RedisServer;

my $requests = 4000;
my $key_count = 250;
my $team = 1000;

sub run {
    my ($class, $setup) = @_;
    my $bare = Callgrind->new(Gateways->bare($setup->upstream, Callgrind->options));
    my $redis = RedisServer->start;
    my $tollgate = Callgrind->new(Gateways->tollgate($setup->upstream, $redis, Callgrind->options));
    my %keys = (
        one   => $setup->keys('one'),
        many  => ApiKeys->make(plan => 'endless', count => $key_count),
        rare  => ApiKeys->make(plan => 'endless', count => $requests),
        spent => $setup->keys('spent'),
        grouped => ApiKeys->make(plan => 'endless', count => 1, group => 'team'),
        team    => ApiKeys->make(plan => 'endless', count => $team, group => 'team'),
    );
    $setup->write_keys($_, $redis) for values %keys;

    my $measure = sub {
        my ($callgrind, $server, $keys, $status) = @_;
        my $next = 0;
        my %options = $keys eq 'rare' ? (token => sub { $keys{rare}->token($next++ % $requests) }) : ();
        # The first request with a key stores it in the zone, the second in the worker.
        Callgrind->ask(Gateways->address($callgrind->nginx, $server), $keys{$keys}, $requests, 200, %options) if %options;
        return _measure($callgrind, $server, $keys{$keys}, $status // 200, $callgrind == $tollgate ? $redis : undef, %options);
    };
    my %base = (granted => $measure->($bare, 'bare', 'one'), refused => $measure->($bare, 'limit_req_spent', 'spent', 429));
    my @rows = (
        ['bare',                        'granted', $base{granted}],
        ['limit_req',                   'granted', $measure->($bare, 'limit_req', 'one')],
        ['Tollgate, one key',           'granted', my $hot = $measure->($tollgate, 'tollgate', 'one'), '<= 4000'],
        ['Tollgate, one, lease=off',    'granted', $measure->($tollgate, 'exact', 'one')],
        ['Tollgate, one, settle=',      'granted', $measure->($tollgate, 'settle', 'one')],
        ['three tables, settle=',       'granted', $measure->($tollgate, 'three', 'one')],
        ['Tollgate, one, in_flight',    'granted', $measure->($tollgate, 'in_flight', 'one')],
        ['Tollgate, one, by=$variable', 'granted', $measure->($tollgate, 'values', 'one')],
        ['Tollgate, one, by=group',     'granted', $measure->($tollgate, 'groups', 'grouped')],
        ["$team keys of a group",      'granted', $measure->($tollgate, 'groups', 'team')],
        ["Tollgate, $key_count keys",   'granted', $measure->($tollgate, 'tollgate', 'many')],
        ["the same, settle=",           'granted', $measure->($tollgate, 'settle', 'many')],
        ["the same, in_flight",         'granted', $measure->($tollgate, 'in_flight', 'many')],
        ["$key_count keys, lease=off",          'granted', $measure->($tollgate, 'exact', 'many')],
        ["Tollgate, $requests rare keys", 'granted', $measure->($tollgate, 'tollgate', 'rare'), '<= 9000'],
        ['limit_req, refused',          'refused', $base{refused}],
        ['Tollgate, refused',           'refused', $measure->($tollgate, 'tollgate', 'spent', 429)],
    );
    $redis->sigstop;
    push @rows, ['Tollgate, Redis stopped', 'granted', _measure($tollgate, 'tollgate', $keys{many}, 200, undef)];
    $_->nginx->stop for $bare, $tollgate;
    $redis->sigcont;

    printf "%-32s %12s %12s %-16s %8s %8s %8s %12s\n", '', 'instructions', 'over bare', 'target', 'locks', 'scripts', 'ids',
        'requests/s';
    for my $row (@rows) {
        my ($name, $kind, $count, $target) = @$row;
        my $over = $count->{instructions} - $base{$kind}{instructions};
        printf "%-32s %12.0f %12s %-16s %8.3f %8s %8s %12.0f\n", $name, $count->{instructions},
            $count == $base{$kind} ? '' : sprintf('%.0f', $over), $target ? meets($over, $target) : '', $count->{locks},
            map({ defined ? sprintf('%.4f', $_) : '-' } @$count{qw(calls ids)}), $count->{requests} / $count->{seconds};
    }
    print "\"over bare\" of refused requests is over limit_req's. Locks are those of all shared memory.\n";
    _print_profile($base{granted}{functions}, $hot->{functions}) if $setup->option('profile');
}

# The warm-up is as long as what is measured, so that every key is known and leases have their size.
sub _measure {
    my ($callgrind, $server, $keys, $status, $redis, %options) = @_;
    my $address = Gateways->address($callgrind->nginx, $server);
    my $work = $redis && RedisWork->new($redis, Gateways->address($callgrind->nginx, 'status'));
    eval { Callgrind->ask($address, $keys, 1, 200) } if $status == 429;
    Callgrind->ask($address, $keys, $requests, $status, %options);
    my $before = $work ? $work->counts : {};
    my $count = $callgrind->measure($address, $keys, $requests, $status, %options);
    my $after = $work ? $work->counts : {};
    $count->{$_} = ($after->{$_} - $before->{$_}) / $requests for keys %$after;
    return $count;
}

sub _print_profile {
    my ($without, $with) = @_;
    my %over = map { $_ => ($with->{$_} // 0) - ($without->{$_} // 0) } keys %$with, keys %$without;
    my @functions = sort { $over{$b} <=> $over{$a} || $a cmp $b } keys %over;
    print "\na hot key, over bare: instructions of the function itself, per request\n";
    printf "%8.0f  %s\n", $over{$_}, substr $_, 0, 120 for @functions[0 .. ($#functions < 29 ? $#functions : 29)];
}

1;
