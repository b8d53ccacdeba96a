# tollgate top shows the busiest ids, from the data in Redis alone.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Gateway qw(wait_for_room);
use JSON::PP ();
use RedisServer;
use Test::More;
use Time::HiRes qw(time);
use Wait qw(wait_until);

my $redis = RedisServer->start;
my $prefix = 'a*[b]:';
my $tollgate = Command->new(redis => $redis->address, prefix => $prefix);

# The number of calls of a Redis command so far.
sub calls {
    my ($server, $command) = @_;
    my ($calls) = $server->cmd('INFO', 'commandstats') =~ /^cmdstat_\Q$command\E:calls=(\d+)/m;
    return $calls // 0;
}

# Waits until `top` has read the hashes. It reads them in one round trip, each id's ban and quotas, so more than one. The
# warning about a prefix without plan tables reads one hash before.
sub wait_for_first_reading {
    my ($server) = @_;
    wait_until('the first reading', sub { calls($server, 'hgetall') > 1 });
}

# Starts `top`, waits for its first reading, runs the code, and returns what it printed and its exit status.
sub top_while {
    my ($command, $server, $code, @arguments) = @_;
    $server->cmd('CONFIG', 'RESETSTAT');
    my $started = $command->start('top', @arguments);
    my $file = $started->{files}{out}->filename;
    wait_for_first_reading($server);
    $code->(sub { open my $out, '<', $file or die $!; local $/; return <$out> // '' });
    waitpid $started->{pid}, 0;
    open my $out, '<', $file or die $!;
    my @lines = <$out>;
    return ($? >> 8, @lines);
}

sub json_lines { return map { JSON::PP->new->utf8->decode($_) } grep { /\S/ } @_ }

my ($day, $minute) = map { int($redis->cmd('TIME')->[0] / $_) } 86400, 60;
wait_for_room($redis, 86400);
sub quota { return "${prefix}quota:{$_[0]}:$_[1]" }

subtest 'differences between two readings' => sub {
    my @same = ('86400.number', $day, '86400.count', 500);
    $redis->cmd('HSET', quota('both', 'api'), @same, '60.number', $minute, '60.count', 50);
    $redis->cmd('HSET', quota('both', 'search'), @same);
    $redis->cmd('HSET', quota('idle', 'api'), @same);
    $redis->cmd('HSET', quota('fell', 'api'), @same);
    $redis->cmd('HSET', quota('alone', 'api'), '60.number', $minute, '60.count', 50);
    $redis->cmd('HSET', quota('slides', 'api'), '60.number', $minute, '60.count', 50, '60.previous', 9);
    $redis->cmd('HSET', quota('odd', 'api'), 'junk', 1, '60.number', '9223372036854775807', '60.count', '-9223372036854775808');
    $redis->cmd('HSET', "quota:{stranger}:api", @same);
    $redis->cmd('HSET', "${prefix}ban:{$_}", strikes => 3, since => 5000, level => 0, until => 0) for qw(both struck);
    $redis->cmd('HSET', "${prefix}ban:{banned}", strikes => 8, since => 5000, level => 0, until => 0);
    $redis->cmd('SET', 'something', 'else');
    $tollgate->run(qw(key issue --id both --plan gold --name), 'a name');
    my $until = 1000 * ($redis->cmd('TIME')->[0] + 3600);
    my ($status, @out) = top_while($tollgate, $redis, sub {
        $redis->cmd('HSET', quota('both', 'api'), '86400.count', 530, '60.number', $minute + 1, '60.count', 4);
        $redis->cmd('HSET', quota('both', 'search'), '86400.count', 510);
        $redis->cmd('HSET', quota('fell', 'api'), '86400.count', 490);
        $redis->cmd('HSET', quota('alone', 'api'), '60.number', $minute + 1, '60.count', 7);
        $redis->cmd('HSET', quota('slides', 'api'), '60.number', $minute + 1, '60.count', 7, '60.previous', 60);
        $redis->cmd('HSET', quota('new', 'api'), '86400.number', $day, '86400.count', 20);
        $redis->cmd('HSET', "${prefix}ban:{both}", strikes => 8);
        $redis->cmd('HSET', "${prefix}ban:{struck}", strikes => 2, since => 9000);
        $redis->cmd('HSET', "${prefix}ban:{banned}", strikes => 0, level => 1, until => $until);
    }, qw(--interval 2s --count 1 --json));
    is $status, 0, 'it ends after --count';
    my ($view) = json_lines(@out);
    is scalar(@out), 1, 'one document a line';
    ok !$view->{sampled}, 'all ids were read';
    my %row = map { ("$_->{id}/" . ($_->{table} // '') => $_) } @{ $view->{rows} };
    is_deeply [sort keys %row], [sort qw(both/api both/search alone/api slides/api new/api struck/ banned/)],
        'those who did something are shown, of this prefix alone';
    # An interval may be longer than requested on a busy machine, but not shorter.
    my $unit = $row{'both/api'}{granted_per_second} / 30;
    ok $unit > 0.1 && $unit <= 0.5, 'the length of the interval' or diag $unit;
    my $is = sub {
        my ($row, $member, $units, $name) = @_;
        my $value = $row{$row}{$member};
        ok abs($value - $units * $unit) < 0.05 * $units + 0.002, $name or diag "$value is not $units * $unit";
    };
    $is->('both/search', 'granted_per_second', 10, 'each table separately');
    $is->('alone/api', 'granted_per_second', 7, 'after the end of a window: the count of the next');
    ok !$row{'alone/api'}{exact}, '… is at least so much';
    ok $row{'both/api'}{exact}, '… unless a longer window tells';
    $is->('slides/api', 'granted_per_second', 17, '… and of the previous one, if windows slide');
    ok $row{'slides/api'}{exact}, '… exactly';
    $is->('new/api', 'granted_per_second', 20, 'a new id');
    $is->('both/api', 'refused_per_second', 5, 'strikes');
    is $row{'both/search'}{refused_per_second}, undef, '… stand on one line of the id';
    is $row{'alone/api'}{refused_per_second}, undef, '… and are not made up where there are none';
    $is->('struck/', 'refused_per_second', 2, 'strikes that restarted from 0');
    $is->('banned/', 'refused_per_second', 1, 'the strike that caused a ban');
    like $row{'banned/'}{banned_until}, qr/^\d{4}-\d\d-\d\dT/, '… with its end';
    is $row{'both/api'}{name} . '/' . $row{'both/api'}{plan}, 'a name/gold', 'name and plan';
    is $row{'both/search'}{plan}, 'gold', '… on each line of the id';
    is $row{'new/api'}{plan}, undef, '… where the key is known';
    is $view->{rows}[0]{id}, 'both', 'the busiest first';
};

subtest 'banned ids that still send' => sub {
    my $now = $redis->cmd('TIME')->[0];
    my $minute_of = sub { my ($ago) = @_; return $now - $now % 60 - 60 * $ago };
    for my $case (['sends', 0], ['stopped', 5], ['unused']) {
        my ($id, $ago) = @$case;
        $redis->cmd('HSET', "${prefix}ban:{$id}", strikes => 0, since => 5000, level => 1, until => 1000 * ($now + 3600));
        $redis->cmd('HSET', "${prefix}used:{$id}", 'a' x 64, $minute_of->(9), 'b' x 64, $minute_of->($ago)) if defined $ago;
    }
    my $grow = sub { $redis->cmd('HINCRBY', quota('idle', 'api'), '86400.count', 1000) };
    for my $sort (qw(requests refusals)) {
        my (undef, @out) = top_while($tollgate, $redis, $grow, qw(--interval 300ms --count 1 --json --sort), $sort);
        my @rows = @{ (json_lines(@out))[0]{rows} };
        is $rows[0]{id}, 'sends', "sorted by $sort: first";
        is $rows[0]{refused_per_second}, undef, '… how many is not known';
        like $rows[0]{last_use}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/, '… but when';
        my ($stopped, $unused) = map { my $id = $_; grep { $_->{id} eq $id } @rows } qw(stopped unused);
        ok $stopped->{last_use} && !defined $unused->{last_use}, '… others are behind it';
    }
    my (undef, @text) = top_while($tollgate, $redis, $grow, qw(--interval 300ms --count 1));
    like join('', @text), qr/^ID .*\nsends .* 0\.0 +- +until \S+Z, last request \S+Z\n/m, 'the text';
    $redis->cmd('DEL', "${prefix}ban:{$_}", "${prefix}used:{$_}") for qw(sends stopped unused);
};

subtest 'options' => sub {
    my $grow = sub {
        $redis->cmd('HINCRBY', quota($_, 'api'), '86400.count', 10) for qw(both idle fell);
        $redis->cmd('HINCRBY', "${prefix}ban:{struck}", 'strikes', 3);
    };
    my (@out, $first, $second);
    # On a busy machine, the change may come after the second reading. It is made again then.
    for (1 .. 5) {
        (undef, @out) = top_while($tollgate, $redis, $grow, qw(--interval 500ms --count 2 --limit 2 --sort refusals));
        ($first, $second) = split /\n\n(?=\d{4}-)/, join('', @out);
        last if $first !~ / [01] active/;
    }
    like $first, qr/\A\d{4}-\S+Z  \d+ ids, 5 active, 2 shown\n\nID +NAME +PLAN +TABLE +GRANTED\/S +REFUSED\/S +BANNED\nstruck +- +- +- +0\.0 +\d\.\d +-\n\w+ .*\z/,
        'lines of text, the most refused first';
    like $second, qr/ 1 active\n\nID .*\nbanned .* until \S+\n\z/, 'then what happened since: nothing but a ban that lasts';
    unlike join('', @out), qr/\e/, 'nothing steers a terminal';
    for my $case ([qw(--interval 10ms)], [qw(--interval 2h)], [qw(--interval x)], [qw(--sort name)], [qw(--budget 1)], [qw(--count -1)], [qw(--limit 0)], [qw(--limit 99999999999999999999)]) {
        is $tollgate->run('top', @$case)->{status}, 2, "@$case: wrong usage";
    }
    my $help = $tollgate->run(qw(top --help))->{out};
    like $help, qr/Redis\s+holds\s+strikes\s+only\s+if\s+a\s+plan\s+table\s+has\s+a\s+`ban`\s+policy/, 'the help says of whom refusals are known';
};

subtest 'on a terminal' => sub {
    local $ENV{TERM} = 'xterm';
    my $binary = ($ENV{TOLLGATE_BUILD} // 'build') . '/tollgate';
    my $address = $redis->address;
    my $run = "stty rows 8 cols 40; $binary top --redis $address --prefix '$prefix' --interval 300ms --count 2";
    $redis->cmd('CONFIG', 'RESETSTAT');
    open my $screen, '-|', 'script', '-qec', $run, '/dev/null' or die $!;
    wait_for_first_reading($redis);
    $redis->cmd('HINCRBY', quota("many$_", 'api'), '86400.count', 10) for 1 .. 30;
    my $shown = do { local $/; <$screen> };
    close $screen;
    is $?, 0, 'it runs';
    my @views = split /\e\[H/, $shown;
    is scalar(@views), 3, 'two refreshes, each from the top left';
    is $views[0], "\e[2J", '… after the screen was cleared once';
    for my $view (@views[1, 2]) {
        ok $view =~ s/\e\[J\z//, 'what stood below is cleared';
        my @lines = split /\r+\n/, $view;
        cmp_ok scalar(@lines), '<=', 7, '… no more lines than the terminal has';
        is scalar(grep { !s/\e\[K\z// } @lines), 0, '… each cleared to its end';
        is scalar(grep { length > 39 } @lines), 0, '… and no longer than it is wide';
    }
};

subtest 'a sample of many ids' => sub {
    $redis->cmd('FLUSHALL');
    $redis->cmd('EVAL', q[for i = 1, 20000 do redis.call('HSET', KEYS[1] .. i .. '}:api', '86400.number', ARGV[1], '86400.count', i % 7) end],
        1, "${prefix}quota:{id", $day);
    $redis->cmd('HSET', quota('hot', 'api'), '86400.number', $day, '86400.count', 900000);
    $redis->cmd('HSET', quota('hot', 'other'), '86400.number', $day, '86400.count', 900000);
    my $growing = sub {
        my ($printed) = @_;
        wait_until('the busiest id to be found', sub {
            $redis->cmd('HINCRBY', quota('hot', 'api'), '86400.count', 10);
            return $printed->() =~ /"id":"hot","name":null,"plan":null,"table":"api"/;
        }, 20);
    };
    my ($status, @out) = top_while($tollgate, $redis, $growing, qw(--interval 100ms --count 40 --budget 500 --json));
    my @views = json_lines(@out);
    is scalar(@views), 40, 'every view';
    is scalar(grep { !$_->{sampled} } @views), 0, 'is said to be a sample';
    cmp_ok((sort { $b <=> $a } map { $_->{ids} } @views)[0], '<=', 500, 'at most the ids that may be watched');
    cmp_ok calls($redis, 'scan') / 41, '<=', 5, 'a reading looks through a bounded part of Redis';
    cmp_ok calls($redis, 'hgetall') / 41, '<=', 2 * (500 + 2000 + 600), '… and reads a bounded number of hashes';
    my %used = map { $_ => 1 } $redis->cmd('INFO', 'commandstats') =~ /^cmdstat_(\w+(?:\|\w+)?):/mg;
    delete @used{qw(config config|resetstat info hincrby command)};
    is_deeply [sort keys %used], [qw(dbsize exists hgetall scan smembers time)], 'and neither writes nor asks for all keys'
        or diag explain \%used;
    my ($seen) = grep { @{ $_->{rows} } } @views;
    is $seen->{rows}[0]{id}, 'hot', 'the busiest is found';
    cmp_ok $seen->{rows}[0]{granted_per_second}, '<', 100000, '… and what it had before is not taken for growth';
    my $text = join '', (top_while($tollgate, $redis, sub { }, qw(--interval 100ms --count 1 --budget 500)))[1 .. 1];
    like $text, qr/sample: the busiest \d+ ids found so far, \d+ % of Redis scanned/, 'text says so';
};

subtest 'a gateway' => sub {
    my $gateway = Gateway->start(
        plans => 'plan free 1000r/s 100000r/d; plan tiny 2r/d; ban after=1000 within=1d for=1d;',
        table => 'lease=off',
    );
    $gateway->import_key("secret-$_", id => $_, plan => $_, name => "the $_ one") for qw(free tiny);
    $gateway->get('/', "secret-$_") for qw(free tiny);
    my $command = Command->new(redis => $gateway->redis->address, prefix => 't:');
    my ($status, @out) = top_while($command, $gateway->redis, sub {
        $gateway->get('/', 'secret-free') for 1 .. 20;
        $gateway->get('/', 'secret-tiny') for 1 .. 9;
    }, qw(--interval 2s --count 2 --json));
    my %sum;
    for my $view (json_lines(@out)) {
        for my $row (@{ $view->{rows} }) {
            $sum{ $row->{id} }{$_} += 2 * ($row->{$_} // 0) for qw(granted_per_second refused_per_second);
            is "$row->{name}/$row->{plan}/$row->{table}", "the $row->{id} one/$row->{id}/api", 'whose it is';
        }
    }
    # An interval is at least as long as requested, so the rates are at most these sums. On a busy machine it is longer.
    my $near = sub { my ($value, $units) = @_; return $value > 0.5 * $units && $value <= $units + 0.01 };
    ok $near->($sum{free}{granted_per_second}, 20), 'granted requests' or diag explain \%sum;
    ok $near->($sum{tiny}{granted_per_second}, 1), '… and those of an id that has no more';
    # Refusals that a worker decides alone reach Redis with its next call, within about a second.
    ok $sum{tiny}{refused_per_second} >= 1 && $sum{tiny}{refused_per_second} <= 8.01, 'requests that were refused'
        or diag explain \%sum;
    $gateway->nginx->stop;
};

$redis->stop;
is $tollgate->run(qw(top --count 1))->{status}, 1, 'no Redis';

done_testing;
