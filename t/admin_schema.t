# About 2,000 varied requests to tollgate_admin: ajv, the reference validator of JSON Schema, accepts every response by the
# schema that the OpenAPI document has for its operation and status, and the body of every request that succeeds.
#
# TOLLGATE_SEED: of the requests (1). TOLLGATE_AJV: a folder in which npm has installed ajv and ajv-formats.

use strict;
use warnings;
use lib 't/lib';
use File::Temp ();
use Gateway;
use JSON::PP ();
use Test::More;

plan skip_all => 'no npm here' if system 'npm --version >/dev/null 2>&1';
my $dir = File::Temp->newdir('schema-XXXXXX', TMPDIR => 1);
my $library = $ENV{TOLLGATE_AJV} // $dir;
if (!-d "$library/node_modules/ajv") {
    my $log = `npm install --prefix '$library' --no-audit --no-fund --ignore-scripts ajv\@8.17.1 ajv-formats\@3.0.1 2>&1`;
    plan skip_all => "ajv can't be installed: $log" if $?;
}

my $seed = $ENV{TOLLGATE_SEED} // 1;
srand $seed;
my $requests = 2000;

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/m; plan own custom; anonymous 100000r/m; history 90d; ban after=1 within=1m for=10m; notify 80%;',
    http   => 'tollgate_plans ops redis=main { plan ops 100000r/m; plan spent 1r/d; }',
    server => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
);
$gateway->import_key('operator', id => 'portal', plan => 'ops',   scopes => 'a admin b pets:read');
$gateway->import_key('reader',   id => 'reader', plan => 'ops',   scopes => 'pets:read');
$gateway->import_key('spent',    id => 'spent',  plan => 'spent', scopes => 'admin');
$gateway->redis->cmd('ZADD', 't:ids', 1, 'portal', 2, 'reader', 3, 'spent');
my $json = JSON::PP->new->utf8->canonical;
my $document = $gateway->request('GET', '/admin/openapi.json', { Authorization => 'Bearer operator' })->json;

sub one { return $_[rand @_] }
sub chance { return rand() < $_[0] }

sub resolve {
    my ($node) = @_;
    while (ref $node eq 'HASH' && $node->{'$ref'}) {
        my $found = $document;
        $found = $found->{$_} for map { s{~1}{/}gr =~ s/~0/~/gr } split m{/}, $node->{'$ref'} =~ s{^#/}{}r;
        $node = $found;
    }
    return $node;
}

my @junk = ('', ' ', 0, -1, 1e30, 'null', "a\tb", 'x' x 600, '%', '..', "\x{fc}\x{1f600}", '2026-13-01', 'free', 'own', '*a*', 'key:portal');
my @values = (@junk, undef, JSON::PP::true, JSON::PP::false, [], {}, ['a', 'a'], { a => 'b' }, { a => { b => 1 } }, [1], 3.5);
my %good = (
    plan    => ['free', 'own', 'ops'], limits => ['5r/m', '10r/s burst=20 in_flight=5', 'unlimited in_flight=5', ''], name => ['A shop', '', "M\x{fc}ller"],
    expires => ['2099-01-01T00:00:00Z', '30d', undef], scopes => [[], ['pets:read'], ['b', 'a']], state => ['active', 'disabled'],
    meta    => [{}, { team => 'x' }], billing_day => [1, 15, 31, undef], group => ['acme', ''], from => [[], ['10.0.0.0/8']], prefix => ['acme_live', ''], overlap => ['0s', '24h'], digest => [],
    created_from => ['2020-01-01T00:00:00Z'], after => [''], limit => [1, 2, 500], order => ['asc', 'desc'], dry_run => ['true'],
);
my @ids = ((map { "k$_" } 1 .. 20), 'unknown');

# A value for the member or parameter of this name: usually one that is accepted.
sub value_for {
    my ($name, $schema) = @_;
    return one(@values) if chance(0.04);
    return one(@ids) if $name eq 'id';
    return join '', map { one(0 .. 9, 'a' .. 'f') } 1 .. 64 if $name eq 'digest';
    return one(@{ $good{$name} }) if @{ $good{$name} // [] };
    my $resolved = resolve($schema // {});
    return one(@{ $resolved->{enum} }) if $resolved->{enum};
    return $resolved->{minimum} // int rand 9 if ($resolved->{type} // '') eq 'integer';
    return one(@junk);
}

# The members of an object of this schema.
sub members_for {
    my ($schema) = @_;
    my $resolved = resolve($schema);
    $resolved = resolve(one(@{ $resolved->{oneOf} // $resolved->{anyOf} })) if $resolved->{oneOf} || $resolved->{anyOf};
    my %member;
    my %required = map { $_ => 1 } @{ $resolved->{required} // [] };
    for my $name (sort keys %{ $resolved->{properties} // {} }) {
        next unless chance($required{$name} ? 0.96 : 0.3);
        my $property = resolve($resolved->{properties}{$name});
        my $is_list = ($property->{type} // '') eq 'array' && resolve($property->{items} // {})->{properties};
        $member{$name} = $is_list ? [map { members_for($property->{items}) } 1 .. rand 4] : value_for($name, $property);
    }
    $member{ one('unknown', 'Plan') } = 1 if chance(0.03);
    return \%member;
}

sub body_for {
    my ($schema) = @_;
    return one('', '{', '[]', 'null', '{"plan":"free","plan":"own"}', '{"plan":' . ('[' x 2000), "{\"name\":\"\xff\"}") if chance(0.06);
    return $json->encode(members_for($schema));
}

sub escaped { return join '', map { /[\w.~-]/a ? $_ : sprintf '%%%02X', ord } split //, do { my $text = $_[0]; utf8::encode($text); $text } }

my @operations;
for my $path (sort keys %{ $document->{paths} }) {
    my $item = $document->{paths}{$path};
    push @operations, map { { path => $path, method => uc $_, parameters => [map { resolve($_) } @{ $item->{parameters} // [] }, @{ $item->{$_}{parameters} // [] }],
        pointer => "/paths/" . $path =~ s{/}{~1}gr . "/$_", body => $item->{$_}{requestBody} } } grep { ref $item->{$_} eq 'HASH' } sort keys %$item;
}

my @seen;
my ($etag, $token) = ('"x"', 'operator');
for my $n (1 .. $requests) {
    # Most ids are to exist.
    my $operation = $n <= 60 ? (grep { $_->{method} eq 'POST' && $_->{path} =~ m{/keys$} } @operations)[0] : one(@operations);
    redo if $operation->{method} eq 'DELETE' && $operation->{path} !~ m{/(?:ban|usage)$} && chance(0.8);
    my $path = $operation->{path};
    my (@query, %fields);
    for my $parameter (@{ $operation->{parameters} }) {
        my $name = $parameter->{name};
        my $value = value_for($name, $parameter->{schema});
        $value = '' unless defined $value && !ref $value;
        if ($parameter->{in} eq 'path') {
            $path =~ s/\{\Q$name\E\}/escaped($value)/e;
        } elsif ($parameter->{in} eq 'query') {
            push @query, escaped($name) . '=' . escaped($value) if $parameter->{required} || chance(0.25);
        } elsif ($name =~ /^If-/) {
            $fields{$name} = one('*', $etag, '"other"', $etag, 'bad') if chance(0.2);
        } elsif (chance(0.3)) {
            $fields{$name} = one('"' . int(rand 50) . '"', 'a' x 300, int rand 50);
        }
    }
    push @query, 'unknown=1' if chance(0.02);
    my $body;
    if ($operation->{body}) {
        my $content = resolve($operation->{body})->{content};
        my ($type) = sort keys %$content;
        $body = chance(0.02) ? undef : body_for($content->{$type}{schema});
        $fields{'Content-Type'} = chance(0.02) ? 'text/plain' : $type if defined $body;
    }
    $fields{Authorization} = 'Bearer ' . (chance(0.97) ? 'operator' : one('reader', 'spent', 'unknown'));
    my $response = $gateway->request($operation->{method}, "/admin$path" . (@query ? '?' . join '&', @query : ''), \%fields, $body);
    $etag = scalar $response->header('etag') // $etag;
    my %sent = defined $body ? (sent => $body) : ();
    push @seen, { %sent, pointer => $operation->{pointer}, status => $response->status, type => scalar $response->header('content-type'), body => $response->body,
        request => "$operation->{method} $path " . join('&', @query) . ' ' . ($body // '') };
}

open my $file, '>', "$dir/responses.json" or die $!;
print $file JSON::PP->new->latin1->encode({ document => $document, responses => \@seen });
close $file or die $!;
open my $script, '>', "$dir/validate.cjs" or die $!;
print $script <<'END';
const [, , library, file] = process.argv;
const Ajv = require(`${library}/node_modules/ajv/dist/2020`).default;
const addFormats = require(`${library}/node_modules/ajv-formats`).default;
const {document, responses} = JSON.parse(require('fs').readFileSync(file, 'latin1'));
const ajv = addFormats(new Ajv({strict: false, allErrors: true}));
ajv.addFormat('int64', true);
ajv.addSchema(document, 'document');
const at = pointer => pointer.split('/').slice(1).reduce((node, name) => node?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
const counts = {}, problems = [];
let validated = 0;
let accepted = 0;
const validator = (where, media) => ajv.getSchema(`document#${where}/content/${media.replaceAll('/', '~1')}/schema`);
const parsed = text => JSON.parse(Buffer.from(text, 'latin1').toString('utf8'));
for (const {pointer, status, type, body, sent, request} of responses) {
    counts[`${at(pointer).operationId} ${status}`] = (counts[`${at(pointer).operationId} ${status}`] ?? 0) + 1;
    const problem = text => problems.push(`${request.slice(0, 200)}: ${status}: ${text}`);
    let where = `${pointer}/responses/${status}`;
    // Operations of a batch have statuses of their own.
    if (sent && status < 300 && at(pointer).operationId !== 'changeKeys') {
        const validate = validator(`${pointer}/requestBody`, Object.keys(at(pointer).requestBody.content)[0]);
        if (!validate(parsed(sent))) problem('the body of the request: ' + ajv.errorsText(validate.errors));
        accepted++;
    }
    if (!at(where)) { problem('not documented'); continue }
    if (at(where).$ref) where = at(where).$ref.slice(1);
    const content = at(where).content;
    if (!content) { if (body !== '') problem('a body'); continue }
    const media = Object.keys(content)[0];
    if ((type ?? '').split(';')[0] !== media) { problem(`the type ${type}`); continue }
    const validate = validator(where, media);
    let value;
    try { value = parsed(body) } catch (error) { problem(`${error}`); continue }
    if (!validate(value)) problem(ajv.errorsText(validate.errors) + ' ' + body.slice(0, 300));
    validated++;
}
console.log(JSON.stringify({counts, problems: problems.slice(0, 20), total: problems.length, validated, accepted}));
END
close $script or die $!;
my $output = `node '$dir/validate.cjs' '$library' '$dir/responses.json' 2>&1`;
my $result = eval { JSON::PP->new->decode($output) } or BAIL_OUT($output);
is($result->{total}, 0, 'every response and every accepted body is as documented') or diag join "\n", "TOLLGATE_SEED=$seed", @{ $result->{problems} };
my %statuses;
$statuses{ (split / /)[1] } += $result->{counts}{$_} for keys %{ $result->{counts} };
note "$_: $result->{counts}{$_}" for sort keys %{ $result->{counts} };
note "$result->{validated} bodies of responses and $result->{accepted} of requests were validated";
cmp_ok(scalar(keys %{ $result->{counts} }), '>=', 60, 'many operations and statuses');
cmp_ok($statuses{200} // 0, '>=', $requests / 5, 'many requests succeed') or diag explain \%statuses;
cmp_ok($result->{validated}, '>=', 0.9 * $requests, 'most responses have bodies');
cmp_ok($result->{accepted}, '>=', $requests / 50, 'many bodies are accepted');
is(scalar(grep { /^5/ } keys %statuses), 0, 'no server error');
like($gateway->nginx->error_log, qr/^(?!.*\[(?:alert|crit|emerg)\])/s, 'no alert');

done_testing;
