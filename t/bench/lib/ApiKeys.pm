package ApiKeys;

# Many keys, in the format of `tollgate key issue`.
#
#   my $keys = ApiKeys->make(plan => 'endless', count => 10_000);
#   my $keys = ApiKeys->make(plan => 'endless', count => 1000, zipf => 1);
#   my $keys = ApiKeys->make(plan => 'endless', count => 1000, group => 'team');    # write_records writes the group, too
#   my $keys = ApiKeys->make(plan => 'endless', count => 10_000, new => 100_000, new_every => 20);
#   $keys->count, $keys->file                     # the file has one token per line, each token at least once
#   $keys->total                                  # with the new ones
#   $keys->new_file, $keys->new_every             # more tokens, one per line: every 20th request has the next of them;
#                                                 #   undefined without `new`
#   $keys->draw                                   # a token at random (srand): all are equally likely or, with zipf, the
#                                                 #   n-th has 1/n of the requests of the first
#   $keys->token(0), $keys->id(0)
#   $keys->write_records($redis, 't:');           # key:SHA256HEX, in bulk
#   $keys->write_digests($redis, 't:');           # id:{ID}
#   $keys->write_ids($redis, 't:');               # ids

use strict;
use warnings;
use Compress::Raw::Zlib ();
use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Resp;

my @base62 = (0 .. 9, 'A' .. 'Z', 'a' .. 'z');

sub make {
    my ($class, %options) = @_;
    my $self = bless { created => time, %options }, $class;
    $self->{drawn} = $self->_zipf if $self->{zipf};
    $self->{file} = $self->_write_tokens($self->{drawn} ? @{ $self->{drawn} } : 0 .. $self->{count} - 1);
    $self->{new_file} = $self->_write_tokens($self->{count} .. $self->total - 1) if $self->{new};
    return $self;
}

sub count     { $_[0]{count} }
sub file      { $_[0]{file}->filename }
sub new_file  { $_[0]{new_file} && $_[0]{new_file}->filename }
sub new_every { $_[0]{new_every} }
sub total     { $_[0]{count} + ($_[0]{new} // 0) }

sub _write_tokens {
    my ($self, @numbers) = @_;
    my $file = File::Temp->new;
    print $file $self->token($_), "\n" for @numbers;
    $file->flush;
    return $file;
}

sub draw {
    my ($self) = @_;
    my $drawn = $self->{drawn};
    return $self->token($drawn ? $drawn->[rand @$drawn] : int rand $self->{count});
}

# Numbers of keys, each as often as its share. The least frequent key is there 10 times. The first ones are each key once.
sub _zipf {
    my ($self) = @_;
    my $last = $self->{count} - 1;
    return [0 .. $last, map { ($_) x (int(10 * $self->{count} / ($_ + 1) + 0.5) - 1) } 0 .. $last];
}

sub _name {
    my ($self, $number) = @_;
    return join ' ', grep { defined } @$self{qw(plan count)}, $number, $self->{group};
}

sub id {
    my ($self, $number) = @_;
    return 'key_' . substr(sha256_hex($self->_name($number)), 0, 12);
}

sub token {
    my ($self, $number) = @_;
    my $text = 'tg_' . substr sha256_hex('token of ' . $self->_name($number)), 0, 32;
    my $checksum = Compress::Raw::Zlib::crc32($text);
    my $digits = '';
    for (1 .. 6) {
        $digits = $base62[$checksum % 62] . $digits;
        $checksum = int $checksum / 62;
    }
    return $text . $digits;
}

sub write_records {
    my ($self, $redis, $prefix) = @_;
    $self->_write($redis, sub {
        my ($number) = @_;
        return ('HSET', "${prefix}key:" . sha256_hex($self->token($number)), id => $self->id($number), name => '',
            plan => $self->{plan}, created => $self->{created}, state => 'active', $self->{group} ? (group => $self->{group}) : ());
    });
    $redis->cmd('HSET', "${prefix}group:{$self->{group}}", id => $self->{group}, plan => $self->{plan}) if $self->{group};
}

sub write_digests {
    my ($self, $redis, $prefix) = @_;
    $self->_write($redis, sub { ('SADD', "${prefix}id:{" . $self->id($_[0]) . '}', sha256_hex($self->token($_[0]))) });
}

sub write_ids {
    my ($self, $redis, $prefix) = @_;
    $self->_write($redis, sub { ('ZADD', "${prefix}ids", $self->{created}, $self->id($_[0])) });
}

sub _write {
    my ($self, $redis, $command) = @_;
    my $answer = File::Temp->new;
    open my $pipe, '|-', "redis-cli -s '@{[ $redis->socket ]}' --pipe > '$answer' 2>&1" or die "redis-cli: $!\n";
    my $total = $self->total;
    for my $number (0 .. $total - 1) {
        my @words = $command->($number);
        print $pipe Resp::encode(@words);
    }
    my $done = close $pipe;
    my $said = join '', <$answer>;
    die "redis-cli --pipe: $said" unless $done && $said =~ /errors: 0, replies: $total\b/;
}

1;
