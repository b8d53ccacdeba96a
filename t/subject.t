# tollgate_subject: ids that another module of nginx has established, in place of API keys.

use strict;
use warnings;
use lib 't/lib';
use Certificates;
use Command;
use Gateway qw(wait_for_room);
use JSON::PP ();
use MIME::Base64 qw(encode_base64);
use Nginx;
use RedisCluster;
use Test::More;
use Wait qw(becomes wait_until);

my $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
# The verifier answers with the status, the user and the plan that the client's fields say.
my $verify = 'auth_request /verify; auth_request_set $user $upstream_http_x_user; auth_request_set $user_plan $upstream_http_x_plan;';
my $subject = 'tollgate_subject $user plan=$user_plan;';
my $basic = 'auth_basic site; auth_basic_user_file %DIR%/passwords;';
my $verifier = <<'END';
    location = /verify { internal; proxy_pass http://unix:%DIR%/upstream.sock:/verifier; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
END
my $answers = <<'END';
    location /verifier {
        add_header X-User $http_says_user always;
        add_header X-Plan $http_says_plan always;
        if ($http_says_status = 401) { return 401; }
        if ($http_says_status = 403) { return 403; }
        return 204;
    }
END
my %passwords = (passwords => "user:{PLAIN}secret\n");

# What the verifier is to answer.
sub says { my ($user, $plan, $status) = @_; return ('Says-User' => $user, 'Says-Plan' => $plan, 'Says-Status' => $status) }
sub basic { my ($user, $password) = @_; return (Authorization => 'Basic ' . encode_base64("$user:$password", '')) }

my $gateway = Gateway->start(
    plans  => 'plan free 100000r/d; plan small 3r/d; plan pro 200000r/d; plan own custom; plan all unlimited; default free; anonymous 1000r/h;',
    table  => 'lease=off',    # so that Redis counts only what was granted
    files  => \%passwords,
    http   => <<"END",
        tollgate_plans strict redis=main lease=off { plan pro 200000r/d; }
        map \$remote_addr \$office  { 127.0.0.1 office; }
        map \$remote_addr \$branch  { 192.0.2.1 branch; }
        log_format fields '\$uri|\$tollgate_verdict|\$tollgate_key_id|\$tollgate_plan|\$tollgate_key_from';
END
    upstream => $answers,
    server => <<"END",
        access_log %DIR%/access.log fields;
        $verifier
        location /asked/     { tollgate api; $subject $verify $upstream
            location /asked/off/ { tollgate_subject off; $upstream } }
        location /default/   { tollgate api; tollgate_subject \$user; $verify $upstream }
        location /strict/    { tollgate strict; $subject $verify $upstream }
        location /both/      { tollgate api strict; $subject $verify $upstream }
        location /office/    { tollgate api; tollgate_subject \$office plan=pro; $upstream }
        location /branch/    { tollgate api; tollgate_subject \$branch plan=pro; $upstream }
        location /basic/     { tollgate api; tollgate_subject \$remote_user; $basic $upstream }
        location /scope/     { tollgate api; $subject tollgate_scope admin; $verify $upstream }
        location /free/      { tollgate api; $subject tollgate_cost 0; $verify $upstream }
        location /dry/       { tollgate api; $subject tollgate_dry_run on; $verify $upstream }
        location /bypass/    { tollgate api; $subject tollgate_bypass 1; $verify $upstream }
        location /open/      { tollgate off; $subject $verify $upstream }
        location /usage      { tollgate api; $subject $verify tollgate_usage; }
        location /moved/     { tollgate api; $subject $verify try_files /none /asked/x; }
        location /stricter/  { tollgate api; $subject $verify try_files /none /strict/x; }
        location /page/      { tollgate api; $subject $verify error_page 429 /page.html; $upstream }
        location /key-page/  { tollgate api; $subject $verify error_page 401 = \@key; $upstream }
        location /recursive/ { tollgate api; $subject $verify recursive_error_pages on; error_page 401 = \@key; $upstream }
        location /unguarded/ { $verify error_page 401 = \@key; $upstream }
        location \@key       { tollgate api; $subject $upstream }
        location = /page.html { tollgate api; $subject return 200 "a page\\n"; }
        location /forward/   { tollgate api; $subject tollgate_forward_authorization on; $verify $upstream }
        location /any/asked/ { tollgate api; satisfy any; $subject $verify $upstream }
        location /any/deny/  { tollgate api; satisfy any; deny all; tollgate_subject \$office; $upstream }
        location /any/allow/ { tollgate api; satisfy any; allow all; tollgate_subject \$office; $upstream }
        location /any/none/  { tollgate api; satisfy any; tollgate_subject \$office; $upstream }
        location /any/branch/ { tollgate api; satisfy any; allow all; tollgate_subject \$branch; $upstream }
        location /any/basic/ { tollgate api; satisfy any; tollgate_subject \$remote_user; $basic $upstream }
        location /any/dry/   { tollgate api; satisfy any; $subject $verify tollgate_dry_run on; $upstream }
        location /any/bypass/ { tollgate api; satisfy any; $subject $verify tollgate_bypass 1; $upstream }
        location /any/moved/ { tollgate api; satisfy any; $subject $verify try_files /none /any/asked/x; }
        location /any/off/   { tollgate off; satisfy any; $subject $verify $upstream }
END
);
my $redis = $gateway->redis;
wait_for_room($redis, 86400, 90);
$gateway->import_key('key', id => 'keyed', plan => 'free');

sub counted { my ($id, $table) = @_; return $gateway->count($id, $table // 'api', 86400) // 0 }
# The status and the code of the response.
sub answer {
    my $r = $gateway->get(@_);
    return $r->status == 200 ? '200' : $r->status . ' ' . (eval { $r->json->{code} } // 'of nginx');
}
# The same, and what the request took from the quota of the id.
sub taken {
    my ($id, @request) = @_;
    my $before = counted($id);
    my $answer = answer(@request);
    return "$answer for " . (counted($id) - $before);
}

subtest 'auth_request' => sub {
    is(taken('alice', '/asked/', undef, says('alice', 'pro')), '200 for 1', 'a user');
    my $r = $gateway->get('/asked/', undef, says('alice', 'pro'));
    is($r->header('X-RateLimit-Limit'), 200000, '… has the limits of the plan');
    is($r->header('X-RateLimit-Remaining'), 199998, '… and one quota');
    is(taken('alice', '/default/', undef, says('alice')), '200 for 1', 'without a plan');
    is($gateway->get('/default/', undef, says('alice'))->header('X-RateLimit-Limit'), 100000, '… the default of the table');
    is($gateway->get('/asked/', undef, says('alice', ''))->header('X-RateLimit-Limit'), 100000, '… also if the variable is empty');
    is($gateway->get('/asked/', undef, says('alice', 'gold'))->header('X-RateLimit-Limit'), 100000, '… or no plan of the table');
    is(taken('alice', '/asked/', undef, says('alice', 'pro', 401)), '401 of nginx for 0', 'refused by the verifier');
    is(taken('alice', '/asked/', undef, says('alice', 'pro', 403)), '403 of nginx for 0', '… with 403');
    is(join(', ', map { answer('/asked/', undef, says('bob', 'small')) } 1 .. 4), '200, 200, 200, 429 rate_limit_exceeded', 'a limit');
    cmp_ok($gateway->get('/asked/', undef, says('bob', 'small'))->header('Retry-After') // 0, '>', 0, '… with Retry-After');
    is(answer('/asked/', undef, says('carol', 'all')), '200', 'an unlimited plan');
    is($gateway->status->{redis}[0]{commands}{lookup}, 0, 'no look-up');
};

subtest 'without a subject, a key is needed' => sub {
    is(answer('/asked/', undef, says('')), '401 missing_api_key', 'no key');
    is(answer('/asked/', 'other', says('')), '401 invalid_api_key', 'an unknown key');
    is(taken('keyed', '/asked/', 'key', says('')), '200 for 1', 'a key');
    is(taken('keyed', '/asked/off/', 'key', says('alice', 'pro')), '200 for 1', 'off');
    is(answer('/asked/off/', undef, says('alice', 'pro')), '401 missing_api_key', '…');
    is(answer('/', undef, says('alice', 'pro')), '401 missing_api_key', 'a location without the directive');
    is(taken('keyed', '/asked/', 'key', says('alice', 'pro')), '200 for 0', 'with both, the key is not used');
    is(answer('/asked/', 'other', says('alice', 'pro')), '200', '… even if it is invalid');
    like($gateway->get('/asked/', 'key', says('alice', 'pro'))->body, qr/ authorization= /, '… and not passed on');
    like($gateway->get('/forward/', 'key', says('alice', 'pro'))->body, qr/ authorization=Bearer key /, '… unless the location says so');
};

subtest 'plans' => sub {
    is(answer('/strict/', undef, says('alice', 'pro')), '200', 'a plan of a table without a default');
    is(answer('/strict/', undef, says('alice', 'gold')), '403 plan_not_allowed', 'another plan');
    is(answer('/strict/', undef, says('alice', '')), '403 plan_not_allowed', 'no plan');
    is(answer('/asked/', undef, says('alice', 'own')), '403 plan_not_allowed', 'a custom plan');
    is(answer('/both/', undef, says('dora', 'pro')), '200', 'two tables');
    is_deeply([map { counted('dora', $_) } qw(api strict)], [1, 1], '… count it');
    is(taken('dora', '/both/', undef, says('dora', '')), '403 plan_not_allowed for 0', '… or none of them');
};

subtest 'addresses' => sub {
    is(taken('office', '/office/'), '200 for 1', 'an address of the map');
    is($gateway->get('/office/')->header('X-RateLimit-Limit'), 200000, '… and a plan that is a text');
    is(answer('/branch/'), '401 missing_api_key', 'another address');
    is(answer('/branch/', 'key'), '200', '… with a key');
};

subtest 'auth_basic' => sub {
    is(taken('user', '/basic/', undef, basic('user', 'secret')), '200 for 1', 'a user');
    is(taken('user', '/basic/', undef, basic('user', 'wrong')), '401 of nginx for 0', 'a wrong password');
    unlike($gateway->nginx->error_log, qr/read the same field "Authorization"/, 'nginx does not warn of the location');
};

subtest 'what is refused is not counted' => sub {
    is(taken('alice', '/scope/', undef, says('alice', 'pro')), '403 insufficient_scope for 0', 'a subject has no scopes');
    is(taken('alice', '/free/', undef, says('alice', 'pro')), '200 for 0', 'a cost of 0');
    is(taken('alice', '/bypass/', undef, says('alice', 'pro')), '200 for 0', 'a bypass');
    is(taken('alice', '/open/', undef, says('alice', 'pro')), '200 for 0', 'tollgate off');
    is(answer('/dry/', undef, says('bob', 'small')), '200', 'a dry run refuses nothing');
    is(answer('/dry/', undef, says('no id', 'small')), '200', '…');
};

subtest 'the identity that a refusal names' => sub {
    $gateway->import_key('page-key', id => 'page-key', plan => 'free');
    for my $path (qw(/key-page/ /recursive/ /unguarded/)) {
        my $before = $gateway->count('page-key', 'api', 86400) // 0;
        my @refused = says('refused', 'pro', 401);
        is($gateway->get($path, undef, @refused)->status, 401, "$path: needs a key");
        is($gateway->get($path, 'page-key', @refused)->status, 200, '... a key is enough');
        is($gateway->count('page-key', 'api', 86400), $before + 1, '... and counted');
        is($gateway->count('refused', 'api', 86400), undef, '... and not the subject');
    }
    is($gateway->get('/key-page/', undef, says('granted', 'pro'))->status, 200, 'a subject that is not refused');
};

subtest 'redirects' => sub {
    is(taken('alice', '/moved/', undef, says('alice', 'pro')), '200 for 1', 'a redirect counts once');
    is(taken('alice', '/stricter/', undef, says('alice', 'pro')), '200 for 1', '… to other tables');
    is(answer('/stricter/', undef, says('alice', 'free')), '403 plan_not_allowed', '… without the plan');
    my $page = $gateway->get('/page/', undef, says('bob', 'small'));
    is($page->status . $page->body, "429a page\n", 'an error page');
};

subtest 'malformed ids and plans' => sub {
    my $lines = sub { return scalar(() = $gateway->nginx->error_log =~ /invalid_subject/g) };
    my $before = $lines->();
    is(answer('/asked/', undef, says($_, 'pro')), '403 invalid_subject', "\"$_\"") for 'CN=alice', 'a b', 'alice@example.com', '::1', 'x' x 65, 'a/b', "\xc3\xa4";
    is(answer('/asked/', undef, says('alice', 'pro plan')), '403 invalid_subject', 'a plan that is no name');
    is($lines->() - $before, 1, 'one line in the log');
    like($gateway->nginx->error_log, qr/\[error\].* tollgate refuses the request: invalid_subject, id "CN=alice", plan "pro": use 1 to 64 letters, digits, "_", "-" and "\."/, '… which says why');
    is(answer('/asked/', 'key', says('a b', 'pro')), '403 invalid_subject', 'also with a key');
    is(answer('/asked/', undef, says('x' x 64, 'pro')), '200', '64 characters');
};

subtest 'satisfy all and any' => sub {
    # nginx calls its own modules first.
    is(taken('alice', '/any/asked/', undef, says('alice', 'pro')), '200 for 1', 'any: a user that auth_request grants is counted');
    is(answer('/any/asked/', undef, says('bob', 'small')), '429 rate_limit_exceeded', '… and refused by its quota');
    is(answer('/any/asked/', undef, says('a b', 'pro')), '403 invalid_subject', '… or because of its id');
    is(answer('/any/asked/', undef, says('')), '200', 'granted without a subject');
    is(taken('keyed', '/any/asked/', 'key', says('')), '200 for 0', '… as a key that is sent with it');
    is(taken('alice', '/any/asked/', undef, says('alice', 'pro', $_)), "401 missing_api_key for 0", "auth_request refuses with $_: the subject does not count") for 401, 403;
    is(taken('keyed', '/any/asked/', 'key', says('alice', 'pro', $_)), '200 for 1', '… a key does') for 401, 403;
    is(taken('office', '/any/deny/'), '401 missing_api_key for 0', 'deny: a key is needed');
    is(taken('keyed', '/any/deny/', 'key'), '200 for 1', '…');
    is(taken('office', '/any/allow/'), '200 for 1', 'allow: a subject is counted');
    is(taken('keyed', '/any/branch/', 'key'), '200 for 0', 'allow, without a subject');
    is(taken('office', '/any/none/'), '200 for 1', 'no other module');
    is(taken('user', '/any/basic/', undef, basic('user', 'secret')), '200 for 1', 'a password');
    is(taken('user', '/any/basic/', undef, basic('user', 'wrong')), '401 missing_api_key for 0', 'the name without the password');
    is(taken('keyed', '/any/basic/', 'key'), '200 for 1', 'a key');
    is(taken('alice', '/any/moved/', undef, says('alice', 'pro')), '200 for 1', 'a redirect counts once');
    is(answer('/any/dry/', undef, says('bob', 'small')), '200', 'a dry run');
    is(taken('alice', '/any/bypass/', undef, says('alice', 'pro')), '200 for 0', 'a bypass');
    is(taken('alice', '/any/off/', undef, says('alice', 'pro')), '200 for 0', 'off');
};

subtest 'a key with the same id' => sub {
    $gateway->import_key('token', id => 'erin', plan => 'small');
    is(join(' ', map { $gateway->get('/asked/', $_ ? 'token' : undef, says($_ ? '' : 'erin', 'small'))->status } 0, 1, 0, 1), '200 200 200 429', 'has the same quota');
    is(answer('/asked/', undef, says('erin', 'pro')), '200', 'the limits are those of the plan');
    is(counted('erin'), 4, '… and the counts are the same');
    $gateway->change_key('token', state => 'disabled');
    becomes(sub { answer('/', 'token') }, '401 invalid_api_key', 'the key is disabled');
    is(answer('/asked/', undef, says('erin', 'pro')), '200', '… the subject is not');
};

subtest 'what is shown' => sub {
    my $usage = $gateway->get('/usage', undef, says('fred', 'pro'))->json;
    is_deeply([@$usage{qw(id plan verdict)}], [qw(fred pro granted)], 'tollgate_usage');
    is($gateway->get('/usage', undef, says('fred'))->json->{plan}, 'free', '… the default plan');
    my $log = sub { my ($last) = reverse split /\n/, do { open my $file, '<', $gateway->nginx->dir . '/access.log' or die $!; local $/; <$file> }; $last };
    answer('/asked/logged', undef, says('fred', 'pro'));
    becomes($log, '/asked/logged|granted|fred|pro|subject', 'the variables');
    answer('/default/logged', undef, says('fred'));
    becomes($log, '/default/logged|granted|fred|free|subject', '… of the default plan');
    answer('/asked/malformed', undef, says('a b'));
    becomes($log, '/asked/malformed|forbidden|-|-|subject', '… of a malformed id');
    answer('/asked/keyed', 'key', says(''));
    becomes($log, '/asked/keyed|granted|keyed|free|bearer', '… of a key');
    $gateway->get('/asked/', undef, says('bob', 'small'));
    like($gateway->nginx->error_log, qr/tollgate refuses the request: rate_limit_exceeded, key "bob", plan "small"/, 'the error log');
    my ($requests) = grep { $_->{tables} eq 'api' && $_->{plan} eq 'free' } @{ $gateway->status->{requests} };
    my $before = $requests->{verdicts}{granted};
    answer('/default/', undef, says('fred')) for 1 .. 3;
    becomes(sub { (grep { $_->{tables} eq 'api' && $_->{plan} eq 'free' } @{ $gateway->status->{requests} })[0]{verdicts}{granted} - $before }, 3, 'the status counts it by its plan');
};
$gateway->nginx->stop;

subtest 'client certificates' => sub {
    plan skip_all => 'nginx has no SSL' unless Nginx->built_with('with-http_ssl_module');
    my $certificates = Certificates->new;
    $certificates->issue('server', 'IP:127.0.0.1');
    $certificates->issue($_) for qw(meter-1 meter-2);
    my $tls = Gateway->start(
        plans  => 'plan free 100000r/d; default free; anonymous 1000r/h;', table => 'lease=off',
        http   => 'map $ssl_client_s_dn $common_name { default ""; "~^CN=(?<name>[A-Za-z0-9._-]+)(,|$)" $name; }',
        server => <<"END",
            listen 127.0.0.1:%PORT2% ssl;
            ssl_certificate ${\ $certificates->certificate('server')};
            ssl_certificate_key ${\ $certificates->key('server')};
            ssl_client_certificate ${\ $certificates->certificate('ca')};
            ssl_verify_client optional;
            location /name/        { tollgate api; tollgate_subject \$common_name; $upstream }
            location /dn/          { tollgate api; tollgate_subject \$ssl_client_s_dn; $upstream }
            location /fingerprint/ { tollgate api; tollgate_subject \$ssl_client_fingerprint; $upstream }
END
    );
    $tls->import_key('key', id => 'keyed', plan => 'free');
    my $get = sub {
        my ($path, $name, @arguments) = @_;
        my @certificate = $name ? ('--cert', $certificates->certificate($name), '--key', $certificates->key($name)) : ();
        open my $curl, '-|', qw(curl -s --max-time 30 -o /dev/null -w %{http_code} --cacert), $certificates->certificate('ca'), @certificate, @arguments,
            'https://127.0.0.1:' . $tls->nginx->port(2) . $path or die "curl: $!\n";
        return do { local $/; <$curl> };
    };
    is($get->('/name/', 'meter-1'), 200, 'the name of the certificate') for 1 .. 2;
    is($get->('/name/', 'meter-2'), 200, '… of another one');
    is_deeply([map { $tls->count($_, 'api', 86400) } qw(meter-1 meter-2)], [2, 1], '… are ids');
    is($get->('/name/', undef), 401, 'without a certificate, a key is needed');
    is($get->('/name/', undef, '-H', 'Authorization: Bearer key'), 200, '…');
    is($get->('/dn/', 'meter-1'), 403, 'a distinguished name is no id');
    is($get->('/fingerprint/', 'meter-1'), 200, 'a fingerprint is one');
    my ($fingerprint) = `openssl x509 -noout -fingerprint -sha1 -in @{[$certificates->certificate('meter-1')]}` =~ /=([0-9A-F:]+)/;
    is($tls->count(lc($fingerprint =~ s/://gr), 'api', 86400), 1, '… as openssl prints it');
    $tls->nginx->stop;
};

# Gateways where the field User says who the client is.
sub subjects {
    my (%options) = @_;
    return Gateway->start(location => 'tollgate_subject $http_user;', %options);
}
sub statuses { my ($node, $times, $user) = @_; return join ' ', map { $node->get('/', undef, User => $user)->status } 1 .. $times }
sub served { my ($node, $times, $user) = @_; return scalar grep { $_ == 200 } split / /, statuses($node, $times, $user) }

subtest 'an outage' => sub {
    my $node = subjects(plans => 'plan free 50r/h; default free;', redis => 'timeout 300ms;', redis_options => { conf => ['appendonly yes', 'appendfsync always'] });
    wait_for_room($node->redis, 3600, 60);
    is(served($node, 5, 'alice'), 5, 'before');
    $node->redis->kill;
    is(served($node, 50, 'alice'), 45, 'a subject is counted alone, up to its limit');
    is(served($node, 10, 'bob'), 10, '… also one that the node did not know');
    $node->redis->restart;
    becomes(sub { $node->count('alice', 'api', 3600) }, 50, 'Redis counts them afterwards');
    becomes(sub { $node->count('bob', 'api', 3600) }, 10, '…');
    becomes(sub { $node->unsettled }, 0, 'nothing is owed any more');
    is($node->get('/', undef, User => 'alice')->status, 429, 'the limit holds');
    $node->nginx->stop;
};

subtest 'on_failure deny' => sub {
    my $node = subjects(plans => 'plan free 50r/h; default free;', redis => 'timeout 300ms; on_failure deny;', redis_options => {});
    is(statuses($node, 1, 'alice'), 200, 'served');
    $node->redis->kill;
    becomes(sub { statuses($node, 1, 'alice') }, 503, 'refused without Redis');
    $node->nginx->stop;
};

subtest 'leases' => sub {
    my $node = subjects(plans => 'plan free 1000000r/d; default free;', workers => 2);
    $node->subscribed(2);
    wait_for_room($node->redis, 86400, 60);
    my $calls = $node->calls(sub { is(served($node, 2000, 'alice'), 2000, 'a busy subject') });
    cmp_ok($calls, '<', 1000, '… needs few calls');
    becomes(sub { $node->count('alice', 'api', 86400) }, 2000, '… and its leases are returned');
    is(served($node, 20, 'alice'), 20, 'before a reload');
    $node->nginx->reload;
    is(served($node, 20, 'alice'), 20, '… and after it');
    becomes(sub { $node->count('alice', 'api', 86400) }, 2040, '… counted');
    $node->nginx->stop;
};

subtest 'a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $node = subjects(plans => 'plan free 1000r/h; default free;', redis_server => $cluster, redis => 'timeout 300ms;');
    wait_for_room($cluster, 3600, 60);
    my @users = map { "user-$_" } 1 .. 12;
    is(scalar(grep { served($node, 3, $_) == 3 } @users), 12, 'subjects of all slots');
    my $lost = $cluster->master_of('t:quota:{user-1}:api');
    $lost->sigstop;
    is(scalar(grep { served($node, 5, $_) == 5 } @users), 12, '… while a master is lost');
    $lost->sigcont;
    wait_until('Redis to count them', sub { !grep { ($node->count($_, 'api', 3600) // 0) < 8 } @users });
    becomes(sub { $node->unsettled }, 0, 'nothing is owed any more');
    is($node->status->{redis}[0]{commands}{lookup}, 0, 'no look-up');
    $node->nginx->stop;
};

subtest 'an id without a key' => sub {
    my $node = subjects(
        plans  => 'plan free 3r/h 100r/d; plan wide 1000r/h 10000r/d; default free; ban after=3 within=1m for=1h; history 90d;', table => 'lease=off',
        http   => 'tollgate_plans ops redis=main { plan ops 100000r/h; }',
        server => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
            location /other/ { tollgate ops; tollgate_scope admin; tollgate_admin main; tollgate_subject $http_user plan=ops; }',
    );
    my $redis = $node->redis;
    wait_for_room($redis, 3600, 60);
    my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
    $node->import_key('operator', id => 'operator', plan => 'ops', scopes => 'admin');
    my $admin = sub { my ($method, $path) = @_; return $node->request($method, "/admin/$path", { Authorization => 'Bearer operator' }) };
    is(statuses($node, 3, 'alice'), '200 200 200', 'some requests');
    my $usage = $tollgate->json(qw(usage alice));
    is_deeply([@$usage{qw(id plan state)}], ['alice', undef, 'none'], 'tollgate usage');
    is_deeply([map { [@$_{qw(table window used limit remaining)}] } grep { $_->{table} eq 'api' } @{ $usage->{windows} }],
        [['api', 'hour', 3, undef, undef], ['api', 'day', 3, undef, undef]], '… counts, without the limits of a plan');
    is_deeply($admin->('GET', 'keys/alice/usage')->json, $usage, 'GET keys/ID/usage');
    is($admin->('GET', 'keys/alice')->status, 404, 'there is no key');
    is($node->get('/other/keys', 'operator', User => 'alice')->json->{code}, 'insufficient_scope', 'a subject cannot manage keys');
    is($admin->('GET', "keys/nobody/$_")->status, 404, "keys/nobody/$_") for qw(usage history ban);
    is($tollgate->run(@$_, 'nobody')->{status}, 3, "@$_ nobody") for ['usage'], [qw(usage --history)], [qw(ban show)], [qw(ban lift)];
    my $days = $tollgate->json(qw(usage alice --history))->{days};
    is_deeply([map { [@$_{qw(table units)}] } @$days], [['api', 3]], 'the history');
    is_deeply($admin->('GET', 'keys/alice/history')->json->{days}, $days, '… GET keys/ID/history');
    like($tollgate->run(qw(export usage --to 9999-12-31))->{out}, qr/^alice,api,\S+,3$/m, '… export usage');
    ok(!$tollgate->json(qw(ban show alice))->{banned}, 'no ban');
    is(statuses($node, 4, 'alice'), '429 429 429 429', 'refusals');
    is($node->get('/', undef, User => 'alice')->json->{code}, 'api_key_banned', '… lead to a ban');
    my $ban = $tollgate->json(qw(ban show alice));
    ok($ban->{banned}, 'ban show');
    is_deeply($admin->('GET', 'keys/alice/ban')->json, $ban, 'GET keys/ID/ban');
    is($tollgate->json(qw(usage alice))->{banned_until}, $ban->{until}, 'usage shows it');
    wait_until('the last use', sub { $redis->cmd('HGET', 't:used:{alice}', 'subject') });
    cmp_ok($redis->cmd('PTTL', 't:used:{alice}'), '<=', 3_600_000, '… which is kept for an hour');
    my ($row) = grep { $_->{id} eq 'alice' } @{ JSON::PP::decode_json((split /\n/, $tollgate->run(qw(top --json --count 1 --interval 100ms))->{out})[0])->{rows} };
    is_deeply([map { defined $row->{$_} ? 1 : 0 } qw(name plan banned_until)], [0, 0, 1], 'top');
    like($row->{last_use}, qr/:00Z$/, '… shows that it still sends requests');
    is($admin->('DELETE', 'keys/alice/ban')->status, 204, 'the ban is lifted');
    becomes(sub { $node->get('/', undef, User => 'alice')->json->{code} }, 'rate_limit_exceeded', '… at once');
    is($admin->('DELETE', 'keys/alice/ban')->status, 204, '… again');
    is($tollgate->run(qw(ban lift alice))->{status}, 0, 'ban lift');
    like($tollgate->run(qw(audit alice))->{out}, qr/ lift +alice\b/, '… is in the audit');
    my $key = $tollgate->json(qw(key issue --plan wide --id alice))->{key};
    is($node->get('/', $key)->status, 200, 'a key of this id');
    is_deeply([map { [@$_{qw(used limit)}] } @{ $tollgate->json(qw(usage alice))->{windows} }], [[4, 1000], [4, 10000]], '… has its counts');
    is($node->get('/', undef, User => 'alice')->json->{code}, 'rate_limit_exceeded', '… and its own limits');
    $tollgate->run(qw(key revoke --yes alice));
    is($tollgate->json(qw(usage alice))->{windows}[0]{used}, 4, 'they remain after a revocation');
    $node->nginx->stop;
};

done_testing;
