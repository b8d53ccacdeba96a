package Gateways;

# The gateways that are compared: nginx with bare proxy_pass and with limit_req, the Lua gateway of t/bench, and
# Tollgate. All have the same upstream. Each is a separate nginx with only the modules that it needs.
#
#   my $upstream = Gateways->upstream;                       # shared by all
#   my $bare     = Gateways->bare($upstream);
#   my $lua      = Gateways->lua($upstream, $redis);         # keys with the prefix l:
#   my $tollgate = Gateways->tollgate($upstream, $redis, zone => '16m', redis => 'timeout 1s;');    # prefix t:
#   my $all      = Gateways->all($upstream, $redis);         # the servers of bare and of tollgate in one nginx
#   Gateways->address($tollgate, 'exact')                    # of one of its servers
#
# All but the upstream have two workers; `workers => 1` sets another number. With `valgrind => ['--tool=…']`, nginx runs
# under valgrind (ValgrindNginx.pm). `http => '…'` adds directives.
#
# The plans are endless (two windows that are never exhausted) and spent (two windows of one request). Nothing is
# logged. The servers of Tollgate are `tollgate` (leases), `exact` (lease=off),
# `settle` (each request takes 2 units and uses 1), `in_flight` (a limit of requests in flight), `values` (a counter of a value), `groups` (a counter of a group) and `status`. With `shapes => 1`, it has
# also those of @shapes: other numbers of tables and windows, each with leases and with lease=off (`…_exact`).

use strict;
use warnings;
use Cwd            ();
use File::Basename ();
use Nginx;
use ValgrindNginx;

our $body = "the upstream's answer\n";
our @shapes = qw(tables2 tables4 windows1 windows4);

my $lua_folder = Cwd::abs_path(File::Basename::dirname(__FILE__) . '/..');
my @lua_modules = map { "/usr/share/nginx/modules/$_.so" } qw(ndk_http_module ngx_http_lua_module);

# The shortest window is a minute in all of them: it determines the size of a lease.
my %windows = (
    1 => '1000000000r/m',
    2 => '1000000000r/m 2000000000r/d',
    '2 in_flight' => '1000000000r/m 2000000000r/d in_flight=100000',
    4 => '1000000000r/m 1500000000r/15m 1800000000r/h 2000000000r/d',
);

# Which %PORTn% each server of an nginx has. `all` has the servers of bare and of tollgate.
my @servers = (qw(bare limit_req limit_req_spent lua tollgate exact settle three in_flight values groups status), map { ($_, "${_}_exact") } @shapes);
my %port = map { $servers[$_] => $_ + 1 } 0 .. $#servers;

my $limit_req_zones = <<'END';
    limit_req_zone $http_authorization zone=granted:10m rate=1000000r/s;
    limit_req_zone $http_authorization zone=spent:10m rate=1r/m;
    limit_req_status 429;
END
my %bare = (
    bare            => '',
    limit_req       => 'limit_req zone=granted burst=1000000 nodelay;',
    limit_req_spent => 'limit_req zone=spent;',
);
my %tollgate = (
    tollgate  => 'tollgate api;',
    exact     => 'tollgate exact;',
    settle    => 'tollgate api; tollgate_cost 2 settle=$one;',
    three     => 'tollgate api tokens spend; tollgate_cost 1; tollgate_cost 40 settle=$thirty table=tokens;
                  tollgate_cost 4 settle=$one table=spend;',
    in_flight => 'tollgate in_flight;',
    values    => 'tollgate values;',
    groups    => 'tollgate groups;',
);
my %of_shape = map {
    (
        "tables2$_"  => "tollgate api2$_ b$_;",
        "tables4$_"  => "tollgate api2$_ b$_ c$_ d$_;",
        "windows1$_" => "tollgate windows1$_;",
        "windows4$_" => "tollgate windows4$_;",
    )
} '', '_exact';

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
    my ($class, $upstream, %options) = @_;
    return _start($upstream, [], $limit_req_zones, \%bare, %options);
}

sub lua {
    my ($class, $upstream, $redis) = @_;
    return _start($upstream, \@lua_modules, <<"END", { lua => 'access_by_lua_block { require("lua_gateway").access() }' });
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
    return _start($upstream, ['ngx_http_tollgate_module'], _tollgate_http($redis, %options),
        { %tollgate, $options{shapes} ? %of_shape : () }, %options);
}

sub all {
    my ($class, $upstream, $redis, %options) = @_;
    return _start($upstream, ['ngx_http_tollgate_module'], $limit_req_zones . _tollgate_http($redis, %options),
        { %bare, %tollgate }, %options);
}

sub address {
    my ($class, $nginx, $server) = @_;
    return '127.0.0.1:' . $nginx->port($port{$server});
}

sub _tollgate_http {
    my ($redis, %options) = @_;
    my $tables = _table('api', 2) . _table('exact', 2, 'lease=off') . _table('in_flight', '2 in_flight') . _table('values', 2, 'by=$http_host') . _table('groups', 2, 'by=group')
        . join '', map { _table($_, 2) } qw(tokens spend);
    for my $suffix ($options{shapes} ? ('', '_exact') : ()) {
        my $lease = $suffix ? 'lease=off' : '';
        $tables .= _table("$_$suffix", 2, $lease) for qw(api2 b c d);
        $tables .= _table("windows$_$suffix", $_, $lease) for 1, 4;
    }
    return <<"END";
        tollgate_zone @{[ $options{zone} // '64m' ]};
        tollgate_redis main { server @{[ $redis->address ]}; prefix t:; @{[ $options{redis} // 'timeout 1s;' ]} }
        $tables
        map \$uri \$one { default 1; }
        map \$uri \$thirty { default 30; }
        server { listen 127.0.0.1:%PORT$port{status}%; location / { tollgate_status; } }
END
}

sub _table {
    my ($name, $windows, $lease) = @_;
    return "tollgate_plans $name @{[ $lease // '' ]} { plan endless $windows{$windows}; plan spent 1r/m 1r/d; }\n";
}

# Each worker has its own listening socket. Otherwise, the share of connections that a worker gets would be random.
sub _start {
    my ($upstream, $modules, $http, $locations, %options) = @_;
    my $servers = join '', map {
        "server { listen 127.0.0.1:%PORT$port{$_}% reuseport; location / { $locations->{$_} proxy_pass http://upstream; } }\n"
    } sort keys %$locations;
    my $class = $options{valgrind} ? 'ValgrindNginx' : 'Nginx';
    return $class->start(
        workers   => $options{workers} // 2,
        log_level => 'crit',
        events    => 'worker_connections 1024;',
        modules   => $modules,
        valgrind  => $options{valgrind},
        conf      => <<"END",
            keepalive_requests 1000000000;
            upstream upstream { server @{[ $upstream->address ]}; keepalive 64; keepalive_requests 1000000000; }
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            @{[ $options{http} // '' ]}
            $http
            $servers
END
    );
}

1;
