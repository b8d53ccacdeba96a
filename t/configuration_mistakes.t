# nginx -t explains every mistake in the gateway's directives, with file and line.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Certificates;
use Nginx;

# The line that ends in "# here" is the one that the message must name; `rest` is appended to the text.
sub mistake {
    my ($name, $message, $text, $rest) = @_;
    my ($before) = $text =~ /^(.*?)# here/s or die "$name: no mark\n";
    my $line = 1 + ($before =~ tr/\n//);
    my ($exit, $output) = Nginx->test_config(
        conf  => 'include gateway.conf;',
        files => { 'gateway.conf' => $text . ($rest // ''), empty => '', blank => "\r\nsecret\n" },
    );
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    isnt($exit, 0, "$name: refused");
    like($output, qr/\[emerg\] .*$message.* in \S+\/gateway\.conf:$line$/m, "$name: message, file and line");
}

my $redis = "tollgate_redis main { server 127.0.0.1:6379; }\n";
my $plans = "tollgate_plans api { plan free 5r/s; }\n";
my $has_ssl = Nginx->built_with('with-http_ssl_module');

subtest 'names' => sub {
    mistake('unknown plan table', 'unknown tollgate_plans "apj"',
        "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n location / {\n tollgate api apj; # here\n } }");
    mistake('on', 'unknown tollgate_plans "on": use the name of a block',
        "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n location / {\n tollgate on; # here\n } }");
    mistake('unknown Redis', 'unknown tollgate_redis "other"', "$redis\ntollgate_plans api redis=other { # here\n plan free 5r/s; }");
    mistake('no Redis at all', '"tollgate_plans" needs a "tollgate_redis"', "tollgate_plans api { # here\n plan free 5r/s; }");
    mistake('which of two Redis', '"redis=" is required with several tollgate_redis blocks',
        "$redis tollgate_redis second { server 127.0.0.1:6380; }\ntollgate_plans api { # here\nplan free 5r/s; }");
    mistake('a Redis twice', 'duplicate tollgate_redis "main"', "$redis tollgate_redis main { # here\n server 127.0.0.1:6379; }");
    mistake('a plan table twice', 'duplicate tollgate_plans "api"', "$redis${plans}tollgate_plans api { # here\n plan free 5r/s; }");
    mistake('two Redis of one CRC-32', 'tollgate_redis "plumless" and "buckeroo" have the same CRC-32',
        "tollgate_redis plumless { server 127.0.0.1:6379; }\ntollgate_redis buckeroo { # here\n server 127.0.0.1:6380; }");
    mistake('two plan tables of one CRC-32', 'tollgate_plans "plumless" and "buckeroo" have the same CRC-32',
        "$redis tollgate_plans plumless { plan free 5r/s; }\ntollgate_plans buckeroo { # here\n plan free 5r/s; }");
    mistake('a plan twice', 'duplicate plan "free"', "$redis tollgate_plans api {\n plan free 5r/s;\n plan free 6r/s; # here\n }");
    mistake('unknown default', 'unknown default plan "gold"', "$redis tollgate_plans api { # here\n plan free 5r/s; default gold; }");
    mistake('empty default', 'empty value in "default" directive', "$redis tollgate_plans api {\n plan free 5r/s;\n default \"\"; # here\n }");
    mistake('two defaults', '"default" directive is duplicate',
        "$redis tollgate_plans api {\n plan free 5r/s;\n default free;\n default free; # here\n }");
    mistake("history $_", qr/"history" is a time from 1d to 3660d, not "\Q$_\E"/, "$redis tollgate_plans api {\n plan free 5r/s;\n history $_; # here\n }")
        for qw(0 3661d);
    mistake('history off', 'invalid time "off"', "$redis tollgate_plans api {\n plan free 5r/s;\n history off; # here\n }");
    mistake('history of two times', 'invalid number of arguments in "history" directive: it requires exactly one TIME', "$redis tollgate_plans api {\n plan free 5r/s;\n history 1d 2d; # here\n }");
    mistake("notify $_", qr/a level of "notify" is 1% to 100%, not "\Q$_\E"/, "$redis tollgate_plans api {\n plan free 5r/s;\n notify $_; # here\n }")
        for qw(80 0% 101% 80.5% %);
    mistake('notify without a level', 'invalid number of arguments in "notify" directive: it requires LEVEL...', "$redis tollgate_plans api {\n plan free 5r/s;\n notify; # here\n }");
    mistake('a level twice', 'duplicate level "80%"', "$redis tollgate_plans api {\n plan free 5r/s;\n notify 80% 80%; # here\n }");
    mistake('nine levels', '"notify" has at most 8 levels', "$redis tollgate_plans api {\n plan free 5r/s;\n notify 1% 2% 3% 4% 5% 6% 7% 8% 9%; # here\n }");
    mistake('two histories', '"history" directive is duplicate',
        "$redis tollgate_plans api {\n plan free 5r/s;\n history 1d;\n history 2d; # here\n }");
    mistake('a table that cannot be named', 'invalid name "off"', "$redis tollgate_plans off { # here\n plan free 5r/s; }");
    mistake('a table name with a brace', 'invalid name "a\}b"', "$redis tollgate_plans 'a}b' { # here\n plan free 5r/s; }");
    mistake('a parameter of no name', 'invalid parameter "main"', "$redis tollgate_plans api main { # here\n plan free 5r/s; }");
    mistake('redis= without a name', 'invalid parameter "redis="', "$redis tollgate_plans api redis= { # here\n plan free 5r/s; }");
    mistake("lease=$_", qr/"lease" is "off" or a time from 50ms to 1m, not "\Q$_\E"/, "$redis tollgate_plans api lease=$_ { # here\n plan free 5r/s; }")
        for qw(0 49ms 61s);
    mistake("lease=$_", qr/invalid time "\Q$_\E"/, "$redis tollgate_plans api lease=$_ { # here\n plan free 5r/s; }") for qw(on 1x -1s);
    mistake("by=$_", qr/"by" is "id", "group" or one variable, not "\Q$_\E"/, "$redis tollgate_plans api by=$_ { # here\n plan free 5r/s; }") for '', '$', 'user', 'ids', '$a-b', '$a$b';
    mistake('in_flight of values', qr/"in_flight" of plan "free" with "by=\$arg_a" in tollgate_plans "api": use a table by=id for it/, "$redis tollgate_plans api by=\$arg_a { # here\n plan free 5r/s in_flight=2; }");
    mistake("$_ of groups", qr/"$_"(?: of plan "free")? with "by=group" in tollgate_plans "api": use a table by=id for it/, "$redis tollgate_plans api by=group { # here\n plan free 5r/s" . ($_ eq 'in_flight' ? ' in_flight=2; }' : "; history 30d; }")) for 'in_flight', 'history';
    mistake('by= twice', 'invalid parameter "by=id"', "$redis tollgate_plans api by=\$arg_a by=id { # here\n plan free 5r/s; }");
    mistake('lease= twice', 'invalid parameter "lease=2s"', "$redis tollgate_plans api lease=1s lease=2s { # here\n plan free 5r/s; }");
    mistake('a table without plans', 'no plan in tollgate_plans "api"', "$redis tollgate_plans api { # here\n anonymous 5r/s; }");
    mistake('unknown in tollgate_plans', 'unknown directive "plam"', "$redis tollgate_plans api {\n plam free 5r/s; # here\n }");
    mistake('include of nothing', 'unknown directive "include"', "$redis tollgate_plans api {\n include; # here\n }");
    mistake('a block in a block', 'unexpected "\{"', "$redis tollgate_plans api {\n plan free { # here\n } }");
};

subtest 'rates' => sub {
    my %refused = (
        '5'                       => 'invalid rate "5"',
        '5r/x'                    => 'invalid rate "5r/x"',
        '0r/s'                    => 'invalid rate "0r/s"',
        '-1r/s'                   => 'invalid rate "-1r/s"',
        '5r/0m'                   => 'invalid rate "5r/0m"',
        '5.5r/s'                  => 'invalid rate "5.5r/s"',
        '5r/400d'                 => 'invalid rate "5r/400d"',
        '5r/2month'               => 'invalid rate "5r/2month": use "r/month"',
        '60r/min'                 => 'invalid rate "60r/min": use "r/m"',
        '60r/hours'               => 'invalid rate "60r/hours": use "r/h"',
        '5r/d 9r/month window=sliding' => '"9r/month" cannot slide: a month has a fixed window',
        '5r/d 4r/month'           => '"4r/month" allows less than the shorter "5r/d"',
        '1000000000001r/s'        => 'invalid rate "1000000000001r/s"',
        '5r/m 6r/60s'             => 'two rates with one period',
        '9r/m 5r/h'               => '"5r/h" allows less than the shorter "9r/m"',
        '5r/h 9r/m'               => '"5r/h" allows less than the shorter "9r/m"',
        '1r/s 2r/m 3r/h 4r/d 5r/2d' => 'a plan has one to four rates',
        ''                        => 'invalid number of arguments in "plan" directive: it requires NAME RATE...',
        'custom 5r/s'             => '"custom" stands alone',
        '5r/s unlimited'          => '"unlimited" stands alone',
        'custom unlimited'        => '"custom" stands alone',
        '5r/s window=hopping'     => 'invalid window "hopping"',
        'window=sliding 5r/s'     => 'invalid rate "window=sliding"',
    );
    mistake("plan free $_", $refused{$_}, "$redis tollgate_plans api {\n plan free $_; # here\n }") for sort keys %refused;
    mistake('a plan without a name', 'invalid number of arguments in "plan" directive', "$redis tollgate_plans api {\n plan; # here\n }");
    mistake('a plan name with a quote', 'invalid plan name "a"b"', "$redis tollgate_plans api {\n plan 'a\"b' 5r/s; # here\n }");
    mistake('anonymous unlimited', 'invalid rate "unlimited"', "$redis tollgate_plans api {\n anonymous unlimited; # here\n }");
    mistake('two anonymous', '"anonymous" directive is duplicate',
        "$redis tollgate_plans api {\n anonymous 5r/s;\n anonymous 5r/s; # here\n }");
};

subtest 'values' => sub {
    my $bound = '"values" is a number from 1 to 1000000, not';
    mistake("values $_", qq($bound "$_"), "$redis tollgate_plans api by=\$arg_user values=$_ { plan free 5r/s; } # here") for 0, 'x', 1_000_001;
    mistake('values of ids', '"values" needs "by=\\$variable"', "$redis tollgate_plans api values=5 { plan free 5r/s; } # here");
    mistake('values of groups', '"values" needs "by=\\$variable"', "$redis tollgate_plans api by=group values=5 { plan free 5r/s; } # here");
    mistake('values twice', 'invalid parameter "values=6"', "$redis tollgate_plans api by=\$arg_user values=5 values=6 { plan free 5r/s; } # here");
};

subtest 'bans' => sub {
    my %refused = (
        'after=20 within=1m'                     => 'a ban needs "after", "within" and "for"',
        'after=0 within=1m for=1m'               => 'invalid number "0"',
        'after=x within=1m for=1m'               => 'invalid number "x"',
        'after=2 within=1q for=1m'               => 'invalid time "1q"',
        'after=2 within=1m for=-1m'              => 'invalid time "-1m"',
        'after=2 within=1m for=2m up_to=1m'      => '"up_to" is shorter than "for"',
        'after=2 within=1m for=1m forever=1'     => 'invalid parameter "forever=1"',
        'after=2 within=1m for=1m strikes=group' => 'invalid parameter "strikes=group"',
        'after=2 after=3 within=1m for=1m'       => 'duplicate parameter "after=3"',
    );
    mistake("ban $_", $refused{$_}, "$redis tollgate_plans api {\n plan free 5r/s;\n ban $_; # here\n }") for sort keys %refused;
    my $ban = 'ban after=2 within=1m for=1m';
    mistake('two bans', '"ban" directive is duplicate', "$redis tollgate_plans api {\n $ban;\n $ban; # here\n }");
};

subtest 'tollgate_redis' => sub {
    my %refused = (
        'server 127.0.0.1:port'       => 'invalid port in server "127.0.0.1:port"',
        'server 127.0.0.1:70000'      => 'invalid port in server',
        'server unix:'                => 'no path in the unix domain socket in server "unix:"',
        'server [::1'                 => 'invalid host in server',
        'server no.such.host.invalid' => 'host not found in server "no.such.host.invalid"',
        'server'                      => 'invalid number of arguments in "server" directive',
        'server 127.0.0.1 [::1'       => 'invalid host in server "\[::1"',
        'server resolve'              => 'no address in "server" directive',
        'server unix:/r.sock resolve' => '"resolve" with a unix domain socket in server "unix:/r.sock"',
        'server r:70000 resolve'      => 'invalid port in server "r:70000"',
        'server redis.test resolve'   => '"resolve" in tollgate_redis "main" needs a "resolver" directive',
        'resolver'                    => 'invalid number of arguments in "resolver" directive',
        'resolver 127.0.0.1 valid=x'  => 'invalid parameter: valid=x',
        'resolver valid=1s'           => 'no name servers defined',
        'resolver 127.0.0.1:0'        => 'invalid port in resolver "127.0.0.1:0"',
        'resolver_timeout 0'          => 'invalid timeout "0"',
        'database x'                  => 'invalid database "x"',
        'database -1'                 => 'invalid database "-1"',
        'timeout 0'                   => 'invalid timeout "0"',
        'timeout 2m'                  => 'invalid timeout "2m"',
        'timeout 100'                 => 'invalid timeout "100": above 0, at most a minute; without a unit it has seconds',
        'timeout soon'                => 'invalid time "soon"',
        'connect_timeout -5s'         => 'invalid time "-5s"',
        'on_failure perhaps'          => 'invalid on_failure "perhaps"',
        'password_file none'          => 'open\(\) "\S+/none" failed \(2: No such file or directory\) in "password_file"',
        'password_file .'             => 'read\(\) "\S+/\." failed \(21: Is a directory\) in "password_file"',
        'password_file empty'         => 'no password in the first line of "password_file" "\S+/empty"',
        'password_file blank'         => 'no password in the first line of "password_file" "\S+/blank"',
        'tls yes'                     => 'invalid value "yes" in "tls" directive: "on" or "off"',
        'tls_verify 1'                => 'invalid value "1" in "tls_verify" directive',
        'tls_ca ""'                   => 'empty value in "tls_ca" directive',
        'weight 5'                    => 'unknown directive "weight"',
    );
    mistake($_, $refused{$_}, "tollgate_redis main {\n $_; # here\n }") for sort keys %refused;
    for my $name ('server 127.0.0.1', 'prefix a:', 'timeout 1s', 'database 1', 'tls on', 'tls_ca a', 'tls_verify on', 'resolver 127.0.0.1', 'resolver_timeout 1s') {
        my ($word) = split / /, $name;
        mistake("$word twice", "\"$word\" directive is duplicate", "tollgate_redis main {\n $name;\n $name; # here\n }");
    }
    mistake('no server', '"server", "sentinel" or "cluster" is missing in tollgate_redis "main"', "tollgate_redis main { # here\n prefix a:; }");
    mistake('a user without a password', '"username" without a password', "tollgate_redis main { # here\n server 127.0.0.1; username u; }");
};

subtest 'Redis Cluster' => sub {
    my %refused = (
        'cluster 127.0.0.1:7000; server 127.0.0.1;' => 'both "server" and "cluster" in tollgate_redis "main"',
        'cluster 127.0.0.1:7000; database 1;'       => '"database" with "cluster" in tollgate_redis "main"',
        'cluster 127.0.0.1:7000; prefix "a{b}:";'   => '"\{" in "prefix" with "cluster" in tollgate_redis "main"',
    );
    mistake($_, $refused{$_}, "tollgate_redis main { # here\n $_ }") for sort keys %refused;
    mistake('a unix socket', '"cluster" with a unix socket: "unix:/redis.sock"', "tollgate_redis main {\n cluster unix:/redis.sock; # here\n }");
    mistake('no server', 'invalid number of arguments in "cluster" directive', "tollgate_redis main {\n cluster; # here\n }");
    mistake('no resolver', '"resolve" in tollgate_redis "main" needs a "resolver" directive', "tollgate_redis main {\n cluster r.test resolve; # here\n }");
    mistake('only "resolve"', 'no address in "cluster" directive', "tollgate_redis main {\n cluster resolve; # here\n }");
};

subtest 'sentinel of tollgate_redis' => sub {
    my $sentinel = 'sentinel m 127.0.0.1';
    my %refused = (
        'sentinel m'                    => 'invalid number of arguments in "sentinel" directive: it requires MASTER ADDR...',
        'sentinel m resolve'            => 'no address in "sentinel" directive',
        'sentinel m s.test resolve'     => '"resolve" in tollgate_redis "main" needs a "resolver" directive',
        'sentinel "" 127.0.0.1'         => 'empty name of the master in "sentinel" directive',
        'sentinel m 127.0.0.1:x'        => 'invalid port in sentinel "127.0.0.1:x"',
        'sentinel m no.such.host.invalid' => 'host not found in sentinel "no.such.host.invalid"',
        'sentinel m unix:/s.sock'       => 'a unix socket in sentinel "unix:/s.sock": Sentinel has TCP ports only',
        'sentinel_tls yes'              => 'invalid value "yes" in "sentinel_tls" directive: "on" or "off"',
        'sentinel_tls on off'           => 'invalid number of arguments in "sentinel_tls" directive',
        'sentinel_password_file none'   => 'open\(\) "\S+/none" failed .* in "sentinel_password_file"',
        'sentinel_password_file empty'  => 'no password in the first line of "sentinel_password_file" "\S+/empty"',
        'sentinel_port 1'               => 'unknown directive "sentinel_port"',
        "$sentinel;\n $sentinel"        => '"sentinel" directive is duplicate',
        "sentinel_password a;\n sentinel_password_file blank" => '"sentinel_password_file" directive is duplicate',
    );
    mistake($_, $refused{$_}, "tollgate_redis main {\n $_; # here\n }") for sort keys %refused;
    my %together = (
        "$sentinel; server 127.0.0.1;"       => 'both "server" and "sentinel" in tollgate_redis "main"',
        "server 127.0.0.1; $sentinel;"       => 'both "server" and "sentinel"',
        "server unix:/r.sock; $sentinel;"    => 'both "server" and "sentinel"',
        "server 127.0.0.1; sentinel_tls on;" => '"sentinel_tls" without "sentinel" in tollgate_redis "main"',
        'sentinel_password a;'               => '"sentinel_password" without "sentinel"',
        "$sentinel; sentinel_username a;"    => '"sentinel_username" without "sentinel_password"',
        "$sentinel; tls on;"                 => 'TLS with "sentinel" needs "tls_server_name"',
        "$sentinel; sentinel_tls on;"        => 'TLS with "sentinel" needs "tls_server_name"',
        "$sentinel; tls_verify off;"         => '"tls_verify" without "tls on"',
    );
    mistake($_, $together{$_}, "tollgate_redis main { # here\n $_ }") for sort keys %together;
};

subtest 'TLS to Redis' => sub {
    my %refused = (
        'tls_ca ca;'                        => '"tls_ca" without "tls on" in tollgate_redis "main"',
        'tls off; tls_verify off;'          => '"tls_verify" without "tls on"',
        'tls on; tls_certificate one;'      => '"tls_certificate" without "tls_certificate_key"',
        'tls on; tls_certificate_key one;'  => '"tls_certificate_key" without "tls_certificate"',
    );
    mistake($_, $refused{$_}, "tollgate_redis main { # here\n server 127.0.0.1; $_ }") for sort keys %refused;
    mistake('a unix socket', '"tls on" with a unix socket as "server" in tollgate_redis "main"',
        "tollgate_redis main { # here\n tls on; server unix:/redis.sock; }");
};

subtest 'TLS to Redis, of an nginx without SSL' => sub {
    plan skip_all => 'this nginx has SSL' if $has_ssl;
    my $reason = 'needs an nginx with SSL \(--with-http_ssl_module\) in tollgate_redis "main"';
    mistake('tls on', "\"tls on\" $reason", "tollgate_redis main { # here\n server 127.0.0.1; tls on; }");
};

subtest 'certificates of TLS to Redis' => sub {
    plan skip_all => 'this nginx has no SSL' unless $has_ssl;
    my $certificates = Certificates->new;
    $certificates->issue($_) for qw(one two);
    my %file = map { $_ => $certificates->certificate($_) } qw(one two);
    my $key = $certificates->key('one');
    my %refused = (
        'tls on; tls_ca none;'                       => 'open\(\) "\S+/none" failed \(2: No such file or directory\) in "tls_ca"',
        'tls on; tls_ca empty;'                      => '(?:SSL_CTX_load_verify_locations\(|cannot load certificate )"\S+/empty"\)?(?:: \S+)? failed',
        "tls on; tls_certificate none; tls_certificate_key $key;"       => 'open\(\) "\S+/none" failed .* in "tls_certificate"',
        "tls on; tls_certificate $file{one}; tls_certificate_key none;" => 'open\(\) "\S+/none" failed .* in "tls_certificate_key"',
        "tls on; tls_certificate blank; tls_certificate_key $key;"      => 'cannot load certificate "\S+/blank"',
        "tls on; tls_certificate $file{one}; tls_certificate_key blank;" => 'cannot load certificate key "\S+/blank"',
        "tls on; tls_certificate $file{two}; tls_certificate_key $key;" => 'key values mismatch',
    );
    mistake($_, $refused{$_}, "tollgate_redis main { # here\n server 127.0.0.1; $_ }") for sort keys %refused;
};

subtest 'directives of servers and locations' => sub {
    my %refused = (
        'tollgate_cost -1'                      => '"tollgate_cost" directive has an invalid number',
        'tollgate_cost 1.5'                     => '"tollgate_cost" directive has an invalid number',
        'tollgate_cost 1 used=$arg_a'           => 'invalid parameter "used=.arg_a"',
        'tollgate_cost 1 settle=2'              => '"settle=" needs a variable',
        'tollgate_cost 1 settle='               => '"settle=" needs a variable',
        'tollgate_cost 5 min=6'                 => '"min=" is a number from 1 to the cost',
        'tollgate_cost 0 min=1'                 => '"min=" is a number from 1 to the cost',
        'tollgate_cost $arg_a min=0'            => '"min=" is a number from 1 to the cost',
        'tollgate_cost 1 table='                => 'invalid parameter "table="',
        'tollgate api; tollgate_cost 1 table=other' => '"tollgate_cost" has "table=other", which "tollgate" does not name here',
        'tollgate_cost 1 table=other'           => '"tollgate_cost" has "table=other": no "tollgate_plans" has this name',
        'tollgate_response_json'                => 'invalid number of arguments in "tollgate_response_json" directive',
        'tollgate_response_json $a'             => '"tollgate_response_json" directive has no JSON pointer',
        'tollgate_response_json a /a'           => 'invalid variable name "a"',
        'tollgate_response_json $ /a'           => 'invalid variable name "\$"',
        'tollgate_response_json $a usage/total' => 'invalid JSON pointer "usage/total": it begins with "/"',
        'tollgate_response_json $a ""'          => 'invalid JSON pointer "": it begins with "/"',
        'tollgate_response_json $a /a~2'        => 'invalid JSON pointer "/a~2": "~" is not followed by 0 or 1',
        'tollgate_response_json $a /a /b /a'    => 'duplicate JSON pointer "/a"',
        'tollgate_response_json $a off'         => '"tollgate_response_json" directive cannot combine "off" with a variable',
        'tollgate_response_json $a max=1k /a'   => 'invalid JSON pointer "max=1k": it begins with "/"',
        'tollgate_request_json $a /a max=0'     => 'invalid size "max=0"',
        'tollgate_request_json $a /a max=x'     => 'invalid size "max=x"',
        'tollgate_request_json $host /a'        => 'the duplicate "host" variable',
        'tollgate_response_json $a ' . '/a' x 17  => 'invalid JSON pointer ".*": it has at most 16 names',
        'tollgate_response_json $a /' . 'a' x 128 => 'invalid JSON pointer ".*": a name has at most 127 bytes',
        'tollgate_response_json $a ' . join(' ', map { "/$_" } 0 .. 32) => 'more than 32 JSON pointers',
        'tollgate_headers draft'                => 'invalid value "draft"',
        'tollgate_log_level crit'               => 'invalid value "crit"',
        'tollgate_dry_run yes'                  => 'invalid value "yes" in "tollgate_dry_run" directive',
        'tollgate_json_errors 1'                => 'invalid value "1" in "tollgate_json_errors" directive',
        'tollgate_forward_authorization maybe'  => 'invalid value "maybe" in "tollgate_forward_authorization" directive',
        'tollgate off api'                      => '"tollgate" directive cannot combine "off" with plan tables',
        'tollgate api api'                      => '"tollgate" directive names a table twice',
        'tollgate ' . join(' ', map { "t$_" } 1 .. 129) => '"tollgate" directive names more than 128 tables',
        'tollgate'                              => 'invalid number of arguments in "tollgate" directive',
        'tollgate_scope'                        => 'invalid number of arguments in "tollgate_scope" directive',
        'tollgate_scope ""'                     => 'invalid scope ""',
        'tollgate_scope a "b c"'                => 'invalid scope "b c"',
        'tollgate_scope "a\"b"'                 => 'invalid scope "a"b"',
        'tollgate_scope \xc3\xa9'               => 'invalid scope',
        'tollgate_scope $arg_scope'             => 'invalid scope "\$arg_scope": .*without variables',
        'tollgate_scope read off'               => '"tollgate_scope" directive cannot combine "off" with scopes',
        'tollgate_scope ' . join(' ', 'aa' .. 'dz') => 'the scopes have more than 256 bytes',
        'tollgate_key_from'                     => 'invalid number of arguments in "tollgate_key_from" directive',
        'tollgate_key_from query:key'           => 'unknown source "query:key": use bearer or header:NAME',
        'tollgate_key_from header:'             => 'invalid field name ""',
        'tollgate_key_from header:a.b'          => 'invalid field name "a.b"',
        'tollgate_key_from bearer bearer'       => '"tollgate_key_from" directive names a source twice',
        'tollgate_key_from header:a header:a'   => '"tollgate_key_from" directive names a source twice',
        'tollgate_key_from header:Cookie'       => '"tollgate_key_from" cannot read the key from "Cookie": nginx itself needs this field',
        'tollgate_subject'                      => 'invalid number of arguments in "tollgate_subject" directive',
        'tollgate_subject everyone'             => '"tollgate_subject" takes one variable, not "everyone"',
        'tollgate_subject a-$arg_id'            => '"tollgate_subject" takes one variable, not "a-.arg_id"',
        'tollgate_subject $'                    => '"tollgate_subject" takes one variable, not "."',
        'tollgate_subject $arg_id free'         => 'invalid parameter "free"',
        'tollgate_subject $arg_id plan='        => 'invalid parameter "plan="',
        'tollgate_subject $arg_id off'          => '"tollgate_subject" directive cannot combine "off" with a variable',
        'tollgate_bypass'                       => 'invalid number of arguments in "tollgate_bypass" directive',
        'tollgate_realm a b'                    => 'invalid number of arguments in "tollgate_realm" directive',
        'tollgate_zone 8m'                      => '"tollgate_zone" directive is not allowed here',
    );
    my $head = "$redis${plans}server {\n listen 127.0.0.1:%PORT%;\n";
    mistake($_, $refused{$_}, "$head location / {\n $_; # here\n } }") for sort keys %refused;
    for my $directive (
        'tollgate api', 'tollgate off', 'tollgate_realm a', 'tollgate_headers both', 'tollgate_cost 2', 'tollgate_dry_run on',
        'tollgate_response_json off', 'tollgate_request_json off',
        'tollgate_scope a', 'tollgate_scope off', 'tollgate_key_from header:apikey', 'tollgate_subject $arg_a', 'tollgate_subject off',
        'tollgate_forward_authorization on', 'tollgate_json_errors on', 'tollgate_log_level warn')
    {
        mistake("$directive twice", '"\w+" directive is duplicate', "$head $directive;\n $directive; # here\n }");
    }
    mistake('two costs of a table', '"tollgate_cost" directive is duplicate',
        "$head tollgate_cost 1;\n tollgate_cost 2 table=api;\n tollgate_cost 3 table=api; # here\n }");
    mistake('a variable twice', 'duplicate variable "\$a"', "$head tollgate_request_json \$a /a;\n tollgate_request_json \$a /b; # here\n }");
    mistake('a variable, and off', 'directive is duplicate', "$head tollgate_request_json \$a /a;\n tollgate_request_json off; # here\n }");
    mistake('a variable of requests and of responses', 'the variable "\$a" is set by another directive',
        "$head tollgate_request_json \$a /a;\n tollgate_response_json \$a /a; # here\n }");
    mistake('a variable after "set"', 'the variable "\$a" is set by another directive', "$head set \$a 1;\n tollgate_request_json \$a /a; # here\n }");
    my %sum = (
        'tollgate_sum $a'      => 'invalid number of arguments in "tollgate_sum" directive',
        'tollgate_sum a 1'     => 'invalid variable name "a"',
        'tollgate_sum $a 1e3'  => 'invalid term "1e3": use decimal numbers and variables',
        'tollgate_sum $a -1'   => 'invalid term "-1"',
        'tollgate_sum $a 2*'   => 'invalid term "2\*"',
        'tollgate_sum $a 2*3*4' => 'invalid term "2\*3\*4"',
        'tollgate_sum $a $a'   => 'the variable "\$a" is used by a sum that is not after it',
        'tollgate_sum $a $B; tollgate_sum $b $a' => 'the variable "\$b" is used by a sum that is not after it',
        'tollgate_sum $a 1; tollgate_sum $a 2' => 'the duplicate "a" variable',
    );
    mistake($_, $sum{$_}, "$_; # here\n") for sort keys %sum;
    mistake('tables of different Redis', 'plan tables "api" and "b" have different Redis', <<'END');
        tollgate_redis one { server 127.0.0.1:1; }
        tollgate_redis two { server 127.0.0.1:2; }
        tollgate_plans api redis=one { plan free 5r/s; }
        tollgate_plans b   redis=two { plan free 5r/s; }
        server { listen 127.0.0.1:%PORT%; location / {
            tollgate api b; # here
        } }
END
    mistake('tollgate_redis in a server', '"tollgate_redis" directive is not allowed here', "server {\n tollgate_redis main { # here\n } }");
};

subtest 'tollgate_usage and tollgate_status' => sub {
    my $server = "server {\n listen 127.0.0.1:%PORT%;\n";
    my $needs = '"tollgate_usage" needs a "tollgate" that names a plan table';
    mistake('usage of nothing', $needs, "$redis$plans$server location / {\n tollgate_usage; # here\n } }");
    mistake('usage where it is off', $needs, "$redis$plans$server tollgate api;\n location / {\n tollgate_usage; # here\n tollgate off; } }");
    mistake('usage without any table', $needs, "$server location / {\n tollgate_usage; # here\n } }");
    mistake('status without any table', '"tollgate_status" needs a "tollgate_plans"', "$server location / {\n tollgate_status; # here\n } }");
    for my $directive (qw(tollgate_usage tollgate_status)) {
        my $head = "$redis$plans$server tollgate api;\n location / {\n";
        my $beside = qq("$directive" conflicts with another content handler);
        my $other = $directive eq 'tollgate_usage' ? 'tollgate_status' : 'tollgate_usage';
        mistake("$directive twice", qq("$directive" directive is duplicate), "$head $directive;\n $directive; # here\n } }");
        mistake("$directive after $other", qq("$directive" directive conflicts with another content handler), "$head $other;\n $directive; # here\n } }");
        mistake("$directive before proxy_pass", $beside, "$head $directive; # here\n proxy_pass http://127.0.0.1:1;\n } }");
        mistake("$directive after proxy_pass", qq("$directive" directive conflicts with another content handler),
            "$head proxy_pass http://127.0.0.1:1;\n $directive; # here\n } }");
        my $value = $directive eq 'tollgate_usage' ? qq(invalid number of arguments in "$directive" directive) : qq("$directive": "on" is not "ready");
        mistake("$directive with a value", $value, "$head $directive on; # here\n } }");
        mistake("$directive in a server", qq("$directive" directive is not allowed here), "$redis$plans$server $directive; # here\n }");
        mistake("$directive in an if", qq("$directive" directive is not allowed here), "$head if (\$arg_a) {\n $directive; # here\n } } }");
    }
};

subtest 'tollgate_admin' => sub {
    my %refused = (
        'tollgate api; tollgate_admin main; # here'                                                    => 'needs a "tollgate_scope", or "read=" and "write=": not every key may manage keys',
        'tollgate_scope admin; tollgate_admin main; # here'                                            => 'needs a "tollgate" that names a plan table: the admin API must require a key',
        'tollgate off; tollgate_scope admin; tollgate_admin main; # here'                              => 'needs a "tollgate" that names a plan table: the admin API must require a key',
        'tollgate api; tollgate_scope off; tollgate_admin main; # here'                                => 'needs a "tollgate_scope", or "read=" and "write=": not every key may manage keys',
        'tollgate api; tollgate_scope admin; tollgate_dry_run on; tollgate_admin main; # here'         => 'conflicts with "tollgate_dry_run on": the admin API must require a key',
        'tollgate api; tollgate_scope admin; tollgate_bypass $arg_x; tollgate_admin main; # here'      => 'conflicts with "tollgate_bypass": the admin API must require a key',
        'tollgate api; tollgate_scope admin; satisfy any; tollgate_admin main; # here'                 => 'conflicts with "satisfy any": the admin API must require a key',
        'tollgate api; tollgate_scope admin; tollgate_admin other; # here'                             => 'names an unknown "tollgate_redis"',
        'tollgate api; tollgate_admin main read=r; # here'                                             => 'needs a "tollgate_scope", or "read=" and "write="',
        'tollgate api; tollgate_admin main write=w; # here'                                            => 'needs a "tollgate_scope", or "read=" and "write="',
        'tollgate off; tollgate_admin main read=r write=w; # here'                                     => 'needs a "tollgate" that names a plan table: the admin API must require a key',
        'tollgate api; tollgate_admin main read=r write=w other; # here'                               => 'invalid number of arguments',
        'tollgate api; tollgate_admin main read=r other=w; # here'                                     => 'invalid parameter "other=w"',
        'tollgate api; tollgate_admin main read=r read=w; # here'                                      => 'has "read=" twice',
        'tollgate api; tollgate_admin main read= write=w; # here'                                      => 'invalid scope in "read="',
        'tollgate api; tollgate_admin main read=$arg_x write=w; # here'                                => 'invalid scope in "read=$arg_x"',
        'tollgate api; tollgate_scope admin; tollgate_admin; # here'                                   => 'invalid number of arguments',
        'tollgate api; tollgate_scope admin; tollgate_status; tollgate_admin main; # here'             => 'conflicts with another content handler',
    );
    mistake("$_", quotemeta $refused{$_}, "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n location /admin/ {\n $_\n } }") for sort keys %refused;
    for my $location ('= /admin', '= /admin/', '/admin', '~ ^/admin/', '@admin') {
        mistake("location $location", 'needs a location with a prefix',
            "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n location $location {\n tollgate api; tollgate_scope admin;\n tollgate_admin main; # here\n } }");
    }
    my ($exit, $output) = Nginx->test_config(conf => "$redis$plans server { listen 127.0.0.1:%PORT%; tollgate api; tollgate_scope admin; location /admin/ { tollgate_admin main; } }");
    is($exit, 0, 'both may be inherited') or diag($output);
};

subtest 'tollgate_dashboard' => sub {
    my $head = "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n";
    my (undef, $output) = Nginx->test_config(conf => "$head location / { tollgate_dashboard; } }");
    plan skip_all => 'this build has no dashboard' if $output =~ /the page is not in this build/;
    mistake('without any table', '"tollgate_dashboard" needs a "tollgate_plans"',
        "server {\n listen 127.0.0.1:%PORT%;\n location / {\n tollgate_dashboard; # here\n } }");
    mistake('beside another', '"tollgate_dashboard" directive conflicts with another content handler',
        "$head location / {\n tollgate_status;\n tollgate_dashboard; # here\n } }");
    mistake('twice', '"tollgate_dashboard" directive is duplicate',
        "$head location / {\n tollgate_dashboard;\n tollgate_dashboard; # here\n } }");
    mistake("an address of another host: $_",
        qq(invalid status URI "$_": a path on the same host is needed),
        "$head location / {\n tollgate_dashboard $_; # here\n } }") for qw(https://example.com/status //example.com);
    mistake('two addresses', 'invalid number of arguments in "tollgate_dashboard" directive',
        "$head location / {\n tollgate_dashboard a b; # here\n } }");
    mistake('in a server', '"tollgate_dashboard" directive is not allowed here', "$head tollgate_dashboard; # here\n }");
};

subtest 'tollgate_console' => sub {
    my $head = "$redis$plans server {\n listen 127.0.0.1:%PORT%;\n";
    my (undef, $output) = Nginx->test_config(conf => "$head location /console/ { tollgate_console; } }");
    plan skip_all => 'this build has no console' if $output =~ /the page is not in this build/;
    for my $uri ('https://example.com/admin/', '//example.com/', 'admin/', '/admin', '/admin/?a=/', '/a#/') {
        mistake("the API $uri", quotemeta qq(invalid API URI "$uri": a path that begins and ends with "/" is needed),
            "$head location /console/ {\n tollgate_console '$uri'; # here\n } }");
    }
    for my $location ('= /console/', '/console', '~ ^/console/', '@console') {
        mistake("location $location", 'needs a location with a prefix', "$head location $location {\n tollgate_console; # here\n } }");
    }
    mistake('with tollgate', '"tollgate_console" conflicts with "tollgate": a browser requests the page without a key',
        "$head location /console/ {\n tollgate api;\n tollgate_console; # here\n } }");
    mistake('beside another', '"tollgate_console" directive conflicts with another content handler',
        "$head location /console/ {\n tollgate_status;\n tollgate_console; # here\n } }");
    mistake('twice', '"tollgate_console" directive is duplicate', "$head location /console/ {\n tollgate_console;\n tollgate_console; # here\n } }");
    mistake('two addresses', 'invalid number of arguments in "tollgate_console" directive', "$head location /console/ {\n tollgate_console /a/ /b/; # here\n } }");
    mistake('in a server', '"tollgate_console" directive is not allowed here', "$head tollgate_console; # here\n }");
    for my $open ('tollgate off;', 'tollgate_bypass $arg_x;', 'satisfy any;', 'tollgate_dry_run on;') {
        my ($exit, $text) = Nginx->test_config(conf => "$head tollgate api; location /console/ { $open tollgate_console; } }");
        is($exit, 0, "in a server with tollgate, with $open") or diag($text);
    }
};

subtest 'tollgate_zone' => sub {
    mistake('too small', 'tollgate_zone "64k" is too small: 128k at least', 'tollgate_zone 64k; # here');
    mistake('no size', 'invalid zone size "many"', 'tollgate_zone many; # here');
    mistake('twice', '"tollgate_zone" directive is duplicate', "tollgate_zone 8m;\n tollgate_zone 8m; # here");
};

subtest 'the message names an included file' => sub {
    my ($exit, $output) = Nginx->test_config(
        conf  => "$redis tollgate_plans api { include plans.conf; }",
        files => { 'plans.conf' => "plan pro 5r/s;\nplan free x;\n" },
    );
    isnt($exit, 0, 'refused');
    like($output, qr/invalid rate "x" in \S+\/plans\.conf:2$/m, 'message');
};

done_testing;
