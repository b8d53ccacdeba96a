package WebhookReceiver;

# A receiver of webhooks that answers when the test says so.
#
#   my $receiver = WebhookReceiver->new;
#   $receiver->url                                  # unix:PATH:/hook
#   my $hook = $receiver->accept;                   # waits for a request, and reads all of it
#   my $hook = $receiver->accept_within(0.5);       # nothing if there is none within this time
#   $hook->{id}, $hook->{timestamp}, $hook->{signature}, $hook->{type}, $hook->{body}, $hook->{json}
#   $hook->answer(204);                             # and closes the connection; without it, the sender waits
#   $receiver->close; $receiver->open;              # connections are refused meanwhile

use strict;
use warnings;
use File::Temp ();
use IO::Select;
use IO::Socket::UNIX;
use JSON::PP ();

sub new {
    my ($class) = @_;
    my $dir = File::Temp->newdir('receiver-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, path => "$dir/receiver.sock" }, $class;
    $self->open;
    return $self;
}

sub url { "unix:$_[0]{path}:/hook" }

sub open {
    my ($self) = @_;
    $self->{listening} = IO::Socket::UNIX->new(Local => $self->{path}, Listen => 64) or die "$self->{path}: $!\n";
}

sub close {
    my ($self) = @_;
    delete $self->{listening};
    unlink $self->{path};
}

sub accept {
    my ($self) = @_;
    return $self->accept_within(40) // die "no webhook\n";
}

sub accept_within {
    my ($self, $seconds) = @_;
    my $end = time + $seconds;
    while (IO::Select->new($self->{listening})->can_read($seconds)) {
        my $hook = _read($self->{listening}->accept);
        return $hook if $hook;
        return if time > $end;
    }
    return;
}

# Nothing if the sender ends within its request.
sub _read {
    my ($connection) = @_;
    my $request = '';
    my $more = sub { $connection->sysread($request, 65536, length $request) };
    $more->() or return until $request =~ /\r\n\r\n/;
    my ($head, $body) = split /\r\n\r\n/, $request, 2;
    my ($length) = $head =~ /^content-length: (\d+)\r?$/mi or die "no length in $head\n";
    while (length $body < $length) {
        $connection->sysread($body, 65536, length $body) or return;
    }
    my %field = map { lc $_->[0] => $_->[1] } map { [split /: */, $_, 2] } (split /\r\n/, $head)[1 .. ($head =~ tr/\n//)];
    return bless {
        connection => $connection,
        line       => (split /\r\n/, $head)[0],
        fields     => \%field,
        id         => $field{'webhook-id'},
        timestamp  => $field{'webhook-timestamp'},
        signature  => $field{'webhook-signature'},
        type       => $field{'content-type'},
        body       => $body,
        json       => JSON::PP::decode_json($body),
    }, 'WebhookReceiver::Hook';
}

package WebhookReceiver::Hook;

sub answer {
    my ($self, $status) = @_;
    local $SIG{PIPE} = 'IGNORE';
    $self->{connection}->syswrite("HTTP/1.1 $status Any\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n");
    $self->{connection}->close;
    return $self;
}

# Whether the sender has closed the connection.
sub is_closed {
    my ($self) = @_;
    my $rest = '';
    return IO::Select->new($self->{connection})->can_read(0) && !$self->{connection}->sysread($rest, 1);
}

1;
