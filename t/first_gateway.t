# Follows README.md's first gateway literally, on a machine that has only what conf/install installs and runs no
# servers: each command, each file, each shown line. Only the build is done beforehand, on the machine of the test.

use strict;
use warnings;
use lib 't/lib';
use ConsoleSession qw(commands_of first_not_printed);
use Cwd qw(abs_path getcwd);
use DebianRoot;
use File::Temp ();
use Markdown;
use Test::More;

plan skip_all => 'what is built with sanitizers is not packaged' if $ENV{TOLLGATE_SANITIZE};

# What is needed to use the gateway. conf/install installs it (see below).
my @present = qw(nginx redis-server curl);
my ($root, $why) = DebianRoot->make(packages => [@present, 'iproute2']);
plan skip_all => "no Debian of its own: $why" unless $root;

sub slurp { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }

# --- the contents of the page

my $page = Markdown->read(getcwd, 'README.md');
my ($text) = slurp('README.md') =~ /^## A first gateway\n(.*?)^## /ms;
my @files = $text =~ /`(\/etc\/nginx\/conf\.d\/[\w.-]+)`/g;
my @configurations = $page->blocks('nginx');
is(@configurations, @files, 'each configuration has a file');
my ($install, $start) = grep { index($text, $_->{text}) >= 0 } $page->blocks('sh');
my ($build_command, $apt_command) = split /\n/, $install->{text};
is($build_command, 'conf/install && conf/debian/configure build && (cd build && cpack -G DEB)', 'the build command');
my @sessions = map { commands_of($_->{text}) } $page->blocks('console');
cmp_ok(scalar @sessions, '>=', 6, 'sessions have commands');

my ($list) = slurp('conf/install') =~ /^packages=\((.*?)\)/ms;
is_deeply([grep { my $name = $_; !grep { $_ eq $name } split ' ', $list } @present], [], 'conf/install installs them');

# --- the machine

my $build = abs_path($ENV{TOLLGATE_BUILD} // 'build');
my $dir = File::Temp->newdir('first-gateway-XXXXXX', TMPDIR => 1);
my $made = `cpack -G DEB --config '$build/CPackConfig.cmake' -B '$dir' 2>&1`;
is($?, 0, 'the packages are made') or diag($made);

my ($exit, $output) = $root->run('mkdir -p /srv/tollgate/build');
$root->copy($_, '/srv/tollgate/build/') for glob "$dir/*.deb";
$root->write('/etc/apt/apt.conf.d/yes', qq(APT::Get::Assume-Yes "true";\n));
($exit, $output) = $root->run("apt-get -q update && cd /srv/tollgate && $apt_command");
is($exit, 0, $apt_command) or diag($output);
$root->write($files[$_], $configurations[$_]{text}) for 0 .. $#files;

# The rest runs in one shell, in a separate network namespace, with the ports of the page. The marks separate the
# outputs. The 61 requests must be in one minute.
my @commands = ((map { [$_] } split /\n/, $start->{text}), @sessions);
my $script = "ip link set lo up\n";
for my $command (@commands) {
    $script .= "while [ \$(date +%-S) -gt 40 ]; do sleep 1; done\n" if $command->[0] =~ /^KEY=/;
    $script .= "{ $command->[0]\n} 2>&1 < /dev/null; printf '\\n\\001%d\\n\\001' \$?\n";
}
$root->write('/srv/script', $script);
($exit, $output) = $root->run('cd / && exec unshare --net bash /srv/script');
my @outputs = split /\n\001/, $output;
for my $command (@commands) {
    my ($printed, $status) = splice @outputs, 0, 2;
    my ($line, @shown) = @$command;
    my $name = substr $line, 0, 70;
    is($status // 'not run', 0, $name) or diag($printed);
    is(first_not_printed(\@shown, $printed), undef, '… prints what is shown') or diag($printed);
    unlike($printed // '', qr/^tollgate: warning/m, '… and warns of nothing');
}

done_testing;
