package DebianRoot;

# A temporary Debian of the running release, made with debootstrap in memory, in a separate namespace. Its mounts and
# processes end when the object is destroyed, also if the test dies. It uses the machine's network.
#
#   my ($root, $why) = DebianRoot->make(packages => ['nginx']);    # undef and the reason if it cannot be made
#   my ($exit, $output) = $root->run('apt-get update');            # a shell command line, run as root in the new system
#   $root->copy($file => '/tmp/file');
#   $root->write('/etc/motd' => $text);
#   $root->list('/etc')                       # every file below: name, kind, target of a link, size and mode
#
# Packages come from the same sources as those of the machine's apt. No package starts a server when it is installed.

use strict;
use warnings;
use File::Temp ();
use IPC::Open2 qw(open2);

# Prints its pid in the machine's namespace (/proc is still the machine's), then runs until the test closes its pipe:
# the processes and mounts of the namespace end with its first process. As the first process it inherits daemons and
# reaps them when they exit; a stop script takes a zombie for a running process.
my $first_process = <<'END';
    mount -t tmpfs -o mode=755,size=1g tmpfs "$1" && mknod "$1/null" c 1 3 && mkdir "$1/proc" &&
    mount -t proc proc "$1/proc" && chroot / true || exit
    umount "$1/proc" && rm -r "$1/proc" "$1/null" && read -r pid rest < /proc/self/stat && echo "$pid" || exit
    exec perl -e '$SIG{CHLD} = sub { 1 while waitpid(-1, 1) > 0 }; 1 until defined(sysread STDIN, my $byte, 1)'
END

sub make {
    my ($class, %options) = @_;
    return (undef, 'only root can') if $>;
    return (undef, 'debootstrap is not installed') unless -x '/usr/sbin/debootstrap';
    my @sources = _sources() or return (undef, 'apt has no Debian of this release, over HTTP, among its sources');

    my $self = bless { dir => File::Temp->newdir('debian-root-XXXXXX', TMPDIR => 1) }, $class;
    my @unshare = qw(unshare --mount --pid --fork --kill-child);
    $self->{holder} = open2($self->{out}, $self->{in}, @unshare, 'sh', '-c', $first_process, 'sh', "$self->{dir}");
    chomp($self->{pid} = readline($self->{out}) // '');
    return (undef, 'this root may not mount, make devices or chroot') unless $self->{pid};

    # The proxy may be configured for apt only; debootstrap uses wget.
    my (undef, $proxy) = _capture('apt-config', 'shell', 'proxy', 'Acquire::http::Proxy');
    local $ENV{http_proxy} = $ENV{http_proxy} // ($proxy =~ /^proxy='(.+)'$/m)[0] // '';

    my ($first) = grep { $_->{release} !~ /-/ } @sources;
    my @packages = @{ $options{packages} };
    push @packages, 'ca-certificates' if grep { $_->{uri} =~ /^https:/ } @sources;
    my ($exit, $output) = $self->_enter('debootstrap', '--variant=minbase', '--include=' . join(',', @packages),
        $first->{release}, "$self->{dir}", $first->{uri});
    return (undef, "debootstrap failed:\n$output") if $exit;

    $self->write('/etc/apt/sources.list', join '', map { "deb $_->{uri} $_->{release} main\n" } @sources);
    ($exit, $output) = $self->_enter('mount', '-t', 'proc', 'proc', "$self->{dir}/proc");
    die "$output\n" if $exit;
    return $self;
}

sub run {
    my ($self, $command) = @_;
    return $self->_enter('chroot', "$self->{dir}", 'env', 'LC_ALL=C', 'DEBIAN_FRONTEND=noninteractive',
        'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'sh', '-c', $command);
}

sub copy {
    my ($self, $file, $path) = @_;
    my ($exit, $output) = $self->_enter('cp', $file, "$self->{dir}$path");
    die $output if $exit;
    return;
}

sub write {
    my ($self, $path, $text) = @_;
    my $file = File::Temp->new;
    print {$file} $text;
    close $file;
    $self->copy("$file", $path);
    my ($exit, $output) = $self->run("chmod 644 $path");
    die $output if $exit;
    return;
}

sub list {
    my ($self, $folder) = @_;
    my ($exit, $output) = $self->run("find $folder -printf '%p %y %l %s %m\\n'");
    die $output if $exit;
    # The size of a folder depends on files that existed earlier.
    return [sort map { s/ d  \d+ / d /r } split /\n/, $output];
}

# Apt's sources of this release of Debian: [{ release => …, uri => … }].
sub _sources {
    open my $file, '<', '/etc/os-release' or return;
    my ($codename) = map { /^VERSION_CODENAME=(\w+)$/ ? $1 : () } <$file>;
    my (undef, $targets) = _capture('apt-get', 'indextargets',
        '--format', '$(CODENAME) $(RELEASE) $(COMPONENT) $(REPO_URI) $(ORIGIN)', 'Identifier: Packages');
    my @sources;
    for my $target (split /\n/, $targets) {
        my ($name, $release, $component, $uri, $origin) = split / /, $target, 5;
        # Before the first update, apt has only the contents of the sources, and leaves the other placeholders
        # unchanged.
        $name = $release if $name =~ /^\$/;
        next unless $component eq 'main' && $uri =~ /^https?:/ && ($origin // '') =~ /^(?:Debian$|\$|$)/;
        push @sources, { release => $name, uri => $uri } if $name =~ /^\Q$codename\E(?:-updates|-security)?$/;
    }
    return (grep { $_->{release} eq $codename } @sources) ? @sources : ();
}

sub _enter {
    my ($self, @command) = @_;
    return _capture('nsenter', '--target', $self->{pid}, '--mount', '--pid', '--root', '--', @command);
}

sub _capture {
    my (@command) = @_;
    open my $from, '-|', 'sh', '-c', 'exec "$@" < /dev/null 2>&1', 'sh', @command or die "$command[0]: $!\n";
    local $/;
    my $output = <$from>;
    close $from;
    return ($? >> 8 || $? & 127, $output);
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    return unless $self->{holder};
    close $self->{in};
    waitpid delete $self->{holder}, 0;
}

1;
