# `satisfy` together with nginx's own access modules. These run first: requests that they grant under `any`, or refuse
# under `all`, cost no quota.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;
use MIME::Base64 qw(encode_base64);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $basic = 'auth_basic site; auth_basic_user_file %DIR%/passwords;';
my $gateway = Gateway->start(
    plans  => 'plan free 100000r/d; plan spent 1r/d; anonymous 1000r/h;',
    table  => 'lease=off',    # so that Redis counts only what was granted
    files  => { passwords => "user:{PLAIN}secret\n" },
    server => <<"END",
        location /any-deny/   { tollgate api; satisfy any; deny all; $upstream }
        location /any-allow/  { tollgate api; satisfy any; allow all; $upstream }
        location /any-basic/  { tollgate api; satisfy any; $basic $upstream }
        location /any-all/    { tollgate api; satisfy any; deny all; $basic $upstream }
        location /any-asked/  { tollgate api; satisfy any; auth_request /no; $upstream }
        location /any-bypass/ { tollgate api; satisfy any; deny all; tollgate_bypass \$arg_free; $upstream }
        location /any-dry/    { tollgate api; satisfy any; deny all; tollgate_dry_run on; $upstream }
        location /any-off/    { satisfy any; deny all; $upstream }
        location /any-page/   { tollgate api; satisfy any; deny all; error_page 401 429 /any-page/page; $upstream }
        location /all-deny/   { tollgate api; deny all; $upstream }
        location /all-allow/  { tollgate api; allow all; $upstream }
        location /all-basic/  { tollgate api; $basic $upstream }
        location = /no { internal; return 401; }
END
);
$gateway->import_key($_, id => "id-$_", plan => $_) for qw(free spent gold);
$gateway->import_key('other', id => 'id-other', plan => 'free');
is($gateway->get('/', 'spent')->status, 200, 'spent');

my $total = 0;

# The status of a request, and what it cost.
sub outcome {
    my ($path, $key, %headers) = @_;
    my $r = $gateway->get($path, $key, %headers);
    my $now = $gateway->count('id-free', 'api', 86400) // 0;
    my $cost = $now - $total;
    $total = $now;
    return $r->status . " for $cost";
}

my %basic = (Authorization => 'Basic ' . encode_base64('user:secret', ''));
my %wrong = (Authorization => 'Basic ' . encode_base64('user:wrong', ''));

subtest 'any' => sub {
    is(outcome('/any-deny/', 'free'), '200 for 1', 'deny, key');
    is(outcome('/any-deny/'), '401 for 0', 'deny, no key');
    is(outcome('/any-deny/', 'unknown'), '401 for 0', 'deny, unknown key');
    is(outcome('/any-deny/', 'spent'), '429 for 0', 'deny, spent key');
    is(outcome('/any-deny/', 'gold'), '403 for 0', 'deny, a plan that is not allowed');
    is(outcome('/any-allow/', 'free'), '200 for 0', 'allow, key');
    is(outcome('/any-allow/'), '200 for 0', 'allow, no key');
    is(outcome('/any-basic/', 'free'), '200 for 1', 'basic, key');
    is(outcome('/any-basic/', undef, %basic), '200 for 0', 'basic, password');
    is(outcome('/any-basic/', undef, %wrong), '401 for 0', 'basic, wrong password');
    is(outcome('/any-basic/', 'spent'), '429 for 0', 'basic, spent key');
    is(outcome('/any-all/', 'free'), '200 for 1', 'deny and basic, key');
    is(outcome('/any-all/', undef, %basic), '200 for 0', 'deny and basic, password');
    is(outcome('/any-all/'), '401 for 0', 'deny and basic, nothing');
    is(outcome('/any-asked/', 'free'), '200 for 1', 'auth_request refuses, key');
    is(outcome('/any-asked/'), '401 for 0', 'auth_request refuses, no key');
    is(outcome('/any-bypass/?free=1', 'free'), '403 for 0', 'a bypass does not grant');
    is(outcome('/any-dry/'), '403 for 0', '... nor does a refusal in a dry run');
    is(outcome('/any-dry/', 'free'), '200 for 1', '... but a valid key in a dry run does');
    is(outcome('/any-off/', 'free'), '403 for 0', '... nor a location that is off');
    is(outcome('/any-page/', 'spent'), '429 for 0', 'the error page of a refusal is served');
};

subtest 'both challenges' => sub {
    my $r = $gateway->get('/any-basic/');
    is_deeply([sort $r->headers('WWW-Authenticate')], ['Basic realm="site"', 'Bearer realm="api"'], 'are sent if either credential is enough');
    is(scalar(() = $gateway->get('/any-basic/', 'other')->headers('WWW-Authenticate')), 0, 'none on a granted request');
    is($r->json->{code}, 'missing_api_key', 'the body is the Error body');
};

subtest 'all' => sub {
    is(outcome('/all-deny/', 'free'), '403 for 0', 'deny refuses before the quota is charged');
    is(outcome('/all-allow/', 'free'), '200 for 1', 'allow, key');
    is(outcome('/all-allow/'), '401 for 0', 'allow, no key');
    is(outcome('/all-basic/', 'free'), '401 for 0', 'basic refuses before the quota is charged');
    is($gateway->get('/all-basic/', 'free')->header('WWW-Authenticate'), 'Basic realm="site"', '... with its own challenge only');
    is(outcome('/all-basic/', undef, %basic), '401 for 0', 'a password is not a key');
};

$gateway->nginx->stop;
done_testing;
