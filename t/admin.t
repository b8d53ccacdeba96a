# tollgate_admin manages keys over HTTP. Every response of every operation of its OpenAPI document is requested and
# compared with the document, on one Redis and on a cluster.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Gateway qw(wait_for_room);
use Http qw(http_request);
use JSON::PP ();
use JsonSchema;
use RedisCluster;
use Spectral qw(lint_openapi);
use Test::More;
use Wait qw(wait_until);

my $document_file = File::Temp->new(SUFFIX => '.json');
binmode $document_file, ':encoding(UTF-8)';
my %nodes = (
    'one Redis'  => sub { RedisServer->start },
    'a cluster'  => sub { RedisCluster->start(masters => 3) },
);
for my $name (sort keys %nodes) {
    subtest $name => sub { test_admin($nodes{$name}->()) };
}

sub test_admin {
    my ($redis) = @_;
    my $has_subjects = $redis->isa('RedisCluster') ? JSON::PP::false : JSON::PP::true;
    my $gateway = Gateway->start(
        redis_server => $redis,
        workers      => 2,
        plans        => 'plan free 1000r/m; plan sliding custom window=sliding; anonymous 1000r/m; history 3660d;',
        http         => 'tollgate_plans ops redis=main { plan ops 10000r/m; plan spent 1r/d; }',
        server       => <<'END',
            location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
            location /admin/pages/ { tollgate ops; tollgate_scope admin; tollgate_admin main; tollgate_json_errors off; }
END
    );
    $gateway->import_key('operator', id => 'portal', plan => 'ops',   scopes => 'a admin b s1 s2');
    $gateway->import_key('reader',   id => 'reader', plan => 'ops',   scopes => 'pets:read');
    $gateway->import_key('spent',    id => 'spent',  plan => 'spent', scopes => 'admin');
    $redis->cmd('ZADD', 't:ids', 1, 'portal', 2, 'reader', 3, 'spent');
    my $json = JSON::PP->new->canonical;
    my $ask = sub {
        my ($method, $path, $body, %fields) = @_;
        my $token = delete $fields{token} // 'operator';
        $fields{'Content-Type'} //= 'application/json' if defined $body;
        return $gateway->request($method, "/admin/$path", { Authorization => "Bearer $token", %fields }, ref $body ? $json->encode($body) : $body);
    };
    my $works = sub { $gateway->get('/', $_[0])->status == 200 };

    my $document = $ask->('GET', 'openapi.json')->json;
    is $document->{openapi}, '3.1.0', 'an OpenAPI document';
    if (!-s $document_file) {
        print $document_file $json->encode($document);
        $document_file->flush;
    }
    my $schema = JsonSchema->new($document);
    my %seen;
    # A request, whose response must be documented.
    my $walk = sub {
        my ($operation, $status, @request) = @_;
        my $response = $ask->(@request);
        is $response->status, $status, "$operation $status" or diag $response->body;
        my ($found) = grep { ref eq 'HASH' && ($_->{operationId} // '') eq $operation } map { values %$_ } values %{ $document->{paths} };
        my $documented = $found->{responses}{$status} or return fail "$operation documents no $status";
        $seen{"$operation $status"} = 1;
        $documented = $schema->resolve($documented);
        for my $field (sort keys %{ $documented->{headers} }) {
            my $value = $response->header($field);
            ok defined $value, "… with $field" if $schema->resolve($documented->{headers}{$field})->{required};
        }
        if (my $content = $documented->{content}{'application/json'}) {
            is $response->header('content-type'), 'application/json', '… as JSON';
            is join(', ', $schema->validate($response->body, $content->{schema})), '', '… as documented' or diag $response->body;
        } else {
            is $response->body, '', '… without a body';
        }
        return $response;
    };

    # --- keys
    my $issued = $walk->('createKey', 201, 'POST', 'keys', { plan => 'free', id => 'acme', name => 'ACME', scopes => ['b', 'a'], meta => { contract => 4711 } });
    my $key = $issued->json->{key};
    is $issued->header('location'), 'keys/acme', 'the location of the new key';
    is $issued->header('cache-control'), 'no-store', 'a cache does not store the key';
    ok $works->($key), 'the new key works';
    is_deeply $issued->json->{scopes}, ['a', 'b'], 'it has its scopes';
    is_deeply $issued->json->{meta}, { contract => 4711 }, '… and its meta';
    unlike $ask->('GET', 'keys/acme')->body, qr/\Q$key/, 'the key is not shown again';
    $walk->('createKey', 409, 'POST', 'keys', { plan => 'free', id => 'acme' });
    $walk->('createKey', 400, 'POST', 'keys', { id => 'x' });
    for my $case (
        ['{', 'not valid JSON'], ['[]', 'not a JSON object'], ['{"plan":"free","plan":"pro"}', 'given twice'], ['{"plan":7}', 'is not a text'],
        ['{"plan":"free","colour":"red"}', '"colour" is not a member'], ['{"plan":"a b"}', 'plan: invalid'], ['{"plan":"free","expires":"2001-01-01"}', 'not in the future'],
        ['{"plan":"free","limits":"many"}', 'limits:'], ['{"plan":"free","scopes":["a b"]}', 'has a space'], ['{"plan":"free","meta":{"A":1}}', 'meta:'],
        ['{"plan":"free","meta":{"a":{"b":1}}}', 'too deep'], ['{"plan":"free","digest":"abc"}', 'digest:'], ['{"plan":"free","id":"tg_0000000000000000000000000000000042"}', ''],
        ["{\"plan\":\"free\",\"name\":\"\xff\"}", ''], ['{"plan":"free","id":"a/b"}', 'invalid id'],
        ['{"plan":"sliding","limits":"5r/month"}', 'limits: "5r/month" cannot slide: a month has a fixed window, and the plan "sliding" of "api" slides'], ['{"plan":"free","id":".."}', 'invalid id'], ['{"plan":""}', 'not empty'],
    ) {
        my ($body, $why) = @$case;
        next if $why eq '' && $body =~ /tg_/;
        my $response = $ask->('POST', 'keys', $body);
        is $response->status, 400, "refused: $body";
        like $response->json->{message}, qr/\Q$why/, '… and told why';
    }
    my $known = '"free", "ops", "sliding", "spent"';
    my $unknown = $walk->('createKey', 400, 'POST', 'keys', { plan => 'fre', id => 'typo' })->json;
    is_deeply [@$unknown{qw(code message)}], ['invalid_request', qq(plan: no plan table has "fre": the plans are $known)], 'an unknown plan is refused';
    is $ask->('GET', 'keys/typo')->status, 404, '… and nothing is stored';
    is $ask->('POST', 'keys', { plan => 'sliding' })->json->{message}, 'limits: the plan "sliding" is custom in "api", and the key has no limits',
        'so is a custom plan without limits';
    $redis->cmd('HSET', 't:plans', 'of-another-gateway', '{"plans":{"gold":{"rates":["1r/s"]}}}');
    is $ask->('POST', 'keys', { plan => 'gold', id => 'gold' })->status, 201, 'a plan of another gateway is accepted';
    like $ask->('PATCH', 'keys/gold', { plan => 'fre' })->json->{message}, qr/^plan: no plan table has "fre": .*"gold"/, 'a change to an unknown plan is refused';
    is $ask->('PATCH', 'keys/gold', { plan => 'sliding' })->status, 400, '… and to a custom one without limits';
    is $ask->('PATCH', 'keys/gold', { plan => 'sliding', limits => '5r/m' })->status, 200, '… but not with limits';
    is $ask->('PATCH', 'keys/gold', { limits => undef })->status, 400, '… which cannot be removed then';
    like $ask->('PATCH', 'keys/gold', { plan => 'free', limits => '5r/m' })->json->{message}, qr/^limits: the plan "free" is not custom in any plan table/, 'limits that no table uses';
    $redis->cmd('HDEL', 't:plans', 'of-another-gateway');
    is $ask->('DELETE', 'keys/gold')->status, 204, 'the key is removed';
    is $ask->('DELETE', 'keys/gold')->status, 204, '… also by a request that is repeated';
    $walk->('createKey', 413, 'POST', 'keys', ' ' x 16385);
    $walk->('createKey', 413, 'POST', 'keys', ' ' x 2_000_000);
    my %text = ('Content-Type' => 'text/plain');
    $walk->('createKey', 415, 'POST', 'keys', { plan => 'free' }, %text);
    my $malformed = $ask->('POST', 'keys', "x\r\n", 'Transfer-Encoding' => 'chunked');
    is $malformed->status, 400, 'a body that nginx refuses';
    is $malformed->header('content-type'), 'application/json', '… gets an Error body';
    is $ask->('POST', 'pages/keys', ' ' x 16385)->header('content-type'), 'text/html', 'tollgate_json_errors off keeps the pages of nginx';

    my $imported = $walk->('createKey', 201, 'POST', 'keys', { plan => 'free', id => 'old', digest => sha256_hex('an-old-token') });
    ok !exists $imported->json->{key}, 'an imported key is not in the response';
    ok $works->('an-old-token'), '… and works';
    is $ask->('POST', 'keys', { plan => 'free', id => 'old2', digest => sha256_hex('an-old-token') })->json->{code}, 'key_exists', 'the same key under another id is refused';

    # --- repeated requests
    my @repeated = ('POST', 'keys', { plan => 'free', name => 'repeated' }, 'Idempotency-Key' => 'r1');
    my $first = $walk->('createKey', 201, @repeated);
    my $again = $walk->('createKey', 200, @repeated);
    is $again->json->{id}, $first->json->{id}, 'a repeated request answers with the same id';
    ok !exists $again->json->{key}, '… without the key';
    ok $works->($first->json->{key}), '… and the key works';
    $walk->('createKey', 422, 'POST', 'keys', { plan => 'free', name => 'other' }, 'Idempotency-Key' => 'r1');
    isnt $ask->('POST', 'keys', { plan => 'free' }, 'Idempotency-Key' => 'r2')->json->{id}, $first->json->{id}, 'another Idempotency-Key makes another key';
    is $ask->('POST', 'keys', { plan => 'free' }, 'Idempotency-Key' => "a b")->status, 400, 'an Idempotency-Key with a space is refused';
    for my $case (['', 'an empty Idempotency-Key'], [['r3', 'r4'], 'two fields Idempotency-Key'], [['r3', ''], '… one of them empty']) {
        my ($value, $what) = @$case;
        my $response = $walk->('createKey', 400, 'POST', 'keys', { plan => 'free' }, 'Idempotency-Key' => $value);
        is $response->json->{code}, 'invalid_request', $what;
    }

    # --- lists
    my $page = $walk->('listKeys', 200, 'GET', 'keys?limit=2');
    is_deeply [map { $_->{id} } @{ $page->json->{keys} }], ['portal', 'reader'], 'the first page';
    my @all;
    # The list goes on after an id that is issued again, and is the last one now.
    $ask->('POST', 'keys', { plan => 'free', id => $_ }) for 'first', 'second';
    my $created = int $redis->cmd('ZSCORE', 't:ids', 'first');
    $ask->('DELETE', 'keys/first');
    is $ask->('GET', "keys?after=@{[ $created - 5000 ]}:first")->status, 200, 'a place of an id that moved';
    $ask->('POST', 'keys', { plan => 'free', id => 'first' });
    $redis->cmd('ZADD', 't:ids', $created + 5000, 'first');
    my $rest = $ask->('GET', "keys?after=@{[ $created - 1 ]}:first")->json;
    is_deeply [grep { /first|second/ } map { $_->{id} } @{ $rest->{keys} }], ['second', 'first'], 'the list goes on after it';
    $ask->('DELETE', "keys/$_") for 'first', 'second';
    for (my $next = 'keys?limit=2'; $next;) {
        my $response = $ask->('GET', $next);
        push @all, map { $_->{id} } @{ $response->json->{keys} };
        ($next) = ($response->header('link') // '') =~ /^<([^>]+)>; rel="next"$/;
        last if @all > 100;
    }
    is_deeply \@all, $redis->cmd('ZRANGE', 't:ids', 0, -1), 'all pages have each id once';
    is_deeply [map { $_->{id} } @{ $ask->('GET', 'keys?plan=ops')->json->{keys} }], ['portal', 'reader'], 'keys of a plan';
    $walk->('listKeys', 400, 'GET', 'keys?limit=0');
    my @bad = ('limit=101', 'after=x', 'after=:portal', 'after=nan:portal', 'color=red', 'limit=1&limit=2', 'plan=%zz', 'plan=', 'state=on', 'name=%0a', 'name=' . 'x' x 257, 'expires_before=soon');
    is $ask->('GET', "keys?$_")->status, 400, "refused: $_" for @bad;
    $ask->('POST', 'keys', { plan => 'free', id => $_->[0], name => $_->[1], expires => $_->[2] })
        for ['f1', 'Fest & Co', '2040-01-01T00:00:00Z'], ['f2', 'Fest + Co', '2041-01-01T00:00:00Z'], ['f3', 'A Fest', undef];
    $ask->('PATCH', 'keys/f2', { state => 'disabled' });
    my $ids = sub { return join ' ', map { $_->{id} } @{ $ask->('GET', "keys?$_[0]")->json->{keys} } };
    is $ids->('name=fest'), 'f1 f2', 'keys whose name begins with a text, in any case, by name';
    is $ids->('name=*FEST*'), 'f3 f1 f2', '… or matches a pattern';
    is $ids->('name=Fest+*+Co'), 'f1 f2', '… of the whole name';
    $ask->('PATCH', 'keys/f3', { name => 'FESTÜNG', scopes => ['s1', 's2'], meta => { contract => 4711, vip => JSON::PP::true } });
    is $ids->('name=' . 'fest%C3%BC'), 'f3', 'a name that was changed';
    is $ids->('name=a%20f'), '', '… is not found by the old one';
    is_deeply $redis->cmd('ZRANGEBYLEX', 't:index', '[name:', '(name;'),
        ["name:acme\nacme", "name:fest & co\nf1", "name:fest + co\nf2", "name:fest\xc3\xbcng\nf3", "name:repeated\n@{[ $first->json->{id} ]}"], '… which the index does not have any more';
    is $ids->('name=fest&limit=2') . ' ' . $ids->('name=fest&limit=2&after=f2%3Afest%20%2B%20co'), 'f1 f2 f3', 'page by page';
    is $ids->('scope=s2'), 'portal f3', 'keys with a scope';
    is $ids->('scope=s'), '', '… as a whole';
    is $ids->("meta=$_"), 'acme f3', "keys with $_" for 'contract=4711', 'contract%3D4711';
    is $ids->('meta=vip=true'), 'f3', '… with a flag';
    is $ids->("meta=$_"), '', "… none with $_" for 'contract=471', 'other=1';
    is $ask->('GET', "keys?$_")->status, 400, "refused: $_" for 'scope=a%20b', 'scope=', 'meta=contract', 'meta=A%3D1', 'name=f&after=:f1';
    # What an operation that was interrupted may leave.
    $redis->cmd('ZADD', 't:index', 0, "name:fest of old\nf1", 0, "name:fest of nobody\nnobody");
    is $ids->('name=fest&limit=2') . ' ' . $ids->('name=*fest*&limit=100'), 'f1 f2 f1 f2 f3', 'entries of the index that are not true are skipped';
    $redis->cmd('ZREM', 't:index', "name:fest of old\nf1", "name:fest of nobody\nnobody");
    is $ids->('name=Fest&expires_before=2040-06-01T00:00:00Z'), 'f1', 'keys that expire before a time';
    is $ids->('name=Fest&created_from=2100-01-01T00:00:00Z'), '', 'keys that were issued since a time: none';
    is $ids->('group=none-has-it&created_from=2020-01-01T00:00:00Z'), '', '… beside an index';
    my $every = $ids->('limit=100');
    # Three ids have places at the beginning of the list.
    is $ids->('limit=100&created_from=2020-01-01T00:00:00Z'), $every =~ s/^portal reader spent //r, '… from their place in the list on';
    is $ids->('limit=100&created_from=2100-01-01T00:00:00Z'), '', '… none';
    is_deeply [map { exists $_->{activity} ? 1 : () } @{ $ask->('GET', 'keys')->json->{keys} }], [], 'without what is counted of them';
    my ($one) = @{ $walk->('listKeys', 200, 'GET', 'keys?include=activity')->json->{keys} };
    is_deeply [sort keys %{ $one->{activity} }], [qw(banned_until strikes today)], '… or with it';
    $walk->('listKeys', 400, 'GET', $_) for 'keys?include=all', 'keys?created_from=soon';
    my $totals = $walk->('showTotals', 200, 'GET', 'totals')->json;
    $walk->('showTotals', 400, 'GET', 'totals?x=1');
    is $totals->{keys}, scalar(split / /, $every), 'the totals';
    is $ids->('name=Fest&state=disabled'), 'f2', 'keys in a state';
    is $ids->('name=nobody'), '', 'no key matches';
    my $filtered = $ask->('GET', 'keys?limit=1&plan=free&name=Fest%20*%20Co&expires_before=2042-01-01');
    is $filtered->header('link'), '<keys?after=f1%3Afest%20%26%20co&limit=1&plan=free&name=Fest%20%2A%20Co&expires_before=2042-01-01T00%3A00%3A00Z>; rel="next"',
        'the next page has the filters';
    $ask->('DELETE', "keys/f$_") for 1 .. 3;
    is $ids->('name=fest'), '', 'revoked keys are not found';
    is_deeply [grep { /\nf[1-3]$|:f[1-3]$/ } @{ $redis->cmd('ZRANGE', 't:index', 0, -1) }], [], '… nor in the index';

    # --- last use
    wait_until('the last use', sub { $ask->('GET', 'keys/acme')->json->{digests}[0]{used} });
    like $walk->('showKey', 200, 'GET', 'keys/acme')->json->{digests}[0]{used}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/, 'the minute of the last use';
    my %used = map { $_->{id} => $_->{digests}[0]{used} } @{ $ask->('GET', 'keys?plan=free')->json->{keys} };
    ok $used{acme}, '… in the list, too';

    # --- whose a key is
    is $walk->('findKey', 200, 'POST', 'keys/lookup', { token => $key })->json->{id}, 'acme', 'by the key';
    my $found = $ask->('POST', 'keys/lookup', { digest => sha256_hex($key) });
    is $found->json->{id}, 'acme', '… by its digest';
    is $found->header('ETag'), $ask->('GET', 'keys/acme')->header('ETag'), '… with the version of the id';
    $walk->('findKey', 404, 'POST', 'keys/lookup', { token => 'unknown' });
    like $walk->('findKey', 400, 'POST', 'keys/lookup', $_)->json->{message}, qr/token/, '… refused'
        for '{}', { token => 'a', digest => '0' x 64 }, { token => 'a b' };
    $walk->('findKey', 413, 'POST', 'keys/lookup', ' ' x 16385);
    $walk->('findKey', 415, 'POST', 'keys/lookup', { token => $key }, %text);
    $ask->('POST', 'keys', { plan => 'free', id => 'lookup' });
    is $ask->('GET', 'keys/lookup')->json->{id}, 'lookup', 'an id of this name can be shown';
    is $ask->('DELETE', 'keys/lookup')->status, 204, '… and revoked';
    is $walk->('showCaller', 200, 'GET', 'me')->json->{id}, 'portal', 'the caller';
    is $ask->('GET', 'me', undef, token => 'reader')->status, 403, '… needs the scope';
    $redis->cmd('RENAME', 't:id:{portal}', 't:away:{portal}');
    $redis->cmd('ZREM', 't:ids', 'portal');
    $walk->('showCaller', 404, 'GET', 'me');
    $redis->cmd('RENAME', 't:away:{portal}', 't:id:{portal}');
    $redis->cmd('ZADD', 't:ids', 1, 'portal');

    # --- plans
    my ($api) = grep { $_->{name} eq 'api' } @{ $walk->('listPlans', 200, 'GET', 'plans')->json->{tables} };
    is_deeply $api->{plans}{free}, { rates => ['1000r/m'], window => 'fixed' }, 'a plan' or diag explain $api;
    is $api->{unit}, 'requests', 'the unit of its table';

    # --- changes
    $walk->('showKey', 200, 'GET', 'keys/acme');
    $walk->('showKey', 404, 'GET', 'keys/nobody');
    my $changed = $walk->('changeKey', 200, 'PATCH', 'keys/acme', { plan => 'ops', name => undef, meta => { contract => undef, note => 'x' }, expires => '2040-01-01T00:00:00Z' })->json;
    is $changed->{plan}, 'ops', 'the plan';
    is $changed->{name}, undef, 'no name';
    is $changed->{expires}, '2040-01-01T00:00:00Z', 'the expiry';
    is_deeply $changed->{meta}, { note => 'x' }, 'a member of the meta is added, another removed';
    is_deeply $changed->{scopes}, ['a', 'b'], 'what is not given remains';
    $walk->('changeKey', 400, 'PATCH', 'keys/acme', '{}');
    $walk->('changeKey', 404, 'PATCH', 'keys/nobody', { plan => 'free' });
    $walk->('changeKey', 413, 'PATCH', 'keys/acme', ' ' x 16385);
    $walk->('changeKey', 415, 'PATCH', 'keys/acme', { plan => 'free' }, %text);
    $ask->('PATCH', 'keys/acme', { plan => 'free', state => 'disabled' });
    wait_until('the key to end', sub { !$works->($key) });
    $ask->('PATCH', 'keys/acme', { state => 'active' });
    wait_until('the key to work', sub { $works->($key) });

    # --- rotation
    my $rotated = $walk->('rotateKey', 200, 'POST', 'keys/acme/rotate', { overlap => '1h' }, 'Idempotency-Key' => 'rot')->json;
    is scalar @{ $rotated->{digests} }, 2, 'two keys';
    is_deeply [map { $_->{hint} } @{ $rotated->{digests} }], [map { substr $_, -4 } $rotated->{key}, $key], '… with their last characters';
    is $rotated->{created}, $issued->json->{created}, 'the id was issued when it was';
    is_deeply [map { [$_->{retiring} ? 1 : 0, defined $_->{used} ? 1 : 0] } @{ $rotated->{digests} }], [[0, 0], [1, 1]], '… of which the old one was used';
    ok $works->($_), '… work' for $key, $rotated->{key};
    my $same = $ask->('POST', 'keys/acme/rotate', { overlap => '1h' }, 'Idempotency-Key' => 'rot');
    is $same->status, 200, 'the same rotation again';
    ok !exists $same->json->{key}, '… makes no key';
    $walk->('rotateKey', 422, 'POST', 'keys/acme/rotate', { overlap => '2h' }, 'Idempotency-Key' => 'rot');
    $walk->('rotateKey', 409, 'POST', 'keys/acme/rotate');
    $walk->('rotateKey', 400, 'POST', 'keys/acme/rotate', { overlap => '24' });
    $walk->('rotateKey', 404, 'POST', 'keys/nobody/rotate');
    $walk->('rotateKey', 413, 'POST', 'keys/acme/rotate', ' ' x 16385);
    $walk->('rotateKey', 415, 'POST', 'keys/acme/rotate', {}, %text);
    my $now = $ask->('POST', 'keys/acme/rotate', { overlap => '0' })->json;
    is scalar @{ $now->{digests} }, 1, 'without an overlap, one key is left';
    wait_until('the others to end', sub { !$works->($key) && !$works->($rotated->{key}) });
    wait_for_room($redis, 60, 5);
    ok $works->($now->{key}), '… and works';

    # --- usage
    my $used = $walk->('showUsage', 200, 'GET', 'keys/acme/usage')->json;
    is $used->{group}, undef, 'the id has no group';
    is_deeply [map { [@$_{qw(table window limit)}] } @{ $used->{windows} }], [['api', 'minute', 1000], ['api', 'day', undef]],
        'the windows of the plan, and the day of the history';
    cmp_ok $used->{windows}[0]{count}, '>=', 1, '… with its count';
    $walk->('showUsage', 404, 'GET', 'keys/nobody/usage');

    # --- reset
    my ($today) = @{ $ask->('GET', 'keys/acme/history')->json->{days} };
    $walk->('resetUsage', 204, 'DELETE', 'keys/acme/usage', undef, 'X-Request-Id' => 'ticket-1');
    is_deeply [map { $_->{count} } @{ $ask->('GET', 'keys/acme/usage')->json->{windows} }], [0], 'the windows have no counts';
    # Without the units of leases that were returned.
    my ($kept) = @{ $ask->('GET', 'keys/acme/history')->json->{days} };
    is "$kept->{day} $kept->{table}", "$today->{day} $today->{table}", '… and the history has the day';
    ok $kept->{units} > 0 && $kept->{units} <= $today->{units}, '… with its units' or diag explain $kept;
    $walk->('resetUsage', 404, 'DELETE', 'keys/nobody/usage');

    # --- history
    my $granted = $walk->('showHistory', 200, 'GET', 'keys/acme/history')->json;
    is $granted->{days}[0]{table}, 'api', 'what was granted today';
    cmp_ok $granted->{days}[0]{units}, '>=', 1, '… in units';
    $redis->cmd('HSET', 't:history:{acme}', 'api:20002', 7, 'api:20000', 5, 'ended:20001', 6);
    my @days = map { { day => "2024-10-0$_->[0]", table => $_->[1], units => $_->[2] } } [4, 'api', 5], [5, 'ended', 6], [6, 'api', 7];
    is_deeply [@{ $ask->('GET', 'keys/acme/history')->json->{days} }[0 .. 2]], \@days, 'days in their order';
    is_deeply $ask->('GET', 'keys/acme/history?from=2024-10-05&to=2024-10-05')->json, { id => 'acme', days => [$days[1]] }, 'one day';
    is_deeply $ask->('GET', 'keys/acme/history?to=2024-10-05')->json->{days}, [@days[0, 1]], 'days until a day';
    my $recent = $ask->('GET', 'keys/acme/history?from=2024-10-07')->json->{days};
    is_deeply [map { $_->{day} } @$recent], [map { $_->{day} } @{ $granted->{days} }], '… and from a day';
    is_deeply $ask->('GET', 'keys/reader/history')->json, { id => 'reader', days => [] }, 'an id without a history';
    like $walk->('showHistory', 400, 'GET', 'keys/acme/history?from=2024-02-30')->json->{message}, qr/^from: /, 'an invalid day';
    is $ask->('GET', "keys/acme/history?$_")->status, 400, "refused: $_" for 'to=', 'from=2024-10-05T00:00:00Z', 'limit=1', 'from=2024-10-06&to=2024-10-05';
    $walk->('showHistory', 404, 'GET', 'keys/nobody/history');

    # --- usage of all ids
    my $all = $walk->('listUsage', 200, 'GET', 'usage?to=2024-10-31')->json;
    is_deeply $all, { ids => [{ id => 'acme', days => \@days }], next => undef, has_subjects => $has_subjects }, 'ids with a day in the range' or diag explain $all;
    is_deeply $ask->('GET', 'usage?from=2024-10-05&to=2024-10-05')->json->{ids}, [{ id => 'acme', days => [$days[1]] }], 'one day';
    is_deeply $ask->('GET', 'usage?to=2024-10-01')->json, { ids => [], next => undef, has_subjects => $has_subjects }, 'no day';
    my ($own) = map { $_->{days} } grep { $_->{id} eq 'acme' } @{ $ask->('GET', 'usage')->json->{ids} };
    is_deeply $own, $ask->('GET', 'keys/acme/history')->json->{days}, 'the days of an id are its history';
    is_deeply [sort keys %{ $walk->('listUsage', 200, 'GET', 'usage?to=2024-10-31&by=month')->json->{ids}[0] }], ['id', 'periods'], '… by month';
    $walk->('listUsage', 400, 'GET', "usage?$_") for 'by=week', 'from=2024-02-30', 'from=2024-10-06&to=2024-10-05', 'after=acme', 'after=', 'after=revoked%3Aacme', 'limit=0';

    # --- bans
    $redis->cmd('HSET', 't:ban:{acme}', until => 9e12, level => 1, strikes => 0, since => 1.7e12);
    $redis->cmd('HSET', 't:ban:{old}', until => 1e12, level => 3, strikes => 2, since => 1e12);
    my $banned = $walk->('listBans', 200, 'GET', 'bans')->json;
    is_deeply $banned, { bans => [$ask->('GET', 'keys/acme/ban')->json], next => undef, has_subjects => $has_subjects }, 'the ids that are banned now' or diag explain $banned;
    $walk->('listBans', 400, 'GET', $_) for 'bans?after=acme', 'bans?include=all';
    is $walk->('showBan', 200, 'GET', 'keys/acme/ban')->json->{banned}, JSON::PP::true, 'a ban';
    $walk->('showBan', 404, 'GET', 'keys/nobody/ban');
    $walk->('liftBan', 204, 'DELETE', 'keys/acme/ban');
    is $ask->('GET', 'keys/acme/ban')->json->{banned}, JSON::PP::false, '… is lifted';
    $redis->cmd('HSET', 't:ban:{acme}', strikes => 4, since => 1.7e12);
    my ($struck) = grep { $_->{id} eq 'acme' } @{ $walk->('listBans', 200, 'GET', 'bans?include=strikes')->json->{bans} };
    is_deeply [@$struck{qw(banned strikes)}], [JSON::PP::false, 4], 'an id with strikes, if they are asked for';
    my ($active) = map { $_->{activity} } grep { $_->{id} eq 'acme' } @{ $ask->('GET', 'keys?limit=100&include=activity')->json->{keys} };
    my ($of_day) = map { $_->{count} } grep { $_->{window} eq 'day' } @{ $ask->('GET', 'keys/acme/usage')->json->{windows} };
    is_deeply $active, { banned_until => undef, strikes => 4, today => $of_day ? [{ table => 'api', units => $of_day }] : [] }, 'a list of keys can have them, and the use of the day';
    $redis->cmd('DEL', 't:ban:{acme}');
    $walk->('liftBan', 404, 'DELETE', 'keys/nobody/ban');

    # --- revocation
    $walk->('revokeKey', 204, 'DELETE', 'keys/acme');
    wait_until('the key to end', sub { !$works->($now->{key}) });
    $walk->('revokeKey', 204, 'DELETE', 'keys/acme');
    $walk->('revokeKey', 404, 'DELETE', 'keys/nobody');
    is $redis->cmd('EXISTS', 't:used:{acme}'), 0, 'its last use is removed';
    is scalar @{ $ask->('GET', 'keys/acme/history?to=2024-10-06')->json->{days} }, 3, 'the history of a revoked id remains';
    is_deeply $ask->('GET', 'usage?to=2024-10-06')->json->{ids}, [{ id => 'acme', days => \@days }], '… also in the usage of all ids';
    $redis->cmd('HSET', "t:history:{$_}", 'api:20000', 1) for 'old', 'portal';
    my @usages;
    for (my $next = 'usage?to=2024-10-31&limit=1'; $next;) {
        my $response = $ask->('GET', $next);
        push @usages, map { $_->{id} } @{ $response->json->{ids} };
        ok !$response->json->{next} || @{ $response->json->{ids} }, 'only the last page may be empty';
        ($next) = ($response->header('link') // '') =~ /<(\S+)>/;
    }
    is_deeply \@usages, ['portal', 'acme', 'old'], 'all ids, also a revoked one, page by page in the order of their creation';
    $ask->('POST', 'keys', { plan => 'free', id => 'acme' });
    is_deeply [map { $_->{id} } @{ $ask->('GET', 'usage?to=2024-10-31')->json->{ids} }], ['portal', 'acme', 'old'], 'an id that was issued again is there once';
    $ask->('DELETE', 'keys/acme');

    # --- keys without any key left
    my $orphan = $ask->('POST', 'keys', { plan => 'free', id => 'orphan' })->json;
    $redis->cmd('DEL', "t:key:$orphan->{digests}[0]{sha256}");
    $walk->('changeKey', 409, 'PATCH', 'keys/orphan', { plan => 'free' });

    # --- a caller whose key ends
    my $deputy = $ask->('POST', 'keys', { plan => 'ops', id => 'deputy', scopes => ['admin'] })->json->{key};
    is $ask->('GET', 'keys/old', undef, token => $deputy)->status, 200, 'another caller';
    $ask->('PATCH', 'keys/deputy', { scopes => [] });
    wait_until('the scope to end', sub { $ask->('GET', 'keys/old', undef, token => $deputy)->status == 403 });
    $ask->('DELETE', 'keys/deputy');
    wait_until('the key to end', sub { $ask->('GET', 'keys/old', undef, token => $deputy)->status == 401 });
    unlike $gateway->nginx->error_log, qr/\Q$deputy/, 'the error log has no key';

    # --- audit
    my $audit = $walk->('listAudit', 200, 'GET', 'audit?id=acme&limit=100')->json;
    is_deeply [map { $_->{action} } @{ $audit->{entries} }], [qw(issue lookup lookup set set set rotate rotate reset lift revoke issue revoke)], 'the audit of an id';
    is $audit->{entries}[0]{actor}, 'key:portal', '… has the caller';
    is_deeply [map { $_->{request} } @{ $audit->{entries} }[0, 8]], [undef, 'ticket-1'], '… and the name of the request';
    like $audit->{entries}[0]{detail}, qr/plan=free/, '… and the values';
    is_deeply [map { $_->{before} } (grep { $_->{action} =~ /^(?:issue|set)$/ } @{ $audit->{entries} })[0, 1]], [undef, 'plan=free name=ACME expires=none'], '… and those that were replaced';
    is_deeply [map { $_->{action} eq 'rotate' ? $_->{detail} : () } @{ $audit->{entries} }], ['overlap=1h', 'overlap=0s'], '… and overlaps, as those of the command';
    my @entries;
    for (my $after = ''; 1;) {
        my $response = $ask->('GET', 'audit?limit=3' . ($after && "&after=$after"))->json;
        push @entries, map { $_->{place} } @{ $response->{entries} };
        last unless $response->{has_more};
        $after = $response->{next};
    }
    is_deeply \@entries, [map { $_->[0] } @{ $redis->cmd('XRANGE', 't:audit', '-', '+') }], 'all pages have each entry once';
    my $newest = $ask->('GET', 'audit?order=desc&limit=100')->json->{entries};
    is_deeply [map { $_->{place} } @$newest], [reverse @entries], 'the newest first';
    my $third = $ask->('GET', "audit?order=desc&limit=2&after=$newest->[1]{place}")->json;
    is_deeply [map { $_->{place} } @{ $third->{entries} }], [@entries[-3, -4]], '… page by page';
    is_deeply [map { $_->{place} } @{ $ask->('GET', 'audit?limit=100&actor=key%3Aportal')->json->{entries} }],
        [map { $_->{place} } grep { $_->{actor} eq 'key:portal' } reverse @$newest], '… of an actor';
    is_deeply $ask->('GET', 'audit?actor=nobody')->json->{entries}, [], '… of none';
    my $second = $newest->[0]{time};
    is_deeply [map { $_->{time} } grep { $_->{time} ne $second } @{ $ask->('GET', "audit?limit=100&from=$second")->json->{entries} }], [], 'from a time';
    is $ask->('GET', "audit?limit=100&from=$second&to=$second&order=desc")->json->{entries}[0]{place}, $newest->[0]{place}, '… to the end of its second';
    is_deeply $ask->('GET', "audit?to=$_")->json->{entries}, [], "to $_" for '2020-01-01T00:00:00Z', '1969-12-31T23:59:58Z', '0000-01-01T00:00:00Z';
    is scalar @{ $ask->('GET', 'audit?limit=100&from=1969-12-31T23:59:58Z')->json->{entries} }, @$newest, 'from a time before all entries';
    $walk->('listAudit', 400, 'GET', "audit?$_") for 'order=up', 'from=yesterday', 'to=2026-13-01';
    $walk->('listAudit', 400, 'GET', "audit?after=$_") for 'yesterday', '1-2-3', '-', '1-', '-1', '99999999999999999999-1', '18446744073709551615-18446744073709551615';

    # --- groups
    my $group = $walk->('changeGroup', 200, 'PATCH', 'groups/old', { plan => 'free' })->json;
    is_deeply $group, { id => 'old', plan => 'free', limits => undef, billing_day => undef }, 'a new group' or diag explain $group;
    is_deeply $walk->('changeGroup', 200, 'PATCH', 'groups/old', { limits => '1000r/d 5r/s' })->json, { id => 'old', plan => 'free', limits => '5r/s 1000r/d', billing_day => undef }, '… keeps the values that are not given';
    is $ask->('PATCH', 'groups/old', { billing_day => 15 })->json->{billing_day}, 15, '… and those that are';
    $walk->('changeGroup', 400, 'PATCH', 'groups/old', { billing_day => $_ }) for 0, 32, -1, 1.5, '15', 'x';
    $ask->('PATCH', 'groups/new', { plan => 'free' });
    is_deeply [map { $_->{id} } @{ $walk->('listGroups', 200, 'GET', 'groups')->json->{groups} }], ['new', 'old'], 'groups are listed by name';
    my $first_groups = $walk->('listGroups', 200, 'GET', 'groups?limit=1');
    is_deeply [$first_groups->json->{next}, map { $_->{id} } @{ $first_groups->json->{groups} }], ['new', 'new'], '… in pages';
    is_deeply [map { $_->{id} } @{ $ask->('GET', 'groups?after=new')->json->{groups} }], ['old'], '… which follow each other';
    $walk->('listGroups', 400, 'GET', "groups?$_") for 'after=a%20b', 'limit=0', 'x=1';
    is_deeply $walk->('showGroup', 200, 'GET', 'groups/old')->json, { id => 'old', plan => 'free', limits => '5r/s 1000r/d', billing_day => 15 }, 'one group';
    $walk->('showGroup', 404, 'GET', 'groups/nobody');
    $walk->('showGroup', 400, 'GET', 'groups/old?x=1');
    $walk->('changeGroup', 400, 'PATCH', 'groups/other', $_) for { limits => '5r/s' }, {}, { plan => undef }, { plan => 'a b' }, { plan => 'free', name => 'x' }, { plan => 'free', limits => '5' };
    $walk->('changeGroup', 400, 'PATCH', 'groups/none', { plan => 'free' });
    $walk->('changeGroup', 413, 'PATCH', 'groups/old', ' ' x 16385);
    $walk->('changeGroup', 415, 'PATCH', 'groups/old', { plan => 'free' }, %text);
    is_deeply $walk->('showGroupUsage', 200, 'GET', 'groups/old/usage')->json, { id => 'old', plan => 'free', limits => '5r/s 1000r/d', billing_day => 15, windows => [] }, 'the usage of a group: no table counts groups';
    $walk->('showGroupUsage', 404, 'GET', 'groups/nobody/usage');
    $walk->('showGroupUsage', 400, 'GET', 'groups/old/usage?x=1');
    is $walk->('resetGroup', 204, 'DELETE', 'groups/new/usage')->body, '', 'the counts of a group are reset';
    $walk->('resetGroup', 404, 'DELETE', 'groups/nobody/usage');
    $walk->('resetGroup', 400, 'DELETE', 'groups/new/usage?x=1');
    my $credit = { units => 5, reference => 'order-1', table => 'api' };
    is_deeply $walk->('creditKey', 200, 'POST', 'keys/old/credit', $credit)->json, { table => 'api', unit => 'requests', credited => 5, left => 5, repeated => JSON::PP::false }, 'a balance is credited';
    is $walk->('creditKey', 200, 'POST', 'keys/old/credit', $credit)->json->{repeated}, JSON::PP::true, '… once';
    is $walk->('creditKey', 409, 'POST', 'keys/old/credit', { %$credit, units => 6 })->json->{code}, 'reference_reused', '… for a reference';
    for my $case (['creditKey', 'keys'], ['creditGroup', 'groups']) {
        my ($operation, $list) = @$case;
        $walk->($operation, 400, 'POST', "$list/old/credit", { %$credit, units => 0 });
        $walk->($operation, 404, 'POST', "$list/nobody/credit", $credit);
        $walk->($operation, 413, 'POST', "$list/old/credit", ' ' x 16385);
        $walk->($operation, 415, 'POST', "$list/old/credit", $credit, %text);
    }
    $seen{"creditGroup $_"} = 1 for 200, 409;    # in t/balance.t: no table counts groups here
    is $walk->('deleteGroup', 204, 'DELETE', 'groups/new')->body, '', 'a group is deleted';
    $walk->('deleteGroup', 404, 'DELETE', 'groups/new');
    $walk->('deleteGroup', 400, 'DELETE', 'groups/old?x=1');
    is_deeply [map { $_->{action} } @{ $ask->('GET', 'audit?id=new')->json->{entries} }], ['set-group', 'delete-group'], 'the audit has both: no table counts groups, so nothing was reset';
    my $member = $ask->('POST', 'keys', { plan => 'free', group => 'old' })->json;
    is $member->{group}, 'old', 'a key of the group';
    is_deeply [map { $_->{id} } @{ $walk->('listKeys', 200, 'GET', 'keys?group=old')->json->{keys} }], [$member->{id}], '… which the list of the group has';
    $walk->('listKeys', 400, 'GET', 'keys?group=a%20b');
    $ask->('DELETE', "keys/$member->{id}");

    # --- many changes
    my $batch = sub { return { operations => [map { { method => $_->[0], path => $_->[1], $_->[2] ? (body => $_->[2]) : () } } @_] } };
    my $done = $walk->('changeKeys', 200, 'POST', 'keys:batch', $batch->(
        ['POST', 'keys', { plan => 'free', id => 'b1', name => 'Batch', meta => { a => 1 } }], ['PATCH', 'keys/b1', { name => 'other' }], ['POST', 'keys/b1/rotate', { overlap => '0' }],
        ['POST', 'keys', { plan => 'none' }], ['DELETE', 'keys/nobody'], ['DELETE', 'keys/b1/usage'], ['DELETE', 'keys/b1/ban'],
    ), 'Idempotency-Key' => 'batch-1', traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')->json->{results};
    is_deeply [map { $_->{status} } @$done], [201, 200, 200, 400, 404, 204, 204], 'each operation has its status';
    is_deeply [map { $_->{id} } @$done], ['b1', 'b1', 'b1', undef, 'nobody', 'b1', 'b1'], '… and its id';
    is $done->[1]{body}{name}, 'other', '… and the body of its response';
    is $done->[2]{etag}, $ask->('GET', 'keys/b1')->header('ETag'), '… and the version';
    like $done->[3]{body}{message}, qr/no plan table has "none"/, '… or why it is refused';
    ok $works->($done->[2]{body}{key}), 'the last key works';
    my $name = substr sha256_hex("key:portal\nkeys%3Abatch\nbatch-1"), 0, 32;
    my @same_batch = ('POST', 'keys:batch', $batch->(
        ['POST', 'keys', { plan => 'free', id => 'b1', name => 'Batch', meta => { a => 1 } }], ['PATCH', 'keys/b1', { name => 'other' }], ['POST', 'keys/b1/rotate', { overlap => '0' }],
        ['POST', 'keys', { plan => 'none' }], ['DELETE', 'keys/nobody'], ['DELETE', 'keys/b1/usage'], ['DELETE', 'keys/b1/ban'],
    ), 'Idempotency-Key' => 'batch-1');
    my $entries = $redis->cmd('XLEN', 't:audit');
    my $repeated = $walk->('changeKeys', 200, @same_batch)->json->{results};
    is_deeply [map { [@$_{qw(status id body)}] } @$repeated], [map { [@$_{qw(status id)}, undef] } @$done], 'the repetition has the same statuses';
    is $redis->cmd('XLEN', 't:audit'), $entries, '… and does nothing';
    $redis->cmd('HSET', "t:request:$name", run => 'other');
    $walk->('changeKeys', 409, @same_batch);
    $redis->cmd('DEL', "t:request:$name");
    my $after = $walk->('changeKeys', 200, @same_batch)->json->{results};
    is_deeply [map { $_->{status} } @$after], [200, 200, 200, 400, 404, 204, 204], 'a batch that was interrupted is executed again';
    is_deeply [grep { exists $_->{key} } map { $_->{body} // {} } @$after], [], '… and makes no further key';
    $redis->cmd('HSET', "t:request:$name", results => '201:b1 200:b1 200:b1 400:');
    $entries = $redis->cmd('XLEN', 't:audit');
    my $continued = $walk->('changeKeys', 200, @same_batch)->json->{results};
    is_deeply [map { $_->{status} } @$continued], [201, 200, 200, 400, 404, 204, 204], 'a batch that was executed in part';
    is_deeply [map { defined $_->{body} ? 1 : 0 } @$continued], [0, 0, 0, 0, 1, 0, 0], '… goes on after the operations that have results';
    is $redis->cmd('XLEN', 't:audit'), $entries + 2, '… and executes no other again';
    $walk->('changeKeys', 422, 'POST', 'keys:batch', $batch->(['DELETE', 'keys/b1']), 'Idempotency-Key' => 'batch-1');
    for my $case (
        ['{}', 'needs one member'], ['{"operations":{}}', 'needs one member'], ['{"operations":[]}', '1 to 1000'], ['{"operations":[1]}', 'operation 1 is not an object'],
        ['{"operations":[{"method":"GET","path":"keys"}]}', 'operation 1 needs a "method"'], ['{"operations":[{"method":"POST","path":"keys/lookup"}]}', 'operation 1 does not change a key'],
        [qq({"operations":[{"method":"DELETE","path":"keys/b1"}]}\0x), 'not valid JSON'],
        ['{"operations":[{"method":"POST","path":"keys:batch"}]}', 'operation 1 does not change'], ['{"operations":[{"method":"DELETE","path":"keys/b1"},{"path":"x"}]}', 'operation 2 needs a "method"'],
        ['{"operations":[{"method":"DELETE"}]}', 'operation 1 needs a "path"'],
        ['{"operations":[{"method":"DELETE","path":"keys/b1","color":1}]}', '"color"'], ['{"operations":[{"method":"DELETE","path":"%zz"}]}', 'needs a "path"'],
        ['{"operations":[{"method":"DELETE","path":"keys/b1","path":"keys/b2"}]}', 'given twice'], ['{"operations":[}', 'not valid JSON'],
        ['{"operations":[' . join(',', ('{"method":"DELETE","path":"keys/nobody"}') x 1001) . ']}', '1 to 1000'],
        ['{"operations":[{"method":"POST","path":"keys","body":{"name":"' . 'x' x 16384 . '"}}]}', 'body of more than 16384 bytes'],
    ) {
        my ($body, $why) = @$case;
        like $walk->('changeKeys', 400, 'POST', 'keys:batch', $body)->json->{message}, qr/\Q$why/, '… refused, and told why';
    }
    is $ask->('GET', 'keys/b1')->status, 200, 'nothing of a malformed batch is executed';
    $walk->('changeKeys', 413, 'POST', 'keys:batch', ' ' x 1048577);
    $walk->('changeKeys', 415, 'POST', 'keys:batch', $batch->(['DELETE', 'keys/b1']), %text);
    is_deeply [map { $_->{status} } @{ $ask->('POST', 'keys:batch', $batch->(map { ['POST', 'keys', { plan => 'free', id => "many$_" }] } 1 .. 50))->json->{results} }], [(201) x 50], 'many keys';
    is_deeply [map { $_->{status} } @{ $ask->('POST', 'keys:batch', $batch->(map { ['DELETE', "keys/many$_"] } 1 .. 50))->json->{results} }], [(204) x 50], '… are revoked';
    is_deeply [map { $_->{request} } @{ $ask->('GET', 'audit?id=b1&limit=1')->json->{entries} }], ['4bf92f3577b34da6a3ce929d0e0e4736'], 'the audit has the trace-id of the request';
    $ask->('DELETE', 'keys/b1');

    # --- parameters of the query that a resource does not have
    my $plain = $ask->('POST', 'keys', { plan => 'free' })->json->{id};
    $walk->(@$_) for ['showKey', 400, 'GET', "keys/$plain?x=1"], ['showUsage', 400, 'GET', "keys/$plain/usage?x=1"], ['resetUsage', 400, 'DELETE', "keys/$plain/usage?x=1"], ['showBan', 400, 'GET', "keys/$plain/ban?x=1"],
        ['liftBan', 400, 'DELETE', "keys/$plain/ban?x=1"], ['revokeKey', 400, 'DELETE', "keys/$plain?dry_run=true"], ['showDocument', 400, 'GET', 'openapi.json?x=1'],
        ['showCaller', 400, 'GET', 'me?x=1'], ['listPlans', 400, 'GET', 'plans?x=1'];
    is $ask->('GET', "keys/$plain")->status, 200, 'the key is not revoked';
    $ask->('DELETE', "keys/$plain");
    $walk->('showDocument', 200, 'GET', 'openapi.json');

    # --- other requests
    for my $path ('', 'key', 'keys/', 'keys/acme/', 'keys/acme/rotate/x', 'keys/acme/other', 'audit/x') {
        is $ask->('GET', $path)->status, $path eq 'keys/' ? 400 : 404, "no resource: $path" unless $path =~ m{^keys/(acme)?/?$};
    }
    my $put = $ask->('PUT', 'keys/old', {});
    is $put->status, 405, 'a method that a resource does not have';
    is $put->header('allow'), 'GET, PATCH, DELETE', '… with those that it has';
    is $ask->('HEAD', 'keys/old')->body, '', 'HEAD';

    # --- callers
    my %of_operation = map {
        my $path = $_;
        map { $document->{paths}{$path}{$_}{operationId} => [uc $_, $path =~ s{^/}{}r =~ s/\{id\}/old/r] } grep { $_ ne 'parameters' } keys %{ $document->{paths}{$path} };
    } keys %{ $document->{paths} };
    $ask->('GET', 'keys', undef, token => 'spent');
    for my $operation (sort keys %of_operation) {
        my @request = @{ $of_operation{$operation} };
        my $body = $request[0] =~ /POST|PATCH/ ? '{}' : undef;
        $walk->($operation, 401, @request, $body, token => 'unknown');
        like $walk->($operation, 403, @request, $body, token => 'reader')->header('www-authenticate'), qr/error="insufficient_scope".*scope="admin"/, '… with the scope';
        $walk->($operation, 429, @request, $body, token => 'spent');
        my $valid = $operation =~ /^c/ ? '{"plan":"free"}' : $body;
        $walk->($operation, 412, @request, $valid, 'If-Match' => '"x"');
        $walk->($operation, 304, @request, undef, 'If-None-Match' => '*') if $request[0] eq 'GET';
    }
    my @everything = map { values %$_ } values %{ $document->{paths} };
    my @documented = map { my $operation = $_; map { "$operation->{operationId} $_" } keys %{ $operation->{responses} } } grep { ref eq 'HASH' } @everything;

    # --- Redis is lost. The caller's key is known.
    $_->kill for $redis->can('nodes') ? $redis->nodes : $redis;
    for my $operation (sort keys %of_operation) {
        my @request = @{ $of_operation{$operation} };
        next if $operation eq 'showDocument';
        my $body = { createKey => '{"plan":"free"}', changeKey => '{"plan":"free"}', changeGroup => '{"plan":"free"}', (map { $_ => '{"units":5,"reference":"order-1"}' } qw(creditKey creditGroup)), changeKeys => '{"operations":[{"method":"DELETE","path":"keys/old"}]}' }->{$operation};
        $walk->($operation, 503, @request, $body);
    }
    $seen{'showDocument 503'} = 1;    # from a gateway that does not know the caller's key
    is_deeply [sort keys %seen], [sort @documented], 'each documented response was seen';
    $gateway->nginx->stop;
}

subtest 'Spectral reports nothing about the document' => sub {
    my ($problems, $why_not) = lint_openapi($document_file);
    plan skip_all => $why_not if !defined $problems;
    is $problems, '';
};

done_testing;
