# The gateway follows what the command stores.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Gateway qw(wait_for_room);
use Test::More;
use Wait qw(becomes wait_until);

my $gateway = Gateway->start(plans => 'plan free 1000r/d; plan slide 100r/d window=sliding; plan tiny 1r/d; plan own custom;'
        . ' ban after=2 within=1m for=10m up_to=1h;');
my $tollgate = Command->new(redis => $gateway->redis->address, prefix => 't:');

sub issue { my $r = $tollgate->run(qw(key issue --id), @_); die $r->{err} if $r->{status}; return $r->{out} =~ s/\n//r }
sub status { return $gateway->get('/', $_[0])->status }


wait_for_room($gateway->redis, 86400);
my $key = issue(qw(alice --plan free));
is status($key), 200, 'an issued key passes';
status($key) for 1 .. 4;
becomes(
    sub {
        my ($window) = @{ $tollgate->json('usage', 'alice')->{windows} };
        return join ' ', map { $_ // '-' } @$window{qw(table window count previous)};
    },
    'api day 5 -',
    'usage tells what was counted, when the lease is back',
);
my $slide = issue(qw(sam --plan slide));
status($slide);
is_deeply [@{ $tollgate->json('usage', 'sam')->{windows}[0] }{qw(count previous)}], [1, 0], '… in sliding windows too';
is $gateway->get('/', issue(qw(own --plan own --limits), '7r/d'))->header('X-RateLimit-Limit'), 7, 'limits of a custom plan';

$tollgate->run({ stdin => "old-token\n" }, qw(key import --plan free --id imported));
is status('old-token'), 200, 'an imported key passes';

$tollgate->run(qw(key disable alice));
becomes(sub { status($key) }, 401, 'a disabled key is refused');
$tollgate->run(qw(key enable alice));
becomes(sub { status($key) }, 200, 'an enabled key passes again');
chomp(my $new = $tollgate->run(qw(key rotate alice --overlap 3s))->{out});
is status($new), 200, 'a rotated key passes';
is status($key), 200, '… and so does the old one, meanwhile';
is $tollgate->json('usage', 'alice')->{windows}[0]{count} > 6, 1, '… on one account';
becomes(sub { status($key) }, 401, '… until the overlap ends');
is status($new), 200, '… which the new one outlives';
$tollgate->run(qw(key revoke --yes alice));
becomes(sub { status($new) }, 401, 'a revoked key is refused');

# New keys are looked up even for an address that has spent its `anonymous` budget.
subtest 'new keys of an address that sends unknown ones' => sub {
    my $other = Gateway->start(share => $gateway, plans => 'plan free 1000r/d; anonymous 1r/d;');
    $gateway->subscribed(2);
    my $flood = sub {
        wait_until('the limit of look-ups', sub { ($other->get('/', 'unknown' . rand)->header('Retry-After') // 0) == 1 });
    };
    my $passes = sub { $flood->(); return $other->get('/', $_[0])->status };
    $flood->();
    my $key = issue(qw(bob --plan free));
    is $passes->($key), 200, 'key issue';
    $tollgate->run({ stdin => "token-of-carol\n" }, qw(key import --plan free --id carol));
    is $passes->('token-of-carol'), 200, 'key import';
    chomp(my $next = $tollgate->run(qw(key rotate bob))->{out});
    is $passes->($next), 200, 'key rotate';
    $tollgate->run(qw(key disable carol));
    $flood->();
    isnt $other->get('/', 'token-of-carol')->status, 200, 'key disable';
    $tollgate->run(qw(key enable carol));
    is $passes->('token-of-carol'), 200, 'key enable';
    $other->nginx->stop;
};

# The other gateway has published its own table of this name.
my $tiny = issue(qw(tiny --plan tiny --force));
status($tiny) for 1 .. 4;
my $ban = $tollgate->json(qw(ban show tiny));
ok $ban->{banned}, 'ban show shows a ban' or diag explain $ban;
is $gateway->get('/', $tiny)->json->{code}, 'api_key_banned', '… that is one';
wait_until('the last request of the banned id in top', sub {
    my ($row) = grep { $_->{id} eq 'tiny' } @{ $tollgate->json(qw(top --count 1 --interval 100ms))->{rows} };
    return $row && $row->{banned_until} && $row->{last_use};
});
$tollgate->run(qw(ban lift tiny));
$tollgate->run(qw(key set tiny --plan free));
becomes(sub { status($tiny) }, 200, 'ban lift ends it');

$gateway->nginx->stop;
done_testing;
