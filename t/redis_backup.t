# Tests "Backing up and restoring Redis" of module/docs/redis_data.md: its commands, and what it says about a restored dump.

use strict;
use warnings;
use lib 't/lib';
use Command;
use Cwd qw(getcwd);
use File::Temp ();
use Gateway qw(wait_for_room);
use Markdown;
use RedisServer;
use Test::More;
use Wait qw(becomes free_port);

my ($page) = grep { $_->path eq 'module/docs/redis_data.md' } Markdown->pages(getcwd);
my ($backup, $restore) = map { $_->{text} } grep { $_->{heading} eq 'Backing up and restoring Redis' } $page->blocks('sh');
like($restore // '', qr/SHUTDOWN/, 'two lists of commands are shown') or BAIL_OUT('the section has no commands');

my $redis = RedisServer->start(tcp => 1, conf => ['appendonly yes', 'appendfsync everysec']);
my $gateway = Gateway->start(redis_server => $redis, plans => 'plan free 5r/d;', redis => 'key_cache 2s;', workers => 2);
wait_for_room($redis, 86400, 60);
my $tollgate = Command->new(redis => $redis->address, prefix => 't:');
my %key = map { $_ => $tollgate->json(qw(key issue --plan free --id), $_)->{key} } qw(kept revoked disabled);
my $status = sub { $gateway->get('/', $key{ $_[0] })->status };
is($status->('kept'), 200, 'before the backup: a request of 5') for 1 .. 2;

my $dir = File::Temp->newdir('backup-XXXXXX', TMPDIR => 1);
my $second_port = free_port();
my $build = Cwd::abs_path($ENV{TOLLGATE_BUILD} // 'build');

# Runs commands of the page, on the ports and in the directories of this test, until one of them fails.
sub run_shown {
    my ($text) = @_;
    my $port = $redis->port;
    my $redis_dir = $redis->dir;
    $text =~ s/\b6379\b/$port/g;
    $text =~ s/\b6399\b/$second_port/g;
    $text =~ s/\bDIR\b/$redis_dir/g;
    $text =~ s/\bkey revoke ID\b/key revoke --yes revoked/;
    $text =~ s/--prefix tollgate:/--prefix t:/;
    open my $script, '>', "$dir/script" or die $!;
    print $script "set -e\ncd $dir\nPATH=$dir/bin:\$PATH\n$text";
    close $script;
    my $output = `timeout 60 bash $dir/script 2>&1 < /dev/null`;
    return ($?, $output);
}
mkdir "$dir/bin";
symlink "$build/tollgate", "$dir/bin/tollgate" or die $!;

my ($exit, $output) = run_shown($backup);
is($exit, 0, 'the backup is written') or diag($output);
is((stat "$dir/tollgate-backup.rdb")[2] & 0777, 0600, '… for its owner only');

$tollgate->run(qw(key revoke --yes revoked));
$tollgate->run(qw(key disable disabled));
$key{issued} = $tollgate->json(qw(key issue --plan free --id issued))->{key};
is($status->('issued'), 200, 'a key that is issued after the backup');
is($status->('kept'), 200, '… and further requests') for 1 .. 3;
is($status->('kept'), 429, '… until the quota is spent');
becomes(sub { $status->($_) }, 401, "the key that is $_ since is refused") for qw(revoked disabled);

$redis->stop;
($exit, $output) = run_shown($restore);
is($exit, 0, 'the backup is restored') or diag($output);
unlike($output, qr/error|not found/i, '… without errors');
$redis->restart;
$gateway->subscribed(2);

becomes(sub { $status->('issued') }, 401, 'a key that was issued after the backup is gone, after key_cache also on a node that knew it');
becomes(sub { $status->('disabled') }, 200, 'a key that was disabled after the backup is valid again');
becomes(sub { $status->('revoked') }, 401, '… except for the one that was revoked again');
is($gateway->count('kept', 'api', 86400), 2, 'the count is that of the backup');
becomes(sub { $status->('kept') }, 200, '… and the client can use the same units again');
ok(-d $redis->dir . '/appendonlydir', 'Redis writes its append only file');
ok(-d $redis->dir . '/appendonlydir.old', '… and the old one is kept');

$gateway->nginx->stop;
done_testing;
