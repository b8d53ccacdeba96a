# The database is unavailable: the log has one clear line, clients get 503 or 507, and the module recovers without a
# restart.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Http qw(http_get http_request);
use Nginx;
use Sqlite;
use Test::More;

my $pet = '{"name":"Rex","categoryId":1}';

sub start {
    my ($path) = @_;
    my $nginx = Nginx->start(conf => "server { listen unix:%DIR%/http.sock; location /v1/ { petstore $path; } }");
    return $nginx, $nginx->dir;
}

sub add { return http_request($_[0], 'POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $_[1] // $pet) }

sub is_unavailable {
    my ($nginx, $log, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    for my $r (add($nginx), http_get($nginx, '/v1/pets/1'), http_get($nginx, '/v1/pets')) {
        is($r->status, 503, $name);
        is($r->json->{code}, 'database_unavailable');
        ok($r->header('retry-after'), 'has Retry-After');
    }
    like($nginx->error_log, qr/\[error\].* petstore: "[^"]+": $log/, 'the log has the reason');
    my @lines = $nginx->error_log =~ /(petstore: .*$log)/g;
    cmp_ok(scalar @lines, '<=', 3, 'but not for each request');
}

sub is_available_again {
    my ($nginx) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $r = add($nginx);
    is($r->status, 201, 'it is available again without a restart');
    is(http_get($nginx, '/v1/' . $r->header('location'))->body, $r->body);
    like($nginx->error_log, qr/\[notice\].* petstore: "[^"]+": the database is available again/);
}

sub spoil {
    my ($path, $offset, $bytes) = @_;
    open my $file, -e $path ? '+<' : '>', $path or die "$path: $!";
    seek $file, $offset, 0;
    print $file $bytes;
    close $file;
}

subtest 'no such directory' => sub {
    my ($nginx, $dir) = start('%DIR%/there/pets.db');
    is_unavailable($nginx, 'unable to open database file', 'the directory is missing');
    mkdir "$dir/there";
    is_available_again($nginx);
    $nginx->stop;
};

subtest 'a file that is not a database' => sub {
    my ($nginx, $dir) = start('%DIR%/pets.db');
    $nginx->stop;
    unlink "$dir/pets.db";
    spoil("$dir/pets.db", 0, 'x' x 8192);
    $nginx->start_again;
    is_unavailable($nginx, 'file is not a database', 'not a database');
    unlink "$dir/pets.db";
    is_available_again($nginx);
    $nginx->stop;
};

subtest 'a file that becomes corrupt' => sub {
    my ($nginx, $dir) = start('%DIR%/pets.db');
    add($nginx) for 1 .. 20;
    $nginx->stop;
    rename "$dir/pets.db", "$dir/good.db";
    system 'cp', "$dir/good.db", "$dir/pets.db";
    spoil("$dir/pets.db", 4096, "\xff" x 4096 x 3);
    $nginx->start_again;
    is_unavailable($nginx, 'database disk image is malformed', 'it is corrupt');
    rename "$dir/good.db", "$dir/pets.db";
    unlink "$dir/pets.db-wal", "$dir/pets.db-shm";
    is_available_again($nginx);
    is(http_get($nginx, '/v1/pets/20')->status, 200);
    $nginx->stop;
};

subtest 'a newer version' => sub {
    my ($nginx, $dir) = start('%DIR%/pets.db');
    add($nginx);
    $nginx->stop;
    Sqlite->open("$dir/pets.db")->run('PRAGMA user_version = 7');
    $nginx->start_again;
    is_unavailable($nginx, 'the database has schema version 7, but this module supports versions up to 1; upgrade the module', 'too new');
    is(join(',', Sqlite->open("$dir/pets.db")->run('PRAGMA user_version')), '7', 'the file is unchanged');
    Sqlite->open("$dir/pets.db")->run('PRAGMA user_version = 1');
    is_available_again($nginx);
    $nginx->stop;
};

subtest 'the first version, which has no application_id' => sub {
    my ($nginx, $dir) = start('%DIR%/pets.db');
    add($nginx);
    $nginx->stop;
    Sqlite->open("$dir/pets.db")->run('PRAGMA application_id = 0; PRAGMA user_version = 1');
    $nginx->start_again;
    is(add($nginx)->json->{id}, 2, 'is migrated');
    is(join(',', Sqlite->open("$dir/pets.db")->run('PRAGMA application_id')), 0x50657473, 'and gets an application_id');
    $nginx->kill_all;
    $nginx->start_again;
    is(add($nginx)->json->{id}, 3, 'also after a crash');
    $nginx->stop;
};

subtest 'a database of another application' => sub {
    my %other = (
        'CREATE TABLE notes (text)'                                     => 'application_id 0, user_version 0',
        'CREATE TABLE pets (a); PRAGMA user_version = 1'                => 'application_id 0, user_version 1',
        'PRAGMA application_id = 5'                                     => 'application_id 5, user_version 0',
        'CREATE TABLE pets (a); PRAGMA journal_mode = WAL'              => 'application_id 0, user_version 0',
    );
    for my $sql (sort keys %other) {
        my ($nginx, $dir) = start('%DIR%/pets.db');
        $nginx->stop;
        unlink "$dir/pets.db";
        Sqlite->open("$dir/pets.db")->run($sql);
        my $read = sub { open my $file, '<:raw', "$dir/pets.db" or die; local $/; <$file> };
        my $before = $read->();
        $nginx->start_again;
        is_unavailable($nginx, "the file is a database of another application \\($other{$sql}\\)", $sql);
        $nginx->stop;
        ok($read->() eq $before, 'the file is unchanged');
    }
};

subtest 'a read-only file system or directory' => sub {
    my ($nginx, $dir) = start('%DIR%/store/pets.db');
    mkdir "$dir/store";
    if ($> == 0) {    # root may write wherever the file system may
        plan skip_all => 'no tmpfs here' if system "mount -t tmpfs -o ro none $dir/store 2>/dev/null";
        is_unavailable($nginx, 'unable to open database file', 'read-only');
        system 'umount', "$dir/store";
    } else {
        chmod 0500, "$dir/store";
        is_unavailable($nginx, 'unable to open database file', 'read-only');
        chmod 0700, "$dir/store";
    }
    is_available_again($nginx);
    $nginx->stop;
};

subtest 'a full disk' => sub {
    my ($nginx, $dir) = start('%DIR%/store/pets.db');
    mkdir "$dir/store";
    plan skip_all => 'needs root and a tmpfs'
        if $> != 0 || system "mount -t tmpfs -o size=2m none $dir/store 2>/dev/null";
    is(add($nginx)->status, 201);
    my $large = '{"name":"' . 'x' x 100_000 . '","categoryId":1}';
    my ($r, $acknowledged) = (undef, 1);
    $acknowledged++ while ($r = add($nginx, $large))->status == 201 && $acknowledged < 100;
    is($r->status, 507, 'the client gets 507');
    is($r->json->{code}, 'storage_full');
    like($nginx->error_log, qr/\[error\].* petstore: "[^"]+": database or disk is full/);
    is(http_get($nginx, "/v1/pets/$acknowledged")->status, 200, 'reads still work');
    my @stored;    # a page of large pets has fewer than its limit
    while (my @page = @{ http_get($nginx, '/v1/pets?limit=100&after=' . (@stored ? $stored[-1]{id} : 0))->json }) {
        push @stored, @page;
    }
    is(scalar @stored, $acknowledged, 'pets of error responses are not stored');
    system "mount -o remount,size=20m $dir/store";
    is_available_again($nginx);
    is(add($nginx, $large)->status, 201);
    $nginx->stop;
    system 'umount', "$dir/store";
};

subtest 'several instances that start on one file' => sub {
    my ($first, $dir) = start('%DIR%/pets.db');
    my @instances = ($first, map { (start("$dir/pets.db"))[0] } 1 .. 3);
    my @connections = map { my $nginx = $_; map { Http->connect($nginx) } 1 .. 8 } @instances;
    my %ids;
    for my $round (1 .. 20) {
        $_->send(Http::format_request('POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $pet)) for @connections;
        for my $connection (@connections) {
            my $r = $connection->response;
            $ids{ $r->status == 201 ? $r->json->{id} : 'status ' . $r->status }++;
        }
    }
    is_deeply([sort { $a <=> $b } keys %ids], [1 .. 640], 'every pet has an id of its own');
    is(http_get($_, '/v1/pets/640')->status, 200, 'which all instances return') for @instances;
    $_->stop for @instances;
};

done_testing;
