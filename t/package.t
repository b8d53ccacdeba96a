# The Debian packages: their contents, and their effect on a machine with a running nginx when they are installed,
# removed and purged. The machine is a temporary Debian. If it can't be made, the packages are only unpacked and
# inspected.

use strict;
use warnings;
use lib 't/lib';
use BackgroundLoad;
use Cwd qw(abs_path);
use Digest::SHA;
use DebianRoot;
use File::Temp ();
use Http qw(http_get);
use JSON::PP ();
use Markdown;
use Nginx;
use Test::More;
use Wait qw(wait_until free_port);

plan skip_all => 'what is built with sanitizers is not packaged' if $ENV{TOLLGATE_SANITIZE};

my $name = 'libnginx-mod-http-tollgate';
my @names = ($name, 'libnginx-mod-http-petstore', 'tollgate');
my $build = abs_path($ENV{TOLLGATE_BUILD} // 'build');
my $dir = File::Temp->newdir('package-XXXXXX', TMPDIR => 1);

# Also with a restrictive umask.
my $output = `umask 077; cpack -G DEB --config '$build/CPackConfig.cmake' -B '$dir' 2>&1`;
if (!is($?, 0, 'cpack makes the packages')) {
    diag($output);
    done_testing;
    exit;
}
my %package = map { my ($file) = $_; (`dpkg-deb -f '$file' Package` =~ s/\n//r) => $file } glob "$dir/*.deb";
if (!is_deeply([sort keys %package], [sort @names], 'three of them')) {
    done_testing;
    exit;
}
my ($abi) = `dpkg-query -W -f '\${Provides}' nginx` =~ /(nginx-abi-[\d.-]+)/;

# The mode of every file in a package.
my %files;
for my $package (@names) {
    $files{$package} = { map { (split ' ', $_, 6)[5] =~ /^\.(.*[^\/])$/ ? ($1 => substr $_, 0, 10) : () }
        split /\n/, `dpkg-deb -c '$package{$package}'` };
}

sub slurp { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }

sub field { chomp(my $value = `dpkg-deb -f '$package{$_[0]}' $_[1]`); return $value }

subtest 'the packages are reproducible' => sub {
    # Later, in another folder, from a copy of the sources, with other modes. The pet store is compiled again; ccache may
    # have the objects of the others.
    my $copy = "$dir/elsewhere";
    local $ENV{CCACHE_BASEDIR} = $copy;
    chomp(my $jobs = `nproc`);
    my $text = `exec 2>&1; set -e; umask 022; mkdir '$copy'; tar -c --exclude='./build*' --exclude=./.git . | tar -x -C '$copy'; cd '$copy'
        conf/debian/configure other -DBUILD_TESTING=OFF -DWARNINGS_AS_ERRORS=ON
        CCACHE_DISABLE=1 cmake --build other --parallel $jobs --target ngx_http_petstore_module
        cd other; cpack -G DEB`;
    is($?, 0, 'they are built again') or diag($text);
    for my $package (@names) {
        my ($again) = grep { (`dpkg-deb -f '$_' Package` =~ s/\n//r) eq $package } glob "$copy/other/*.deb";
        ok($again && slurp($again) eq slurp($package{$package}), "$package has the same bytes");
    }
    ok(slurp("$copy/other/tollgate.cdx.json") eq slurp("$dir/tollgate.cdx.json"), 'and so has the bill of materials');
};

subtest 'the bill of materials' => sub {
    my $sbom = JSON::PP->new->utf8->decode(slurp("$dir/tollgate.cdx.json"));
    is("$sbom->{bomFormat} $sbom->{specVersion}", 'CycloneDX 1.5', 'the format');
    like($sbom->{serialNumber}, qr/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-80[0-9a-f]{2}-[0-9a-f]{12}$/, 'the serial number');
    my %component = map { $_->{'bom-ref'} => $_ } @{ $sbom->{components} };
    my %needs = map { $component{ $_->{ref} }{name} => [map { $component{$_}{name} } @{ $_->{dependsOn} }] } @{ $sbom->{dependencies} };
    for my $package (@names) {
        my ($found) = grep { $_->{name} eq $package } values %component;
        is($found->{version}, field($package, 'Version'), "$package: the version");
        is($found->{hashes}[0]{content}, Digest::SHA->new(256)->addfile($package{$package})->hexdigest, '... the digest');
    }
    my %libraries = ($names[0] => ['nginx', 'nginx-dev', 'libhiredis', 'libyajl2', 'libjs-chart.js', 'nlohmann-json3'],
        $names[1] => ['nginx', 'nginx-dev', 'libsqlite3', 'nlohmann-json3'], $names[2] => ['libcli11', 'libcurl', 'nlohmann-json3']);
    for my $package (sort keys %libraries) {
        for my $library (@{ $libraries{$package} }) {
            ok((grep { /^\Q$library\E/ } @{ $needs{$package} }), "$package contains or needs $library");
        }
    }
    is_deeply([grep { $component{$_}{purl} !~ m{^pkg:deb/debian/[\w.+-]+\@[\w.%~+-]+\?arch=\w+&distro=debian-\d+} } sort keys %component], [],
        'each component has a package URL');
    is_deeply([grep { slurp('conf/debian/copyright') !~ /package \Q$_\E\b/ } qw(libcli11-dev libjs-chart.js nginx-dev nlohmann-json3-dev)], [],
        'the licences of those that have no library are in copyright');
};

subtest 'the control fields' => sub {
    my %depends_on = (
        $names[0] => [$abi, qw(libc6 libhiredis libsodium libssl libstdc++6 libyajl2 zlib1g)],
        $names[1] => [$abi, qw(libc6 libsqlite3 libstdc++6)],
        $names[2] => [qw(libc6 libcurl libhiredis libssl libstdc++6)],
    );
    for my $package (@names) {
        is(field($package, 'Architecture'), `dpkg --print-architecture` =~ s/\n//r, "$package: the architecture");
        is(field($package, 'Version'), field($name, 'Version'), '… the same version');
        my @depends = split /, /, field($package, 'Depends');
        for my $needed (@{ $depends_on{$package} }) {
            ok((grep { /^\Q$needed\E/ } @depends), "… it depends on $needed") or diag("@depends");
        }
    }
    unlike(field('tollgate', 'Depends'), qr/nginx/, 'the command needs no nginx');
    unlike(field($name, 'Depends'), qr/sqlite/, 'the gateway needs no SQLite');
};

subtest 'the contents' => sub {
    my $mod = sub { ("/usr/lib/nginx/modules/ngx_http_$_[0]_module.so", "/usr/share/nginx/modules-available/mod-http-$_[0].conf") };
    my %wanted = (
        $names[0] => [$mod->('tollgate'), '/etc/nginx/snippets/tollgate-log-json.conf', map { "/usr/share/doc/$name/$_" }
            qw(README.md module/README.md backend/README.md examples/tollgate-http.conf)],
        $names[1] => [$mod->('petstore'), map { "/usr/share/doc/$names[1]/$_" } qw(README.md examples/openapi.json)],
        $names[2] => ['/etc/tollgate/tollgate.conf', '/usr/lib/systemd/system/tollgate-notify.service', map { "/usr/share/$_" }
            qw(man/man1/tollgate.1.gz bash-completion/completions/tollgate zsh/vendor-completions/_tollgate)],
    );
    my %owner;
    mkdir "$dir/unpacked";
    for my $package (@names) {
        my $mode = $files{$package};
        is($mode->{$_}, '-rw-r--r--', $_)
            for @{ $wanted{$package} }, map { "/usr/share/doc/$package/$_" } qw(copyright changelog.gz changelog.Debian.gz);
        my @configuration = grep { m{^/(?!usr/)} } sort keys %$mode;
        is_deeply(\@configuration, [grep { m{^/etc/} } @{ $wanted{$package} }], 'all files are below /usr, except for the configuration');
        is(`dpkg-deb -I '$package{$package}' conffiles 2> /dev/null`, join('', map { "$_\n" } @configuration), '… which an upgrade keeps');
        ++$owner{$_} for keys %$mode;
        is(system('dpkg-deb', '-x', $package{$package}, "$dir/unpacked/$package"), 0, 'it unpacks') or return;
    }
    is($files{tollgate}{'/usr/bin/tollgate'}, '-rwxr-xr-x', 'the command');
    is_deeply([grep { $owner{$_} > 1 } sort keys %owner], [], 'no file is in two packages');
    is_deeply([map { s{.*/}{}r } glob "$dir/unpacked/*/usr/lib/nginx/modules/*.so"],
        ['ngx_http_petstore_module.so', 'ngx_http_tollgate_module.so'], 'each module is in its package');

    my @modules = glob "$dir/unpacked/*/usr/lib/nginx/modules/*.so";
    my $command = "$dir/unpacked/tollgate/usr/bin/tollgate";
    for my $binary ($command, @modules) {
        my $sections = `readelf -SWd '$binary'`;
        like($sections, qr/\.dynsym/, "$binary is a binary");
        like(`readelf -Wl '$binary'`, qr/GNU_RELRO/, '… with RELRO');
        like($sections, qr/\bBIND_NOW\b/, '… bound when it is loaded');
        my $imported = `readelf -W --dyn-syms '$binary'`;
        like($imported, qr/ __stack_chk_fail@/, '… and with protected stacks');
        unlike($sections, qr/\.debug_info|\.symtab|R(?:UN)?PATH/, '… without debug symbols and build paths');
    }
    # A binary shows it only if one of its calls is checked.
    like(`readelf -W --dyn-syms '$command'`, qr/ __\w+_chk@/, 'the command is fortified');
    my ($folder) = slurp("$build/CPackConfig.cmake") =~ /CPACK_INSTALL_CMAKE_PROJECTS "([^;"]+);/;
    my @compiled = slurp("$folder/compile_commands.json") =~ /"command": "(.*)"/g;
    # Most of them compile several sources.
    my @sources = map { slurp($_) =~ /^#include "(.*\.cpp)"/mg } glob "$folder/CMakeFiles/*/Unity/*.cxx";
    cmp_ok(scalar @sources, '>', 100, 'all sources are compiled');
    is_deeply([grep { !/ -O2 / || !/ -D_FORTIFY_SOURCE=2 / } @compiled], [], '… are compiled with fortification');
    my ($version) = field('tollgate', 'Version') =~ /^([\d.]+)-/;
    is(`'$command' --version`, "$version\n", 'the command has the version of the package');
    my ($exit, $text) = Nginx->test_config(modules => \@modules, conf => <<'END');
        tollgate_redis main { server unix:/nonexistent.sock; }
        tollgate_plans api { plan free 60r/m; }
        server {
            listen unix:%DIR%/http.sock;
            location /     { tollgate api; }
            location /v1/  { petstore %DIR%/pets.db; }
            location = /dashboard { tollgate_dashboard; }
        }
END
    is($exit, 0, 'nginx loads the modules, with the dashboard\'s page') or diag($text);
};

subtest 'each link of a packaged document leads to a file of the same package' => sub {
    my %links;
    for my $package (@names) {
        my $folder = "$dir/unpacked/$package/usr/share/doc/$package";
        my @pages = grep { defined } map { Markdown->read($folder, substr $_, 1 + length $folder) }
            split /\n/, `find '$folder' -name '*.md'`;
        my %page = map { $_->path => $_ } @pages;
        for my $page (@pages) {
            for my $link ($page->links) {
                my ($target, $line) = @$link;
                next if $target =~ /^https?:/;
                ++$links{$package};
                ok($page->leads_to($target, \%page, $folder), "$package: " . $page->path . " line $line: $target");
            }
        }
    }
    cmp_ok($links{$name} // 0, '>=', 10, 'the gateway\'s documents have links');
};

subtest 'lintian' => sub {
    plan skip_all => 'it is not installed' unless -x '/usr/bin/lintian';
    for my $package (@names) {
        my $found = `lintian --fail-on error,warning '$package{$package}' 2>&1`;
        is($?, 0, "finds nothing in $package") or diag($found);
    }
};

subtest 'on a machine with a running nginx' => sub {
    my ($root, $why) = DebianRoot->make(packages => [qw(nginx procps)]);
    plan skip_all => "no Debian of its own: $why" unless $root;
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
    # Without an init system, Debian would not reload a server. policy-rc.d allows it.
    $root->write('/usr/sbin/policy-rc.d', "#!/bin/sh\nexit 0\n");
    $sh->('chmod +x /usr/sbin/policy-rc.d');
    $sh->('apt-get -q update');
    $sh->('invoke-rc.d nginx start');
    chomp(my $master = $sh->('cat /run/nginx.pid'));
    my $workers = sub { split ' ', ($root->run("pgrep -P $master"))[1] };
    my $before = $root->list('/etc/nginx');
    my $is_as_before = sub {
        my ($when, @kept) = @_;
        my %kept;
        my @others = grep { my ($file) = /^(\S+) /; !grep { $_ eq $file && ++$kept{$_} } @kept } @{ $root->list('/etc/nginx') };
        is_deeply(\@others, $before, "$when /etc/nginx is as it was");
        is_deeply([sort keys %kept], \@kept, '… and nothing else is kept');
        $sh->('nginx -t', '… and the configuration is valid');
    };
    my $enabled = sub { [sort split /\n/, ($root->run('ls /etc/nginx/modules-enabled'))[1]] };
    my $is_loaded = sub { !($root->run('cat /proc/[0-9]*/maps | grep -q ngx_http_tollgate'))[0] };
    # A reload by dpkg's trigger shows as new workers.
    my $reloads = sub {
        my ($command, $what) = @_;
        my @old = $workers->();
        my $text = $sh->($command, $what);
        eval { wait_until('new workers', sub { grep { my $pid = $_; !grep { $_ == $pid } @old } $workers->() }) };
        is($@, '', '… and nginx is reloaded') or diag($text);
        return $text;
    };

    # A client sends requests slowly, throughout.
    my $visitor = BackgroundLoad->start(servers => ["127.0.0.1:$open"], timeout => 600,
        token => sub { select undef, undef, undef, 0.01; 'none' });

    $root->copy($package{$_}, "/tmp/$_.deb") for @names;
    # An older version: the same contents with another version.
    my $older = "$dir/older";
    system('dpkg-deb', '-R', $package{$name}, $older);
    system('sed', '-i', 's/^Version: .*/Version: 0.0.9-1/', "$older/DEBIAN/control");
    system("dpkg-deb -b '$older' '$older.deb' > /dev/null");
    $root->copy("$older.deb", '/tmp/older.deb');
    my $installed = $reloads->('apt-get -qy --no-install-recommends install /tmp/older.deb /tmp/tollgate.deb', 'the gateway and the command are installed, with libraries');
    my @next = $installed =~ /^\Q$name\E: documentation: (\S+)\n +examples of a configuration: (\S+)\n/m;
    ok(@next == 2, '… the documentation and the examples are named');
    $sh->("test -s '$_'", '… which exist') for @next;
    unlike($installed, qr/is not enabled|service nginx upgrade/, '… and nothing else is to be done');
    is_deeply($enabled->(), ['50-mod-http-tollgate.conf'], 'its module is enabled');
    ok($is_loaded->(), '… and loaded');
    like($reloads->("apt-get -qy --no-install-recommends install /tmp/$name.deb", 'it is upgraded'),
        qr/^\Q$name\E: a running nginx uses the previous module, also after a reload, until "service nginx upgrade"\.$/m, '… the next step is named');
    is_deeply($enabled->(), ['50-mod-http-tollgate.conf'], 'its module is enabled');
    ok($is_loaded->(), '… and loaded');
    $sh->('rm /tmp/older.deb');
    my ($enabling) = $sh->("apt-get -qy --no-install-recommends install /tmp/$names[1].deb", 'the pet store is installed')
        =~ /^\Q$names[1]\E: the module is not enabled\. To enable it:\n +(ln -s .*)\n/m;
    is_deeply($enabled->(), ['50-mod-http-tollgate.conf'], '… and not enabled: it is an example');
    $sh->('nginx -t');
    like($sh->('tollgate --version'), qr/^[\d.]+$/, '… prints its version');
    like($sh->('tollgate key list; echo status $?'), qr/no connection to Redis at 127\.0\.0\.1:6379.*\nstatus 1$/s, 'its configuration is a comment');
    $sh->('echo "redis unix:/none;" > /etc/tollgate/tollgate.conf');
    like($sh->('tollgate key list; echo status $?'), qr/no connection to Redis at unix:\/none.*\nstatus 1$/s, '… which can be changed');

    $sh->($enabling // 'false', 'the administrator enables it, as the message says');
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
    is($refused && $refused->status, 401, 'a guarded location requires a key');
    is_deeply(http_get("127.0.0.1:$guarded", '/v1/pets')->json, [], '… and the pet store has no pets');

    # The warning on removal names files of the configuration that it breaks: also a file outside /etc/nginx, but none
    # that nginx does not read.
    $sh->('mv /etc/nginx/conf.d/guarded.conf /srv/ && ln -s /srv/guarded.conf /etc/nginx/conf.d/');
    $root->write('/etc/nginx/unread.conf', "tollgate off;\n");
    $root->write('/etc/nginx/conf.d/comment.conf', "# tollgate api; is in a comment only.\n");
    my $include = "/usr/share/doc/$name/examples/tollgate-http.conf";
    my $told = sub {
        my ($text, $package) = @_;
        my ($files) = $text =~ /^\Q$package\E: these files still use directives or variables of the module that is removed:\n((?:    \/.*\n)*)/m;
        return [sort split ' ', $files // ''];
    };
    my $text = $sh->("dpkg --remove $names[1]", 'the pet store is removed while a location uses it');
    is_deeply($told->($text, $names[1]), ['/etc/nginx/conf.d/guarded.conf'], '… the file is named');
    like($text, qr/Remove them, until "nginx -t" succeeds, or install \Q$names[1]\E again\./, '… and what to do');
    isnt(($root->run('nginx -t'))[0], 0, 'nginx rejects the configuration');
    $sh->("dpkg --install /tmp/$names[1].deb", 'installed again');
    $sh->('nginx -t', '… the configuration is valid');
    $root->write('/etc/nginx/conf.d/log.conf', "log_format verdict '\$remote_addr \${tollgate_verdict}';\ninclude snippets/tollgate-log-json.conf;\n");
    $text = $sh->("dpkg --remove $name", 'the gateway is removed while a location and a log use it');
    is_deeply($told->($text, $name), ['/etc/nginx/conf.d/guarded.conf', '/etc/nginx/conf.d/log.conf', '/etc/nginx/snippets/tollgate-log-json.conf', $include], '… the files are named');
    $sh->("dpkg --install /tmp/$name.deb", 'installed again');
    $sh->('rm /etc/nginx/conf.d/guarded.conf /etc/nginx/conf.d/log.conf /etc/nginx/conf.d/comment.conf /etc/nginx/unread.conf');
    $sh->("dpkg --purge $names[1]");
    is(http_get("127.0.0.1:$open", '/')->status, 200, 'nginx is still running');

    $text = $reloads->("dpkg --remove $name", 'it is removed');
    is_deeply($told->($text, $name), [], '… no file is named, as none uses it');
    # A configuration file of a package stays until it is purged (Debian Policy 6.8).
    $is_as_before->('but for its snippet,', '/etc/nginx/snippets/tollgate-log-json.conf');
    eval { wait_until('workers without it', sub { !$is_loaded->() }) };
    is($@, '', 'no process has its module loaded');

    $sh->("dpkg --install /tmp/$name.deb", 'installed once more');
    $sh->('rm /etc/nginx/modules-enabled/50-mod-http-tollgate.conf', 'the administrator disables the module');
    $sh->("dpkg --install /tmp/$name.deb", 'upgraded');
    is_deeply($enabled->(), [], 'a module that the administrator disabled stays disabled');
    $sh->("dpkg --remove $name && dpkg --install /tmp/$name.deb", 'removed and installed again');
    is_deeply($enabled->(), [], '… still disabled');

    # With systemd, whose systemctl here only notes what it is asked for.
    $root->write('/usr/bin/systemctl', "#!/bin/sh\necho \"\$*\" >> /tmp/systemctl.log\n");
    $sh->('chmod +x /usr/bin/systemctl; mkdir -p /run/systemd/system');
    my $asked = sub { $sh->("rm -f /tmp/systemctl.log; dpkg $_[0] > /dev/null; cat /tmp/systemctl.log", "dpkg $_[0]") };
    like($asked->('--install /tmp/tollgate.deb'), qr/daemon-reload\n.*try-restart tollgate-notify\.service/s, 'an upgrade restarts the unit of the command if it runs');
    like($asked->('--remove tollgate'), qr/stop tollgate-notify\.service\n.*daemon-reload/s, 'a removal stops it');
    $sh->('rm -r /usr/bin/systemctl /tmp/systemctl.log /run/systemd');

    $reloads->("dpkg --purge $name tollgate", 'it is purged');
    $is_as_before->('after that');
    is($sh->('find / -xdev -path /var/log -prune -o \( -name "*tollgate*" -o -name "*petstore*" \) -print | sort'),
        join('', map { "/tmp/$_.deb\n" } sort @names), 'nothing is left');

    my $visits = $visitor->finish;
    is_deeply([$visits->{broken}, keys %{ $visits->{status} }], [0, 200], 'no request of the client failed');
    is(($root->run('cat /run/nginx.pid'))[1], "$master\n", 'nginx was never restarted');
    my ($exit, $log) = $root->run('cat /var/log/nginx/error.log');
    my @complaints = grep { /\[(?:alert|emerg|crit|error|warn)\]/ && !/127\.0\.0\.1:6379/ } split /\n/, $log;
    like($complaints[0], qr/missing_api_key/, 'the log has the request without a key');
    is(@complaints, 1, '… and otherwise only that Redis is unreachable') or diag(@complaints);
    $sh->('invoke-rc.d nginx stop');
};

done_testing;
