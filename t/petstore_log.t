# The size of the write-ahead log is limited while clients read and write at the same time.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Http qw(http_get);
use Nginx;
use Sqlite;
use Test::More;
use TestProcess;
use Wait qw(wait_until);

my $limit = 4 << 20;
my $bound = 8 * $limit;                # readers on a busy machine may block some checkpoints; each is tried again after another 4 MiB
my $growth = $bound + 2 * $limit;    # without checkpoints, the log exceeds the bound

# A process for each client, which sends the request again and again until its object is destroyed.
sub start_clients {
    my ($nginx, $count, @request) = @_;
    return map {
        TestProcess->start('client', sub {
            my $connection = Http->connect($nginx, timeout => 30);
            $connection->request(@request) while 1;
        });
    } 1 .. $count;
}

my $nginx = Nginx->start(workers => 2, conf => <<'END');
    keepalive_requests 1000000000;
    server { listen unix:%DIR%/http.sock; location /v1/ { petstore %DIR%/pets.db; } }
END
my $path = $nginx->dir . '/pets.db';
my $name = 'x' x 20_000;
my @post = ('POST', '/v1/pets', { 'Content-Type' => 'application/json' }, qq({"name":"$name","categoryId":1}));
http_get($nginx, '/v1/pets');

# Watches the log until the database file has grown by this number of bytes. Returns the largest size of the log.
sub watch_log {
    my ($bytes) = @_;
    my $end = (-s $path) + $bytes;
    my $most = 0;
    wait_until("$bytes bytes", sub {
        my $size = -s "$path-wal" // 0;
        $most = $size if $size > $most;
        return -s $path >= $end || $size > $bound;
    }, 120);
    return $most;
}

subtest '32 readers and 16 writers' => sub {
    my @clients = (start_clients($nginx, 32, 'GET', '/v1/pets?limit=100'), start_clients($nginx, 16, @post));
    my $most = watch_log($growth);
    cmp_ok($most, '<=', $bound, "the largest size of the log is $most bytes");
};

subtest 'a long read transaction' => sub {
    my $reader = Sqlite->open($path);
    $reader->run('BEGIN');
    $reader->run('SELECT count(*) FROM pets');
    my @writers = start_clients($nginx, 4, @post);
    wait_until('the log to grow', sub { -s "$path-wal" > 3 * $limit }, 120);
    is(http_get($nginx, '/v1/pets?limit=1')->status, 200, 'other requests do not wait for it');
    $reader->run('COMMIT');
    wait_until('the log to shrink', sub { -s "$path-wal" <= 2 * $limit }, 60);
    pass('the log shrinks after the transaction');
};

subtest 'orders are read in parts' => sub {
    my $orders = 10_000;
    Sqlite->open($path)->run("INSERT INTO store_orders (document) SELECT json_quote(hex(randomblob(1000))) FROM generate_series(1, $orders)");
    my @clients = (start_clients($nginx, 4, 'GET', '/v1/store/orders'), start_clients($nginx, 4, @post));
    wait_until('the log to shrink', sub { -s "$path-wal" <= $bound }, 60);
    my $most = watch_log($growth);
    cmp_ok($most, '<=', $bound, "the largest size of the log is $most bytes");
    @clients = ();
    is(scalar @{ http_get($nginx, '/v1/store/orders')->json }, $orders, 'the response has all orders');
};

$nginx->stop;
done_testing;
