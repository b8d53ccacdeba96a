# A database file that is replaced, overwritten or removed at any time. The module never mixes it with the write-ahead log
# of the previous file, and writes nothing to it while that log exists. The procedure of backend/README.md restores a
# backup.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Http qw(http_get http_request);
use Nginx;
use POSIX ();
use Sqlite;
use Test::More;
use Wait qw(wait_until);

my $pet = '{"name":"Rex","categoryId":1}';

sub start {
    my (%options) = @_;
    my $nginx = Nginx->start(conf => 'server { listen unix:%DIR%/http.sock; location /v1/ { petstore %DIR%/pets.db; } }', %options);
    return $nginx, $nginx->dir . '/pets.db';
}

sub add {
    my ($nginx, $count) = @_;
    http_request($nginx, 'POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $pet)->status == 201 or die for 1 .. $count;
}

sub pets {
    my ($nginx) = @_;
    my $r = http_get($nginx, '/v1/pets?limit=100');
    return $r->status == 200 ? scalar @{ $r->json } : $r->status;
}

sub backup {
    my ($path) = @_;
    Sqlite->open($path)->run(".backup $path.backup");
    return "$path.backup";
}

sub bytes {
    my ($path) = @_;
    open my $file, '<:raw', $path or die "$path: $!";
    local $/;
    return <$file>;
}

# An nginx with 60 pets, and a backup of the first three of them.
sub start_with_backup {
    my (%options) = @_;
    my ($nginx, $path) = start(%options);
    add($nginx, 3);
    my $backup = backup($path);
    add($nginx, 57);
    return $nginx, $path, $backup;
}

my %replace = (
    'moved'           => sub { rename $_[0], $_[1] or die },
    'copied'          => sub { system('cp', $_[0], $_[1]) == 0 or die },
    'copied with -p'  => sub { system('cp', '-p', $_[0], $_[1]) == 0 or die },
    'removed, copied' => sub { unlink $_[1] or die; system('cp', $_[0], $_[1]) == 0 or die },
);

# While the log exists, requests get 503 and the file is not written. Without the log, the new file is served.
sub is_refused_until_log_is_gone {
    my ($nginx, $path, $count, $copy) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $post = sub { http_request($nginx, 'POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $pet) };
    is($post->()->status, 503, 'a write gets 503') for 1 .. 2;
    is(pets($nginx), 503, 'a read gets 503');
    is($post->()->json->{code}, 'database_unavailable');
    like($nginx->error_log, qr/\[error\].* petstore: "\Q$path\E": the database file was replaced or overwritten, and "\Q$path\E-wal" is the write-ahead log of the previous file; put the previous file back, or remove "\Q$path\E-wal" and "\Q$path\E-shm" to use the present file/,
        'the log has the reason and the remedy');
    ok(bytes($path) eq $copy, 'the file was not written to');
    unlink "$path-wal", "$path-shm";
    is(pets($nginx), $count, 'without the log the file is served as it is');
    add($nginx, 1);
    is(pets($nginx), $count + 1, 'pets can be added');
    is(join("\n", Sqlite->open($path)->run('PRAGMA integrity_check')), 'ok', 'the file is intact');
}

for my $how (sort keys %replace) {
    subtest "a backup that is $how while nginx runs" => sub {
        my ($nginx, $path, $backup) = start_with_backup();
        my $copy = bytes($backup);
        $replace{$how}->($backup, $path);
        is_refused_until_log_is_gone($nginx, $path, 3, $copy);
        $nginx->stop;
        is(join(' ', Sqlite->open($path)->run('SELECT count(*) FROM pets')), 4, 'all is in the file');
    };

    subtest "a backup that is $how before a reload" => sub {
        my ($nginx, $path, $backup) = start_with_backup(workers => 2);
        my $copy = bytes($backup);
        $replace{$how}->($backup, $path);
        $nginx->reload;
        $nginx->old_workers_gone;
        is_refused_until_log_is_gone($nginx, $path, 3, $copy);
        $nginx->stop;
    };

    subtest "a backup that is $how after a crash" => sub {
        my ($nginx, $path, $backup) = start_with_backup();
        my $copy = bytes($backup);
        $nginx->kill_all;
        ok(-s "$path-wal", 'which has left a log');
        $replace{$how}->($backup, $path);
        $nginx->start_again;
        is_refused_until_log_is_gone($nginx, $path, 3, $copy);
        $nginx->stop;
    };

    subtest "a copy from before the start that is $how after a crash" => sub {
        my ($nginx, $path) = start();
        add($nginx, 3);
        $nginx->stop;
        system('cp', $path, "$path.backup");
        $nginx->start_again;
        add($nginx, 57);
        $nginx->kill_all;
        my $copy = bytes("$path.backup");
        $replace{$how}->("$path.backup", $path);
        $nginx->start_again;
        is_refused_until_log_is_gone($nginx, $path, 3, $copy);
        $nginx->stop;
    };
}

subtest 'a backup that is larger, or written in another way' => sub {
    for my $sql ('INSERT INTO pets (name, category_id) SELECT hex(randomblob(500)), 1 FROM generate_series(1, 90)', 'VACUUM') {
        my ($nginx, $path, $backup) = start_with_backup();
        my ($count) = do { my $db = Sqlite->open($backup); $db->run($sql); $db->run('SELECT count(*) FROM pets') };
        my $copy = bytes($backup);
        $nginx->kill_all;
        $replace{copied}->($backup, $path);
        $nginx->start_again;
        is_refused_until_log_is_gone($nginx, $path, $count, $copy);
        $nginx->stop;
    }
    my ($nginx, $path) = start();
    add($nginx, 3);
    Sqlite->open($path)->run("VACUUM INTO '$path.backup'");
    add($nginx, 57);
    my $copy = bytes("$path.backup");
    $replace{moved}->("$path.backup", $path);
    is_refused_until_log_is_gone($nginx, $path, 3, $copy);
    $nginx->stop;
};

subtest 'a crash without a replaced file: the log is replayed' => sub {
    my ($nginx, $path) = start(workers => 2);
    for my $round (1 .. 5) {
        add($nginx, 10);
        Sqlite->open($path)->run(q(INSERT INTO store_orders (document) VALUES ('1'))) if $round == 2;
        Sqlite->open($path)->run('CREATE TABLE more (a)') if $round == 3;
        Sqlite->open($path)->run('PRAGMA wal_checkpoint') if $round == 4;
        $nginx->kill_all;
        $nginx->start_again;
        is(pets($nginx), 10 * $round, 'no pet is lost');
    }
    add($nginx, 10);
    $nginx->kill_all;
    my ($other, $moved) = start();
    $other->stop;
    rename "$path$_", "$moved$_" for '', '-wal';
    $other->start_again;
    is(pets($other), 60, 'also at another path, if both files are moved');
    $other->stop;
};

subtest 'a file that is removed' => sub {
    my ($nginx, $path, $backup) = start_with_backup();
    unlink $path;
    is(pets($nginx), 503);
    like($nginx->error_log, qr/petstore: "\Q$path\E": the database file is missing, but its write-ahead log "\Q$path\E-wal" exists; put the database file back, or remove "\Q$path\E-wal" and "\Q$path\E-shm" to create a new database/);
    ok(!-e $path, 'the module creates no new file');
    $nginx->reload;
    is(pets($nginx), 503, 'nor after a reload');
    rename $backup, $path;
    is_refused_until_log_is_gone($nginx, $path, 3, bytes($path));
    unlink $path, "$path-wal", "$path-shm";
    is(pets($nginx), 0, 'without any file, the module creates a new database');
    $nginx->stop;
};

# The command of backend/README.md.
sub restore {
    my ($path, $backup) = @_;
    return system('sqlite3', $path, '.timeout 10000', ".restore $backup") == 0;
}

subtest 'the procedure: .restore' => sub {
    my ($nginx, $path, $backup) = start_with_backup(workers => 2);
    ok(restore($path, $backup), 'while nginx runs');
    is(pets($nginx), 3);
    add($nginx, 2);
    ok(restore($path, $backup), 'twice');
    is(pets($nginx), 3);
    $nginx->kill_all;
    $nginx->start_again;
    is(pets($nginx), 3, 'a crash does not undo it');
    add($nginx, 5);
    $nginx->kill_all;
    ok(restore($path, $backup), 'after a crash');
    $nginx->start_again;
    is(pets($nginx), 3);
    $nginx->stop;
    ok(restore($path, $backup), 'after a stop');
    $nginx->start_again;
    is(pets($nginx), 3);
    $nginx->kill_all;
    unlink $path, "$path-wal", "$path-shm";
    ok(restore($path, $backup), 'without a file');
    $nginx->start_again;
    is(pets($nginx), 3);
    $nginx->stop;
};

# Processes that add pets until SIGTERM. The exit status is the number of responses that are neither 201 nor 503.
sub start_writers {
    my ($nginx, $count) = @_;
    return map {
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            my ($on, $wrong) = (1, 0);
            local $SIG{TERM} = sub { $on = 0 };
            while ($on) {
                my $r = eval { http_request($nginx, 'POST', '/v1/pets', { 'Content-Type' => 'application/json' }, $pet) };
                $wrong++ if $on && !($r && $r->status =~ /^(201|503)$/);
            }
            POSIX::_exit($wrong > 255 ? 255 : $wrong);
        }
        $pid;
    } 1 .. $count;
}

sub stop_writers {
    my (@writers) = @_;
    kill TERM => @writers;
    return map { waitpid $_, 0; $? } @writers;
}

subtest 'under 16 writers' => sub {
    my ($nginx, $path, $backup) = start_with_backup(workers => 2);
    my $count = sub { (Sqlite->open($path)->run('SELECT count(*) FROM pets'))[0] };
    my @writers = start_writers($nginx, 16);
    wait_until('pets', sub { $count->() > 200 });
    ok(restore($path, $backup), '.restore');
    wait_until('pets again', sub { $count->() > 300 });
    my $copy = bytes($backup);
    rename $backup, $path;
    wait_until('a response with 503', sub { pets($nginx) == 503 });
    ok(bytes($path) eq $copy, 'a file that is moved there is not written to');
    unlink "$path-wal", "$path-shm";
    wait_until('the restored file to be written to', sub { my $n = eval { $count->() } // 0; $n > 100 });
    is(join(' ', stop_writers(@writers)), join(' ', (0) x 16), 'all responses have status 201 or 503');
    is(join("\n", Sqlite->open($path)->run('PRAGMA integrity_check')), 'ok');
    $nginx->stop;
};

subtest 'kill -9 of nginx, of sqlite3 and of both during .restore' => sub {
    my ($nginx, $path, $backup) = start(workers => 2);
    add($nginx, 1);
    my $name = 'x' x 3000;
    Sqlite->open($path)->run("INSERT INTO pets (name, category_id) SELECT '$name', 7 FROM generate_series(1, 2000)");
    $backup = backup($path);
    for my $round (1 .. $ENV{TOLLGATE_CRASHES} // 12) {
        my @writers = start_writers($nginx, 4);
        my $size = -s "$path-wal" // 0;
        my $restore = fork // die "fork: $!";
        exec 'sqlite3', $path, '.timeout 10000', ".restore $backup" or die if !$restore;
        # sqlite3 writes to the log: kill it at different sizes of the log.
        wait_until('a part of it', sub { abs((-s "$path-wal" // 0) - $size) > 300_000 * ($round % 5) || waitpid($restore, POSIX::WNOHANG()) }, 30);
        kill KILL => $restore if $round % 3;
        $nginx->kill_all if $round % 3 != 1;
        waitpid $restore, 0;
        stop_writers(@writers);
        $nginx->start_again if $round % 3 != 1;
        add($nginx, 1);
        is(http_get($nginx, '/v1/pets/2000')->status, 200, "round $round: all is served");
    }
    unlike($nginx->error_log, qr/\[error\].*petstore/, 'the log has no error of petstore');
    is(join("\n", Sqlite->open($path)->run('PRAGMA integrity_check')), 'ok', 'the file is intact');
    $nginx->stop;
};

subtest 'two instances, one of which is idle while the file is replaced' => sub {
    my ($nginx, $path, $backup) = start_with_backup();
    my ($idle) = start(conf => "server { listen unix:%DIR%/http.sock; location /v1/ { petstore $path; } }");
    add($idle, 1);
    is(pets($idle), 61);
    my $copy = bytes($backup);
    $replace{copied}->($backup, $path);
    is(pets($nginx), 503);
    unlink "$path-wal", "$path-shm";
    add($nginx, 2);
    is(pets($nginx), 5);
    is(pets($idle), 5, 'it does not use the removed log');
    add($idle, 1);
    is(pets($_), 6) for $nginx, $idle;
    $_->stop for $idle, $nginx;
    is(join("\n", Sqlite->open($path)->run('SELECT count(*) FROM pets; PRAGMA integrity_check')), "6\nok");
};

subtest 'an idle instance that ends after the file was replaced' => sub {
    my ($nginx, $path, $backup) = start_with_backup();
    my $copy = bytes($backup);
    $replace{copied}->($backup, $path);
    $nginx->stop;
    ok(bytes($path) eq $copy, 'does not write to it');
    $nginx->start_again;
    is_refused_until_log_is_gone($nginx, $path, 3, $copy);
    $nginx->stop;
};

done_testing;
