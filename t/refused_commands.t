# A command that the user of Redis may not use costs the function that needs it, and nothing else: neither a connection nor
# a request of another key. The commands are those that the scripts call, each of them in each script.

use strict;
use warnings;
use lib 't/lib';
use Digest::SHA qw(sha1_hex);
use Gateway qw(wait_for_room);
use HeldUpstream;
use Http;
use JSON::PP qw(encode_json);
use List::Util qw(uniq);
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until);

my $scripts = 'module/redis/protocol/scripts';
my $other_node = 'fedcba9876543210';

sub text_of { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }
sub sorted { return [sort { $a cmp $b } uniq(@_)] }

# What the pages say: which rights the user of the gateway has, which of them requests need, and what the log says without
# the others.
my $page = text_of('module/docs/redis_data.md');
sub rights { my ($text) = @_; return $text =~ /^user gateway on >SECRET (.*)$/m ? $1 =~ s/petstore:/t:/gr : die 'no user' }
my $rights = rights(text_of('module/ADMIN.md'));
my (%required, %optional, %logged);
for my $row ($page =~ /^What the gateway needs.*?\n\n((?:\|.*\n)+)/ms ? split /\n/, $1 : die 'no table') {
    my ($for, $commands, $without) = $row =~ /^\| (.*?) \| (.*?) \| (.*?) \|$/ or next;
    for my $command ($commands =~ /`([A-Z]+)`/g) {
        ($for eq 'requests' ? \%required : \%optional)->{$command} = 1;
        $logged{$command}{$1} = 1 while $without =~ /(error log|\[warn\])/g;
    }
}
# No script calls these.
my %outside = map { $_ => 1 } qw(EVALSHA EVAL PING SUBSCRIBE ROLE WAIT);

my $redis = RedisServer->start(acl => ['user default on nopass ~* &* +@all', "user gateway on >SECRET $rights"]);

# The commands of each script. The text that Redis gets has the first line of the comment of the file.
my %is_command = map { uc() => 1 } @{ $redis->cmd('COMMAND', 'LIST') };
my %begin = (lookup => "-- Reads a key's record");
my %text = (lookup => text_of('module/redis/protocol/lookup.cpp'));
# The files in folders are parts of acquire.lua.
for my $file (glob "$scripts/*.lua $scripts/acquire/*.lua $scripts/acquire/rare/*.lua") {
    my ($name) = $file =~ m{\Q$scripts\E/(\w+)};
    my $text = text_of($file);
    $begin{$name} //= $1 if $text =~ /^(-- .*)$/m;
    $text{$name} .= $text;
}
# A function that two scripts have.
delete $begin{recall};
my $recall = delete $text{recall};
$text{$_} .= $recall for qw(acquire flight);
my %called;
for my $name (sort keys %text) {
    my $code = $text{$name} =~ s/--.*//gr;
    $called{$name} = sorted(grep { $is_command{$_} } $code =~ /'([A-Z]+)'/g);
    # A command that is no text would not be found. Those of publish.lua are texts elsewhere, those of transaction.lua come
    # from the operations on keys.
    my @others = grep { !/^'[A-Z]+'/ } $code =~ /\bp?call\((.*)/g;
    is(scalar @others, { publish => 1, transaction => 3 }->{$name} // 0, "$name names the commands that it calls: @{ $called{$name} }")
        or diag explain \@others;
}

# What Redis executes: %seen counts the calls of each script, $keys the keys of calls of acquire, %observed has the commands
# of each script.
my $monitor = $redis->connection;
$monitor->cmd('MONITOR');
my ($current, $keys, %name_of, %observed, %seen) = ('', 0);

sub unescape {
    my ($text) = @_;
    my %of = (n => "\n", r => "\r", t => "\t", a => "\a", b => "\b");
    return $text =~ s/\\(?:x([0-9a-f]{2})|(.))/defined $1 ? chr hex $1 : $of{$2} || $2/ger;
}

sub follow {
    my $mark = 'mark ' . rand;
    $redis->cmd('ECHO', $mark);
    while ((my $line = $monitor->read) !~ /"\Q$mark\E"$/) {
        my ($from, $words) = $line =~ /^[\d.]+ \[\d+ (\S+)\] (.*)$/ or next;
        my $command = $words =~ /^"(\w+)"/ ? uc $1 : next;
        if ($from eq 'lua') {
            $observed{$current}{$command} = 1;
        } elsif ($command =~ /^EVAL/) {
            my ($script) = $words =~ /^"\w+" "([^"\\]*(?:\\.[^"\\]*)*)"/;
            if ($command eq 'EVAL') {
                my $text = unescape($script);
                $script = sha1_hex($text);
                ($name_of{$script}) = grep { index($text, $begin{$_}) >= 0 } keys %begin;
            }
            # Redis does not know a script before its text.
            $current = $name_of{$script} // '';
            $seen{$current}++;
            $keys += ($words =~ /^"\w+" "(?:[^"\\]*(?:\\.[^"\\]*)*)" "(\d+)"/)[0] if $current eq 'acquire';
        }
    }
}

# The calls of scripts that Redis answered with an error, and the calls of a command that it refused.
sub failed { my $sum = 0; $sum += $_ for $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_eval(?:sha)?:.*failed_calls=(\d+)/mg; return $sum }
sub rejected { my ($command) = @_; return $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_\L$command\E:.*rejected_calls=(\d+)/m ? $1 : 0 }
# The connections of the gateway, by their ids. Subscriptions are none of them.
sub connections {
    my $user = shift // 'gateway';
    return join ' ', sort map { /^id=(\d+) (?!.*cmd=client).* flags=N .* user=$user / } split /\n/, $redis->cmd('CLIENT', 'LIST');
}
sub may { my (@rules) = @_; $redis->cmd('ACL', 'SETUSER', 'gateway', @rules) }

# A table for each function.
my %plans = (
    open    => 'redis=main { plan all unlimited; default all; }',
    plain   => 'redis=main lease=off { plan free 100000r/h 1000000r/d; }',
    windows => 'redis=main lease=off { plan free 5r/h 100r/d; anonymous 6r/h 60r/d shared; }',
    sliding => 'redis=main lease=off { plan free 5r/h 100r/d window=sliding; }',
    bucket  => 'redis=main lease=off { plan free 5r/s burst=5; }',
    month   => 'redis=main lease=off { plan free 5r/month; }',
    balance => 'redis=main lease=off { plan free balance; notify 80%; }',
    leases  => 'redis=main { plan free 5r/h 50r/d; }',
    values  => 'redis=main by=$arg_user values=1 lease=off { plan free 5r/h; }',
    teams   => 'redis=main by=group lease=off { plan free 5r/h; }',
    rich    => 'redis=main lease=off { plan free 2r/d; default free; ban after=1 within=1m for=10m up_to=1h; history 9d; notify 50%; }',
    flight  => 'redis=main { plan free unlimited in_flight=2; }',
    alone   => 'redis=local lease=off { plan free 100000r/h; }',
);
my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock';
my $login = 'username gateway; password SECRET; timeout 2s;';
my $gateway = Gateway->start(
    redis_server => $redis,
    redis        => "$login on_failure deny;",
    http         => join("\n", 'set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP; map $http_user $user { default $http_user; }',
        "tollgate_redis local { server @{[$redis->address]}; prefix t:; $login }", map { "tollgate_plans $_ $plans{$_}" } sort keys %plans),
    upstream     => 'location /settle { add_header X-Used 1; return 200 "ok\n"; }',
    server       => join("\n", "location /settle { tollgate windows; tollgate_cost 2 settle=\$upstream_http_x_used; $upstream; }",
        'location /admin/ { tollgate open; tollgate_scope admin; tollgate_admin main; }',
        map { "location /$_ { tollgate $_; @{[$_ eq 'rich' ? 'tollgate_subject $user;' : '']} $upstream:/; }" } sort keys %plans),
    plans        => 'plan free 1r/h;',
);
wait_for_room($redis, 3600, 72);
sub status { my ($path, $key, %headers) = @_; return $gateway->get($path, $key, %headers)->status }
sub lines { my ($pattern) = @_; return scalar(() = $gateway->nginx->error_log =~ /^.*$pattern.*$/gm) }

# Each round has keys of its own. The gateway knows their records before, but one.
my ($round, $network) = ('', 0xc6120000);
sub import_key { my ($name, %fields) = @_; $gateway->import_key("$round-$name", id => "$round-$name", plan => 'free', %fields) }
sub write_hash { my ($name, @fields) = @_; $redis->cmd('HSET', "t:$name", @fields) }

sub prepare {
    ($round) = @_;
    my ($now) = @{ $redis->cmd('TIME') };
    my ($hour, $day) = map { int($now / $_) } 3600, 86400;
    import_key($_, group => $_ eq 'teams' ? "$round-team" : '') for qw(windows sliding bucket month balance leases recall values teams flight full ended held settle alone innocent new);
    write_hash("group:{$round-team}", id => "$round-team", plan => 'free');
    # Many ids of one second.
    $redis->cmd('DEL', 't:ids');
    $redis->cmd('ZADD', 't:ids', map { (1, "$round-$_") } 'windows', 'sliding', 'settle', 10 .. 40);
    # A balance of which little is left.
    write_hash("quota:{$round-balance}:balance", 'balance.left' => 2, 'balance.credited' => 10, 'balance.last_credit' => 10);
    # Another node has leased what is left, has all places, and had some that it did not return.
    write_hash("quota:{$round-recall}:leases", '3600.number' => $hour, '3600.count' => 5, '86400.number' => $day, '86400.count' => 5,
        lease_node => $other_node, lease_grant => ($now * 1000 - 500) . ':1:5');
    my ($given, $ends) = ($now * 1000 - 10, $now * 1000 + 9_000);
    write_hash("flight:{$round-full}", "flight:$other_node-1" => "2 1 $ends", flight => "2 $ends $other_node $given 0 0");
    write_hash("flight:{$round-ended}", "flight:$other_node-1" => '2 1 1');
    # An id without a key, which was counted on another day, when one was listed whose time has ended.
    write_hash("quota:{$round-subject}:rich", '86400.number' => $day - 1, '86400.count' => 3);
    write_hash("history:{$round-subject}", 'rich:1' => 1, 'rich:' . ($day - 2) => 1);
    $redis->cmd('ZADD', $_, 1, "$round-old") for qw(t:subjects t:subject_ends);
    write_hash("history:{$round-windows}", map { ("windows:$_" => 1) } $day - 600 .. $day - 1);
    # The clock of another node is ahead.
    write_hash(sprintf('address:{%08x}:windows', ++$network), '3600.number' => $hour + 1, '3600.count' => 1);
    status('/open', "$round-$_") for qw(windows sliding bucket month balance leases recall values flight full ended held settle alone innocent);
    status('/plain', "$round-innocent");
    status('/teams', "$round-teams");
    $redis->cmd('DEL', "t:quota:{$round-team}:teams:group");
    # A place that is returned later.
    status('/flight', "$round-held");
}

sub address { my ($offset) = @_; return join '.', unpack 'C4', pack 'N', $network + ($offset // 0) }
# A function's requests, and their statuses.
my %functions = (
    (map { my $table = $_; ($table => sub { map { status("/$table", "$round-$table") } 1 .. 2 }) } qw(windows sliding bucket month balance leases teams settle alone)),
    values  => sub { map { status("/values?user=$_", "$round-values") } 1 .. 2 },
    recall  => sub { status('/leases', "$round-recall") },
    flight  => sub { map { status('/flight', "$round-$_") } qw(flight ended) },
    full    => sub { status('/flight', "$round-full") },
    subject => sub { map { status('/rich', undef, User => "$round-subject") } 1 .. 4 },
    new     => sub { status('/open', "$round-new") },
    missing => sub { map { status('/windows', undef, 'X-Real-IP' => address(1 << 15)) } 1 .. 3 },
    unknown => sub { map { status('/windows', "$round-unknown$_", 'X-Real-IP' => address()) } 1 .. 3 },
);
sub statuses {
    my ($names, $between) = @_;
    return map { my $statuses = join ' ', $functions{$_}->(); $between->(); ($_ => $statuses) } @$names;
}
# Those that call no acquire, and the others.
my @unknown = qw(missing new unknown);
my @known = grep { my $name = $_; !grep { $_ eq $name } @unknown } sort keys %functions;

sub ask {
    my ($method, $path, $body) = @_;
    return $gateway->request($method, "/admin/$path", { Authorization => 'Bearer admin' }, $body && encode_json($body))->status;
}
sub next_page {
    my $first = $gateway->get('/admin/keys?limit=20', 'admin');
    return $first->status == 200 ? ask('GET', 'keys?limit=1&after=' . $first->json->{next}) : $first->status;
}
my %operations = (
    issue   => sub { ask('POST', 'keys', { id => "$round-issued", plan => 'free', scopes => ['admin'], meta => { a => 'b' }, name => 'n', group => 'acme' }) },
    show    => sub { ask('GET', "keys/$round-windows") },
    change  => sub { ask('PATCH', "keys/$round-windows", { name => 'm', expires => undef }) },
    rotate  => sub { ask('POST', "keys/$round-sliding/rotate", {}) },
    replace => sub { (map { ask('POST', "keys/$round-settle/rotate", { overlap => '0s' }) } 1 .. 2)[1] },
    revoke  => sub { ask('DELETE', "keys/$round-bucket") },
    credit  => sub { ask('POST', "keys/$round-windows/credit", { units => 5, table => 'balance', reference => 'r' }) },
    reset   => sub { ask('DELETE', "keys/$round-windows/usage") },
    lift    => sub { ask('DELETE', "keys/$round-subject/ban") },
    group   => sub { ask('PATCH', "groups/$round-team", { plan => 'free' }) },
    remove  => sub { ask('DELETE', "groups/$round-team") },
    (map { my $path = $_; ($path => sub { ask('GET', $path =~ s/ID/$round-windows/r) }) } 'keys?name=m', 'keys?meta=a=b', 'keys?group=acme', 'keys?limit=1', 'keys/ID/usage',
        'keys/ID/history', 'keys/ID/ban', 'groups', 'usage', 'usage?limit=1', 'bans', 'totals', 'audit', 'audit?order=desc'),
    next    => \&next_page,
);

# ---- All rights.

$gateway->import_key('admin', id => 'admin', plan => 'free', scopes => 'admin');
$gateway->subscribed(1);
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
prepare('before');
my $baseline = { statuses([@known, @unknown], sub { }) };
my %operation_calls;
for my $name (sort keys %operations) {
    follow();
    local $observed{transaction} = {};
    my $status = $operations{$name}->();
    like($status, qr/^20/, "$name is done");
    follow();
    $operation_calls{$name} = $observed{transaction};
}
$observed{transaction} = { map { %$_ } values %operation_calls };
sub has_called { my ($name) = @_; return !grep { !$observed{$name}{$_} } @{ $called{$name} } }
wait_until('calls that no request waits for', sub { follow(); 4 == grep { has_called($_) } qw(use budget heartbeat flight) });
# The gateway's connection of subscriptions is a new one then. What is not published meanwhile is read from the changes.
sub resubscribe { $redis->cmd('CLIENT', 'KILL', 'TYPE', 'pubsub') }
resubscribe();
wait_until('the changes', sub { follow(); $seen{changes} });
for my $name (sort keys %called) {
    ok(has_called($name), "$name has called each of its commands") or diag explain $observed{$name};
}
my $expected_rights = sorted(map { uc } $rights =~ /\+(\w+)/g);
is_deeply(sorted((map { keys %$_ } values %observed), keys %outside), $expected_rights, 'all rights of the page are used');

# A planted case.
my $user = Resp->connect($redis->address);
$user->cmd('AUTH', 'gateway', 'SECRET');
may('-zcard');
my $before = failed();
eval { $user->cmd('EVAL', 'return redis.pcall("ZCARD", "t:ids")', 0) };
is(failed() - $before, 1, 'Redis counts a script that answers with an error');
may('+zcard');


# ---- Without one.

# Requests that Redis decides with few commands, and one that it does not decide. Their key is new in each round: a record
# that was looked up before a subscription is looked up again.
my ($innocent, $unlimited) = map { my $path = $_; sub { return status($path, "$round-innocent") } } '/plain', '/open';
my @background = qw(use budget heartbeat flight changes);
my @counted = qw(windows sliding bucket month values teams settle);
my (%found, %rounds);
for my $command (grep { !$outside{$_} } @$expected_rights) {
    my @scripts = grep { $_ ne 'transaction' && grep { $_ eq $command } @{ $called{$_} } } sort keys %called;
    my ($operation) = sort { keys %{ $operation_calls{$a} } <=> keys %{ $operation_calls{$b} } || $a cmp $b } grep { $operation_calls{$_}{$command} } keys %operation_calls;
    subtest "$command in " . join(', ', @scripts, $operation ? 'operations' : ()) => sub {
        prepare($command);
        follow();
        ($keys, %seen) = (0);
        my ($failed, $rejected, $connections) = (failed(), rejected($command), connections());
        may("-$command");
        # Without these, the innocent key is refused, too.
        my $is_needed = $command =~ /^(?:TIME|HMGET|HSET)$/;
        my (%innocent, $now);
        if (@scripts) {
            my $ask = sub { $innocent{$unlimited->()}++; $innocent{ 'limited ' . $innocent->() }++ unless $is_needed };
            %$now = statuses(\@unknown, $ask);
            my @awaited = grep { my $script = $_; grep { $_ eq $script } @scripts } @background;
            resubscribe() if grep { $_ eq 'changes' } @awaited;
            wait_until("calls of @awaited", sub { $ask->(); follow(); @awaited == grep { $seen{$_} } @awaited });
            # The errors of ids are elements of the reply to an acquire. Redis counts each of them.
            my $errors = failed() - $failed;
            follow();
            cmp_ok($errors, '<=', $keys, 'at most the ids of acquires get errors');
            %$now = (%$now, statuses(\@known, $ask));
            $innocent{ 'limited ' . $innocent->() }++;
            $errors = failed() - $failed;
            follow();
            cmp_ok($errors, '<=', $keys, '... but an acquire with those of ids');
            is($errors, 0, '... which no id has') unless grep { /503/ } values %$now;
            cmp_ok(rejected($command), '>', $rejected, 'Redis refuses the command');
            $found{$command} = 1 if grep { /503/ } @$now{@counted};
            my %differs = map { ($_ => $now->{$_}) } grep { $now->{$_} ne $baseline->{$_} } keys %$now;
            # The node alone gives places, and one of its requests is the first.
            delete $differs{full} if grep { $_ eq 'flight' } @scripts;
            delete $differs{subject} if $command =~ /^(?:HKEYS|HDEL|HINCRBY)$/ && $differs{subject} eq '503 503 503 503';
            is_deeply(\%differs, {}, 'each function goes on') unless $required{$command};
            is_deeply([grep { !/^(?:[24]\d\d|503)$/ } map { split / / } values %$now], [], '... or requests get what on_failure says');
            is_deeply(\%innocent, { 200 => $innocent{200}, 'limited ' . ($is_needed ? 503 : 200) => $innocent{ 'limited ' . ($is_needed ? 503 : 200) } }, 'an innocent key is granted');
        }
        if ($operation) {
            like($operations{$operation}->(), qr/^(?:20\d|503)$/, "$operation fails, or works");
            is($innocent->(), $is_needed ? 503 : 200, '... and an innocent key is granted');
        }
        is(connections(), $connections, 'no connection is lost');
        if (my @at_start = grep { /^(?:probe|publish)$/ } @scripts) {
            # The new worker has connections of its own.
            ($keys, %seen) = (0);
            $failed = failed();
            $gateway->nginx->reload;
            wait_until("calls of @at_start", sub { follow(); @at_start == grep { $seen{$_} } @at_start });
            becomes($innocent, $is_needed ? 503 : 200, 'an innocent key is granted by a new worker');
            my $errors = failed() - $failed;
            follow();
            # A probe that is refused says that no request can be counted.
            cmp_ok($errors, '<=', $keys, '... of which no script answers with an error') unless $is_needed;
        }
        $rounds{$_}++ for @scripts;
        may("+$command");
        becomes($innocent, 200, 'all works again');
        if ($seen{changes} || $seen{probe} || $seen{publish}) {
            $gateway->nginx->old_workers_gone;
            $gateway->subscribed(1);
        }

        status('/rich', undef, User => "$command-subject");
        my $yesterday = int($redis->cmd('TIME')->[0] / 86400) - 1;
        is($redis->cmd('HGET', "t:history:{$command-subject}", "rich:$yesterday"), 3, 'the ended day is in the history once') if @scripts;
        my @differing = grep { $now->{$_} ne $baseline->{$_} } keys %{ $now // {} };
        if (@differing) {
            prepare("$command-again");
            for my $name (sort @differing) {
                becomes(sub { join ' ', $functions{$name}->() }, $baseline->{$name}, "$name works again");
            }
        }
    };
}
is_deeply([sort keys %found], [sort grep { !$outside{$_} } keys %required], 'requests need the commands of which the page says so');
is_deeply(sorted(keys %required, keys %optional), sorted(qw(EVALSHA EVAL PING SUBSCRIBE), map { @{ $called{$_} } } grep { $_ ne 'transaction' } keys %called),
    'the page says of each command what the gateway needs it for');
is_deeply(sorted(map { uc } rights($page) =~ /\+(\w+)/g), sorted(keys %required, keys %optional), '... and grants it');

# Each text of the log, and the scripts whose calls it is about.
my %texts = (
    'requests in flight are limited by each node alone'          => ['flight'],
    'the last use of keys is not written'                        => ['use'],
    'missed changes cannot be read'                              => ['changes'],
    'nodes are not counted'                                      => ['heartbeat'],
    'budgets of addresses are not shared'                        => ['budget'],
    'no request can be counted after the end of this day'        => ['publish', 'publish'],    # of two Redis
);
for my $text (sort keys %texts) {
    my $lines = lines(qr/\[(?:error|warn)\].*redis "\w+": \Q$text\E.*: ERR (?:The user executing the script|ACL failure in script)/);
    my $most = 0;
    $most += $rounds{$_} for @{ $texts{$text} };
    cmp_ok($lines, '>=', 1, "the log says that $text");
    cmp_ok($lines, '<=', $most, '... once');
}

subtest 'requests in one call' => sub {
    my ($worker) = $gateway->nginx->workers;
    for my $command (qw(PTTL PEXPIREAT)) {
        prepare("$command-call");
        my @clients = map { Http->connect($gateway) } 1 .. 2;
        # A worker that has accepted the connections reads both requests at once.
        $_->send("GET /open HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $round-innocent\r\n\r\n"), $_->response for @clients;
        my $count = $gateway->count("$round-innocent", 'plain', 3600);
        may("-$command");
        my @calls = grep { /quota:\{$round-innocent\}/ } $gateway->monitor_calls(sub {
            kill STOP => $worker;
            wait_until('the worker to stop', sub { text_of("/proc/$worker/stat") =~ /\) T / });
            $clients[0]->send("GET /windows HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $round-windows\r\n\r\n");
            $clients[1]->send("GET /plain HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $round-innocent\r\n\r\n");
            kill CONT => $worker;
            is(join(' ', map { $_->response->status } @clients), '503 200', "without $command, a key is refused that needs it, and an innocent one is granted");
        });
        may("+$command");
        like($calls[0], qr/\Q$round-windows\E/, '... by one call');
        is($gateway->count("$round-innocent", 'plain', 3600) - $count, 1, '... and counted');
    }
};
$gateway->nginx->stop;

# The user `default` of another Redis.
$redis = RedisServer->start;
my $held_upstream = HeldUpstream->new;
my %alone = (
    redis        => 'on_failure deny;',
    plans        => 'plan free 5r/d in_flight=2; ban after=1 within=1m for=10m up_to=1h; history 9d; notify 80%; anonymous 30r/m shared;',
    http         => 'tollgate_plans plain redis=main lease=off { plan free 100000r/d; } tollgate_headers ietf;',
    server       => 'location /held { tollgate api; proxy_pass http://unix:' . $held_upstream->path . '; } location /plain { tollgate plain; return 204; }',
);
$gateway = Gateway->start(redis_server => $redis, %alone);
$gateway->import_key('innocent', id => 'innocent', plan => 'free');
$gateway->subscribed(1);
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 't:plans') });
is(status('/plain', 'innocent'), 204, 'a key with a quota alone is granted');

subtest 'keys that the user may not use' => sub {
    my $before = connections('default');
    $gateway->import_key('hidden', id => 'hidden', plan => 'free');
    $redis->cmd('ACL', 'SETUSER', 'default', 'resetkeys', map { "~t:$_*" } qw(key id ban history quota report notices subject used nodes plans changes address probe));
    is($gateway->get('/', 'hidden')->status, 200, 'without the hash of its places');
    $redis->cmd('ACL', 'SETUSER', 'default', 'resetkeys', map { "~t:$_*" } qw(key quota:{innocent}));
    is($gateway->get('/', 'hidden')->status, 503, 'without its quota');
    like($gateway->nginx->error_log, qr/\[error\].*redis "main": NOPERM .*key/, 'the log says why');
    is(status('/plain', 'innocent'), 204, 'an innocent key is granted');
    $redis->cmd('ACL', 'SETUSER', 'default', 'allkeys');
    is(connections('default'), $before, 'no connection is lost');
};

subtest 'each node alone limits its share of the requests in flight, and Redis the quota' => sub {
    my $other = Gateway->start(share => $gateway, %alone);
    $gateway->import_key('alone', id => 'alone', plan => 'free');
    becomes(sub { $_->status->{redis}[0]{nodes} }, 2, 'a node knows of both, although it refuses in an outage') for $gateway, $other;
    $redis->cmd('ACL', 'SETUSER', 'default', '-hgetall');
    my $begin = sub {
        my ($node) = @_;
        my $client = Http->connect($node);
        $client->send("GET /held HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer alone\r\n\r\n");
        return $client;
    };
    my @requests = map { my $client = $begin->($_); [$client, $held_upstream->accept] } $gateway, $other;
    is($begin->($_)->response->json->{code}, 'too_many_in_flight', 'one more is refused') for $gateway, $other;
    is($gateway->count('alone', 'api', 86400), 2, 'Redis counts the requests');
    for my $request (@requests) {
        HeldUpstream::answer($request->[1]);
        is($request->[0]->response->status, 200, 'they end');
    }
    $redis->cmd('ACL', 'SETUSER', 'default', '+@all');
    $_->nginx->stop for $gateway, $other;
};

done_testing;
