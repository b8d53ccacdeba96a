package ClusterProxy;

# A proxy in front of the masters of a cluster, in a separate process. It closes all connections at the Nth command,
# counted over all masters, and refuses new connections from then on.
#
#   my $proxy = ClusterProxy->start(ports => [map { $_->port } $cluster->nodes], n => 5, when => 'before');
#   $proxy->url                  # redis+cluster://127.0.0.1:…: the addresses of the proxy
#   $proxy->reached              # whether there was an Nth command
#
# `before`: the cluster does not get the Nth command. `after`: it runs the command, and the reply is lost. The replies
# to CLUSTER SLOTS, and redirections, name the addresses of the proxy.

use strict;
use warnings;
use FakeRedis;
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use TestProcess;

sub start {
    my ($class, %options) = @_;
    my %listeners = map { $_ => IO::Socket::INET->new(Listen => 128, LocalAddr => '127.0.0.1') // die "listen: $!\n" } @{ $options{ports} };
    my $self = bless { %options, listeners => \%listeners, mark => File::Temp->new }, $class;
    $self->{public} = { map { $_ => $listeners{$_}->sockport } keys %listeners };
    $self->{process} = TestProcess->start('proxy of the cluster', sub { $self->_serve });
    delete $self->{listeners};
    return $self;
}

sub url { my ($self) = @_; return 'redis+cluster://' . join ',', map { "127.0.0.1:$self->{public}{$_}" } @{ $self->{ports} } }
sub reached { return -s $_[0]{mark}->filename }

sub _serve {
    my ($self) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $select = IO::Select->new(values %{ $self->{listeners} });
    my %port_of = map { fileno($self->{listeners}{$_}) => $_ } keys %{ $self->{listeners} };
    my (%links, $commands);
    while (1) {
        for my $socket ($select->can_read) {
            next unless defined fileno $socket;    # closed in this turn
            if (my $port = $port_of{ fileno $socket }) {
                my $client = $socket->accept or next;
                next if $self->{cut};
                my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or next;
                $_->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1) for $client, $server;
                $links{ fileno $client } = { client => $client, server => $server, in => '', out => '' };
                $select->add($client);
                next;
            }
            my $link = $links{ fileno $socket } or next;
            my $open = sysread $socket, $link->{in}, 1 << 20, length $link->{in};
            while ($open && defined(my $command = FakeRedis::_take_value(\$link->{in}))) {
                my $is_cut = ++$commands >= $self->{n};
                my $reply = $is_cut && $self->{when} eq 'before' ? undef : $self->_answer($link, $command);
                last if $self->{cut} = $is_cut;
                syswrite $link->{client}, $reply;
            }
            syswrite $self->{mark}, 'cut' if $self->{cut};    # before the command notices it
            my @ended = $self->{cut} ? values %links : $open ? () : $link;
            for my $ended (@ended) {
                delete $links{ fileno $ended->{client} };
                $select->remove($ended->{client});
                close $_ for @$ended{qw(client server)};
            }
        }
    }
}

# The server's reply to one command.
sub _answer {
    my ($self, $link, $command) = @_;
    syswrite $link->{server}, $command;
    my $reply;
    until (defined($reply = FakeRedis::_take_value(\$link->{out}))) {
        sysread $link->{server}, $link->{out}, 1 << 20, length $link->{out} or return "-ERR the server has gone\r\n";
    }
    $reply =~ s/^:(\d+)\r\n/':' . ($self->{public}{$1} \/\/ $1) . "\r\n"/gem if $command =~ /\r\nSLOTS\r\n/;
    $reply =~ s/^(-(?:MOVED|ASK) \d+ [^:]*:)(\d+)/$1 . ($self->{public}{$2} \/\/ $2)/e;
    return $reply;
}

1;
