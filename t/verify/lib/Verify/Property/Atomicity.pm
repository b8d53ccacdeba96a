package Verify::Property::Atomicity;

# A granted request is counted in every window of every table of its location, a refused one in none.
#
# A client that is alone with its key sees this in the field `RateLimit`: from one granted request to the next, what remains
# of a window falls by the cost of the second one, whatever was refused between them. This holds for tables without
# leases, while there is no fault. What a refusal shows is not used: a node repeats refusals for up to a second with the
# counts that it saw last. (Conservation checks the same for all keys and tables, at the end of a round.)

use strict;
use warnings;
use Verify::Model qw(evidence);

# What remains of each window of a table, by its length.
sub remaining {
    my ($model, $request, $table) = @_;
    my @tables = $model->tables($request);
    my @all = ($request->{rl} // '') =~ /"[^"]*";r=(\d+);t=\d+/g;
    my %remaining;
    for my $name (@tables) {
        my @rates = $model->rates($request->{id}, $name, $request->{begin}, $request->{end});
        my @here = splice @all, 0, scalar @rates;
        next if $name ne $table || @here != @rates;
        $remaining{ $rates[$_]{period} } = $here[$_] for 0 .. $#rates;
    }
    return \%remaining;
}

sub check {
    my ($history) = @_;
    my $model = Verify::Model->new($history);
    my @violations;
    for my $id (grep { $model->config->{ids}{$_}{alone} } sort keys %{ $model->config->{ids} }) {
        my @requests = $history->requests($id);
        for my $table (grep { !$model->is_leased($_) } sort keys %{ $model->config->{tables} }) {
            my @seen = $model->charged_in($table, @requests);
            my @granted = grep { $seen[$_]{status} == 200 && $seen[$_]{cost} } 0 .. $#seen;
            for my $i (1 .. $#granted) {
                my ($first, $second) = @granted[$i - 1, $i];
                next if grep { $_->{status} =~ /^(?:0|503)$/ } @seen[$first .. $second];    # may be counted
                push @violations, _check_pair($model, $table, @seen[$first .. $second]);
            }
        }
    }
    return @violations;
}

sub _check_pair {
    my ($model, $table, @seen) = @_;
    my ($before, $after) = @seen[0, -1];
    return if grep { $_->{verdict} ne 'granted' } $before, $after;
    return if $before->{end} > $after->{begin} || $model->faults($before->{begin}, $after->{end});
    my ($was, $is) = map { remaining($model, $_, $table) } $before, $after;
    for my $rate ($model->limits($after->{id}, $table, $before->{begin}, $after->{end})) {
        my $period = $rate->{period};
        next if $rate->{sliding} || !defined $was->{$period} || !defined $is->{$period};
        my ($first, $second) = map { $model->window($rate, $_) } $before, $after;
        next unless defined $first && defined $second && $first == $second;
        return evidence("$after->{id} in $table, window of $period s: $was->{$period} remained, then $is->{$period}; the cost was $after->{cost}", @seen)
            if $is->{$period} != $was->{$period} - $after->{cost};
    }
    return;
}

1;
