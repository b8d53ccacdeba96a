# The index of keys has what the records say after any operations of tollgate_admin and of the command. Filters find by it
# what they find by examining all ids.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Gateway;
use JSON::PP ();
use RedisCluster;
use RedisServer;
use Test::More;
use Time::Local qw(timegm);

my $json = JSON::PP->new->canonical;
my @filters = map { my $field = $_; map { "$field=$_" } qw(a b) } qw(group scope);
push @filters, map { "meta=tier%3D$_" } qw(gold 1 true);

sub start {
    my ($redis) = @_;
    my $gateway = Gateway->start(
        redis_server => $redis,
        plans        => 'plan free 100000r/m;',
        http         => 'tollgate_plans ops redis=main { plan ops unlimited; }',
        server       => 'location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin main; }',
    );
    $gateway->import_key('operator', id => 'operator', plan => 'ops', scopes => 'a admin b');
    return $gateway;
}

sub command {
    my ($redis) = @_;
    my $url = $redis->isa('RedisCluster') ? 'redis+cluster://' . join(',', map { '127.0.0.1:' . $_->port } $redis->nodes) : $redis->address;
    return Command->new(redis => $url, prefix => 't:');
}

# The server that has the index.
sub run_on_index {
    my ($redis, @command) = @_;
    return $redis->cmd(@command) unless $redis->isa('RedisCluster');
    for my $node ($redis->nodes) {
        my $reply = eval { $node->cmd(@command) };
        return $reply unless $@ =~ /MOVED/;
    }
    die "no node has $command[1]\n";
}

sub ask {
    my ($gateway, $method, $path, $body) = @_;
    my %fields = (Authorization => 'Bearer operator', $body ? ('Content-Type' => 'application/json') : ());
    return $gateway->request($method, "/admin/$path", \%fields, $body && $json->encode($body));
}

# The ids of all pages.
sub listed {
    my ($gateway, $query) = @_;
    my (@ids, $next);
    do {
        my $page = ask($gateway, 'GET', "keys?limit=3$query" . ($next ? "&after=$next" : ''))->json;
        ok @{ $page->{keys} } || !$page->{next}, 'only the last page is empty' or die;
        push @ids, map { $_->{id} } @{ $page->{keys} };
        $next = $page->{next};
    } while $next;
    return "@ids";
}

# What the index must have of the keys that the command exports.
sub expected {
    my ($tollgate) = @_;
    my %entries = ('complete name meta group scope' => 1);
    for my $key (map { $json->decode($_) } split /\n/, $tollgate->run(qw(export keys))->{out}) {
        my $place = sprintf "\n%012d:%s", time_of($key->{created}), $key->{id};
        $entries{ 'name:' . lc($key->{name}) . "\n$key->{id}" } = 1 if length $key->{name};
        $entries{"group:$key->{group}$place"} = 1 if $key->{group};
        $entries{"scope:$_$place"} = 1 for @{ $key->{scopes} };
        for my $name (keys %{ $key->{meta} }) {
            my $value = $key->{meta}{$name};
            $value = $value ? 'true' : 'false' if JSON::PP::is_bool($value);
            $entries{"meta:$name=$value$place"} = 1;
        }
    }
    return [sort keys %entries];
}

sub time_of {
    my ($text) = @_;
    my ($year, $month, $day, $hour, $minute, $second) = $text =~ /(\d+)/g;
    return timegm($second, $minute, $hour, $day, $month - 1, $year);
}

sub record {
    my ($random) = @_;
    my $one_of = sub { return $_[ $random->(scalar @_) ] };
    return {
        name   => $one_of->('', 'A', 'Bb'),
        group  => $one_of->(undef, 'a', 'b'),
        scopes => $one_of->([], ['a'], ['a', 'b']),
        meta   => $one_of->({}, { tier => 'gold' }, { tier => 1, x => 'y' }, { tier => JSON::PP::true }),
    };
}

sub check {
    my ($gateway, $tollgate, $redis) = @_;
    is_deeply run_on_index($redis, 'ZRANGE', 't:index', 0, -1), expected($tollgate), 'the index has what the records say';
    my %by_index = map { $_ => listed($gateway, "&$_") } @filters, 'group=a&scope=b', 'state=active&group=b';
    run_on_index($redis, 'ZREM', 't:index', 'complete name meta group scope');
    is listed($gateway, "&$_"), $by_index{$_}, "$_ finds the same without it" for sort keys %by_index;
    run_on_index($redis, 'ZADD', 't:index', 0, 'complete name meta group scope');
    return join '', values %by_index;
}

for my $deployment ('one server', 'a cluster') {
    subtest $deployment => sub {
        my $redis = $deployment eq 'a cluster' ? RedisCluster->start : RedisServer->start;
        my $gateway = start($redis);
        my $tollgate = command($redis);
        my $state = 4711;
        my $random = sub { $state = ($state * 1103515245 + 12345) % 2**31; return int($state / 65536) % $_[0] };
        my $found = '';
        for my $step (1 .. 120) {
            my $id = 'k' . $random->(6);
            my $kind = $random->(9);
            my $record = record($random);
            if (ask($gateway, 'GET', "keys/$id")->status == 404) {
                if ($kind < 3) {
                    ask($gateway, 'POST', 'keys', { id => $id, plan => 'free', %$record });
                } elsif ($kind < 6) {
                    $tollgate->run({ stdin => $json->encode({ id => $id, plan => 'free', token => "token-$step", %$record }) . "\n" }, 'import', '-');
                } else {
                    ask($gateway, 'POST', 'keys:batch', { operations => [{ method => 'POST', path => 'keys', body => { id => $id, plan => 'free', %$record } }] });
                }
            } elsif ($kind == 0) {
                ask($gateway, 'DELETE', "keys/$id");
            } elsif ($kind == 1) {
                $tollgate->run(qw(key revoke --yes), $id);
            } elsif ($kind == 2) {
                ask($gateway, 'POST', "keys/$id/rotate", { overlap => 0 });
            } elsif ($kind == 3) {
                $tollgate->run(qw(key rotate --overlap 1h), $id);
            } elsif ($kind == 4) {
                my @group = $record->{group} ? ('--group', $record->{group}) : ('--group', 'none');
                $tollgate->run(qw(key set), $id, @group, '--name', $record->{name});
            } elsif ($kind == 5) {
                ask($gateway, 'POST', 'keys:batch', { operations => [{ method => 'PATCH', path => "keys/$id", body => $record }, { method => 'DELETE', path => 'keys/k5' }] });
            } else {
                ask($gateway, 'PATCH', "keys/$id", $record);
            }
            $found .= check($gateway, $tollgate, $redis) if $step % 20 == 0;
        }
        like $found, qr/k0/, 'the filters find keys';
        is_deeply [grep { /^index/ } split /\n/, $tollgate->run('doctor')->{out}], [], 'doctor finds nothing wrong';
    };
}

done_testing;
