package Wrk;

# wrk with 50 connections, and keys in its requests (../keys.lua).
#
#   my $wrk = Wrk->new(connections => 50);
#   my $result = $wrk->run($address, $keys, seconds => 3, seed => 1);
#   $result->{requests}, $result->{seconds}
#   $result->{new}                                # requests with a new key: see ApiKeys
#   $result->{refused}                            # responses with a status of 400 or more
#   $result->{broken}                             # connections that failed, and requests that took 2 s
#   $wrk->run($address, $keys, each => 4, least => 50_000, most => 200_000, seed => 1);
#                                                 # until each key had four requests, but within these bounds; the
#                                                 #   result has only requests and new
#   $wrk->run(…, from => 7)                       # the first new key
#   $wrk->ask_with_every_key($address, $keys, status => 200, requests => 10_000);    # dies at another status
#
# A run that ends at a count gives up below 1,000 requests per second.

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
    my %arguments = (file => $keys->file, map { $_ => $options{$_} } grep { defined $options{$_} } qw(seed each least most));
    @arguments{qw(new every from)} = ($keys->new_file, $keys->new_every, $options{from} // 0) if $keys->new_file;
    my $seconds = $options{seconds} // _patience($options{most});
    my $output = $self->_wrk($address, $seconds, %arguments);
    my ($line) = $output =~ /^(requests=.*)/m or die "wrk: $output";
    my %result = $line =~ /(\w+)=(\d+)/g;
    $result{seconds} = $result{microseconds} / 1e6 if defined $result{microseconds};
    die "wrk had no answer from $address\n" unless $result{requests};
    return \%result;
}

# Slightly more requests than keys, because a few responses come out of order.
sub ask_with_every_key {
    my ($self, $address, $keys, %options) = @_;
    my $count = $options{requests} + 2 * $self->{connections};
    my $output = $self->_wrk($address, _patience($count), file => $keys->file, status => $options{status}, count => $count);
    die "$address: $output" if $?;
}

sub _patience { return 30 + int $_[0] / 1000 }

sub _wrk {
    my ($self, $address, $seconds, %arguments) = @_;
    my @arguments = map { "$_=$arguments{$_}" } sort keys %arguments;
    return scalar `wrk -t1 -c$self->{connections} -d$seconds -s '$script' http://$address/ -- @arguments 2>&1`;
}

1;
