package Verify::Random;

# Random numbers that depend on a text only: the same on every machine and in every version of Perl.
#
#   my $random = Verify::Random->new("$seed/faults");
#   $random->real(2, 5), $random->whole(1, 6), $random->chance(0.3), $random->one_of(@list), $random->gap($mean)

use strict;
use warnings;
use Digest::SHA qw(sha256);

sub new {
    my ($class, $text) = @_;
    return bless { text => $text, number => 0, bytes => '' }, $class;
}

sub _fraction {
    my ($self) = @_;
    $self->{bytes} = sha256("$self->{text}/" . $self->{number}++) if length $self->{bytes} < 4;
    return unpack('N', substr $self->{bytes}, 0, 4, '') / 2**32;
}

sub real   { my ($self, $from, $to) = @_; return $from + $self->_fraction * ($to - $from) }
sub whole  { my ($self, $from, $to) = @_; return $from + int($self->_fraction * ($to - $from + 1)) }
sub chance { my ($self, $share) = @_; return $self->_fraction < $share }
sub one_of { my ($self, @list) = @_; return $list[int($self->_fraction * @list)] }
sub gap    { my ($self, $mean) = @_; return -$mean * log(1 - $self->_fraction) }

1;
