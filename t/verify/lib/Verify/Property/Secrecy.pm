package Verify::Property::Secrecy;

# Keys are neither passed to the upstream, nor logged, nor stored: no request arrives there with the field Authorization,
# and the texts of keys are neither in the logs of the nodes nor in the files of Redis. The run searches for them.

use strict;
use warnings;

sub check {
    my ($history) = @_;
    return (
        (map { "node $_->{node} has passed the key of $_->{id} to the upstream at $_->{begin}" } grep { $_->{authorization} } $history->of('flight')),
        map { "a key is in $_->{file}: $_->{text}" } $history->of('leak'),
    );
}

1;
