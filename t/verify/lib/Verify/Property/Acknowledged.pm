package Verify::Property::Acknowledged;

# An operation that was acknowledged is never undone: the records of keys and groups in Redis at the end are what the last
# operations made.
#
# An operation that was not acknowledged may have been executed or not. One with the field Tollgate-Durability may be
# undone by a failover.

use strict;
use warnings;

sub check {
    my ($history) = @_;
    my (%operations, %keys, @violations);
    push @{ $operations{ $_->{id} } }, $_ for $history->changes;
    push @{ $keys{ $_->{id} } }, $_ for $history->of('key');
    return () unless %keys;    # the run ended before it read them
    for my $id (sort keys %operations) {
        my %expected;
        for my $operation (@{ $operations{$id} }) {
            my $kind = $operation->{kind};
            my %sets =
                  $kind eq 'issue'   ? (exists => 1, state => 'active', plan => 'small')
                : $kind eq 'revoke'  ? (exists => 0)
                : $kind eq 'plan'    ? (plan => $operation->{value})
                : $kind eq 'group'   ? (exists => 1, plan => $operation->{value})
                : $kind eq 'disable' ? (state => 'disabled')
                :                      (state => 'active');
            my $is_certain = $operation->{status} =~ /^2/ && !$operation->{durability};
            # Refused operations change nothing.
            next if $operation->{status} =~ /^4/;
            for my $what (keys %sets) { $expected{$what} = $is_certain ? [$sets{$what}, $operation] : undef }
        }
        my ($key) = @{ $keys{$id} // [] };
        my %actual = (exists => $key ? 1 : 0, state => $key && $key->{state}, plan => $key && $key->{plan});
        my $exists = $expected{exists} or next;
        for my $what (grep { $expected{$_} } $exists->[0] && $key ? sort keys %expected : 'exists') {
            my ($value, $operation) = @{ $expected{$what} };
            next if ($actual{$what} // '') eq $value;
            push @violations, "$id: $what is " . ($actual{$what} // 'missing') . ", but $operation->{kind} was acknowledged at $operation->{end} ($operation->{status})";
        }
    }
    return @violations;
}

1;
