# Requests of tollgate_admin as clients may write them: paths that are encoded in some way, media types, and bodies, of
# which the OpenAPI document and the API refuse the same ones.

use strict;
use warnings;
use lib 't/lib';
use Gateway;
use JSON::PP ();
use JsonSchema;
use Test::More;

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/m; plan own custom;',
    http   => 'tollgate_plans ops redis=main { plan ops 100000r/m; }',
    server => <<'END',
        location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
        location /v1/api/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }
        location /moved/ { rewrite ^/moved/(.*)$ /admin/$1 last; }
END
);
$gateway->import_key('operator', id => 'portal', plan => 'ops', scopes => 'a admin b');
my $json = JSON::PP->new->canonical->allow_nonref;

sub ask {
    my ($method, $path, $body, %fields) = @_;
    return $gateway->request($method, $path, { Authorization => 'Bearer operator', %fields }, $body);
}
sub issue { my ($id) = @_; return ask('POST', '/admin/keys', $json->encode({ id => $id, plan => 'free' })) }

is issue($_)->status, 201, "a key $_" for 'me', 'victim', 'cust';

subtest 'a path is split, then decoded once' => sub {
    for my $path ('me%2F..%2Fvictim', 'me%2f..%2fvictim', 'cust%2Fusage', '%252e', '', '%2E%2E', 'a%20b') {
        my $response = ask('DELETE', "/admin/keys/$path");
        is $response->status, 400, "no id: $path";
        is $response->json->{code}, 'invalid_request', '… and the message says so';
    }
    for my $path ('/admin/keys/me/../victim', '/admin/keys/me/%2e%2e/victim', '/admin//keys/victim', '/admin/./keys/victim',
        '/x/../admin/keys/victim', '/admin/keys/victim/', '/admin/keys%2Fvictim', '/moved/keys%2Fvictim', '/moved/keys/me%2F..%2Fvictim') {
        is ask('DELETE', $path)->status, 404, "no resource: $path";
    }
    is ask('GET', "/admin/keys/$_")->status, 200, "$_ is still there" for 'me', 'victim', 'cust';
    is ask('GET', $_)->json->{id}, 'cust', "the same resource: $_"
        for '/admin/keys/%63ust', '/%61dmin/keys/cust', '/admin/%6beys/cust/usage', '/v1/api/keys/cust', '/moved/keys/cust', '/moved/keys/%63ust', '/admin/keys/cust?';
    is ask('GET', "http://a/admin/keys/cust")->json->{id}, 'cust', 'a URI in absolute form';
};

subtest 'a repeated request may be encoded in another way' => sub {
    my @request = ('{"overlap":"1h"}', 'Idempotency-Key' => 'rotation');
    my $first = ask('POST', '/admin/keys/cust/rotate', @request);
    is $first->status, 200, 'a rotation';
    is ask('POST', '/admin/keys/%63ust/rotate', @request)->status, 200, '… again';
};

subtest 'media types' => sub {
    my $body = '{"name":"x"}';
    for my $type ('application/json', 'Application/JSON ; charset=utf-8', 'application/merge-patch+json', undef) {
        is ask('PATCH', '/admin/keys/me', $body, 'Content-Type' => $type)->status, 200, 'accepted: ' . ($type // 'none');
    }
    for my $type ('text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '', 'application/json, text/plain') {
        my $response = ask('PATCH', '/admin/keys/me', '{"name":"y"}', 'Content-Type' => $type);
        is $response->status, 415, "refused: $type";
        is $response->json->{code}, 'unsupported_media_type', '… with its code';
    }
    is ask('PATCH', '/admin/keys/me', '{"name":"y"}', 'Content-Encoding' => 'gzip')->status, 415, 'a compressed body';
    is ask('PATCH', '/admin/keys/me', $body, 'Content-Encoding' => 'Identity')->status, 200, 'one that is not';
    is ask('GET', '/admin/keys/me', undef, 'Content-Type' => 'text/plain')->json->{name}, 'x', 'nothing was changed';
};

subtest 'the document has the location' => sub {
    for my $location ('/admin', '/v1/api') {
        is ask('GET', "$location/openapi.json")->json->{servers}[0]{url}, $location, $location;
    }
};

# What the document says is what the API does.
subtest 'bodies' => sub {
    my $document = ask('GET', '/admin/openapi.json')->json;
    my $schema = JsonSchema->new($document);
    my $euro = "\xe2\x82\xac";
    my @scalars = ('null', 'true', '0', '-1', '1.5', '9007199254740993', '""', '"x"', '"x y"', "\"$euro\"", '"\u0000"', '"\u0007"', '[]', '["a"]', '["a b"]', '[1]', '["\""]', '{}', '{"a":1}');
    my %more = (
        plan    => ['"free"', '"a/b"', '"' . 'p' x 64 . '"', '"' . 'p' x 65 . '"'],
        name    => ['"' . 'n' x 256 . '"', '"' . 'n' x 257 . '"', '"\u2028"', '"\u0085"'],
        limits  => ['"5r/m"', '"5r/m 10r/h"', '"5r/15m"', '"0r/m"', '"1r/s 2r/m 3r/h 4r/d 5r/w"', '"1r/s burst=5 2r/m 3r/h 4r/d in_flight=6"', '"in_flight=5 10r/s burst=20"', '"burst=5 1r/s"', '"in_flight=5"', '"5 r/m"', '"r/m"'],
        expires => ['"2040-01-01T00:00:00Z"', '"2040-01-01T00:00:00.5+01:00"', '"soon"'],
        state   => ['"active"', '"disabled"', '"expired"'],
        scopes  => ['["a","b"]', '[""]', '["' . 's' x 257 . '"]'],
        meta    => ['{"a":null}', '{"A":1}', '{"a":{}}', '{"a":[]}', '{"a":"\u0001"}', '{"a":0.5}', '{"' . 'n' x 33 . '":1}', '{' . join(',', map { "\"m$_\":null" } 1 .. 33) . '}'],
        colour  => ['"red"'],
    );
    my $compared = 0;
    for my $member (sort keys %more) {
        for my $value (@scalars, @{ $more{$member} }) {
            next if $member eq 'plan' && $value =~ /^"(x|p+)"$/;    # a plan that no table has
            # Limits need a plan that is custom, which needs limits.
            my $plan = $member eq 'limits' && $value !~ /^(?:null|"")$/ ? 'own' : 'free';
            my $body = $member eq 'plan' || $member eq 'colour' ? "{\"$member\":$value}" : "{\"plan\":\"$plan\",\"$member\":$value}";
            my $is_valid = !$schema->validate($body, { '$ref' => '#/components/schemas/KeyChanges' });
            # The document describes these rules in words.
            $is_valid = 0 if $value =~ /9007199254740993/ && $member eq 'meta' || $member eq 'scopes' && $value =~ /s{257}/;
            is ask('PATCH', '/admin/keys/victim', $body)->status, $is_valid ? 200 : 400, "$body is " . ($is_valid ? 'valid' : 'not valid');
            ++$compared;
        }
    }
    cmp_ok $compared, '>', 150, 'many bodies';
    is ask('PATCH', '/admin/keys/victim', "{\"meta\":{\"n\":$_}}")->status, 400, "not rounded: $_"
        for '9007199254740993', '9223372036854775808', '18446744073709551616', '-9223372036854775809', '1' . '0' x 30;
    is ask('PATCH', '/admin/keys/victim', "{\"name\":\"x\"}\0$_")->status, 400, 'nothing follows a zero byte' for 'x', '{"name":"y"}';
    is ask('PATCH', '/admin/keys/victim', '{"meta":{"n":1e30}}')->status, 200, 'a number that is written as a float';
    ask('PATCH', '/admin/keys/victim', '{"expires":"2040-01-01T00:00:00Z"}');
    is ask('PATCH', '/admin/keys/victim', '{"expires":""}')->status, 400, 'an empty text is no time';
    is ask('GET', '/admin/keys/victim')->json->{expires}, '2040-01-01T00:00:00Z', '… and removes none';
};

subtest 'the audit is not ambiguous' => sub {
    ask('PATCH', '/admin/keys/me', '{"name":"x scopes=admin"}');
    my $entries = ask('GET', '/admin/audit?id=me&limit=100')->json->{entries};
    is $entries->[-1]{detail}, 'name="x scopes=admin"', 'a name with a space is quoted';
};

$gateway->nginx->stop;
done_testing;
