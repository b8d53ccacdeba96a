# `sentinel … resolve`, and a master that the Sentinels report by its host name.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use FakeDns;
use Gateway;
use Sentinels;
use Wait qw(becomes wait_until);

sub gateway {
    my ($deployment, %options) = @_;
    my ($master) = $deployment->servers;
    my $dns = delete $options{dns};
    my $gateway = Gateway->start(
        plans => 'plan free 1000000r/h;', workers => 2, log_level => 'notice', redis_server => $master,
        servers => $deployment->directive, redis => 'on_failure deny;',
        http => $dns ? 'resolver ' . $dns->address . ';' : '', %options,
    );
    $gateway->import_key('k', id => 'k', plan => 'free');
    return $gateway;
}

sub main_redis { return $_[0]->status->{redis}[0] }

sub lines { my ($gateway, $pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /$pattern/g) }

# The numbers of subscriptions at the Sentinels.
sub subscriptions {
    my ($deployment) = @_;
    return join ' ', map { scalar(() = $_->cmd('CLIENT', 'LIST') =~ /\bsub=1\b/g) } $deployment->sentinels;
}

subtest 'Sentinels with names' => sub {
    my $deployment = Sentinels->start(replicas => 0);
    my @ports = map { $_->address =~ /:(\d+)$/ } $deployment->sentinels;
    my $dns = FakeDns->start(names => {}, ttl => 1);
    my $gateway = gateway($deployment, dns => $dns,
        servers => "sentinel mymaster one.test:$ports[0] two.test:$ports[1] three.test:$ports[2] resolve;");
    is($gateway->get('/', 'k')->status, 503, 'no name is known: no master is known');
    $dns->names('two.test' => ['127.0.0.1']);
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'one name is known: its Sentinel reports the master');
    becomes(sub { subscriptions($deployment) }, '0 1 0', '... and gets the subscription');
    $dns->names('three.test' => ['127.0.0.1']);
    becomes(sub { subscriptions($deployment) }, '0 1 1', 'two names are known: two Sentinels have a subscription each');
    $dns->names('two.test' => ['127.0.0.2']);
    becomes(sub { subscriptions($deployment) }, '0 0 1', 'a Sentinel whose name has another address loses it');
    is($gateway->get('/', 'k')->status, 200, 'the master remains in use');
    $gateway->nginx->stop;
};

subtest 'a master with a name' => sub {
    my $deployment = Sentinels->start(host => 'localhost');
    my ($old, $new) = $deployment->servers;
    my $dns = FakeDns->start(names => { localhost => ['127.0.0.1'] }, ttl => 1);
    my $gateway = gateway($deployment, dns => $dns);
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'its name is resolved');
    is(main_redis($gateway)->{master}, 'localhost:' . $old->port, 'the status shows the name');
    $deployment->drain($old);
    ($deployment->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster');
    becomes(sub { main_redis($gateway)->{master} }, 'localhost:' . $new->port, 'the gateway follows a failover');
    $deployment->promoted($new);
    my $count = sub { $new->cmd('HGET', 't:quota:{k}:api', '3600.count') // 0 };
    my $before = $count->();
    wait_until('counting at the new master', sub { $gateway->get('/', 'k')->status == 200 && $count->() > $before });
    pass('... and uses the new master');
    $gateway->nginx->stop;
};

subtest 'a master with a name, without a resolver' => sub {
    my $deployment = Sentinels->start(host => 'localhost', replicas => 0, sentinels => 1);
    my $gateway = gateway($deployment);
    wait_until('the log', sub { lines($gateway, qr/the master "mymaster" is not found, .*localhost:\d+: a "resolver" is needed for the host name/) });
    is($gateway->get('/', 'k')->status, 503, 'no master is known');
    $gateway->nginx->stop;
};

done_testing;
