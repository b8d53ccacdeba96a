# The Debian package: what it holds, and what becomes of a machine whose nginx runs while it is installed, removed and
# purged. The machine is a Debian of the test's own; where none can be made, the package is unpacked and looked at.

use strict;
use warnings;
use lib 't/lib';
use BackgroundLoad;
use Cwd qw(abs_path);
use DebianRoot;
use File::Temp ();
use Http qw(http_get);
use Nginx;
use Test::More;
use Wait qw(wait_until free_port);

plan skip_all => 'what is built with sanitizers is not packaged' if $ENV{TOLLGATE_SANITIZE};

my $name = 'libnginx-mod-http-tollgate';
my $build = abs_path($ENV{TOLLGATE_BUILD} // 'build');
my $dir = File::Temp->newdir('package-XXXXXX', TMPDIR => 1);

# Also with a umask of a careful administrator.
my $output = `umask 077; cpack -G DEB --config '$build/CPackConfig.cmake' -B '$dir' 2>&1`;
if (!is($?, 0, 'cpack makes the package')) {
    diag($output);
    done_testing;
    exit;
}
my ($package) = glob "$dir/*.deb";
my ($abi) = `dpkg-query -W -f '\${Provides}' nginx` =~ /(nginx-abi-[\d.-]+)/;

# Every file in it.
my %files = map { (split ' ', $_, 6)[5] =~ /^\.(.*[^\/])$/ ? ($1 => $_) : () } split /\n/, `dpkg-deb -c '$package'`;

sub field { chomp(my $value = `dpkg-deb -f '$package' $_[0]`); return $value }

subtest 'what it says of itself' => sub {
    is(field('Package'), $name, 'its name');
    is(field('Architecture'), `dpkg --print-architecture` =~ s/\n//r, 'the architecture');
    my @depends = split /, /, field('Depends');
    is_deeply([grep { /^nginx-abi/ } @depends], [$abi], "it depends on the interface of this nginx, $abi");
    for my $library (qw(libc6 libhiredis libsqlite3 libssl libstdc\+\+6 zlib1g)) {
        ok((grep { /^$library/ } @depends), "… and on $library") or diag("@depends");
    }
};

subtest 'what is in it' => sub {
    my %mode = map { $_ => substr $files{$_}, 0, 10 } keys %files;
    is($mode{'/usr/bin/tollgate'}, '-rwxr-xr-x', 'the command');
    my $doc = "/usr/share/doc/$name";
    for my $file ((map { "/usr/lib/nginx/modules/ngx_http_${_}_module.so" } qw(tollgate petstore)),
        (map { "/usr/share/nginx/modules-available/mod-http-$_.conf" } qw(tollgate petstore)),
        (map { "$doc/$_" } qw(copyright changelog.gz changelog.Debian.gz README.md module/README.md backend/README.md examples/tollgate-http.conf)))
    {
        is($mode{$file}, '-rw-r--r--', $file);
    }
    is($mode{"/usr/share/$_"}, '-rw-r--r--', $_)
        for qw(man/man1/tollgate.1.gz bash-completion/completions/tollgate zsh/vendor-completions/_tollgate);
    ok(!(grep { m{^/(?!usr/)} } keys %files), 'nothing outside of /usr');

    is(system('dpkg-deb', '-x', $package, "$dir/unpacked"), 0, 'it unpacks') or return;
    my @modules = glob "$dir/unpacked/usr/lib/nginx/modules/*.so";
    for my $binary ("$dir/unpacked/usr/bin/tollgate", @modules) {
        my $sections = `readelf -SWd '$binary'`;
        like($sections, qr/\.dynsym/, "$binary is a binary");
        like(`readelf -Wl '$binary'`, qr/GNU_RELRO/, '… with RELRO');
        like($sections, qr/\bBIND_NOW\b/, '… bound when it is loaded');
        my $imported = `readelf -W --dyn-syms '$binary'`;
        like($imported, qr/ __\w+_chk@/, '… fortified');
        like($imported, qr/ __stack_chk_fail@/, '… and with protected stacks');
        unlike($sections, qr/\.debug_info|\.symtab|R(?:UN)?PATH/, '… without symbols and folders of the build');
    }
    my ($version) = field('Version') =~ /^([\d.]+)-/;
    is(`'$dir/unpacked/usr/bin/tollgate' --version`, "$version\n", 'the command is of the package\'s version');
    my ($exit, $text) = Nginx->test_config(modules => \@modules, conf => <<'END');
        tollgate_redis main { server unix:/nonexistent.sock; }
        tollgate_plans api { plan free 60r/m; }
        server {
            listen unix:%DIR%/http.sock;
            location /     { tollgate api; }
            location /v1/  { petstore %DIR%/pets.db; }
        }
END
    is($exit, 0, 'nginx loads the modules') or diag($text);
};

subtest 'lintian' => sub {
    plan skip_all => 'it is not installed' unless -x '/usr/bin/lintian';
    my $found = `lintian --fail-on error,warning '$package' 2>&1`;
    is($?, 0, 'finds nothing') or diag($found);
};

subtest 'on a machine whose nginx runs' => sub {
    my ($root, $why) = DebianRoot->make(packages => [qw(nginx procps)]);
    if (!$root) {
        diag("not tested in a Debian of its own: $why");
        plan skip_all => 'no Debian of its own';
    }
    my $sh = sub {
        my ($command, $what) = @_;
        my ($exit, $text) = $root->run($command);
        is($exit, 0, $what // $command) or diag($text);
        return $text;
    };
    my ($open, $guarded) = (free_port(), free_port());
    $sh->('rm /etc/nginx/sites-enabled/default');
    $root->write('/etc/nginx/conf.d/open.conf', <<"END");
        server { listen 127.0.0.1:$open; keepalive_requests 1; location / { return 200 "open"; } }
END
    # With no init system Debian would not reload a server: allowed.
    $root->write('/usr/sbin/policy-rc.d', "#!/bin/sh\nexit 0\n");
    $sh->('chmod +x /usr/sbin/policy-rc.d');
    $sh->('apt-get -q update');
    $sh->('invoke-rc.d nginx start');
    chomp(my $master = $sh->('cat /run/nginx.pid'));
    my $workers = sub { split ' ', ($root->run("pgrep -P $master"))[1] };
    my $before = $root->list('/etc/nginx');
    my $is_as_before = sub {
        my ($when) = @_;
        is_deeply($root->list('/etc/nginx'), $before, "$when /etc/nginx is as it was");
        $sh->('nginx -t', '… and a good configuration');
    };
    my $enabled = sub { [sort split /\n/, ($root->run('ls /etc/nginx/modules-enabled'))[1]] };
    my $is_loaded = sub { !($root->run('cat /proc/[0-9]*/maps | grep -q ngx_http_tollgate'))[0] };
    # The reload that dpkg's trigger asks for shows as workers that were not there before.
    my $reloads = sub {
        my ($command, $what) = @_;
        my @old = $workers->();
        my $text = $sh->($command, $what);
        eval { wait_until('new workers', sub { grep { my $pid = $_; !grep { $_ == $pid } @old } $workers->() }) };
        is($@, '', '… and nginx is reloaded') or diag($text);
    };

    # A visitor all the while, who isn't in a hurry.
    my $visitor = BackgroundLoad->start(servers => ["127.0.0.1:$open"], timeout => 600,
        token => sub { select undef, undef, undef, 0.01; 'none' });

    $root->copy($package, "/tmp/$name.deb");
    $reloads->("apt-get -qy --no-install-recommends install /tmp/$name.deb", 'it is installed, with libraries');
    is_deeply($enabled->(), ['50-mod-http-petstore.conf', '50-mod-http-tollgate.conf'], 'its modules are enabled');
    ok($is_loaded->(), '… and loaded');
    $sh->('nginx -t');
    like($sh->('tollgate --version'), qr/^[\d.]+$/, '… says its version');

    $root->write('/etc/nginx/conf.d/guarded.conf', <<"END");
        include /usr/share/doc/$name/examples/tollgate-http.conf;
        server {
            listen 127.0.0.1:$guarded;
            location / { tollgate api; }
            location /v1/ { petstore /tmp/pets.db; }
        }
END
    $sh->('nginx -s reload');
    my $refused = eval { wait_until('the guard', sub { eval { http_get("127.0.0.1:$guarded", '/') } }) };
    is($refused && $refused->status, 401, 'a guarded location wants a key');
    is_deeply(http_get("127.0.0.1:$guarded", '/v1/pets')->json, [], '… and the pet store has no pets');
    $sh->('rm /etc/nginx/conf.d/guarded.conf');

    $reloads->("dpkg --remove $name", 'it is removed');
    $is_as_before->('after that');
    eval { wait_until('workers without it', sub { !$is_loaded->() }) };
    is($@, '', 'no process has its modules any more');

    $sh->("dpkg --install /tmp/$name.deb", 'installed anew');
    $sh->('rm /etc/nginx/modules-enabled/50-mod-http-petstore.conf', 'the administrator disables a module');
    $sh->("dpkg --install /tmp/$name.deb", 'upgraded');
    is_deeply($enabled->(), ['50-mod-http-tollgate.conf'], 'what the administrator disabled stays so');
    $sh->("dpkg --remove $name && dpkg --install /tmp/$name.deb", 'removed and installed again');
    is_deeply($enabled->(), ['50-mod-http-tollgate.conf'], '… also then');

    $reloads->("dpkg --purge $name", 'it is purged');
    $is_as_before->('after that');
    is($sh->('find / -xdev -path /var/log -prune -o -name "*tollgate*" -print'), "/tmp/$name.deb\n", 'nothing is left');

    my $visits = $visitor->finish;
    is_deeply([$visits->{broken}, keys %{ $visits->{status} }], [0, 200], 'the visitor has noticed nothing');
    is(($root->run('cat /run/nginx.pid'))[1], "$master\n", 'nginx has run all the while');
    my ($exit, $log) = $root->run('cat /var/log/nginx/error.log');
    my @complaints = grep { /\[(?:alert|emerg|crit|error|warn)\]/ && !/127\.0\.0\.1:6379/ } split /\n/, $log;
    like($complaints[0], qr/missing_api_key/, 'it has complained of the visitor without a key');
    is(@complaints, 1, '… and of nothing else but that there is no Redis') or diag(@complaints);
    $sh->('invoke-rc.d nginx stop');
};

done_testing;
