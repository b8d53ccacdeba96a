# Every command works with the Redis user that module/docs/redis_data.md defines for the operator.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Command;
use Markdown;
use RedisServer;
use Test::More;

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my ($reference) = grep { $_->path eq 'module/docs/redis_data.md' } Markdown->pages("$FindBin::Bin/..");
my ($users) = map { $_->{text} } $reference->blocks('redis');
my %rules = $users =~ /^user (\w+) (.*)$/mg;
ok $rules{operator} && $rules{gateway}, 'the users are documented' or BAIL_OUT('no users');

# Users that were created before the command had a use for these do not have them.
my %users = (operator => $rules{operator}, earlier => $rules{operator} =~ s/ \+(?:dbsize|info)\b//gr);
like $rules{operator}, qr/ \+$_\b/, "the operator has +$_" for qw(dbsize info);
my $redis = RedisServer->start(conf => [map { "user $_ $users{$_}" } sort keys %users]);

my @leaves;
sub learn {
    my (@path) = @_;
    my $help = Command->new->run(@path, '--help')->{out};
    my ($commands) = $help =~ /^Subcommands:\n((?:  .*\n)+)/m;
    return push @leaves, "@path" unless $commands;
    learn(@path, $_) for $commands =~ /^  (\S+)/mg;
}
learn();

for my $user (sort keys %users) {
    subtest $user => sub {
        $redis->cmd('FLUSHALL');
        my $tollgate = Command->new(redis => "unix://$user:SECRET@" . $redis->socket, prefix => 'petstore:');
        $redis->cmd('HSET', "petstore:quota:{id$_}:api", '86400.number', 1, '86400.count', 4) for 1 .. 3000;
        my %done;
        my $does = sub {
            my @arguments = @_;
            my $result = $tollgate->run(@arguments);
            my @words = grep { !ref } @arguments;
            $done{$_}++ for grep { "@words " =~ /^\Q$_\E / } @leaves;
            is $result->{status}, 0, "@words" or diag $result->{err};
            unlike $result->{err}, qr/NOPERM|cannot be checked/, '… and is not refused anything';
            return $result;
        };
        for my $published (0, 1) {
            $redis->cmd('HSET', 'petstore:plans', 'api', '{"history":90,"plans":{"free":{"rates":["5r/d"]}}}', 'money', '{"plans":{"free":{"rates":["balance"]}}}',
                'pool', '{"by":"group","plans":{"free":{"rates":["balance"]}}}') if $published;
            $redis->cmd('HSET', 'other:plans', 'api', '{"plans":{"free":{"rates":["5r/d"]}}}');
            my $warned = $does->(qw(key issue --plan free --id a --name N))->{err} =~ /warning: Redis at .* loses keys when it ends/;
            is $warned || 0, $user eq 'operator' ? 1 : 0, 'a Redis that does not keep its data is known with +info';
            $does->({ stdin => 'imported' }, qw(key import --plan free --force --id b));
            $does->(qw(key list));
            $does->(qw(key list --name n));
            $does->(qw(key reindex));
            $does->({ stdin => 'imported' }, qw(key find));
            $does->(qw(key show a));
            $does->(qw(key set a --plan free --limits 5r/s --force --expires 1d));
            $does->(qw(key set a --limits none --expires never --name), '');
            $does->(qw(key disable a));
            $does->(qw(key enable a));
            $does->(qw(key rotate a));
            $does->(qw(key rotate a --overlap 0s));
            $does->({ stdin => qq({"id":"bulk","plan":"free","token":"bulk-token$published"}\n) }, qw(import -));
            $does->({ stdin => qq({"id":"bulk","plan":"free","token":"bulk-token$published"}\n) }, qw(import - --update --owner git));
            $does->({ stdin => qq({"id":"other","plan":"free","token":"other-token$published"}\n) }, qw(import - --update --owner git --prune));
            $does->(qw(export keys));
            $does->(qw(audit));
            $does->(qw(key set a --group g));
            $does->(qw(group set g --plan free --force));
            $does->(qw(group show g));
            $does->(qw(group list));
            do { $does->(qw(group usage g)); $does->(qw(group reset g)); $does->(qw(group credit g 5 --ref x)) } if $published;    # they need the plan tables
            $does->(qw(export groups));
            $does->(qw(export balances --ref x)) if $published;    # it needs the plan tables
            $does->(qw(group delete g));
            $does->(qw(ban list));
            $does->(qw(ban show a));
            $does->(qw(ban lift a));
            $does->(qw(usage a));
            $does->(qw(usage a --history));
            $redis->cmd('HSET', 'petstore:quota:{a}:api', '86400.number', int(time / 86400), '86400.count', 3);
            do { $does->(qw(key reset a)); $does->(qw(key credit a 5 --ref x)) } if $published;    # they need the plan tables
            $does->(qw(export usage));
            like $does->(qw(top --count 1 --interval 100ms --budget 10))->{out}, qr/sample: the busiest \d+ ids found so far, /, '… a sample';
            $does->(qw(key revoke --yes), $_) for qw(a b);
        }
        my $doctor = $tollgate->run('doctor');
        like "$doctor->{out}$doctor->{err}", qr/^nodes: no node is alive: /m, 'doctor';
        unlike $doctor->{err}, qr/NOPERM/, '… and is not refused anything that it needs';
        $done{doctor}++;
        is_deeply [grep { !$done{$_} } @leaves], [qw(notify status simulate completion man)], 'these are all commands that ask Redis, besides notify, which t/notify.t runs';
    };
}

# Redis gives a new user no channel, unless it is told to.
subtest 'a user without the channel' => sub {
    $redis->cmd('FLUSHALL');
    my $operator = Command->new(redis => 'unix://operator:SECRET@' . $redis->socket, prefix => 'petstore:');
    $operator->run(qw(key issue --plan free --id), $_) for qw(a b);
    my $stored = sub { return join '', map { $_->[0] . join ' ', @{ $_->[1] } } map { [$_, [$redis->cmd('TYPE', $_), unpack 'H*', $redis->cmd('DUMP', $_)]] } sort @{ $redis->cmd('KEYS', '*') } };
    my $before = $stored->();
    $redis->cmd('ACL', 'SETUSER', 'silent', split / /, $rules{operator} =~ s/ &\S+//r);
    my $silent = Command->new(redis => 'unix://silent:SECRET@' . $redis->socket, prefix => 'petstore:');
    for my $command ([qw(key issue --plan free --id c)], [qw(key issue --plan free)], [{ stdin => 'imported' }, qw(key import --plan free --id d)],
        [qw(key set a --name N)], [qw(key disable a)], [qw(key rotate a)], [qw(key rotate a --overlap 0s)], [qw(key revoke --yes b)], [qw(ban lift a)])
    {
        my $result = $silent->run(@$command);
        my $name = join ' ', grep { !ref } @$command;
        is $result->{status}, 1, "$name fails";
        like $result->{err}, qr/\Atollgate: .*channel.*\n\z/, '… and says why';
        is $result->{out}, '', '… prints no key';
        is $stored->(), $before, '… and changes nothing';
    }
};

subtest 'a user without the audit' => sub {
    $redis->cmd('FLUSHALL');
    my $operator = Command->new(redis => 'unix://operator:SECRET@' . $redis->socket, prefix => 'petstore:');
    $operator->run(qw(key issue --plan free --id a));
    $redis->cmd('ACL', 'SETUSER', 'unaudited', split / /, $rules{operator} =~ s/ \+xadd\b//r);
    my $unaudited = Command->new(redis => 'unix://unaudited:SECRET@' . $redis->socket, prefix => 'petstore:');
    my $result = $unaudited->run(qw(key disable a));
    is $result->{status}, 1, 'fails';
    like $result->{err}, qr/\Atollgate: Redis replies with an error: .+\n\z/, '… and says why';
    is $operator->json(qw(key show a))->{state}, 'active', '… and the key is as it was';
};

done_testing;
