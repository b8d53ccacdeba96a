# A layer of the gateway includes only layers below it, and a pure layer includes nothing of nginx. The pet store includes
# only the layers that both modules share.

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
my (%seen, @wrong);
for my $file (@files) {
    my $layer = layer_of($file);
    $seen{$layer}++;
    open my $source, '<', $file or die "$file: $!\n";
    while (my $line = <$source>) {
        next unless $line =~ /^\s*#include\s+[<"]([^>"]+)[>"]/;
        my $included = $1;
        my $other = layer_of($included);
        push @wrong, "$file includes $included" if $included =~ /^ngx_/ && !$uses_nginx{$layer};
        push @wrong, "$file includes $included" if $other && $other ne $layer && !grep { $_ eq $other } @{ $below{$layer} // [] };
    }
}
is_deeply([sort keys %seen], [sort keys %below], 'every layer is known');
is_deeply(\@wrong, [], 'each include is of a lower layer');
done_testing;
