# The page of tollgate_dashboard is part of each build, unless the build is told to leave it out: without esbuild
# or Chart.js CMake fails and says what to install.

use strict;
use warnings;
use lib 't/lib';
use File::Temp ();
use Test::More;

my $output = '';
sub configure {
    my (@options) = @_;
    my $dir = File::Temp->newdir('dashboard-build-XXXXXX', TMPDIR => 1);
    $output = `cmake -S . -B '$dir' -DBUILD_TESTING=OFF @options 2>&1`;
    my $exit = $? >> 8;
    my $sources = '';
    if (open my $file, '<', "$dir/compile_commands.json") {
        local $/;
        $sources = <$file>;
    }
    return ($exit, $sources);
}

# OFF is what find_program and find_file take for a file that isn't there.
my %missing = (
    'esbuild'                => ['-DESBUILD=OFF'],
    'libjs-chart.js'         => ['-DCHARTJS=OFF'],
    'esbuild libjs-chart.js' => ['-DESBUILD=OFF', '-DCHARTJS_LICENCE=OFF'],
);
for my $packages (sort keys %missing) {
    my ($exit) = configure(@{ $missing{$packages} });
    isnt($exit, 0, "CMake fails without $packages");
    like($output =~ s/\s+/ /gr, qr/Install the Debian packages that are missing: \Q$packages\E\. Or build without the page: cmake -DDASHBOARD=OFF/,
        '... and says what to install');
}

my ($exit, $sources) = configure('-DESBUILD=OFF', '-DCHARTJS=OFF', '-DDASHBOARD=OFF');
is($exit, 0, 'it succeeds where the page is not wanted') or diag($output);
like($sources, qr/no_dashboard_template\.cpp/, '... and builds without the page');

done_testing;
