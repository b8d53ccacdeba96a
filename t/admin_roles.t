# tollgate_admin with read= and write=: a program that only reads has another scope than one that changes keys.

use strict;
use warnings;
use lib 't/lib';
use Gateway;
use JSON::PP qw(encode_json);
use Test::More;

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/m;',
    server => <<'END',
        location /admin/ { tollgate api; tollgate_admin main read=keys:read write=keys:write; }
        location /both/  { tollgate api; tollgate_scope staff; tollgate_admin main write=keys:write; }
        location /tool/  { tollgate api; tollgate_scope keys:read; tollgate_admin main; limit_except GET { deny all; } }
END
);
my %scopes = (tool => 'keys:read', portal => 'keys:read keys:write', writer => 'keys:write', staff => 'staff', boss => 'keys:write staff', customer => '');
for my $id (sort keys %scopes) {
    $gateway->import_key("$id-token", id => $id, plan => 'free', scopes => $scopes{$id});
    $gateway->redis->cmd('ZADD', 't:ids', 1, $id);
}

sub status {
    my ($who, $method, $path, $body) = @_;
    return $gateway->request($method, $path, { Authorization => "Bearer $who-token" }, $body && encode_json($body));
}
my @reads = (['GET', 'keys'], ['HEAD', 'keys/tool'], ['GET', 'bans'], ['GET', 'openapi.json'], ['POST', 'keys/lookup', { token => 'tool-token' }]);
my @changes = (
    ['PATCH', 'keys/customer', { plan => 'free' }], ['DELETE', 'keys/customer/ban'], ['DELETE', 'keys/customer/usage'],
    ['POST', 'keys:batch', { operations => [{ method => 'DELETE', path => 'keys/customer/ban' }] }],
);
sub statuses {
    my ($who, $location, @requests) = @_;
    return join ' ', map { status($who, $_->[0], $location . $_->[1], $_->[2])->status } @requests;
}
is statuses('tool', '/admin/', @reads), '200 200 200 200 200', 'a key with the scope of read= reads';
is statuses('tool', '/admin/', @changes), '403 403 403 403', '… and changes nothing';
is statuses('writer', '/admin/', @reads), '403 403 403 403 403', 'a key with the scope of write= does not read';
is statuses('writer', '/admin/', @changes), '200 204 204 200', '… and changes';
is statuses('portal', '/admin/', @reads, @changes), '200 200 200 200 200 200 204 204 200', 'a key with both does both';
is statuses('customer', '/admin/', @reads, @changes), join(' ', (403) x 9), 'a key with none does neither';
is $gateway->get('/admin/keys')->status, 401, 'a request needs a key';
my $refused = status('tool', 'DELETE', '/admin/keys/customer');
is $refused->json->{code}, 'insufficient_scope', 'the reason';
like $refused->header('WWW-Authenticate'), qr/scope="keys:write"/, '… and the scope that is missing';
is status('customer', 'GET', '/admin/keys')->header('WWW-Authenticate') =~ /scope="([^"]*)"/ && $1, 'keys:read', '… for a request that reads';
is statuses('tool', '/admin/', ['GET', 'nothing'], ['POST', 'nothing'], ['POST', 'keys/lookup/']), '404 403 403', 'what does not exist is not changed, either';

is statuses('staff', '/both/', @reads[0, 1], @changes[0, 1]), '200 200 403 403', 'tollgate_scope is required in addition';
is statuses('writer', '/both/', $reads[0], $changes[0]), '403 403', '… of each request';
is statuses('boss', '/both/', $reads[0], $changes[0]), '200 200', '… together with that of write=';
like status('writer', 'PATCH', '/both/keys/tool', { plan => 'free' })->header('WWW-Authenticate'), qr/scope="keys:write staff"/, 'both are named';

# A key with the scope of write= is no root: it gives what it has, and does not change what limits itself.
sub outcome {
    my $response = status(@_);
    return join ' ', $response->status, $response->status == 403 ? $response->json->{code} : ();
}
my $forbidden = '403 not_permitted';
is outcome('writer', 'POST', '/admin/keys', { plan => 'free', id => 'n1', scopes => ['keys:read'] }), $forbidden, 'a key does not issue scopes that it lacks';
is outcome('writer', 'POST', '/admin/keys', { plan => 'free', id => 'n1', scopes => ['keys:write'], digest => 'a' x 64 }), 201, '… but those that it has';
is outcome('writer', 'POST', '/admin/keys', { plan => 'free', id => 'n2', scopes => ['keys:read'], digest => 'b' x 64 }), $forbidden, '… nor does it import them';
is outcome('writer', 'PATCH', '/admin/keys/customer', { scopes => ['keys:write', 'staff'] }), $forbidden, '… or set them';
is outcome('writer', 'PATCH', '/admin/keys/customer', { scopes => ['keys:write'] }), 200, 'a scope that it has';
is outcome('writer', 'PATCH', '/admin/keys/customer', { scopes => [] }), 200, '… and none';
is outcome('writer', 'POST', '/admin/keys/boss/rotate', { overlap => '1h' }), $forbidden, 'a new key of an id with other scopes is not shown';
is $gateway->redis->cmd('SCARD', 't:id:{boss}'), 1, '… and not made';
is outcome('writer', 'POST', '/admin/keys/n1/rotate', { overlap => '0' }), 200, '… of one with scopes that it has, it is';
for my $change ([scopes => ['keys:write']], [plan => 'free'], [limits => '1r/m'], [group => 'g'], [from => []], [expires => undef]) {
    is outcome('writer', 'PATCH', '/admin/keys/writer', { @$change }), $forbidden, "a key does not change its own $change->[0]";
}
is outcome('writer', 'PATCH', '/admin/keys/writer', { name => 'Writer', meta => { a => 1 } }), 200, '… but its name';
my $batch = status('writer', 'POST', '/admin/keys:batch', { operations => [
    { method => 'PATCH', path => 'keys/writer', body => { plan => 'free' } }, { method => 'PATCH', path => 'keys/tool', body => { scopes => ['staff'] } },
    { method => 'POST', path => 'keys/boss/rotate' }, { method => 'PATCH', path => 'keys/tool', body => { name => 'Tool' } },
] });
is join(' ', map { $_->{status} } @{ $batch->json->{results} }), '403 403 403 200', 'the same in a batch';

is statuses('tool', '/tool/', @reads), '200 200 200 200 403', 'limit_except permits what it names';
is statuses('portal', '/tool/', @changes), '403 403 403 403', '… and nothing else, whatever the key is';

$gateway->nginx->stop;
done_testing;
