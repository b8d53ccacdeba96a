# Streams of events that tell at their end what they have used, over three nodes with two workers each: a location counts
# requests, tokens (reserved, then settled) and money (0, then settled), 200 streams run at the same time, and the plans are
# small. In no table is more counted than its limit, at any time, and in the end each has counted exactly what was used:
# also with a kill of Redis or of a worker, a reload, and clients that leave.

use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Gateway qw(wait_for_room);
use Http;
use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(max sum0);
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

my @tables = qw(api tokens spend);
my $period = 3600;
my $reserved = 100;    # tokens: the most that a stream uses

# The limits of the plans, in the order of the tables. A plan is spent in one of them.
my %limits = (
    requests => [250,    100_000, 1_000_000],
    tokens   => [10_000, 12_000,  1_000_000],
    spend    => [10_000, 100_000, 30_000],
    ample    => [1000,   50_000,  200_000],
);

# The service: this test answers for it.
my $path = tempdir(CLEANUP => 1) . '/service.sock';
my $service = IO::Socket::UNIX->new(Local => $path, Listen => 1024) or die "$path: $!\n";

my $redis = RedisServer->start(conf => ['appendonly yes', 'appendfsync always', 'auto-aof-rewrite-percentage 0']);
my @nodes = map { start() } 1 .. 3;
wait_for_room($redis, $period, 120);

sub start {
    my @plans = map { my $table = $_; join ' ', map { "plan $_ $limits{$_}[$table]r/h;" } sort keys %limits } 0 .. 2;
    my $http = <<"CONF";
        tollgate_plans tokens unit=tokens { $plans[1] }
        tollgate_plans spend unit=nano-usd { $plans[2] }
        tollgate_sum \$used \$prompt \$completion;
        tollgate_sum \$price \$prompt*2 \$completion*5;
CONF
    my $server = <<"CONF";
        location /chat {
            tollgate api tokens spend;
            tollgate_response_json \$prompt /usage/prompt_tokens;
            tollgate_response_json \$completion /usage/completion_tokens;
            tollgate_cost 1;
            tollgate_cost $reserved settle=\$used table=tokens;
            tollgate_cost 0 settle=\$price table=spend;
            add_header X-Worker \$pid;
            proxy_buffering off;
            proxy_pass http://unix:$path;
        }
CONF
    return Gateway->start(workers => 2, redis_server => $redis, plans => $plans[0], http => $http, server => $server);
}

# A key of each scenario: its counters are its own.
sub new_key {
    my ($key, $plan) = @_;
    $nodes[0]->import_key($key, id => $key, plan => $plan);
    return $key;
}

my $number = 0;

# Begins so many streams, on all nodes in turn, and returns those that are granted: each has received its first event.
sub begin {
    my ($key, $count) = @_;
    my %streams;
    for (1 .. $count) {
        my $n = ++$number;
        my $stream = $streams{$n} = { n => $n, node => $n % @nodes, prompt => 1 + $n * 7 % 50, completion => $n * 13 % 50 };
        $stream->{client} = Http->connect($nodes[$stream->{node}])->{socket};
        $stream->{client}->syswrite("GET /chat?n=$n HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $key\r\nConnection: close\r\n\r\n");
        $stream->{received} = '';
    }
    my %of_client = map { $_->{client} => $_ } values %streams;
    my $readable = IO::Select->new($service, map { $_->{client} } values %streams);
    my %request;
    for (my $open = $count; $open > 0;) {
        my @ready = $readable->can_read(30) or die "no answer to $open streams\n";
        for my $socket (@ready) {
            if ($socket == $service) {
                $readable->add(my $accepted = $service->accept);
                $request{$accepted} = '';
            } elsif (my $stream = $of_client{$socket}) {
                receive($stream) or die "stream $stream->{n} ended: $stream->{received}\n";
                next unless $stream->{received} =~ m{^HTTP/1.1 (429)|^HTTP/1.1 200.*Hello}s;
                $stream->{is_refused} = defined $1;
                ($stream->{worker}) = $stream->{received} =~ /^X-Worker: (\d+)/m;
                $readable->remove($socket);
                $open--;
            } else {
                $socket->sysread($request{$socket}, 4096, length $request{$socket}) or die "no request\n";
                next unless $request{$socket} =~ m{^GET /chat\?n=(\d+) .*\r\n\r\n}s;
                $readable->remove($socket);
                $streams{$1}{service} = $socket;
                $socket->syswrite("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" . event('{"choices":[{"delta":{"content":"Hello"}}],"usage":null}'));
            }
        }
    }
    return grep { !$_->{is_refused} } map { $streams{$_} } sort { $a <=> $b } keys %streams;
}

sub event { return "data: $_[0]\n\n" }
sub receive { my ($stream) = @_; return $stream->{client}->sysread($stream->{received}, 65536, length $stream->{received}) }

# The event that tells what a stream has used.
sub tell_usage {
    my ($stream) = @_;
    $stream->{service}->syswrite(event(qq({"choices":[],"usage":{"prompt_tokens":$stream->{prompt},"completion_tokens":$stream->{completion}}})));
    $stream->{is_told} = 1;
}

sub finish {
    my (@streams) = @_;
    for my $stream (@streams) {
        tell_usage($stream);
        $stream->{service}->syswrite(event('[DONE]'));
        $stream->{service}->close;
    }
}

# Waits until clients have all of their streams. Returns the number of incomplete ones.
sub receive_rest {
    my (@streams) = @_;
    my $incomplete = 0;
    for my $stream (@streams) {
        1 while receive($stream);
        $incomplete++ if $stream->{received} !~ /data: \[DONE\]/;
    }
    return $incomplete;
}

sub end { my (@streams) = @_; finish(@streams); return receive_rest(@streams) }

# What streams count in each table: those that have not told what they used keep what they reserved.
sub used {
    my (@streams) = @_;
    my @told = grep { $_->{is_told} } @streams;
    my $tokens = $reserved * (@streams - @told) + sum0(map { $_->{prompt} + $_->{completion} } @told);
    return join ' ', scalar @streams, $tokens, sum0(map { price($_) } @told);
}

sub price { my ($stream) = @_; return 2 * $stream->{prompt} + 5 * $stream->{completion} }

sub counts { my ($key) = @_; return join ' ', map { $nodes[0]->count($key, $_, $period) // 0 } @tables }

# Waits until no node holds or owes a unit.
sub wait_for_reports {
    for my $node (@nodes) {
        wait_until('the end of reports', sub {
            my $main = eval { $node->status->{redis}[0] } or return;
            my ($units, $owed) = @$main{qw(lease_units owed_units)};
            return $units->{granted} == $units->{spent} + $units->{returned} + $units->{lost} && $owed->{noted} == $owed->{settled} + $owed->{lapsed};
        });
    }
}

my (%count, %most);    # by key and table
my $read_to = 0;

# The largest count that each table of the key ever had, and the last one. Redis appends each change to its file. The end
# of the file may be a part of a command, of another entry: it is read the next time.
sub history_of_counts {
    my ($key) = @_;
    my ($file) = glob $redis->dir . '/appendonlydir/*.incr.aof';
    open my $log, '<', $file or die "$file: $!\n";
    seek $log, $read_to, 0;
    COMMAND: while (defined(my $line = <$log>)) {
        my @command;
        for (1 .. ($line =~ /^\*(\d+)\r\n$/)[0] // last COMMAND) {
            my ($length) = (<$log> // '') =~ /^\$(\d+)\r\n$/ or last COMMAND;
            read($log, my $word, $length + 2) == $length + 2 or last COMMAND;
            push @command, substr $word, 0, $length;
        }
        $read_to = tell $log;
        my ($name, $entry, @fields) = @command;
        next unless defined $entry && $entry =~ /^t:quota:(.+)$/;
        my $counter = $1;
        die "$name of a quota\n" unless $name =~ /^(?:HSET|HDEL|P?EXPIRE(?:AT)?)$/i;
        next unless uc $name eq 'HSET';
        my %changed = @fields;
        my $units = $changed{"$period.count"} // next;
        $count{$counter} = $units;
        $most{$counter} = max($most{$counter} // 0, $units);
    }
    return map { my $of = $_; join ' ', map { $of->{"{$key}:$_"} // 0 } @tables } \%most, \%count;
}

# Checks the counts of a key and of the plan it has, after these streams.
sub check {
    my ($key, $plan, $streams, %options) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    # A stream that a client leaves ends a moment later.
    becomes(sub { counts($key) }, used(@$streams), 'each table counts exactly what was used');
    wait_for_reports();
    is(counts($key), used(@$streams), '... when nothing is left to report');
    is(sum0(map { $_->status->{redis}[0]{lease_units}{lost} + $_->status->{redis}[0]{owed_units}{lapsed} } @nodes), 0, '... and no node has lost a unit');
    my ($most, $last) = history_of_counts($key);
    is($last, counts($key), 'the file of Redis has each count');
    my @most = split / /, $most;
    my @limits = @{ $limits{$plan} };
    $limits[2] += $options{beyond} // 0;
    cmp_ok($most[$_], '<=', $limits[$_], "$tables[$_]: never more than the limit") for 0 .. 2;
}

# Begins 200 streams again and again until one limit is reached, and checks the counts of the key. `streams` are those that
# it had before. Returns the number of granted streams, of each time.
sub spend_plan {
    my ($key, $plan, @streams) = @_;
    my ($incomplete, $beyond, @granted) = (0, 0);
    do {
        my @begun = begin($key, 200);
        $incomplete += end(@begun);
        push @granted, scalar @begun;
        push @streams, @begun;
        # What is charged after the last unit: all of these streams were granted before the first of them was charged.
        $beyond = sum0(map { price($_) } @begun) if @begun;
        # Refunds and charges take effect when they are reported.
        wait_for_reports();
    } while ($granted[-1] && @granted < 30);
    is($granted[-1], 0, 'the plan is spent');
    is($incomplete, 0, '... by streams that the clients got completely');
    check($key, $plan, \@streams, beyond => $beyond - 1);
    return @granted;
}

subtest 'the last requests' => sub {
    is(join(' ', spend_plan(new_key('k1', 'requests'), 'requests')), '200 50 0', 'exactly the limit is granted');
};

subtest 'the last tokens' => sub {
    my @granted = spend_plan(new_key('k2', 'tokens'), 'tokens');
    is($granted[0], 12_000 / $reserved, 'what is reserved is the limit');
    cmp_ok(sum0(@granted), '>', 200, '... and what was not used is granted again');
    cmp_ok($limits{tokens}[1] - (split / /, counts('k2'))[1], '<', $reserved, '... to the last reservation');
};

subtest 'the last of the money' => sub {
    my @granted = spend_plan(new_key('k3', 'spend'), 'spend');
    is($granted[0], 200, 'it is charged at the end');
    cmp_ok((split / /, counts('k3'))[2], '>=', $limits{spend}[2], '... to the last unit');
};

subtest 'streams begin while others end' => sub {
    my $key = new_key('k4', 'tokens');
    my @running = my @streams = begin($key, 200);
    my $incomplete = 0;
    for (1 .. 8) {
        my @ending = splice @running, 0, @running / 2;
        finish(@ending);
        my @begun = begin($key, 200 - @running);
        $incomplete += receive_rest(@ending);
        push @running, @begun;
        push @streams, @begun;
    }
    $incomplete += end(@running);
    is($incomplete, 0, 'the clients get all of them');
    cmp_ok(scalar @streams, '>', 150, '... which are more than the reservations that a limit has');
    check($key, 'tokens', \@streams);
};

subtest 'a kill of Redis' => sub {
    my $key = new_key('k5', 'ample');
    my @streams = begin($key, 200);
    is(scalar @streams, 200, 'streams run');
    my @before = @streams[0 .. 69];
    my @without = @streams[70 .. 139];
    my @after = @streams[140 .. 199];
    # Some of the reports of the first ones are under way.
    is(end(@before), 0, 'some end before');
    $redis->kill;
    is(end(@without), 0, '... some without Redis');
    push @after, my @alone = begin($key, 40);
    is(scalar @alone, 40, 'others begin without it');
    $redis->restart;
    is(end(@after), 0, '... and end when it is there again, with the rest');
    check($key, 'ample', [@streams, @alone]);
    spend_plan($key, 'ample', @streams, @alone);
};

subtest 'a kill of a worker' => sub {
    my $key = new_key('k6', 'ample');
    my @streams = begin($key, 200);
    my $pid = $streams[0]{worker};
    my @of_worker = grep { $_->{worker} == $pid } @streams;
    my @others = grep { $_->{worker} != $pid } @streams;
    is(scalar @streams, 200, 'streams run');
    $nodes[ $streams[0]{node} ]->nginx->kill_worker($pid);
    for my $stream (@of_worker) {
        1 while receive($stream);
    }
    is(scalar(grep { $_->{received} =~ /DONE/ } @of_worker), 0, scalar @of_worker . ' streams end with their worker');
    is(end(@others), 0, '... and no other');
    check($key, 'ample', \@streams);
    spend_plan($key, 'ample', @streams);
};

subtest 'a reload' => sub {
    my $key = new_key('k7', 'ample');
    my @streams = begin($key, 200);
    is(scalar @streams, 200, 'streams run');
    $_->nginx->reload for @nodes;
    push @streams, my @new = begin($key, 100);
    is(scalar @new, 100, '... and others, of new workers');
    is(scalar(grep { my $stream = $_; grep { $_->{worker} == $stream->{worker} } @streams[0 .. 199] } @new), 0, '... of which no other has a stream');
    is(end(@streams), 0, 'all end completely');
    $_->nginx->old_workers_gone for @nodes;
    check($key, 'ample', \@streams);
};

subtest 'clients that leave' => sub {
    my $key = new_key('k8', 'ample');
    my @streams = begin($key, 200);
    is(scalar @streams, 200, 'streams run');
    my @early = @streams[0 .. 59];
    my @late = @streams[60 .. 119];
    # The gateway has read what the client has got.
    for my $stream (@late) {
        tell_usage($stream);
        receive($stream) until $stream->{received} =~ /completion_tokens/;
    }
    for my $stream (@early, @late) {
        $stream->{client}->close;
        $stream->{service}->sysread(my $nothing, 1);    # the gateway closes its connection
    }
    is(end(@streams[120 .. 199]), 0, 'the others end completely');
    check($key, 'ample', \@streams);
};

$_->nginx->stop for @nodes;
done_testing;
