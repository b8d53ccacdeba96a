package Spectral;

# Lints an OpenAPI document with Spectral, which npm installs. TOLLGATE_SPECTRAL names an installed one.
#
#   my ($problems, $why_not) = lint_openapi($file);    # '' without problems; undef, and why, if Spectral is not here

use strict;
use warnings;
use Exporter 'import';
use File::Temp ();

our @EXPORT_OK = qw(lint_openapi);

my $dir;

sub lint_openapi {
    my ($file) = @_;
    return (undef, 'no npm here') if system 'npm --version >/dev/null 2>&1';
    $dir //= File::Temp->newdir('spectral-XXXXXX', TMPDIR => 1);
    my $spectral = $ENV{TOLLGATE_SPECTRAL} // "$dir/node_modules/.bin/spectral";
    if (!-x $spectral) {
        my $log = `npm install --prefix '$dir' --no-audit --no-fund --ignore-scripts \@stoplight/spectral-cli\@6 2>&1`;
        return (undef, "Spectral can't be installed: $log") if $?;
    }
    open my $rules, '>', "$dir/spectral.json" or die "spectral.json: $!\n";
    print $rules '{"extends": ["spectral:oas"]}';
    close $rules;
    my $output = `$spectral lint --fail-severity=hint --ruleset '$dir/spectral.json' '$file' 2>&1`;
    return $? ? $output : '';
}

1;
