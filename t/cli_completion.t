# The manual page and the shell completions, which the build generates from the command's definition.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Cwd ();
use RedisServer;
use Test::More;
use Wait qw(becomes);

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $build = $ENV{TOLLGATE_BUILD} // 'build';
my $tollgate = Command->new;

sub read_file { open my $file, '<', $_[0] or die "$_[0]: $!\n"; local $/; return <$file> }

# The path of each command with its options and positionals, from the help.
my (%options, %help);
sub learn {
    my (@path) = @_;
    my $help = $help{"@path"} = $tollgate->run(@path, '--help')->{out};
    my ($subcommands) = $help =~ /^Subcommands:\n((?:  .*\n)+)/m;
    my ($positionals) = $help =~ /^Positionals:\n((?: .*\n)+)/m;
    my ($options) = $help =~ /^Options:\n((?: .*\n)+)/m;
    $options{"@path"} = [map { split /,/ } ($options // '') =~ /^  (-\S+)/mg];
    push @{ $options{"@path"} }, ($positionals // '') =~ /^  ([A-Z]+)/mg;
    learn(@path, $_) for ($subcommands // '') =~ /^  (\w+)/mg;
}
learn();
my @leaves = grep { my $path = $_; !grep { /^\Q$path\E / || ($path eq '' && $_ ne '') } keys %options } sort keys %options;
cmp_ok scalar(@leaves), '>=', 15, 'the help tells of commands';

subtest 'the help' => sub {
    for my $path (@leaves) {
        like $help{$path}, qr/\n\n\S.*:\n(?:  .*\n)*  .*\btollgate \Q$path\E\b/, "an example of tollgate $path";
        unlike $help{$path}, qr/^Exit status:/m, '… and what is about all commands is in the help of tollgate';
    }
    like $help{''}, qr/^Exit status: 0 success/m, '… once';
};

subtest 'the manual page' => sub {
    my $lint = `mandoc -Tlint $build/tollgate.1 2>&1`;
    is $lint, '', 'mandoc has nothing to say';
    my $warnings = `groff -man -Tutf8 -ww -z $build/tollgate.1 2>&1`;
    is $warnings, '', 'nor has groff';
    my $text = `mandoc -Tascii -Owidth=500 $build/tollgate.1`;
    $text =~ s/.\x08//g;
    for my $path (@leaves) {
        my ($section) = $text =~ /^   \Qtollgate $path\E\b.*\n((?:(?:       .*)?\n)+)/m;
        ok defined $section, "tollgate $path" or next;
        for my $option (grep { !/^(?:-h|--help)$/ } @{ $options{$path} }) {
            like $section, qr/^       \Q$option\E(?:[ ,]|$)/m, "… $option";
        }
    }
    my ($global) = $text =~ /^OPTIONS\n(.*?)^COMMANDS\n/ms;
    like $global, qr/(?:^ +|, )\Q$_\E\b/m, "global: $_" for @{ $options{''} };
    like $text, qr/^EXIT STATUS\n +0 success; /m, 'exit status';
    like $text, qr/TOLLGATE_REDIS.*TOLLGATE_PREFIX.*TOLLGATE_STATUS/s, 'environment';
    unlike $text, qr/\\/, 'no escape is left';
    my ($examples) = $text =~ /^EXAMPLES\n(.*?)^SEE ALSO/ms;
    my @examples = ($examples // '') =~ /^ {11}(tollgate .*)$/mg;
    cmp_ok scalar(@examples), '>=', @leaves, 'examples';
    for my $example (@examples) {
        my ($path) = grep { $example =~ /^tollgate \Q$_\E\b/ } @leaves;
        ok defined $path, $example or next;
        my %known = map { $_ => 1 } @{ $options{$path} }, @{ $options{''} };
        is_deeply [grep { !$known{$_} } $example =~ /(?<= )(--[\w-]+)/g], [], '… its options exist';
    }
    local $ENV{SOURCE_DATE_EPOCH} = 86400;
    like $tollgate->run('man')->{out}, qr/^\.TH TOLLGATE 1 1970-01-02 /, 'builds can be repeated';
};

# The completions that bash offers for the last word.
sub offers {
    my (@words) = @_;
    open my $bash, '-|', 'bash', '--noprofile', '--norc', '-c',
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); eval "$(complete -p tollgate | sed "s/.* -F \([^ ]*\).*/\1/")"; '
        . 'printf "%s\n" "${COMPREPLY[@]}"', "$build/completion/tollgate.bash", 'tollgate', @words or die $!;
    my @offers = grep { length } split /\n/, do { local $/; <$bash> // '' };
    close $bash;
    return [sort @offers];
}

subtest 'bash' => sub {
    is_deeply offers(''), [sort qw(key group ban import export audit usage notify top simulate status doctor completion man)], 'commands';
    is_deeply offers('key', ''), [sort qw(issue import find list show set disable enable revoke reindex reset rotate credit)], 'their commands';
    is_deeply offers('key', 'is'), ['issue'], 'by their beginning';
    is_deeply offers('--redis', 'redis', ':', '//h', ':', '1/0', 'key', 'ro'), ['rotate'], 'behind a URL, as bash parts it';
    is_deeply offers('--prefix', 'key', 'us'), ['usage'], 'a value is no command';
    is_deeply offers('--prefix', '=', 'key', 'us'), ['usage'], '… with = neither';
    is_deeply offers('top', '--sort', ''), [qw(refusals requests)], 'values';
    is_deeply offers('top', '--sort', '=', 'ref'), ['refusals'], '… with =';
    is_deeply offers('top', '--sort', '='), [qw(refusals requests)], '… right after it';
    is_deeply offers('key', 'issue', '--name', ''), [], 'of a value that could be anything nothing';
    is_deeply offers('completion', ''), [qw(bash zsh)], 'what an argument may be';
    is_deeply offers('simulate', 't/lib/Res'), ['t/lib/Resp.pm'], 'a file';
    is_deeply offers('simulate', '--plans', 't/lib/Res'), ['t/lib/Resp.pm'], '… as the value of an option';
    is_deeply offers('simulate', '--plan', 't/lib/Res'), [], '… not of others';
    for my $path (@leaves) {
        my %offered = map { $_ => 1 } @{ offers(split(/ /, $path), '-') };
        my @missing = grep { /^-/ && !$offered{$_} } @{ $options{$path} }, @{ $options{''} };
        is_deeply \@missing, [], "every option of tollgate $path";
    }
};

# What Redis has is offered for the Redis of the environment.
my $redis = RedisServer->start;
$redis->cmd('HSET', 't:plans', 'api', '{"plans":{"free":{"rates":["1r/s"]},"pro":{"unlimited":true}}}');
my $with_redis = Command->new(redis => $redis->address, prefix => 't:');
$with_redis->run(qw(key issue --plan free --id), $_) for qw(acme acme.2 other);
$with_redis->run(qw(group set --plan free), $_) for qw(gadgets widgets);
$redis->cmd('ZADD', 't:ids', 1, '$(touch canary)', 2, "acme;x", 3, 'acme y');
sub with_redis {
    my ($offered) = @_;
    local %ENV = (%ENV, TOLLGATE_REDIS => $redis->address, TOLLGATE_PREFIX => 't:', PATH => Cwd::abs_path($build) . ":$ENV{PATH}");
    return $offered->();
}

subtest 'what Redis has' => sub {
    # A shell does not wait long for Redis: on a busy machine, it offers nothing.
    my $offers_of_redis = sub { my @words = @_; return sub { join ' ', @{ with_redis(sub { offers(@words) }) } } };
    becomes($offers_of_redis->(@$_), 'free pro', "@$_") for ['key', 'issue', '--plan', ''], ['key', 'list', '--plan', '='];
    becomes($offers_of_redis->(@$_), 'acme acme.2 other', "@$_") for ['key', 'show', ''], ['usage', ''], ['audit', ''], ['ban', 'lift', ''];
    becomes($offers_of_redis->(@$_), 'gadgets widgets', "@$_") for ['group', 'show', ''], [qw(key set acme --group), ''];
    becomes($offers_of_redis->(qw(group usage w)), 'widgets', 'a group by its beginning');
    becomes($offers_of_redis->(qw(key revoke --yes ac)), 'acme acme.2', 'by their beginning');
    is_deeply with_redis(sub { offers(qw(key show $)) }), [], 'no name that a shell interprets';
    is_deeply with_redis(sub { offers(qw(key list), '') }), with_redis(sub { offers(qw(key list -)) }), '… and options where there is no id';
    is_deeply offers(qw(key show), ''), [], 'nothing without Redis';
    ok !-e 'canary', 'nothing was executed';
    my $zsh_offers = sub { my ($line, $offers) = @_; return sub { with_redis(sub { zsh_offers($line) }) =~ $offers ? 'offered' : '' } };
    becomes($zsh_offers->('tollgate key show ', qr/acme +acme\.2 +other/), 'offered', 'zsh: ids');
    becomes($zsh_offers->('tollgate key issue --plan ', qr/free +pro/), 'offered', 'zsh: plans');
    unlike $tollgate->run('--help')->{out}, qr/^  complete /m, 'the help does not list the command for it';
};

# The completions that zsh offers in a terminal, after a line and the tab key.
sub zsh_offers {
    my ($line) = @_;
    my $script = <<'END';
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PS1=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -D -u; source $1; stty -echo columns 200 rows 100"
        zpty -w shell "zstyle ':completion:*' list-separator '::'; setopt auto_list list_rows_first; LISTMAX=1000"
        zpty -w shell "offer() { zle expand-or-complete; zle -R; print -n '<comp''lete>' }; zle -N offer; bindkey '^I' offer"
        zpty -w shell "echo rea''dy"
        local seen
        while zpty -r shell line; do [[ $line == *ready* ]] && break; done
        zpty -w -n shell "$2"$'\t\t'
        local text
        zpty -r shell text '*<complete>*<complete>*'
        print -r -- $text
        zpty -d shell
END
    open my $zsh, '-|', 'zsh', '-f', '-c', $script, 'zsh', "$build/completion/_tollgate", $line or die $!;
    my $text = do { local $/; <$zsh> // '' };
    close $zsh;
    return $text;
}

subtest 'zsh' => sub {
    my $output = `zsh -n $build/completion/_tollgate 2>&1`;
    is $?, 0, 'the script is valid' or diag $output;
    my $commands = zsh_offers('tollgate ');
    like $commands, qr/\b$_\b/, "it offers $_" for qw(key ban import export audit usage notify top simulate status doctor completion man);
    like zsh_offers('tollgate key '), qr/\b$_\b/, "it offers key $_" for qw(rotate revoke);
    like zsh_offers('tollgate top --sort '), qr/refusals\s+requests/, 'values';
    like zsh_offers("tollgate simulate --plans $build/tollgate $build/tollg"), qr/tollgate\.1/, 'files';
    my $options = zsh_offers('tollgate --prefix x: key issue --');
    like $options, qr/--$_\b/, "it offers --$_" for qw(plan limits redis json);
};

done_testing;
