package Section::Calls;

# Scripts that Redis runs for one hot key, at 10,000 requests a second and at most.

use strict;
use warnings;
use Comparison qw(meets);
use Setup;
use Statistics qw(median range);

sub run {
    my ($class, $setup) = @_;
    my $hot = $setup->contender('Tollgate, one key', 'tollgate', 'one');
    $hot->ask_with_every_key;
    my $seconds = $setup->option('seconds');
    my (@rates, @calls, @most);
    for my $round (1 .. $setup->option('rounds')) {
        my ($requests, $spent) = $hot->count(sub { _paced($hot, $seconds, 10_000) });
        push @rates, $requests / $seconds;
        push @calls, $spent->{calls} / $requests;
        push @most, $hot->measure(seconds => $seconds, seed => $round);
    }
    printf "at %6.0f requests/s  %.5f scripts a request (%s), target %s\n", median(@rates), median(@calls),
        range('%.5f', @calls), meets(median(@calls), '<= 0.002');
    @calls = map { $_->{calls} } @most;
    printf "at %6.0f requests/s  %.5f scripts a request (%s)\n", median(map { $_->{rate} } @most), median(@calls), range('%.5f', @calls);
}

# Sends requests with its first key, so many per second in total.
sub _paced {
    my ($contender, $seconds, $per_second) = @_;
    my $rate = $per_second / Setup->connections;
    my $token = $contender->api_keys->token(0);
    my $output = `h2load --h1 -c@{[ Setup->connections ]} --rps=$rate -D$seconds -H 'authorization: Bearer $token' http://@{[ $contender->address ]}/ 2>&1`;
    my ($requests) = $output =~ /^status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx/m;
    die "h2load: $output" unless $requests;
    return $requests;
}

1;
