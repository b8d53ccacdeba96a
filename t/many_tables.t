# A call of many ids with many windows each: Lua returns at most 8,000 numbers at once. 32 ids in 17 tables of 5 sliding
# windows have more, so they take several calls.

use strict;
use warnings;
use lib 't/lib';
use Gateway qw(wait_for_room);
use Http;
use Test::More;

my ($ids, $tables) = (64, 17);
my @names = map { "t$_" } 1 .. $tables;
my $gateway = Gateway->start(
    plans  => 'plan p 10r/s;',
    http   => join('', map {
        "tollgate_plans $_ lease=off { plan p 10000r/s 100000r/m 1000000r/h 10000000r/2d window=sliding; history 7d; }\n"
    } @names),
    server => "location /many { tollgate @names; proxy_pass http://unix:%DIR%/upstream.sock:/; }",
);
$gateway->import_key("k$_", id => "k$_", plan => 'p') for 1 .. $ids;
wait_for_room($gateway->redis, 86400);
my @clients = map { Http->connect($gateway) } 1 .. $ids;
sub send_all {
    my ($worker) = $gateway->nginx->workers;
    kill STOP => $worker;  # One turn reads all requests: their ids share calls.
    $clients[$_ - 1]->send("GET /many HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k$_\r\n\r\n") for 1 .. $ids;
    kill CONT => $worker;
    return [map { $_->response('GET')->status } @clients];
}
my $errors = $gateway->status->{redis}[0]{errors};
send_all();  # The records of the keys are looked up.
is_deeply(send_all(), [(200) x $ids], 'all requests are granted') for 1 .. 3;
my %counts;
$counts{ $gateway->count($_->[0], $_->[1], 86400) // '-' }++ for map { my $id = "k$_"; map { [$id, $_] } @names } 1 .. $ids;
is_deeply(\%counts, { 4 => $ids * $tables }, '... and counted once in each table');
is($gateway->status->{redis}[0]{errors}, $errors, '... without an error');
unlike($gateway->nginx->error_log, qr/too many results/, '... or a line in the log');
$gateway->nginx->stop;
done_testing;
