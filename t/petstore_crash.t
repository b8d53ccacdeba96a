# 64 clients write to two instances with one database, while workers and masters are killed 50 times (SIGKILL), reloaded
# and upgraded. Each pet that was confirmed with 201 is stored once, and the database file is intact.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Http;
use IO::Select;
use IO::Socket::UNIX;
use Nginx;
use POSIX ();
use Sqlite;
use Test::More;
use Wait qw(wait_until);

my $rounds = $ENV{TOLLGATE_CRASHES} // 50;
my $clients = 32;    # of each instance

sub start {
    my ($path) = @_;
    return Nginx->start(workers => 2, conf => <<"END");
        keepalive_requests 1000000;
        server { listen unix:%DIR%/http.sock backlog=512; location /v1/ { petstore $path; } }
END
}

# Adds pets with unique names over `$clients` connections, and appends a line with id and name to a file for each
# acknowledged pet. A closed connection is opened again. Runs in a separate process until SIGTERM.
sub write_pets {
    my ($address, $prefix, $journal) = @_;
    my $goes_on = 1;
    local $SIG{TERM} = sub { $goes_on = 0 };
    local $SIG{PIPE} = 'IGNORE';
    open my $acknowledged, '>>', $journal or die "$journal: $!";
    my ($select, $number, %name, %answer) = (IO::Select->new, 0);
    my $post = sub {
        my ($socket) = @_;
        my $name = $name{$socket} = "$prefix-" . $number++;
        $answer{$socket} = '';
        my %headers = ('Content-Type' => 'application/json');
        $socket->syswrite(Http::format_request('POST', '/v1/pets', \%headers, qq({"name":"$name","categoryId":1})));
    };
    while ($goes_on) {
        while ($select->count < $clients) {
            my $socket = IO::Socket::UNIX->new(Peer => $address) or last;
            $select->add($socket);
            $post->($socket);
        }
        my $opened = $select->count or select undef, undef, undef, 0.01;    # nginx is not listening: try again
        for my $socket ($opened ? $select->can_read(1) : ()) {
            if (!$socket->sysread($answer{$socket}, 4096, length $answer{$socket})) {
                $select->remove($socket);
                $socket->close;
            } elsif ($answer{$socket} =~ m{^HTTP/1.1 (\d+).*\r\n\r\n(?:\{"id":(\d+).*\})$}s) {
                syswrite $acknowledged, "$2 $name{$socket}\n" if $1 == 201;
                $post->($socket);
            } elsif ($answer{$socket} =~ m{^HTTP/1.1 [45]\d\d.*\}$}s) {
                syswrite $acknowledged, "refused $answer{$socket}\n";
                $post->($socket);
            }
        }
    }
}

my $first = start('%DIR%/pets.db');
my $path = $first->dir . '/pets.db';
my @instances = ($first, start($path));
my $journal = $first->dir . '/acknowledged';

my @writers;
for my $i (0 .. $#instances) {
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        write_pets($instances[$i]->dir . '/http.sock', "w$i", "$journal.$i");
        POSIX::_exit(0);
    }
    push @writers, $pid;
}
END { kill KILL => @writers if @writers }

sub journal_size { return join ' ', map { -s "$journal.$_" // 0 } 0 .. $#instances }

for my $round (1 .. $rounds) {
    my $nginx = $instances[$round % 2];
    my $i = $round % 2;
    my $before = -s "$journal.$i" // 0;
    wait_until('acknowledged pets', sub { (-s "$journal.$i" // 0) > $before + 1000 }, 30);
    if ($round % 5) {
        $nginx->kill_worker(($nginx->workers)[$round % 3 ? 0 : 1]);
    } else {    # every other time both instances, so that SQLite recovers the database from the log
        my @killed = $round % 10 ? $nginx : @instances;
        $_->kill_all for @killed;
        $_->start_again for @killed;
    }
    $nginx->reload if $round % 6 == 0;
    $nginx->upgrade if $round % 11 == 0;
}

kill TERM => @writers;
waitpid $_, 0 for splice @writers;
$_->stop for @instances;

my $db = Sqlite->open($path);
my %stored = map { split /\|/ } $db->run('SELECT id, name FROM pets');
my (%acknowledged, @refused, @wrong);
for my $i (0 .. $#instances) {
    open my $file, '<', "$journal.$i" or die;
    while (my $line = <$file>) {
        my ($id, $name) = split ' ', $line;
        if ($line =~ /^refused (.*)/) {
            push @refused, $line;
        } elsif ($line =~ /^\d+ w/) {
            push @wrong, $line if $acknowledged{$id}++ || ($stored{$id} // '') ne $name;
        }
    }
}
cmp_ok(scalar keys %acknowledged, '>', $rounds, scalar(keys %acknowledged) . ' pets were acknowledged');
is("@wrong[0 .. ($#wrong > 5 ? 5 : $#wrong)]", '', 'each is stored, with its own id');
is("@refused[0 .. ($#refused > 5 ? 5 : $#refused)]", '', 'no request got an error');
my %names;
$names{$_}++ for values %stored;
is_deeply([grep { $names{$_} > 1 } keys %names], [], 'no pet was stored twice');
is(join("\n", $db->run('PRAGMA integrity_check')), 'ok', 'the database file is intact');

done_testing;
