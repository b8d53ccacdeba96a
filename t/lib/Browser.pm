package Browser;

# Headless Chromium (Debian's package chromium), driven by playwright-core from npm through browser.mjs. axe-core from npm
# measures accessibility.
#
#   my $browser = eval { Browser->start } // plan skip_all => $@;      # dies with what is missing
#   $browser->open('http://127.0.0.1:8080/');
#   my $value = $browser->eval('document.title');            # of an expression in the page; anything that JSON holds
#   $browser->wait_for('document.title === "x"', 3);         # dies when it isn't true within so many seconds (30)
#   $browser->scheme('dark');                                # prefers-color-scheme
#   $browser->size(390, 800);                                # of the window
#   $browser->press('Tab');                                  # a key
#   $browser->type('text');                                  # keys, into the element with the focus
#   $browser->click('text=Issue');                           # a click of the mouse on the element of a Playwright
#                                                            #   selector; waits until it can be clicked
#   $browser->fill('#name', 'text'), $browser->choose('select', 'value')
#   $browser->axe                                            # { violations, passed } of axe-core: the rules of WCAG 2.2
#                                                            #   A and AA that the page breaks, and those that it meets
#   $browser->screenshot('/tmp/x.png');                      # of the whole page
#   $browser->complaints;                                    # errors and warnings on the console, exceptions, violations
#                                                            #   of the page's policy, requests that failed
#   $browser->requests;                                      # the addresses of all requests

use strict;
use warnings;
use File::Spec ();
use File::Temp ();
use IPC::Open2 ();
use JSON::PP   ();

my $here = File::Spec->rel2abs((File::Spec->splitpath(__FILE__))[1]);
my $packages = "$here/../../module/dashboard";
my $test_process = $$;
my $json = JSON::PP->new->allow_nonref->utf8;

sub start {
    my ($class) = @_;
    my ($chromium) = grep { -x } qw(/usr/bin/chromium) or die "no Chromium here\n";
    system('node --version >/dev/null 2>&1 && npm --version >/dev/null 2>&1') == 0 or die "no npm here\n";
    my $dir = File::Temp->newdir('browser-XXXXXX', TMPDIR => 1);
    my $log = `cp $packages/package.json $packages/package-lock.json $packages/.npmrc '$dir' 2>&1 &&
               cd '$dir' && npm ci --ignore-scripts --no-audit --no-fund 2>&1`;
    die "the packages can't be installed: $log\n" if $?;
    local $ENV{HOME} = "$dir";
    my $pid = IPC::Open2::open2(my $out, my $in, 'node', "$here/browser.mjs", "$dir", $chromium);
    my $self = bless { dir => $dir, pid => $pid, in => $in, out => $out }, $class;
    $self->_answer;
    return $self;
}

sub open       { $_[0]->_call(open       => $_[1]) }
sub eval       { $_[0]->_call(eval       => $_[1]) }
sub wait_for   { $_[0]->_call(wait_for   => $_[1], 1000 * ($_[2] // 30)) }
sub scheme     { $_[0]->_call(scheme     => $_[1]) }
sub size       { $_[0]->_call(size       => $_[1], $_[2]) }
sub press      { $_[0]->_call(press      => $_[1]) }
sub type       { $_[0]->_call(type       => $_[1]) }
sub click      { $_[0]->_call(click      => $_[1]) }
sub fill       { $_[0]->_call(fill       => $_[1], $_[2]) }
sub choose     { $_[0]->_call(choose     => $_[1], $_[2]) }
sub axe        { $_[0]->_call('axe') }
sub screenshot { $_[0]->_call(screenshot => $_[1]) }
sub complaints { @{ $_[0]->_call('complaints') } }
sub requests   { @{ $_[0]->_call('requests') } }

sub _call {
    my ($self, $name, @arguments) = @_;
    my $in = $self->{in};
    print $in $json->encode([$name, @arguments]), "\n";
    $in->flush;
    return $self->_answer;
}

sub _answer {
    my ($self) = @_;
    my $line = readline $self->{out} // die "the browser's driver has ended\n";
    my $answer = $json->decode($line);
    die "browser: $answer->{error}\n" if defined $answer->{error};
    return $answer->{value};
}

# The driver closes Chromium when its input ends.
sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    return unless $$ == $test_process && $self->{pid};
    close $_ for @$self{qw(in out)};
    waitpid delete $self->{pid}, 0;
}

1;
