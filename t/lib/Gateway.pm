package Gateway;

# A gateway with its own Redis, and an upstream that reports what it received.
#
#   use Gateway;
#   my $gateway = Gateway->start(
#       plans     => 'plan free 5r/2s 1000r/d; anonymous 30r/m;',   # of the plan table "api"
#       table     => 'lease=off',                  # put before its block
#       location  => 'tollgate_headers both;',     # put into location / beside `tollgate api; proxy_pass …;`
#       server    => 'location /off { … }',        # put into its server
#       http      => 'tollgate_plans search { … }',         # put before its server
#       redis     => 'timeout 200ms;',             # put into tollgate_redis "main" (its prefix is "t:")
#       server_address => 'unix:/…',               # the address in tollgate_redis; that of Redis by default
#       servers   => 'sentinel m 127.0.0.1:26379;',         # in tollgate_redis instead of "server ADDRESS;"
#       redis_options  => { password => 'x' },     # of RedisServer->start
#       share     => $other,                       # another gateway whose Redis this one uses
#       redis_server => $redis,                    # an existing RedisServer or RedisCluster
#       workers => 2, log_level => 'debug', …      # as Nginx->start
#   );
#   $gateway->import_key('secret', id => 'k1', plan => 'free');     # writes a key's record, as `tollgate key import`
#   $gateway->change_key('secret', plan => 'pro');                  # changes the record, and publishes it on `events`
#   $gateway->change_key('secret');                                 # deletes it, and publishes that
#   $gateway->subscribed(2);                                        # waits until so many workers, of all gateways, are
#                                                                   # subscribed, and this gateway's workers know it
#   $gateway->status                                                # the contents of tollgate_status
#   $gateway->unsettled                                             # units granted alone and not yet settled
#   my $calls = $gateway->calls(sub { … });                         # the number of calls of scripts by any gateway while
#                                                                   # this runs, without heartbeats and last uses of keys
#   my @calls = $gateway->monitor_calls(sub { … });                 # the same, as lines of MONITOR
#   my $r = $gateway->get('/', 'secret', %headers);                 # see Http.pm
#   my $r = $gateway->request('POST', '/', { … }, $body);
#   $gateway->nginx, $gateway->redis
#   $gateway->use_redis($redis)                                     # the Redis of these functions, after a failover
#   my $count = $gateway->count('k1', 'api', 86400);                # the count of that window in Redis
#
# The upstream answers 200 with a line that contains the request's uri, authorization and limit (its X-RateLimit-Limit).
# `upstream` adds other locations to it.

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Exporter 'import';
use Http qw(http_request);
use List::Util qw(min);
use Nginx;
use RedisServer;
use Wait qw(wait_until);

our @EXPORT_OK = qw(wait_for_window wait_for_room in_one_window spend_rest);

sub start {
    my ($class, %options) = @_;
    my $redis = delete $options{redis_server};
    $redis //= $options{share} ? $options{share}->redis : RedisServer->start(%{ delete $options{redis_options} // {} });
    my $address = delete $options{server_address} // $redis->address;
    my $directive = $redis->isa('RedisCluster') ? 'cluster' : 'server';
    my $servers = delete $options{servers} // "$directive $address;";
    my %text = map { $_ => delete $options{$_} // '' } qw(plans table location server http redis upstream);
    delete $options{share};
    # A busy machine is not a fault of Redis.
    $text{redis} .= ' timeout 2s;' unless $text{redis} =~ /\btimeout\b/;
    my $nginx = Nginx->start(
        conf => <<"END",
            tollgate_redis main { $servers prefix t:; $text{redis} }
            tollgate_plans api redis=main $text{table} { $text{plans} }
            $text{http}
            server {
                listen 127.0.0.1:%PORT%;
                location / { tollgate api; $text{location} proxy_pass http://unix:%DIR%/upstream.sock; }
                $text{server}
            }
            server {
                listen unix:%DIR%/gateway-status.sock;
                location / { tollgate_status; }
            }
            server {
                listen unix:%DIR%/upstream.sock;
                $text{upstream}
                location / { return 200 "uri=\$request_uri authorization=\$http_authorization limit=\$http_x_ratelimit_limit\\n"; }
            }
END
        %options,
    );
    return bless { redis => $redis, nginx => $nginx }, $class;
}

sub nginx   { $_[0]{nginx} }
sub redis   { $_[0]{redis} }
sub address { $_[0]{nginx}->address }
sub use_redis { $_[0]{redis} = $_[1] }

sub import_key {
    my ($self, $token, %record) = @_;
    my $digest = sha256_hex($token);
    my %all = (name => '', created => time, state => 'active', %record);
    $self->redis->cmd('HSET', "t:key:$digest", %all);
    $self->redis->cmd('SADD', "t:id:{$record{id}}", $digest);
}

sub change_key {
    my ($self, $token, %fields) = @_;
    my $digest = sha256_hex($token);
    $self->redis->cmd(%fields ? ('HSET', "t:key:$digest", %fields) : ('DEL', "t:key:$digest"));
    $self->redis->cmd('PUBLISH', 't:events', $digest);
}

sub subscribed {
    my ($self, $workers) = @_;
    my $own = min($workers, $self->nginx->{workers});
    # Each gateway has one subscription, for all of its workers.
    my $gateways = int(($workers + $own - 1) / $own);
    wait_until('subscriptions', sub { $self->redis->cmd('PUBSUB', 'NUMSUB', 't:events')->[1] >= $gateways });
    # A worker receives the confirmation of its subscription later than Redis sends it, and the others learn of it in the
    # zone. A record that is looked up before then is looked up again one second later.
    wait_until('the workers to know', sub { $self->status->{redis}[0]{subscribed_workers} >= $own });
}

sub status {
    my ($self) = @_;
    return http_request('unix:' . $self->nginx->dir . '/gateway-status.sock', 'GET', '/')->json;
}

sub calls {
    my ($self, $code) = @_;
    return scalar(() = $self->monitor_calls($code));
}

sub monitor_calls {
    my ($self, $code) = @_;
    # The first worker publishes the plan tables on its first connection. This call is not counted.
    wait_until('the plan tables', sub { $self->redis->cmd('EXISTS', 't:plans') });
    my $monitor = $self->redis->connection;
    $monitor->cmd('MONITOR');
    $code->();
    my $end = 'end of the calls ' . rand;
    $self->redis->cmd('ECHO', $end);
    my @calls;
    while ((my $line = $monitor->read) !~ /\Q$end/) {
        push @calls, $line if $line =~ /"evalsha" /i && $line !~ /"t:(?:nodes"|used:)/;
    }
    return @calls;
}

sub unsettled {
    my ($self) = @_;
    my $owed = $self->status->{redis}[0]{owed_units};
    return $owed->{noted} - $owed->{settled} - $owed->{lapsed};
}

sub get {
    my ($self, $path, $token, %headers) = @_;
    $headers{Authorization} //= "Bearer $token" if defined $token;
    return $self->request('GET', $path, \%headers);
}

sub request {
    my ($self, @arguments) = @_;
    return http_request($self->address, @arguments);
}

sub count {
    my ($self, $id, $table, $period) = @_;
    return $self->redis->cmd('HGET', "t:quota:{$id}:$table", "$period.count");
}

# Sends requests of a token, of which so many are granted already, until its limit is spent, and then one more to each
# gateway. Returns how many were granted in all. Units that a node or a worker holds when a load ends are granted later.
sub spend_rest {
    my ($gateways, $token, $granted, $limit) = @_;
    my $send = sub { $granted += grep { $_->get('/', $token)->status == 200 } @$gateways };
    wait_until("$limit granted requests", sub { $granted >= $limit || $send->() >= $limit });
    return $send->();
}

# Waits until a window of this many seconds of Redis's clock began less than `slack` of its length ago, so that the
# following requests are in one window.
sub wait_for_window {
    my ($redis, $period, $slack) = @_;
    $slack //= 0.2;
    while (1) {
        my ($seconds, $microseconds) = @{ $redis->cmd('TIME') };
        my $phase = ($seconds % $period) + $microseconds / 1e6;
        return if $phase < $slack * $period;
        select undef, undef, undef, $period - $phase + 0.002;
    }
}

# Waits until at least so many seconds of a window are left that is longer than the test. It waits only if the test
# starts just before the end of an hour or of a day, and never longer than those seconds (30 by default).
sub wait_for_room {
    my ($redis, $period, $seconds) = @_;
    $seconds //= 30;
    while (1) {
        my ($now, $microseconds) = @{ $redis->cmd('TIME') };
        my $rest = $period - $now % $period - $microseconds / 1e6;
        return if $rest >= $seconds || $seconds >= $period;
        select undef, undef, undef, $rest + 0.002;
    }
}

# Runs the code at the start of a window of Redis's clock, again if the window ended meanwhile, and returns its result.
# Dies if the code takes longer than a window each time.
sub in_one_window {
    my ($redis, $period, $code) = @_;
    my $window = sub { int($redis->cmd('TIME')->[0] / $period) };
    for (1 .. 30) {
        my $last = $window->();
        wait_for_window($redis, $period, 0.05) until $window->() != $last;
        my $current = $window->();
        my $result = $code->();
        return $result if $window->() == $current;
    }
    die "30 windows of $period s each ended before the test's code\n";
}

1;
