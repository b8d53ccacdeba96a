package Section::Locks;

# How often a request takes a lock of the zone, and how long it is held. The module counts this only if it is built
# for it; its status has then the member `lock`.

use strict;
use warnings;
use Gateways;
use Http qw(http_get);
use Statistics qw(median);

sub run {
    my ($class, $setup) = @_;
    my $status = Gateways->address($setup->tollgate, 'status');
    if (!_lock($status)) {
        print "the module does not count locks: build it with cmake -DTOLLGATE_LOCK_STATISTICS=ON\n";
        return;
    }
    my @rows = (
        ['Tollgate, one key',         'tollgate', 'one',   200],
        ['Tollgate, one, lease=off',  'exact',    'one',   200],
        ['Tollgate, 10,000 keys',     'tollgate', 'many',  200],
        ['the same, lease=off',       'exact',    'many',  200],
        ['Tollgate, refused',         'tollgate', 'spent', 429],
    );
    printf "%-32s %10s %12s %10s %10s %10s\n", '', 'requests/s', 'locks/req', 'held, ns', 'longest', 'waited, ns';
    for my $row (@rows) {
        my ($name, $server, $keys, $expected) = @$row;
        my $contender = $setup->contender($name, $server, $keys, status => $expected);
        http_get($contender->address, '/', Authorization => 'Bearer ' . $contender->api_keys->token(0));
        $contender->ask_with_every_key;
        my @results;
        for my $round (1 .. $setup->option('rounds')) {
            my $before = _lock($status);
            my $result = $setup->wrk->run($contender->address, $contender->api_keys,
                seconds => $setup->option('seconds'), seed => $round);
            my $after = _lock($status);
            my $holds = $after->{holds} - $before->{holds};
            my $mean = sub { $holds && ($after->{ $_[0] }{sum} - $before->{ $_[0] }{sum}) / $holds };
            push @results, {
                rate    => $result->{requests} / $result->{seconds},
                locks   => $holds / $result->{requests},
                held    => $mean->('held_nanoseconds'),
                waited  => $mean->('waited_nanoseconds'),
                longest => $after->{held_nanoseconds}{longest},
            };
        }
        my %median = map { my $what = $_; $what => median(map { $_->{$what} } @results) } keys %{ $results[0] };
        printf "%-32s %10.0f %12.4f %10.0f %10.0f %10.0f\n", $name, @median{qw(rate locks held longest waited)};
    }
    print "held, waited: means; longest: the longest hold since nginx was started, in ns\n";
}

sub _lock { return http_get($_[0], '/')->json->{lock} }

1;
