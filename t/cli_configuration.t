# The configuration files of the command: what they may say, and what takes precedence.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use File::Path qw(make_path);
use File::Temp ();
use RedisServer;
use Test::More;

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $redis = RedisServer->start(tcp => 1, password => 'secret', conf => ['appendonly yes']);
my $other = RedisServer->start(tcp => 1, conf => ['appendonly yes']);
my $dir = File::Temp->newdir('configuration-XXXXXX', TMPDIR => 1);
my $binary = ($ENV{TOLLGATE_BUILD} // "$FindBin::Bin/../build") . '/tollgate';

sub write_file {
    my ($path, $text) = @_;
    make_path($path =~ s{/[^/]*$}{}r);
    open my $file, '>', $path or die "$path: $!\n";
    print $file $text;
    close $file;
}
sub configure { write_file("$dir/tollgate/tollgate.conf", $_[0]) }
sub says {
    my ($status, $out, $err, @command) = @_;
    my $result = $command[0]->run(@command[1 .. $#command]);
    is $result->{status}, $status, "@command[1 .. $#command]: status $status";
    like $result->{out}, $out, '… what it prints';
    like $result->{err}, $err, '… and what it says';
}
my $none = qr/\A\z/;
my $address = '127.0.0.1:' . $redis->port;
my $configured = Command->new(configuration => "$dir");
write_file("$dir/tollgate/password", "secret\n");
chmod 0640, "$dir/tollgate/password";

subtest 'the file of the user' => sub {
    configure("# Where Redis is\nredis redis://$address;\nprefix a:;\npassword_file password;\n");
    says(0, qr/\Atg_/, qr/\AThe key of x\. .*\n\z/, $configured, qw(key issue --plan free --id x));
    ok $redis->cmd('EXISTS', 'a:id:{x}'), 'has the address, the password and the prefix of Redis';
    says(0, qr/^x /m, $none, $configured, qw(key list));
    says(3, $none, qr/unknown id/, $configured, qw(key show x --prefix b:));
    says(3, $none, qr/unknown id/, $configured, qw(key show x --prefix), '');
    says(3, $none, qr/unknown id/, Command->new(configuration => "$dir", prefix => 'c:'), qw(key show x));
    says(0, qr/^id +x$/m, $none, Command->new(configuration => "$dir", prefix => 'c:'), qw(key show x --prefix a:));
};

subtest 'a password that every user can read' => sub {
    for my $case ([0644, 'read'], [0666, 'change']) {
        my ($mode, $verb) = @$case;
        chmod $mode, "$dir/tollgate/password";
        my $text = sprintf 'has the mode %04o, so every user of this machine can %s it: chmod 600', $mode, $verb;
        says(0, qr/^x /m, qr/\Atollgate: warning: the password_file \S+ \Q$text\E\n\z/, $configured, qw(key list));
    }
    chmod 0600, "$dir/tollgate/password";
};

subtest 'the password is sent to its Redis only' => sub {
    my @to_other = ('--redis', 'redis://127.0.0.1:' . $other->port);
    $other->cmd('CONFIG', 'RESETSTAT');
    says(3, $none, qr/unknown id/, $configured, qw(key show x), @to_other);
    says(3, $none, qr/unknown id/, Command->new(configuration => "$dir", redis => $to_other[1]), qw(key show x));
    unlike $other->cmd('INFO', 'commandstats'), qr/cmdstat_auth/, 'another server does not get it';
    configure("redis redis://:wrong\@$address; password_file password;");
    says(2, $none, qr/password_file of the configuration and the password of the Redis URL exclude each other/, $configured, qw(key list));
};

subtest 'mistakes' => sub {
    for my $case (
        ["redis redis://:canary\@h;\nport 7;", qr/: line 2: unknown directive: use redis, prefix or password_file$/],
        ["prefix a: b:;", qr/: line 1: invalid number of arguments in "prefix"$/],
        ["prefix a:;\nprefix a:;", qr/: line 2: "prefix" is duplicate$/],
        ["prefix a:", qr/: line 1: unexpected end of file/],
        ["redis nothing://:canary\@h;", qr/invalid Redis URL/],
    ) {
        my ($text, $message) = @$case;
        configure($text);
        says(2, $none, $message, $configured, qw(key list));
        unlike $configured->run(qw(key list))->{err}, qr/canary/, '… without values';
    }
    is $configured->run('man')->{status}, 0, 'a command that does not need the file works';
    my @given = ('--redis', $other->address, '--prefix', 'a:');
    says(0, $none, $none, $configured, qw(export keys), @given);
    unlink "$dir/tollgate/tollgate.conf";
    mkdir "$dir/tollgate/tollgate.conf";
    says(2, $none, qr/cannot read \S+tollgate\.conf: /, $configured, qw(key list));
    rmdir "$dir/tollgate/tollgate.conf";
};

subtest 'the file of the system' => sub {
    plan skip_all => 'no mounts' if system 'unshare --map-root-user --mount true 2> /dev/null';
    write_file("$dir/etc/tollgate/tollgate.conf", "redis redis://$address; prefix a:; password_file password;\n");
    write_file("$dir/etc/tollgate/password", "secret\n");
    chmod 0600, "$dir/etc/tollgate/password";
    my $with_etc = sub {
        my (@command) = @_;
        local %ENV = (%ENV, HOME => "$dir/home");
        delete @ENV{qw(XDG_CONFIG_HOME TOLLGATE_REDIS TOLLGATE_PREFIX)};
        open my $output, '-|', 'unshare', '--map-root-user', '--mount', 'sh', '-c', 'mount --bind "$1" /etc && shift && exec "$@" 2>&1', 'sh',
            "$dir/etc", $binary, @command or die "unshare: $!\n";
        local $/;
        return <$output> // '';
    };
    like $with_etc->(qw(key list)), qr/^x /m, 'has all values';
    write_file("$dir/home/.config/tollgate/tollgate.conf", 'prefix b:;');
    is $with_etc->(qw(key list --json)), "[]\n", 'that of the user has precedence';
    write_file("$dir/home/.config/tollgate/tollgate.conf", 'redis redis://127.0.0.1:' . $other->port . ';');
    is $with_etc->(qw(key list --json)), "[]\n", '… also for the address, and without the password of the other';
};

done_testing;
