# The modules can be built with nginx's ./configure --add-dynamic-module=.

use strict;
use warnings;
use lib 't/lib';
use Cwd qw(getcwd);
use File::Temp ();
use Test::More;
use Nginx;

plan skip_all => 'nginx builds them without sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $root = getcwd;
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // 'build');
my $source = '/usr/share/nginx/src';
my $dir = File::Temp->newdir('nginx-build-XXXXXX', TMPDIR => 1);

# nginx's make writes into its own folder. A folder of links keeps the sources clean.
symlink "$source/$_", "$dir/$_" or die "$_: $!\n" for qw(auto src configure);

sub bash {
    my ($command) = @_;
    my $output = `cd '$dir' && bash -c '$command' 2>&1`;
    return ($? >> 8, $output);
}

# The names of modules in a table that nginx loads, in their order.
sub names_in {
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    local $/;
    return [<$file> =~ /"(ngx_\w+)"/g];
}

# Without the optimizer and debug information, that takes less than half the time.
my ($exit, $output) =
    bash(". $source/conf_flags && ./configure \"\${NGX_CONF_FLAGS[\@]}\" --with-cc-opt=\"-O0 -g0\" --add-dynamic-module=$root");
is($exit, 0, 'configure accepts the modules') or diag($output);
($exit, $output) = bash('make -f objs/Makefile -j2 modules');
is($exit, 0, 'make builds them') or diag($output);
unlike($output, qr/warning:/, '… without a warning');

for my $module (qw(ngx_http_tollgate_module ngx_http_petstore_module)) {
    my @symbols = map { (split)[2] } `nm -D --defined-only '$dir/objs/$module.so'`;
    is_deeply([sort @symbols], [qw(ngx_module_names ngx_module_order ngx_modules)], "$module exports only the symbols that nginx needs");

    my $table = names_in("$dir/objs/${module}_modules.c");
    ok(@$table, '… its table has names of modules');
    is_deeply($table, names_in("$build/${module}_modules.c"), '… the same names as in CMake\'s build, in the same order');
}

for my $page (qw(dashboard console)) {
    ($exit, $output) = Nginx->test_config(modules => [glob "$dir/objs/*.so"], conf => <<"END");
        tollgate_redis main { server unix:/nonexistent.sock; }
        tollgate_plans api { plan free 60r/m; }
        server { listen unix:%DIR%/http.sock; location / { tollgate_$page; } }
END
    isnt($exit, 0, "this build has no $page");
    like($output, qr/"tollgate_$page": the page is not in this build of the module in .*:\d+/, '... and says so');
}

done_testing;
