# The last hour in tollgate_status: a minute is recorded whether or not somebody reads the status, and a reload keeps it.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Wait qw(wait_until);

my $gateway = Gateway->start(plans => 'plan free 5r/d;', workers => 2);
$gateway->import_key('free', id => 'k1', plan => 'free');

my $hour = sub { $gateway->status->{hour} };
is_deeply($hour->()->{series}{granted}, [], 'no minute has ended since nginx began to count');

# Requests of one minute: they begin when one has just begun.
my $before = $hour->()->{age};
wait_until('a minute to begin', sub { my $age = $hour->()->{age}; (my $was, $before) = ($before, $age); $age < $was }, 70);
is_deeply([map { $gateway->get('/', 'free')->status } 1 .. 7], [(200) x 5, (429) x 2], 'requests of a key');
is($gateway->get('/')->status, 401, 'one without a key');
$gateway->nginx->reload;
wait_until('the minute to end', sub { @{ $hour->()->{series}{granted} } }, 70);
my $series = $hour->()->{series};
is_deeply([map { $series->{$_}[0] } qw(granted limited limited_addresses unauthenticated unavailable evictions unreachable)],
    [5, 2, 0, 1, 0, 0, 0], 'the minute has them');
is(scalar(grep { @$_ != 1 } values %$series), 0, '... and each series has this minute');

done_testing;
