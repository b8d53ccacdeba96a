# Configurations that nginx -t accepts with a warning: a location where both `tollgate` and `auth_basic` must grant a
# request. Both read the Authorization field, so no request passes both.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Nginx;

my $http = <<'END';
tollgate_redis main { server 127.0.0.1:6379; }
tollgate_plans api { plan free 5r/s; }
END

# The warnings of nginx -t for a server, in order.
sub warnings_of {
    my ($server, $more) = @_;
    my ($exit, $output) = Nginx->test_config(
        conf  => "include gateway.conf;",
        files => {
            'gateway.conf' => "$http" . ($more // '') . "server {\nlisten 127.0.0.1:%PORT%;\n$server\n}\n",
            passwords      => "user:{PLAIN}secret\n",
        },
    );
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is($exit, 0, 'nginx -t succeeds') or diag($output);
    return $output =~ /^nginx: \[warn\] (.*)$/mg;
}

my $basic = 'auth_basic site; auth_basic_user_file passwords;';
my $reason = qr/has both "tollgate" and "auth_basic", which read the same field "Authorization": no request passes both; use "satisfy any", or switch one of them off in \S+\/gateway\.conf/;

subtest 'no request can pass' => sub {
    my @found = warnings_of("location /both/ { $basic\ntollgate api; }");
    is(@found, 1, 'one warning');
    like($found[0], qr/^location "\/both\/" $reason:6$/, '… with the location, and the line of `tollgate`');

    @found = warnings_of("tollgate api;\n location /a { $basic } location /b { $basic } location /c { }");
    is_deeply([map { /^location "(.*?)" $reason:5$/ } @found], ['/a', '/b'], '`tollgate` inherited from the server');

    @found = warnings_of("location /a { location /a/b { tollgate api; } }", "$basic\n");
    is_deeply([map { /^location "(.*?)" $reason:6$/ } @found], ['/a/b'], '`auth_basic` inherited from http, a location in a location');

    @found = warnings_of("location ~ ^/a { tollgate api; $basic if (\$arg_x) { set \$y 1; } } location \@b { tollgate api; $basic }");
    is_deeply([sort map { /^location "(.*?)" $reason/ } @found], ['@b', '^/a'], 'a regular expression with an `if`, and a named location: one warning each');

    @found = warnings_of("tollgate api; $basic");
    is(@found, 1, 'one warning');
    like($found[0], qr/^a server without a location $reason:5$/, '… of a server without a location');

    @found = warnings_of("location /a/ { tollgate api; tollgate_key_from bearer header:Authorization; $basic }");
    is(@found, 1, 'a key without the scheme Bearer in the same field');

    @found = warnings_of("location /read/ { tollgate api; limit_except GET { $basic } }");
    is_deeply([map { /^location "(.*?)" $reason/ } @found], ['/read/'], 'methods for which `limit_except` requires a password');
};

subtest 'requests can pass: no warning' => sub {
    my %location = (
        'auth_basic off'               => "tollgate api; auth_basic off; auth_basic_user_file passwords;",
        'satisfy any'                  => "tollgate api; $basic satisfy any;",
        'tollgate off'                 => "tollgate off; $basic",
        'no tollgate'                  => $basic,
        'no auth_basic'                => 'tollgate api;',
        'a realm of a variable'        => "tollgate api; $basic" =~ s/site/\$arg_realm/r,
        'a bypass'                     => "tollgate api; tollgate_bypass \$arg_free; $basic",
        'a key in another field'       => "tollgate api; tollgate_key_from bearer header:apikey; $basic",
        'a dry run'                    => "tollgate api; tollgate_dry_run on; $basic",
    );
    is_deeply([warnings_of("location / { $location{$_} }")], [], $_) for sort keys %location;
    is_deeply([warnings_of("tollgate api; $basic location / { auth_basic off; } location /ops { tollgate off; }")], [],
        'a server in which each location switches one of them off');
};

done_testing;
