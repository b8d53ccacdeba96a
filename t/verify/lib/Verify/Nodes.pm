package Verify::Nodes;

# The nodes of a run: nginx processes that share a Redis.
#
#   my $nodes = Verify::Nodes->start($workload, $upstream, routes => sub { my ($node) = @_; … },    # as of Nginx.pm
#       redis => sub { my ($node) = @_; "server …;" });
#   $nodes->all                        # Nginx objects
#   $nodes->address($node)             # where clients connect
#   $nodes->status($node)              # of tollgate_status, decoded; undef if the node does not answer
#   $nodes->redis_name($node)          # the name of its tollgate_redis in the configuration that applies now
#   $nodes->plan($node, $table, $plan) # what the node says of a plan: { rates => ['20r/2s', …], … }; undef if it does not
#   Verify::Nodes::is_configured($redis)    # whether an element of the status's `redis` may be in use now
#   $nodes->reload($node, %changed)    # with other settings: zone => '2m', redis => sub { … }; or with the same
#   $nodes->processes                  # the process ids of masters and workers
#   $nodes->evictions($node)           # { keys, quotas, … }: how many entries of each table its zone has evicted
#   $nodes->resources($node)           # { fds, rss (KiB, the largest worker), log (bytes) }
#   $nodes->complaints($node)          # lines of the log that no run should have

use strict;
use warnings;
use Http qw(http_request);
use List::Util qw(max);
use Nginx;

sub start {
    my ($class, $workload, $upstream, %settings) = @_;
    my $self = bless { workload => $workload, upstream => $upstream, settings => [map { +{ zone => $workload->{zones}[0], %settings } } 1 .. $workload->{nodes}] }, $class;
    $self->{nginx} = [map {
        Nginx->start(
            workers => $workload->{workers}, log_level => 'notice', conf => $self->_conf($_), events => 'worker_connections 512;',
            files => { 'www/served' => "served\n" }, routes => $settings{routes}->($_),
        )
    } 0 .. $workload->{nodes} - 1];
    return $self;
}

sub all     { @{ $_[0]{nginx} } }
sub nginx   { $_[0]{nginx}[$_[1]] }
sub address { 'unix:' . $_[0]{nginx}[$_[1]]->dir . '/http.sock' }

sub _conf {
    my ($self, $node) = @_;
    my ($workload, $settings) = ($self->{workload}, $self->{settings}[$node]);
    my $name = $settings->{name} // 'main';
    my $locations = join "\n", map {
        "location = /$_ { tollgate @{ $workload->{locations}{$_} }; " . $workload->costs_text($_) . ' '
            . (defined $workload->{upstream}{$_} ? $self->{upstream}->directives($node) : 'alias %DIR%/www/served;') . ' }'
    } sort keys %{ $workload->{locations} };
    my $milliseconds = 1000 * $workload->{timeout};
    return <<"CONF";
        map \$arg_c \$verify_cost { default 1; ~^\\d+\$ \$arg_c; }
        @{[ $workload->sums_text ]}
        tollgate_zone $settings->{zone};
        tollgate_redis $name {
            @{[ $settings->{redis}->($node) ]}
            prefix t:; timeout ${milliseconds}ms; connect_timeout 1s; key_cache $workload->{key_cache}s; on_failure $workload->{on_failure};
        }
        @{[ $workload->tables_text ]}
        tollgate_plans ops { plan ops unlimited; }
        default_type text/plain;
        set_real_ip_from unix:;
        real_ip_header X-Forwarded-For;
        server {
            listen unix:%DIR%/http.sock;
            keepalive_requests 1000000;
            keepalive_timeout 600s;
            tollgate_json_errors on;
            tollgate_log_level info;    # the log is for faults
            tollgate_headers both;
            add_header X-Verdict \$tollgate_verdict always;
            $locations
            location /admin/ { tollgate ops; tollgate_scope admin; tollgate_admin $name; }
        }
        server { listen unix:%DIR%/status.sock; location / { tollgate_status; } location = /name { return 200 $name; } }
CONF
}

sub status {
    my ($self, $node) = @_;
    return eval { http_request('unix:' . $self->{nginx}[$node]->dir . '/status.sock', 'GET', '/')->json };
}

# A small zone counts a further name as `(other)`, so the status does not show it.
sub redis_name {
    my ($self, $node) = @_;
    return http_request('unix:' . $self->{nginx}[$node]->dir . '/status.sock', 'GET', '/name')->body;
}

# The API answers while Redis is reachable.
sub plan {
    my ($self, $node, $table, $plan) = @_;
    my $answer = eval { http_request($self->address($node), 'GET', '/admin/plans', { Authorization => 'Bearer admin-token' })->json } // {};
    return (map { $_->{plans}{$plan} } grep { $_->{name} eq $table } @{ $answer->{tables} // [] })[0];
}

# A zone of this size has counters of one name. Those of a tollgate_redis that was renamed are `(other)`.
sub is_configured { my ($redis) = @_; return defined $redis->{on_failure} || $redis->{name} eq '(other)' }

sub evictions {
    my ($self, $node) = @_;
    my $stores = ($self->status($node) // die "node $node does not answer\n")->{zone}{stores};
    return { map { $_ => $stores->{$_}{evictions} } keys %$stores };
}

sub reload {
    my ($self, $node, %changed) = @_;
    %{ $self->{settings}[$node] } = (%{ $self->{settings}[$node] }, %changed);
    my $nginx = $self->{nginx}[$node];
    my %conf = (conf => $self->_conf($node));
    # A node that was killed has it when it is started again.
    return $nginx->pid ? $nginx->reload(%conf) : $nginx->_write_conf(%conf);
}

sub resources {
    my ($self, $node) = @_;
    my $nginx = $self->{nginx}[$node];
    my %most = (fds => 0, rss => 0, log => -s $nginx->dir . '/error.log');
    for my $pid ($nginx->workers) {
        my @fds = glob "/proc/$pid/fd/*";
        $most{fds} = max($most{fds}, scalar @fds);
        open my $file, '<', "/proc/$pid/status" or next;
        while (<$file>) { $most{rss} = max($most{rss}, $1) if /^RssAnon:\s+(\d+)/ }
    }
    return \%most;
}

sub processes { my ($self) = @_; return map { ($_->pid // (), $_->pid ? $_->workers : ()) } $self->all }

sub complaints { return $_[0]{nginx}[$_[1]]->_complaints }

1;
