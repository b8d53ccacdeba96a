# tollgate_console: the page as nginx serves it and as an operator uses it, with the mouse or with the keyboard alone.

use strict;
use warnings;
use utf8;
use lib 't/lib';
use Browser;
use Command;
use Digest::SHA ();
use Gateway;
use JSON::PP ();
use Test::More;
use Wait qw(becomes free_port wait_until);

binmode Test::More->builder->$_, ':encoding(UTF-8)' for qw(output failure_output);
plan skip_all => 'a browser tells nothing of the C++ that other tests do not' if $ENV{TOLLGATE_SANITIZE};
my $browser = eval { Browser->start } // plan skip_all => $@ =~ s/\n.*//sr;

is(system('node', '--test', '--test-reporter=dot', glob 't/unit/console/*_test.mjs'), 0, 'unit tests of the page');

my $gateway = Gateway->start(
    plans  => 'plan free 60r/m 1000r/d; plan pro 300r/m 10000r/d; plan enterprise custom; plan spent 1r/d;'
        . ' anonymous 10000r/m; ban after=2 within=1m for=10m; history 90d;',
    table  => 'lease=off',            # a lease is counted as used
    http   => 'tollgate_plans ops redis=main { plan ops 100000r/m; } tollgate_plans teams redis=main by=group lease=off { plan shared 3r/d; plan wide 100r/d; plan pool balance; }'
        . ' tollgate_plans texts redis=main unit=tokens lease=off { plan prepaid balance; history 90d; }'
        . ' tollgate_plans images redis=main lease=off { plan prepaid 100r/d balance; }',
    server => <<'END',
        location /texts/     { tollgate texts; tollgate_cost 10; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /teams/     { tollgate api teams; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /admin/     { tollgate ops; tollgate_scope admin; tollgate_admin main; }
        location /console/   { tollgate_console; }
        location /elsewhere/ { tollgate_console '/a"><script>alert(1)</script>&/'; }
        location /in_if/     { tollgate_console; if ($arg_a) { set $b 1; } }
        location /nothing/   { tollgate_console /nowhere/; }
        location /nowhere/   { return 200 "not the API"; }
        location /behind/    { rewrite ^/behind/(.*)$ /console/$1 break; tollgate_console; }
END
    workers => 2,
);
my $redis = $gateway->redis;
my $host = 'http://' . $gateway->address;
my $screenshots = $ENV{TOLLGATE_SCREENSHOTS};

subtest 'the HTTP responses' => sub {
    my %types = ('' => 'text/html; charset=utf-8', 'console.js' => 'text/javascript; charset=utf-8', 'console.css' => 'text/css; charset=utf-8');
    for my $name (sort keys %types) {
        my $r = $gateway->get("/console/$name");
        is($r->status, 200, "/console/$name exists");
        is($r->header('Content-Type'), $types{$name}, '... with its type');
        is($r->header('X-Content-Type-Options'), 'nosniff', '... which is not guessed');
        is($r->header('Cache-Control'), 'no-cache', '... a browser revalidates it each time');
        is($r->header('Referrer-Policy'), 'no-referrer', '... no request tells where it came from');
        is($gateway->get("/console/$name", undef, 'If-None-Match' => $r->header('ETag'))->status, 304, '... 304 for a matching ETag');
        my $head = $gateway->request('HEAD', "/console/$name");
        is_deeply([$head->status, $head->body, $head->header('Content-Length')], [200, '', length $r->body], '... HEAD');
        my $post = $gateway->request('POST', "/console/$name", {}, 'x');
        is_deeply([$post->status, $post->header('Allow')], [405, 'GET, HEAD'], '... POST: 405');
    }
    my $page = $gateway->get('/console/');
    is($page->header('Content-Security-Policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        . "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'", 'the policy allows no inline code');
    unlike($page->body, qr/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)/, '... and the page has none');
    like($page->body, qr{<meta name="tollgate-admin" content="/admin/">}, 'the usual URI of the API');
    like($gateway->get('/nothing/')->body, qr{content="/nowhere/"}, '... or the configured one');
    like($gateway->get('/elsewhere/')->body, qr{content="/a&quot;&gt;&lt;script&gt;alert\(1\)&lt;/script&gt;&amp;/"}, '... which is escaped');
    is($gateway->get('/in_if/?a=1')->body, $page->body, 'the same within an `if`');
    my $redirect = $gateway->get('/console');
    is($redirect->status, 301, '/console is redirected');
    like($redirect->header('Location'), qr{/console/$}, '... to /console/');
    is($gateway->get("/console/$_")->status, 404, "404 for /console/$_") for qw(other console.js/ src/main.js);
    is($gateway->get('/behind/')->status, 404, '404 for a URI that `rewrite` has led out of the location');
};

# Names that are HTML must not become elements.
my $hostile = '<img src=x onerror="document.title=1">';
$gateway->import_key('operator', id => 'portal', name => 'Support', plan => 'ops',   scopes => 'admin');
$gateway->import_key('second',   id => 'second', name => 'Second',  plan => 'ops',   scopes => 'admin');
$gateway->import_key('acme',     id => 'acme',   name => 'ACME Ltd', plan => 'free', expires => time + 40 * 86400);
$gateway->import_key('globex',   id => 'globex', name => 'Globex',  plan => 'pro', state => 'disabled', meta => '{"contract":4711}');
$gateway->import_key('eager',    id => 'eager',  name => 'Eager',   plan => 'spent');
$gateway->import_key('hostile',  id => 'hostile', name => $hostile, plan => 'free');
$gateway->import_key('brief',    id => 'brief', name => 'Brief', plan => 'free', expires => time + 10 * 86400 - 60);
my $rank = 0;
$redis->cmd('ZADD', 't:ids', ++$rank, $_) for qw(portal second acme globex eager hostile brief);
Command->new(redis => $redis->address, prefix => 't:')->run(qw(key reindex));
my $today = int(time / 86400);
$redis->cmd('HSET', 't:history:{acme}', map { ('api:' . ($today - $_) => 100 + $_) } 1 .. 50);

my $page = "$host/console/";
sub text  { $browser->eval(qq{[...document.querySelectorAll(`$_[0]`)].map(one => one.textContent).join(" | ")}) }
sub count { $browser->eval(qq{document.querySelectorAll(`$_[0]`).length}) }
sub focused { $browser->eval('(one => one.textContent || one.name || one.className)(document.activeElement)') }

# Waits until the text of the elements matches.
sub shows {
    my ($selector, $pattern, $name) = @_;
    my $found = eval { wait_until($selector, sub { text($selector) =~ $pattern }, 15) };
    ok($found, $name) or diag("$selector: ", text($selector));
}

sub sign_in {
    my ($key) = @_;
    $browser->fill('#sign-in input', $key);
    $browser->click('#sign-in button');
}

sub open_id {
    my ($id) = @_;
    $browser->eval("location.hash = '#keys/$id'");
    shows('#detail .hint', qr/^\Q$id\E\b/, "$id is shown");
    $browser->wait_for('document.querySelectorAll("#detail .content:empty").length === 0');
}

# A view in both schemes: axe finds nothing; nothing is wider than a window of 360 px.
sub is_accessible {
    my ($view) = @_;
    for my $scheme (qw(light dark)) {
        $browser->scheme($scheme);
        # Colours change gradually.
        $browser->wait_for('document.getAnimations().length === 0');
        my $found = $browser->axe;
        is_deeply($found->{violations}, [], "$view, $scheme: axe finds nothing");
        cmp_ok(@{ $found->{passed} }, '>', 15, '... of what it has tested');
        ok((grep { $_ eq 'color-contrast' } @{ $found->{passed} }), '... with the contrast');
        $browser->screenshot("$screenshots/" . $view =~ s/ /-/gr . "-1280-$scheme.png") if $screenshots;
    }
    $browser->size(360, 800);
    $browser->wait_for('innerWidth === 360');
    is($browser->eval('document.documentElement.scrollWidth'), 360, "$view fits in 360 px");
    is_deeply($browser->eval(<<'END'), [], '... and so does each of its parts');
[...document.querySelectorAll('button, input, select, dd, h2, h3, h4, .card, .option, .badge, dialog')].filter(one => one.checkVisibility())
    .filter(one => one.getBoundingClientRect().right > 360 || one.matches('button, dd, h2, h3, .card, dialog') && one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.tagName} ${one.textContent.slice(0, 20)}`)
END
    for my $scheme (qw(light dark)) {
        last unless $screenshots;
        $browser->scheme($scheme);
        $browser->screenshot("$screenshots/" . $view =~ s/ /-/gr . "-360-$scheme.png");
    }
    $browser->scheme('light');
    $browser->size(1280, 860);
    $browser->wait_for('innerWidth === 1280');
}

$browser->size(1280, 860);

subtest 'signing in' => sub {
    is($browser->open($page), 200, 'opens');
    is_accessible('sign in');
    sign_in('nobody');
    shows('#sign-in .error', qr/^The API key is not valid\.$/, 'an unknown key: the error of the API, at the field');
    is(focused(), 'operator', '... which has the focus');
    sign_in('two words');
    shows('#sign-in .error', qr/^This is not an API key\.$/, 'a text that no field can hold');
    sign_in('acme');
    shows('#sign-in .error', qr/scope/, 'a key without the scope');
    is(text('#caller'), '', 'nobody is signed in');
    sign_in('operator');
    shows('.option', qr/Supportportalops\d+active/, 'a key with the scope: the list');
    is(text('#caller'), 'Signed in as Support', '... and who is signed in');
    is($browser->eval('document.querySelector("#sign-in input").value'), '', 'the key is not in the page any more');
    is($browser->eval('localStorage.length + sessionStorage.length + document.cookie.length'), 0, '... nor is it stored');
    is(scalar(grep { /operator|nobody/ } $browser->requests), 0, '... nor in a URL');
};

subtest 'the overview' => sub {
    shows('#overview .totals', qr/^7 keys0 groups$/, 'how many there are');
    shows('#overview', qr/Nobody is banned, and nobody has strikes/, 'who is banned');
    # Their places in the list of ids are those of 1970.
    shows('#overview', qr/New keysNone in the last 7 days\./, 'which keys are new');
    shows('#overview', qr/Expiring within 30 daysbriefBriefin 9 days/, 'which keys end soon');
    is($browser->eval('document.querySelector("#overview").getBoundingClientRect().right > innerWidth - 60'), JSON::PP::true, '... it fills the page');
    $browser->click('#overview section:last-child a');
    shows('#detail h2', qr/^Brief$/, 'an id leads to its key');
    is($browser->eval('document.querySelector("#overview").checkVisibility()'), JSON::PP::false, '... which is in place of the overview');
    $browser->click('nav >> text="Keys"');
    shows('#detail', qr/^$/, 'Keys leads back');
};

subtest 'finding a customer' => sub {
    is(text('.option b'), "Support | Second | ACME Ltd | Globex | Eager | $hostile | Brief", 'all keys, in the order of their creation');
    is(count('#find img'), 0, 'a name is not HTML');
    is_accessible('list');
    $browser->fill('#find [name=name]', 'ACME');
    $browser->press('Enter');
    shows('.option b', qr/^ACME Ltd$/, 'by the beginning of the name');
    $browser->fill('#find [name=name]', 'nobody');
    $browser->click('#find form button');
    shows('.list-state', qr/^No key was found\./, 'none is found');
    $browser->fill('#find [name=name]', 'ltd');
    $browser->press('Enter');
    shows('.list-state', qr/^No key was found\.Search for \*ltd\*/, 'no name begins so');
    $browser->click('.list-state button:has-text("Search for")');
    shows('.option b', qr/^ACME Ltd$/, '... the page proposes the pattern that finds it anywhere');
    $browser->fill('#find [name=name]', '');
    $browser->click('#find summary');
    $browser->fill('#find [name=meta]', 'contract=4711');
    $browser->press('Enter');
    shows('.option b', qr/^Globex$/, 'by a member of the meta');
    $browser->fill('#find [name=meta]', '');
    $browser->fill('#find [name=group]', 'nobodies');
    $browser->press('Enter');
    shows('.list-state', qr/^No key was found\./, 'by the group');
    $browser->fill('#find [name=group]', '');
    $browser->choose('#find [name=state]', 'disabled');
    $browser->click('#find form button');
    shows('.option', qr/^Globexglobexpro0disabled$/, 'by state, which the row shows');
    $browser->choose('#find [name=state]', '');
    $browser->fill('#find [name=plan]', 'no plan');
    $browser->click('#find form button');
    shows('#find .error', qr/invalid/, 'an error of a filter is at its field');
    $browser->fill('#find [name=plan]', '');
    $browser->fill('#find [name=expires_before]', substr $browser->eval('new Date(Date.now() + 50 * 86400e3).toISOString()'), 0, 16);
    $browser->press('Enter');
    shows('.option b', qr/^ACME Ltd \| Brief$/, 'by expiry');
    $browser->fill('#find [name=expires_before]', '');
    $browser->click('#find summary');

    $browser->choose('#find [name=by]', 'id');
    $browser->fill('#find [name=name]', 'nobody');
    $browser->press('Enter');
    shows('#find .error', qr/nobody/, 'by an id that does not exist: the error at the field');
    $browser->fill('#find [name=name]', '../plans');
    $browser->press('Enter');
    shows('#find .error', qr/An id has/, 'a text that is no id');
    $browser->fill('#find [name=name]', 'globex');
    $browser->press('Enter');
    shows('#detail h2', qr/^Globex$/, 'by id');
    shows('.option b', qr/^Globex$/, '... the list shows it');
    $browser->choose('#find [name=by]', 'key');
    is($browser->eval('getComputedStyle(document.querySelector("#find [name=name]")).webkitTextSecurity'), 'disc', 'a key is not readable on the screen');
    $browser->fill('#find [name=name]', 'acme');
    $browser->press('Enter');
    shows('#detail h2', qr/^ACME Ltd$/, 'by a key in clear');
    shows('.option b', qr/^ACME Ltd$/, '... the list shows its id');
    $browser->choose('#find [name=by]', 'name');
    my $issued = 'tg_' . 'a' x 38;
    $browser->fill('#find [name=name]', $issued);
    $browser->press('Enter');
    shows('#find .error', qr/./, 'an issued key that was entered as a name');
    is(scalar(grep { /\Q$issued/ } $browser->requests), 0, '... is not sent in a URL, which would be logged');
    $browser->fill('#find [name=name]', '');
    $browser->press('Enter');
    shows('.option b', qr/Second/, 'all keys again');
};

subtest 'usage, history, ban and audit' => sub {
    is($gateway->get('/', 'acme')->status, 200, 'a request') for 1 .. 30;
    $browser->click('.option:has-text("ACME")');
    shows('#detail .meters', qr/api: day30 of 1,000 used970 left/, 'usage of a day');
    shows('#detail .meters', qr/api: minute\d+ of 60 used/, '... and of a minute');
    shows('#detail figcaption', qr/^Granted in api[\d,]+ in 30 days, at most 129 in a day$/, 'history of 30 days');
    is(count('.bar'), 30, '... a bar for each');
    cmp_ok($browser->eval('document.querySelectorAll(".bar")[0].clientHeight'), '>', $browser->eval('document.querySelectorAll(".bar")[28].clientHeight'), '... as high as its units');
    is($browser->eval('document.querySelectorAll(".bar")[28].clientHeight > 80'), JSON::PP::true, '... which can be seen');
    $browser->choose('#detail [name=period]', '90');
    shows('#detail figcaption', qr/in 90 days/, 'history of 90 days');
    $browser->click('#detail figure summary');
    shows('#detail tbody tr', qr/101 \| .*102/, '... also as a table');
    shows('#detail .facts', qr/Planfree.*Groupnone.*Limitsthose of the plan/, 'settings');
    shows('#detail .card', qr/Not banned, and no strikes/, 'no ban');
    is_accessible('detail');
};

subtest 'a plan, limits, and a concurrent change' => sub {
    open_id('acme');
    $browser->click('text="Change"');
    shows('dialog .hint', qr{api: 60r/m 1000r/d}, 'the form tells what the plan is');
    is_accessible('change');
    $browser->fill('dialog [name=plan]', 'nope');
    $browser->click('dialog button[type=submit]');
    shows('dialog .row:has([name=plan]) .error', qr/no plan table has "nope"/, 'an unknown plan: the error at its field');
    is(focused(), 'plan', '... which has the focus');
    $browser->fill('dialog [name=plan]', 'enterprise');
    $browser->fill('dialog [name=limits]', '5r/fortnight');
    $browser->press('Enter');
    shows('dialog .row:has([name=limits]) .error', qr/invalid/, 'invalid limits: the error at their field');
    is_accessible('change with an error');
    $browser->fill('dialog [name=limits]', '5000r/m 1000000r/d');
    $browser->press('Enter');
    shows('#news', qr/acme was changed/, 'the change');
    shows('#detail .meters', qr/of 5,000 used/, '... raises the limits');
    shows('#detail .meters', qr/of 1,000,000 used/, '... of both windows');
    shows('#detail .entries', qr/^setplan free → enterprise, limits none → "5000r\/m 1000000r\/d"/, '... is in the audit');
    shows('.option', qr/ACME Ltdacmeenterprise/, '... and in the list');
    is(focused(), 'Change', 'the focus is where it was');
    $browser->click('text="Change"');
    $gateway->request('PATCH', '/admin/keys/acme', { Authorization => 'Bearer operator' }, '{"name":"ACME plc"}');
    $browser->fill('dialog [name=limits]', '6000r/m');
    $browser->press('Enter');
    shows('dialog .error', qr/This id has changed since it was shown, and the request was refused/, 'a concurrent change is not overwritten');
    $browser->press('Escape');
    $browser->click('text="Refresh"');
    shows('#detail h2', qr/ACME plc/, '... and shown after Refresh');
    shows('#detail .facts', qr{Limits5000r/m 1000000r/d}, '... nothing else has changed');
};

my $new;
subtest 'issuing a key' => sub {
    $browser->click('text="Issue a key"');
    is_accessible('issue');
    $browser->click('dialog button[type=submit]');
    shows('dialog .row:has([name=plan]) .error', qr/Enter a plan/, 'a plan is needed');
    $browser->fill('dialog [name=id]', 'acme');
    $browser->fill('dialog [name=plan]', 'pro');
    $browser->press('Enter');
    shows('dialog .error', qr/"acme" already exists/, 'the id exists: the error of the API');
    $browser->fill('dialog [name=id]', 'initech');
    $browser->fill('dialog [name=name]', 'Initech');
    $browser->press('Enter');
    shows('dialog h2', qr/^The new key of initech$/, 'the key is shown');
    is_accessible('new key');
    $new = $browser->eval('document.querySelector("dialog .key").value');
    like($new, qr/^tg_[0-9A-Za-z]{38}$/, '... in clear');
    $browser->click('text="Copy"');
    shows('dialog [role=status]', qr/^Copied$/, 'Copy');
    is($browser->eval('navigator.clipboard.readText()'), $new, '... copies it');
    $browser->press('Escape') for 1 .. 3;
    is(count('dialog'), 1, 'Escape does not lose it');
    $browser->click('text="The key is stored"');
    shows('#detail h2', qr/^Initech$/, 'the new id is shown');
    shows('#detail .head .hint', qr/^initech · issued \d/, '... with the time at which it was issued');
    shows('#detail .facts', qr/Keyends with \Q@{[ substr $new, -4 ]}\E/, '... with the end of its key');
    is($browser->eval(qq{document.documentElement.outerHTML.includes("$new") || [...document.querySelectorAll("input, textarea")].some(one => one.value === "$new")}),
        JSON::PP::false, 'the key is not in the page any more');
    is($gateway->get('/', $new)->status, 200, 'it works');
};

subtest 'the groups' => sub {
    $browser->click('nav >> text="Groups"');
    shows('#groups .content', qr/^No group has a record\./, 'none');
    is(focused(), 'Groups', '... the focus is on the heading');
    for ('emea', 'apac') {
        $browser->click('text="New group"');
        is_accessible('new group') if $_ eq 'emea';
        $browser->fill('dialog [name=group]', 'two words');
        $browser->fill('dialog [name=plan]', 'shared');
        $browser->press('Enter');
        shows('dialog .error', qr/invalid/, 'a name that no group can have: the error of the API');
        $browser->fill('dialog [name=group]', $_);
        $browser->press('Enter');
        shows('#groups h2', qr/^$_$/, 'a group is made, and shown');
        shows('#groups .entries', qr/No key has this group|set-group/, '... without keys');
        $browser->click('nav >> text="Groups"');
    }
    shows('#groups .entries', qr/apacshared.*emeashared/, 'the list has both');
    is_accessible('groups');
    $browser->click('nav >> text="Keys"');
};

subtest 'the group of a key' => sub {
    my $path = '/admin/keys/vandelay';
    my $group = sub { $gateway->request('GET', $path, { Authorization => 'Bearer operator' })->json->{group} };
    $browser->click('text="Issue a key"');
    $browser->fill('dialog [name=id]', 'vandelay');
    $browser->fill('dialog [name=plan]', 'pro');
    is($browser->eval('[...document.querySelector("dialog [name=group]").options].map(one => one.value).join(" ")'), ' apac emea', 'the group is chosen from those that exist');
    $browser->choose('dialog [name=group]', 'emea');
    $browser->click('dialog button[type=submit]');
    shows('dialog h2', qr/^The new key of vandelay$/, 'a key with a group is issued');
    $browser->click('text="The key is stored"');
    shows('#detail .facts', qr/Groupemea/, '... which is shown');
    is($group->(), 'emea', '... and stored');
    $browser->click('text="Change"');
    $browser->wait_for('document.querySelector("dialog [name=group]")');
    is($browser->eval('document.querySelector("dialog [name=group]").value'), 'emea', 'the form of a change has it');
    $browser->choose('dialog [name=group]', 'apac');
    $browser->click('dialog button[type=submit]');
    shows('#detail .facts', qr/Groupapac/, 'another group');
    is($group->(), 'apac', '... is stored');
    $browser->click('text="Change"');
    $browser->choose('dialog [name=group]', '');
    $browser->click('dialog button[type=submit]');
    shows('#detail .facts', qr/Groupnone/, 'no group');
    is($group->(), undef, '... is stored');
    $gateway->request('PATCH', $path, { Authorization => 'Bearer operator' }, '{"group":"old"}');
    $browser->click('text="Refresh"');
    shows('#detail .facts', qr/Groupold/, 'a group without a record');
    $browser->click('text="Change"');
    shows('dialog option', qr/\| old \(without a record\)$/, '... can be kept');
    $browser->press('Escape');
    $gateway->request('PATCH', $path, { Authorization => 'Bearer operator' }, '{"group":"apac"}');
};

subtest 'the usage of a group' => sub {
    # Members are in the order of their creation, and those of one second in that of their ids.
    $gateway->import_key('member', id => 'member', name => 'Member', plan => 'pro', group => 'apac', created => time + 1);
    $redis->cmd('ZADD', 't:ids', 50, 'member');
    Command->new(redis => $redis->address, prefix => 't:')->run(qw(key reindex));
    becomes(sub { $gateway->get('/teams/', 'member')->status }, 429, 'the group is exhausted by one of its keys');
    $browser->click('text="Refresh"');
    shows('#detail .meters', qr/teams: day of the group apac3 of 3 usedNothing is left/, 'another one shows it');
    $browser->click('#detail .meters ~ .hint a');
    shows('#groups h2', qr/^apac$/, '... and leads to the group');
    shows('#groups .meters', qr/^teams: day3 of 3 used/, '... which has its counters');
    shows('#groups .facts', qr/Planshared.*Limitsthose of the plan/, '... its settings');
    shows('#groups .entries', qr/vandelay.*memberMember/, '... its members');
    shows('#groups .entries', qr/set-groupplan=shared/, '... and its audit');
    is_accessible('group');
    $browser->click('text="Change the group"');
    $browser->fill('dialog [name=plan]', 'wide');
    $browser->press('Enter');
    shows('#news', qr/The group apac was changed/, 'another plan');
    shows('#groups .meters', qr/^teams: day3 of 100 used/, '... raises its limit');
    $browser->click('text="Reset the counters"');
    $browser->click('dialog button[type=submit]');
    shows('#groups .meters', qr/^teams: day0 of 100 used/, 'its counters are reset');
    $browser->click('nav >> text="Audit"');
    shows('#audit .entries', qr/^reset-groupapac/, 'the audit has it');
    $browser->click('#audit .entries li:first-child a');
    shows('#groups h2', qr/^apac$/, '... and leads to the group');
    $browser->click('text="Delete the group"');
    $browser->click('dialog button[type=submit]');
    shows('#groups .content', qr/The group has no record/, 'its record is deleted');
    shows('#groups .entries', qr/vandelay/, '... its keys keep it');
    $browser->click('nav >> text="Keys"');
};

subtest 'a lost response' => sub {
    $browser->click('text="Issue a key"');
    $browser->fill('dialog [name=id]', 'hooli');
    $browser->eval('void (fetch = (real => async (...all) => { await real(...all); fetch = real; throw new TypeError("lost"); })(fetch))');
    $browser->fill('dialog [name=plan]', 'pro');
    $browser->press('Enter');
    shows('dialog .error', qr/It is not known whether the request was executed: try again/, 'the form says what is not known');
    is($redis->cmd('SCARD', 't:id:{hooli}'), 1, '... it was executed');
    $browser->press('Enter');
    shows('#news', qr/hooli has a new key, but the response that showed it was lost\. Rotate/, 'the same form, sent again, does nothing twice');
    shows('#detail h2', qr/^hooli$/, '... and leads to the id');
    is($redis->cmd('SCARD', 't:id:{hooli}'), 1, '... which has one key');
};

subtest 'rotating a key' => sub {
    open_id('initech');
    $browser->click('text="Rotate"');
    is_accessible('rotate');
    $browser->choose('dialog select', '1h');
    $browser->click('dialog button[type=submit]');
    shows('dialog h2', qr/^The new key of initech$/, 'a new key');
    my $newer = $browser->eval('document.querySelector("dialog .key").value');
    $browser->click('text="The key is stored"');
    shows('.rotation', qr/The old key .* It works until .* \(in (?:1 hour|\d+ minutes)\)/, 'both keys work until the overlap ends');
    is($gateway->get('/', $_)->status, 200, '... as the gateway says') for $new, $newer;
    # As if the old key were used a minute later.
    my $digest = Digest::SHA::sha256_hex($new);
    $redis->cmd('HSET', 't:used:{initech}', $digest, 60 * (int(time / 60) + 1)) if wait_until('uses', sub { $redis->cmd('HGET', 't:used:{initech}', $digest) });
    $browser->click('text="Refresh"');
    shows('.rotation', qr/^The old key is still used/, 'the page tells that a client uses the old key');
    is_accessible('rotation');
    $browser->click('text="Rotate"');
    $browser->click('dialog button[type=submit]');
    shows('dialog .error', qr/"initech" has two keys until/, 'another rotation: the error of the API in the dialog');
    $browser->press('Escape');
    $browser->wait_for('!document.querySelector("dialog")');
    is(focused(), 'Rotate', 'Escape closes it, and the focus is where it was');
    $new = $newer;
};

subtest 'disabling and enabling' => sub {
    $browser->click('text="Disable"');
    $browser->click('dialog button[type=submit]');
    shows('#detail .badge', qr/^disabled$/, 'disabled');
    becomes(sub { $gateway->get('/', $new)->status }, 401, '... for the gateway');
    is(focused(), 'Enable', 'the focus is on the button of the reverse');
    $browser->press('Enter');
    shows('#detail .badge', qr/^active$/, 'enabled');
    becomes(sub { $gateway->get('/', $new)->status }, 200, '... for the gateway');
};

subtest 'a ban' => sub {
    $gateway->get('/', 'eager') for 1 .. 5;
    open_id('eager');
    shows('[data-banned]', qr/^Banned until .*: requests get 429\. It is ban number 1\./, 'is shown');
    shows('#detail .badge', qr/^banned$/, '... as the state');
    is_accessible('ban');
    $browser->click('text="Lift the ban"');
    shows('#news', qr/The ban of eager is lifted/, 'is lifted');
    shows('#detail .card', qr/Not banned, and no strikes/, '... and not shown any more');
    shows('#detail .badge', qr/^active$/, '... nor as the state');
    is(focused(), 'Ban', '... the focus is on the heading, as the button has gone');
    shows('#detail .entries', qr/^lift/, '... the audit has it');
};

subtest 'the bans' => sub {
    $browser->click('nav >> text="Bans"');
    shows('#bans .content', qr/^No id is banned\.$/, 'none');
    is(focused(), 'Bans', '... the focus is on the heading');
    $gateway->get('/', 'eager') for 1 .. 5;
    $browser->click('nav >> text="Keys"');
    $browser->click('nav >> text="Bans"');
    shows('#bans .entries', qr/^eageruntil .* \(in \d+ minutes\)ban number \d$/, 'one');
    is_accessible('bans');
    $browser->click('nav >> text="Keys"');
    $browser->click('text="Refresh all"');
    shows('#overview', qr/New keysIn the last 7 days: 3\.hooli.*vandelay.*initech/, 'the overview has the new keys');
    shows('#overview', qr/Banned, and refused mosteagerEagerbanneduntil /, '... and names who is banned');
    $browser->fill('#find [name=name]', 'Eager');
    $browser->press('Enter');
    shows('.option', qr/^Eagereagerspent\d+banned$/, '... and so does the list');
    $browser->click('nav >> text="Bans"');
    $browser->click('#bans li a');
    shows('[data-banned]', qr/^Banned until/, '... leads to its id');
};

subtest 'resetting the usage' => sub {
    shows('#detail .meters', qr/1 of 1 used/, 'the quota is spent');
    $browser->click('text="Lift the ban"');
    shows('#news', qr/is lifted/, '... and the ban is lifted');
    $browser->click('text="Reset"');
    is_accessible('reset');
    $browser->click('dialog button[type=submit]');
    shows('#news', qr/^The usage of eager is reset\./, 'is done');
    shows('#detail .meters', qr/0 of 1 used/, '... and shown');
    is(focused(), 'Reset', '... the focus is where it was');
    becomes(sub { $gateway->get('/', 'eager')->status }, 200, 'the gateway grants again');
};

# Enters a credit into the form. Both clicks of a double one.
sub credit {
    my (%values) = @_;
    $browser->click('#detail >> text="Credit"');
    $browser->choose('dialog [name=table]', delete $values{table}) if $values{table};
    $browser->fill("dialog [name=$_]", $values{$_}) for sort keys %values;
    $browser->eval('(send => { send.click(); send.click(); })(document.querySelector("dialog [type=submit]"))');
}

subtest 'balances' => sub {
    $gateway->import_key('payer', id => 'payer', name => 'Payer', plan => 'prepaid');
    $redis->cmd('HSET', 't:history:{payer}', map { ('texts:' . (int(time / 86400) - $_) => 100) } 1 .. 10);
    open_id('payer');
    shows('#detail .meters', qr/texts: balance0 of 0 tokens leftNothing was credited\./, 'a balance without a credit');
    is_accessible('balance');
    credit(units => '5,000', reference => 'order 1', table => 'texts');
    shows('dialog .row:has([name=units]) .error', qr/^Enter a whole number, in digits alone\.$/, 'no number: the error at its field');
    $browser->fill('dialog [name=units]', '510');
    $browser->choose('dialog [name=table]', '');
    $browser->click('dialog button[type=submit]');
    shows('dialog .row:has([name=table]) .error', qr/^Choose a table\.$/, 'of several balances, none is taken for granted');
    $browser->choose('dialog [name=table]', 'texts');
    $browser->click('dialog button[type=submit]');
    shows('dialog .row:has([name=reference]) .error', qr/without spaces/, 'an error of the API is at its field');
    is_accessible('credit');
    $browser->press('Escape');
    is(focused(), 'Credit', 'Escape closes it, and the focus is where it was');
    my $asked = sub { scalar grep { m{/credit$} } $browser->requests };
    my $before = $asked->();
    credit(units => '510', reference => 'order-1', table => 'texts');
    shows('#news', qr/^510 tokens credited\. Now payer has 510 of 510 tokens left in texts\.$/, 'a credit');
    is($asked->() - $before, 1, '... is one request for a double click');
    $browser->wait_for('!document.querySelector("dialog")');
    is(focused(), 'Credit', '... the focus is where it was');
    shows('#detail .meters', qr/texts: balance510 of 510 tokens leftAt 100 a day, the mean of the last 7 days, it lasts about 5 days\./, '... the usage has it');
    shows('#detail .entries', qr/^credit510 units in texts, reference order-1/, '... and so does the audit');
    becomes(sub { $gateway->get('/texts/', 'payer')->status }, 200, 'the gateway grants');
    credit(units => '510', reference => 'order-1', table => 'texts');
    shows('#news', qr/^This reference was credited before: nothing has changed\. Now payer has 500 of 510 tokens left in texts\.$/, 'the same reference again');
    shows('#detail .meters', qr/texts: balance500 of 510 tokens left/, '... what was used');
    credit(units => '600', reference => 'order-1', table => 'texts');
    shows('dialog .row:has([name=reference]) .error', qr/"order-1" was credited with 510 units/, '... for other units: the error of the API');
    $browser->press('Escape');
    $browser->click('text="Change"');
    $browser->choose('dialog [name=group]', 'emea');
    $browser->click('dialog button[type=submit]');
    shows('dialog .row:has([name=group]) .error', qr/has a balance in "texts"/, 'an id with a balance keeps its group');
    $browser->press('Escape');
    unlike(text('#detail'), qr/null|NaN|Invalid|undefined/, 'nothing is shown of what a balance does not have');
    open_id('eager');
    is($browser->eval('[...document.querySelectorAll("#detail button")].some(one => one.textContent === "Credit" && one.checkVisibility())'),
        JSON::PP::false, 'an id without a balance has no credit');
};

subtest 'the balance of a group' => sub {
    $gateway->request('PATCH', '/admin/groups/pool', { Authorization => 'Bearer operator' }, '{"plan":"pool"}');
    $browser->eval("location.hash = '#groups/pool'");
    shows('#groups .meters', qr/^teams: balance0 of 0 requests left/, 'without a credit');
    $browser->click('#groups >> text="Credit"');
    is(count('dialog [name=table]'), 0, 'a single balance is not chosen');
    $browser->fill('dialog [name=units]', '20');
    $browser->fill('dialog [name=reference]', 'order-2');
    $browser->press('Enter');
    shows('#news', qr/^20 requests credited\. Now the group pool has 20 of 20 requests left in teams\.$/, 'a credit');
    shows('#groups .meters', qr/^teams: balance20 of 20 requests leftWhat is left does not expire\.$/, '... is shown');
    shows('#groups .entries', qr/credit-group20 units in teams, reference order-2/, '... the audit has it');
    is_accessible('balance of a group');
    $browser->eval("location.hash = '#keys/eager'");
};

subtest 'revoking' => sub {
    open_id('initech');
    $browser->click('text="Revoke"');
    is_accessible('revoke');
    $browser->fill('dialog input', 'acme');
    $browser->press('Enter');
    shows('dialog .error', qr/This is not the id/, 'needs the id');
    is($gateway->get('/', $new)->status, 200, '... nothing has happened');
    $browser->fill('dialog input', 'initech');
    $browser->press('Enter');
    shows('#news', qr/initech is revoked/, 'is done');
    becomes(sub { $gateway->get('/', $new)->status }, 401, '... for the gateway');
    unlike(text('.option b'), qr/Initech/, '... and in the list');
    is(count('#detail h2'), 0, '... the id is not shown any more');
    $browser->eval("location.hash = '#keys/initech'");
    shows('#detail .error', qr/No key has the id initech/, 'its address says so');
};

subtest 'the audit' => sub {
    $browser->click('nav >> text="Audit"');
    shows('#audit .entries', qr/^revokeinitech.*by key:portal.*issueinitech/, 'the newest entry first');
    is_accessible('audit');
    $browser->fill('#audit [name=id]', 'eager');
    $browser->press('Enter');
    shows('#audit .entries', qr/^(?:(?:lift|reset)[^|]*?by key:portal){3}$/, 'of an id');
    $browser->fill('#audit [name=id]', 'no id');
    $browser->press('Enter');
    shows('#audit .row .error', qr/./, 'an error is at its field');
    $browser->fill('#audit [name=id]', '');
    $redis->cmd('XADD', 't:audit', '*', 'actor', 'ops@host', 'action', 'set', 'id', 'acme', 'detail', "n=$_") for 1 .. 60;
    $browser->click('#audit form button');
    shows('#audit li:first-child', qr/n=60/, 'a page');
    $browser->click('#audit >> text="Older"');
    shows('#audit li:first-child', qr/n=10/, 'older entries');
    $browser->click('#audit >> text="Newest"');
    shows('#audit li:first-child', qr/n=60/, 'the newest again');
    $browser->click('#audit li:first-child a');
    shows('#detail h2', qr/ACME/, 'an id leads to its key');
};

subtest 'the keyboard alone' => sub {
    $browser->open($page);
    is($browser->eval('document.querySelector("#sign-in").hidden'), JSON::PP::false, 'a page that is opened again does not know the key');
    is(focused(), 'operator', 'the field of the key has the focus');
    $browser->type('operator');
    $browser->press('Enter');
    shows('.option b', qr/ACME/, 'Enter signs in');
    my $go = sub {
        my ($wanted) = @_;
        for (1 .. 40) {
            return 1 if $browser->eval("document.activeElement.matches('$wanted') && document.activeElement.matches(':focus-visible')");
            $browser->press('Tab');
        }
        return 0;
    };
    ok($go->('.list'), 'Tab leads to the list');
    $browser->press($_) for qw(End ArrowUp Home ArrowDown ArrowDown);
    is($browser->eval('document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).querySelector("b").textContent'), 'ACME plc', 'arrows move in it');
    $browser->press('Enter');
    shows('#detail h2', qr/^ACME plc$/, 'Enter opens a key');
    is(focused(), 'ACME plc', '... whose heading has the focus');
    $browser->press('Tab') for 1 .. 4;
    is(focused(), 'Disable', 'Tab leads to its buttons');
    $browser->press('Enter');
    $browser->wait_for('document.querySelector("dialog")');
    is($browser->eval('document.querySelector("dialog").contains(document.activeElement)'), JSON::PP::true, 'the focus is in the dialog');
    ok($go->('dialog button[type=submit]'), '... Tab leads to its button');
    $browser->press('Escape');
    is(focused(), 'Disable', 'Escape closes it, and the focus returns');
    $browser->eval('document.querySelector("#find-title").focus()');
    ok($go->('nav a[href="#audit"], .list'), 'Tab leads on');
};

subtest '100,000 keys' => sub {
    # A script that takes long would make the gateway take Redis for unreachable.
    $redis->cmd('EVAL', <<'END', 0, 1000 * $_ + 1, 1000 * $_ + 1000) for 0 .. 99;
for i = ARGV[1], ARGV[2] do
    local digest, id = string.format('%064x', i), string.format('customer%06d', i)
    redis.call('HSET', 't:key:' .. digest, 'id', id, 'name', 'Customer ' .. i, 'plan', 'pro', 'created', 1700000000 + i, 'state', 'active')
    redis.call('SADD', 't:id:{' .. id .. '}', digest)
    redis.call('ZADD', 't:ids', 1700000000 + i, id)
end
END
    $browser->click('nav >> text="Keys"');
    $browser->wait_for('!document.querySelector("#keys").hidden');
    $browser->fill('#find [name=name]', '');
    $browser->click('#find form button');
    shows('.option b', qr/Customer 9\b/, 'the list begins');
    my $most = 0;
    wait_until('2,000 keys', sub {
        $browser->eval('(box => box.scrollTop = box.scrollHeight)(document.querySelector(".list"))');
        my $rows = count('.option');
        $most = $rows if $rows > $most;
        return text('.list-state') =~ /^2,\d\d\d keys/;
    }, 120);
    pass('scrolling loads further keys');
    cmp_ok($most, '<', 60, "... and the document has a few rows only ($most at most)");
    $browser->eval('document.querySelector(".list").scrollTop = 54.4 * 1000');
    shows('.option b', qr/Customer 1000\b/, 'the rows at any place are shown');
    $browser->eval('document.querySelector(".list").focus()');
    $browser->press('Home');
    $browser->press('PageDown') for 1 .. 3;
    my $active = $browser->eval('document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).getAttribute("aria-posinset")');
    cmp_ok($active, '>', 20, "Page Down moves by pages (to row $active)");
    is_accessible('long list');
};

subtest 'what the API refuses' => sub {
    open_id('globex');
    $browser->click('text="Change"');
    $browser->fill('dialog [name=name]', 'Globex 2');
    $redis->sigstop;
    $browser->press('Enter');
    shows('dialog .error', qr/try again/, 'Redis does not answer: the form says so, and keeps what was entered');
    is($browser->eval('document.querySelector("dialog [name=name]").value'), 'Globex 2', '... the name');
    $redis->sigcont;
    # Enter would press the button that opened the form, once the form is closed.
    wait_until('Redis', sub { $browser->eval('document.querySelector("dialog [type=submit]:enabled")?.click()'); !count('dialog') });
    shows('#detail h2', qr/^Globex 2$/, 'the same form is sent again');
    $browser->eval("location.hash = '#audit'");
    shows('#audit .entries', qr/./, 'the audit');
    $gateway->subscribed(2);    # again, after Redis has answered
    $gateway->change_key('operator');
    becomes(sub { $gateway->get('/admin/me', 'operator')->status }, 401, 'a key that is revoked meanwhile');
    $browser->click('#audit form button');
    shows('#news', qr/^You are signed out: The API key is not valid/, '... signs the operator out with the next request');
    is(text('#audit .entries') . text('.option'), '', '... nothing is shown any more');
    is($browser->eval('document.querySelector("#sign-in").hidden'), JSON::PP::false, '... the page asks for a key');
    sign_in('second');
    shows('#caller', qr/^Signed in as Second$/, 'another key');
    $browser->click('text="Sign out"');
    shows('#news', qr/^You are signed out\.$/, 'signing out');
    is(text('#caller') . text('.option') . text('#detail'), '', '... forgets what was shown');
    sign_in('second');
    shows('#caller', qr/^Signed in as Second$/, 'a page that nobody uses');
    $browser->eval('(now => { Date.now = () => now() + 16 * 60000; document.dispatchEvent(new Event("visibilitychange")); Date.now = now; })(Date.now)');
    shows('#news', qr/^You are signed out: nothing was done for 15 minutes\.$/, '... signs the operator out');
    is(count('input[type=password]'), 0, 'no field offers the browser to save a key');
    $browser->open("$host/nothing/");
    sign_in('second');
    shows('#sign-in .error', qr{/nowhere/.* does not answer as tollgate_admin: HTTP}, 'a wrong URI of the API is told');
};

subtest 'the policy is in force' => sub {
    $browser->open($page);
    my $elsewhere = free_port();
    is($browser->eval("fetch('http://127.0.0.1:$elsewhere/').then(() => 'asked', () => 'refused')"), 'refused', 'a request to another host is refused');
    $browser->eval('(() => { const one = document.createElement("style"); one.textContent = "body { opacity: .3 }"; document.head.append(one); })()');
    is($browser->eval('getComputedStyle(document.body).opacity'), '1', 'an injected style has no effect');
    is($browser->eval('(() => { try { document.body.innerHTML = "<b>x</b>"; return "set"; } catch { return "refused"; } })()'), 'refused', 'HTML of a text is refused');
    my @unexpected = grep { !/Failed to load resource: .* (?:40[0-9]|412|503) |ERR_ABORTED|Content Security Policy|TrustedHTML|127\.0\.0\.1:$elsewhere/ } $browser->complaints;
    is_deeply(\@unexpected, [], 'no other errors');
};

undef $browser;
$gateway->nginx->stop;

done_testing;
