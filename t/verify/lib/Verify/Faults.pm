package Verify::Faults;

# Faults: how each kind begins, how it ends, and what proves that it was in effect.
#
#   my @kinds = Verify::Faults::kinds('redis', $tls)
#   Verify::Faults::needs_proxy($kind)    # whether it is a fault of a proxy
#   my $faults = Verify::Faults->new(deployment => …, nodes => …, workload => …, clock => …, history => …,
#       watch => sub { … },             # watches the run until a time
#       traffic => sub { my ($goes_on) = @_; … },     # lets the clients pause, or go on
#       crowd => sub { my ($node) = @_; … });      # the Verify::Clients of the crowd, at one node
#   my @schedule = Verify::Faults::schedule($random, \@kinds, length => 10, nodes => 3)
#                                  # [{ kind, node, at, for, value }, …]: seconds since the begin of a round
#   $faults->begin($fault), $faults->end($fault)      # `end` writes the record `fault` to the history
#   $faults->abandon($fault)       # of a run that has failed: writes the record, as if the fault ended now
#
# Each kind is a method that returns { begin => sub, end => sub, evidence => sub }. `evidence` runs at the end, and returns
# a text, or undef if nothing shows that the fault was in effect: then the run is invalid. With `goes_on`, the fault lasts
# until there is evidence, for at most 5 s more.

use strict;
use warnings;
use List::Util qw(first sum0);
use RedisServer;
use Resp;
use Verify::Clock qw(now);
use Verify::Nodes;
use Wait qw(wait_until);

# What each kind acts on; two faults never act on the same thing at the same time. `for` is its length in seconds.
# `value` is its parameter. `tls`: only with TLS. `needs`: what nothing acts on while it begins.
my %kind = (
    kill_redis     => { on => 'server', for => [0.2, 6],   in => [qw(redis)] },
    stop_redis     => { on => 'server', for => [0.3, 6],   in => [qw(redis cluster)] },
    strand_calls   => { on => 'server', for => [3, 4],     in => [qw(redis)] },
    restart_redis  => { on => 'server', for => [0, 0],     in => [qw(redis)] },
    pause_redis    => { on => 'server', for => [0.3, 2.5], in => [qw(redis)] },
    lose_counts    => { on => 'server', for => [0, 0],     in => [qw(redis sentinel cluster)] },
    lose_scripts   => { on => 'server', for => [0, 0],     in => [qw(redis sentinel)] },
    refuse_memory  => { on => 'server', for => [0.3, 3],   in => [qw(redis)] },
    refuse_user    => { on => 'server', for => [0.3, 3],   in => [qw(redis)] },
    wrong_master   => { on => 'server', for => [0.5, 3],   in => [qw(redis)] },
    refuse_tls     => { on => 'server', for => [0.3, 3],   in => [qw(redis)], tls => 1 },
    step_clock     => { on => 'server', for => [0, 0],     in => [qw(redis)], value => [-5, 20] },
    kill_worker    => { on => 'node',   for => [0, 0],     in => [qw(redis sentinel cluster)] },
    stop_worker    => { on => 'node',   for => [0.3, 2],   in => [qw(redis sentinel cluster)] },
    kill_node      => { on => 'node',   for => [0.1, 2],   in => [qw(redis sentinel cluster)] },
    reload         => { on => 'node',   for => [0, 0],     in => [qw(redis sentinel cluster)] },
    rename_redis   => { on => 'node',   for => [0, 0],     in => [qw(redis sentinel cluster)] },
    move_address   => { on => 'node',   for => [0, 0],     in => [qw(redis)] },
    resize_zone    => { on => 'node',   for => [0, 0],     in => [qw(redis sentinel cluster)] },
    fill_zone      => { on => 'node',   for => [0.3, 4],   in => [qw(redis sentinel cluster)], needs => [qw(server watch path)] },
    change_limits  => { on => 'limits', for => [1, 6],     in => [qw(redis sentinel cluster)], value => [0.5, 2] },
    delay          => { on => 'path',   for => [0.5, 4],   in => [qw(redis sentinel cluster)], value => [0.02, 1] },
    hold           => { on => 'path',   for => [0.3, 4],   in => [qw(redis sentinel cluster)] },
    refuse         => { on => 'path',   for => [0.3, 4],   in => [qw(redis sentinel cluster)] },
    mute           => { on => 'path',   for => [0.1, 2],   in => [qw(redis sentinel cluster)], value => [0.05, 1], needs => [qw(server)] },
    truncate       => { on => 'path',   for => [0.1, 1],   in => [qw(redis sentinel cluster)], value => [1, 60], needs => [qw(server)] },
    cut            => { on => 'path',   for => [0, 0],     in => [qw(redis sentinel cluster)], needs => [qw(server)] },
    kill_master    => { on => 'server', for => [3, 8],     in => [qw(sentinel cluster)] },
    stop_master    => { on => 'server', for => [3, 6],     in => [qw(sentinel)] },
    fail_over      => { on => 'server', for => [2, 4],     in => [qw(sentinel cluster)] },
    stop_sentinels => { on => 'watch',  for => [1, 4],     in => [qw(sentinel)] },
    move_slots     => { on => 'server', for => [0, 0],     in => [qw(cluster)] },
);

sub kinds {
    my ($deployment, $tls) = @_;
    return grep {
        my $about = $kind{$_};
        ($tls || !$about->{tls}) && grep { $_ eq $deployment } @{ $about->{in} }
    } sort keys %kind;
}

sub needs_proxy { my ($name) = @_; return $kind{$name}{on} eq 'path' }

sub schedule {
    my ($random, $kinds, %options) = @_;
    my (@schedule, %busy);
    for (1 .. $options{number} // $random->whole(2, 6)) {
        my $name = $random->one_of(@$kinds);
        my $about = $kind{$name};
        my $node = $random->whole(0, $options{nodes} - 1);
        my $for = $random->real(@{ $about->{for} });
        my $at = $random->real(0.05 * $options{length}, 0.9 * $options{length});
        my ($on, @needs) = map { /^(?:node|path)$/ ? "$_$node" : $_ } $about->{on}, @{ $about->{needs} // [] };
        my %times = ($on => [$at, $at + $for], map { $_ => [$at, $at] } @needs);
        # A fault that would meet another one on the same thing is left out.
        next if grep { my ($from, $to) = @{ $times{$_} }; grep { $from < $_->[1] + 0.2 && $to + 0.2 > $_->[0] } @{ $busy{$_} // [] } } keys %times;
        push @{ $busy{$_} }, $times{$_} for keys %times;
        push @schedule, { kind => $name, node => $node, at => $at, for => $for, value => $random->real(@{ $about->{value} // [0, 1] }) };
    }
    return sort { $a->{at} <=> $b->{at} } @schedule;
}

sub new { my ($class, %options) = @_; return bless {%options}, $class }

sub begin {
    my ($self, $fault) = @_;
    my $method = "_$fault->{kind}";
    $fault->{actions} = $self->$method($fault);
    $fault->{begin} = now();
    $fault->{actions}{begin}->();
    $fault->{from} = now();
}

sub end {
    my ($self, $fault) = @_;
    my $actions = $fault->{actions};
    # A short fault that met no traffic goes on until it does.
    eval { wait_until('evidence', sub { defined eval { $actions->{evidence}->() } }, 5) } if $actions->{goes_on};
    $fault->{to} = now();
    $actions->{end}->() if $actions->{end};
    my $evidence = eval { $actions->{evidence}->() };
    $self->_write($fault, defined $evidence ? (evidence => $evidence) : (missing => $@ || 'no evidence'));
    return defined $evidence;
}

# It certainly was in effect at no time.
sub abandon {
    my ($self, $fault) = @_;
    delete $fault->{actions};    # with the crowd
    $fault->{begin} //= now();
    $self->_write({ %$fault, from => now(), to => $fault->{begin} }, missing => 'the run failed');
}

sub _write {
    my ($self, $fault, %fields) = @_;
    $self->{history}->write(fault => {
        kind => $fault->{kind}, node => $fault->{node}, value => sprintf('%.3f', $fault->{value}), end => sprintf('%.4f', now()),
        (map { $_ => sprintf('%.4f', $fault->{$_}) } qw(begin from to)), %{ $fault->{fields} // {} }, %fields,
    });
}

sub _server { my ($self) = @_; return ($self->{deployment}->servers)[0] }
sub _info {
    my ($self, $server, $section, $field) = @_;
    my ($value) = $self->{deployment}->ask($server, 'INFO', $section) =~ /^\Q$field\E:(.*?)\r$/m;
    return $value;
}

sub _new_log { my ($self, $node) = @_; my $nginx = $self->{nodes}->nginx($node); my $from = length $nginx->error_log; return sub { substr $nginx->error_log, $from } }

# --- one Redis

sub _ended_and_started {
    my ($self, $server, $how) = @_;
    my $run = $self->_info($server, 'server', 'run_id');
    return {
        begin => sub { $server->$how },
        end => sub { $self->_start($server) },
        evidence => sub { my $new = $self->_info($server, 'server', 'run_id'); return $new ne $run ? "run_id $run is now $new" : undef },
    };
}

# A server that is started again keeps its clock.
sub _start {
    my ($self, $server) = @_;
    return $self->{clock} ? $self->{clock}->start(sub { $server->restart }) : $server->restart;
}

sub _kill_redis    { my ($self) = @_; return $self->_ended_and_started($self->_server, 'kill') }
sub _restart_redis { my ($self) = @_; return $self->_ended_and_started($self->_server, 'stop') }

sub _stop_redis {
    my ($self, $fault) = @_;
    my @servers = $self->{deployment}->cluster ? $self->{deployment}->masters : $self->_server;
    my $server = $servers[ $fault->{node} % @servers ];
    my ($waiting, $state);
    return {
        begin => sub { $server->sigstop; $waiting = Resp->connect($server->address); $waiting->send('PING') },
        end => sub {
            $state = $waiting->pending ? undef : 'a PING was not answered before the end of the stop';
            $server->sigcont;
        },
        evidence => sub { $waiting->read; return $state },
    };
}

# Redis stands still until no client waits for an answer, and goes on before one asks again: what it counts then, it
# counts for calls that have ended. Clients then wait until the nodes have connected again.
sub _strand_calls {
    my ($self, $fault) = @_;
    my $stop = $self->_stop_redis($fault);
    my $is_settled = sub { !grep { my $status = $self->{nodes}->status($_); !$status || grep { Verify::Nodes::is_configured($_) && $_->{breaker_open_workers} } @{ $status->{redis} } } 0 .. $self->{workload}{nodes} - 1 };
    return {
        %$stop,
        begin => sub {
            $stop->{begin}->();
            $fault->{fields}{from} = sprintf '%.4f', now();
            $self->{watch}->(now() + 0.5);
            $self->{traffic}->(0);
        },
        end => sub { $stop->{end}->(); eval { wait_until('connections', $is_settled, 5) }; $self->{traffic}->(1) },
    };
}

sub _pause_redis {
    my ($self, $fault) = @_;
    my $server = $self->_server;
    my ($waiting, $state);
    return {
        begin => sub {
            $waiting = Resp->connect($server->address);
            $self->{deployment}->ask($server, 'CLIENT', 'PAUSE', int(1000 * $fault->{for}) + 1000);
            $waiting->send('PING');
        },
        end => sub {
            $state = $waiting->pending ? undef : 'a PING was not answered before the end of the pause';
            $self->{deployment}->ask($server, 'CLIENT', 'UNPAUSE');
        },
        evidence => sub { $waiting->read; return $state },
    };
}

sub _lose_counts {
    my ($self) = @_;
    my $lost = 0;
    my $delete = sub { for my $key (map { $self->{deployment}->scan($_) } 't:quota:*', 't:flight:*') { $lost += $self->{deployment}->cmd('DEL', $key) } };
    return { begin => sub { $delete->() }, evidence => sub { $lost ? "$lost quotas and places were deleted" : undef } };
}

sub _lose_scripts {
    my ($self) = @_;
    my $server = $self->{deployment}->master;
    my $before = $self->_errors($server, 'NOSCRIPT');
    return {
        goes_on => 1,
        begin => sub { $self->{deployment}->ask($server, 'SCRIPT', 'FLUSH') },
        evidence => sub { my $count = $self->_errors($server, 'NOSCRIPT') - $before; return $count > 0 ? "$count commands got NOSCRIPT" : undef },
    };
}

sub _errors {
    my ($self, $server, $name) = @_;
    return ($self->_info($server, 'errorstats', "errorstat_$name") // '') =~ /count=(\d+)/ ? $1 : 0;
}

sub _refuse_memory {
    my ($self) = @_;
    my $server = $self->_server;
    my $before = $self->_errors($server, 'OOM');
    my $set = sub { $self->{deployment}->ask($server, 'CONFIG', 'SET', 'maxmemory', $_[0]) };
    return {
        goes_on => 1,
        begin => sub { $set->(1) },
        end => sub { $set->(0) },
        evidence => sub { my $count = $self->_errors($server, 'OOM') - $before; return $count > 0 ? "$count commands got OOM" : undef },
    };
}

sub _refuse_user {
    my ($self) = @_;
    my $server = $self->_server;
    my $before = $self->_errors($server, 'NOPERM');
    my $set = sub { $self->{deployment}->ask($server, 'ACL', 'SETUSER', 'default', @_) };
    return {
        goes_on => 1,
        begin => sub { $set->('-evalsha', '-eval') },
        end => sub { $set->('+@all') },
        evidence => sub { my $count = $self->_errors($server, 'NOPERM') - $before; return $count > 0 ? "$count commands got NOPERM" : undef },
    };
}

# Somebody makes Redis a replica of an empty server: it serves reads, has no key, and its connections stay open. Mostly the
# subscriptions end, as Sentinel ends them: nodes then look keys up that they know, and these are the first calls that the
# replica answers. Another replica keeps the data, and gives it back. No write is lost: none is executed until all are
# copied.
sub _wrong_master {
    my ($self, $fault) = @_;
    my $server = $self->_server;
    my $start = sub { RedisServer->start(tcp => 1, conf => ['repl-diskless-sync-delay 0']) };
    my ($empty, $keeper) = map { $self->{clock} ? $self->{clock}->start($start) : $start->() } 1 .. 2;
    my $ask = sub { $self->{deployment}->ask(@_) };
    my $follow = sub {
        my ($replica, $master) = @_;
        $ask->($replica, 'REPLICAOF', '127.0.0.1', $master->port);
        wait_until('a replica', sub { $self->_info($replica, 'replication', 'master_link_status') eq 'up' });
    };
    my $offset = sub { $self->_info($_[0], 'replication', 'master_repl_offset') };
    my $errors = sub { $self->_errors($server, 'READONLY') };
    my $before;
    return {
        goes_on => 1,
        begin => sub {
            $follow->($keeper, $server);
            # Both at once: no node has read what has changed since its subscription ended.
            my $connection = Resp->connect($server->address);
            my @commands = ($fault->{value} < 0.7 ? [qw(CLIENT KILL TYPE pubsub)] : (), [qw(CLIENT PAUSE 10000 WRITE)]);
            $connection->send(@$_) for @commands;
            $connection->read for @commands;
            wait_until('all writes to be copied', sub { $offset->($keeper) == $offset->($server) });
            $ask->($keeper, 'REPLICAOF', 'NO', 'ONE');
            $before = $errors->();
            $follow->($server, $empty);
            $ask->($server, 'CLIENT', 'UNPAUSE');
        },
        end => sub {
            $follow->($server, $keeper);
            $ask->($server, 'REPLICAOF', 'NO', 'ONE');
            $_->stop for $empty, $keeper;
        },
        evidence => sub { my $count = $errors->() - $before; return $count > 0 ? "$count commands got READONLY" : undef },
    };
}

# Redis shows a certificate that the gateway does not trust.
sub _refuse_tls {
    my ($self) = @_;
    my $server = $self->_server;
    my $certificates = $self->{deployment}->certificates;
    $certificates->authority('stranger');
    $certificates->issue('strange', 'DNS:redis.test', ca => 'stranger');
    my @logs = map { $self->_new_log($_) } 0 .. $self->{workload}{nodes} - 1;
    my $show = sub {
        $self->{deployment}->ask($server, 'CONFIG', 'SET', 'tls-cert-file', $certificates->certificate($_[0]), 'tls-key-file', $certificates->key($_[0]));
        $self->{deployment}->ask($server, 'CLIENT', 'KILL', 'TYPE', $_) for 'normal', 'pubsub';
    };
    return {
        goes_on => 1,
        begin => sub { $show->('strange') },
        end => sub { $show->('server') },
        evidence => sub { my $count = grep { $_->() =~ /certificate/ } @logs; return $count ? "$count nodes refused the certificate" : undef },
    };
}

sub _redis_ahead {
    my ($self) = @_;
    my ($seconds, $microseconds) = @{ $self->{deployment}->ask($self->_server, 'TIME') };
    return $seconds + $microseconds / 1e6 - now();
}

sub _step_clock {
    my ($self, $fault) = @_;
    my $before;
    my $step = int $fault->{value};
    $step = 3 if $step == 0;
    $fault->{fields}{step} = $step;
    return {
        begin => sub {
            $before = $self->_redis_ahead;
            $self->{clock}->set($self->{clock}->time + $step - 0.5);    # rounded up to whole seconds
        },
        evidence => sub {
            my $moved = $self->_redis_ahead - $before;
            $fault->{fields}{step} = sprintf '%.3f', $moved;
            return abs($moved) > 0.5 ? "the clock of Redis moved by $fault->{fields}{step} s" : undef;
        },
    };
}

# --- nodes

sub _worker {
    my ($self, $fault) = @_;
    my $nginx = $self->{nodes}->nginx($fault->{node});
    # Other faults end workers, too.
    my @workers = wait_until('workers', sub { my @now = $nginx->workers; return @now ? \@now : undef })->@*;
    return $workers[ int($fault->{value} * @workers) ];
}

sub _kill_worker {
    my ($self, $fault) = @_;
    my $nginx = $self->{nodes}->nginx($fault->{node});
    my $pid = $self->_worker($fault);
    my $log = $self->_new_log($fault->{node});
    return {
        begin => sub { $nginx->kill_worker($pid) },
        evidence => sub { wait_until('the log', sub { $log->() =~ /process $pid exited on signal 9/ }); return "worker $pid exited on signal 9" },
    };
}

# It goes on by itself: a reload may wait for it meanwhile.
sub _stop_worker {
    my ($self, $fault) = @_;
    my $pid = $self->_worker($fault);
    my $is_stopped = sub { open my $file, '<', "/proc/$pid/stat" or return 0; return (<$file> // '') =~ /\) T / };
    my $was_stopped;
    return {
        begin => sub {
            kill STOP => $pid;
            system sprintf '(sleep %.3f; kill -CONT %d) > /dev/null 2>&1 &', $fault->{for}, $pid;
            $was_stopped = eval { wait_until('the stop', $is_stopped, 0.2) };
        },
        end => sub { wait_until('the worker to go on', sub { !$is_stopped->() }) },
        evidence => sub { return $was_stopped ? "worker $pid was in the state T" : undef },
    };
}

sub _kill_node {
    my ($self, $fault) = @_;
    my $nginx = $self->{nodes}->nginx($fault->{node});
    my $before = $nginx->pid;
    return {
        begin => sub { $nginx->{killed}{$_} = 1 for $nginx->workers; $nginx->kill_all },
        end => sub { $nginx->start_again },
        evidence => sub { return $nginx->pid != $before ? "master $before was killed, with its workers" : undef },
    };
}

# `$shown` returns a text if the node shows what has changed, beside its new workers.
sub _reloaded {
    my ($self, $fault, $shown, %changed) = @_;
    my $nginx = $self->{nodes}->nginx($fault->{node});
    my %old = map { $_ => 1 } $nginx->workers;
    return {
        goes_on => 1,
        begin => sub { $self->{nodes}->reload($fault->{node}, %changed) },
        evidence => sub {
            my @new = $nginx->workers;
            my $what = $shown->() // return undef;
            return !grep({ $old{$_} } @new) ? "the workers are now @new$what" : undef;
        },
    };
}

sub _reload { my ($self, $fault) = @_; return $self->_reloaded($fault, sub { '' }) }

sub _rename_redis {
    my ($self, $fault) = @_;
    my $name = 'main' . ++$self->{names};
    return $self->_reloaded($fault, sub { $self->{nodes}->redis_name($fault->{node}) eq $name ? ", with $name" : undef }, name => $name);
}

sub _resize_zone {
    my ($self, $fault) = @_;
    my @zones = @{ $self->{workload}{zones} };
    my $size = $zones[ ++$self->{sizes}[ $fault->{node} ] % @zones ];
    my ($number, $unit) = $size =~ /^(\d+)([km])$/;
    my $bytes = $number * { k => 1 << 10, m => 1 << 20 }->{$unit};
    return $self->_reloaded($fault, sub { $self->{nodes}->status($fault->{node})->{zone}{size_bytes} == $bytes ? ", with a zone of $bytes bytes" : undef }, zone => $size);
}

# The crowd uses more keys than the zone has places for, until entries of other keys have been evicted, and goes on.
sub _fill_zone {
    my ($self, $fault) = @_;
    my ($nodes, $node) = ($self->{nodes}, $fault->{node});
    my $before = $nodes->evictions($node);
    my $evicted = sub { my $now = $nodes->evictions($node); return join ' and ', map { $now->{$_} > $before->{$_} ? $now->{$_} - $before->{$_} . " $_" : () } qw(keys quotas) };
    my $crowd;
    return {
        begin => sub {
            $crowd = $self->{crowd}->($node);
            $crowd->resume;
            my $deadline = now() + 10;
            $self->{watch}->(now() + 0.05) until $evicted->() =~ /and/ || now() > $deadline;
        },
        end => sub { $crowd->pause; undef $crowd },
        evidence => sub { my $text = $evicted->(); return $text =~ /and/ ? "$text were evicted" : undef },
    };
}

# The same Redis under another address: for the node it is another Redis.
sub _move_address {
    my ($self, $fault) = @_;
    my $path = $self->{path}[ $fault->{node} ] = 1 - ($self->{path}[ $fault->{node} ] // 0);
    my $proxy = ($self->{deployment}->proxies($fault->{node}))[$path];
    my $before = $proxy->accepted;
    my $connected = sub { my $count = $proxy->accepted - $before; return $count ? ", with $count connections to the other address" : undef };
    return $self->_reloaded($fault, $connected, redis => sub { $self->{deployment}->directives($_[0], $path) });
}

# Each node has to show the changed limits, once. It does not while Redis is unreachable.
sub _change_limits {
    my ($self, $fault) = @_;
    my $plan = $self->{workload}{tables}{strict}{plans}{small};
    my @usual = @{ $plan->{rates} };
    my @all = 0 .. $self->{workload}{nodes} - 1;
    my $reload = sub { $self->{nodes}->reload($_) for @all };
    my @changed = map { my $limit = int($_->[0] * $fault->{value}); [$limit == $_->[0] ? $limit + 1 : $limit, $_->[1]] } @usual;
    $fault->{fields} = { table => 'strict', plan => 'small', rates => \@changed };
    my @wanted = map { "$_->[0]r/$_->[1]s" } @changed;
    my %shows;
    my $ask = sub {
        for my $node (grep { !$shows{$_} } @all) {
            my $shown = $self->{nodes}->plan($node, 'strict', 'small') // next;
            $shows{$node} = 1 if "@{ $shown->{rates} }" eq "@wanted";
        }
    };
    return {
        goes_on => 1,
        begin => sub { $plan->{rates} = \@changed; $reload->(); $ask->() },
        end => sub { $plan->{rates} = \@usual; $reload->() },
        evidence => sub { $ask->(); return keys %shows == @all ? "small has @wanted at each node" : undef },
    };
}

# --- between a node and Redis

sub _path {
    my ($self, $fault, @mode) = @_;
    my @proxies = $self->{deployment}->proxies($fault->{node});
    return {
        goes_on => 1,
        begin => sub { $_->set(@mode) for @proxies },
        end => sub { $_->set('pass') for @proxies },
        evidence => sub { my $count = sum0(map { $_->affected } @proxies); return $count ? "$count pieces of data or connections were affected" : undef },
    };
}

sub _delay    { my ($self, $fault) = @_; return $self->_path($fault, 'delay', $fault->{value}) }
sub _hold     { my ($self, $fault) = @_; return $self->_path($fault, 'hold') }
sub _refuse   { my ($self, $fault) = @_; return $self->_path($fault, 'refuse') }
sub _mute     { my ($self, $fault) = @_; return $self->_path($fault, 'mute', $fault->{value}) }
sub _truncate { my ($self, $fault) = @_; return $self->_path($fault, 'truncate', int $fault->{value}) }

sub _cut {
    my ($self, $fault) = @_;
    my @proxies = $self->{deployment}->proxies($fault->{node});
    my $count = 0;
    return {
        # After an outage, the node may not have connected again.
        begin => sub { eval { wait_until('connections', sub { $_->cut for @proxies; $count = sum0(map { $_->affected } @proxies) }, 5) } },
        evidence => sub { return $count ? "$count connections were closed" : undef },
    };
}

# --- Sentinel and Cluster

# Another server has to serve what this one served. `again` runs every 5 s until it does.
sub _replaced {
    my ($self, $fault, $begin, $end, $again) = @_;
    my $deployment = $self->{deployment};
    my @masters = $deployment->masters;
    my $old = $deployment->cluster ? $masters[ $fault->{node} % @masters ] : $deployment->master;
    my $is_master = sub { my ($server) = @_; return (eval { $deployment->ask($server, 'ROLE')->[0] } // '') eq 'master' };
    my %before = map { $_->port => 1 } @masters;
    my $new;
    return {
        begin => sub { $begin->($old) },
        end => sub {
            # Sentinels that are still stopped could not choose one, and nothing ends a fault during the wait.
            $self->{release_sentinels}->() if $self->{release_sentinels};
            my $next = now() + 5;
            $new = wait_until('another master', sub {
                if ($again && now() > $next) { $next = now() + 5; eval { $again->($old) } }
                return first { $_ != $old && !$before{ $_->port } && $is_master->($_) } $deployment->servers;
            }, 60);
            $end->($old);
            # Sentinels that have been stopped for 2 s do nothing for 30 s (`tilt`).
            wait_until('the old master to follow the new one', sub { !$is_master->($old) }, 120);
            wait_until('the deployment', sub { $deployment->available }, 60);
        },
        evidence => sub { return $new ? 'port ' . $new->port . ' is a master now, and port ' . $old->port . ' is not' : undef },
    };
}

sub _kill_master { my ($self, $fault) = @_; return $self->_replaced($fault, sub { $_[0]->kill }, sub { $self->_start($_[0]) }) }
sub _stop_master { my ($self, $fault) = @_; return $self->_replaced($fault, sub { $_[0]->sigstop }, sub { $_[0]->sigcont }) }

sub _fail_over {
    my ($self, $fault) = @_;
    my $deployment = $self->{deployment};
    my $begin = sub {
        my ($old) = @_;
        if (my $sentinels = $deployment->sentinels) {
            # A Sentinel refuses it for a while after the last one, and while it knows no good replica.
            return wait_until('a failover to begin', sub { eval { ($sentinels->sentinels)[0]->cmd('SENTINEL', 'FAILOVER', 'mymaster') } }, 30);
        }
        my $id = $deployment->ask($old, 'CLUSTER', 'MYID');
        my ($replica) = grep { $deployment->ask($_, 'CLUSTER', 'NODES') =~ /^\S+ \S+ myself,slave $id /m } $deployment->servers;
        $deployment->ask($replica, 'CLUSTER', 'FAILOVER');
    };
    # Within twice the cluster-node-timeout after the last election, masters do not vote, and the replica gives up after 5 s.
    return $self->_replaced($fault, $begin, sub { }, $deployment->cluster ? $begin : undef);
}

sub _stop_sentinels {
    my ($self) = @_;
    my @some = ($self->{deployment}->sentinels->sentinels)[1, 2];
    my (@waiting, $silent);
    # A failover may have to end the stop before.
    my $release = $self->{release_sentinels} = sub {
        $silent //= grep { !$_->pending } @waiting;
        $_->sigcont for @some;
        delete $self->{release_sentinels};
    };
    return {
        begin => sub {
            $_->sigstop for @some;
            @waiting = map { Resp->connect($_->address) } @some;
            $_->send('PING') for @waiting;
        },
        end => $release,
        evidence => sub { $_->read for @waiting; return $silent == @some ? "$silent Sentinels of three did not answer a PING before the end of the stop" : undef },
    };
}

sub _move_slots {
    my ($self, $fault) = @_;
    my $cluster = $self->{deployment}->cluster;
    my ($from, $to, @slots);
    return {
        begin => sub {
            $_->disconnect for $cluster->nodes;
            my @keys = $self->{deployment}->scan('t:quota:*') or return;
            my %wanted = map { $cluster->slot_of($_) => $_ } @keys;
            ($from) = $cluster->master_of((values %wanted)[0]);
            ($to) = grep { $_ != $from } $self->{deployment}->masters;
            @slots = grep { $cluster->master_of($wanted{$_}) == $from } sort keys %wanted;
            @slots = @slots[0 .. 2] if @slots > 3;
            $cluster->move_slots($from, $to, @slots);
        },
        evidence => sub {
            my @own = grep { $_->[2][1] == $to->port } @{ $self->{deployment}->ask($to, 'CLUSTER', 'SLOTS') };
            my @moved = grep { my $slot = $_; grep { $slot >= $_->[0] && $slot <= $_->[1] } @own } @slots;
            return @slots && @moved == @slots ? 'port ' . $to->port . " has slots @moved now" : undef;
        },
    };
}

1;
