# An operation over HTTP loses its connection to Redis at any step. The state is safe after each step, and the same
# request completes the operation.
#
# A proxy closes the connection before or after the Nth call of the operation, and refuses further ones. This is done for
# each N until the operation ends before its Nth call.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Digest::SHA qw(sha256_hex);
use FakeRedis qw($CLOSE);
use Gateway;
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
use RedisServer;
use Test::More;
use Wait qw(wait_until);

my $kMostSteps = 40;

# The calls of operations have arguments after the token, and no key of a quota.
sub is_operation {
    my ($command) = @_;
    my ($name, undef, $keys, $key) = @$command;
    return $name =~ /^EVAL/ && $key =~ /^t:(?:key|id|ids|ban|changes)\b/ && @$command > 4 + $keys;
}

# The `after` step: Redis executes the call, and its reply is lost.
sub cut_at {
    my ($n, $when) = @_;
    my ($calls, $replies) = (0, 0);
    return {
        answer => sub {
            my ($command) = @_;
            return undef unless is_operation($command);
            $calls++;
            return $calls > $n || ($when eq 'before' && $calls == $n) ? "-CUT\r\n" : undef;
        },
        reply => sub {
            my ($bytes, $command) = @_;
            return $bytes unless is_operation($command);
            return ++$replies >= $n ? $CLOSE : $bytes;
        },
    };
}

my $redis = RedisServer->start;
my $fake = FakeRedis->start(
    redis  => $redis->address,
    # A fault counts the calls of one request.
    faults => {
        map { my $operation = $_; map { my $when = $_; map { ("$operation $when $_" => cut_at($_, $when)) } 1 .. $kMostSteps } qw(before after) }
            qw(issue rotate change revoke lift)
    },
);
my $gateway = Gateway->start(
    redis_server   => $redis,
    server_address => $fake->address,
    redis          => 'timeout 2s;',
    plans          => 'plan free 100000r/m; anonymous 100000r/m;',
    http           => 'tollgate_plans ops redis=main { plan ops unlimited; }',
    server         => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
);
$gateway->import_key('operator', id => 'portal', plan => 'ops', scopes => 'admin');
my $json = JSON::PP->new->canonical;

sub ask {
    my ($method, $path, $body, %fields) = @_;
    $fields{'Content-Type'} = 'application/json' if $body;
    return $gateway->request($method, "/admin/$path", { Authorization => 'Bearer operator', %fields }, $body && $json->encode($body));
}

# Repeats a request until Redis is reachable again.
sub ask_until_done {
    my @request = @_;
    my $response;
    wait_until('Redis', sub { $response = ask(@request); return $response->status != 503 });
    return $response;
}

sub record { return { @{ $redis->cmd('HGETALL', 't:key:' . $_[0]) } } }
sub working { my ($id) = @_; return grep { (record($_)->{state} // '') eq 'active' } @{ $redis->cmd('SMEMBERS', "t:id:{$id}") } }
sub listed { return defined $redis->cmd('ZSCORE', 't:ids', $_[0]) }

my $ids = 0;

sub at_every_step {
    my ($name, %test) = @_;
    subtest $name => sub {
        my $steps = 0;
        for my $when (qw(before after)) {
            for my $n (1 .. $kMostSteps) {
                my $id = 'i' . ++$ids;
                my $prepared = $test{prepare} ? $test{prepare}->($id) : undef;
                my @request = $test{request}->($id);
                $fake->fault("$name $when $n");
                my $first = ask(@request);
                $fake->heal;
                my $place = "$name, cut $when call $n";
                last if $first->status != 503;
                $steps++;
                my @wrong = $test{safe} ? $test{safe}->($id, $prepared) : ();
                my $again = ask_until_done(@request);
                push @wrong, $test{done}->($id, $prepared, $again);
                is_deeply \@wrong, [], $place or diag $again->body;
            }
        }
        cmp_ok $steps, '>=', $test{steps}, "$steps interruptions";
    };
}

sub issue { my ($id) = @_; my $r = ask_until_done('POST', 'keys', { plan => 'free', id => $id }); return $r->json->{key} // die $r->body }
sub only { my ($id, $n) = @_; my $have = () = working($id); return $have == $n ? () : "$have keys work, not $n" }

at_every_step('issue',
    steps   => 8,
    request => sub { ('POST', 'keys', { plan => 'free', id => $_[0] }, 'Idempotency-Key' => "issue-$_[0]") },
    safe    => sub { my ($id) = @_; return working($id) && !listed($id) ? 'it works and is not listed' : () },
    done    => sub {
        my ($id, undef, $again) = @_;
        my @wrong = (only($id, 1), listed($id) ? () : 'it is not listed');
        push @wrong, 'status ' . $again->status unless $again->status == 201 || $again->status == 200;
        push @wrong, 'the key does not work' if $again->json->{key} && !grep { $_ eq sha256_hex($again->json->{key}) } working($id);
        return @wrong;
    },
);

at_every_step('rotate',
    steps   => 8,
    prepare => \&issue,
    request => sub { ('POST', "keys/$_[0]/rotate", { overlap => '0' }, 'Idempotency-Key' => "rotate-$_[0]") },
    safe    => sub {
        my ($id, $old) = @_;
        my $begun = (record(sha256_hex($old))->{state} // '') ne 'active' || @{ $redis->cmd('SMEMBERS', "t:id:{$id}") } > 1;
        return $begun && (record(sha256_hex($old))->{state} // '') eq 'active' ? 'the old key still works' : ();
    },
    done => sub {
        my ($id, $old, $again) = @_;
        my @wrong = only($id, 1);
        push @wrong, 'status ' . $again->status unless $again->status == 200;
        push @wrong, 'the old key works' if grep { $_ eq sha256_hex($old) } working($id);
        return @wrong;
    },
);

at_every_step('change',
    steps   => 4,
    prepare => sub { my ($id) = @_; issue($id); ask_until_done('POST', "keys/$id/rotate", { overlap => '1h' }) },
    request => sub { ('PATCH', "keys/$_[0]", { state => 'disabled' }) },
    done    => sub { my ($id, undef, $again) = @_; return (only($id, 0), $again->status == 200 ? () : 'status ' . $again->status) },
);

at_every_step('revoke',
    steps   => 8,
    prepare => \&issue,
    request => sub { ('DELETE', "keys/$_[0]") },
    safe    => sub { my ($id) = @_; return working($id) && !listed($id) ? 'it works and is not listed' : () },
    done    => sub {
        my ($id, $old, $again) = @_;
        my @wrong = $redis->cmd('HEXISTS', 't:key:' . sha256_hex($old), 'id') ? 'the key is left' : ();
        push @wrong, 'status ' . $again->status unless $again->status == 204;
        return (@wrong, listed($id) ? 'it is listed' : ());
    },
);

at_every_step('lift',
    steps   => 2,
    prepare => sub { my ($id) = @_; issue($id); $redis->cmd('HSET', "t:ban:{$id}", until => 9e12, level => 1) },
    request => sub { ('DELETE', "keys/$_[0]/ban") },
    done    => sub { my ($id, undef, $again) = @_; return ($again->status == 204 ? () : 'status ' . $again->status, $redis->cmd('EXISTS', "t:ban:{$id}") ? 'the ban is left' : ()) },
);

subtest 'a client that closes the connection' => sub {
    my $id = 'gone';
    my $key = issue($id);
    $redis->cmd('CLIENT', 'PAUSE', 300, 'ALL');
    my $socket = IO::Socket::INET->new(PeerAddr => $gateway->nginx->address) or die;
    print $socket "DELETE /admin/keys/$id HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer operator\r\n\r\n";
    close $socket;
    wait_until('the key to be revoked', sub { !$redis->cmd('HEXISTS', 't:key:' . sha256_hex($key), 'id') });
    pass 'does not stop an operation that has begun';
};

subtest 'many requests at once for one id' => sub {
    my @pids = map {
        my $pid = fork // die;
        if (!$pid) { my $r = ask('POST', 'keys', { plan => 'free', id => 'race' }, 'Idempotency-Key' => 'race'); POSIX::_exit($r->status == 201 ? 1 : $r->status == 200 ? 2 : $r->status == 409 ? 3 : 4) }
        $pid;
    } 1 .. 20;
    my %ended;
    for (@pids) { waitpid $_, 0; $ended{ $? >> 8 }++ }
    is_deeply [only('race', 1)], [], 'one key works';
    is $ended{1}, 1, 'one response has the key' or diag explain \%ended;
    ok !$ended{4}, 'the others have the id, or a conflict';
};

$gateway->nginx->stop;
done_testing;
