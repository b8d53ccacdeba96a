# A worker stalls while Redis is healthy. No request is refused or decided without Redis, and the breaker does not open.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use FakeRedis qw(name_of pause);
use Gateway;
use Http;
use RedisServer;
use Time::HiRes qw(sleep);
use Wait qw(wait_until);

my $redis = RedisServer->start;
my $fake = FakeRedis->start(
    redis  => $redis->address,
    faults => {
        # Each reply is late by a part of the timeout, so that the worker can be stopped meanwhile.
        map {
            my $name = $_;
            ("slow $name" => { reply => sub { (name_of($_[1]) eq $name ? pause(0.02) : (), $_[0]) } })
        } qw(lookup acquire),
    },
);

# Sends a request with each token, stops the worker as soon as Redis gets a command of this name, and returns the
# responses.
sub stalled {
    my ($gateway, $name, @tokens) = @_;
    my ($worker) = $gateway->nginx->workers;
    my @clients = map { Http->connect($gateway) } @tokens;
    $fake->reads;
    $clients[$_]->send(Http::format_request('GET', '/', { Authorization => "Bearer $tokens[$_]" })) for keys @clients;
    wait_until($name, sub { grep { $_ eq $name } map { @$_ } @{ $fake->reads } });
    kill STOP => $worker;
    sleep 1;    # twice the timeout
    kill CONT => $worker;
    return map { $_->response } @clients;
}

for my $case (['lookup', 'timeout 500ms; key_cache 0;', ''], ['acquire', 'timeout 500ms;', 'lease=off']) {
    my ($name, $directives, $table) = @$case;
    subtest "while Redis answers a $name" => sub {
        my $gateway = Gateway->start(
            plans          => 'plan free 1000000r/d;',
            table          => $table,
            redis          => $directives,
            redis_server   => $redis,
            server_address => $fake->address,
            server         => 'location = /status { tollgate_status; }',
            http           => 'log_format verdict "$tollgate_verdict";',
            location       => 'access_log %DIR%/access.log verdict;',
        );
        my @tokens = map { "k$_" } 1 .. 8;
        $gateway->import_key($_, id => $_, plan => 'free') for @tokens;
        $gateway->get('/', $_) for @tokens;
        $gateway->subscribed(1);
        $fake->fault("slow $name");
        for my $round (1 .. 3) {
            my %status;
            $status{ $_->status }++ for stalled($gateway, $name, @tokens);
            is_deeply(\%status, { 200 => 8 }, 'all requests are granted');
        }
        $fake->heal;
        my ($main) = @{ $gateway->get('/status')->json->{redis} };
        is($main->{breaker_opened}, 0, 'no breaker opened');
        my $verdicts = sub {
            open my $log, '<', $gateway->nginx->dir . '/access.log' or die $!;
            my %seen;
            chomp, $seen{$_}++ while <$log>;
            return \%seen;
        };
        # A line is written when its response has been sent.
        wait_until('the access log', sub { my $n = 0; $n += $_ for values %{ $verdicts->() }; $n == 32 });
        is_deeply($verdicts->(), { granted => 32 }, 'Redis decided all of them');
        unlike($gateway->nginx->error_log, qr/\[(?:warn|error)\]/, 'no warning or error is logged');
        $gateway->nginx->stop;
    };
}

done_testing;
