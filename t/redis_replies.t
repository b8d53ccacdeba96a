# Replies that are cut, late, doubled, too many, swapped, enormous or nonsense: they harm no request but those that wait
# for them, and never reach another.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Calm;
use FakeRedis qw($CLOSE pause);
use Gateway;
use RedisServer;
use Time::HiRes qw(time);
use Wait ();

# Spoils the replies to one command, or to all where there is no name.
sub to { my ($name, $spoil) = @_; return { reply => sub { !$name || $_[1][0] eq $name ? $spoil->(@_) : $_[0] } } }
sub answering { my ($error, $name) = @_; return { answer => sub { !$name || $_[0][0] eq $name ? "-$error\r\n" : undef } } }

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
    'nils'                => '*6' . "\r\n" . '$-1' . "\r\n" x 6,
    'numbers for strings' => "*6\r\n" . ":1\r\n" x 6,
    'arrays for strings'  => "*6\r\n" . "*0\r\n" x 6,
    'errors for strings'  => "*6\r\n" . "-ERR\r\n" x 6,
    'six negative numbers'=> "*6\r\n" . ":-1\r\n" x 6,
    'six huge numbers'    => "*6\r\n:1\r\n" . ":9223372036854775807\r\n" x 5,
    'six small numbers'   => "*6\r\n:1\r\n" . ":-9223372036854775808\r\n" x 5,
    'an outcome unheard of' => "*6\r\n:7\r\n" . ":1\r\n" x 5,
);

my %faults = (
    'cut and closed'          => to(undef, sub { (substr($_[0], 0, length($_[0]) / 2), $CLOSE) }),
    'cut'                     => to(undef, sub { substr($_[0], 0, length($_[0]) / 2) }),
    'cut by a byte'           => to('EVALSHA', sub { substr $_[0], 0, -1 }),
    'closed instead'          => to('EVALSHA', sub { $CLOSE }),
    'held for ever'           => to('HMGET', sub { () }),
    'too late'                => to('HMGET', sub { (pause(0.5), $_[0]) }),
    'late, but in time'       => to('HMGET', sub { (pause(0.002), $_[0]) }),
    'byte by byte'            => to(undef, sub { split //, $_[0] }),
    'last byte late'          => to('EVALSHA', sub { (substr($_[0], 0, -1), pause(0.002), "\n") }),
    'doubled HMGET'           => to('HMGET', sub { $_[0] x 2 }),
    'doubled EVALSHA'         => to('EVALSHA', sub { $_[0] x 2 }),
    'doubled ECHO'            => to('ECHO', sub { $_[0] x 2 }),
    'doubled all'             => to(undef, sub { $_[0] x 2 }),
    'one left out'            => to('HMGET', sub { rand 2 < 1 ? $_[0] : () }),
    'another in front'        => to('HMGET', sub { "*6\r\n" . '$3' . "\r\npro\r\n" x 6 . $_[0] }),
    'a late stray one'        => to('ECHO', sub { ($_[0], pause(0.01), "+OK\r\n") }),
    'OOM'                     => answering('OOM command not allowed', 'EVALSHA'),
    'LOADING'                 => answering('LOADING Redis is loading the dataset in memory'),
    'LOADING but for ECHO'    => { answer => sub { $_[0][0] eq 'ECHO' ? undef : "-LOADING Redis is loading\r\n" } },
    'NOSCRIPT for ever'       => { answer => sub { $_[0][0] =~ /^EVAL/ ? "-NOSCRIPT No matching script\r\n" : undef } },
    'NOSCRIPT to each EVALSHA' => answering('NOSCRIPT No matching script', 'EVALSHA'),
    'CLUSTERDOWN'             => answering('CLUSTERDOWN The cluster is down'),
    'MOVED'                   => answering('MOVED 3999 127.0.0.1:6381'),
    'a long error'            => answering('ERR ' . 'x' x 60_000),
    'an error with a percent' => answering('ERR %s%n%V "\\'),
);
for my $command (qw(HMGET EVALSHA)) {
    my %texts = (%enormous, %nonsense);
    for my $what (keys %texts) {
        my $text = $texts{$what};
        $faults{"$command: $what"} = { window => 0, answer => sub { $_[0][0] eq $command ? $text : undef } };
    }
}
delete $faults{'HMGET: nils'};    # which says that there is no such key

# At the n-th reply to this command, the n-th byte comes late.
sub split_further {
    my ($name) = @_;
    my $at = 0;
    return to($name, sub { $at++; (substr($_[0], 0, $at), pause(0.001), substr $_[0], $at < length $_[0] ? $at : length $_[0]) });
}
my %splits = map { ("split $_" => split_further($_)) } qw(HMGET EVALSHA);
$splits{'split in thousands'} = to('HMGET', sub { unpack '(a1000)*', $_[0] });
$splits{'split in bytes'} = to('HMGET', sub { split //, $_[0] });
$splits{'split by a buffer'} = to('HMGET', sub { (substr($_[0], 0, 16384), pause(0.002), substr $_[0], 16384) });
$splits{'split at 16383'} = to('HMGET', sub { (substr($_[0], 0, 16383), pause(0.002), substr $_[0], 16383) });

my $redis = RedisServer->start;
my $fake = FakeRedis->start(
    redis  => $redis->address,
    faults => {
        %faults, %splits,
        slow => { reply => sub { $_[1][0] eq 'ECHO' ? $_[0] : (pause(1.4), $_[1][0] eq 'EVALSHA' ? "-NOSCRIPT\r\n" : $_[0]) } },
        full => { greet => sub { ("-ERR max number of clients reached\r\n", $CLOSE) } },
    },
);
my $gateway = Gateway->start(
    plans          => 'plan free 5r/s; plan pro 9r/s; plan much 100000r/h;',
    redis          => 'timeout 300ms;',
    redis_server   => $redis,
    server_address => $fake->address,
);
my $calm = Calm->new(gateway => $gateway, timeout => 0.3);

my %serves = map { $_ => 1 } 'late, but in time', 'byte by byte', 'last byte late', 'NOSCRIPT to each EVALSHA',
    'EVALSHA: numbers for strings';    # which is what the script might answer
for my $name (sort keys %faults) {
    $calm->bears($name,
        begin   => sub { $fake->fault($name) },
        end     => sub { $fake->heal },
        refuses => $serves{$name} ? 'none' : 'some',
        window  => $faults{$name}{window},
    );
}
$calm->bears('too many connections', begin => sub { $fake->fault('full'); $fake->cut }, end => sub { $fake->heal }, refuses => 'all');

subtest 'replies that are each in time, but not together' => sub {
    my $slow = Gateway->start(
        plans          => 'plan much 100000r/h;',
        redis          => 'timeout 2s;',
        redis_server   => $redis,
        server_address => $fake->address,
    );
    $slow->import_key('small', id => 'small', plan => 'much');
    is($slow->get('/', 'small')->status, 200, 'served');
    $fake->fault('slow');
    my $start = time;
    is($slow->get('/', 'small')->status, 503, 'refused');
    cmp_ok(time - $start, '<', 3, 'within the timeout and a second');
    $fake->heal;
    $slow->nginx->stop;
};

subtest 'what nobody asked for comes while nothing is under way' => sub {
    $gateway->import_key('small', id => 'small', plan => 'much');
    for my $bytes ("+stray\r\n", "*3\r\n:1\r\n", "garbage", "\0", $enormous{'an array of 2^31-1'}, $enormous{'a line without end'}) {
        is($gateway->get('/', 'small')->status, 200, 'served');
        $fake->inject($bytes);
        my %status;
        $status{ $gateway->get('/', 'small')->status }++ for 1 .. 2;
        ok(!grep({ !/^(200|503)$/ } keys %status), 'no wrong answer after it');
        Wait::wait_until('service again', sub { $gateway->get('/', 'small')->status == 200 }, 2);
    }
};

subtest 'a reply may come in any pieces' => sub {
    my $gateway = Gateway->start(
        plans          => 'plan much 100000r/h;',
        redis          => 'timeout 10s;',
        redis_server   => $redis,
        server_address => $fake->address,
    );
    $gateway->import_key('small', id => 'small', plan => 'much');
    $gateway->import_key('large', id => 'large', plan => 'much', limits => 'x' x 20_000);
    for my $split (sort keys %splits) {
        $fake->fault($split);
        my %status;
        if ($split =~ /HMGET|EVALSHA/) {
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
