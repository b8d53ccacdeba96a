# Allocations fail in the workers. Each request gets a response, no worker exits or logs an alert, nothing hangs, no
# limit is exceeded, and the same workers serve normally afterwards.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use FailingNew;
use Gateway qw(wait_for_room);
use Http;
use RedisServer;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $failing = FailingNew->new or plan skip_all => 'built without failing_new.so';

my $limit = 400;
my $redis = RedisServer->start(conf => ['appendonly yes', 'appendfsync always']);    # keeps its data when it is killed
my $gateway = $failing->start(sub {
    return Gateway->start(
        redis_server => $redis,
        plans    => "plan free 1000000r/d; plan tight ${limit}r/d; plan spent 1r/d; plan slow 4r/2s 1000000r/d; plan all unlimited;
                     plan own custom; anonymous 100r/d; ban after=3 within=2s for=2s up_to=2s;",
        redis    => 'key_cache 200ms;',
        workers  => 2,
        http     => 'tollgate_plans more { plan free 1000000r/d 90000r/h; plan all 1000000r/d; }
                     log_format verdict "$status $tollgate_verdict $tollgate_key_id $tollgate_plan $tollgate_limit $tollgate_remaining $tollgate_reset";',
        location => 'access_log %DIR%/access.log verdict; add_header X-Verdict $tollgate_verdict always;',
        server   => <<'END',
            tollgate_json_errors on;
            location = /status { tollgate_status; }
            location = /usage { tollgate api; tollgate_usage; }
            location /two { tollgate api more; tollgate_headers both; proxy_pass http://unix:%DIR%/upstream.sock; }
            location /page { tollgate api; error_page 401 403 429 503 /page/error; proxy_pass http://unix:%DIR%/upstream.sock; }
            location = /page/error { return 200 "page\n"; }
            location /dry { tollgate api; tollgate_dry_run on; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    );
});
my $nginx = $gateway->nginx;
$gateway->subscribed(2);
wait_for_room($redis, 86400, 72);
my %plan = (known => 'free', tight => 'tight', spent => 'spent', slow => 'slow', all => 'all', own => 'own', gold => 'gold');

$gateway->import_key($_, id => $_, plan => $plan{$_}, limits => '100000r/h 1000000r/d') for keys %plan;
$gateway->import_key('disabled', id => 'd', plan => 'free', state => 'disabled');

# Pairs of a path and a key. A key that ends with a star is new in each round.
my @requests = (
    (map { ['/', $_] } qw(known tight tight spent slow slow all own gold disabled new* tg_x), undef),
    (map { ['/two', $_] } qw(known all new*), undef),
    ['/usage', 'known'], ['/usage', 'all'], ['/page', 'disabled'], ['/page', 'known'], ['/dry', 'new*'], ['/dry', 'tight'], ['/status'],
);
my ($granted, $number, $seed) = (0, 0, 0);

# Sends all requests at once, each on its own connection. Returns the responses that are wrong.
sub round {
    my @asked = map { [@$_] } @requests;
    my @wrong;
    for my $asked (@asked) {
        my ($path, $token) = @$asked;
        $token =~ s/\*$/$number++/e if defined $token;
        $asked->[2] = Http->connect($gateway, timeout => 10);
        $asked->[2]->send(Http::format_request('GET', $path, { Connection => 'close', defined $token ? (Authorization => "Bearer $token") : () }));
    }
    for my $asked (@asked) {
        my ($path, $token, $connection) = @$asked;
        my $name = "$path " . ($token // 'no key');
        my $r = eval { $connection->response } or do { push @wrong, "$name: $@"; next };
        my $status = $r->status;
        push @wrong, "$name: status $status" if $status !~ /^(200|401|403|429|500|503)$/;
        push @wrong, "$name: $status without Retry-After" if $status =~ /^(429|503)$/ && ($r->header('Retry-After') // '') !~ /^[1-9]\d*$/;
        push @wrong, "$name: $status of a good key" if ($token // '') eq 'known' && $status =~ /^(401|403)$/;
        push @wrong, "$name: 200 of no good key" if $path eq '/' && ($token // '') =~ /^(new|disabled|gold|tg_x|$)/ && $status == 200;
        $granted++ if $status == 200 && ($token // '') eq 'tight' && $path eq '/';
    }
    return @wrong;
}

# Runs rounds of requests while one of so many allocations fails. $event runs before each round.
sub bears {
    my ($what, $event, %options) = @_;
    for my $one_of (@{ $options{one_of} // [80, 30, 10] }) {
        subtest "$what, one of $one_of allocations fails" => sub {
            my @workers = $nginx->workers;
            my $log = length $nginx->error_log;
            my $rounds = 12;
            my @wrong;
            $failing->begin(one_of => $one_of, seed => ++$seed, workers => \@workers);
            for my $round (1 .. $rounds) {
                $event->($round, $rounds) if $event;
                push @wrong, round();
            }
            my $failed = $failing->end;
            cmp_ok($failed, '>', 0, "$failed allocations have failed");
            ok(!@wrong, 'each request gets a correct response') or diag join "\n", @wrong[0 .. ($#wrong > 20 ? 20 : $#wrong)];
            $options{heal}->() if $options{heal};
            my $why;
            ok(eval { wait_until('service', sub { eval { serves() } or $why = $@ and 0 }, 5) }, 'the workers serve again') or diag "$@$why";
            is_deeply([sort $nginx->workers], [sort @workers], '... and are the same ones') unless $options{reloads};
            my $news = substr $nginx->error_log, $log;
            my @lines = grep { /\[(?:alert|emerg)\]|exited on signal|^\S+\(\S*\)\[0x/ || /\[crit\] (?!.*bad_alloc)/ } split /^/, $news;
            ok(!@lines, 'the log has no critical lines except failed allocations') or diag @lines[0 .. ($#lines > 40 ? 40 : $#lines)];
        };
    }
}

# Checks that both workers answer correctly and use Redis. Dies if not.
sub serves {
    my %expected = (
        (map { $_ => '200 granted' } qw(known all own)), (map { $_ => '(?:200 granted|429 (?:limited|banned))' } qw(tight slow)),
        gold => '403 forbidden', disabled => '(?:401 unauthenticated|429 limited)', spent => '429 (?:limited|banned)',
    );
    for my $token ((sort keys %expected) x 4) {
        my $r = $gateway->get('/', $token);
        my $answer = $r->status . ' ' . $r->header('X-Verdict');
        die "$token: $answer\n" if $answer !~ /^$expected{$token}$/;
        $granted++ if $token eq 'tight' && $r->status == 200;
    }
    my ($main) = @{ $gateway->get('/status')->json->{redis} };
    die "breaker: $main->{breaker_open_workers}, subscribed: $main->{subscribed_workers}\n"
        if $main->{breaker_open_workers} || $main->{subscribed_workers} != 2;
    return 1;
}

is(join("\n", round()), '', 'without failures, all responses are correct');
bears('requests') for 1 .. 3;
bears('all fails', undef, one_of => [1]);
bears('changed keys', sub {
    my ($round) = @_;
    $gateway->change_key('own', limits => 100000 + $round . 'r/h 1000000r/d');
    $redis->cmd('PUBLISH', 't:events', $_) for qw(known tight all), sha256_hex('known'), 'x' x 1000, '';
});
bears('Redis forgets its scripts', sub { $redis->cmd('SCRIPT', 'FLUSH') });
bears('a lost connection', sub { $redis->cmd('CLIENT', 'KILL', 'TYPE', $_) for qw(normal pubsub) });
bears(
    'Redis is killed, and restarted',
    sub {
        my ($round, $rounds) = @_;
        $redis->kill if $round == 3;
        $redis->restart if $round == $rounds - 3;
    },
);
bears('Redis hangs', sub { my ($round, $rounds) = @_; $redis->sigstop if $round == 3; $redis->sigcont if $round == $rounds - 3 });
bears(
    'a reload',
    sub {
        my ($round) = @_;
        return if $round != 3;
        $nginx->reload;
        $failing->also($nginx->workers);
    },
    reloads => 1,
    heal    => sub { $nginx->old_workers_gone; $gateway->subscribed(2) },
);

is(join("\n", round()), '', 'all responses are correct again');
cmp_ok($granted, '>', 0, "a key with $limit requests a day is granted some");
cmp_ok($granted, '<=', $limit, '... and no more than its limit');
$nginx->stop;
done_testing;
