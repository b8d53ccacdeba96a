package Section::Refused;

# Throughput and CPU of refused requests, compared with limit_req.

use strict;
use warnings;
use Comparison;
use Http qw(http_get);

sub run {
    my ($class, $setup) = @_;
    my $limit_req = $setup->contender('limit_req', 'limit_req_spent', 'spent', status => 429);
    my @rows = (
        ['Tollgate', 'tollgate', rate => '>= 1.0'],
        ['HAProxy',  'haproxy_spent'],
        ['Lua',      'lua'],
    );
    my @contenders = map { $setup->contender(@$_[0, 1], 'spent', status => 429) } @rows;
    my $token = $setup->keys('spent')->token(0);
    http_get($_->address, '/', Authorization => "Bearer $token") for @contenders, $limit_req;

    my @comparisons = $setup->compare(map { [$_, $limit_req] } @contenders);
    Comparison->print_head('limit_req');
    Comparison->print_divisors(@comparisons);
    for my $row (@rows) {
        my ($name, undef, %targets) = @$row;
        my ($comparison) = grep { $_->name eq $name } @comparisons;
        $comparison->print(%targets);
    }
    $comparisons[0]->print_ratio_to($comparisons[1], '>= 1.0');
}

1;
