# The counts of tollgate_status are those of all workers: each worker counts in memory of its own.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use Wait qw(becomes wait_until);

my $gateway = Gateway->start(
    plans => 'plan free 100000r/d; plan spent 1r/d;',
    http  => <<'END',
        server {
            # The kernel distributes the connections to all workers.
            listen 127.0.0.1:%PORT1% reuseport;
            location = /worker { return 200 $pid; }
            location / { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
        }
END
    workers => 3,
);
$gateway->import_key("secret-$_", id => "id-$_", plan => $_) for qw(free spent);

# Sends this number of requests through a connection to each worker. Returns their processes.
sub ask_every_worker {
    my ($token, $number) = @_;
    my %serving = map { $_ => 1 } $gateway->nginx->workers;
    my %connections;
    wait_until('a connection to each worker', sub {
        my $connection = Http->connect($gateway);
        my $pid = $connection->request('GET', '/worker')->body;
        $connections{$pid} //= $connection if $serving{$pid};
        return keys %connections == keys %serving;
    });
    for my $connection (values %connections) {
        $connection->request('GET', '/', { Authorization => "Bearer $token" }) for 1 .. $number;
        $connection->close;
    }
    my @asked = sort keys %connections;
    return @asked;
}

# The counts of this plan, and the decisions of Redis's statistics, which have one for each request.
sub counted {
    my ($plan) = @_;
    my $status = $gateway->status;
    my ($requests) = grep { $_->{plan} eq $plan } @{ $status->{requests} };
    my $verdicts = $requests->{verdicts};
    my $decisions = $status->{redis}[0]{quota_decisions};
    my $decided = 0;
    $decided += $_ for values %$decisions;
    return join ' ', "granted $verdicts->{granted}", "limited $verdicts->{limited}", "decided $decided";
}

subtest 'three workers' => sub {
    is(scalar(ask_every_worker('secret-free', 20)), 3, 'serve requests');
    becomes(sub { counted('free') }, 'granted 60 limited 0 decided 60', 'and count each request once');
    ask_every_worker('secret-spent', 5);
    becomes(sub { counted('spent') }, 'granted 1 limited 14 decided 75', 'also refused ones');
};

subtest 'more workers' => sub {
    (my $conf = $gateway->nginx->{options}{conf}) =~ s/plan spent/plan new 5r\/d; plan spent/;
    $gateway->nginx->reload(conf => $conf, workers => 5);
    $gateway->nginx->old_workers_gone;
    is(counted('free'), 'granted 60 limited 0 decided 75', 'a reload keeps the counts');
    is(scalar(ask_every_worker('secret-free', 10)), 5, 'five workers serve');
    becomes(sub { counted('free') }, 'granted 110 limited 0 decided 125', 'and count on');
};

subtest 'a worker that is killed' => sub {
    my ($killed) = ask_every_worker('secret-free', 1);
    becomes(sub { counted('free') }, 'granted 115 limited 0 decided 130', 'it has counted');
    $gateway->nginx->kill_worker($killed);
    is(counted('free'), 'granted 115 limited 0 decided 130', 'its counts remain');
    my @workers = ask_every_worker('secret-free', 2);
    is(scalar(grep { $_ == $killed } @workers), 0, 'its successor serves');
    becomes(sub { counted('free') }, 'granted 125 limited 0 decided 140', 'and counts on');
};

subtest 'fewer workers' => sub {
    $gateway->nginx->reload(workers => 1);
    $gateway->nginx->old_workers_gone;
    is(counted('free'), 'granted 125 limited 0 decided 140', 'the counts of all workers remain');
    is(counted('spent'), 'granted 1 limited 14 decided 140', '... of every plan');
    is(scalar(ask_every_worker('secret-free', 3)), 1, 'one worker serves');
    becomes(sub { counted('free') }, 'granted 128 limited 0 decided 143', 'and counts on');
    is($gateway->status->{redis}[0]{subscribed_workers}, 1, 'the states of workers are not counts');
};

$gateway->nginx->stop;
done_testing;
