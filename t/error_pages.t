# The operator's error_page takes precedence over the Error body, in every form that nginx has. If the page is missing,
# the client gets the Error body. The header fields of the response stay, and a page costs nothing.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Gateway;

sub location { my ($name, $text) = @_; return "location /$name/ { tollgate api; $text proxy_pass http://unix:%DIR%/upstream.sock; }\n" }

my $gateway = Gateway->start(
    plans  => 'plan free 1000r/d; plan spent 1r/d; anonymous 1000r/h;',
    files  => { 'page.html' => "the page\n", 'ssi.shtml' => 'ssi <!--#echo var="tollgate_verdict" -->' },
    server => join('',
        location('static',   'error_page 401 403 429 /page.html;'),
        location('changed',  'error_page 429 =503 /page.html; error_page 401 =200 /page.html;'),
        location('named',    'error_page 401 429 @named;'),
        location('proxied',  'error_page 401 429 /proxy/;'),
        location('theirs',   'error_page 401 429 = /proxy/teapot;'),
        location('behind',   'error_page 401 429 /guarded/page.html;'),
        location('behind2',  'error_page 401 429 @guarded;'),
        location('redirect', 'error_page 401 429 https://example.com/;'),
        location('missing',  'error_page 401 429 /missing.html;'),
        location('lost',     'error_page 401 429 @lost;'),
        location('chain',    'recursive_error_pages on; error_page 401 429 /chain/page; error_page 404 =410 /page.html;'),
        location('spoken',   'error_page 401 429 /spoken;'),
        location('ssi',      'error_page 401 429 /ssi.shtml;'),
        location('variable', 'error_page 401 429 /$arg_page;'),
        location('nothing',  'error_page 401 429 =204 @empty;'),
        location('above',    'error_page 401 429 /above-page;'),
        location('down',     'error_page 401 429 /down-page;'),
    ) . <<'END',
        root %DIR%;
        if ($uri = /above-page) { return 418 "from the server\n"; }
        location = /page.html { }
        location = /ssi.shtml { ssi on; ssi_types *; default_type text/html; }
        location = /missing.html { }
        location @named { try_files /page.html =404; }
        location @guarded { tollgate api; try_files /page.html =404; }
        location = /guarded/page.html { tollgate api; try_files /page.html =404; }
        location /proxy/ { proxy_pass http://unix:%DIR%/upstream.sock; }
        location = /chain/page { recursive_error_pages on; error_page 404 =410 /page.html; try_files /none =404; }
        location = /spoken { return 418 "spoken\n"; }
        location @empty { return 204; }
        location = /down-page { proxy_pass http://unix:%DIR%/none.sock; }
        location /backend/ { tollgate api; proxy_pass http://unix:%DIR%/none.sock; error_page 502 /page.html; }
        location /backend2/ { tollgate api; proxy_pass http://unix:%DIR%/none.sock; error_page 502 = @fallback; }
        location /taken/ { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; proxy_intercept_errors on; error_page 404 /page.html; }
        location @fallback { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    upstream => <<'END',
        location = /proxy/teapot { add_header Accept-Ranges bytes always; return 418 "teapot\n"; }
        location /proxy/ { add_header Retry-After 5000 always; return 200 "proxied $http_authorization\n"; }
        location /taken/ { return 404; }
END
);
$gateway->import_key($_, id => "id-$_", plan => $_) for qw(free spent);
is($gateway->get('/', 'spent')->status, 200, 'spent');

# The responses to a request without a key and to one with an exhausted quota.
sub outcome {
    my ($path) = @_;
    return join '; ', map {
        my $body = $_->body;
        $body =~ s/\s+$//;
        $body = $1 if $body =~ /^\{"code":"(.*?)"/;
        join ' ', $_->status, $body;
    } $gateway->get($path), $gateway->get($path, 'spent');
}

my @pages = (
    '/static/'  => '401 the page; 429 the page',
    '/changed/' => '200 the page; 503 the page',
    '/named/'   => '401 the page; 429 the page',
    '/proxied/' => '401 proxied; 429 proxied',
    '/theirs/'  => '418 teapot; 418 teapot',
    '/behind/'  => '401 the page; 429 the page',
    '/behind2/' => '401 the page; 429 the page',
    '/chain/'   => '410 the page; 410 the page',
    '/spoken/'  => '401 spoken; 429 spoken',
    '/above/'   => '401 from the server; 429 from the server',
    '/ssi/'     => '401 ssi unauthenticated; 429 ssi limited',
    '/variable/?page=page.html' => '401 the page; 429 the page',
    '/nothing/' => '204 ; 204 ',
);
while (my ($path, $outcome) = splice @pages, 0, 2) {
    is(outcome($path), $outcome, $path);
}

subtest 'the Error body replaces a missing page' => sub {
    is(outcome('/missing/'), '404 not_found; 404 not_found', 'a missing file (the status is nginx\'s)');
    is(outcome('/variable/?page=missing.html'), '404 not_found; 404 not_found', 'a missing file whose name has variables');
    is(outcome('/lost/'), '500 internal_server_error; 500 internal_server_error', 'a missing named location');
    is(outcome('/down/'), '502 bad_gateway; 502 bad_gateway', 'a page whose server is down');
};

subtest 'a redirect' => sub {
    my $r = $gateway->get('/redirect/', 'spent');
    is($r->status . ' ' . $r->header('Location'), '302 https://example.com/', 'has the Location of error_page');
};

subtest 'the fields of a refusal stay on the page' => sub {
    for my $path ('/static/', '/named/', '/proxied/', '/behind/') {
        my $limited = $gateway->get($path, 'spent');
        is($limited->header('X-RateLimit-Limit') . $limited->header('X-RateLimit-Remaining'), '10', "$path X-RateLimit-*");
        is(scalar(() = $limited->headers('X-RateLimit-Limit')), 1, "$path ... once");
        my @wait = $limited->headers('Retry-After');
        ok(@wait == 1 && $wait[0] > 0 && $wait[0] <= 86400 && $wait[0] != 5000, "$path Retry-After, the gateway's own");
        my $unknown = $gateway->get($path);
        is($unknown->header('WWW-Authenticate'), 'Bearer realm="api"', "$path WWW-Authenticate");
        is($limited->header('Accept-Ranges'), undef, "$path no internal mark");
    }
    is($gateway->get('/changed/')->header('WWW-Authenticate'), undef, 'no challenge if the page has status 200');
};

subtest 'a page costs nothing' => sub {
    my $left = sub { $gateway->get($_[0], 'free')->header('X-RateLimit-Remaining') };
    my $before = $left->('/');
    is($left->('/backend/'), $before - 1, 'an error after the charge');
    my $r = $gateway->get('/backend/', 'free');
    is($r->status . ' ' . $r->body, "502 the page\n", '... shows its page');
    is($left->('/backend2/'), $before - 3, 'a page in another guarded location');
    is($left->('/taken/'), $before - 4, 'an intercepted error of the upstream');
    is($gateway->count('id-spent', 'api', 86400), 1, 'pages of refusals cost nothing');
};

$gateway->nginx->stop;
done_testing;
