# Verification by history, for a moment: one seed for each deployment of Redis, with faults. t/verify/README.md describes
# it, and the long runs.

use strict;
use warnings;
use Test::More;

my %options = (redis => '--seed 3', sentinel => '--seed 2', cluster => '--seed 2');
for my $deployment (qw(redis sentinel cluster)) {
    my $output = `$^X t/verify/run --deployment $deployment $options{$deployment} --seconds 1 --round-length 5 2>&1`;
    is($?, 0, "$deployment: every property holds") or diag($output);
    like($output, qr/^\d{3,} requests in 1 rounds, \d+ operations, [1-9]\d* faults$/m, '... of requests under faults');
}

done_testing;
