package Verify::Manager;

# A program that manages keys, in a separate process: it issues keys, uses them at all nodes, changes, disables and
# revokes them through tollgate_admin, and checks at once what the nodes do. It also changes the plan of a group, and
# credits balances. Every operation (`op`) and every request (`req`) is written to the history.
#
#   my $manager = Verify::Manager->start(part => …, seed => …, nodes => [@addresses], token => $of_the_admin,
#       group => 'team2', plans => ['troop', 'host'], credits => [{ id => 'paid1', units => 70 }]);
#   $manager->pause, $manager->resume
#   $manager->pid

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Http qw(http_request);
use IO::Select;
use JSON::PP    ();
use TestProcess;
use Time::HiRes qw(sleep);
use Verify::Clients;
use Verify::Clock qw(now);
use Verify::History;
use Verify::Random;

# It sends keys that do not exist yet, and some that do not exist any more: the budget of its address is its own.
my $address = '192.0.2.8';

sub start {
    my ($class, %options) = @_;
    my $process = TestProcess->start('manager', sub {
        my ($control) = @_;
        my $self = bless { %options, number => 0, earlier => [] }, $class;
        $self->{history} = Verify::History->append($options{part});
        $self->{random} = Verify::Random->new($options{seed});
        my $running = 0;
        while (1) {
            if (IO::Select->new($control)->can_read($running ? 0 : 0.5)) {
                TestProcess::answer($control, sub { $running = $_[0] eq 'resume'; 1 });
            }
            $self->_life if $running;
        }
    });
    return bless { process => $process }, $class;
}

sub pause  { $_[0]{process}->ask('pause') }
sub resume { $_[0]{process}->ask('resume') }
sub pid    { $_[0]{process}->pid }

# One key, from its issue to its end.
sub _life {
    my ($self) = @_;
    my $random = $self->{random};
    my $id = sprintf 'life-%s-%d', substr(sha256_hex($self->{seed}), 0, 4), ++$self->{number};
    my $token = "their-$id";
    if ($random->chance(0.6)) {
        my $plan = $random->one_of(@{ $self->{plans} });
        $self->_operate(group => $self->{group}, 'PATCH', "groups/$self->{group}", { plan => $plan }, $plan);
    }
    $self->_credit($_) for grep { $random->chance(0.6) } @{ $self->{credits} };
    $self->_use_earlier;
    $self->_use($id, $token, 2) if $random->chance(0.5);    # nodes know now that there is no such key
    $self->_operate(issue => $id, 'POST', 'keys', { id => $id, plan => 'small', digest => sha256_hex($token) }) or return;
    $self->_use($id, $token, 6);
    for (1 .. $random->whole(0, 2)) {
        my $change = $random->one_of('plan', 'disable');
        if ($change eq 'plan') {
            my $plan = $random->one_of('wide', 'small');
            $self->_operate(plan => $id, 'PATCH', "keys/$id", { plan => $plan }, $plan);
            $self->_use($id, $token, 4);
            next;
        }
        $self->_operate(disable => $id, 'PATCH', "keys/$id", { state => 'disabled' });
        $self->_use($id, $token, 6);
        $self->_operate(enable => $id, 'PATCH', "keys/$id", { state => 'active' });
        $self->_use($id, $token, 4);
    }
    if (!$random->chance(0.15)) {    # the others stay
        $self->_operate(revoke => $id, 'DELETE', "keys/$id");
        $self->_use($id, $token, 8);
    }
    push @{ $self->{earlier} }, [$id, $token];
    shift @{ $self->{earlier} } if @{ $self->{earlier} } > 20;
}

# `_operate` repeats a credit without an answer, with its reference. Here, some are made again whatever the answer was.
sub _credit {
    my ($self, $credit) = @_;
    my $units = $credit->{units} + $self->{random}->whole(0, 50);
    my $reference = sprintf 'ref-%s-%d', substr(sha256_hex($self->{seed}), 0, 4), ++$self->{references};
    my $is_repeated = $self->{random}->chance(0.3);
    for (0 .. $is_repeated) {
        $self->_operate(credit => $credit->{id}, 'POST', "keys/$credit->{id}/credit", { units => $units, reference => $reference }, "$units $reference");
    }
}

# One of the last keys: most of them are revoked. A node that has known it may serve it in an outage.
sub _use_earlier {
    my ($self) = @_;
    my @earlier = @{ $self->{earlier} } or return;
    $self->_use(@{ $self->{random}->one_of(@earlier) }, 1);
}

# An operation, repeated until it is acknowledged or refused, or ten seconds have passed. Returns true if acknowledged.
sub _operate {
    my ($self, $kind, $id, $method, $path, $body, $value) = @_;
    my $limit = now() + 10;
    while (1) {
        my $node = $self->{random}->whole(0, $#{ $self->{nodes} });
        my $begin = now();
        my $response = eval {
            http_request($self->{nodes}[$node], $method, "/admin/$path", {
                'Authorization' => "Bearer $self->{token}", $body ? ('Content-Type' => 'application/json') : (),
            }, $body ? JSON::PP->new->canonical->encode($body) : undef);
        };
        my $status = $response ? $response->status : 0;
        my ($code) = ($response ? $response->body : '') =~ /"code":"(\w+)"/;
        $self->{history}->write(op => {
            kind => $kind, id => $id, node => $node, value => $value, begin => sprintf('%.4f', $begin), end => sprintf('%.4f', now()),
            status => $status, code => $code, durability => scalar($response && $response->header("Tollgate-Durability")),
        });
        return 1 if $status =~ /^2/ || ($kind eq 'issue' && ($code // '') =~ /_exists$/);
        return if $status =~ /^4/ && $status != 429 && $status != 409;
        return if now() > $limit;
        $self->_use_earlier;
        sleep 0.2;
    }
}

sub _use {
    my ($self, $id, $token, $times) = @_;
    for (1 .. $times) {
        my $node = $self->{random}->whole(0, $#{ $self->{nodes} });
        my %request = (id => $id, loc => $self->{random}->one_of('a', 's'), cost => 1, address => $address);
        $self->{history}->write(Verify::Clients::written(client => 'manager', %{ Verify::Clients::ask($node, $self->{nodes}[$node], \%request, $token) }));
        sleep $self->{random}->real(0, 0.12);
    }
}

1;
