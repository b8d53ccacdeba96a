# The schedule of faults depends on the seed only, and faults that exclude each other never meet.

use strict;
use warnings;
use lib 't/lib', 't/verify/lib';
use Test::More;
use Verify::Faults;
use Verify::Random;

my @kinds = Verify::Faults::kinds('redis', 0);
sub schedule { my ($seed) = @_; return Verify::Faults::schedule(Verify::Random->new($seed), \@kinds, length => 20, nodes => 3, number => 12) }
my @schedules = map { [schedule($_)] } 1 .. 300;

is_deeply([schedule(7)], $schedules[6], 'the same seed, the same schedule');
my %drawn = map { $_->{kind} => 1 } map { @$_ } @schedules;
is_deeply([sort keys %drawn], \@kinds, 'each kind is drawn');

sub pairs { my ($is_one, $is_other) = @_; return map { my $all = $_; map { my $one = $_; map { [$one, $_] } grep { $_ != $one && $is_other->($_, $one) } @$all } grep { $is_one->($_) } @$all } @schedules }
sub is_under_way { my ($fault, $at) = @_; return $fault->{at} <= $at && $at <= $fault->{at} + $fault->{for} }

my $is_of_server = sub { $_[0]{kind} =~ /redis$|^strand_|^lose_|^refuse_(?:memory|user)|^wrong_master|^step_clock/ && $_[0]{kind} ne 'rename_redis' };
my $is_of_path = sub { $_[0]{kind} =~ /^(?:delay|hold|refuse|mute|truncate|cut)$/ };
my @servers = pairs($is_of_server, $is_of_server);
my @paths = pairs($is_of_path, sub { $is_of_path->($_[0]) && $_[0]{node} == $_[1]{node} });
my @fills = pairs(sub { $_[0]{kind} eq 'fill_zone' }, sub { $is_of_server->($_[0]) || ($is_of_path->($_[0]) && $_[0]{node} == $_[1]{node}) });
my @replies = pairs(sub { $_[0]{kind} =~ /^(?:mute|truncate|cut)$/ }, $is_of_server);
cmp_ok(scalar @$_, '>', 50, 'many pairs') for \@servers, \@paths, \@fills, \@replies;
ok(!(grep { is_under_way($_->[0], $_->[1]{at}) } @servers), 'one fault of Redis at a time');
ok(!(grep { is_under_way($_->[0], $_->[1]{at}) } @paths), 'one fault of a path at a time');
ok(!(grep { is_under_way($_->[1], $_->[0]{at}) } @fills), 'Redis is reachable when the filling of a zone begins');
ok(!(grep { is_under_way($_->[1], $_->[0]{at}) } @replies), 'Redis answers when a fault begins that needs its replies');
ok((grep { is_under_way($_->[0], $_->[1]{at}) } @replies), '... and may cease to while it goes on');
ok((grep { is_under_way($_->[0], $_->[1]{at}) } @fills), '... and may become unreachable while it goes on');

done_testing;
