# The files of conf/ work unchanged: each with nginx -t, and conf/run from issuing a key to adding a pet and to the 429.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(getcwd);
use File::Temp ();
use IO::Socket::INET ();
use Test::More;
use Http qw(http_get http_request);
use Nginx;
use OwnNetwork;
use Wait qw(wait_until);

# The configurations have fixed ports. In a network of its own, the test disturbs no other server.
OwnNetwork->enter;

my $root = getcwd;
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // 'build');

subtest 'backend.conf' => sub {
    plan skip_all => 'nginx has no sanitizers' if $ENV{TOLLGATE_SANITIZE};
    my $dir = File::Temp->newdir('conf-XXXXXX', TMPDIR => 1);
    mkdir "$dir/$_" for qw(data tmp);
    symlink $build, "$dir/modules";
    my $output = `nginx -p '$dir' -e error.log -t -c '$root/conf/backend.conf' 2>&1`;
    is($?, 0, 'is valid') or diag($output);
};

subtest 'the snippets, in an existing server' => sub {
    my ($exit, $output) = Nginx->test_config(conf => <<"END");
        include $root/conf/tollgate-http.conf;
        server {
            listen unix:%DIR%/http.sock;
            include $root/conf/tollgate-server.conf;
            location / { proxy_pass http://127.0.0.1:9; }
            location /open/ { tollgate off; }
        }
END
    is($exit, 0, 'are valid') or diag($output);
};

subtest 'conf/run looks at every port before it starts anything' => sub {
    # The script must check every port of the configurations.
    my %listened;
    for my $file ('conf/nginx.conf', 'conf/redis.conf') {
        open my $conf, '<', $file or die "$file: $!\n";
        /^\s*(?:listen\s+(?:[\d.]+:)?|port\s+)(\d+)/ and ++$listened{$1} while <$conf>;
    }
    open my $script, '<', 'conf/run' or die $!;
    my ($checked) = map { /^for port in ([\d ]+); do$/ ? $1 : () } <$script>;
    is_deeply([sort split ' ', $checked // ''], [sort keys %listened], 'the ports of its configurations');

    my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 8091, ReuseAddr => 1)
        or plan skip_all => "port 8091 is taken: $!";
    my $output = `conf/run 2>&1`;
    is($? >> 8, 1, 'it fails if one is in use');
    like($output, qr/\Aconf\/run: port 8091 is taken by \S+ \(pid $$\)\nconf\/run: end what listens there, then try again\n\z/,
        '… and names the port and the process');
};

# Runs a test while conf/run is running with these arguments. The test gets its output.
sub demonstration {
    my ($arguments, $test) = @_;
    my $log = File::Temp->new;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        open STDOUT, '>', "$log";
        open STDERR, '>&', \*STDOUT;
        exec 'conf/run', @$arguments or die;
    }
    my $output = sub { open my $file, '<', "$log" or die; local $/; <$file> };
    my $ended = 0;
    eval {
        wait_until('conf/run to be ready', sub {
            $ended = waitpid($pid, 1) == $pid;
            die "conf/run ended:\n" . $output->() if $ended;
            return $output->() =~ /Ctrl-C ends it/;
        }, 600);
    };
    is($@, '', 'is ready') or return;
    $test->($output->());

    kill TERM => $pid;
    waitpid $pid, 0;
    my ($dir) = $output->() =~ /logs and data are in (\S+)\./;
    ok(!-e $dir, 'the directory is removed');
    ok(!eval { Http->connect('127.0.0.1:8080') }, '… and nothing listens');
}

sub serves_pets {
    my ($output) = @_;
    my $again = `conf/run 2>&1`;
    is($? >> 8, 1, '… only one instance runs');
    my %taken = $again =~ /^conf\/run: port (\d+) is taken by (\S+) \(pid \d+\)$/mg;
    is_deeply(\%taken, { 6390 => 'redis-server', map { $_ => 'nginx' } 8080, 8081, 8090, 8091 }, '… and says who has its ports')
        or diag($again);

    my %key = issued($output);
    is(keys %key, 5, 'it issues a key for each plan, and one for staging');
    my %auth = (Authorization => "Bearer $key{free}");

    my $added = http_request('127.0.0.1:8080', 'POST', '/v1/pets', { %auth, 'Content-Type' => 'application/json' },
        '{"name":"Rex","categoryId":1,"status":"available"}');
    is($added->status, 201, 'a pet is added');
    my $id = $added->json->{id};
    is_deeply(http_get('127.0.0.1:8080', "/v1/pets/$id", %auth)->json, $added->json, '… fetched');
    is_deeply(http_get('127.0.0.1:8080', '/v1/pets?status=available', %auth)->json, [$added->json], '… and listed');
    is(http_get('127.0.0.1:8080', '/v1/pets')->status, 401, 'without a key: 401');
    is(http_get('127.0.0.1:8081', '/v1/pets', %auth)->status, 401, 'a key of production is not valid in staging');
    is_deeply(http_get('127.0.0.1:8081', '/v1/pets', Authorization => "Bearer $key{staging}")->json, [],
        'staging has its own pets');
    for my $plan ([free => 60], [pro => 300], [business => 1000], [enterprise => 5000]) {
        my $r = http_get('127.0.0.1:8080', '/v1/pets', Authorization => "Bearer $key{$plan->[0]}");
        is($r->header('X-RateLimit-Limit'), $plan->[1], "$plan->[0] has $plan->[1] a minute");
    }
    my $document = http_get('127.0.0.1:8080', '/openapi.json');
    is($document->json->{openapi}, '3.1.0', 'openapi.json is outside /v1 and needs no key');
    is($document->header('Content-Type'), 'application/json', '… as JSON');
    is(http_get("127.0.0.1:$_", '/healthz')->status, 204, "port $_: liveness") for 8080, 8081;
    is(http_get("127.0.0.1:$_", '/readyz')->json->{ready}, 1, "port $_: readiness") for 8080, 8081;

    my $last;
    for (1 .. 121) {    # the limit of two minutes: the minute may end during the loop
        $last = http_get('127.0.0.1:8080', '/v1/pets', %auth);
        last if $last->status == 429;
    }
    is($last->status, 429, 'the quota is spent');
    like($last->header('Retry-After'), qr/^[1-9]\d?$/, '… and Retry-After says when to come back');
}

# The key of each plan.
sub issued { my ($output) = @_; return $output =~ /^(free|pro|business|enterprise|staging) +(tg_\w+)$/mg }

subtest 'conf/run' => sub {
    plan skip_all => 'its build has no sanitizers' if $ENV{TOLLGATE_SANITIZE};
    demonstration([], \&serves_pets);
};

subtest 'conf/run --packages' => sub {
    plan skip_all => 'what is built with sanitizers is not packaged' if $ENV{TOLLGATE_SANITIZE};
    like(`conf/run --packages $root/conf 2>&1`, qr{^conf/run: not found: $root/conf/libnginx-mod-http-tollgate_\*\.deb$}, 'the packages must exist');
    my $dir = File::Temp->newdir('packages-XXXXXX', TMPDIR => 1);
    my $text = `cpack -G DEB --config '$build/CPackConfig.cmake' -B '$dir' 2>&1`;
    is($?, 0, 'cpack makes the packages') or return diag($text);
    demonstration(['--packages', $dir], \&serves_pets);
};

done_testing;
