package Verify::History;

# The history of a run: what clients, management and the fault injector saw. A text file; each line is a record: its
# kind, and fields NAME=VALUE, separated by tabs. Times are Unix seconds of one clock, which all processes of a run
# share and which no fault shifts.
#
#   my $file = Verify::History->append("$dir/client1", $begin);     # a process's own part; `begin` is Verify::Clock's
#   $file->write(req => { id => 'hot1', status => 200, … });
#   Verify::History->merge("$dir/history", glob "$dir/part-*");
#   my $history = Verify::History->read("$dir/history");            # or from_text, of a unit test
#   $history->of('req')                  # the records of a kind, by the time they began (`begin`, otherwise `at`)
#   $history->requests('hot1')           # those of kind `req` of an id
#   $history->changes                    # those of kind `op` that change keys and groups: all but credits
#   $history->config                     # the `config` record's JSON
#   $history->rounds                     # [{ begin, end, number, … }, …]: see HISTORY.md
#   $history->redis_time($from, $to)     # the earliest and the latest time of Redis's clock between two times
#
# HISTORY.md lists the kinds and their fields.

use strict;
use warnings;
use JSON::PP   ();
use List::Util qw(max min);

my %escape = ("\\" => "\\\\", "\t" => "\\t", "\n" => "\\n", "\r" => "\\r");
my %unescape = reverse %escape;

sub append {
    my ($class, $path) = @_;
    open my $file, '>>', $path or die "$path: $!\n";
    return bless { file => $file }, $class;
}

# Each record is one write: what a process that is killed has written is complete.
sub write {
    my ($self, $kind, $fields) = @_;
    syswrite $self->{file}, line($kind, $fields) or die "history: $!\n";
}

sub line {
    my ($kind, $fields) = @_;
    my @words = map { my $value = $fields->{$_}; "$_=" . (ref $value ? JSON::PP->new->canonical->encode($value) : $value) }
        grep { defined $fields->{$_} } sort keys %$fields;
    s/([\\\t\n\r])/$escape{$1}/g for @words;
    return join("\t", $kind, @words) . "\n";
}

sub merge {
    my ($class, $target, @parts) = @_;
    open my $out, '>', $target or die "$target: $!\n";
    for my $part (@parts) {
        open my $in, '<', $part or die "$part: $!\n";
        print {$out} $_ while <$in>;
    }
    close $out or die "$target: $!\n";
}

sub read {
    my ($class, $path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    return $class->_read($file);
}

sub from_text {
    my ($class, $text) = @_;
    open my $file, '<', \$text or die $!;
    return $class->_read($file);
}

sub _read {
    my ($class, $file) = @_;
    my $self = bless { of => {}, requests => {} }, $class;
    my %seen;
    while (my $line = <$file>) {
        chomp $line;
        next if $line !~ /\S/ || $line =~ /^\s*#/;
        my ($kind, @words) = split /\t/, $line =~ s/^\s+//r;
        @words = split ' ', $kind and $kind = shift @words if !@words;    # hand-written: separated by spaces
        my %record;
        for my $word (@words) {
            my ($name, $value) = split /=/, $word, 2;
            die "not a field: $word in: $line\n" unless defined $value;
            $value =~ s/(\\.)/$unescape{$1} \/\/ $1/ge if index($value, "\\") >= 0;
            $record{$name} = length $value < 16 ? $seen{$value} //= $value : $value;
        }
        delete @record{qw(client n)} if $kind eq 'req';    # for people only
        push @{ $self->{of}{$kind} }, \%record;
    }
    for my $records (values %{ $self->{of} }) {
        @$records = sort { ($a->{begin} // $a->{at} // 0) <=> ($b->{begin} // $b->{at} // 0) } @$records;
    }
    push @{ $self->{requests}{ $_->{id} } }, $_ for $self->of('req');
    my $config = ($self->of('config'))[0];
    $self->{config} = JSON::PP::decode_json($config ? $config->{json} : '{}');
    $self->_read_clock;
    return $self;
}

sub of       { @{ $_[0]{of}{ $_[1] } // [] } }
sub changes  { grep { $_->{kind} ne 'credit' } $_[0]->of('op') }
sub requests { @{ $_[0]{requests}{ $_[1] } // [] } }
sub ids      { sort keys %{ $_[0]{requests} } }
sub config   { $_[0]{config} }
sub rounds   { $_[0]->of('round') }

# Samples of Redis's clock are taken while nobody sets it: the offset of a sample is that of its time, until the next
# fault of kind `step_clock`.
sub _read_clock {
    my ($self) = @_;
    my @steps = sort { $a <=> $b } map { $_->{begin}, $_->{end} } grep { $_->{kind} eq 'step_clock' } $self->of('fault');
    my @bounds = (-9**99, @steps, 9**99);
    my @epochs;
    for my $i (0 .. $#bounds - 1) {
        my ($from, $to) = @bounds[$i, $i + 1];
        my @samples = grep { $_->{begin} >= $from && $_->{end} <= $to } $self->of('clock');
        my ($low, $high) = @samples
            ? (max(map { $_->{redis} - $_->{end} } @samples), min(map { $_->{redis} - $_->{begin} } @samples))
            : (0, 0);
        # The clocks may drift apart: then no offset fits all samples.
        ($low, $high) = ($high, $low) if $low > $high;
        push @epochs, { from => $from, to => $to, low => $low, high => $high, known => scalar @samples };
    }
    $self->{epochs} = \@epochs;
}

# A node estimates Redis's clock within one or two milliseconds (module/docs/responses.md).
# It grants units of a lease by that.
my $node_clock = 0.01;

sub redis_time {
    my ($self, $from, $to) = @_;
    my @epochs = @{ $self->{epochs} };
    if (@epochs == 1) { return ($from + $epochs[0]{low} - $node_clock, $to + $epochs[0]{high} + $node_clock) }
    my @during = grep { $_->{from} <= $to && $_->{to} >= $from && ($_->{known} || $_->{from} != $_->{to}) } @epochs;
    return ($from + min(map { $_->{low} } @during) - $node_clock, $to + max(map { $_->{high} } @during) + $node_clock);
}

1;
