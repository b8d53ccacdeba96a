# Quotas of different tables and different Redis servers are counted separately, regardless of their names.

use strict;
use warnings;
use lib 't/lib';
use Test::More;
use Digest::SHA qw(sha256_hex);
use Http;
use Nginx;
use RedisServer;

# Pairs of [Redis, table]: equal names, names that differ in the same way (CRC-32 is linear), and swapped names.
for my $case (
    [['eu', 'eu'], ['us', 'us']],
    [['redis-eu', 'api-eu'], ['redis-us', 'api-us']],
    [['shop', 'blog'], ['blog', 'shop']],
) {
    my @names = @$case;
    subtest join(' ', map { join '/', @$_ } @names) => sub {
        my @redis = map { RedisServer->start } @names;
        for my $redis (@redis) {
            $redis->cmd('HSET', 't:key:' . sha256_hex('k'), id => 'k1', plan => 'free', name => '', state => 'active');
        }
        my $blocks = join '', map {
            my ($redis, $table) = @{ $names[$_] };
            my $address = $redis[$_]->address;
            "tollgate_redis $redis { server $address; prefix t:; }\ntollgate_plans $table redis=$redis { plan free 5r/d; }\n";
        } 0 .. $#names;
        my $locations = join '', map { "location /$_/ { tollgate $names[$_][1]; empty_gif; }\n" } 0 .. $#names;
        my $nginx = Nginx->start(conf => "$blocks server { listen 127.0.0.1:%PORT%; $locations }");
        my $get = sub { Http::http_request($nginx->address, 'GET', "/$_[0]/", { Authorization => 'Bearer k' })->status };
        is(scalar(grep { $get->(0) == 200 } 1 .. 8), 5, 'the quota of the first');
        is(scalar(grep { $get->(1) == 200 } 1 .. 8), 5, 'the quota of the second');
        $nginx->stop;
    };
}

done_testing;
