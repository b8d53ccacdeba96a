# The field with the key is removed from a request. What is keyed by its variable still tells clients apart: caches above
# all, which would give one client's response to another. The variable has a substitute, which is no key.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use FastCgiServer;
use Gateway;
use HeldUpstream;
use IO::Socket::UNIX;
use MIME::Base64 qw(encode_base64);
use TestProcess;

# A location whose responses are cached for each client by the variable of the field.
sub cached {
    my ($name, $text, $key) = @_;
    my $cache = $text =~ /proxy_cache / ? '' : 'proxy_cache all;';
    return "location /$name/ { $text $cache proxy_cache_key \$request_uri@{[$key // '$http_authorization']}; proxy_pass http://unix:%DIR%/upstream.sock; }\n";
}

# The same with the cache of another protocol.
sub cached_by {
    my ($protocol) = @_;
    return "location /$protocol/ { tollgate api; ${protocol}_cache $protocol; ${protocol}_cache_valid 1h; "
        . "${protocol}_cache_key \$request_uri\$http_authorization; ${protocol}_pass unix:%DIR%/$protocol.sock; }\n";
}

my $basic = 'auth_basic site; auth_basic_user_file %DIR%/passwords;';
my $server = join '', (map { cached_by($_) } qw(fastcgi uwsgi scgi)),
    cached('key', 'tollgate api;'),
    cached('header', 'tollgate api; tollgate_key_from header:X-Api-Key bearer;', '$http_x_api_key'),
    cached('mapped', 'tollgate api;', '$client'),
    cached('none', 'tollgate api; proxy_no_cache $http_authorization; proxy_cache_bypass $http_authorization;', ''),
    cached('scheme', 'tollgate api; proxy_no_cache $is_bearer;', ''),
    cached('early', 'tollgate api; proxy_set_header X-Has-Key $is_client; proxy_no_cache $is_client;', ''),
    cached('chosen', 'tollgate api; proxy_cache $cache_of_client;', ''),
    cached('sliced', 'tollgate api; slice 4; proxy_set_header Range $slice_range; proxy_cache_valid 206 1h;', '$http_authorization$slice_range'),
    cached('dry', 'tollgate api; tollgate_dry_run on;'),
    cached('bypass', 'tollgate api; tollgate_bypass $arg_free;'),
    cached('any', 'tollgate api; satisfy any; allow all;'),
    cached('basic', "tollgate api; satisfy any; $basic"),
    cached('user', "tollgate api; satisfy any; $basic", '$remote_user'),
    cached('both', "tollgate api; tollgate_key_from header:X-Api-Key bearer; satisfy any; $basic", '$remote_user'),
    cached('subject', 'tollgate api; tollgate_subject $arg_user;'),
    cached('forward', 'tollgate api; tollgate_forward_authorization on;'),
    cached('asked', 'tollgate api; auth_request /ask; auth_request_set $asked $upstream_cache_status; add_header X-Asked $asked;'),
    cached('varying', 'tollgate api;', ''),
    cached('varying-any', 'tollgate api; tollgate_bypass $arg_free;', ''),
    cached('varying-open', '', ''),
    cached('varying-ignored', 'tollgate api; proxy_ignore_headers Vary;', ''),
    cached('open', '');

my $held = HeldUpstream->new;
my $gateway = Gateway->start(
    plans => 'plan free 100000r/d; default free; anonymous 1000r/h;',
    files => { passwords => join('', map { "$_:{PLAIN}secret\n" } qw(alice bob)), 'ssi.html' => '<!--#echo var="http_authorization" -->' },
    http  => <<'END',
        map $http_authorization $client          { default $http_authorization; "" nobody; }
        map $http_authorization $is_client       { default 1; "" 0; }
        map $http_authorization $is_bearer       { default 0; "~^Bearer " 1; }
        map $http_authorization $cache_of_client { default off; "" all; }
        split_clients $http_authorization $half  { 50% first; * second; }
        limit_req_zone  $http_authorization zone=requests:64k rate=1r/m;
        limit_req_zone  $http_authorization zone=redirected:64k rate=1r/m;
        limit_conn_zone $http_authorization zone=connections:64k;
        proxy_cache_path   %DIR%/cache-proxy   keys_zone=all:1m;
        fastcgi_cache_path %DIR%/cache-fastcgi keys_zone=fastcgi:1m;
        uwsgi_cache_path   %DIR%/cache-uwsgi   keys_zone=uwsgi:1m;
        scgi_cache_path    %DIR%/cache-scgi    keys_zone=scgi:1m;
        proxy_cache_valid 1h;
        log_format fields '$uri "$http_authorization" "$http_x_api_key" "$client" $upstream_cache_status $remote_user';
        add_header X-Cache $upstream_cache_status;
END
    server => "access_log %DIR%/access.log fields;\n$server" . <<'END' =~ s/%HELD%/$held->path/er,
        location /shown/    { tollgate api; add_header X-Seen $http_authorization; add_header X-Half $half; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /explicit/ { tollgate api; proxy_set_header Authorization $http_authorization; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /ssi.html  { tollgate api; ssi on; root %DIR%; }
        location /limited/  { tollgate api; limit_req zone=requests; try_files /none @upstream; }
        location /led/      { tollgate api; try_files /none /lead/; }
        location /lead/     { internal; tollgate api; limit_req zone=redirected; try_files /none @upstream; }
        location /at-once/  { tollgate api; limit_conn connections 1; proxy_pass http://unix:%HELD%; }
        location /mirrored/ { tollgate api; mirror /copy; proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /copy    { internal; log_subrequest on; proxy_cache all; proxy_cache_key copy$http_authorization; proxy_pass http://unix:%DIR%/upstream.sock; }
        location /page/     { tollgate api; error_page 401 = @shared; try_files /none @shared; }
        location @shared    { proxy_cache all; proxy_cache_key $request_uri$http_authorization; proxy_pass http://unix:%DIR%/upstream.sock; }
        location @upstream  { proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /ask     { internal; tollgate off; proxy_cache all; proxy_cache_key ask$http_authorization; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    upstream => <<'END',
        location /sliced/         { root %DIR%/files; }
        location /varying         { add_header Vary "Accept, AUTHORIZATION"; return 200 "$request_id\n"; }
        location /varying-ignored { add_header Vary Authorization; return 200 "$request_id\n"; }
END
);
my $dir = $gateway->nginx->dir;
mkdir "$dir/$_" or die "$_: $!\n" for qw(files files/sliced);
open my $file, '>', "$dir/files/sliced/file" or die $!;
print $file '0123456789';
close $file;
$gateway->import_key($_, id => $_ =~ s/-.*//r, plan => 'free') for qw(ann-key ann-second bee-key);

# A service that answers each request as a CGI program, with the bytes that it got.
sub start_cgi {
    my ($path) = @_;
    my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 8) or die "listen: $!\n";
    return TestProcess->start($path, sub {
        while (my $connection = $listener->accept) {
            sysread $connection, my $bytes, 65536;
            syswrite $connection, "Status: 200 OK\r\nContent-Type: text/plain\r\n\r\n$bytes";
        }
    });
}
my @servers = (FastCgiServer->start("$dir/fastcgi.sock"), map { start_cgi("$dir/$_.sock") } qw(uwsgi scgi));

my %of = (
    ann      => { Authorization => 'Bearer ann-key' },
    second   => { Authorization => 'bearer  ann-second' },
    bee      => { Authorization => 'Bearer bee-key' },
    none     => {},
    stranger => { Authorization => 'Bearer stranger' },
    other    => { Authorization => 'Bearer other' },
    alice    => { Authorization => 'Basic ' . encode_base64('alice:secret', '') },
    bob      => { Authorization => 'Basic ' . encode_base64('bob:secret', '') },
    api_ann  => { 'X-Api-Key' => 'ann-key' },
    api_two  => { 'X-Api-Key' => 'ann-second' },
    api_bee  => { 'X-Api-Key' => 'bee-key' },
    forged   => { 'X-Api-Key' => 'bee-key', Authorization => 'Basic ' . encode_base64('alice:wrong', '') },
);

# What the cache says to these clients, one after the other.
sub cache_says {
    my ($path, @clients) = @_;
    return join ' ', map { $gateway->request('GET', $path, $of{$_})->header('X-Cache') // 'nothing' } @clients;
}

my @clients = qw(ann ann second bee bee ann);
my $apart = 'MISS HIT HIT MISS HIT HIT';

subtest 'a key of a cache' => sub {
    for my $name (qw(key mapped fastcgi uwsgi scgi)) {
        is(cache_says("/$name/", @clients), $apart, $name);
        unlike($gateway->request('GET', "/$name/", $of{ann})->body, qr/ann-key|\*[0-9a-f]{32}|HTTP_AUTHORIZATION/, '... the upstream gets neither the key nor its substitute');
    }
    is(cache_says('/sliced/file', @clients), $apart, 'slices');
    is($gateway->request('GET', '/sliced/file', $of{bee})->body, '0123456789', '... of one file');
    is(cache_says('/header/', qw(api_ann api_two api_bee api_bee)), 'MISS HIT MISS HIT', 'a key in another field');
};

subtest 'a condition of a cache' => sub {
    is(cache_says('/none/', qw(none ann bee ann)), 'nothing BYPASS BYPASS BYPASS', 'proxy_no_cache and proxy_cache_bypass');
    is(cache_says('/scheme/', qw(ann bee)), 'MISS MISS', 'a map that looks for the scheme');
    is(cache_says('/early/', qw(ann bee)), 'MISS MISS', 'a map that was read for the upstream first');
    is(cache_says('/chosen/', qw(ann bee)), 'nothing nothing', 'a cache that a map chooses');
};

subtest 'clients without a key that is known' => sub {
    is(cache_says('/dry/', qw(none stranger other stranger none ann bee ann)), 'MISS MISS MISS HIT HIT MISS MISS HIT', 'a dry run');
    is(cache_says('/bypass/?free=1', qw(none stranger other stranger ann bee none)), 'MISS MISS MISS HIT MISS MISS HIT', 'a bypass');
    is(cache_says('/any/', qw(none ann bee ann alice bob)), 'MISS MISS MISS HIT MISS MISS', 'satisfy any');
    is(cache_says('/page/', qw(stranger none ann other ann bee none)), 'MISS MISS MISS MISS HIT MISS HIT', 'the page of a refusal, in the cache of the responses');
    is(cache_says('/key/401', qw(stranger ann)), 'nothing MISS', 'a refusal is not cached');
};

subtest 'other credentials' => sub {
    is(cache_says('/basic/', qw(alice alice bob ann bob)), 'MISS HIT MISS MISS HIT', 'auth_basic');
    is(cache_says('/user/', qw(alice alice bob bob)), 'MISS HIT MISS HIT', 'the user of auth_basic');
    is(cache_says('/both/', qw(alice forged)), 'MISS MISS', 'a user with a wrong password is none');
    is(cache_says("/subject/?user=$_", qw(stranger other)), 'MISS HIT', "a subject: $_") for qw(u1 u2);
    is($gateway->request('GET', '/explicit/?user=u1', $of{none})->status, 401, 'without a key');
    is(cache_says('/forward/', @clients), 'MISS HIT MISS MISS HIT HIT', 'keys that are forwarded: each has its own copy');
};

subtest 'other modules' => sub {
    is(join(' ', map { $gateway->request('GET', '/asked/', $of{$_})->header('X-Asked') } qw(ann ann bee)), 'MISS HIT MISS', 'auth_request');
    is(join(' ', map { $gateway->request('GET', "/$_->[0]/", $of{ $_->[1] })->status } ([ 'limited', 'ann' ], [ 'limited', 'ann' ], [ 'limited', 'bee' ])), '200 503 200', 'limit_req');
    is(join(' ', map { $gateway->request('GET', '/led/', $of{$_})->status } qw(ann second bee)), '200 503 200', 'limit_req after a redirect');
    my $first = Http->connect($gateway);
    $first->send(Http::format_request('GET', '/at-once/', $of{ann}));
    my $waiting = $held->accept;
    is($gateway->request('GET', '/at-once/', $of{ann})->status, 503, 'limit_conn');
    my $other = Http->connect($gateway);
    $other->send(Http::format_request('GET', '/at-once/', $of{bee}));
    HeldUpstream::answer($_) for $waiting, $held->accept;
    is($_->response->status, 200, '... counts each client') for $first, $other;
    my %halves;
    for my $id (map { "many$_" } 1 .. 24) {
        $gateway->import_key($id, id => $id, plan => 'free');
        my @shown = map { $gateway->get('/shown/', $id)->header('X-Half') } 1, 2;
        is($shown[0], $shown[1], "split_clients: $id");
        $halves{ $shown[0] } = 1;
    }
    is(join(' ', sort keys %halves), 'first second', '... and both parts have some');
    is(cache_says('/mirrored/', qw(ann ann bee)), 'nothing nothing nothing', 'mirror');
};

subtest 'Vary' => sub {
    is(cache_says('/varying/', qw(ann ann bee)), 'MISS MISS MISS', 'a response that varies by the field is not kept');
    is(cache_says('/varying-any/?free=1', qw(none none ann)), 'MISS MISS MISS', '... also of a client without the field');
    is(cache_says('/varying-open/', qw(ann ann bee none)), 'MISS HIT MISS MISS', 'nginx itself tells clients apart elsewhere');
    is(cache_says('/varying-ignored/', qw(ann bee)), 'MISS HIT', 'proxy_ignore_headers Vary: the operator shares the response');
};

subtest 'the substitute' => sub {
    my $seen = sub { scalar $gateway->request('GET', '/shown/', $_[0])->header('X-Seen') };
    my %seen = map { $_ => $seen->($of{$_}) } qw(ann second bee stranger);
    like($seen{ann}, qr/^Bearer \*[0-9a-f]{32}$/, 'of an id');
    is($seen{second}, $seen{ann}, '... is that of all its keys');
    isnt($seen{bee}, $seen{ann}, '... and of no other id');
    is($seen{stranger}, undef, 'an unknown key');
    is($gateway->get('/key/', undef, Authorization => $seen{ann})->status, 401, 'it is no key');
    is($gateway->get('/header/', undef, 'X-Api-Key' => $seen{ann} =~ s/.* //r)->status, 401, '... in no field');
    is(cache_says('/open/', 'ann'), 'MISS', 'a location that is not guarded');
    like($gateway->request('GET', '/explicit/', $of{ann})->body, qr/authorization=\Q$seen{ann}\E /, 'the upstream gets it where a directive says so');
    is($gateway->request('GET', '/ssi.html', $of{ann})->body, $seen{ann}, 'SSI');
    $gateway->nginx->reload;
    is($seen->($of{ann}), $seen{ann}, 'a reload keeps it');
};

subtest 'the access log' => sub {
    $gateway->nginx->stop;
    open my $log, '<', "$dir/access.log" or die $!;
    my @lines = <$log>;
    is(join(' ', map { /^\/copy .* (MISS|HIT) / } @lines), 'MISS HIT MISS', 'the cache of a mirror');
    my @guarded = grep { !m{^/(?:copy|forward|open|varying-open)} } @lines;
    is(join('', grep { !m{^\S+ "-" "-" } } @guarded), '', 'has no trace of the field');
    is(join('', grep { /(?:ann|bee)-key/ } @guarded), '', '... nor a key');
    like(join('', @lines), qr{^/user/ .* alice$}m, 'the user of auth_basic');
    unlike(join('', @lines), qr{^/both/ .*MISS alice\n/both/ .*MISS alice$}m, '... if its password is right');
};

done_testing;
