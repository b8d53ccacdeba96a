package Section::Granted;

# Throughput and CPU of granted requests, each compared with bare proxy_pass with the same keys.

use strict;
use warnings;
use Comparison qw(meets);
use Gateways;
use RedisServer;
use Statistics qw(median range);

sub run {
    my ($class, $setup) = @_;
    my %bare = map { $_->[0] => $setup->contender("bare, $_->[1]", 'bare', $_->[0]) }
        ['one', 'one key'], ['many', '10,000 keys'], ['zipf', '1,000 keys, Zipf'];
    my @rows = (
        ['limit_req, one key',            'limit_req', 'one'],
        ['HAProxy, one key',              'haproxy',   'one'],
        ['Lua, one key',                  'lua',       'one'],
        ['Tollgate, one key',             'tollgate',  'one',  rate => '>= 0.97', cpu => '<= 1.04'],
        ['Tollgate, one key, lease=off',  'exact',     'one'],
        ['Lua, 10,000 keys',              'lua',       'many'],
        ['Tollgate, 10,000 keys',         'tollgate',  'many', rate => '>= 0.82', cpu => '<= 1.12'],
        ['Tollgate, 10,000, lease=off',   'exact',     'many', rate => '>= 0.65'],
        ['Tollgate, Zipf',                'tollgate',  'zipf', rate => '>= 0.93'],
        ['Tollgate, Zipf, lease=off',     'exact',     'zipf', rate => '>= 0.65'],
    );
    my (@pairs, %targets_of);
    for my $row (@rows) {
        my ($name, $server, $keys, %targets) = @$row;
        push @pairs, [$setup->contender($name, $server, $keys), $bare{$keys}];
        $targets_of{$name} = \%targets;
    }
    my ($stopped, $nginx) = _stopped($setup);
    push @pairs, [$stopped, $bare{many}];
    $targets_of{ $stopped->name } = { rate => '>= 0.95' };

    $_->[0]->ask_with_every_key for @pairs;
    my @comparisons = $setup->compare(@pairs);
    Comparison->print_head('bare');
    Comparison->print_divisors(@comparisons);
    $_->print(%{ $targets_of{ $_->name } }) for @comparisons;

    my %by_name = map { $_->name => $_ } @comparisons;
    my $hot = $by_name{'Tollgate, one key'};
    $hot->print_ratio_to($by_name{$_}, '>= 1.0') for 'limit_req, one key', 'HAProxy, one key';
    $by_name{'Tollgate, 10,000 keys'}->print_ratio_to($by_name{'Lua, 10,000 keys'}, '>= 2.5');
    my @ids = map { $_->{ids} } $by_name{'Tollgate, 10,000 keys'}->results;
    printf "ids that Redis decides a request, 10,000 keys: %.4f (%s), target %s\n", median(@ids), range('%.4f', @ids),
        meets(median(@ids), '<= 0.3');
    $nginx->stop;
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
