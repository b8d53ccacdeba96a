# conf/openapi.json is a valid OpenAPI document and describes the service correctly. The test requests every documented
# status of every operation and checks header fields and body against the document.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Gateway;
use Http qw(http_get http_request);
use JSON::PP ();
use JsonSchema;
use Spectral qw(lint_openapi);
use Sqlite;
use Test::More;

my $conf = "$FindBin::Bin/../conf";

# A server of the gateway for each state of the database: sound, unavailable, full.
my $servers = join '', map { <<"END" } qw(sound unavailable full);
    server { listen unix:%DIR%/$_.sock; location /v1/ { tollgate api; proxy_pass http://unix:%DIR%/$_-pets.sock; } }
END
my $gateway = Gateway->start(
    plans => 'plan free 1000r/m; plan small 1r/d; anonymous 1000r/m;',
    http  => <<"END",
    $servers
    server {
        listen unix:%DIR%/sound-pets.sock;
        location /v1/ { petstore %DIR%/pets.db; client_max_body_size 1000; }
        location = /openapi.json { alias $conf/openapi.json; types { application/json json; } }
    }
    server { listen unix:%DIR%/unavailable-pets.sock; location /v1/ { petstore %DIR%/nowhere/pets.db; } }
    server { listen unix:%DIR%/full-pets.sock; location /v1/ { petstore %DIR%/full.db; } }
END
);
$gateway->import_key('good',    id => 'g', plan => 'free');
$gateway->import_key('spent',   id => 's', plan => 'small');
$gateway->import_key('foreign', id => 'f', plan => 'unheard-of');
my $dir = $gateway->nginx->dir;
my ($sound, $unavailable, $full) = map { "unix:$dir/$_.sock" } qw(sound unavailable full);

my $served = http_get("unix:$dir/sound-pets.sock", '/openapi.json');
is($served->status, 200, 'it is served outside /v1');
is($served->header('content-type'), 'application/json');
my $document = $served->json;
my $schema = JsonSchema->new($document);
is($document->{openapi}, '3.1.0');
is_deeply($document->{security}, [{ apiKey => [] }], 'every operation needs a key');

my %key = (Authorization => 'Bearer good');
my %json = (%key, 'Content-Type' => 'application/json');
my $pet = '{"name":"Rex","categoryId":9223372036854775807,"status":"sold"}';
http_request($_, 'POST', '/v1/pets', \%json, $pet) for $sound, $sound, $full;
Sqlite->open("$dir/full.db")->run('UPDATE sqlite_sequence SET seq = 9223372036854775807');    # no id is left
Sqlite->open("$dir/pets.db")->run(q(INSERT INTO store_orders (document) VALUES ('{"any":"thing"}')));
http_get($sound, '/v1/pets', Authorization => 'Bearer spent');

my %walk = (
    'listPets 200'   => [$sound,       'GET',  '/v1/pets?limit=1&status=sold', \%key],
    'listPets 400'   => [$sound,       'GET',  '/v1/pets?limit=0', \%key],
    'listPets 503'   => [$unavailable, 'GET',  '/v1/pets', \%key],
    'createPet 201'  => [$sound,       'POST', '/v1/pets', \%json, $pet],
    'createPet 400'  => [$sound,       'POST', '/v1/pets', \%json, '{}'],
    'createPet 413'  => [$sound,       'POST', '/v1/pets', \%json, ' ' x 1001],
    'createPet 415'  => [$sound,       'POST', '/v1/pets', \%key, $pet],
    'createPet 503'  => [$unavailable, 'POST', '/v1/pets', \%json, $pet],
    'createPet 507'  => [$full,        'POST', '/v1/pets', \%json, $pet],
    'getPet 200'     => [$sound,       'GET',  '/v1/pets/1', \%key],
    'getPet 404'     => [$sound,       'GET',  '/v1/pets/99', \%key],
    'getPet 503'     => [$unavailable, 'GET',  '/v1/pets/1', \%key],
    'listOrders 200' => [$sound,       'GET',  '/v1/store/orders', \%key],
    'listOrders 503' => [$unavailable, 'GET',  '/v1/store/orders', \%key],
);
my %of_unknown_key;
for my $success ('listPets 200', 'createPet 201', 'getPet 200', 'listOrders 200') {
    my ($operation) = split / /, $success;
    my ($server, $method, $path, $headers, $body) = @{ $walk{$success} };
    my $with = sub { [$server, $method, $path, { %$headers, Authorization => $_[0] }, $body] };
    $walk{"$operation 401"} = $with->(undef);
    $walk{"$operation 403"} = $with->('Bearer foreign');
    $walk{"$operation 429"} = $with->('Bearer spent');
    $of_unknown_key{$operation} = $with->('Bearer unknown');
}

my %documented_503;
for my $path (sort keys %{ $document->{paths} }) {
    my $item = $document->{paths}{$path};
    for my $method (grep { $_ ne 'parameters' } sort keys %$item) {
        my $operation = $item->{$method};
        for my $status (sort keys %{ $operation->{responses} }) {
            my $documented = $schema->resolve($operation->{responses}{$status});
            check_examples($documented, "$operation->{operationId} $status");
            $documented_503{ $operation->{operationId} } = $documented if $status == 503;
            my $request = delete $walk{"$operation->{operationId} $status"};
            subtest "$operation->{operationId} $status" => sub {
                ok($request, 'is asked for') or return;
                is($request->[1], uc $method);
                (my $pattern = $document->{servers}[0]{url} . $path) =~ s/\{\w+\}/[^\/]+/g;
                like($request->[2], qr/^$pattern(?:\?|$)/, $request->[2]);
                check_response(http_request(@$request), $status, $documented);
            };
        }
    }
}
is_deeply([sort keys %walk], [], 'no response is undocumented');
ok($document->{paths}{'/pets/{petId}'}{get}{deprecated}, 'getPet is deprecated');
subtest 'getPet 404 for invalid ids' => sub {
    check_response(http_get($sound, '/v1/pets/abc', %key), 404, $schema->resolve($document->{paths}{'/pets/{petId}'}{get}{responses}{404}));
};

# The 503s above are from the backend; these are from the gateway.
$gateway->redis->kill;
is_deeply([sort keys %of_unknown_key], [sort keys %documented_503], 'each operation documents 503');
for my $operation (sort keys %documented_503) {
    subtest "$operation 503, Redis is unreachable" => sub {
        my $response = http_request(@{ $of_unknown_key{$operation} });
        check_response($response, 503, $documented_503{$operation});
        is($response->json->{code}, 'service_unavailable');
        is($response->header('X-RateLimit-Limit'), 1000, 'the budget of the address');
    };
}

sub check_response {
    my ($response, $status, $documented) = @_;
    is($response->status, $status) or diag $response->body;
    for my $name (sort keys %{ $documented->{headers} }) {
        my $header = $schema->resolve($documented->{headers}{$name});
        my $value = $response->header($name);
        next if !defined $value && !$header->{required};
        $value += 0 if ($header->{schema}{type} // '') eq 'integer' && ($value // '') =~ /^\d+$/;
        is(join(', ', $schema->validate_value($value, $header->{schema})), '', "$name: " . ($value // 'missing'));
    }
    my $type = (keys %{ $documented->{content} })[0];
    is($response->header('content-type'), $type);
    is(join(', ', $schema->validate($response->body, $documented->{content}{$type}{schema})), '', $response->body);
}

sub check_examples {
    my ($documented, $name) = @_;
    for my $content (values %{ $documented->{content} }) {
        is(join(', ', $schema->validate_value($content->{example}, $content->{schema})), '', "the example of $name");
    }
}

subtest 'the validator detects errors' => sub {
    my %wrong = (
        '{"id":1,"name":"a"}'                                    => '$ lacks categoryId',
        '{"name":"a","categoryId":1}'                            => '$ lacks id',
        '{"id":"1","name":"a","categoryId":1}'                   => '$.id is no integer',
        '{"id":1,"name":2,"categoryId":1}'                       => '$.name is no string',
        '{"id":1,"name":"a","categoryId":1.5}'                   => '$.categoryId is no integer',
        '{"id":9223372036854775808,"name":"a","categoryId":1}'   => '$.id is no int64',
        '{"id":1,"name":"a","categoryId":1,"status":"lost"}'     => '$.status is none of available pending sold',
        '[]'                                                     => '$ is no object',
    );
    for my $text (sort keys %wrong) {
        my @errors = $schema->validate($text, { '$ref' => '#/components/schemas/Pet' });
        ok((grep { $_ eq $wrong{$text} } @errors), "$text: @errors");
    }
};

subtest 'Spectral reports nothing' => sub {
    my ($problems, $why_not) = lint_openapi("$conf/openapi.json");
    plan skip_all => $why_not if !defined $problems;
    is($problems, '');
};

$gateway->nginx->stop;
done_testing;
