# Commands lose the connection to Redis at some step. The state is safe after it, and the same command completes it when
# it is run again.
#
# A proxy closes the connection before or after the Nth command that the tollgate command sends, and refuses new
# connections from then on. This is done for growing N until the tollgate command ends before its Nth command.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use FakeRedis qw($CLOSE);
use Interruptions;
use RedisServer;
use Test::More;

plan skip_all => 'a thousand commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};
my $redis = RedisServer->start;
my $tollgate = Command->new(redis => $redis->address);

package CutProxy {
    sub start {
        my ($class, $n, $fake) = @_;
        $fake->fault('cut');
        return bless { n => $n, fake => $fake }, $class;
    }
    sub url     { $_[0]{fake}->address }
    sub reached { my ($self) = @_; my $sent = map { @$_ } @{ $self->{fake}->reads }; return $sent >= $self->{n} }
}

sub cut_at {
    my ($n, $when) = @_;
    my ($commands, $replies, $cut) = (0, 0, 0);
    return {
        answer => sub {
            $commands++;
            my $lost = $when eq 'before' ? $commands >= $n : $commands > $n;
            $cut ||= $lost;
            return $lost ? "-CUT\r\n" : undef;
        },
        reply => sub {
            my ($bytes) = @_;
            $cut ||= ++$replies >= $n;
            return $cut ? $CLOSE : $bytes;
        },
        greet => sub { $cut ? $CLOSE : () },
    };
}

use_deployment(
    redis   => $redis,
    masters => [$redis],
    url     => $redis->address,
    proxy   => sub {
        my ($n, $when) = @_;
        return CutProxy->start($n, FakeRedis->start(redis => $redis->address, faults => { cut => cut_at($n, $when) }));
    },
);
test_interruptions();

subtest 'a reply that was lost after the key was printed' => sub {
    my ($last, $id);
    for my $n (1 .. most_steps()) {
        $id = next_id();
        my ($result, $cut) = run_cut($n, 'before', qw(key issue --plan free --id), $id);
        last unless $cut;
        $last = $result if key_of($result);
        last if $last;
    }
    is $last->{status}, 0, 'is no failure: the key works';
    like $last->{err}, qr/^tollgate: warning: /m, '… there is a warning';
    ok works(key_of($last)), '… the key that was printed works';
    is $tollgate->run(qw(key set --name N), $id)->{status}, 0, 'a change of the key';
    is $tollgate->run(qw(key issue --plan free --id), $id)->{status}, 4, '… confirms it: the id can not be issued again';
    ok works(key_of($last)), '… and it works';
};

done_testing;
