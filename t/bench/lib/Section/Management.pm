package Section::Management;

# How long programs wait for the first pages of tollgate_admin, and what they cost other requests, with many ids in Redis.
# First, each request 50 times, one after the other, over one connection, and a few times beside ordinary requests through
# Redis at 1,000 a second. Then the latency of these: alone, and while clients of tollgate_admin send one request after the
# other. All of them take turns in each round.

use strict;
use warnings;
use ApiKeys;
use BackgroundLoad;
use Comparison qw(meets);
use Digest::SHA qw(sha256_hex);
use Gateways;
use Http;
use JSON::PP qw(decode_json encode_json);
use Latency;
use List::Util qw(max);
use ManagedIds;
use POSIX qw(strftime);
use Statistics qw(median percentile range);
use TestProcess;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime sleep);

my ($rate, $times, $times_beside, $operations, $operations_beside) = (1000, 50, 7, 1000, 200);
my $idle = 0.5;       # seconds before each page beside ordinary requests: programs ask now and then
my $page_target = '<= 20';
my $ratio_target = '<= 1.10';
my $patience = 10;    # seconds, for one kind of request
my $ordinary_connections = 16;    # so that both workers have ordinary requests

sub run {
    my ($class, $setup) = @_;
    my $count = $setup->option('ids');
    my $nginx = Gateways->tollgate($setup->upstream, $setup->redis, http => <<'END');
        tollgate_plans billed { plan endless 1000000000r/m; history 90d; }
        server {
            listen 127.0.0.1:%PORT40% reuseport;
            keepalive_requests 1000000;
            location /admin/ { tollgate exact; tollgate_scope admin; tollgate_admin main; }
        }
END
    my $contender = $setup->contender('ordinary', 'exact', 'many', nginx => $nginx);
    my $today = int(time / 86_400);
    my $ids = ManagedIds->write($setup->redis, 't:', count => $count, plan => 'endless', table => 'billed', day => $today - 1);
    $contender->ask_with_every_key;
    my $operator = ApiKeys->make(plan => 'endless', count => 2);
    $operator->write_records($setup->redis, 't:');
    $setup->redis->cmd('HSET', 't:key:' . sha256_hex($operator->token(0)), scopes => 'admin');

    my $self = {
        address => '127.0.0.1:' . $nginx->port(40),
        token   => $operator->token(0),
        known   => $contender->api_keys->token(0),
        usage   => '/admin/usage?limit=100&from=' . strftime('%Y-%m-%d', gmtime(($today - 30) * 86_400)),
        search  => '/admin/keys?limit=50&group=team',
        batch   => sub {
            my ($size) = @_;
            return encode_json({ operations => [map {
                { method => 'PATCH', path => 'keys/' . $ids->id($_ % $count), body => { meta => { number => $_ } } }
            } 1 .. $size] });
        },
    };
    printf "%d ids\n", $count + $contender->api_keys->count;
    _print_pages($self, $count, $contender);
    _print_isolation($self, $setup, $contender);
    $nginx->stop;
}

sub _print_pages {
    my ($self, $count, $contender) = @_;
    my $digest = sha256_hex($self->{known});
    my $prefix = sprintf 'customer%%20%05d', $count / 200;    # of up to 100 names in the middle
    my $entries = sub { my ($name) = @_; return sub { scalar @{ $_[0]{$name} } } };
    my $found = sub { defined $_[0]{id} };
    my @kinds = (
        ['begin of the name',       "GET /admin/keys?limit=50&name=$prefix",       $entries->('keys')],
        ['group',                   "GET $self->{search}",                         $entries->('keys')],
        ['scope',                   'GET /admin/keys?limit=50&scope=reports',      $entries->('keys')],
        ['a member of the meta',    'GET /admin/keys?limit=50&meta=tier%3Dgold',   $entries->('keys')],
        ['lookup by the token',     'POST /admin/keys/lookup', $found, encode_json({ token => $self->{known} })],
        ['lookup by the digest',    'POST /admin/keys/lookup', $found, encode_json({ digest => $digest })],
        ['usage',                   "GET $self->{usage}",                          $entries->('ids')],
        ['bans',                    'GET /admin/bans?limit=100',                   $entries->('bans')],
        ["batch of $operations",    'POST /admin/keys:batch', sub { _executed($_[0]) }, $self->{batch}->($operations)],
    );
    my $client = Http->connect($self->{address}, timeout => 60);
    my $size;
    my $measure = sub {
        my ($most, $before, $request, $check, $body) = @_;
        my ($method, $path) = split / /, $request;
        my @took;
        my $begin = clock_gettime(CLOCK_MONOTONIC);
        while (@took < $most && clock_gettime(CLOCK_MONOTONIC) - $begin < $patience) {
            sleep $before;
            my $start = clock_gettime(CLOCK_MONOTONIC);
            my $response = $client->request($method, $path, _fields($self, $body), $body);
            push @took, 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
            $size = $response->status == 200 && $check->(decode_json($response->body));
            die "$request: status @{[ $response->status ]}\n@{[ $response->body ]}\n" unless $size;
        }
        return @took;
    };
    printf "%-24s %9s %9s %-14s %8s %8s %18s\n", 'first page, ms', 'median', 'max', 'target', 'requests', 'entries', 'beside others';
    for my $kind (@kinds) {
        my ($name, @request) = @$kind;
        my @took = $measure->($times, 0, @request);
        my $ordinary = _ask_in_background($contender);
        my @beside = $measure->($times_beside, $idle, @request);
        undef $ordinary;
        my $target = $name =~ /^batch/ ? '-' : meets(median(@took), $page_target);
        printf "%-24s %9.1f %9.1f %-14s %8d %8d %18.1f\n", $name, median(@took), max(@took), $target, scalar @took, $size, median(@beside);
    }
    $client->close;
}

# Ordinary requests, until the process is destroyed.
sub _ask_in_background {
    my ($contender) = @_;
    return TestProcess->start('ordinary', sub {
        Latency->measure($contender, seconds => 1, per_second => $rate, seed => $_, connections => $ordinary_connections) for 1 .. 1000;
    });
}

sub _fields {
    my ($self, $body) = @_;
    return { Authorization => "Bearer $self->{token}", $body ? ('Content-Type' => 'application/json') : () };
}

# The operations of a batch, if all were executed.
sub _executed {
    my ($answer) = @_;
    my @results = @{ $answer->{results} };
    my @refused = grep { $_->{status} != 200 } @results;
    die 'batch: ' . encode_json($refused[0]) . "\n" if @refused;
    return scalar @results;
}

sub _print_isolation {
    my ($self, $setup, $contender) = @_;
    my ($seconds, $rounds) = map { $setup->option($_) } qw(seconds rounds);
    my %beside = (
        'reading'   => { connections => 100, path => $self->{usage} },
        'searching' => { connections => 100, path => $self->{search} },
        'batches'   => { connections => 2, path => '/admin/keys:batch', body => $self->{batch}->($operations_beside) },
    );
    my @states = ('alone', 'alone again', sort keys %beside);    # the second shows what chance does
    my (%took, %ratios, %answers);
    for my $round (1 .. $rounds) {
        my %p99;
        for my $state ($round % 2 ? @states : reverse @states) {
            my $load = $beside{$state} && BackgroundLoad->start(
                servers => [$self->{address}], token => $self->{token}, heeds_retry_after => 1, timeout => 60, %{ $beside{$state} },
            );
            my @took = Latency->measure($contender, seconds => $seconds, per_second => $rate, seed => $round,
                connections => $ordinary_connections);
            if ($load) {
                my $result = $load->finish;
                $answers{$state}{$_} += $result->{status}{$_} for keys %{ $result->{status} };
            }
            push @{ $took{$state} }, @took;
            $p99{$state} = percentile(0.99, @took);
        }
        push @{ $ratios{$_} }, $p99{$_} / $p99{alone} for grep { $_ ne 'alone' } @states;
    }
    printf "\n%-16s %8s %8s %8s %8s %-12s %-16s %s\n", 'us, beside', 'requests', 'median', 'p99', 'ratio', 'min..max', 'target',
        'answers of tollgate_admin';
    for my $state (@states) {
        my @ratios = @{ $ratios{$state} // [] };
        my @columns = @ratios
            ? (sprintf('%.2f', median(@ratios)), range('%.2f', @ratios), $beside{$state} ? meets(median(@ratios), $ratio_target) : '-')
            : ('', '', '');
        my $answers = $answers{$state} // {};
        printf "%-16s %8d %8.0f %8.0f %8s %-12s %-16s %s\n", $state, scalar @{ $took{$state} }, median(@{ $took{$state} }),
            percentile(0.99, @{ $took{$state} }), @columns, join ', ', map { "$answers->{$_} with $_" } sort keys %$answers;
    }
}

1;
