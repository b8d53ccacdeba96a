package Certificates;

# Certificates for a test, made with the openssl command in a temporary directory. Keys are EC keys.
#
#   my $certificates = Certificates->new;                     # with a CA, "ca"
#   $certificates->authority('other');                        # another CA
#   $certificates->issue('server', 'DNS:localhost');          # names as in subjectAltName
#   $certificates->issue('server', 'IP:127.0.0.1', ca => 'other', expired => 1);
#   $certificates->certificate('server'), $certificates->key('server')      # the files, in PEM
#   $certificates->redis('server', $port, @more)              # lines of redis.conf: TLS on this port, for clients with
#                                                             #   and without a certificate, and lines that may change that

use strict;
use warnings;
use File::Temp ();

sub new {
    my ($class) = @_;
    my $self = bless { dir => File::Temp->newdir('certificates-XXXXXX', TMPDIR => 1) }, $class;
    $self->authority('ca');
    return $self;
}

sub certificate { "$_[0]{dir}/$_[1].crt" }
sub key         { "$_[0]{dir}/$_[1].key" }

sub redis {
    my ($self, $name, $port, @more) = @_;
    my %lines = map { split / /, $_, 2 } "tls-port $port", 'tls-cert-file ' . $self->certificate($name),
        'tls-key-file ' . $self->key($name), 'tls-ca-cert-file ' . $self->certificate('ca'), 'tls-auth-clients optional', @more;
    return map { "$_ $lines{$_}" } sort keys %lines;
}

sub authority {
    my ($self, $name) = @_;
    _write("$self->{dir}/$name.cnf", <<"END");
[ca]
default_ca = authority
[authority]
certificate = $self->{dir}/$name.crt
private_key = $self->{dir}/$name.key
new_certs_dir = $self->{dir}
database = $self->{dir}/$name.index
rand_serial = yes
default_md = sha256
policy = policy
copy_extensions = copy
unique_subject = no
[policy]
commonName = supplied
[req]
distinguished_name = subject
[subject]
END
    _write("$self->{dir}/$name.index", '');
    $self->_openssl('req', '-x509', $self->_new_key($name), '-days', 2, '-subj', "/CN=$name", '-addext', 'keyUsage=keyCertSign',
        '-config', "$self->{dir}/$name.cnf", '-addext', 'basicConstraints=critical,CA:TRUE', '-out', $self->certificate($name));
}

sub issue {
    my ($self, $name, $names, %options) = @_;
    my $ca = $options{ca} // 'ca';
    my $request = "$self->{dir}/$name.csr";
    $self->_openssl('req', '-new', $self->_new_key($name), '-subj', "/CN=$name", '-config', "$self->{dir}/ca.cnf",
        ($names ? ('-addext', "subjectAltName=$names") : ()), '-out', $request);
    my @time = $options{expired} ? qw(-startdate 20200101000000Z -enddate 20200201000000Z) : qw(-days 1);
    $self->_openssl('ca', '-batch', '-notext', '-config', "$self->{dir}/$ca.cnf", @time, '-in', $request, '-out', $self->certificate($name));
}

sub _new_key {
    my ($self, $name) = @_;
    return ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', $self->key($name));
}

sub _openssl {
    my ($self, @words) = @_;
    my $quoted = join ' ', map { "'$_'" } @words;
    my $output = `openssl $quoted 2>&1`;
    die "openssl $quoted:\n$output" if $?;
}

sub _write {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    print $file $text;
    close $file;
}

1;
