# The pages of GET usage and the lines of export usage have each id once, in the order of their first creation, while ids
# are revoked and issued again.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Gateway;
use IO::Select;
use JSON::PP qw(encode_json);
use RedisCluster;
use RedisServer;
use Test::More;
use TestProcess;
use Wait qw(becomes wait_until);

my ($redis, $gateway, $tollgate);

sub start {
    ($redis) = @_;
    $gateway = Gateway->start(
        redis_server => $redis,
        plans        => 'plan free 1000r/d; history 90d;',
        http         => 'tollgate_plans ops redis=main { plan ops 100000000r/h; }',
        server       => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
    );
    $gateway->import_key('operator', id => 'operator', plan => 'ops', scopes => 'admin');
    my @nodes = $redis->isa('RedisCluster') ? $redis->nodes : ();
    $tollgate = Command->new(redis => @nodes ? 'redis+cluster://' . join(',', map { '127.0.0.1:' . $_->port } @nodes) : $redis->address, prefix => 't:');
}

# Ids with one unit on a day of last week; ten are created in the same second.
sub add_ids {
    my (@ids) = @_;
    my $day = int(time / 86400) - 7;
    for my $n (0 .. $#ids) {
        $redis->cmd('ZADD', 't:ids', 1000 + int($n / 10), $ids[$n]);
        $redis->cmd('HSET', "t:history:{$ids[$n]}", "api:$day", 1);
    }
}

sub ask {
    my ($method, $path, $body) = @_;
    my %fields = (Authorization => 'Bearer operator', 'Content-Type' => 'application/json');
    return $gateway->request($method, "/admin/$path", \%fields, $body && encode_json($body));
}

# The ids of a page, and the path of the next one.
sub page {
    my ($path) = @_;
    my $response = ask('GET', $path);
    die $response->body if $response->status != 200;
    my ($next) = ($response->header('Link') // '') =~ /<(.*)>; rel="next"/;
    return ($next, map { $_->{id} } @{ $response->json->{ids} });
}

# The ids of all pages from a path on.
sub pages_from {
    my ($next) = @_;
    my @all;
    while ($next) {
        ($next, my @ids) = page($next);
        push @all, @ids;
    }
    return @all;
}
sub exported { return map { /^(\w+),api,/ } split /\n/, $tollgate->run(qw(export usage))->{out} }

sub test_between_two_pages {
    my @ids = map { sprintf 'b%02d', $_ } 1 .. 30;
    add_ids(@ids);
    my ($next, @first) = page('usage?limit=7');
    is_deeply \@first, [@ids[0 .. 6]], 'the first page';
    is ask('DELETE', "keys/$_")->status, 204, "$_ is revoked" for qw(b02 b07 b08 b11 b29);
    is ask('POST', 'keys', { id => $_, plan => 'free' })->status, 201, "$_ is issued again" for qw(b07 b11 b29);
    is_deeply [pages_from($next)], [@ids[7 .. 29]], '… which the other pages have once, at their places';
    is_deeply [exported()], \@ids, '… and so has the export';
    is ask('DELETE', 'keys/b11')->status, 204, 'one is revoked again';
    is_deeply [pages_from('usage?limit=7')], \@ids, '… and keeps its place';
    is $redis->cmd('ZSCORE', 't:revoked', 'b11'), 1001, '… which is that of its first creation';
}

# Revokes ids at random, or issues them again, until the test asks how many changes there were, and for failures.
sub change_at_random {
    my ($control, @ids) = @_;
    my ($changes, @failures) = (0);
    my $questions = IO::Select->new($control);
    while (1) {
        TestProcess::answer($control, sub { [$changes, @failures] }) if $questions->can_read(0);
        my $id = $ids[rand @ids];
        my $status = ask('DELETE', "keys/$id")->status;
        $status = ask('POST', 'keys', { id => $id, plan => 'free' })->status if $status == 204 && rand() < 0.5;
        push @failures, "$id: $status" unless $status =~ /^20[14]$/;
        ++$changes;
    }
}

sub test_at_random {
    my @ids = sort map { sprintf 'r%03d', $_ } 1 .. 150;
    add_ids(@ids);
    my $process = TestProcess->start('changes', sub { change_at_random($_[0], @ids) });
    my $changes = sub { $process->ask('changes')->[0] };
    wait_until('changes', sub { $changes->() > 20 });
    # Many ids are changed while they are read.
    for (my $last = $changes->() + 100; $changes->() < $last;) {
        is_deeply [sort grep { /^r/ } pages_from('usage?limit=7')], \@ids, 'the pages have each id once';
        is_deeply [sort grep { /^r/ } exported()], \@ids, 'the export has each id once';
    }
    my (undef, @failures) = @{ $process->ask('changes') };
    is_deeply \@failures, [], 'no change fails';
}

for my $case (['one Redis', sub { RedisServer->start }], ['Redis Cluster', sub { RedisCluster->start(masters => 3) }]) {
    my ($name, $new) = @$case;
    start($new->());
    subtest "$name: between two pages" => \&test_between_two_pages;
    subtest "$name: at random" => \&test_at_random;
}

subtest 'an id whose last revocation was 3662 days ago' => sub {
    add_ids('last');
    $redis->cmd('ZADD', 't:revoked', 1, 'past', 2, 'present');
    $redis->cmd('ZADD', 't:revocations', time - 3662 * 86400 - 1, 'past', time - 3661 * 86400, 'present');
    is ask('DELETE', 'keys/last')->status, 204, 'a revocation';
    is $redis->cmd('ZSCORE', $_, 'past'), undef, "… removes it from $_" for qw(t:revoked t:revocations);
    is $redis->cmd('ZSCORE', 't:revoked', 'present'), 2, '… but not one that was revoked later';
};

$gateway->nginx->stop;
done_testing;
