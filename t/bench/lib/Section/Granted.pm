package Section::Granted;

# Throughput and CPU of granted requests, each compared with bare proxy_pass with the same keys.

use strict;
use warnings;
use ApiKeys;
use Comparison qw(meets);
use Contender;
use Gateways;
use List::Util qw(max);
use RedisServer;
use Statistics qw(median range);

my $new_every = 20;

my %name_of = (
    one    => 'one key',
    many   => '10,000 keys',
    zipf   => '1,000 keys, Zipf',
    new    => 'new keys',
    100000 => '100,000 keys',
    1000000 => '1,000,000 keys',
);

# Name, server and keys (of Setup, or of _own_keys), and targets.
my @rows = (
    ['limit_req, one key',           'limit_req', 'one'],
    ['HAProxy, one key',             'haproxy',   'one'],
    ['Lua, one key',                 'lua',       'one'],
    ['Tollgate, one key',            'tollgate',  'one',  rate => '>= 0.97', cpu => '<= 1.05'],
    ['Tollgate, one key, lease=off', 'exact',     'one'],
    ['limit_req, 10,000 keys',       'limit_req', 'many'],
    ['HAProxy, 10,000 keys',         'haproxy',   'many'],
    ['Lua, 10,000 keys',             'lua',       'many'],
    ['Tollgate, 10,000 keys',        'tollgate',  'many', rate => '>= 0.85', cpu => '<= 1.18'],
    ['Tollgate, 10,000, lease=off',  'exact',     'many', rate => '>= 0.65', cpu => '<= 1.50'],
    ['Tollgate, Zipf',               'tollgate',  'zipf', rate => '>= 0.92', cpu => '<= 1.10'],
    ['Tollgate, Zipf, settle=',      'settle',    'zipf'],
    ['Tollgate, Zipf, lease=off',    'exact',     'zipf', rate => '>= 0.65'],
    ['Tollgate, new keys',           'tollgate',  'new'],
    ['Tollgate, 100,000 keys',       'tollgate',  '100000'],
    ['Tollgate, 1,000,000 keys',     'tollgate',  '1000000', rate => '>= 0.62', cpu => '<= 1.50'],
);

sub run {
    my ($class, $setup) = @_;
    my (@pairs, %targets_of, %own, %bare, @started);
    for my $row (@rows) {
        my ($name, $server, $kind, %targets) = @$row;
        next if $kind =~ /^\d+$/ && $kind > $setup->option('keys');
        my $keys = $own{$kind} //= _own_keys($setup, $kind);
        my %options = ref $keys ? _own_gateway($setup, $keys) : ();
        push @started, $options{nginx} // ();
        $bare{$kind} //= $setup->contender("bare, $name_of{$kind}", 'bare', $keys);
        push @pairs, [$setup->contender($name, $server, $keys, %options), $bare{$kind}];
        $targets_of{$name} = \%targets;
    }
    my ($stopped, $nginx) = _stopped($setup);
    push @started, $nginx;
    push @pairs, [$stopped, $bare{many}];
    $targets_of{ $stopped->name } = { rate => '>= 0.92', cpu => '<= 1.12' };

    $_->[0]->ask_with_every_key for @pairs;
    my @comparisons = $setup->compare(@pairs);
    Comparison->print_head('bare');
    Comparison->print_divisors(@comparisons);
    $_->print(%{ $targets_of{ $_->name } }) for @comparisons;

    my %by_name = map { $_->name => $_ } @comparisons;
    my $hot = $by_name{'Tollgate, one key'};
    $hot->print_ratio_to($by_name{$_}, '>= 1.0') for 'limit_req, one key', 'HAProxy, one key';
    my $many = $by_name{'Tollgate, 10,000 keys'};
    $many->print_ratio_to($by_name{$_}, '>= 1.0') for 'limit_req, 10,000 keys', 'HAProxy, 10,000 keys';
    $many->print_ratio_to($by_name{'Lua, 10,000 keys'}, '>= 2.5');
    for my $what (['ids', 'ids that Redis decides', '<= 0.06'], ['calls', 'scripts that Redis runs', '<= 0.005']) {
        my ($count, $text, $target) = @$what;
        my @values = map { $_->{$count} } $many->results;
        printf "%s a request, 10,000 keys: %.4f (%s), target %s\n", $text, median(@values), range('%.4f', @values),
            meets(median(@values), $target);
    }
    $_->stop for @started;
}

# The name of keys that Setup has, or the keys: 10,000, and a new one in every 20th request; or so many.
sub _own_keys {
    my ($setup, $kind) = @_;
    return ApiKeys->make(plan => 'endless', count => $kind) if $kind =~ /^\d+$/;
    return $kind if $kind ne 'new';
    my $new = Contender->most_new_keys(measurements => $setup->option('rounds'), seconds => $setup->option('seconds'),
        every => $new_every);
    return ApiKeys->make(plan => 'endless', count => 10_000, new => $new, new_every => $new_every);
}

# The options of a contender whose keys don't fit into the zone of the others.
sub _own_gateway {
    my ($setup, $keys) = @_;
    my $redis = RedisServer->start;
    $keys->write_records($redis, 't:');
    my $megabytes = max(64, int $keys->total / 1000);
    return (redis => $redis, nginx => Gateways->tollgate($setup->upstream, $redis, zone => "${megabytes}m"));
}

# This gateway has its own Redis: the units that are reported after the outage must not affect the other rows.
sub _stopped {
    my ($setup) = @_;
    my $redis = RedisServer->start;
    my $keys = $setup->keys('many');
    $setup->write_keys($keys, $redis);
    my $nginx = Gateways->tollgate($setup->upstream, $redis, redis => 'on_failure local;');
    my $contender = $setup->contender('Tollgate, Redis stopped', 'tollgate', $keys, nginx => $nginx, redis => $redis,
        redis_stopped => 1, end => sub { $redis->sigcont });
    $contender->{begin} = sub {
        $contender->ask_with_every_key;
        $redis->sigstop;
    };
    return ($contender, $nginx);
}

1;
