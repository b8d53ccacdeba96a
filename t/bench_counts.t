# What t/bench/gateway counts in the output of valgrind: instructions and locks of callgrind, and shared cache lines of
# lackey.

use strict;
use warnings;
use lib 't/lib', 't/bench/lib';
use ApiKeys;
use Callgrind;
use File::Temp ();
use MemoryTrace;
use Test::More;

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

done_testing;
