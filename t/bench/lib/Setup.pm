package Setup;

# What the sections of t/bench/gateway share: the options, one Redis and the gateways, each of which is started when it
# is first needed, and keys.
#
#   my $setup = Setup->new(seconds => 3, rounds => 5, keys => 1_000_000);
#   $setup->option('seconds')
#   $setup->redis; $setup->upstream; $setup->bare; $setup->lua; $setup->tollgate; $setup->haproxy; $setup->wrk
#   $setup->keys('one')                           # see %kinds below; their records are in Redis
#   $setup->write_keys($keys, $redis)             # the same in another Redis
#   $setup->contender('Tollgate, one key', 'tollgate', 'one', %options);     # name, server (see %gateway_of), keys;
#                                                 #   options of Contender, and nginx for another Tollgate
#   $setup->compare([$contender, $divisor], …)    # Comparison->run with the options
#   $setup->stop

use strict;
use warnings;
use ApiKeys;
use Comparison;
use Contender;
use Gateways;
use HAProxy;
use RedisServer;
use RedisWork;
use Wrk;

sub connections { 50 }    # of every client

my %kinds = (
    one   => { plan => 'endless', count => 1 },
    many  => { plan => 'endless', count => 10_000 },
    zipf  => { plan => 'endless', count => 1000, zipf => 1 },
    spent => { plan => 'spent',   count => 1 },
);
my %gateway_of = (
    bare => 'bare', limit_req => 'bare', limit_req_spent => 'bare',
    lua => 'lua', tollgate => 'tollgate', exact => 'tollgate', settle => 'tollgate',
    haproxy => 'haproxy', haproxy_spent => 'haproxy',
);
my %start = (
    redis    => sub { RedisServer->start },
    upstream => sub { Gateways->upstream },
    bare     => sub { Gateways->bare($_[0]->upstream) },
    lua      => sub { Gateways->lua($_[0]->upstream, $_[0]->redis) },
    tollgate => sub { Gateways->tollgate($_[0]->upstream, $_[0]->redis) },
    haproxy  => sub { HAProxy->start($_[0]->upstream) },
    wrk      => sub { Wrk->new(connections => connections()) },
);
for my $name (keys %start) {
    no strict 'refs';
    *$name = sub { $_[0]{$name} //= $start{$name}->($_[0]) };
}

sub new {
    my ($class, %options) = @_;
    return bless { option => \%options }, $class;
}

sub option { $_[0]{option}{ $_[1] } }

sub keys {
    my ($self, $kind) = @_;
    return $self->{keys}{$kind} //= do {
        my $keys = ApiKeys->make(%{ $kinds{$kind} });
        $self->write_keys($keys, $self->redis);
        $keys;
    };
}

sub write_keys {
    my ($self, $keys, $redis) = @_;
    for my $prefix (qw(t: l:)) {
        $keys->write_records($redis, $prefix);
        $keys->write_digests($redis, $prefix);
        $keys->write_ids($redis, $prefix);
    }
}

sub contender {
    my ($self, $name, $server, $keys, %options) = @_;
    my $gateway = $gateway_of{$server};
    my $nginx = delete $options{nginx} // $self->$gateway;
    my $redis = $options{redis} // $self->redis;
    my %quota;
    if ($gateway eq 'tollgate' || $gateway eq 'lua') {
        my $status = $gateway eq 'tollgate' ? Gateways->address($nginx, 'status') : undef;
        %quota = (quota => 1, work => RedisWork->new($redis, $status));
    }
    my $address = $gateway eq 'haproxy' ? $nginx->address($server) : Gateways->address($nginx, $server);
    return Contender->new(name => $name, server => $nginx, address => $address, redis => $redis, wrk => $self->wrk,
        api_keys => ref $keys ? $keys : $self->keys($keys), %quota, %options);
}

sub compare {
    my ($self, @pairs) = @_;
    return Comparison->run(seconds => $self->option('seconds'), rounds => $self->option('rounds'), pairs => \@pairs);
}

sub stop {
    my ($self) = @_;
    $_->stop for grep { $_ } delete @$self{qw(bare lua tollgate haproxy upstream)};
}

1;
