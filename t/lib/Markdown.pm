package Markdown;

# Reads the parts of the documentation that tests check.
#
#   my @pages = Markdown->pages($root);          # the repository's Markdown files, README.md first
#   $page->path                                  # relative to the root
#   $page->blocks('nginx')                       # its fenced blocks of this language, or all:
#                                              #   { language, text, line, heading }
#   $page->links                                 # [target, line] of each link to a file or a heading
#   my $page = Markdown->read($root, 'module/README.md');
#   $page->leads_to($target, { path => $page, … }, $root)     # whether the file and the heading of a link exist
#   $page->anchors                               # the anchors of its headings, as GitHub makes them
#   $page->paths                                 # files that it names in `…` with their folder: module/plan/rate.cpp

use strict;
use warnings;

sub pages {
    my ($class, $root) = @_;
    my @files = map { substr $_, 1 + length $root } map { glob "$root/$_" }
        qw(README.md module/*.md module/docs/*.md backend/*.md conf/*.md t/*.md .github/*.md);
    return map { $class->read($root, $_) } @files;
}

sub path { $_[0]{path} }

sub blocks {
    my ($self, $language) = @_;
    return grep { !defined $language || $_->{language} eq $language } @{ $self->{blocks} };
}

sub links {
    my ($self) = @_;
    my @links;
    for my $line (@{ $self->{prose} }) {
        push @links, [$1, $line->[1]] while $line->[0] =~ /\]\(([^)\s]+)\)/g;
    }
    return @links;
}

sub leads_to {
    my ($self, $target, $pages, $root) = @_;
    my ($folder) = $self->{path} =~ m{^(.*/)};
    my ($file, $anchor) = $target =~ /^([^#]*)#?(.*)/;
    my $path = $file eq '' ? $self->{path} : ($folder // '') . $file;
    1 while $path =~ s{[^/]+/\.\./}{};
    return -e "$root/$path" && ($anchor eq '' || $pages->{$path} && grep { $_ eq $anchor } $pages->{$path}->anchors);
}

sub anchors {
    my ($self) = @_;
    return map { lc(s/[^\w\s-]//gr) =~ s/\s/-/gr } map { $_->[0] =~ /^#+ (.*)/ ? $1 : () } @{ $self->{prose} };
}

sub paths {
    my ($self) = @_;
    my @prose = map { $_->[0] } @{ $self->{prose} };
    my @paths = map { /`((?:module|backend|conf|t|\.ci)\/[\w.\/-]+)`/g } @prose;
    if ($self->{path} eq 'module/ARCHITECTURE.md') {    # It names sources of the gateway below `module`, in blocks, too.
        my @sources = map { /(?<![\w\/.])((?:\w+\/)+\w+\.(?:[ch]pp|lua|json))\b/g } @prose, map { $_->{text} } @{ $self->{blocks} };
        push @paths, map { /^(?:module|backend|t)\// ? $_ : "module/$_" } @sources;
    }
    my %seen;
    return grep { !$seen{$_}++ } @paths;
}

sub read {
    my ($class, $root, $path) = @_;
    open my $file, '<', "$root/$path" or die "$path: $!\n";
    my (@blocks, @prose, $block);
    my $heading = '';
    while (my $line = <$file>) {
        if ($block && $line =~ /^```\s*$/) {
            push @blocks, $block;
            undef $block;
        } elsif ($block) {
            $block->{text} .= $line;
        } elsif ($line =~ /^```(\S*)/) {
            $block = { language => $1, text => '', line => $., heading => $heading };
        } else {
            push @prose, [$line, $.];
            $heading = $1 if $line =~ /^#+ (.*)/;
        }
    }
    die "$path: a block that begins at line $block->{line} has no end\n" if $block;
    return bless { path => $path, blocks => \@blocks, prose => \@prose }, $class;
}

1;
