package Gateways;

# The gateways that are compared: nginx with bare proxy_pass and with limit_req, the Lua gateway of t/bench, and
# Tollgate. All have the same upstream. Each is a separate nginx with only the modules that it needs.
#
#   my $upstream = Gateways->upstream;                       # shared by all
#   my $bare     = Gateways->bare($upstream);
#   my $lua      = Gateways->lua($upstream, $redis);         # keys with the prefix l:
#   my $tollgate = Gateways->tollgate($upstream, $redis, zone => '16m', redis => 'on_failure local;');    # prefix t:
#   Gateways->address($tollgate, 'exact')                    # of one of its servers
#   Gateways->takes($what)                                   # whether the built module accepts it: lease=off,
#                                                            #   "on_failure local" or tollgate_status
#
# The plans are endless (two windows that are never exhausted) and spent (two windows of one request). Nothing is
# logged.

use strict;
use warnings;
use Cwd            ();
use File::Basename ();
use Nginx;

our $body = "the upstream's answer\n";

my $lua_folder = Cwd::abs_path(File::Basename::dirname(__FILE__) . '/..');
my @lua_modules = map { "/usr/share/nginx/modules/$_.so" } qw(ndk_http_module ngx_http_lua_module);
my $plans = 'plan endless 1000000000r/m 2000000000r/d; plan spent 1r/m 1r/d;';

# Which %PORTn% each server of an nginx has.
my %port = (bare => 1, limit_req => 2, limit_req_spent => 3, lua => 1, tollgate => 1, exact => 2, status => 3);

my %feature = (
    'lease=off'        => { http  => "tollgate_plans exact lease=off { $plans }" },
    'on_failure local' => { redis => 'on_failure local;' },
    'tollgate_status'  => { http  => 'server { location / { tollgate_status; } }' },
);
my %taken;

sub upstream {
    return Nginx->start(modules => [], log_level => 'crit', events => 'worker_connections 1024;', conf => <<"END");
        keepalive_requests 1000000000;
        server {
            listen unix:%DIR%/upstream.sock;
            location / { return 200 "$body"; }
        }
END
}

sub bare {
    my ($class, $upstream) = @_;
    return _start($upstream, [], <<'END', bare => '', limit_req => <<'LIMIT', limit_req_spent => 'limit_req zone=spent;');
        limit_req_zone $http_authorization zone=granted:10m rate=1000000r/s;
        limit_req_zone $http_authorization zone=spent:10m rate=1r/m;
        limit_req_status 429;
END
        limit_req zone=granted burst=1000000 nodelay;
LIMIT
}

sub lua {
    my ($class, $upstream, $redis) = @_;
    return _start($upstream, \@lua_modules, <<"END", lua => 'access_by_lua_block { require("lua_gateway").access() }');
        lua_package_path '$lua_folder/?.lua;;';
        lua_shared_dict api_keys 64m;
        init_by_lua_block {
            require("lua_gateway").use("@{[ $redis->address ]}", "l:", {
                endless = { { 60, 1e9 }, { 86400, 1e12 } }, spent = { { 60, 1 }, { 86400, 1 } },
            })
        }
        proxy_set_header Authorization "";
END
}

sub tollgate {
    my ($class, $upstream, $redis, %options) = @_;
    my %locations = (tollgate => 'tollgate api;');
    my $http = '';
    if ($class->takes('lease=off')) {
        $http .= $feature{'lease=off'}{http};
        $locations{exact} = 'tollgate exact;';
    }
    if ($class->takes('tollgate_status')) {
        $http .= "server { listen 127.0.0.1:%PORT$port{status}%; location / { tollgate_status; } }";
    }
    return _start($upstream, ['ngx_http_tollgate_module'], <<"END", %locations);
        tollgate_zone @{[ $options{zone} // '64m' ]};
        tollgate_redis main { server @{[ $redis->address ]}; prefix t:; @{[ $options{redis} // 'timeout 1s;' ]} }
        tollgate_plans api { $plans }
        $http
END
}

sub address {
    my ($class, $nginx, $server) = @_;
    return '127.0.0.1:' . $nginx->port($port{$server});
}

sub takes {
    my ($class, $what) = @_;
    my ($redis, $http) = map { $feature{$what}{$_} // '' } qw(redis http);
    $taken{$what} //= [Nginx->test_config(modules => ['ngx_http_tollgate_module'], conf => <<"END")];
        tollgate_redis main { server unix:/redis.sock; $redis }
        tollgate_plans api { $plans }
        $http
END
    return $taken{$what}[0] == 0;
}

# Each worker has its own listening socket. Otherwise, the share of connections that a worker gets would be random.
sub _start {
    my ($upstream, $modules, $http, %locations) = @_;
    my $servers = join '', map {
        "server { listen 127.0.0.1:%PORT$port{$_}% reuseport; location / { $locations{$_} proxy_pass http://upstream; } }\n"
    } sort keys %locations;
    return Nginx->start(
        workers   => 2,
        log_level => 'crit',
        events    => 'worker_connections 1024;',
        modules   => $modules,
        conf      => <<"END",
            keepalive_requests 1000000000;
            upstream upstream { server @{[ $upstream->address ]}; keepalive 64; keepalive_requests 1000000000; }
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            $http
            $servers
END
    );
}

1;
