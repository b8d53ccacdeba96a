# What t/bench/gateway counts in the output of valgrind: instructions and locks of callgrind, and shared cache lines of
# lackey. Which keys wrk sends, and the columns of the tables.

use strict;
use warnings;
use lib 't/lib', 't/bench/lib';
use ApiKeys;
use Callgrind;
use Comparison;
use Contender;
use File::Temp ();
use List::Util qw(max sum0);
use MemoryTrace;
use Nginx;
use Test::More;
use Wrk;

my $folder = File::Temp->newdir;

sub write_lines {
    open my $file, '>', "$folder/lines" or die $!;
    print $file map { "$_\n" } @_;
    close $file;
}

subtest 'callgrind' => sub {
    write_lines(
        'events: Ir',
        'ob=(1) /usr/sbin/nginx', 'fl=(1) ???', 'fn=(1) main', '0 10', '+5 7',
        'cob=(2) /tmp/module.so', 'cfn=(2) handle', 'calls=2 0', '* 100',
        'cob=(1)', 'cfn=(3) ngx_shmtx_lock', 'calls=3 0', '* 30',
        'ob=(2)', 'fn=(2)', '0 94',
        'cfn=(3)', 'calls=1 0', '* 6',
        'cfn=(4) ngx_shmtx_unlock', 'calls=9 0', '* 9',
        'totals: 147',
    );
    my $count = Callgrind::_read("$folder/lines");
    is($count->{instructions}, 147, 'instructions');
    is($count->{locks}, 4, 'locks');
    is_deeply($count->{functions}, { 'main [nginx]' => 17, 'handle [module.so]' => 94 },
        'a function has its own instructions, without those of its callees');
};

# Shared memory from 0x1000 to 0x2000; the functions are 0xa (a request begins), 0xb (it is freed), 0xc (its connection
# is reusable) and 0xd (a lock).
subtest 'lackey' => sub {
    my @end = ('I  0000000b,3', 'I  0000000c,3');
    write_lines(
        ' S 00001000,8',                                # before any request
        'I  0000000a,3', ' S 00001040,8', @end,         # not recorded
        'I  0000000a,3',                                # worker 0
        'I  0000000d,3',
        'I  0000000c,3',                                # another connection is reusable
        ' S 00001000,8', ' M 00001038,4',               # one line
        ' S 00001080,8', ' L 000010c0,8',
        ' S 00002000,8',                                # not shared
        @end,
        'I  0000000d,3', ' S 00001400,8',               # a timer
        'I  0000000a,3', ' L 00001008,8', ' S 00001100,8', @end,    # worker 1
    );
    my $trace = bless {
        folder => "$folder", names => [undef, ['row', 0], ['row', 1]], shared => [[0x1000, 0x2000]],
        create_request => 0xa, free_request => 0xb, reusable => 0xc,
    }, 'MemoryTrace';
    my $requests = $trace->counts->{row};
    is(scalar @$requests, 2, 'requests');
    is_deeply([map { [@$_{qw(locks written shared)}] } @$requests], [[1, 2, 1], [0, 1, 0]],
        'locks, lines that a request writes, and those of them that the other worker accesses');
};

subtest 'keys by the law of Zipf' => sub {
    my $keys = ApiKeys->make(plan => 'endless', count => 100, zipf => 1);
    open my $file, '<', $keys->file or die $!;
    chomp(my @lines = <$file>);
    my %lines;
    $lines{$_}++ for @lines;
    is_deeply([@lines[0 .. 99]], [map { $keys->token($_) } 0 .. 99], 'each key is there once at first');
    is($lines{ $keys->token(0) }, 1000, 'the first key');
    is($lines{ $keys->token(1) }, 500, 'the second has half');
    is($lines{ $keys->token(99) }, 10, 'the last has a hundredth');
    srand 1;
    my %drawn;
    $drawn{ $keys->draw }++ for 1 .. 10_000;
    my $share = $drawn{ $keys->token(0) } / 10_000;
    cmp_ok(abs($share - 1000 / @lines), '<', 0.03, 'keys are drawn with their share');
};

# The tokens of all requests, in the order of their responses.
sub tokens_of {
    my ($code) = @_;
    my $nginx = Nginx->start(modules => [], log_level => 'crit', conf => <<'END');
        log_format tokens $http_authorization;
        keepalive_requests 1000000;
        server { listen 127.0.0.1:%PORT%; location / { access_log %DIR%/tokens tokens; return 200; } }
END
    $code->($nginx->address);
    $nginx->stop;
    return map { s/^Bearer //r } split /\n/, Nginx::_read($nginx->dir . '/tokens');
}

SKIP: {
    skip 'no wrk', 3 if system 'wrk -v >/dev/null 2>&1; test $? -lt 127';
    my $wrk = Wrk->new(connections => 4);

    subtest 'requests until each key had some' => sub {
        my $keys = ApiKeys->make(plan => 'endless', count => 50, zipf => 1);
        my $result;
        my @tokens = tokens_of(sub { $result = $wrk->run($_[0], $keys, each => 4, least => 10, most => 1_000_000, seed => 1) });
        my %times;
        $times{$_}++ for @tokens;
        is(scalar keys %times, 50, 'each key');
        # wrk ends as soon as it has made the last request: one on each connection may not have arrived.
        cmp_ok(sum0(map { max(0, 4 - $_) } values %times), '<=', 4, 'four times');
        cmp_ok($result->{requests} - @tokens, '<=', 4, 'all but the last requests have arrived');
        cmp_ok($result->{requests}, '<', 100_000, 'not more than needed');
    };

    subtest 'requests within bounds' => sub {
        my %keys = map { $_ => ApiKeys->make(plan => 'endless', count => $_) } 1, 1000;
        tokens_of(sub {
            my ($address) = @_;
            is($wrk->run($address, $keys{1}, each => 4, least => 300, most => 5000, seed => 1)->{requests}, 300, 'at least');
            is($wrk->run($address, $keys{1000}, each => 4, least => 300, most => 500, seed => 1)->{requests}, 500, 'at most');
        });
    };

    subtest 'new keys' => sub {
        my $keys = ApiKeys->make(plan => 'endless', count => 10, new => 100, new_every => 20);
        my (%is_known, @results);
        $is_known{ $keys->token($_) } = 1 for 0 .. 9;
        my @tokens = tokens_of(sub {
            my $from = 0;
            for my $most (400, 1000) {
                push @results, $wrk->run($_[0], $keys, each => 1_000_000, least => $most, most => $most, seed => 1, from => $from);
                $from += $results[-1]{new};
            }
        });
        is_deeply([map { $_->{new} } @results], [20, 50], 'every 20th request');
        my %new;
        $new{$_}++ for grep { !$is_known{$_} } @tokens;
        is(scalar grep({ $_ > 1 } values %new), 0, 'each is new once');
        cmp_ok(scalar keys %new, '>=', 70 - 8, 'all but the last requests have arrived');
        ok(!(grep { !$new{ $keys->token(10 + $_) } } 0 .. 10), 'they come in their order');
    };
}

subtest 'columns' => sub {
    my $result = { rate => 1000, cpu => 10, redis => 1, calls => 0.01, ids => 0.05, ids_a_call => 5, requests => 100, errors => 0 };
    my $none = { %$result, calls => undef, ids => undef, ids_a_call => undef };
    my $pair = sub { bless { name => $_[0] }, 'Contender' };
    my $comparison = bless { pair => [$pair->('one'), $pair->('two')], results => [[$result, $none], [$none, $none]] }, 'Comparison';
    my $output = '';
    {
        open my $out, '>', \$output or die $!;
        my $stdout = select $out;
        Comparison->print_head('two');
        Comparison->print_divisors($comparison);
        $comparison->print(rate => '>= 1', cpu => '<= 0.5');
        select $stdout;
    }
    my ($head, undef, $divisor, $line) = split /\n/, $output;
    is(length $_, length $head, 'as wide as the head') for $divisor, $line;
    like($line, qr{^one +1000 +1\.00 +1\.00\.\.1\.00 +>= 1 +10\.0 +1\.00 .*<= 0\.5 missed +1\.0 +0\.0100 +0\.0500 +5\.0 +200 +0$}, 'all columns');
    like($divisor, qr{^two +1000 +10\.0 +1\.0 +- +- +- +200 +0$}, 'a gateway without Redis');
};

done_testing;
