# The documentation is correct: every nginx configuration in a Markdown file is valid, every command of a console
# session prints what is shown, every link has a target, and every directive is described.
#
# The outermost directives of an ```nginx block show its context: a whole configuration (`http`), a part of `http`
# (`server { … }`, `tollgate_redis`, `log_format`, …), of a `server` (`location`), of a `tollgate_redis` or
# `tollgate_plans` block (`timeout`, `plan`), or otherwise of a `location`. Missing plan tables are added.
#
# A ```console block is a session: `$ command`, then what it prints. All of them run in order, in one shell, against the
# first gateway of README.md and the first of module/ADMIN.md. Every line that is shown must be printed, in this order. Times and durations may differ,
# and `…` matches anything. ```sh blocks are not run, so they must not contain curl.

use strict;
use warnings;
use lib 't/lib';
use Certificates;
use Command;
use ConsoleSession qw(commands_of first_not_printed);
use Cwd qw(getcwd);
use File::Temp ();
use Gateway qw(wait_for_room);
use Http qw(http_get);
use Markdown;
use Nginx;
use RedisServer;
use Test::More;
use Wait qw(becomes wait_until free_port);

my $root = getcwd;
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // 'build');
my @pages = Markdown->pages($root);
my ($readme) = grep { $_->path eq 'README.md' } @pages;
my @reference = grep { $_->path =~ m{^module/docs/} } @pages;

# --- configurations

# The outermost directives of a configuration: [name, whether it has a block, the block's text].
sub directives {
    my ($text) = @_;
    my $bare = $text =~ s/("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|#[^\n]*/$1 \/\/ ''/ger;
    my $string = qr/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/;
    my $block = qr/(\{(?:[^{}"']|$string|(?-1))*\})/;
    my @found;
    while ($bare =~ /\G\s*((?:[^\s{};"']|$string|\$\{\w+\})+)((?:[^{};"']|$string)*)(?:;|$block)/gc) {
        push @found, [$1, defined $3, defined $3 ? substr($3, 1, -1) : ''];
    }
    $bare =~ /\G\s*(.*)/sg;
    die "can't be read from \"$1\"\n" if length $1;
    return @found;
}

my %in_redis = map { $_ => 1 } qw(username password password_file database prefix connect_timeout timeout key_cache
    on_failure stale_keys tls tls_ca tls_certificate tls_certificate_key tls_server_name tls_verify
    sentinel sentinel_username sentinel_password sentinel_password_file sentinel_tls);
my %in_http = map { $_ => 1 } qw(tollgate_redis tollgate_plans tollgate_zone upstream map log_format limit_req_zone
    geo proxy_cache_path include js_import);

sub context_of {
    my @directives = @_;
    for my $directive (@directives) {
        my ($name, $has_block) = @$directive;
        return 'main' if $name eq 'http';
        return 'http' if $in_http{$name} || ($name eq 'server' && $has_block);
    }
    for (@directives) {
        my ($name) = @$_;
        return 'server' if $name =~ /^(?:location|listen|server_name)$/;
        return 'tollgate_plans' if $name =~ /^(?:plan|anonymous|ban)$/;
        return 'tollgate_redis' if $in_redis{$name} || $name eq 'server';
    }
    return 'location';
}

# Wraps a block so that it can be put into the http block of a configuration.
sub in_http {
    my ($text) = @_;
    my $context = context_of(directives($text));
    if ($context eq 'main') {
        my ($http) = grep { $_->[0] eq 'http' } directives($text);
        return $http->[2];
    }
    return "tollgate_redis example { server 127.0.0.1; $text }" if $context eq 'tollgate_redis'
        && !grep { $_->[0] eq 'server' } directives($text);
    return "tollgate_redis example { $text }" if $context eq 'tollgate_redis';
    return "tollgate_redis example { server 127.0.0.1; } tollgate_plans example { $text }" if $context eq 'tollgate_plans';
    $text = "location / { $text }" if $context eq 'location';
    $text = "server { listen 127.0.0.1:8080; $text }" if $context =~ /^(?:server|location)$/;
    my %named = map { $_ => 1 } map { grep { !/^off$/ } split ' ', $_ } $text =~ /\btollgate\s+([^;{}]+);/g;
    $named{api} = 1 if $text =~ /\btollgate_(?:status|dashboard)\b/ && $text !~ /\btollgate_plans\b/;
    delete $named{$_} for $text =~ /\btollgate_plans\s+(\S+)/g;
    my ($redis) = $text =~ /\btollgate_redis\s+(\S+)/;
    my $tables = join '', map { "tollgate_plans $_ " . ($redis ? "redis=$redis" : '') . " { plan free 60r/m; }\n" } sort keys %named;
    my ($managed) = $text =~ /\btollgate_admin\s+(\w+)/;
    $redis = $redis || !(%named || $text =~ /\btollgate_plans\b/) ? '' : 'tollgate_redis ' . ($managed // 'main') . " { server 127.0.0.1; }\n";
    return "$redis$tables$text";
}

# Replaces addresses and files of the example: `listen` gets an unprivileged port, files are in a temporary folder.
sub of_this_test {
    my ($text) = @_;
    my $number = 0;
    $text =~ s{\blisten\s+[^;\s]+}{'listen unix:%DIR%/' . ++$number . '.sock'}ge;
    $text =~ s{\binclude\s+\S*/conf/}{include $root/conf/}g;
    $text =~ s{\binclude\s+\Kfastcgi_params}{/etc/nginx/fastcgi_params};
    $text =~ s{\bproxy_cache_path\s+\K\S+/}{%DIR%/}g;
    $text =~ s{\bjs_path\s+\K[^;]+}{%DIR%};
    return $text;
}

my $certificates = Certificates->new;
$certificates->issue('client');
my $configurations = 0;
for my $page (@pages) {
    for my $block ($page->blocks('nginx')) {
        my $place = $page->path . " line $block->{line}";
        my $http = eval { of_this_test(in_http($block->{text})) };
        if (!defined $http) {
            fail("$place is valid");
            diag($@);
            next;
        }
        for my $module ($block->{text} =~ /\bload_module\s+\S*?(\w+)\.so;/g) {
            ok(-e "$build/$module.so", "$place loads an existing module");
        }
        my $dir = File::Temp->newdir('documentation-XXXXXX', TMPDIR => 1);
        mkdir "$dir/conf";
        $http =~ s{\b(?:tls_ca|ssl_client_certificate)\s+\K[^;]+}{$certificates->certificate('ca')}ge;
        $http =~ s{\b(?:tls|ssl)_certificate\s+\K[^;]+}{$certificates->certificate('client')}ge;
        $http =~ s{\b(?:tls|ssl)_certificate_key\s+\K[^;]+}{$certificates->key('client')}ge;
        my ($script) = map { $_->{text} } grep { $_->{heading} eq $block->{heading} } $page->blocks('js');
        my $njs = Nginx->module_of_nginx('ngx_http_js_module');
        my ($exit, $output) = Nginx->test_config(
            conf => $http, dir => $dir,
            files => {
                (map { $_ => "secret\n" } $http =~ /password_file\s+([^\s;\/]+);/g),
                (map { $_ => $script } $http =~ /\bjs_import\s+([^;]+);/g),
            },
            $http =~ /\bjs_import\b/ && defined $njs ? (modules => ['ngx_http_tollgate_module', $njs]) : (),
        );
        SKIP: {
            skip "$place: njs is not installed", 1 if $http =~ /\bjs_import\b/ && !defined $njs;
            skip "$place: this build has no dashboard", 1 if $output =~ /the page is not in this build/;
            is($exit, 0, "$place is valid (" . context_of(directives($block->{text})) . ')') or diag($output, $http);
        }
        ++$configurations;
    }
}
cmp_ok($configurations, '>=', 10, 'configurations are shown');

# --- sessions

my $redis = RedisServer->start(tcp => 1, conf => ['appendonly yes']);
my ($configuration) = $readme->blocks('nginx');
my $first = $configuration->{text};
my %port = (6379 => $redis->port);
my $service = Nginx->start(conf => 'server { listen 127.0.0.1:%PORT%; location / { return 200 "served\n"; } }');
$port{8090} = $service->port;
$port{8080} = free_port();
my $with_ports = sub { $_[0] =~ s{127\.0\.0\.1:(\d+)}{'127.0.0.1:' . ($port{$1} // die "port $1 is nobody's\n")}ger };
# A busy machine is not a fault of Redis.
my $of_gateway = sub { $with_ports->($_[0]) =~ s/\btollgate_redis \w+ \{\K/ timeout 2s;/r };
my $gateway = Nginx->start(conf => $of_gateway->($first), workers => 2);
my ($admin_page) = grep { $_->path eq 'module/ADMIN.md' } @pages;
my ($admin_configuration) = $admin_page->blocks('nginx');
$port{8091} = free_port();
my $admin = Nginx->start(conf => $of_gateway->((directives($admin_configuration->{text}))[0][2]));

my @sessions = map { my $page = $_; map { [$page, $_] } $page->blocks('console') } @pages;
my @commands;
for my $session (@sessions) {
    my ($page, $block) = @$session;
    push @commands, map { { place => $page->path . " line $block->{line}", command => $_->[0], shown => [@$_[1 .. $#$_]] } }
        commands_of($block->{text});
}
cmp_ok(scalar(grep { $_->{command} =~ /\bcurl\b/ } @commands), '>=', 5, 'curl is shown');

# One shell, because sessions set variables for later ones. The marks separate the outputs.
my $dir = File::Temp->newdir('session-XXXXXX', TMPDIR => 1);
open my $script, '>', "$dir/script" or die $!;
for my $i (0 .. $#commands) {
    print $script "{ ", $with_ports->($commands[$i]{command}), "\n} 2>&1 < /dev/null; printf '\\n\\001'\n";
}
close $script;
mkdir "$dir/bin";
symlink "$build/tollgate", "$dir/bin/tollgate" or die $!;
# A file that a session reads.
open my $old_key, '>', "$dir/acme-key" or die $!;
print $old_key "their-old-key\n";
close $old_key;
open my $plans, '>', "$dir/plans.conf" or die $!;
print $plans "plan free  3r/m 1000r/d;\nplan pro   300r/m window=sliding;\n";
close $plans;
open my $log, '>', "$dir/gateway.json" or die $!;
for (['acme', 3, 8, 9, 12, 15], ['example', 41, 44, 47, 48], ['shop', 50, 69], ['', 52, 53]) {
    my ($id, @seconds) = @$_;
    for my $second (@seconds) {
        printf $log qq({"msec":%d.250,"seconds":0.012,"verdict":"%s","key_id":"%s","plan":"%s"}\n), 1795428000 + $second,
            $second == 15 ? 'limited' : 'granted', $id, $id eq 'shop' ? 'pro' : 'free';
    }
}
print $log '{"msec":17954';
close $log;
# The command warns if the plan tables of another prefix are published first.
wait_until('the plan tables', sub { $redis->cmd('EXISTS', 'tollgate:plans') });
wait_for_room($redis, 60, 15);
my @outputs = do { local $ENV{PATH} = "$dir/bin:$ENV{PATH}"; split /\n\001/, `cd $dir && bash script` };
for my $i (0 .. $#commands) {
    my ($place, $command, $shown) = @{ $commands[$i] }{qw(place command shown)};
    my ($name) = $command =~ /^(.{1,60})/;
    is(first_not_printed($shown, $outputs[$i]), undef, "$place: $name") or diag($outputs[$i]);
    unlike($outputs[$i], qr/command not found|syntax error|tollgate: /, '… has no error');
}
$_->stop for $gateway, $admin, $service;

for my $page (@pages) {
    for my $block ($page->blocks) {
        unlike($block->{text}, qr/\bcurl\s/, $page->path . " line $block->{line}: curl stands in a session, which is run")
            if $block->{language} ne 'console' && $block->{text} =~ /\bcurl\b/;
    }
}

# --- the users of Redis

subtest 'the users of Redis may do what they need' => sub {
    my ($block) = map { $_->blocks('redis') } @reference;
    my @users = split /\n/, $block->{text};
    is(@users, 4, 'four users are shown');
    my ($prefix) = $block->{text} =~ /~(\S+)\*/;
    my $secured = RedisServer->start(conf => ['appendonly yes'], acl => [@users, 'user test on >test ~* &* +@all'], login => [qw(test test)]);
    my $nginx = Nginx->start(
        conf => 'tollgate_redis main { server ' . $secured->address . "; prefix $prefix; username gateway; password SECRET; timeout 2s; }
            tollgate_plans api { plan free 5r/d 9r/7d window=sliding; ban after=2 within=1m for=1m; }
            server { listen 127.0.0.1:%PORT%; location / { tollgate api; proxy_pass http://unix:%DIR%/upstream.sock; } }
            server { listen unix:%DIR%/upstream.sock; location / { return 200; } }",
    );
    my $tollgate = Command->new(redis => 'unix://operator:SECRET@' . $secured->socket, prefix => $prefix);
    my $issued = $tollgate->run(qw(key issue --plan free --id k1));
    is($issued->{status}, 0, 'the operator issues a key') or diag($issued->{err});
    chomp(my $key = $issued->{out});
    my $status = sub { http_get($nginx, '/', Authorization => "Bearer $_[0]")->status };
    wait_until('the subscription', sub { $secured->cmd('PUBSUB', 'NUMSUB', "${prefix}events")->[1] == 1 });
    is_deeply([map { $status->($key) } 1 .. 8], [(200) x 5, (429) x 3], 'the gateway counts, refuses and bans');
    for my $command (['key', 'list'], [qw(key show k1)], [qw(key set k1 --plan free --name x)], [qw(key disable k1)],
        [qw(key enable k1)], [qw(key rotate k1)], [qw(usage k1)], [qw(ban show k1)], [qw(ban lift k1)], [qw(key revoke --yes k1)])
    {
        my $result = $tollgate->run(@$command);
        is($result->{status}, 0, "tollgate @$command") or diag($result->{err});
    }
    # Redis 7.0 reads its append-only file as the user `default`.
    $issued = $tollgate->run(qw(key issue --plan free --id k2));
    unlike($issued->{err}, qr/warning/, 'the command warns of nothing');
    my $content = sub { map { $secured->cmd('DUMP', $_) } sort @{ $secured->cmd('KEYS', "${prefix}[kiu]*") } };
    my @before = $content->();
    $secured->restart;
    is_deeply([$content->()], \@before, 'a restart of Redis keeps the keys');
    wait_until('the subscription', sub { $secured->cmd('PUBSUB', 'NUMSUB', "${prefix}events")->[1] == 1 });
    is($tollgate->run(qw(key revoke --yes k2))->{status}, 0, '… which can be revoked');
    # Sooner than the cached record expires: `key_cache` is a minute.
    becomes(sub { $status->($key) }, 401, 'the gateway receives the revocation');
    unlike($nginx->error_log, qr/NOPERM/, 'no command was forbidden');
    $nginx->stop;
};

# --- links and completeness

my %page = map { $_->path => $_ } @pages;
for my $page (@pages) {
    for my $link ($page->links) {
        my ($target, $line) = @$link;
        next if $target =~ /^https?:/;
        ok($page->leads_to($target, \%page, $root), $page->path . " line $line: $target exists");
    }
    ok(-e "$root/$_", $page->path . ": there is $_") for $page->paths;
}
my $index = source('module/README.md');
for my $page (@reference) {
    my ($name) = $page->path =~ m{^module/(.*)};
    like($index, qr/\(\Q$name\E[)#]/, "the index leads to $name");
    my $words = () = source($page->path) =~ /\S+/g;
    cmp_ok($words, '<', 3300, '… which is read in one sitting');
}

sub source { my ($path) = @_; open my $file, '<', "$root/$path" or die "$path: $!\n"; local $/; return <$file> }

my $text = join '', map { source($_->path) } @reference;
for my $directive (source('module/http/ngx_http_tollgate_module.cpp') =~ /\{ngx_string\("(tollgate\w*)"\)/g) {
    like($text, qr/^## $directive$/m, "$directive is described");
    like($index, qr/\[`$directive\b.*#$directive\)/, '… and in the index');
}
for my $block ([plans => 'plan/plan_directives'], [redis => 'http/config/redis_block']) {
    my ($name, $source) = @$block;
    my @directives = source("module/$source.cpp") =~ /^ +(?:\w+Directive)?\{"(\w+)", "/mg;
    cmp_ok(scalar @directives, '>=', 4, "$source.cpp has directives");
    like($text, qr/[`; ]$_ /, "… and a page of module/docs has $_ of tollgate_$name") for @directives;
}
like($text, qr/`\$$_`/, "… and \$$_") for map { s/_\z/_NAME/r } source('module/http/request/variables.cpp') =~ /"(tollgate_\w+)"/g;

my ($stored) = $text =~ /^## What is in Redis\n(.*?)^## /ms;
my @fields = map { /=\s*"(\w+)"/g } source('module/redis/protocol/schema.hpp') =~ /^namespace \w+_(?:field|part|state) \{\n(.*?)^\}/msg;
cmp_ok(scalar @fields, '>=', 20, 'schema.hpp has fields of Redis');
like($stored, qr/[`.]$_`/, "… and it has $_") for @fields;

for my $errors (['module/report/error_body.hpp', 'module/docs/responses.md'], ['backend/core/error.hpp', 'backend/README.md']) {
    my @codes = source($errors->[0]) =~ /constexpr Error(?:Kind)? \w+\{[^"}]*"(\w+)"/g;
    cmp_ok(scalar @codes, '>=', 5, "$errors->[0] has codes");
    like(source($errors->[1]), qr/`$_`/, "… and $errors->[1] tells of $_") for @codes;
}

my ($version) = source('module/report/version.hpp') =~ /kVersion = "([\d.]+)"/;
my $changes = source('module/CHANGELOG.md');
my ($newest) = $changes =~ /^## Changes with Tollgate (\S+)/m;
is($newest, $version, 'the newest changes are those of this version');
my @versions = $changes =~ /^## Changes with Tollgate/mg;
unlike($changes, qr/^Bugfixes:|\bBefore,/m, 'the first version has no state before it') if @versions == 1;
like(source('conf/debian/changelog'), qr/\A\S+ \(\Q$version\E-/, '… and so are the package\'s');

done_testing;
