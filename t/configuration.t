# Valid configurations, and how settings are inherited: from http to server to location, as with nginx's own directives.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Gateway;
use Http qw(http_get);
use Nginx;
use RedisServer;

sub accepted {
    my ($name, $conf, %files) = @_;
    my ($exit, $output) = Nginx->test_config(conf => $conf, files => \%files);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is($exit, 0, $name) or diag $output;
}

subtest 'accepted forms' => sub {
    my $redis = 'tollgate_redis main { server unix:/nowhere.sock; }';
    my $plans = 'tollgate_plans api { plan free 5r/s; }';
    accepted('every directive of the blocks', <<'END', secret => "pass word\r\n");
        tollgate_zone 128k;
        tollgate_redis production {
            server          127.0.0.1:6379;
            username        app;
            password_file   secret;
            database        3;
            prefix          petstore:;
            connect_timeout 1s;
            timeout         100ms;
            on_failure      allow;
        }
        tollgate_redis staging { server localhost; password x; on_failure deny; }
        tollgate_redis v6 { server [::1]:6380; tls off; }
        tollgate_plans api lease=1m redis=production {
            plan free        60r/m 1000r/d;
            plan odd         1000r/d 100r/15m 10r/s 5000r/2d window=sliding;
            plan fixed       1r/s window=fixed;
            plan calendar    100r/d 1000r/month 20000r/366d;
            plan enterprise  custom window=sliding;
            plan partner     unlimited;
            anonymous        30r/m 1000r/month;
            ban              after=20 within=1m for=10m up_to=24h;
            default          free;
            history          90d;
            notify           80% 100%;
        }
        tollgate_plans short redis=staging lease=50ms { plan free 1r/366d; ban after=1 within=1s for=2d; history 1d; }
END
    accepted('TLS', <<'END') if Nginx->built_with('with-http_ssl_module');
        tollgate_redis v6 { server [::1]:6380; tls on; }
        tollgate_redis insecure { server localhost; tls on; tls_verify off; tls_server_name redis.test; }
END
    accepted("$_ in http, server and location", "$_; $redis $plans server { listen 127.0.0.1:%PORT%; $_; location / { $_; } }")
        for 'tollgate api', 'tollgate off', 'tollgate_realm "a $host"', 'tollgate_headers x-ratelimit', 'tollgate_headers ietf',
        'tollgate_headers both', 'tollgate_headers off', 'tollgate_cost 0', 'tollgate_cost 1000000000000',
        'tollgate_cost $arg_cost', 'tollgate_cost 5 settle=$bytes_sent', 'tollgate_response_json $a /a /b/0/~1 / required', 'tollgate_response_json off', 'tollgate_request_json $b /a max=64k required', 'tollgate_bypass $arg_a $arg_b', 'tollgate_scope pets:read "a#b"', 'tollgate_scope off', 'tollgate_key_from bearer', 'tollgate_subject $arg_id', 'tollgate_subject $arg_id plan=$arg_plan', 'tollgate_subject $arg_id plan=free', 'tollgate_subject off',
        'tollgate_key_from header:X-API-Key bearer header:apikey header:authorization', 'tollgate_dry_run on', 'tollgate_forward_authorization on',
        'tollgate_json_errors on', 'tollgate_log_level info', 'tollgate_log_level notice', 'tollgate_log_level warn',
        'tollgate_log_level error';
    accepted('tables and Redis named before they stand there',
        "server { listen 127.0.0.1:%PORT%; tollgate api; } $plans $redis");
    accepted('include inside of blocks', "tollgate_redis main { include r.conf; } tollgate_plans api { include p*.conf; include none*; }",
        'r.conf' => 'server 127.0.0.1;', 'p1.conf' => 'plan free 5r/s;', 'p2.conf' => "plan pro\n 5r/s;");
    accepted('the module without any of its directives', 'server { listen 127.0.0.1:%PORT%; }');
    my ($exit) = Nginx->test_config;
    is($exit, 0, 'a configuration without an http block');
    ($exit) = Nginx->test_config(conf => "$redis $plans server { location / { if (\$arg_a) { tollgate api; } } }");
    isnt($exit, 0, 'tollgate in an if is refused');
};

subtest 'inheritance' => sub {
    my $redis = RedisServer->start;
    my $page = 'try_files /page =404;';
    my $nginx = Nginx->start(files => { page => "a page\n" }, conf => <<"END");
        root %DIR%;
        tollgate a;
        tollgate_realm outer;
        tollgate_redis one { server ${\ $redis->address }; prefix one:; }
        tollgate_redis two { server ${\ $redis->address }; prefix two:; database 2; }
        tollgate_plans a redis=one { plan free 100r/d; }
        tollgate_plans b redis=one { plan free 50r/d; }
        tollgate_plans c redis=two { plan free 30r/d; }
        server {
            listen unix:%DIR%/on.sock;
            location / { $page }
            location /b/ {
                tollgate b;
                tollgate_realm inner;
                location /b/inherits/ { $page }
                location /b/off/ { tollgate off; $page location /b/off/on/ { tollgate a; $page } }
                location /b/both/ { tollgate a b; $page }
                location /b/dry/ { tollgate_dry_run on; $page location /b/dry/wet/ { tollgate_dry_run off; $page } }
            }
            location /c/ { tollgate c; $page }
            location /quiet/ { tollgate_headers off; $page location /quiet/both/ { tollgate_headers both; $page } }
            location /dear/ { tollgate_cost 5; $page location /dear/cheap/ { tollgate_cost 1; $page } }
            location /free/ { tollgate_bypass \$arg_free; $page }
        }
        server {
            listen unix:%DIR%/off.sock;
            tollgate off;
            location / { $page }
            location /on/ { tollgate b; $page }
        }
END
    my ($one, $two) = map { my $c = $redis->connection; $c->cmd('SELECT', $_); $c } 0, 2;
    $one->cmd('HSET', 'one:key:' . sha256_hex('k'), id => 'k1', plan => 'free', state => 'active');
    $two->cmd('HSET', 'two:key:' . sha256_hex('k'), id => 'k1', plan => 'free', state => 'active');
    my $get = sub {
        my ($server, $path, @key) = @_;
        return http_get('unix:' . $nginx->dir . "/$server.sock", $path, @key ? (Authorization => "Bearer @key") : ());
    };
    my $limit = sub { my $r = $get->(@_, 'k'); return join ' ', $r->status, $r->header('X-RateLimit-Limit') // '-' };

    is($limit->('on', '/'), '200 100', 'from http through server to location');
    is($limit->('on', '/b/inherits/'), '200 50', 'overridden in a location, and inherited by a nested one');
    is($get->('on', '/b/off/')->status, 200, 'off in a nested location');
    is($limit->('on', '/b/off/'), '200 -', '... adds nothing to the response');
    is($limit->('on', '/b/off/on/'), '200 100', 'on again in a location nested in that');
    is($limit->('on', '/b/both/'), '200 50', 'two tables: the one with less left is shown');
    is($one->cmd('HGET', 'one:quota:{k1}:a', '86400.count'), 3, '... and both count: a');
    is($one->cmd('HGET', 'one:quota:{k1}:b', '86400.count'), 2, '... and b');
    is($limit->('on', '/c/'), '200 30', 'a table of another Redis');
    is($two->cmd('HGET', 'two:quota:{k1}:c', '86400.count'), 1, '... counted in its database');
    is($limit->('off', '/'), '200 -', 'a server turned off in an http block turned on');
    is($limit->('off', '/on/'), '200 50', '... and a location of it turned on');

    is($get->('on', '/')->header('WWW-Authenticate'), 'Bearer realm="outer"', 'the realm from http');
    is($get->('on', '/b/inherits/')->header('WWW-Authenticate'), 'Bearer realm="inner"', '... and overridden');
    is($get->('on', '/b/dry/')->status, 200, 'dry run');
    is($get->('on', '/b/dry/wet/')->status, 401, '... and off again');
    is($limit->('on', '/quiet/'), '200 -', 'no headers');
    is($limit->('on', '/quiet/both/'), '200 100', '... and headers again');
    my $left = sub { $get->('on', $_[0], 'k')->header('X-RateLimit-Remaining') };
    my $before = $left->('/');
    is($left->('/dear/'), $before - 5, 'a cost');
    is($left->('/dear/cheap/'), $before - 6, '... and overridden');
    is($get->('on', '/free/?free=1')->status, 200, 'bypassed');
    is($get->('on', '/?free=1')->status, 401, '... but not in another location');
    $nginx->stop;
};

subtest 'the password in a password_file' => sub {
    my $gateway = Gateway->start(
        plans         => 'plan free 5r/m;',
        redis_options => { password => 'pass-word' },
        redis         => 'password_file secret;',
        files         => { secret => "pass-word\r\nsecond line\n" },
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    is($gateway->get('/', 'k')->status, 200, 'is its first line');
    my $exposed = qr/\[warn\].*"password_file" "\S+\/secret" has the mode 0644, so every user of this machine can read it: chmod 600/;
    my $file = $gateway->nginx->dir . '/secret';
    for my $mode (0600, 0644) {
        chmod $mode, $file;
        my (undef, $output) = Nginx->test_config(conf => "tollgate_redis main { server unix:/nowhere; password_file $file; } tollgate_plans api { plan free 5r/s; }");
        is(scalar(() = $output =~ /$exposed/g), $mode == 0600 ? 0 : 1, sprintf('nginx -t, with mode %04o', $mode)) or diag($output);
    }
    $gateway->nginx->stop;
};

done_testing;
