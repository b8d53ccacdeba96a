# Requests that wait for the database during a reload, a stop, an upgrade, or after their client has left.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Http qw(http_get http_request);
use IO::Select ();
use Nginx;
use Socket ();
use Sqlite;
use Test::More;
use Wait qw(wait_until);

my $conf = <<'END';
    server {
        listen unix:%DIR%/http.sock;
        listen 127.0.0.1:%PORT% http2;
        listen 127.0.0.1:%PORT2%;
        location /single/ { petstore %DIR%/single.db threads=single; }
        location /v1/ { petstore %DIR%/pets.db; }
        location /narrow/ { petstore %DIR%/narrow.db threads=narrow; }
        location = /pages.html { root %DIR%; ssi on; ssi_types *; }
        location /page { ssi on; ssi_types *; return 200 '<!--# include virtual="/v1/pets/1" --><!--# include virtual="/v1/pets/9" -->'; }
    }
END
my $pools = 'thread_pool narrow threads=1 max_queue=0; thread_pool single threads=1;';
# The debug log shows what responses don't show. With it, nginx also reads the connection of every timer.
my %files = ('pages.html' => '<!--# include virtual="/v1/pets/1" -->' x 300);
my $nginx = Nginx->start(files => \%files, log_level => 'debug', conf => $conf, main => $pools);

my @post = ('POST', '/v1/pets', { 'Content-Type' => 'application/json' }, '{"name":"Rex","categoryId":1}');

sub add { return http_request($nginx, @post) }

# Sends POSTs that wait for the lock that the caller holds, and returns their connections.
sub begin_posts {
    my ($count) = @_;
    my @connections = map { Http->connect($nginx) } 1 .. $count;
    $_->send(Http::format_request(@post)) for @connections;
    return @connections;
}

is(add()->status, 201);
my $db = Sqlite->open($nginx->dir . '/pets.db');

subtest 'reads do not wait for a writer' => sub {
    $db->run('BEGIN IMMEDIATE');
    my ($post) = begin_posts(1);
    is(http_get($nginx, '/v1/pets/1')->status, 200);
    $db->run('COMMIT');
    is($post->response->status, 201, 'the write is done after the lock is released');
};

subtest 'a reload while requests wait' => sub {
    $db->run('BEGIN IMMEDIATE');
    my @posts = begin_posts(10);
    is(http_get($nginx, '/v1/pets/1')->status, 200, 'nginx has the requests');
    $nginx->reload;
    $db->run('COMMIT');
    is_deeply([map { $_->response->status } @posts], [(201) x 10], 'the old worker sends the responses');
    $_->close for @posts;
    $nginx->old_workers_gone;
};

subtest 'clients that close their connections' => sub {
    my ($before) = $db->run('SELECT count(*) FROM pets');
    $db->run('BEGIN IMMEDIATE');
    my @posts = begin_posts(500);
    is(http_get($nginx, '/v1/pets/1')->status, 200);
    $_->close for @posts;
    is(http_get($nginx, '/v1/pets/1')->status, 200);
    $db->run('COMMIT');
    is(add()->status, 201, 'the next request is served');
    my ($after) = $db->run('SELECT count(*) FROM pets');
    cmp_ok($after, '<=', $before + 501, 'no pet was added twice');
};

subtest 'worker_shutdown_timeout' => sub {
    plan skip_all => 'this nginx has no debug log' unless Nginx->built_with('with-debug');
    $nginx->reload(main => "$pools worker_shutdown_timeout 100ms;");
    $db->run('BEGIN IMMEDIATE');
    my @posts = begin_posts(10);
    is(http_get($nginx, '/v1/pets/1')->status, 200);
    $nginx->reload;
    wait_until('the shutdown timeout', sub { my $n = () = $nginx->error_log =~ /http terminate request/g; $n >= 10 });
    $db->run('COMMIT');
    ok($_->closed, 'the connection ends') for @posts;
    $nginx->old_workers_gone;
    is(add()->status, 201);
};

subtest 'the database is locked for longer than 5 s' => sub {
    $db->run('BEGIN IMMEDIATE');
    my @posts = begin_posts(2);
    my $r = $posts[0]->response;
    is($r->status, 503);
    is($r->json->{code}, 'database_unavailable');
    like($r->header('retry-after'), qr/^[1-9]\d*$/);
    $db->run('COMMIT');
    like($posts[1]->response->status, qr/^(201|503)$/);
    is(add()->status, 201, 'a request after that is served');
    like($nginx->error_log, qr/\[error\].*petstore: ".*pets\.db": database is locked/);
    like($nginx->error_log, qr/\[notice\].*petstore: ".*pets\.db": the database is available again/);
};

# Orders are read in a thread always, pets only if the worker would have to wait.
subtest 'a thread pool that is full' => sub {
    my $is_served = sub { http_get($nginx, '/narrow/store/orders')->status == 200 };
    wait_until('a request to be served', $is_served);
    is(http_get($nginx, '/narrow/pets')->status, 200);
    my $narrow = Sqlite->open($nginx->dir . '/narrow.db');
    $narrow->run('BEGIN IMMEDIATE');
    # nginx also refuses a request until the thread waits for work again.
    my $post;
    wait_until('the thread to have a request', sub {
        $post = Http->connect($nginx);
        $post->send(Http::format_request('POST', '/narrow/pets', @post[2, 3]));
        return http_get($nginx, '/v1/pets/1')->status == 200 && !IO::Select->new($post->{socket})->can_read(0);
    });
    my $r = http_get($nginx, '/narrow/store/orders');
    is($r->status, 503, 'the client gets 503');
    is($r->json->{code}, 'database_unavailable');
    is(http_get($nginx, '/narrow/pets')->status, 200, 'pets need no thread');
    $narrow->run('COMMIT');
    is($post->response->status, 201);
    wait_until('a request after that to be served', $is_served);
};

# The only thread of the pool waits for the lock, and the requests wait for the thread.
subtest 'a request whose body ends too early, while it waits for a thread' => sub {
    plan skip_all => 'this nginx has no debug log' unless Nginx->built_with('with-debug');
    my $server = '127.0.0.1:' . $nginx->port(2);
    is(http_request($nginx, 'POST', '/single/pets', @post[2, 3])->status, 201);
    my $single = Sqlite->open($nginx->dir . '/single.db');
    my ($worker) = $nginx->workers;
    my $sockets = sub { scalar grep { (readlink $_ // '') =~ /^socket:/ } glob "/proc/$worker/fd/*" };
    my $before = $sockets->();

    $single->run('BEGIN IMMEDIATE');
    my $post = Http->connect($server);
    $post->send(Http::format_request('POST', '/single/pets', @post[2, 3]));
    wait_until('the thread to be taken', sub { $nginx->error_log =~ /task #\d+ added to thread pool "single"/ });
    my %begin = (
        'Content-Length'        => "Content-Length: 10\r\n\r\nabc",
        'no byte of it'         => "Content-Length: 10\r\n\r\n",
        'chunked'               => "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        'chunked, nothing'      => "Transfer-Encoding: chunked\r\n\r\n",
    );
    my %end = (
        'FIN'           => sub { $_[0]{socket}->shutdown(1) },
        'a bad chunk'   => sub { $_[0]->send("\r\nnonsense\r\n") },
        'RST'           => sub { setsockopt $_[0]{socket}, Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack('ii', 1, 0); $_[0]->close },
        'close'         => sub { $_[0]->close },
        'nothing'       => sub { },
    );
    my @waiting;
    for my $begin (sort keys %begin) {
        for my $end (sort keys %end) {
            my $c = Http->connect($server);
            $c->send("GET /single/pets/1 HTTP/1.1\r\nHost: a\r\n$begin{$begin}");
            push @waiting, ["$begin, then $end", $c, $end{$end}, $end];
        }
    }
    is(http_get($server, '/v1/pets/1')->status, 200, 'nginx has the requests');
    $_->[2]->($_->[1]) for @waiting;
    is(http_get($server, '/v1/pets/1')->status, 200, 'nginx has seen the ends of the bodies');
    $single->run('COMMIT');
    is($post->response->status, 201);
    for (@waiting) {
        my ($name, $c, undef, $end) = @$_;
        like($c->response->status, $name =~ /chunked.*bad chunk/ ? qr/^400$/ : qr/^200$/, $name) if $end =~ /FIN|chunk|nothing/;
        $c->close;
    }
    $post->close;
    is(http_get($server, '/single/pets/1')->status, 200, 'the next request is served');
    wait_until('the connections to be closed', sub { $sockets->() <= $before });
    pass('no connection is left');
};

subtest 'a page of 300 pets' => sub {
    my $body = http_get($nginx, '/pages.html')->body;
    my $pets = () = $body =~ /"name":"Rex"/g;
    my $refused = () = $body =~ /"database_unavailable"/g;
    cmp_ok($pets, '>=', 255, 'up to the maximum of r->blocked');
    is($pets + $refused, 300, 'each subrequest has a response');
};

is(http_get($nginx, '/page')->body, http_get($nginx, '/v1/pets/1')->body . http_get($nginx, '/v1/pets/9')->body, 'subrequests');

SKIP: {
    skip 'no curl', 3 if system 'curl --version >/dev/null 2>&1';
    my @curl = ('curl', '-sS', '--http2-prior-knowledge', '--max-time', '10');
    my $url = 'http://127.0.0.1:' . $nginx->port . '/v1/pets';
    my $run = sub { open my $out, '-|', @curl, @_ or die; local $/; return scalar <$out> };
    is($run->("$url/1"), http_get($nginx, '/v1/pets/1')->body, 'HTTP/2');
    like($run->('-H', 'Content-Type: application/json', '-d', $post[3], $url), qr/"name":"Rex"/, 'with a body');
    like($run->('-H', 'Content-Type: application/json', '-d', $post[3] . ' ' x 100_000, $url), qr/"name":"Rex"/, 'in many frames');
}

subtest 'the binary upgrade' => sub {
    $nginx->upgrade;
    is(add()->status, 201);
};

undef $db;
$nginx->stop;
done_testing;
