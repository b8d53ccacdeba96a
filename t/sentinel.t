# `sentinel` of tollgate_redis: the gateway finds the master that Sentinel reports, and follows failovers.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Certificates;
use Gateway qw(wait_for_room);
use List::Util qw(sum0);
use Nginx;
use Sentinels;
use Time::HiRes qw(time);
use Wait qw(becomes wait_until);

sub gateway {
    my ($deployment, %options) = @_;
    my ($master) = $deployment->servers;
    return Gateway->start(
        plans => 'plan free 1000000r/h;', workers => 2, log_level => 'notice', redis_server => $master,
        servers => $deployment->directive, %options,
    );
}

sub main_redis { return $_[0]->status->{redis}[0] }
sub address_of { return '127.0.0.1:' . $_[0]->port }

# The sum of the counts of these ids in the current hour, on one server.
sub counted {
    my ($server, @ids) = @_;
    return sum0(map { $server->cmd('HGET', "t:quota:{$_}:api", '3600.count') // 0 } @ids);
}

my $sleeping;
my %begin = (
    'kill -9 of the master'  => sub { my ($deployment, $master) = @_; $master->kill },
    'a master that hangs'    => sub { my ($deployment, $master) = @_; $master->sigstop },
    'DEBUG SLEEP'            => sub { my ($deployment, $master) = @_; $sleeping = $master->connection; $sleeping->send('DEBUG', 'SLEEP', 6) },
    'SENTINEL FAILOVER'      => sub { my ($deployment) = @_; ($deployment->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster') },
);
for my $fault (sort keys %begin) {
    subtest "$fault under load" => sub {
        my $deployment = Sentinels->start(down_after => 1000, redis_options => { conf => ['enable-debug-command local'] });
        my ($old) = $deployment->servers;
        my $gateway = gateway($deployment, redis => 'timeout 100ms;');
        my @keys = map { "k$_" } 1 .. 20;
        $gateway->import_key($_, id => $_, plan => 'free') for @keys;
        wait_for_room($old, 3600);
        # On a busy machine, the first look-up of a key may time out.
        for my $key (@keys) { wait_until("$key to be known", sub { $gateway->get('/', $key)->status == 200 }) }
        $deployment->drain($old);
        is(main_redis($gateway)->{kind}, 'sentinel', 'the status shows the kind');
        is(main_redis($gateway)->{master}, address_of($old), '... and the master');
        my $load = BackgroundLoad->start(servers => [$gateway->address], connections => 4, token => sub { $keys[rand @keys] });
        wait_until('the load', sub { counted($old, @keys) > 100 });
        $begin{$fault}->($deployment, $old);
        my (undef, $new) = $deployment->servers;
        $deployment->promoted($new);
        my $promoted = time;
        my $before = counted($new, @keys);
        wait_until('counting at the new master', sub { counted($new, @keys) > $before });
        my $took = time - $promoted;
        cmp_ok($took, '<', 10, sprintf 'the new master counts %.2f s after it is promoted', $took);
        becomes(sub { main_redis($gateway)->{master} }, address_of($new), 'the status shows the new master');
        becomes(sub { main_redis($gateway)->{breaker_open_workers} }, 0, 'each worker reaches it');
        cmp_ok(main_redis($gateway)->{failovers}, '>=', 1, 'the failover is counted');
        my $result = $load->finish;
        is_deeply([keys %{ $result->{status} }], [200], 'all requests are granted') or diag explain $result;
        is($result->{broken}, 0, 'all requests are answered');
        cmp_ok($result->{slowest}, '<', 2, 'none waits long');
        unlike($gateway->nginx->error_log, qr/\[(?:alert|crit|emerg)\]/, 'the log has no alert');
    };
}

# The Sentinel that leads a failover names the old master until all replicas follow the new one. Until then, the old
# master says that it is the master.
subtest 'a deposed master that is alive' => sub {
    my $deployment = Sentinels->start(replicas => 2);
    my ($old) = $deployment->servers;
    my $gateway = gateway($deployment, workers => 2);
    becomes(sub { main_redis($gateway)->{master} }, address_of($old), 'the master');
    my ($leader) = $deployment->sentinels;
    my $named = sub { my %state = @{ $leader->cmd('SENTINEL', 'MASTER', 'mymaster') }; "127.0.0.1:$state{port}" };
    $leader->cmd('SENTINEL', 'FAILOVER', 'mymaster');
    my $seen = wait_until('another master', sub {
        my ($by_leader, $by_gateway) = ($named->(), main_redis($gateway)->{master});
        return $by_gateway ne address_of($old) ? [$by_leader, $by_gateway] : undef;
    });
    is($seen->[0], address_of($old), 'the gateway uses the new master before the leading Sentinel names it');
    my $new = $deployment->new_master($old);
    is($seen->[1], address_of($new), '... which is the right one');
    is(main_redis($gateway)->{failovers}, 1, 'it does not return to the old master meanwhile');
    $gateway->nginx->stop;
};

subtest 'counts and revocations after a failover' => sub {
    my $deployment = Sentinels->start;
    my ($old) = $deployment->servers;
    my $gateway = gateway($deployment, table => 'lease=off', redis => 'key_cache 1h;');
    $gateway->import_key($_, id => $_, plan => 'free') for qw(k other);
    wait_for_room($old, 3600);
    $gateway->subscribed(2);
    is_deeply([grep { $gateway->get('/', 'k')->status != 200 } 1 .. 20], [], 'the key is granted');
    $deployment->drain($old);
    $old->kill;
    my @statuses;
    my $new = wait_until('the failover', sub {
        push @statuses, $gateway->get('/', 'k')->status;
        return main_redis($gateway)->{master} ne address_of($old) ? $deployment->new_master($old) : undef;
    });
    is_deeply([grep { $_ != 200 } @statuses], [], 'the known key is granted meanwhile');
    push @statuses, $gateway->get('/', 'k')->status for 1 .. 20;
    becomes(sub { counted($new, 'k') }, 20 + @statuses, 'the new master counts each granted request once');
    $gateway->use_redis($new);
    becomes(sub { $gateway->get('/', 'other')->status }, 200, 'a key that was not known is looked up at the new master');
    $gateway->subscribed(2);
    is($gateway->get('/', 'k')->status, 200, 'the key is valid');
    $gateway->change_key('k');
    becomes(sub { $gateway->get('/', 'k')->status }, 401, '... until it is revoked at the new master');
};

subtest 'a replica that lags is promoted' => sub {
    my $deployment = Sentinels->start;
    my ($old, $replica) = $deployment->servers;
    my $gateway = gateway($deployment, plans => 'plan free 400r/h;', table => 'lease=off', workers => 1);
    $gateway->import_key('k', id => 'k', plan => 'free');
    wait_for_room($old, 3600);
    my $granted = grep { $gateway->get('/', 'k')->status == 200 } 1 .. 100;
    $deployment->drain($old);
    # The master sends nothing more to the replica, which notices it when it runs again.
    $replica->sigstop;
    $old->cmd('CLIENT', 'KILL', 'TYPE', 'replica');
    my $lost = grep { $gateway->get('/', 'k')->status == 200 } 1 .. 50;
    is(counted($old, 'k'), $granted + $lost, 'the master counts');
    $old->kill;
    $replica->sigcont;
    my $new = $deployment->new_master($old);
    is(counted($new, 'k'), $granted, 'the replica lacks the last units');
    becomes(sub { main_redis($gateway)->{master} }, address_of($new), 'the gateway follows');
    my $more = 0;
    becomes(sub {
        my $status = $gateway->get('/', 'k')->status;
        $more += $status == 200;
        return $status == 429 && $gateway->unsettled == 0 && counted($new, 'k');
    }, 400, 'the limit holds at the new master');
    is($granted + $lost + $more, 400 + $lost, 'over-admission is what the replica lacked');
};

subtest 'Sentinels with a password that fail' => sub {
    my $deployment = Sentinels->start(conf => ['requirepass watch', 'sentinel sentinel-pass watch'], password => 'watch');
    my ($master) = $deployment->servers;
    my @sentinels = $deployment->sentinels;
    $sentinels[0]->kill;
    my $gateway = gateway($deployment, redis => 'sentinel_password watch;');
    $gateway->import_key($_, id => $_, plan => 'free') for qw(k1 k2 k3);
    becomes(sub { $gateway->get('/', 'k1')->status }, 200, 'the first Sentinel is dead');
    $_->kill for @sentinels[1, 2];
    is($gateway->get('/', 'k2')->status, 200, 'all Sentinels are dead');
    $gateway->nginx->reload;
    is($gateway->get('/', 'k3')->status, 200, '... and new workers use the address in the zone');
    like($gateway->nginx->error_log, qr/master "mymaster" is at 127\.0\.0\.1, port @{[$master->port]}/, 'the log names the master');
};

# The users of module/docs, with the passwords of this test.
sub documented_user {
    my ($name, $password) = @_;
    my @lines = map { open my $file, '<', "module/docs/$_.md" or die $!; <$file> } qw(redis redis_data);
    my ($user) = map { /^(user \Q$name\E on .*)/ ? $1 : () } @lines;
    return $user =~ s/>SECRET/>$password/r =~ s/petstore:/t:/gr;
}

for my $role ('', '+role') {
    subtest "the documented users $role" => sub {
        my $deployment = Sentinels->start(
            redis_options => { acl => [documented_user('gateway', 'redis-secret') . " $role"] },
            conf => [documented_user('watcher', 'sentinel-secret')],
        );
        my ($old, $replica) = $deployment->servers;
        my $gateway = gateway($deployment, redis => 'username gateway; password redis-secret;'
            . 'sentinel_username watcher; sentinel_password sentinel-secret;');
        $gateway->import_key('k', id => 'k', plan => 'free');
        is($gateway->get('/', 'k')->status, 200, 'granted');
        wait_until('the subscriptions', sub {
            my @numbers = map { scalar(() = $_->cmd('CLIENT', 'LIST') =~ /\bsub=1\b.*\buser=watcher\b/g) } $deployment->sentinels;
            return "@{[sort @numbers]}" eq '0 1 1';
        });
        pass('two Sentinels have one subscription each');
        $deployment->drain($old);
        ($deployment->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster');
        becomes(sub { main_redis($gateway)->{master} }, address_of($replica), 'the gateway follows a failover');
        my $before = counted($replica, 'k');
        wait_until('counting at the new master', sub { $gateway->get('/', 'k')->status == 200 && counted($replica, 'k') > $before });
        unlike($gateway->nginx->error_log, qr/NOPERM|refuses the channel/, 'nothing is refused');
    };
}

subtest 'sentinel_tls' => sub {
    plan skip_all => 'this nginx has no SSL' unless Nginx->built_with('with-http_ssl_module');
    my $certificates = Certificates->new;
    $certificates->issue('sentinel', 'DNS:redis.test');
    my $deployment = Sentinels->start(replicas => 0, sentinels => 1, tls => sub { $certificates->redis('sentinel', @_) });
    my $tls = 'sentinel_tls on; tls_ca ' . $certificates->certificate('ca') . ';';
    my $gateway = gateway($deployment, redis => "$tls tls_server_name redis.test;");
    $gateway->import_key('k', id => 'k', plan => 'free');
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'TLS to the Sentinel and none to the master');
    my $other = gateway($deployment, redis => "$tls tls_server_name other.test;");
    wait_until('the log', sub { $other->nginx->error_log =~ /the master "mymaster" is not found, .*certificate/ });
    is($other->get('/', 'k')->status, 503, 'a Sentinel with another certificate is not asked');
};

subtest 'the searching worker dies' => sub {
    my $deployment = Sentinels->start(replicas => 0);
    $_->sigstop for $deployment->sentinels;
    my $gateway = gateway($deployment);
    $gateway->import_key('k', id => 'k', plan => 'free');
    wait_until('the search', sub { $gateway->nginx->error_log =~ /is not found/ });
    my ($searcher) = $gateway->nginx->error_log =~ / (\d+)#\d+: .*is not found/;
    $gateway->nginx->kill_worker($searcher);
    $_->sigcont for $deployment->sentinels;
    becomes(sub { main_redis($gateway)->{master} }, address_of(($deployment->servers)[0]), 'another worker finds the master');
    becomes(sub { $gateway->get('/', 'k')->status }, 200, '... and requests are granted');
};

subtest 'reload and quit while no Sentinel answers' => sub {
    my $deployment = Sentinels->start(replicas => 0);
    $_->sigstop for $deployment->sentinels;
    my $gateway = gateway($deployment);
    $gateway->import_key('k', id => 'k', plan => 'free');
    is($gateway->get('/', 'k')->status, 503, 'no master is known');
    my $is_logged = sub { $gateway->nginx->error_log =~ /\[warn\].*the master "mymaster" is not found/ };
    wait_until('the log', $is_logged);
    $gateway->nginx->reload;
    is($gateway->get('/', 'k')->status, 503, 'a reload changes nothing');
    $_->sigcont for $deployment->sentinels;
    becomes(sub { $gateway->get('/', 'k')->status }, 200, 'the search ends when the Sentinels answer');
    $_->sigstop for $deployment->sentinels;
    my $start = time;
    $gateway->nginx->stop;
    cmp_ok(time - $start, '<', 10, 'nginx quits without waiting for Sentinels');
    unlike($gateway->nginx->error_log, qr/\[alert\]/, 'the log has no alert');
};

subtest 'the name of the master is wrong' => sub {
    my $deployment = Sentinels->start(replicas => 0, sentinels => 1);
    my $gateway = gateway($deployment, servers => $deployment->directive =~ s/mymaster/other/r);
    wait_until('the log', sub { $gateway->nginx->error_log =~ /the master "other" is not found, .*: no master of this name is known/ });
    is($gateway->get('/', 'k')->status, 503, 'requests get 503');
    is(main_redis($gateway)->{master}, undef, 'the status shows no master');
};

subtest 'another Redis is configured' => sub {
    my @deployments = map { Sentinels->start(replicas => 0, sentinels => 1) } 1 .. 2;
    my $gateway = gateway($deployments[0], servers => 'include %DIR%/sentinels.conf;',
        files => { 'sentinels.conf' => $deployments[0]->directive });
    my ($first, $second) = map { ($_->servers)[0] } @deployments;
    becomes(sub { main_redis($gateway)->{master} }, address_of($first), 'the master');
    open my $file, '>', $gateway->nginx->dir . '/sentinels.conf' or die $!;
    print $file $deployments[1]->directive;
    close $file;
    $gateway->nginx->reload;
    becomes(sub { main_redis($gateway)->{master} }, address_of($second), 'a reload uses the new Sentinels');
};

done_testing;
