# A layer of the gateway includes only layers below it, and a pure layer includes nothing of nginx. The pet store includes
# only the layers that both modules share. A room is a folder, or a source and its header, at the top of a folder: no two
# rooms of a folder include each other, but for those that are listed.

use strict;
use warnings;
use Test::More;

my %below = (
    process           => [],
    text              => [],
    nginx             => [qw(process)],
    body              => [qw(text)],
    key               => [qw(text)],
    plan              => [qw(process text key)],
    quota             => [qw(process text key plan)],
    report            => [qw(text key plan quota)],
    'redis/protocol'  => [qw(text key plan quota)],
    'redis/topology'  => [qw(process text key redis/protocol)],
    'redis/io'        => [qw(process text key plan quota redis/protocol redis/topology)],
    zone              => [qw(process text key plan quota report redis/topology)],
    management        => [qw(text key plan quota redis/protocol redis/topology)],
    engine            => [qw(process text key plan quota report redis/protocol redis/topology zone)],
    http              => [qw(process text body nginx key plan quota report redis/protocol redis/topology redis/io zone management engine)],
    cli               => [qw(text key plan quota report redis/protocol redis/topology management)],
    'backend/core'    => [qw(text)],
    'backend/storage' => [qw(text backend/core)],
    'backend/http'    => [qw(text nginx backend/core backend/storage)],
);
my %uses_nginx = map { $_ => 1 } qw(nginx redis/io http backend/http);

sub layer_of {
    my ($path) = @_;
    return $path =~ m{^module/(redis/\w+|\w+)/|^(backend/\w+)/} ? $1 // $2 : undef;
}

my @files = split /\n/, `git ls-files '*.cpp' '*.hpp' 2>/dev/null`;
@files = split /\n/, `find module backend -name '*.?pp'` unless @files;
@files = grep { m{^(?:module|backend)/} } @files;
cmp_ok(scalar @files, '>', 100, 'the sources');
my (%included, %seen, @wrong);
for my $file (@files) {
    my $layer = layer_of($file);
    $seen{$layer}++;
    open my $source, '<', $file or die "$file: $!\n";
    $included{$file} = [map { /^\s*#include\s+[<"]([^>"]+)[>"]/ ? $1 : () } <$source>];
    for my $included (@{ $included{$file} }) {
        my $other = layer_of($included);
        push @wrong, "$file includes $included" if $included =~ /^ngx_/ && !$uses_nginx{$layer};
        push @wrong, "$file includes $included" if $other && $other ne $layer && !grep { $_ eq $other } @{ $below{$layer} // [] };
    }
}
is_deeply([sort keys %seen], [sort keys %below], 'every layer is known');
is_deeply(\@wrong, [], 'each include is of a lower layer');

# Rooms that still include each other. The list may only become shorter.
my @mutual = (
    'module/engine/quota: acquire_batcher, acquire_call',
    'module/http/redis: cluster_client, cluster_server',
    'module/http/request: key_fields, request_context',
    'module/quota: lost_calls, quota_state',
    'module/report: hour, status',
);

# What one room of each folder includes of another one.
my %includes;
for my $file (@files) {
    for (my $folder = $file; $folder =~ s{/[^/]+\z}{};) {
        my ($room, @others) = map { m{^\Q$folder\E/([^/.]+)} ? $1 : () } $file, @{ $included{$file} };
        $includes{$folder}{$room}{$_} = 1 for grep { $_ ne $room } @others;
    }
}
my @found;
for my $folder (sort keys %includes) {
    my $of = $includes{$folder};
    for my $room (sort keys %$of) {
        push @found, map { "$folder: $room, $_" } grep { $room lt $_ && $of->{$_}{$room} } sort keys %{ $of->{$room} };
    }
}
is_deeply([sort @found], \@mutual, 'no other rooms include each other');

# A known key has its quota: no other wing of the engine knows one of the others.
my %may_include = (identity => { quota => 1 });
my @wings = qw(identity quota in_flight anonymous);
my @arrows;
for my $wing (@wings) {
    push @arrows, map { "$wing includes $_" } grep { $includes{'module/engine'}{$wing}{$_} && !$may_include{$wing}{$_} } @wings;
}
is_deeply(\@arrows, [], 'the wings of the engine include each other one way only');
done_testing;
