# The command on a terminal, and with a reader that closes its pipe.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Digest::SHA qw(sha256_hex);
use IPC::Open2 qw(open2);
use JSON::PP ();
use POSIX    ();
use RedisServer;
use Test::More;
use Wait qw(wait_until);

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $redis = RedisServer->start;
my $tollgate = Command->new(redis => $redis->address);
my $binary = ($ENV{TOLLGATE_BUILD} // 'build') . '/tollgate';
$ENV{TOLLGATE_REDIS} = $redis->address;
$ENV{TERM} = 'xterm';

# Runs a command in a terminal. Calls $type with a function that types, and one that returns the output so far.
sub on_terminal {
    my ($command, $type) = @_;
    my $pid = open2(my $screen, my $keyboard, 'script', '-qec', $command, '/dev/null');
    $screen->blocking(0);
    $keyboard->autoflush(1);
    my $shown = '';
    my $read = sub { 1 while sysread $screen, $shown, 65536, length $shown; return $shown };
    my $result = eval { $type->(sub { print $keyboard $_[0] }, $read); 1 } ? '' : $@;
    close $keyboard;
    wait_until('the command to end', sub { $read->(); waitpid($pid, POSIX::WNOHANG()) == $pid });
    my $status = $? >> 8;
    $read->();
    diag $result if $result;
    return ($status, $shown, $result);
}

subtest 'import' => sub {
    my $token = 'a-token-typed-by-hand';
    my ($status, $shown) = on_terminal("$binary key import --plan free --id typed; echo status \$?; stty -a", sub {
        my ($type, $shown) = @_;
        wait_until('the question', sub { $shown->() =~ /Key \(it is not shown\): / });
        $type->("$token\r");
    });
    like $shown, qr/status 0\r?\n/, 'the key is one line; the end of the input is not needed' or diag $shown;
    unlike $shown, qr/\Q$token/, '… which is not shown';
    is $redis->cmd('HGET', 'key:' . sha256_hex($token), 'id'), 'typed', '… and is stored';
    like $shown, qr/ echo /, 'the terminal echoes again afterwards';
    my (undef, $interrupted) = on_terminal("trap : INT; $binary key import --plan free; stty -a", sub {
        my ($type, $shown) = @_;
        wait_until('the question', sub { $shown->() =~ /Key \(it is not shown\): / });
        $type->("\x03");
    });
    like $interrupted, qr/ echo /, '… after Ctrl-C too';
};

subtest 'a list' => sub {
    $redis->cmd('FLUSHALL');
    my $name = "B\xc3\xa4ckerei \xe2\x80\x9eZur Sonne\xe2\x80\x9c";
    $tollgate->run(qw(key issue --id key_0123456789AB --plan enterprise --expires 2031-02-03), '--limits', '5000r/m 1000000r/d', '--name', $name);
    my $list = sub {
        my ($columns) = @_;
        my (undef, $shown) = on_terminal("stty rows 24 cols $columns; $binary key list", sub { });
        utf8::decode($shown);
        my @lines = split /\r?\n/, $shown;
        return @lines;
    };
    my ($head, $line) = $list->(200);
    like $head, qr/^ID +NAME +PLAN +STATE +LIMITS +CREATED +EXPIRES +USED$/, 'a wide terminal has all columns';
    like $line, qr/^key_0123456789AB  B\x{e4}ckerei \x{201e}Zur Sonne\x{201c}  enterprise  active  5000r\/m 1000000r\/d  \S+T\S+Z  2031-02-03T00:00:00Z  -$/, '… in full';
    for my $columns (110, 100, 80, 60, 50) {
        my @lines = $list->($columns);
        is scalar @lines, 2, "$columns columns: no line wraps";
        is scalar(grep { length > $columns } @lines), 0, '… none is longer' or diag join "\n", @lines;
        like $lines[1], qr/^key_0123456789AB .*\benterprise  active\b/, '… the id, the plan and the state remain';
    }
    ($head, $line) = $list->(80);
    like $line, qr/^key_0123456789AB  B\x{e4}ckerei \x{201e}Z\x{2026}  enterprise  active  .*2031-02-03/, 'what is shortened has a mark, and a time is its day';
    unlike $tollgate->run(qw(key list))->{out}, qr/\xe2\x80\xa6/, 'a file gets the full texts';
};

subtest 'revoke' => sub {
    $tollgate->run(qw(key issue --plan free --id), $_) for qw(kept gone too);
    for my $case (["\r", 'kept', 2, 'nothing is revoked'], ["no\r", 'kept', 2, 'nothing is revoked'], ["y\r", 'gone', 0, 'revoked gone'], ["Yes\r", 'too', 0, 'revoked too']) {
        my ($answer, $id, $status, $message) = @$case;
        my (undef, $shown) = on_terminal("$binary key revoke $id; echo status \$?", sub {
            my ($type, $shown) = @_;
            wait_until('the question', sub { $shown->() =~ /Remove "$id" and its keys permanently\? \[y\/N\] / });
            $type->($answer);
        });
        like $shown, qr/\Q$message\E\r?\nstatus $status\r?\n/, "$id: $message" or diag $shown;
        is $redis->cmd('EXISTS', "id:{$id}"), $id eq 'kept' ? 1 : 0, '… as it says';
    }
    my (undef, $shown) = on_terminal("$binary key revoke nobody; echo status \$?", sub { });
    like $shown, qr/unknown id "nobody".*\nstatus 3\r?\n/, 'an unknown id is not asked about';
    (undef, $shown) = on_terminal("$binary key revoke --yes kept; echo status \$?", sub { });
    like $shown, qr/\Arevoked kept\r?\nstatus 0\r?\n/, '--yes asks nothing';
};

subtest 'the password of Redis' => sub {
    my $locked = RedisServer->start(tcp => 1, password => 'default-secret', acl => ['user app on >typed-secret ~* &* +@all']);
    my $address = '127.0.0.1:' . $locked->port;
    for my $case (
        ['a user without a password', "--redis redis://app\@$address", 'typed-secret'],
        ['--askpass', "--askpass --redis redis://$address", 'default-secret'],
        ['--askpass with a user, on a unix socket', '--askpass --redis unix://app@' . $locked->socket, 'typed-secret'],
    ) {
        my ($name, $arguments, $password) = @$case;
        my ($status, $shown) = on_terminal("$binary $arguments key list; echo status \$?; stty -a", sub {
            my ($type, $shown) = @_;
            wait_until('the question', sub { $shown->() =~ /Password of Redis \(it is not shown\): / });
            $type->("$password\r");
        });
        like $shown, qr/status 0\r?\n/, $name or diag $shown;
        unlike $shown, qr/secret/, '… which is not shown';
        like $shown, qr/ echo /, '… and the terminal echoes again afterwards';
    }
    my (undef, $imported) = on_terminal("$binary --redis redis://app\@$address key import --plan free --id both; echo status \$?", sub {
        my ($type, $shown) = @_;
        wait_until('the question', sub { $shown->() =~ /Password of Redis \(it is not shown\): / });
        $type->("typed-secret\r");
        wait_until('the next question', sub { $shown->() =~ /Key \(it is not shown\): / });
        $type->("both-typed\r");
    });
    like $imported, qr/status 0/, 'a password, then a key' or diag $imported;
    my (undef, $empty) = on_terminal("$binary --redis redis://app\@$address key list; echo status \$?", sub {
        my ($type, $shown) = @_;
        wait_until('the question', sub { $shown->() =~ /Password of Redis/ });
        $type->("\r");
    });
    like $empty, qr/no password was typed.*status 2/s, 'an empty line';
    my $piped = Command->new->run('--askpass', '--redis', "redis://$address", qw(key list));
    is $piped->{status}, 2, '--askpass without a terminal';
    like $piped->{err}, qr/--askpass needs a terminal as standard input: use password_file=/, '… and what to do';
    my $both = Command->new->run('--askpass', '--redis', "redis://:default-secret\@$address", qw(key list));
    is $both->{status}, 2, '--askpass and a password in the URL';
    unlike $both->{err}, qr/secret/, '… is refused without the password';
};

subtest 'top' => sub {
    for my $key (qw(q Q)) {
        my ($status, $shown, $failed) = on_terminal("$binary top --interval 100ms; echo status \$?; stty -a", sub {
            my ($type, $shown) = @_;
            wait_until('the table', sub { $shown->() =~ /GRANTED/ });
            $type->('x');
            $type->($key);
            wait_until('the end', sub { $shown->() =~ /status \d+/ });
        });
        is $failed, '', "$key ends it";
        like $shown, qr/status 0/, '… with status 0';
        like $shown, qr/ icanon .* echo /s, '… and the terminal is as it was';
    }
};

subtest 'a reader that closes its pipe' => sub {
    $redis->cmd('EVAL', q[for i = 1, 20000 do redis.call('ZADD', 'ids', i, 'some-long-id-of-a-client-' .. i) end], 0);
    for my $arguments ('', ' --json') {
        my $output = `bash -c '{ $binary key list$arguments; echo status \$? >&2; } 2>&1 >/dev/full' 2>&1`;
        like $output, qr/tollgate: cannot write to standard output: No space left on device\n.*status 1/s, 'a full device is an error';
        my $piped = `bash -c '$binary key list$arguments 2>&1 | head -n 1; echo status \${PIPESTATUS[0]}'`;
        like $piped, qr/status 141\n\z/, "key list$arguments | head ends by SIGPIPE";
        unlike $piped, qr/tollgate:/, '… and says nothing';
    }
};

subtest 'a long list' => sub {
    $redis->cmd('FLUSHALL');
    # Ids that were created in the same second are sorted by name.
    $redis->cmd('EVAL', q[for i = 1, 2600 do redis.call('ZADD', 'ids', math.floor(i / 1300), string.format('id%05d', i)) end], 0);
    my $all = $redis->cmd('ZRANGE', 'ids', 0, -1);
    my $ids = sub { return [map { $_->{id} } @{ $tollgate->json('key', 'list') }] };
    is_deeply $ids->(), $all, 'names each id once';
    is_deeply [map { /^(id\d+)/ } split /\n/, $tollgate->run(qw(key list))->{out}], $all, '… as text';
    my $largest = sub {
        my ($name) = @_;
        my @log = @{ $redis->cmd('SLOWLOG', 'GET', 10000) };
        return (sort { $b <=> $a } map { $_->[3][3] - $_->[3][2] + 1 } grep { $_->[3][0] eq $name } @log)[0];
    };
    $redis->cmd('CONFIG', 'SET', 'slowlog-log-slower-than', 0, 'slowlog-max-len', 20000);
    $redis->cmd('SLOWLOG', 'RESET');
    $ids->();
    cmp_ok $largest->('ZRANGE'), '<=', 503, 'no command reads more than a page';
    for my $size (0, 1, 499, 500, 501, 1000, 1001) {
        $redis->cmd('DEL', 'ids');
        $redis->cmd('ZADD', 'ids', map { (1, sprintf 'id%05d', $_) } 1 .. $size) if $size;
        is scalar @{ $ids->() }, $size, "$size ids";
    }
};

subtest 'a list that changes while it is read' => sub {
    $redis->cmd('FLUSHALL');
    my @stay = map { sprintf 'stay%05d', $_ } 1 .. 4000;
    my @go = map { sprintf 'go%05d', $_ } 1 .. 4000;
    my $add = sub { $redis->cmd('ZADD', 'ids', map { (1, $_) } @_) };
    $add->(@go, @stay);
    my $list = $tollgate->start(qw(key list --json));
    my $file = $list->{files}{out}->filename;
    wait_until('the first page', sub { -s $file });
    # The next pages move to lower ranks.
    $redis->cmd('ZREM', 'ids', @go);
    $add->(map { "aa$_" } 1 .. 300);
    waitpid $list->{pid}, 0;
    open my $out, '<', $file or die $!;
    my @listed = map { $_->{id} } @{ JSON::PP->new->decode(do { local $/; <$out> }) };
    is_deeply [grep { /^stay/ } @listed], \@stay, 'names each id that stays exactly once, in its order';
};

done_testing;
