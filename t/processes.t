# nginx in other modes than a master with workers that serve HTTP.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway qw(in_one_window);
use IO::Socket::INET;
use Nginx;
use Wait qw(wait_until);

sub serves_exactly {
    my ($gateway) = @_;
    $gateway->import_key('k', id => 'k1', plan => 'free');
    my $granted = in_one_window($gateway->redis, 1, sub { scalar grep { $gateway->get('/', 'k')->status == 200 } 1 .. 8 });
    is($granted, 5, 'a window grants its limit');
    $gateway->redis->cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    wait_until('service', sub { $gateway->get('/', 'k')->status =~ /^(200|429)$/ });
    pass('it serves again over a new connection to Redis');
}

my $plans = 'plan free 5r/s;';

for my $events ('accept_mutex on;', 'multi_accept on;', 'use epoll; accept_mutex on; multi_accept on;') {
    subtest "events { $events }" => sub {
        my $gateway = Gateway->start(plans => $plans, events => $events, workers => 2);
        serves_exactly($gateway);
        $gateway->nginx->stop;
    };
}

subtest 'thread pools and a cache, whose processes are not workers' => sub {
    my $has_threads = Nginx->built_with('with-threads');
    my $has_cache = !Nginx->built_with('without-http-cache');
    plan skip_all => 'this nginx has neither' unless $has_threads || $has_cache;
    my $gateway = Gateway->start(
        plans    => $plans,
        main     => $has_threads ? 'thread_pool other threads=2;' : '',
        http     => $has_cache ? 'proxy_cache_path %DIR%/cache keys_zone=cache:1m;' : '',
        location => join(' ', $has_cache ? 'proxy_cache cache;' : (), $has_threads ? 'aio threads=other;' : ()),
    );
    serves_exactly($gateway);
    $gateway->subscribed(1);
    is(scalar(grep { /name=\S* .*cmd=(?!client)/ } split /\n/, $gateway->redis->cmd('CLIENT', 'LIST')), 2,
        'only the worker has connections to Redis, one for scripts and one for events');
    $gateway->nginx->stop;
};

subtest 'one process' => sub {
    my $gateway = Gateway->start(plans => $plans, main => 'master_process off;', workers => 0);
    serves_exactly($gateway);
    $gateway->nginx->stop;
};

my $binary = $ENV{TOLLGATE_NGINX} // "nginx";
my ($folder) = `$binary -V 2>&1` =~ /--modules-path=(\S+)/;
for my $protocol (qw(stream mail)) {
    subtest "$protocol alone" => sub {
        my $module = defined $folder && "$folder/ngx_${protocol}_module.so";
        plan skip_all => "this nginx has no $protocol module" unless $module && -e $module;
        my $main = $protocol eq 'stream'
            ? 'stream { server { listen 127.0.0.1:%PORT1%; return hello; } }'
            : 'mail { server { listen 127.0.0.1:%PORT1%; protocol smtp; auth_http 127.0.0.1:1/; smtp_auth none; } }';
        my $nginx = Nginx->start(modules => [$module, 'ngx_http_tollgate_module'], main => $main);
        my $read = sub {
            my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1:' . $nginx->port(1), Timeout => 30) or return '';
            return scalar(readline $socket) // '';
        };
        like($read->(), qr/^(hello|220 )/, 'it serves');
        $nginx->reload;
        like($read->(), qr/^(hello|220 )/, 'also after a reload');
        $nginx->kill_worker;
        like($read->(), qr/^(hello|220 )/, 'and by another worker');
        $nginx->stop;
    };
}

subtest 'http without tollgate' => sub {
    my $nginx = Nginx->start(conf => 'server { listen 127.0.0.1:%PORT%; location / { return 204; } }');
    my $r = Http::http_get($nginx, '/', Authorization => 'Bearer k');
    is($r->status, 204, 'it serves');
    is_deeply([grep { $_->[0] =~ /ratelimit|retry|www-auth/i } $r->headers], [], 'without fields of Tollgate');
    $nginx->stop;
};

done_testing;
