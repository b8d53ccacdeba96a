package Sqlite;

# A connection to a database file, in a sqlite3 process of its own: to read the database, and to lock it.
#
#   my $db = Sqlite->open($path);
#   my @lines = $db->run('SELECT id, name FROM pets');     # columns are separated by |
#   $db->run('BEGIN IMMEDIATE');                           # blocks other writers until
#   $db->run('COMMIT');                                    # or until the object is destroyed
#
# Waits up to 30 s for a lock. Dies with sqlite3's message on an error.

use strict;
use warnings;
use IO::Handle;
use IPC::Open2 ();

sub open {
    my ($class, $path) = @_;
    my $pid = IPC::Open2::open2(my $out, my $in, "exec sqlite3 -batch '$path' 2>&1");
    my $self = bless { in => $in, out => $out, pid => $pid }, $class;
    $self->run('.timeout 30000');
    return $self;
}

sub run {
    my ($self, $sql) = @_;
    $sql .= ';' unless $sql =~ /^\.|;\s*$/;
    print { $self->{in} } "$sql\n.print end-of-output\n";
    $self->{in}->flush;
    my @lines;
    while (defined(my $line = readline $self->{out})) {
        chomp $line;
        return @lines if $line eq 'end-of-output';
        die "$line\n" if $line =~ /^(?:Parse |Runtime )?[Ee]rror/;
        push @lines, $line;
    }
    die "sqlite3 ended: @lines\n";
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $!);
    close $self->{in};
    waitpid $self->{pid}, 0;
}

1;
