# A client that is alone with its key and waits for Retry-After is never refused again.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Http;
use RetryingClients;
use Time::HiRes qw(time);

my %longest = (fixed => 1, slow => 2, both => 3, sliding => 2, smooth => 4);    # seconds that a refusal may ask for
my $gateway = Gateway->start(plans => <<'END', workers => 2);
    plan fixed   2r/s;
    plan slow    3r/2s;
    plan both    2r/s 5r/3s;
    plan sliding 3r/s window=sliding;
    plan smooth  4r/2s window=sliding;
END

RetryingClients->check($gateway, longest => \%longest, clients => 12, waits => 240, pause => 1);
$gateway->nginx->stop;

# Nodes that refuse without Redis know its clock within bounds. Near a full second, Retry-After may be one second too
# long, but never too short.
my @nodes = my $first = Gateway->start(plans => 'plan free 5r/10s;', http => 'keepalive_requests 1000000;');
push @nodes, map { Gateway->start(plans => 'plan free 5r/10s;', http => 'keepalive_requests 1000000;', share => $first) } 2 .. 3;
$first->import_key('k', id => 'k1', plan => 'free');
my @connections = map { Http->connect($_->nginx) } @nodes;
my ($answers, @early, @late) = (0);
my $end = time + 3;
while (time < $end) {
    for my $connection (@connections) {
        my $before = time;
        $connection->send("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n");
        my $r = $connection->response('GET');
        my $after = time;
        next if $r->status != 429 || int($before / 10) != int($after / 10);
        my $reset = 10 * (1 + int($before / 10));
        my $seconds = $r->header('Retry-After');
        $answers++;
        push @early, "$seconds s, " . ($reset - $after) . ' s before the reset' if $seconds < $reset - $after;
        # A wide tolerance: a busy machine may delay the replies that set the bounds.
        push @late, "$seconds s, " . ($reset - $before) . ' s before the reset' if $seconds >= $reset - $before + 1.05;
    }
}
cmp_ok($answers, '>', 100, 'three nodes refuse');
is_deeply(\@early, [], 'no Retry-After is too short');
is_deeply(\@late, [], 'it is one second too long only near a full second');
$_->nginx->stop for @nodes;
done_testing;
