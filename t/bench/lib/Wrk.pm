package Wrk;

# wrk with 50 connections, and keys in its requests (../keys.lua).
#
#   my $wrk = Wrk->new(connections => 50);
#   my $result = $wrk->run($address, $keys, seconds => 3, seed => 1);
#   $result->{requests}, $result->{seconds}
#   $result->{refused}                            # responses with a status of 400 or more
#   $result->{broken}                             # connections that failed, and requests that took 2 s
#   $wrk->ask_with_every_key($address, $keys, status => 200, requests => 10_000);    # dies at another status

use strict;
use warnings;
use File::Basename ();

my $script = File::Basename::dirname(__FILE__) . '/../keys.lua';

sub new {
    my ($class, %options) = @_;
    return bless {%options}, $class;
}

sub run {
    my ($self, $address, $keys, %options) = @_;
    my $output = $self->_wrk($address, $options{seconds}, $keys->file, $options{seed});
    my ($line) = $output =~ /^(requests=.*)/m or die "wrk: $output";
    my %result = $line =~ /(\w+)=(\d+)/g;
    $result{seconds} = $result{microseconds} / 1e6;
    die "wrk had no answer from $address\n" unless $result{requests};
    return \%result;
}

# Slightly more requests than keys, because a few responses come out of order. It gives up below 1,000 requests per
# second.
sub ask_with_every_key {
    my ($self, $address, $keys, %options) = @_;
    my $count = $options{requests} + 2 * $self->{connections};
    my $output = $self->_wrk($address, 30 + int $count / 1000, $keys->file, 0, $options{status}, $count);
    die "$address: $output" if $?;
}

sub _wrk {
    my ($self, $address, $seconds, @arguments) = @_;
    return scalar `wrk -t1 -c$self->{connections} -d$seconds -s '$script' http://$address/ -- @arguments 2>&1`;
}

1;
