# Configurations that nginx -t accepts with a warning: a location where both `tollgate` and `auth_basic` must grant a
# request, because both read the Authorization field and no request passes both; a location where `return` answers before
# `tollgate` asks for a key; values that cannot be meant so; a `ban` that never begins.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Nginx;

my $http = <<'END';
tollgate_redis main { server 127.0.0.1:6379; }
tollgate_plans api { plan free 5r/s; } map $uri $my_http_user { default a; } map $uri $my_arg_x { default a; } map $uri $my_plan { default free; }
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

subtest 'a cost above a limit' => sub {
    my $plans = 'tollgate_plans calls { plan small 60r/m; plan large 200r/m 1000r/d; plan burst 1r/s burst=50; plan all unlimited; plan own custom; }';
    my @found = warnings_of("location /x/ { tollgate calls; tollgate_cost 100; }", $plans . "\n");
    is(@found, 1, 'one warning');
    like($found[0], qr/^location "\/x\/" has "tollgate_cost 100", which is above a limit of these plans: none of their requests is granted: "small" in "calls", "burst" in "calls" in \S+gateway\.conf:6$/, '… of the plans that never grant it');
    for my $cost ('50', '$arg_cost', '0 settle=$bytes_sent') {
        @found = warnings_of("location /x/ { tollgate calls; tollgate_cost $cost; }", $plans);
        is_deeply(\@found, [], "no warning of $cost");
    }
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

my $early = qr/has a "return", which answers every request before "tollgate" asks for a key; add "tollgate off", or move the "return" into an internal location and lead to it with "try_files" in \S+\/gateway\.conf/;

subtest '`return` answers without a key' => sub {
    my @found = warnings_of("location /open/ { tollgate api;\nreturn 200 \"open\"; }");
    is(@found, 1, 'one warning');
    like($found[0], qr/^location "\/open\/" $early:5$/, '… with the location, and the line of `tollgate`');

    my %location = (
        'without a text'           => 'return 204; tollgate api;',
        'a redirect'               => 'tollgate api; return 301 /new;',
        'a URL'                    => 'tollgate api; return https://example.com/;',
        'a refusal'                => 'tollgate api; return 403;',
        'after other directives'   => 'tollgate api; set $a "b$uri"; if ($arg_x = 1) { set $a c; } rewrite ^/(\w+)/(.*) /$2?$1 ; return 200 "$a";',
        'after an `if` with one'   => 'tollgate api; if ($arg_x) { return 404; } if (-f $uri) { set $b c; return 404; } return 200;',
        'with a bypass'            => 'tollgate api; tollgate_bypass $arg_free; return 200;',
        'with a key elsewhere'     => 'tollgate api; tollgate_key_from header:apikey; return 200;',
    );
    for (sort keys %location) {
        my @warnings = warnings_of("location / { $location{$_} }");
        is_deeply([map { /^location "(.*?)" $early:5$/ } @warnings], ['/'], $_) or diag(@warnings);
    }
    @found = warnings_of('tollgate api; location /a { return 200 "a"; location /a/b { return 204; } location /a/c { } } location ~ ^/d { return 200; }');
    is_deeply([sort map { /^location "(.*?)" $early:5$/ } @found], ['/a', '/a/b', '^/d'], 'with a `tollgate` of the server');
    @found = warnings_of("location \@a { tollgate api; return 200; }");
    is_deeply([map { /^location "(.*?)" $early/ } @found], ['@a'], 'a named location with a `tollgate` of its own');

    my $server = qr/^a server has a "return", which answers every request before "tollgate" asks for a key; move it into a location in /;
    for ('tollgate api; return 200;', 'tollgate api; return 301 /; location /a { }', 'return 200 "a"; location /a { tollgate api; } location /b { tollgate api; }') {
        @found = warnings_of($_);
        is(grep({ /$server/ } @found), 1, "a server: $_") or diag(@found);
        is(@found, 1, '… one warning');
    }
};

subtest '`return` that leaves no request without a key: no warning' => sub {
    my %location = (
        'tollgate off'              => 'tollgate off; return 204;',
        'an `if`'                   => 'tollgate api; if ($request_method = OPTIONS) { return 204; }',
        'several `if`'              => 'tollgate api; set $a b; if ($arg_x ~ ^(a)) { set $a $1; return 200 "$a"; } if ($arg_y) { return 301 /; }',
        'after a `break`'           => 'tollgate api; break; return 200;',
        'a `rewrite`'               => 'tollgate api; rewrite ^/a /b break; rewrite ^/c /d redirect;',
        'a dry run'                 => 'tollgate api; tollgate_dry_run on; return 200;',
        'no tollgate'               => 'return 200;',
    );
    is_deeply([warnings_of("location / { $location{$_} }")], [], $_) for sort keys %location;
    is_deeply([warnings_of("tollgate api; location / { $_ }")], [], "with a `tollgate` of the server: $_")
        for 'tollgate off; return 204;', 'return 301 /docs;', 'return 404;', 'internal; return 200 "an error page";';
    is_deeply([warnings_of('tollgate api; location @page { return 200; }')], [], '… a named location');
    is_deeply([warnings_of('if ($arg_x) { return 200; } tollgate api; location / { }')], [], 'an `if` of the server');
    is_deeply([warnings_of('return 301 https://$host$request_uri;', "tollgate api;\n")], [], 'a server that redirects, with a `tollgate` of http');
};

subtest 'a subject that clients choose, and plans that no subject can have' => sub {
    my $tables = "tollgate_plans open { plan gold 1r/d; plan own custom; default gold; }\n";
    my $subject = sub { return [warnings_of("location /a { tollgate $_[0]; tollgate_subject $_[1]; }", $tables)] };
    my $chosen = qr/which clients choose: anybody can spend the quota of any id in \S+gateway\.conf:6$/;
    for ('$http_x_user', '$HTTP_X_User', '$arg_user', '$cookie_user') {
        my $found = $subject->('api', "$_ plan=free");
        is(@$found, 1, "$_: one warning");
        like($found->[0], qr/^location "\/a" has "tollgate_subject \Q$_\E", $chosen/, '… with the location and the line');
    }
    is_deeply($subject->('api', $_), [], "$_: no warning") for 'off', '$remote_user', '$ssl_client_s_dn plan=free', '$my_arg_x plan=$my_plan', '$my_http_user plan=free', '$my_arg_x';
    like($subject->('api', '$my_http_user plan=$arg_plan')->[0], qr/has "plan=\$arg_plan", which clients choose: anybody can have any plan/, 'a plan that clients choose');
    like($subject->('api', '$my_http_user plan=fre')->[0], qr/has "plan=fre", but "api" has no such plan: these requests get 403 in/, 'an unknown plan');
    like($subject->('api open', '$my_http_user plan=gold')->[0], qr/but "api" has no such plan/, 'a plan that is not in every table');
    like($subject->('open', '$my_http_user plan=gol')->[0], qr/but no table has such a plan: the default ones apply in/, 'an unknown plan, and a default');
    like($subject->('open', '$my_http_user plan=own')->[0], qr/but a plan that is "custom" in "open" has no limits for a subject: these requests get 403/, 'a custom plan');
    is_deeply($subject->('open', '$my_http_user plan=gold'), [], 'a known plan');
    my @found = warnings_of("tollgate_subject \$arg_a; tollgate api; location /a { } location /b { } location /c { tollgate_subject off; }");
    is(grep({ /anybody can spend/ } @found), 1, 'a subject of the server: one warning');
    is_deeply([warnings_of("tollgate_subject \$arg_a; location /b { }")], [], 'without tollgate');
};

subtest 'a body that is not read' => sub {
    my $sums = 'tollgate_sum $used $prompt*2 $answer; tollgate_sum $both $used 1; tollgate_plans by_model by=$model { plan free 5r/s; }';
    my $read = 'location /read { tollgate_response_json $prompt /a; tollgate_response_json $answer /b; tollgate_request_json $model /m; }';
    my $warned = sub { my ($place) = @_; return warnings_of("$read location /a { $place }", $sums) };
    for my $case (
        ['tollgate api; tollgate_cost 5 settle=$prompt;', qr/"settle=\$prompt", but no "tollgate_response_json" reads "\$prompt" here: it is empty in/],
        ['tollgate api; tollgate_cost 5 settle=$both;', qr/"settle=\$both", but no "tollgate_response_json" reads "\$answer" here/],
        ['tollgate api; tollgate_cost 5 settle=$used; tollgate_response_json $answer /b;', qr/reads "\$prompt" here/],
        ['tollgate api; tollgate_cost $model;', qr/"tollgate_cost \$model", but no "tollgate_request_json" reads "\$model" here/],
        ['tollgate api; tollgate_cost $used; tollgate_response_json $prompt /a; tollgate_response_json $answer /b;', qr/but "\$answer" is known when the request ends: it is empty/],
        ['tollgate by_model;', qr/"by=\$model", but no "tollgate_request_json" reads "\$model" here/],
    ) {
        my ($place, $warning) = @$case;
        my @found = $warned->($place);
        is(@found, 1, $place);
        like($found[0], qr/^location "\/a" has .*$warning/, '... its warning');
    }
    is_deeply([$warned->($_)], [], $_) for
        'tollgate api; tollgate_cost 5 settle=$used; tollgate_response_json $prompt /a; tollgate_response_json $answer /b;',
        'tollgate by_model; tollgate_request_json $model /m;', 'tollgate api; tollgate_cost 5 settle=$bytes_sent;', 'tollgate_cost 5 settle=$used;';
};

subtest 'a ban that never begins' => sub {
    my $tables = sub { my ($strikes) = @_; return "tollgate_plans users by=\$arg_user { plan free 5r/s; ban after=2 within=1m for=1m$strikes; }\n" };
    my $users = $tables->('');
    my @found = warnings_of("location / { tollgate users; }", $users);
    is(@found, 1, 'one warning');
    like($found[0], qr/^the "ban" of tollgate_plans never begins here: no table is by=id; add one, or "strikes=all" in \S+\/gateway\.conf:6$/, '… with the line of `tollgate`');
    is_deeply([warnings_of("location / { tollgate users api; }", $users)], [], 'beside a table by id: no warning');
    is_deeply([warnings_of("location / { tollgate users; }", $tables->(' strikes=all'))], [], '… with strikes=all');
};

done_testing;
