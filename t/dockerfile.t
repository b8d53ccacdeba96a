# The steps of conf/Dockerfile, run in a temporary Debian, since a test has no containers. The first stage builds the
# packages with the command of README.md, which `t/matrix packages-13` runs. Here they are made on the machine of the
# test.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use DebianRoot;
use File::Temp ();
use Http qw(http_get);
use Test::More;
use Wait qw(wait_until free_port);

plan skip_all => 'what is built with sanitizers is not packaged' if $ENV{TOLLGATE_SANITIZE};
my ($root, $why) = DebianRoot->make(packages => ['ca-certificates']);
plan skip_all => "no Debian of its own: $why" unless $root;

sub slurp { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return <$file> }

# [instruction, argument] of each step, in stages.
my @stages;
for my $line (split /\n/, slurp('conf/Dockerfile') =~ s/^#.*\n//gmr =~ s/\\\n\s*//gr) {
    my ($instruction, $argument) = $line =~ /^([A-Z]+) (.*)$/ or next;
    push @stages, [] if $instruction eq 'FROM';
    push @{ $stages[-1] }, [$instruction, $argument];
}
is(@stages, 2, 'two stages');
my ($build) = map { $_->[1] } grep { $_->[0] eq 'RUN' } @{ $stages[0] };
like(slurp('README.md'), qr/^\Q$build\E$/m, 'the first one builds as README.md says');

my $dir = File::Temp->newdir('dockerfile-XXXXXX', TMPDIR => 1);
my $made = `cpack -G DEB --config '@{[abs_path($ENV{TOLLGATE_BUILD} // 'build')]}/CPackConfig.cmake' -B '$dir' 2>&1`;
is($?, 0, 'the packages are made') or diag($made);

my ($command, $stop, $health);
for my $step (@{ $stages[1] }) {
    my ($instruction, $argument) = @$step;
    if ($instruction eq 'COPY') {
        is($argument, '--from=build /srv/tollgate/build/*.deb /tmp/', 'the packages are copied');
        $root->copy($_, '/tmp/') for glob "$dir/*.deb";
    } elsif ($instruction eq 'RUN') {
        my ($exit, $output) = $root->run($argument);
        is($exit, 0, $argument) or diag($output);
    } elsif ($instruction eq 'HEALTHCHECK') {
        ($health) = $argument =~ / ?CMD (.*)/;
    } elsif ($instruction eq 'STOPSIGNAL') {
        $stop = $argument =~ s/^SIG//r;
    } elsif ($instruction eq 'CMD') {
        $command = join ' ', map { "'$_'" } $argument =~ /"([^"]*)"/g;
    }
}

my $port = free_port();
my ($exit, $output) = $root->run('ls /tmp /etc/nginx/sites-enabled');
unlike($output, qr/\.deb|default/, 'neither a package nor the default site is left');
# The machine of the test has other servers.
my $health_port = free_port();
$root->run("sed -i s/8079/$health_port/ /etc/nginx/conf.d/health.conf");
$health =~ s/8079/$health_port/;
isnt(($root->run($health))[0], 0, 'not healthy before nginx runs');
$root->write('/etc/nginx/conf.d/gateway.conf', <<"END");
tollgate_redis main { server 127.0.0.1:1; }
tollgate_plans api  { plan free 60r/m; }
server { listen 127.0.0.1:$port; location / { tollgate api; } }
END
($exit, $output) = $root->run("$command < /dev/null > /tmp/output 2>&1 & echo \$!");
my ($pid) = $output =~ /^(\d+)$/ or diag($output);
my $r = eval { wait_until('nginx', sub { eval { http_get("127.0.0.1:$port", '/') } }) };
is($r && $r->status, 401, 'the image serves') or diag($root->run('cat /tmp/output'));
like(($root->run('cat /tmp/output'))[1], qr/ 401 /, 'its logs are its output');
($exit, $output) = $root->run($health);
is($exit, 0, 'it is healthy') or diag($output);
($exit, $output) = $root->run("kill -$stop $pid && timeout 60 tail --pid=$pid -f /dev/null && tollgate --version");
is($exit, 0, 'it stops');
like($output, qr/^[\d.]+$/, 'it has the command');
done_testing;
