# What a request with `tollgate_cost VALUE settle=$variable` has used when it ends, if the zone has no place for its quota:
# Redis stands still, and other ids owe it units. The worker keeps it.

use strict;
use warnings;
use lib 't/lib';
use Gateway qw(wait_for_room);
use HeldUpstream;
use Http;
use Test::More;
use Wait qw(becomes wait_until);

my $held = HeldUpstream->new;
my $path = $held->path;

# A request is granted, and its response waits. Redis stands still, and other ids take every place of the zone.
sub start_and_fill {
    my (%options) = @_;
    my $gateway = Gateway->start(
        plans  => 'plan free 1000r/h 5000r/d;', table => 'lease=off', redis => 'timeout 300ms;',
        http   => 'tollgate_zone 128k; tollgate_plans more lease=off { plan free 1000r/h 5000r/d; }',
        server => "location /held { tollgate api; tollgate_cost 10 settle=\$upstream_http_x_used; proxy_pass http://unix:$path; }
                   location /one { tollgate api; tollgate_subject \$arg_id plan=free; proxy_pass http://unix:%DIR%/upstream.sock; }
                   location /two { tollgate api more; tollgate_subject \$arg_id plan=free; proxy_pass http://unix:%DIR%/upstream.sock; }",
        %options,
    );
    $gateway->import_key('k', id => 'k1', plan => 'free');
    wait_for_room($gateway->redis, 3600);
    my $client = Http->connect($gateway);
    $client->send("GET /held HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n");
    my $upstream = $held->accept;
    is(count($gateway), 10, 'its cost is counted');
    $gateway->redis->sigstop;
    # The zone has as many places for records of keys as for quotas.
    my $n = 0;
    for my $location (qw(two one)) {
        my $refused = 0;
        while ($refused < 100) {
            my $status = $gateway->get("/$location?id=other" . ++$n)->status;
            $refused = $status == 503 ? $refused + 1 : 0;
            BAIL_OUT("the zone is not full") if $n > 10_000;
        }
    }
    my $quotas = $gateway->status->{zone}{stores}{quotas};
    is($quotas->{used}, $quotas->{size}, "the zone is full, after $n ids");
    return ($gateway, $client, $upstream);
}

sub count { my ($gateway) = @_; return $gateway->count('k1', 'api', 3600) }
sub units { my ($gateway) = @_; return $gateway->status->{redis}[0]{lease_units} }

sub end_request {
    my ($gateway, $client, $upstream, $used) = @_;
    HeldUpstream::answer($upstream, 'X-Used' => $used);
    is($client->response('GET')->status, 200, 'the response');
    becomes(sub { $gateway->status->{redis}[0]{cost_units}{settled} }, $used, '... settles what was used');
}

for my $used (3, 25) {
    subtest "a request that has used $used units instead of 10" => sub {
        my ($gateway, $client, $upstream) = start_and_fill();
        end_request($gateway, $client, $upstream, $used);
        $gateway->redis->sigcont;
        becomes(sub { count($gateway) }, $used, 'Redis counts them');
        is($gateway->count('k1', 'api', 86400), $used, '... in each window');
        is(units($gateway)->{lost}, 0, '... and nothing is lost');
        wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
        $gateway->nginx->stop;
    };
}

subtest 'a worker that exits before there is a place' => sub {
    my ($gateway, $client, $upstream) = start_and_fill();
    $gateway->nginx->reload;
    end_request($gateway, $client, $upstream, 3);
    becomes(sub { units($gateway)->{lost} }, 7, 'the status has them as lost');
    $gateway->redis->sigcont;
    wait_until('all to be settled', sub { $gateway->unsettled == 0 }, 30);
    is(count($gateway), 10, 'the reservation stands');
    $gateway->nginx->stop;
};

done_testing;
