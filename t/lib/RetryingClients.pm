package RetryingClients;

# Clients that send requests until one is refused, wait for its Retry-After, must then be granted, and continue after a
# random pause. Each client is alone with its key.
#
#   my %longest = (free => 2);          # seconds that a refusal may ask for, by the plan
#   RetryingClients->check($gateway, longest => \%longest, clients => 8, waits => 120, pause => 0.5);
#
# check imports the keys of `clients` clients of each plan, ends after `waits` waits, and is two tests.

use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);

sub check {
    my ($class, $gateway, %option) = @_;
    my ($longest, $pause) = @option{qw(longest pause)};
    my @clients;
    for my $plan (sort keys %$longest) {
        for my $n (1 .. $option{clients}) {
            $gateway->import_key("$plan$n", id => "$plan$n", plan => $plan);
            push @clients, { key => "$plan$n", longest => $longest->{$plan}, at => time + rand 2 * $pause };
        }
    }
    my (@refused, @odd);
    my $waits = 0;
    while ($waits < $option{waits}) {
        my ($client) = sort { $a->{at} <=> $b->{at} } @clients;
        my $rest = $client->{at} - time;
        sleep $rest if $rest > 0;
        my $r = $gateway->get('/', $client->{key});
        if (defined(my $seconds = delete $client->{waited})) {
            $waits++;
            push @refused, "$client->{key} after $seconds s: " . $r->status if $r->status != 200;
            $client->{at} = time + rand $pause;
        } elsif ($r->status == 429) {
            my $seconds = $client->{waited} = $r->header('Retry-After') // '';
            push @odd, "$client->{key}: '$seconds'" if $seconds !~ /^[1-9]\d*$/ || $seconds > $client->{longest};
            $client->{at} = time + ($seconds || 1);
        } else {
            push @odd, "$client->{key}: " . $r->status if $r->status != 200;
        }
    }
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply(\@refused, [], "none of $waits waits was too short");
    is_deeply(\@odd, [], 'each wait was of whole seconds, no longer than the quotas explain');
    return;
}

1;
