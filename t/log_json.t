# The access log of conf/log-json.conf: one JSON document per line, with every variable of Tollgate.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(getcwd);
use JSON::PP ();
use Test::More;
use Gateway qw(wait_for_room);
use Http qw(http_raw);
use Wait qw(wait_until);

my $root = getcwd;
sub read_file { open my $file, '<', $_[0] or die "$_[0]: $!\n"; local $/; return <$file> // '' }

my $snippet = read_file('conf/log-json.conf');
# The names of $tollgate_meta_NAME are the operator's.
my @variables = grep { !/_$/ } read_file('module/http/request/variables.cpp') =~ /\{"(tollgate_\w+)"/g;
cmp_ok scalar(@variables), '>=', 7, 'the module has variables';
my %documented = map { $_ => 1 } read_file('module/docs/responses.md') =~ /`\$(tollgate_\w+)`/g;
for my $variable (@variables) {
    like $snippet, qr/"\$$variable"/, "\$$variable is in the log";
    ok $documented{$variable}, '… and in module/docs/responses.md';
}

my $gateway = Gateway->start(
    plans    => 'plan free 2r/d; ban after=2 within=1d for=1d; anonymous 100r/d;',
    http     => "include $root/conf/log-json.conf;",
    server   => "access_log %DIR%/access.json tollgate_json;\nlocation /off/ { return 204; }",
);
my $name = qq(a "name" \\ with \x{e4}\x{20ac});
my $bytes = $name;
utf8::encode($bytes);
$gateway->import_key('secret', id => 'k1', plan => 'free', name => $bytes);
wait_for_room($gateway->redis, 86400);
my $midnight = 86400 * (1 + int($gateway->redis->cmd('TIME')->[0] / 86400));

$gateway->get('/a?b="c"', 'secret', 'User-Agent' => qq(agent "x"\\\t\x01));
$gateway->get('/', 'secret') for 1 .. 3;
$gateway->get('/', 'wrong');
$gateway->get('/off/');
http_raw($gateway, "nonsense\r\n\r\n");
my @lines = wait_until('the log', sub {
    my @lines = split /\n/, read_file($gateway->nginx->dir . '/access.json');
    return @lines >= 7 ? \@lines : undef;
})->@*;
is scalar(@lines), 7, 'a line a request';
my @logged = map { my $line = $_; eval { JSON::PP->new->utf8->decode($line) } // diag("$@: $line") } @lines;
is scalar(grep { ref eq 'HASH' } @logged), 7, 'each line is a JSON document' or BAIL_OUT('no JSON');
is join(' ', map { $_->{verdict} } @logged), 'granted granted limited banned unauthenticated - -', 'verdicts'
    or diag explain \@lines;
my $first = $logged[0];
is $first->{key_name}, $name, 'a name with quotes and letters beyond ASCII';
is $first->{agent}, qq(agent "x"\\\t\x01), 'what a client sent';
is_deeply [@$first{qw(method uri status key_id plan cost limit remaining reset)}],
    ['GET', '/a?b="c"', '200', 'k1', 'free', '1', '2', '1', $midnight], 'the request and its quota';
is_deeply [@{ $logged[4] }{qw(status key_id key_name plan)}], ['401', '', '', ''], 'nothing of a key that is not known';
is_deeply [map { $logged[$_]{limited_by} } 0, 2, 3], ['', 'api:free-day', ''], 'what has limited a request';
is_deeply [map { $logged[$_]{reason} } 0, 2, 4], ['', '', 'unknown'], 'why a key is not valid';
cmp_ok $first->{seconds}, '<', 10, 'times are numbers';
like $lines[0], qr/"msec":\d+\.\d{3},/, '… the end of the request in milliseconds';
unlike join("\n", @lines), qr/secret|wrong/, 'no key is in it';

$gateway->nginx->stop;
done_testing;
