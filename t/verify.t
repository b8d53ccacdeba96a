# Verification by history, for a moment: one seed for each deployment of Redis, with faults. t/verify/README.md describes
# it, and the long runs.

use strict;
use warnings;
use Test::More;

# The seeds, and faults that they draw, also with sanitizers, where the clock of Redis cannot step. With that of Sentinel,
# nodes refuse in an outage (`on_failure deny`).
my %seed = (redis => [3, 'mute'], sentinel => [310, 'cut', 'fail_over', 'hold'], cluster => [347, 'fail_over', 'hold']);
for my $deployment (qw(redis sentinel cluster)) {
    my ($seed, @faults) = @{ $seed{$deployment} };
    my $output = `$^X t/verify/run --deployment $deployment --seed $seed --seconds 1 --round-length 5 2>&1`;
    is($?, 0, "$deployment: every property holds") or diag($output);
    like($output, qr/^\d{3,} requests in 1 rounds, \d+ operations, [1-9]\d* faults$/m, '... of requests under faults');
    like($output, qr/^faults: .*\b$_\b/m, "... of them $_") for @faults;
}

done_testing;
