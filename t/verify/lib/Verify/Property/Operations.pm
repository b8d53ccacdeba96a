package Verify::Property::Operations;

# Each operation of the admin API gets the answer that its key has: a success, unless Redis may have been unreachable.
#
# Only one program changes the keys. So 409 and 404 have a reason in what it did before: an operation that was not
# acknowledged may have been executed, or go on while the next one comes. A failover may undo an operation whose durability
# was not confirmed. An operation has no answer only if its worker or its node was killed.

use strict;
use warnings;
use Verify::Model qw(evidence);

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my (%before, @violations);
    for my $operation ($history->of('op')) {
        my $before = $before{ $operation->{id} } //= [];
        my $wrong = _wrong($model, $operation, @$before);
        push @violations, evidence("$operation->{id}: $wrong", map { _text($_) } @$before, $operation) if $wrong;
        push @$before, $operation;
    }
    return @violations;
}

sub _text {
    my ($operation) = @_;
    return "$operation->{kind} $operation->{begin}..$operation->{end} at node $operation->{node}: " . join ' ', $operation->{status} || 'no answer',
        grep { defined } @$operation{qw(code durability)};
}

sub _is_acknowledged { return $_[0]{status} =~ /^2/ }

# What is wrong with the answer, or undef.
sub _wrong {
    my ($model, $operation, @before) = @_;
    my ($kind, $status, $code) = ($operation->{kind}, $operation->{status}, $operation->{code} // '');
    return if _is_acknowledged($operation);
    if (!$status) { return _may_be_cut($model, $operation) ? undef : "$kind has no answer" }
    my @unknown = grep { !_is_acknowledged($_) } @before;
    return if $code eq 'concurrent_change' && @unknown;
    return if $kind eq 'issue' && $code =~ /_exists$/ && grep { $_->{kind} eq 'issue' } @unknown;
    return if $code eq 'unknown_id' && (($kind eq 'revoke' && grep { $_->{kind} eq 'revoke' } @unknown) || _may_be_undone($model, $operation, @before));
    return if $code eq 'service_unavailable' && $status == 503 && $model->may_lack_redis($operation);
    return "$kind got $status $code" . ($status == 503 ? ' without an outage' : '');
}

sub _may_be_cut {
    my ($model, $operation) = @_;
    return grep { $_->{begin} <= $operation->{end} && $_->{end} >= $operation->{begin} }
        $model->faults_of($operation->{node}, $operation->{begin}, $operation->{end}, 'node');
}

# Whether a failover may have undone the issue of the key.
sub _may_be_undone {
    my ($model, $operation, @before) = @_;
    my @issues = grep { $_->{kind} eq 'issue' } @before or return;
    return if grep { _is_acknowledged($_) && !$_->{durability} } @issues;
    return grep { $_->{kind} ne 'lose_counts' } $model->faults($issues[0]{begin}, $operation->{end}, 'loss');
}

1;
