# tollgate_status ready: whether every configured Redis is reachable. No client sends other requests.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Http qw(http_request);
use Nginx;
use RedisCluster;
use RedisServer;
use Wait qw(becomes);

my %redis = map { $_ => RedisServer->start } qw(main other);
my $on_failure = 'local';
sub conf {
    return join '', (map { "tollgate_redis $_ { server @{[$redis{$_}->address]}; timeout 300ms; on_failure $on_failure; } tollgate_plans $_ redis=$_ { plan free 5r/d; }\n" } @_),
        'server { listen unix:%DIR%/http.sock; tollgate_json_errors on; location / { tollgate_status ready; } }';
}
my $nginx = Nginx->start(conf => conf(qw(main other)), workers => 2);
my $request = sub { http_request($nginx->address, $_[0], '/') };

# The status, and whether each Redis is reachable.
my $readiness = sub {
    my $r = $request->('GET');
    my $json = $r->json;
    return join ' ', $r->status, $json->{ready} ? 'ready' : 'not ready',
        map { "$_->{name}:" . ($_->{reachable} ? 'yes' : 'no') } sort { $a->{name} cmp $b->{name} } @{ $json->{redis} };
};

becomes($readiness, '200 ready main:yes other:yes', 'both are reachable');
my $r = $request->('GET');
is($r->header('content-type'), 'application/json', 'the type');
is($r->header('cache-control'), 'no-store', 'the response is not cached');
is($request->('POST')->status, 405, 'only GET and HEAD');

$redis{main}->sigstop;
becomes($readiness, '503 not ready main:no other:yes', 'one has stopped');
is($request->('HEAD')->status, 503, 'HEAD has the same status');
$redis{main}->sigcont;
becomes($readiness, '200 ready main:yes other:yes', 'it continues');

$redis{other}->kill;
becomes($readiness, '503 not ready main:yes other:no', 'the other one is killed');
$nginx->reload(conf => conf('main'));
becomes($readiness, '200 ready main:yes', 'a Redis that the configuration no longer has does not count');
$nginx->stop;

$redis{main}->kill;
$nginx = Nginx->start(conf => conf('main'));
becomes($readiness, '503 not ready main:no', 'nginx starts without its Redis');
$redis{main}->restart;
becomes($readiness, '200 ready main:yes', '... which is started then');
$nginx->stop;

# The smallest zone has room for the counts of one Redis.
$nginx = Nginx->start(conf => 'tollgate_zone 128k; ' . conf(qw(main other)));
becomes($readiness, '503 not ready (other):no main:yes', 'a Redis that is counted with others');
$redis{other}->restart;
becomes($readiness, '200 ready (other):yes main:yes', '... is started');
$nginx->stop;

# A node without requests sends no calls.
$on_failure = 'deny';
$nginx = Nginx->start(conf => conf('main'), workers => 2);
becomes($readiness, '200 ready main:yes', 'a node with on_failure deny');
$redis{main}->kill;
becomes($readiness, '503 not ready main:no', '... notices that its Redis has ended');
like($nginx->error_log, qr/redis "main" is unreachable/, '... and says so');
$nginx->stop;

# The connection to a master that refuses it fails before the gateway knows the server.
my $cluster = RedisCluster->start(masters => 3);
my ($lost) = $cluster->nodes;
$lost->kill;
$nginx = Nginx->start(workers => 2, conf => <<"END");
    tollgate_redis main { cluster @{[join ' ', map { '127.0.0.1:' . $_->port } ($cluster->nodes)[1, 2]]}; timeout 300ms; }
    tollgate_plans main { plan free 5r/d; }
    server { listen unix:%DIR%/http.sock; location / { tollgate_status ready; } }
END
becomes($readiness, '503 not ready main:no', 'a gateway starts without a master of its cluster');
$nginx->reload;
$nginx->old_workers_gone;
becomes($readiness, '503 not ready main:no', '... and is reloaded');
$lost->restart;
becomes($readiness, '200 ready main:yes', '... which continues then');
$nginx->stop;

done_testing;
