# GET usage, GET bans and the commands with the same lists have ids without a key, each once, also while ids come and go.

use strict;
use warnings;
use lib 't/lib';
use Command;
use File::Temp qw(tempdir);
use Gateway qw(wait_for_room);
use POSIX qw(mkfifo);
use RedisCluster;
use RedisServer;
use Test::More;
use Wait qw(becomes);

# The line of the page is sufficient for the user of the gateway.
my $gateway_user = do {
    open my $page, '<', 'module/ADMIN.md' or die $!;
    local $/;
    <$page> =~ /^(user gateway .*)$/m ? $1 =~ s/petstore:/t:/gr : die 'no user';
};

# Subjects that begin with b have one unit a day.
sub start {
    my ($redis, %options) = @_;
    my $gateway = Gateway->start(
        redis_server => $redis,
        plans    => 'plan free 1000r/d; plan strict 1r/d; default free; ban after=2 within=10m for=1h; history 90d;',
        table    => 'lease=off',
        http     => 'map $http_user $user_plan { default free; ~^b strict; } tollgate_plans ops redis=main { plan ops 100000r/h; }',
        location => 'tollgate_subject $http_user plan=$user_plan;',
        server   => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
        %options,
    );
    $gateway->import_key('operator', id => 'operator', plan => 'ops', scopes => 'admin');
    wait_for_room($redis->isa('RedisCluster') ? ($redis->nodes)[0] : $redis, 86400, 120);
    return $gateway;
}

sub command {
    my ($redis) = @_;
    my $url = $redis->isa('RedisCluster') ? 'redis+cluster://' . join(',', map { '127.0.0.1:' . $_->port } $redis->nodes) : $redis->address;
    return Command->new(redis => $url, prefix => 't:');
}
sub served { my ($gateway, @users) = @_; return join ' ', map { $gateway->get('/', undef, User => $_)->status } @users }
sub ask { my ($gateway, $method, $path, $body) = @_; return $gateway->request($method, $path, { Authorization => 'Bearer operator' }, $body) }

# Reads a list page by page. `between` is called after each page, with its ids. Returns the ids.
sub listed {
    my ($gateway, $list, $limit, $between) = @_;
    my @ids;
    for (my $path = "/admin/$list?limit=$limit"; $path;) {
        my $response = ask($gateway, 'GET', $path);
        is $response->status, 200, 'a page' or die $response->body;
        my $page = $response->json;
        my @of_page = map { $_->{id} } @{ $page->{ $list eq 'usage' ? 'ids' : $list } };
        ok @of_page || !$page->{next}, '… only the last one is empty';
        my ($next) = ($response->header('Link') // '') =~ /<(.*)>; rel="next"/;
        is defined $next || 0, defined $page->{next} || 0, '… and its Link says whether there is another';
        $path = $next && "/admin/$next";
        push @ids, @of_page;
        $between->(@of_page) if $between;
    }
    return \@ids;
}

subtest 'one Redis, whose user may what the page says' => sub {
    my $redis = RedisServer->start(acl => ['user default on nopass ~* &* +@all', $gateway_user]);
    my $gateway = start($redis, redis => 'username gateway; password SECRET;');
    my $tollgate = command($redis);
    my $issue = sub { my $issued = $tollgate->run(qw(key issue --plan free --id), @_); die $issued->{err} if $issued->{status}; return $issued->{out} =~ s/\n//r };
    is $gateway->get('/', $issue->('k1'))->status, 200, 'a request with a key';
    is served($gateway, map { "u$_" } 5, 3, 1, 2, 4), '200 200 200 200 200', 'requests without keys';
    is_deeply $redis->cmd('ZRANGE', 't:subjects', 0, -1), [map { "u$_" } 1 .. 5], 'Redis lists the ids that have none';
    my ($ends) = $redis->cmd('ZSCORE', 't:subject_ends', 'u1');
    is $ends, $redis->cmd('PEXPIRETIME', 't:quota:{u1}:api'), '… until their history ends';
    is $redis->cmd('PEXPIRETIME', $_), $ends, "… as $_ does" for qw(t:subjects t:subject_ends);

    for my $limit (1, 2, 3, 100) {
        is_deeply listed($gateway, 'usage', $limit), ['k1', map { "u$_" } 1 .. 5], "all ids, $limit a page";
    }
    my ($first) = grep { $_->{id} eq 'u1' } @{ ask($gateway, 'GET', '/admin/usage')->json->{ids} };
    is_deeply $first, ask($gateway, 'GET', '/admin/keys/u1/history')->json, 'the usage of a subject';
    my @lines = split /\n/, $tollgate->run(qw(export usage --to 9999-12-31))->{out};
    is_deeply [map { /^(\w+),api,\S+,1$/ } @lines], ['k1', map { "u$_" } 1 .. 5], 'export usage has the same list';

    subtest 'ids come and go between pages' => sub {
        my %at = (
            k1 => sub { $issue->('u3') },                                  # before the subjects are read
            u1 => sub { $issue->('u4'); served($gateway, 'u0', 'u9') },    # while they are
        );
        my $ids = listed($gateway, 'usage', 1, sub { my $code = delete $at{ $_[0] // '' }; $code->() if $code });
        is_deeply [grep { $_ ne 'u9' } @$ids], [qw(k1 u1 u2 u3 u4 u5)], 'those that stay are there once';
        is scalar(grep { $_ eq 'u9' } @$ids), 1, '… and one that came after the place';
        is_deeply \%at, {}, 'all of this has happened';
        is_deeply [sort @{ listed($gateway, 'usage', 2) }], [qw(k1 u0 u1 u2 u3 u4 u5 u9)], 'each is there once afterwards';
        $tollgate->run(qw(key revoke --yes), $_) for qw(u3 u4);
        served($gateway, qw(u3 u4));
        is_deeply [sort @{ listed($gateway, 'usage', 2) }], [qw(k1 u0 u1 u2 u3 u4 u5 u9)], '… and after a revocation';
    };

    subtest 'bans' => sub {
        is_deeply listed($gateway, 'bans', 2), [], 'nobody is banned';
        is served($gateway, ($_) x 4), '200 429 429 429', "$_ is banned" for qw(b2 b1 b3);
        is_deeply listed($gateway, 'bans', $_), [qw(b1 b2 b3)], "all bans, $_ a page" for 1, 2, 100;
        is_deeply ask($gateway, 'GET', '/admin/bans?limit=1')->json->{bans}[0], ask($gateway, 'GET', '/admin/keys/b1/ban')->json, 'the ban of a subject';
        is_deeply [map { $_->{id} } @{ $tollgate->json(qw(ban list)) }], [qw(b1 b2 b3)], 'ban list';
        is ask($gateway, 'DELETE', '/admin/keys/b1/ban')->status, 204, 'a ban is lifted';
        is_deeply listed($gateway, 'bans', 2), [qw(b2 b3)], '… and not listed any more';
    };

    subtest 'places that are none' => sub {
        for my $after ('u1', 'revoked:1:u1', 'subjects', 'subjects:', 'subjects:,', 'subjects:,x:u1', 'subjects:,16384:u1', 'subjects:,0:a%20b', 'subjects:u1,0:u1') {
            is ask($gateway, 'GET', "/admin/$_?after=$after")->status, 400, "$_?after=$after" for qw(usage bans);
        }
    };

    subtest 'ids whose history has ended' => sub {
        $redis->cmd('ZADD', 't:subjects', 0, 'old');
        $redis->cmd('ZADD', 't:subject_ends', 1, 'old');
        is_deeply [grep { /old/ } @{ listed($gateway, 'usage', 100) }], [], 'are not listed';
        served($gateway, 'u6');
        is $redis->cmd('ZSCORE', $_, 'old'), undef, "… and leave $_ when another one is counted" for qw(t:subjects t:subject_ends);
    };
    is_deeply $gateway->status->{redis}[0]{errors}, 0, 'no error';
};

subtest 'an id that is revoked during an export' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis);
    my $tollgate = command($redis);
    # The first page is larger than a pipe: the command waits until the test reads.
    my @ids = map { sprintf 'h%04d', $_ } 1 .. 201;
    $redis->cmd('ZADD', 't:ids', map { (1000, $_) } @ids);
    my $today = int(time / 86400);
    $redis->cmd('HSET', "t:history:{$_}", map { ('api:' . ($today - $_), 1) } 1 .. 30) for @ids;
    my $dir = tempdir(CLEANUP => 1);
    mkfifo("$dir/out", 0600) or die $!;
    my $export = $tollgate->start({ stdout => "$dir/out" }, qw(export usage));
    open my $out, '<', "$dir/out" or die $!;
    like scalar <$out>, qr/^id,/, 'the export begins';
    is $tollgate->run(qw(key revoke --yes h0001))->{status}, 0, 'an id of its first page is revoked';
    my %lines;
    $lines{ (split /,/)[0] }++ while <$out>;
    waitpid $export->{pid}, 0;
    is $?, 0, 'the export ends';
    is_deeply \%lines, { map { $_ => 30 } @ids }, '… and has each day of each id once';
};

subtest 'a table without a history' => sub {
    my $redis = RedisServer->start;
    my $gateway = start($redis, plans => 'plan free 1000r/d; plan strict 1r/d; default free; ban after=2 within=10m for=1h;');
    is served($gateway, qw(u1 b1)), '200 200', 'requests';
    is $redis->cmd('EXISTS', 't:subjects'), 0, 'nobody is listed';
    is served($gateway, qw(b1 b1)), '429 429', 'refusals';
    is_deeply listed($gateway, 'bans', 10), ['b1'], 'a ban is';
    is $redis->cmd('ZSCORE', 't:subject_ends', 'b1'), $redis->cmd('HGET', 't:ban:{b1}', 'until'), '… until it ends';
};

subtest 'what was granted in an outage' => sub {
    my $redis = RedisServer->start(conf => ['appendonly yes', 'appendfsync always']);
    my $gateway = start($redis, redis => 'timeout 300ms;');
    is served($gateway, 'u1'), 200, 'a request';
    $redis->stop;
    is served($gateway, 'u2'), 200, 'another subject, without Redis';
    $redis->restart;
    becomes(sub { join ' ', @{ $redis->cmd('ZRANGE', 't:subjects', 0, -1) } }, 'u1 u2', 'the report lists it');
    becomes(sub { $gateway->unsettled }, 0, 'all is reported');
};

subtest 'Redis Cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $gateway = start($cluster);
    my $tollgate = command($cluster);
    my $import = $tollgate->run({ stdin => 'k1' }, qw(key import --plan free --force --id k1));
    die $import->{err} if $import->{status};
    is $gateway->get('/', 'k1')->status, 200, 'a request with a key';
    is served($gateway, map { "u$_" } 1 .. 6), '200 200 200 200 200 200', 'requests without keys';
    is served($gateway, ('b1') x 4), '200 429 429 429', 'a ban';
    my %lists = map { $_ => 1 } map { @{ $_->cmd('KEYS', 't:subjects:*') } } $cluster->nodes;
    is scalar keys %lists, 7, 'a list for each slot';
    my @all = ('b1', 'k1', map { "u$_" } 1 .. 6);
    is_deeply listed($gateway, 'usage', 3), ['k1'], 'GET usage leaves them out: there are too many lists';
    is_deeply listed($gateway, 'bans', 3), [], '… and so does GET bans';
    my @lines = split /\n/, $tollgate->run(qw(export usage --to 9999-12-31))->{out};
    is_deeply [sort map { /^(\w+),api,\S+,1$/ } @lines], \@all, 'export usage has all ids';
    is_deeply [map { $_->{id} } @{ $tollgate->json(qw(ban list)) }], ['b1'], '… and ban list the ban';
};

done_testing;
