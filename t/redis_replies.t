# Replies that are cut, late, repeated, swapped, huge or malformed harm only the requests that wait for them, and are
# never taken for another request's reply.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Calm;
use Digest::SHA qw(sha256_hex);
use FakeRedis qw($CLOSE name_of pause token_of);
use Gateway;
use RedisServer;
use Time::HiRes qw(time);
use Wait qw(wait_until);

# Changes the replies to one command, with the name that FakeRedis gives it, or to all commands without a name.
sub to { my ($name, $spoil) = @_; return { reply => sub { !$name || name_of($_[1]) eq $name ? $spoil->(@_) : $_[0] } } }
sub answering { my ($error, $name) = @_; return { answer => sub { !$name || name_of($_[0]) eq $name ? "-$error\r\n" : undef } } }
sub is_call { return $_[0][0] =~ /^EVAL/ }

sub strings { return join '', map { '$' . length($_) . "\r\n$_\r\n" } @_ }
sub array { my ($count, $elements) = @_; return "*$count\r\n$elements" }
# An array of the call's token and so many more elements.
sub behind_token { my ($command, $count, $elements) = @_; return array(1 + $count, strings(token_of($command)) . $elements) }

my $fields = 13;    # of a key's record, in the reply to a look-up; the last one is a number
my %enormous = (
    'a string of 2^63-1 bytes'   => '$9223372036854775807' . "\r\n",
    'a string of 2^64+2 bytes'   => '$18446744073709551618' . "\r\nab\r\n",
    'a string of 10^30 bytes'    => '$1' . '0' x 30 . "\r\n",
    'a string of 512 MiB'        => '$536870912' . "\r\n" . 'x' x 1000,
    'a string of -2 bytes'       => '$-2' . "\r\n",
    'an array of 2^31-1'         => '*2147483647' . "\r\n",
    'an array of 2^32+6'         => '*4294967302' . "\r\n",
    'an array of 2^63-1'         => '*9223372036854775807' . "\r\n",
    'an array of -2'             => '*-2' . "\r\n",
    'an array of a million nils' => "*1000000\r\n" . "\$-1\r\n" x 1_000_000,
    'arrays a thousand deep'     => "*1\r\n" x 1000 . ":1\r\n",
    'arrays that widen'          => "*1024\r\n" x 7,
    'a line without end'         => '+' . 'x' x 200_000,
    'a number without end'       => ':' . '9' x 200_000,
    'a number past 2^63'         => ":9223372036854775808\r\n",
);
my %nonsense = (
    'an HTTP response'    => "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    'zeros'               => "\0" x 100,
    'all bytes'           => join('', map { chr } 0 .. 255),
    'nothing but an end'  => "\r\n",
    'an empty error'      => "-\r\n",
    'an empty status'     => "+\r\n",
    'a number'            => ":1\r\n",
    'a nil'               => '$-1' . "\r\n",
    'a nil array'         => "*-1\r\n",
    'an empty array'      => "*0\r\n",
    'nils'                => "*$fields\r\n" . '$-1' . "\r\n" x $fields,
    'numbers for strings' => "*$fields\r\n" . ":1\r\n" x $fields,
    'arrays for strings'  => "*$fields\r\n" . "*0\r\n" x $fields,
    'errors for strings'  => "*$fields\r\n" . "-ERR\r\n" x $fields,
    'six negative numbers'=> "*6\r\n" . ":-1\r\n" x 6,
    'six huge numbers'    => "*6\r\n:1\r\n" . ":9223372036854775807\r\n" x 5,
    'six small numbers'   => "*6\r\n:1\r\n" . ":-9223372036854775808\r\n" x 5,
    'an outcome unheard of' => "*6\r\n:7\r\n" . ":1\r\n" x 5,
);


# Replies with the right token: the number of elements, and the elements.
my $now = 1_000_000_000_000_000;
my %fields = (
    'no field'               => [0, ''],
    'a field too few'        => [$fields - 1, strings(('pro') x ($fields - 1))],
    'a field too many'       => [$fields + 1, strings(('pro') x ($fields + 1))],
    'numbers for fields'     => [$fields, ":1\r\n" x $fields],
    'a number among fields'  => [$fields, strings('pro', '', 'pro', ('') x ($fields - 5)) . ":1\r\n" x 2],
    'statuses for fields'    => [$fields, "+pro\r\n" x $fields],
    'arrays for fields'      => [$fields, "*0\r\n" x $fields],
    'errors for fields'      => [$fields, "-ERR\r\n" x $fields],
    'fields within an array' => [1, array($fields, strings('pro', '', 'pro', '', '', 'active', ('') x ($fields - 7)) . ":-1\r\n")],
    'a field of 2^63-1 bytes' => [$fields, '$9223372036854775807' . "\r\n"],
    'a field of 512 MiB'     => [$fields, '$536870912' . "\r\n" . 'x' x 1000],
    'a field of 2^31-1'      => [$fields, "*2147483647\r\n"],
    'a field without end'    => [$fields, '+' . 'x' x 200_000],
    'a thousand fields'      => [1023, strings(('pro') x 1023)],
);
# The numbers of an acquire are the time and, for each id, the granted requests and a window with its count. There is
# one id per call here.
sub packed { return strings(pack 'q<*', @_) }
my %numbers = (
    'nothing'                => sub { (0, '') },
    'no number'              => sub { (1, strings('')) },
    'the time alone'         => sub { (1, packed($now)) },
    'a number too few'       => sub { (1, packed($now, (1) x (3 * $_[0] - 1))) },
    'a number too many'      => sub { (1, packed($now, (1) x (3 * $_[0] + 1))) },
    'half a number'          => sub { (1, strings(substr pack('q<*', $now, (1) x (3 * $_[0])), 0, -4)) },
    'those of another id'    => sub { (1, packed($now, (1) x (3 * $_[0] + 3))) },
    'text for numbers'       => sub { (1, strings(join ' ', $now, (1) x (3 * $_[0]))) },
    'numbers unpacked'       => sub { (1 + 3 * $_[0], ":$now\r\n" . ":1\r\n" x (3 * $_[0])) },
    'a number for them'      => sub { (1, ":1\r\n") },
    'a nil for numbers'      => sub { (1, "\$-1\r\n") },
    'an array for numbers'   => sub { (1, array(1, packed($now, (1) x (3 * $_[0])))) },
    'an error for numbers'   => sub { (1, "-ERR\r\n") },
    'numbers twice'          => sub { (2, packed($now, (1) x (3 * $_[0])) x 2) },
    'an error for each id'   => sub { (1 + $_[0], packed($now, (-1) x $_[0]) . "-OOM\r\n" x $_[0]) },
    'an error too many'      => sub { (2 + $_[0], packed($now, (-1) x $_[0]) . "-OOM\r\n" x (1 + $_[0])) },
    'errors that are missing' => sub { (1, packed($now, (-1) x $_[0])) },
    'strings for errors'     => sub { (1 + $_[0], packed($now, (-1) x $_[0]) . strings(('OOM') x $_[0])) },
    'nils for errors'        => sub { (1 + $_[0], packed($now, (-1) x $_[0]) . "\$-1\r\n" x $_[0]) },
    'negative numbers'       => sub { (1, packed($now, (-2) x (3 * $_[0]))) },
    'huge numbers'           => sub { (1, packed($now, (9223372036854775807) x (3 * $_[0]))) },
    'small numbers'          => sub { (1, packed($now, (-9223372036854775807) x (3 * $_[0]))) },
    'a huge time'            => sub { (1, packed(9223372036854775807, (1) x (3 * $_[0]))) },
    'more granted than came' => sub { (1, packed($now, (1000, 1, 1) x $_[0])) },
    'a string of 512 MiB'    => sub { (1, '$536870912' . "\r\n" . 'x' x 1000) },
);

# So late that other calls already wait. A repeated reply must not be taken for theirs.
my $late = pause(0.1);
my $others = array(1 + $fields, strings(1, 'pro', '', 'pro', '', '', 'active', ('') x ($fields - 7)) . ":-1\r\n");    # the reply to another call
my $before = '';
my @held;
my %faults = (
    'cut and closed'          => to(undef, sub { (substr($_[0], 0, length($_[0]) / 2), $CLOSE) }),
    'cut'                     => to(undef, sub { substr($_[0], 0, length($_[0]) / 2) }),
    'late, but in time'       => to('lookup', sub { (pause(0.002), $_[0]) }),
    'too late'                => to('lookup', sub { (pause(0.5), $_[0]) }),
    'byte by byte'            => to(undef, sub { split //, $_[0] }),
    'last byte late'          => to('acquire', sub { (substr($_[0], 0, -1), pause(0.002), "\n") }),
    'lookup: doubled'         => to('lookup', sub { ($late, $_[0] x 2) }),
    'acquire: doubled'        => to('acquire', sub { ($_[0], $late, $_[0]) }),    # it may serve all waiters
    'doubled all'             => to(undef, sub { ($late, $_[0] x 2) }),
    'one left out'            => to('lookup', do { my $n = 0; sub { $n++ % 2 ? $_[0] : () } }),
    'another in front'        => to('lookup', sub { $others . $_[0] }),
    'the one before in front' => to('lookup', sub { my $reply = $before . $_[0]; $before = $_[0]; $reply }),
    'swapped'                 => to('lookup', sub { unshift @held, $_[0]; @held > 1 ? splice @held : () }),
    'a late stray one'        => to('acquire', sub { ($_[0], $late, "+OK\r\n") }),
    'OOM'                     => answering('OOM command not allowed', 'acquire'),
    'LOADING'                 => answering('LOADING Redis is loading the dataset in memory'),
    'LOADING but for a probe' => { answer => sub { name_of($_[0]) eq 'probe' ? undef : "-LOADING Redis is loading\r\n" } },
    'NOSCRIPT for ever'       => { answer => sub { is_call($_[0]) ? "-NOSCRIPT No matching script\r\n" : undef } },
    'NOSCRIPT to each EVALSHA' => { answer => sub { $_[0][0] eq 'EVALSHA' ? "-NOSCRIPT No matching script\r\n" : undef } },
    'CLUSTERDOWN'             => answering('CLUSTERDOWN The cluster is down'),
    'MOVED'                   => answering('MOVED 3999 127.0.0.1:6381'),
    'a long error'            => answering('ERR ' . 'x' x 60_000),
    'an error with a percent' => answering('ERR %s%n%V "\\'),
    'an error for the connection' => to('lookup', sub { ("-ERR max number of clients reached\r\n", $CLOSE) }),
);
for my $name (qw(lookup acquire)) {
    $faults{"$name: cut by a byte"} = to($name, sub { substr $_[0], 0, -1 });
    $faults{"$name: closed instead"} = to($name, sub { $CLOSE });
    $faults{"$name: held for ever"} = to($name, sub { () });
    $faults{"$name: the token of another"} = to($name, sub { $_[0] =~ s/\A\*\d+\r\n\$\d+\r\n\K\d/$& eq '9' ? 1 : $& + 1/er });
    $faults{"$name: the token for a number"} = to($name, sub { $_[0] =~ s/\A\*\d+\r\n\K\$\d+\r\n/:/r });
    $faults{"$name: without the token"} = to($name, sub { $_[0] =~ s/\A\*(\d+)\r\n\$\d+\r\n\d+\r\n/'*' . ($1 - 1) . "\r\n"/er });
    my %texts = (%enormous, %nonsense);
    for my $what (keys %texts) {
        my $text = $texts{$what};
        $faults{"$name: $what"} = { window => 0, answer => sub { name_of($_[0]) eq $name ? $text : undef } };
    }
}
for my $what (keys %fields) {
    my @elements = @{ $fields{$what} };
    $faults{"lookup: $what"} = { window => 0, answer => sub { name_of($_[0]) eq 'lookup' ? behind_token($_[0], @elements) : undef } };
}
for my $what (keys %numbers) {
    my $elements = $numbers{$what};
    $faults{"acquire: $what"} = {
        window => 0,
        answer => sub { name_of($_[0]) eq 'acquire' ? behind_token($_[0], $elements->($_[0][2])) : undef },
    };
}

# A probe is sent on a connection that replaces a lost one, so the first look-up closes the connection. Other requests
# would be served.
sub to_probe {
    my (%spoil) = @_;
    my $was_lost = 0;
    return {
        answer => sub { name_of($_[0]) eq 'probe' ? $spoil{answer} : undef },
        reply  => sub {
            return $CLOSE if name_of($_[1]) eq 'lookup' && !$was_lost++;
            return $spoil{reply} && name_of($_[1]) eq 'probe' ? $spoil{reply}->(@_) : $_[0];
        },
    };
}
my %probes = (%nonsense, map { $_ => $enormous{$_} } 'a string of 2^63-1 bytes', 'an array of 2^63-1', 'a line without end');
$faults{"probe: $_"} = { window => 0, %{ to_probe(answer => $probes{$_}) } } for keys %probes;
$faults{'probe: an error'} = to_probe(answer => "-LOADING Redis is loading the dataset in memory\r\n");
$faults{'probe: closed instead'} = to_probe(reply => sub { $CLOSE });
$faults{'probe: held for ever'} = to_probe(reply => sub { () });
$faults{'probe: doubled'} = to_probe(reply => sub { $_[0] x 2 });

my %listening = (
    %nonsense, %enormous,
    'half a message'       => array(3, strings('message', 't:events')),
    'a message of numbers' => array(3, ":1\r\n" x 3),
    'a record'             => $others,
);
my %subscriptions = map { my $text = $listening{$_}; ("SUBSCRIBE: $_" => { answer => sub { $_[0][0] eq 'SUBSCRIBE' ? $text : undef } }) }
    'an HTTP response', 'nils', 'half a message', 'a message of numbers', 'a record', 'an array of 2^31-1', 'a line without end';

# The n-th byte of the n-th reply to this command is late.
sub split_further {
    my ($name) = @_;
    my $at = 0;
    return to($name, sub { $at++; (substr($_[0], 0, $at), pause(0.001), substr $_[0], $at < length $_[0] ? $at : length $_[0]) });
}
my %splits = map { ("split $_" => split_further($_)) } qw(lookup acquire);
$splits{'split in thousands'} = to('lookup', sub { unpack '(a1000)*', $_[0] });
$splits{'split in bytes'} = to('lookup', sub { split //, $_[0] });
$splits{'split by a buffer'} = to('lookup', sub { (substr($_[0], 0, 16384), pause(0.002), substr $_[0], 16384) });
$splits{'split at 16383'} = to('lookup', sub { (substr($_[0], 0, 16383), pause(0.002), substr $_[0], 16383) });

my $free = 't:key:' . sha256_hex('free');
my $redis = RedisServer->start;
my $fake = FakeRedis->start(
    redis  => $redis->address,
    faults => {
        %faults, %splits, %subscriptions,
        slow => { reply => sub { is_call($_[1]) ? (pause(1.4), name_of($_[1]) eq 'acquire' ? "-NOSCRIPT\r\n" : $_[0]) : $_[0] } },
        full => { greet => sub { ("-ERR max number of clients reached\r\n", $CLOSE) } },
        one  => { answer => sub { name_of($_[0]) eq 'lookup' && $_[0][3] eq $free ? "-ERR for it alone\r\n" : undef } },
    },
);
my $gateway = Gateway->start(
    plans          => 'plan free 5r/s; plan pro 9r/s; plan much 100000r/h;',
    server         => 'location = /status { tollgate_status; }',
    table          => 'lease=off',
    redis          => 'timeout 300ms; key_cache 0; on_failure deny;',    # every request asks Redis and depends on it
    redis_server   => $redis,
    server_address => $fake->address,
);
my $calm = Calm->new(gateway => $gateway);

# A node refuses a known exhausted id without Redis, so the fault would have no effect.
sub begin {
    my ($fault) = @_;
    wait_until('whole quotas', sub {
        $redis->cmd('DEL', map { "t:quota:{$_}:api" } qw(free pro));
        $redis->cmd('PUBLISH', 't:events', $_) for qw(free pro);
        return !grep { $gateway->get('/', $_)->status != 200 } qw(free pro);
    });
    $fake->fault($fault);
}

my %refuses = (
    (map { $_ => 'none' } 'late, but in time', 'byte by byte', 'last byte late', 'NOSCRIPT to each EVALSHA'),
    (map { $_ => 'some' } 'doubled all', 'lookup: doubled', 'acquire: doubled', 'probe: doubled', 'one left out',
        'the one before in front', 'swapped', 'a late stray one',
        'lookup: cut by a byte', 'acquire: cut by a byte'),    # hiredis accepts any two bytes as the end of a string: the first of the next reply
);
for my $name (sort keys %faults) {
    $calm->bears($name,
        begin   => sub { begin($name) },
        end     => sub { $fake->heal },
        refuses => $refuses{$name} // 'all',
        window  => $faults{$name}{window},
    );
}
$calm->bears('too many connections', begin => sub { begin('full'); $fake->cut }, end => sub { $fake->heal }, refuses => 'all');

subtest 'an error affects only the requests that it answers' => sub {
    my $connections = sub { [sort $redis->cmd('CLIENT', 'LIST', 'TYPE', 'normal') =~ /^id=(\d+)/mg] };
    begin('one');
    $gateway->subscribed(1);
    my $before = $connections->();
    my @connections = map { Http->connect($gateway) } 1 .. 18;
    my @tokens = (qw(free pro)) x 9;
    $connections[$_]->send(Http::format_request('GET', '/', { Authorization => "Bearer $tokens[$_]" })) for keys @tokens;
    my %statuses;
    $statuses{ $tokens[$_] }{ $connections[$_]->response->status }++ for keys @tokens;
    is_deeply([keys %{ $statuses{free} }], [503], 'these are refused');
    ok(!grep({ !/^(200|429)$/ } keys %{ $statuses{pro} }), 'the others are served');
    is_deeply($connections->(), $before, 'the connection stays open');
    $fake->heal;
};

subtest 'malformed messages on the subscription harm no request' => sub {
    $gateway->import_key('small', id => 'small', plan => 'much');
    for my $name (sort keys %subscriptions) {
        $fake->fault($name);
        $fake->reads;
        $fake->cut;
        wait_until('SUBSCRIBE', sub { grep { "@$_" eq 'SUBSCRIBE' } @{ $fake->reads } });
        is_deeply([map { $gateway->get('/', 'small')->status } 1 .. 3], [200, 200, 200], $name);
    }
    $fake->heal;
    for my $message ('', "\0" x 100, '%s%n' x 1000, 'x' x 200_000) {
        $gateway->subscribed(1);
        is($redis->cmd('PUBLISH', 't:events', $message), 1, length($message) . ' bytes are received');
        is_deeply([map { $gateway->get('/', 'small')->status } 1 .. 3], [200, 200, 200], 'and harm no request');
    }
};

subtest 'replies that are each in time, but not in total' => sub {
    my $slow = Gateway->start(
        plans          => 'plan much 100000r/h;',
        redis          => 'timeout 2s; on_failure deny;',
        redis_server   => $redis,
        server_address => $fake->address,
    );
    $slow->import_key('small', id => 'small', plan => 'much');
    is($slow->get('/', 'small')->status, 200, 'served');
    $fake->fault('slow');
    my $start = time;
    is($slow->get('/', 'small')->status, 503, 'refused');
    cmp_ok(time - $start, '<', 5, 'within the timeout, twice at most, and a second');
    $fake->heal;
    $slow->nginx->stop;
};

subtest 'an unsolicited reply while no call is under way' => sub {
    # The slow replies before were too late for calls of this gateway, too.
    wait_until('service', sub { $gateway->get('/', 'small')->status == 200 }, 2);
    for my $bytes ("+stray\r\n", "*3\r\n:1\r\n", "garbage", "\0", $enormous{'an array of 2^31-1'}, $enormous{'a line without end'}) {
        is($gateway->get('/', 'small')->status, 200, 'served');
        $fake->inject($bytes);
        my %status;
        $status{ $gateway->get('/', 'small')->status }++ for 1 .. 2;
        ok(!grep({ !/^(200|503)$/ } keys %status), 'no wrong answer after it');
        wait_until('service again', sub { $gateway->get('/', 'small')->status == 200 }, 2);
    }
};

subtest 'a reply may come in any pieces' => sub {
    my $gateway = Gateway->start(
        plans          => 'plan much 100000r/h;',
        table          => 'lease=off',
        redis          => 'timeout 10s; key_cache 0;',    # each request asks twice
        redis_server   => $redis,
        server_address => $fake->address,
    );
    $gateway->import_key('small', id => 'small', plan => 'much');
    $gateway->import_key('large', id => 'large', plan => 'much', limits => 'x' x 20_000);
    for my $split (sort keys %splits) {
        $fake->fault($split);
        my %status;
        if ($split =~ /lookup|acquire/) {
            $status{ $gateway->get('/', 'small')->status }++ for 1 .. 120;
        } else {
            $status{ $gateway->get('/', 'large')->status }++ for 1 .. 10;
        }
        is_deeply([keys %status], [200], $split);
    }
    $fake->heal;
    $gateway->nginx->stop;
};

$gateway->nginx->stop;
done_testing;
