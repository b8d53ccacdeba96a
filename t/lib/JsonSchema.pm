package JsonSchema;

# Validates JSON against the part of JSON Schema 2020-12 that our OpenAPI 3.1 document uses. It dies on an unknown
# keyword, so that every keyword is checked.
#
#   my $schema = JsonSchema->new($document);              # $ref is looked up in the document: "#/components/…"
#   my @errors = $schema->validate($json_text, { '$ref' => '#/components/schemas/Pet' });
#   my @errors = $schema->validate_value($value, $subschema);
#   my $node = $schema->resolve({ '$ref' => '#/components/headers/Sunset' });

use strict;
use warnings;
use B        ();
use JSON::PP ();
use Math::BigInt;
use Scalar::Util qw(blessed);

my %annotations = map { $_ => 1 } qw(description default example examples deprecated title);
my ($max_int64, $min_int64) = map { Math::BigInt->new($_) } qw(9223372036854775807 -9223372036854775808);

my %check = (
    '$ref'     => sub { my ($self, $value, $ref, $at) = @_; return $self->_errors($value, $self->resolve({ '$ref' => $ref }), $at) },
    allOf      => sub { my ($self, $value, $all, $at) = @_; return map { $self->_errors($value, $_, $at) } @$all },
    anyOf      => sub { my ($self, $value, $any, $at) = @_; return (grep { !$self->_errors($value, $_, $at) } @$any) ? () : "$at is none of the possible ones" },
    type       => sub { my (undef, $value, $type, $at) = @_; my @types = ref $type ? @$type : $type; return (grep { _is($_, $value) } @types) ? () : "$at is no " . join ' or ', @types },
    enum       => sub { my (undef, $value, $enum, $at) = @_; return (grep { $_ eq $value } @$enum) ? () : "$at is none of @$enum" },
    pattern    => sub { my (undef, $value, $pattern, $at) = @_; return !defined $value || $value =~ _regex($pattern) ? () : "$at doesn't match $pattern" },
    minimum    => sub { my (undef, $value, $minimum, $at) = @_; return $value >= $minimum ? () : "$at is below $minimum" },
    maximum    => sub { my (undef, $value, $maximum, $at) = @_; return $value <= $maximum ? () : "$at is above $maximum" },
    maxItems   => sub { my (undef, $value, $most, $at) = @_; return @{ $value // [] } <= $most ? () : "$at has more than $most items" },
    items      => sub { my ($self, $value, $items, $at) = @_; return map { $self->_errors($value->[$_], $items, "$at\[$_]") } 0 .. $#{ $value // [] } },
    required   => sub { my (undef, $value, $names, $at) = @_; return map { exists $value->{$_} ? () : "$at lacks $_" } @$names },
    properties => sub {
        my ($self, $value, $properties, $at) = @_;
        return map { $self->_errors($value->{$_}, $properties->{$_}, "$at.$_") } grep { exists $value->{$_} } sort keys %$properties;
    },
    additionalProperties => sub {
        my ($self, $value, $allowed, $at, $schema) = @_;
        return map { $self->_errors($value->{$_}, $allowed, "$at.$_") } grep { !exists $schema->{properties}{$_} } sort keys %{ $value // {} };
    },
    propertyNames => sub { my ($self, $value, $names, $at) = @_; return map { $self->_errors($_, $names, "the name $at.$_") } sort keys %{ $value // {} } },
    minProperties => sub { my (undef, $value, $least, $at) = @_; return keys %$value >= $least ? () : "$at has fewer than $least members" },
    maxProperties => sub { my (undef, $value, $most, $at) = @_; return keys %{ $value // {} } <= $most ? () : "$at has more than $most members" },
    maxLength     => sub { my (undef, $value, $most, $at) = @_; return length($value // '') <= $most ? () : "$at has more than $most characters" },
    not           => sub { my ($self, $value, $not, $at) = @_; return $self->_errors($value, $not, $at) ? () : "$at must not be so" },
    format => sub {
        my (undef, $value, $format, $at) = @_;
        if ($format eq 'date-time') {
            return !defined $value || $value =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/ ? () : "$at is no time";
        }
        die "unknown format $format\n" if $format ne 'int64';
        my $number = Math::BigInt->new("$value");
        return $number <= $max_int64 && $number >= $min_int64 ? () : "$at is no int64";
    },
);

sub new {
    my ($class, $document) = @_;
    return bless { document => $document }, $class;
}

sub validate {
    my ($self, $text, $schema) = @_;
    my $value = eval { JSON::PP->new->utf8->allow_nonref->allow_bignum->decode($text) };
    return "not JSON: $@" if $@;
    return $self->validate_value($value, $schema);
}

sub validate_value {
    my ($self, $value, $schema) = @_;
    return $self->_errors($value, $schema, '$');
}

sub resolve {
    my ($self, $node) = @_;
    while (ref $node eq 'HASH' && $node->{'$ref'}) {
        my ($path) = $node->{'$ref'} =~ m{^#/(.*)} or die "can't resolve $node->{'$ref'}\n";
        $node = $self->{document};
        $node = $node->{ s{~1}{/}gr } // die "nothing at $path\n" for split m{/}, $path;
    }
    return $node;
}

sub _errors {
    my ($self, $value, $schema, $at) = @_;
    return $schema ? () : "$at must not be there" if JSON::PP::is_bool($schema);
    my @wrong_type = exists $schema->{type} ? $check{type}->($self, $value, $schema->{type}, $at) : ();
    return @wrong_type if @wrong_type;
    return map { ($check{$_} // die "unknown keyword $_\n")->($self, $value, $schema->{$_}, $at, $schema) }
        grep { !$annotations{$_} && $_ ne 'type' } sort keys %$schema;
}

# Perl writes a character of ECMA-262's \uXXXX as \x{XXXX}.
sub _regex { my ($pattern) = @_; return $pattern =~ s/\\u([0-9a-f]{4})/\\x{$1}/gr }

sub _is {
    my ($type, $value) = @_;
    return ref $value eq 'HASH'  if $type eq 'object';
    return ref $value eq 'ARRAY' if $type eq 'array';
    return !defined $value           if $type eq 'null';
    return JSON::PP::is_bool($value) if $type eq 'boolean';
    my $number = ref($value) =~ /^Math::Big(Int|Float)$/ || !ref $value && defined $value && _is_numeric($value);
    return $number if $type eq 'number';
    return $number && $value == int $value if $type eq 'integer';
    return !$number && defined $value && !ref $value if $type eq 'string';
    die "unknown type $type\n";
}

sub _is_numeric {
    my $flags = B::svref_2object(\$_[0])->FLAGS;
    return $flags & (B::SVp_IOK | B::SVp_NOK) && !($flags & B::SVp_POK);
}

1;
