package TwoTables;

# A gateway with the plan table "api" of ids, and a second plan table whose counters do not belong to ids.
#
#   use TwoTables qw(start_tables counted_in status_of granted unavailable $upstream $durable);
#   my $gateway = start_tables(
#       table => 'users', by => '$arg_user', of_table => 'plan free 5r/d;',   # the second one
#       lease => '',                               # of both; 'lease=off' by default
#       http => …, server => …,                    # further text; others as Gateway->start
#   );                                             # /users/ is limited by the second table, /both/ by both
#   counted_in($redis, 't:quota:{k1}:api')         # the count of this day under this name
#   status_of($gateway, '/both/', 'k1')            # the status of a request
#   granted($gateway, 5, '/both/', 'k1')           # how many of so many requests are granted
#   unavailable($gateway)                          # waits until a worker knows that Redis is unreachable

use strict;
use warnings;
use Exporter 'import';
use Gateway;
use Wait qw(wait_until);

our $upstream = 'proxy_pass http://unix:%DIR%/upstream.sock;';
our $durable = { conf => ['appendonly yes', 'appendfsync always'] };    # options of a Redis that keeps all counts
our @EXPORT_OK = qw(start_tables counted_in status_of granted unavailable $upstream $durable);

sub start_tables {
    my (%options) = @_;
    my ($table, $by, $plans) = delete @options{qw(table by of_table)};
    my $lease = delete $options{lease} // 'lease=off';
    my $http = delete $options{http} // '';
    my $server = delete $options{server} // '';
    return Gateway->start(
        plans  => 'plan free 1000000r/d;',
        table  => $lease,
        http   => "tollgate_plans $table redis=main $lease by=$by { $plans } $http",
        server => "location /$table/ { tollgate $table; $upstream }
                   location /both/ { tollgate api $table; $upstream } $server",
        %options,
    );
}

sub counted_in { my ($redis, $counter) = @_; return $redis->cmd('HGET', $counter, '86400.count') // 0 }
sub status_of { my ($gateway, @request) = @_; return $gateway->get(@request)->status }
sub granted { my ($gateway, $requests, @request) = @_; return scalar grep { status_of($gateway, @request) == 200 } 1 .. $requests }
sub unavailable { my ($gateway) = @_; wait_until('the breaker', sub { $gateway->nginx->error_log =~ /is unreachable/ }) }

1;
