# tollgate simulate refuses the requests of a log that the gateway itself refused, if the plan tables are the same.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Cwd qw(getcwd);
use File::Temp ();
use Gateway qw(wait_for_room wait_for_window);
use Http;
use JSON::PP   ();
use POSIX      ();
use Test::More;
use Wait qw(wait_until);

my $root = getcwd;
my $dir = File::Temp->newdir('simulate-XXXXXX', TMPDIR => 1);

sub write_file { my ($name, $text) = @_; open my $file, '>', "$dir/$name" or die $!; print $file $text; close $file or die $!; return "$dir/$name" }
sub read_file { open my $file, '<', $_[0] or die "$_[0]: $!\n"; local $/; return <$file> // '' }

# The same files are included in nginx.conf and simulated.
my $api = write_file('api.conf', <<'END');
# The plans of the API.
plan fixed   3r/2s "10r/h";
plan slide   2r/4s window=sliding;
plan units   10r/2s;
plan all     unlimited;
plan own     custom;
plan narrow  20r/2s;
END
my $search = write_file('search.conf', "plan narrow 2r/2s; plan fixed unlimited;\ndefault fixed;\n");

my $proxy = 'proxy_pass http://unix:%DIR%/upstream.sock;';
my $gateway = Gateway->start(
    table  => 'lease=off',
    plans  => "include $api;",
    http   => "include $root/conf/log-json.conf; tollgate_plans search redis=main lease=off { include $search; }",
    server => <<"END",
        access_log %DIR%/access.json tollgate_json;
        log_subrequest on;
        location /search/ { tollgate api search; $proxy }
        location /units/  { tollgate api; tollgate_cost \$arg_units; $proxy }
        location /quota/  { tollgate api; tollgate_cost 0; $proxy }
        location /dry/    { tollgate api; tollgate_dry_run on; $proxy }
        location /copied/ { tollgate api; mirror /copy; $proxy }
        location /off/    { return 204; }
        location = /copy  { internal; proxy_pass http://unix:%DIR%/upstream.sock; }
END
    # The response takes about two seconds.
    upstream => 'location /slow/ { limit_rate 40; return 200 "' . 'x' x 100 . '"; }',
);
my $redis = $gateway->redis;
my @locations = map { ('--location', $_) } '/=api', '/search/=api,search', '/off/=off';
my $tollgate = Command->new;

sub simulate { return $tollgate->json('simulate', '--plans', $api, '--plans', $search, '--limits', '2r/2s', @locations, @_) }

# Requests of ids that end with `run`, over nine seconds. What a request gets is the same from one full second to the
# next. Returns false if one began in one second and was decided in another, so that its line does not say what it got.
sub run_load {
    my ($run) = @_;
    my %plan = (fixed => 'fixed', slide => 'slide', units => 'units', all => 'all', own => 'own', narrow => 'narrow',
        slow => 'fixed', copied => 'own', gold => 'gold', dry => 'fixed');
    $gateway->import_key("$_-$run", id => "$_-$run", plan => $plan{$_}, limits => $plan{$_} eq 'own' ? '2r/2s' : '') for keys %plan;
    my $is_sure = 1;
    my $in_one_second = sub {
        my ($code) = @_;
        wait_for_window($redis, 1, 0.5);
        my $second = $redis->cmd('TIME')->[0];
        $code->();
        $is_sure = 0 if $redis->cmd('TIME')->[0] != $second;
    };
    my $get = sub {
        my ($path, $name) = @_;
        $in_one_second->(sub { $gateway->get($path, "$name-$run") });
    };
    my $slow;
    my $start = $redis->cmd('TIME')->[0];
    for my $second (0 .. 8) {
        wait_until('the second', sub { $redis->cmd('TIME')->[0] >= $start + $second });
        $get->('/', 'fixed') for 1 .. 4;
        $get->('/', 'slide') for 1 .. 1 + $second % 3;
        $get->('/units/?units=' . (3 + $second % 4), 'units') for 1 .. 3;
        $get->('/quota/', 'units');
        $get->('/', 'all');
        $get->('/', 'own') for 1 .. 3;
        $get->('/search/', 'narrow') for 1 .. 3;
        $get->('/', 'narrow');
        $get->('/copied/', 'copied') for 1 .. 3;
        $get->('/dry/', 'dry') for 1 .. 2;
        $get->('/', 'gold');
        $get->('/', 'nobody');
        $get->('/off/', 'fixed');
        if ($second == 2) {
            # Redis counts it now; its line is written in a later window.
            $in_one_second->(sub {
                $slow = Http->connect($gateway->address);
                $slow->send("GET /slow/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer slow-$run\r\n\r\n");
                wait_until('its count', sub { ($gateway->count("slow-$run", 'api', 3600) // 0) == 1 });
            });
        }
        if ($second == 2 || $second == 4) {
            $get->('/', 'slow') for 1 .. 3;
        }
    }
    $slow->response;
    return $is_sure;
}

wait_for_room($redis, 3600, 60);
my $run = 0;
until (run_load(++$run)) { die "the machine is too slow\n" if $run == 5 }
$gateway->get('/off/?last');
my $log = $gateway->nginx->dir . '/access.json';
wait_until('the log', sub { read_file($log) =~ /\?last/ });
my @lines = map { JSON::PP->new->utf8->decode($_) } split /\n/, read_file($log);

# What the gateway refused, by its log.
my (%refused, %seen);
for my $line (grep { $_->{key_id} =~ /-$run$/ && $_->{verdict} ne 'forbidden' } @lines) {
    next if $seen{ $line->{request} }++;    # a subrequest and its request
    my $of = $refused{ $line->{key_id} } //= { count => 0, windows => {} };
    next if $line->{verdict} ne 'limited';
    my $began = POSIX::floor($line->{msec} - $line->{seconds} + 0.0005);
    $of->{count}++;
    $of->{windows}{ $line->{limit} }++;
    $of->{first} = $began if !$of->{first} || $began < $of->{first};
    $of->{last} = $began if !$of->{last} || $began > $of->{last};
}
sub rfc3339 { return POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $_[0]) }

my $result = simulate($log);

subtest 'the same ids, numbers and times' => sub {
    my %expected = map { my $of = $refused{$_}; $of->{count} ? ($_ => [$of->{count}, rfc3339($of->{first}), rfc3339($of->{last})]) : () } keys %refused;
    my %found = map { $_->{id} => [@$_{qw(refused first last)}] } grep { $_->{id} =~ /-$run$/ } @{ $result->{refusals} };
    is_deeply(\%found, \%expected, 'of all refusals') or diag explain \%found, \%expected;
    # Otherwise the comparison above would say little.
    my @ids = map { "$_-$run" } qw(copied dry fixed narrow own slide units);
    is_deeply([grep { !/^slow/ } sort keys %expected], \@ids, 'each kind of quota refused requests');
    cmp_ok($refused{$_}{count}, '<', scalar(grep { $_->{key_id} eq "$_-$run" } @lines) || 1000, "… and granted others of $_") for @ids;
    my ($slow) = grep { $_->{uri} eq '/slow/' && $_->{key_id} eq "slow-$run" } @lines;
    cmp_ok($slow->{seconds}, '>', 2, 'a line was written later than the window of its request');
    is_deeply([sort { $a <=> $b } keys %{ $refused{"fixed-$run"}{windows} }], [3, 10], 'two windows of a plan refused');
};

subtest 'the same windows' => sub {
    my %limit_of = (fixed => { 2 => 3, 3600 => 10 }, slide => { 4 => 2 }, units => { 2 => 10 }, narrow => { 2 => 2 }, own => { 2 => 2 },
        copied => { 2 => 2 });
    for my $name (sort keys %limit_of) {
        my ($found) = grep { $_->{id} eq "$name-$run" } @{ $result->{refusals} };
        my %windows = map { $limit_of{$name}{ $_->{seconds} } => $_->{refused} } @{ $found->{windows} };
        is_deeply(\%windows, $refused{"$name-$run"}{windows}, "$name: the windows that a 429 shows");
    }
    my ($narrow) = grep { $_->{id} eq "narrow-$run" } @{ $result->{refusals} };
    is_deeply([map { $_->{table} } @{ $narrow->{windows} }], ['search'], 'of the table that refused');
};

subtest 'every line is accounted for' => sub {
    my $skipped = $result->{skipped};
    my %number = (without_id => 0, forbidden => 0, repeated => 0, outside => 0);
    my %requests;
    for my $line (@lines) {
        my $kind = $line->{key_id} eq '' ? 'without_id' : $line->{verdict} eq 'forbidden' ? 'forbidden'
            : $requests{ $line->{request} }++ ? 'repeated' : 'requests';
        $number{$kind}++;
    }
    is($result->{lines}, scalar @lines, 'the lines of the log');
    is($result->{requests}, $number{requests}, 'the requests');
    is_deeply($skipped, { map { $_ => $number{$_} } keys %$skipped }, 'the others by reason');
    cmp_ok($skipped->{$_}, '>', 0, "… $_") for qw(without_id forbidden repeated);
    is($result->{unreadable}, 0, 'all are readable');
    is($result->{late}, 0, 'none was late');
    is($result->{refused_in_log}, scalar(grep { $_->{verdict} eq 'limited' } @lines) - repeated_refusals(), 'the refusals of the log');
};

# A refused request has no subrequest, but the mirror of a granted one has its verdict.
sub repeated_refusals { my %requests; return scalar grep { $_->{verdict} eq 'limited' && $requests{ $_->{request} }++ } @lines }

subtest 'the log in pieces, in any order' => sub {
    my @all = split /^/m, read_file($log);
    my $third = int(@all / 3);
    my $begin = write_file('a.json', join '', @all[0 .. $third - 1]);
    # As two nodes would write it, whose lines overlap.
    my $even = write_file('b.json', join '', @all[grep { $_ >= $third && $_ % 2 == 0 } 0 .. $#all]);
    my $odd = join '', @all[grep { $_ >= $third && $_ % 2 } 0 .. $#all];
    system('gzip', $even) == 0 or die "gzip failed\n";
    my @arguments = ('simulate', '--plans', $api, '--plans', $search, '--limits', '2r/2s', @locations, '--json');
    my $pieces = $tollgate->run({ stdin => $odd }, @arguments, '-', "$even.gz", $begin);
    is($pieces->{err}, '', 'no message');
    is_deeply(JSON::PP->new->utf8->decode($pieces->{out}), $result, 'gives the same result');
    my $reversed = write_file('reversed.json', join '', reverse @all);
    is_deeply(simulate($reversed), $result, '… and so does the log backwards');
};

subtest 'other plans' => sub {
    my $wide = write_file('wide.conf', 'plan wide 1000r/s; default wide;');
    my $free = $tollgate->json('simulate', '--plans', $wide, $log);
    is_deeply([@$free{qw(refused forbidden)}, $free->{refusals}], [0, 0, []], 'a limit that is wide enough refuses nothing');
    is($free->{refused_in_log}, $result->{refused_in_log}, '… of what the log refused');
    my $tight = write_file('tight.conf', 'plan fixed 1r/d; plan slide 1r/d;');
    my $strict = $tollgate->json('simulate', '--plans', $tight, $log);
    my ($fixed) = grep { $_->{id} eq "fixed-$run" } @{ $strict->{refusals} };
    is($fixed->{refused}, $fixed->{requests} - 1, 'a tight one refuses all but one');
    my ($units) = grep { $_->{id} eq "units-$run" } @{ $strict->{refusals} };
    is_deeply([@$units{qw(refused forbidden)}], [0, $units->{requests}], 'a plan that is not in the table: 403');
};

$gateway->nginx->stop;
done_testing;
