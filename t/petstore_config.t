# The `petstore` directive: valid forms, and the messages of nginx -t for mistakes.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Nginx;
use Test::More;

sub refused {
    my ($location, $message) = @_;
    my ($exit, $output) = Nginx->test_config(conf => "server { listen unix:%DIR%/s;\n$location\n}");
    is($exit, 1, $location);
    like($output, qr/\[emerg\] .*$message.* in .*nginx\.conf:\d+/, "says: $message");
}

sub accepted {
    my ($location, $main) = @_;
    my ($exit, $output) = Nginx->test_config(main => $main, conf => "server { listen unix:%DIR%/s;\n$location\n}");
    is($exit, 0, $location) or diag $output;
}

accepted('location / { petstore pets.db; }');
accepted('location ^~ /v1/ { petstore /var/lib/pets.db threads=disk; }', 'thread_pool disk threads=2;');
accepted('location /a/ { petstore pets.db; } location /b/ { petstore pets.db threads=default; }');

refused('location / { petstore; }', 'invalid number of arguments in "petstore" directive');
refused('location / { petstore a b c; }', 'invalid number of arguments');
refused('location / { petstore a b; }', 'invalid parameter "b", use "threads=POOL"');
refused('location / { petstore a threads=; }', 'invalid parameter "threads="');
refused('location / { petstore a threads=nowhere; }', 'unknown thread pool "nowhere"');
refused('location / { petstore ""; }', '"petstore" directive has an empty path; name the database file');
refused('location / { petstore a; petstore a; }', '"petstore" directive is duplicate');
refused("location $_ { petstore a; }", '"petstore" directive needs a location with a prefix, such as "location /v1/"')
    for '= /pets', '~ ^/v1/', '~* ^/v1/', '@pets';
refused('petstore a;', '"petstore" directive is not allowed here');
refused('location / { if ($arg_x) { petstore a; } }', '"petstore" directive is not allowed here');

# Workers without a petstore location open no database. A stop deletes the write-ahead log.
my $nginx = Nginx->start(main => 'worker_shutdown_timeout 5s;');
$nginx->stop;
$nginx = Nginx->start(conf => 'server { listen unix:%DIR%/s; location / { return 204; } }');
$nginx->reload(conf => 'server { listen unix:%DIR%/s; location / { petstore %DIR%/pets.db; } }');
ok(-e $nginx->dir . '/nginx.conf');
$nginx->stop;
is_deeply([glob $nginx->dir . '/pets.db*'], [$nginx->dir . '/pets.db'], 'a stop leaves no write-ahead log');

done_testing;
