# The pages of tollgate_dashboard and tollgate_console are part of each build unless -DDASHBOARD=OFF is set. Without esbuild or Chart.js, CMake
# fails and says what to install.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp ();
use Test::More;

plan skip_all => 'CMake configures the same files with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $build = abs_path($ENV{TOLLGATE_BUILD} // 'build');
my $output = '';
sub configure {
    my (@options) = @_;
    my $dir = File::Temp->newdir('dashboard-build-XXXXXX', TMPDIR => 1);
    # nginx's configure takes most of the time. Its result is the same for each of these options.
    symlink "$build/nginx", "$dir/nginx" or die "$dir/nginx: $!\n";
    $output = `cmake -S . -B '$dir' -DBUILD_TESTING=OFF -DCMAKE_UNITY_BUILD=OFF @options 2>&1`;
    my $exit = $? >> 8;
    my $sources = '';
    if (open my $file, '<', "$dir/compile_commands.json") {
        local $/;
        $sources = <$file>;
    }
    return ($exit, $sources);
}

# find_program and find_file treat OFF as a file that does not exist.
my %missing = (
    'esbuild'                => ['-DESBUILD=OFF'],
    'libjs-chart.js'         => ['-DCHARTJS=OFF'],
    'esbuild libjs-chart.js' => ['-DESBUILD=OFF', '-DCHARTJS_LICENCE=OFF'],
);
for my $packages (sort keys %missing) {
    my ($exit) = configure(@{ $missing{$packages} });
    isnt($exit, 0, "CMake fails without $packages");
    like($output =~ s/\s+/ /gr, qr/Install the Debian packages that are missing: \Q$packages\E\. Or build without the pages: cmake -DDASHBOARD=OFF/,
        '... and says what to install');
}

my ($exit, $sources) = configure('-DESBUILD=OFF', '-DCHARTJS=OFF', '-DDASHBOARD=OFF');
is($exit, 0, 'CMake succeeds with DASHBOARD=OFF') or diag($output);
like($sources, qr/no_page_templates\.cpp/, '... and builds without the pages');

done_testing;
