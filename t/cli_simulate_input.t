# What tollgate simulate reads: plan files in nginx's syntax, formats of access logs, options; and its messages for
# mistakes.

use strict;
use warnings;
use lib 't/lib';
use Command;
use File::Temp ();
use JSON::PP   ();
use Nginx;
use Test::More;

plan skip_all => 'hundreds of commands take too long with sanitizers' if $ENV{TOLLGATE_SANITIZE};

my $dir = File::Temp->newdir('simulate-XXXXXX', TMPDIR => 1);
my $tollgate = Command->new;

sub write_file { my ($name, $text) = @_; open my $file, '>', "$dir/$name" or die $!; print $file $text; close $file or die $!; return "$dir/$name" }

subtest 'a plan file is valid if nginx accepts it in a tollgate_plans block' => sub {
    my $log = write_file('empty.json', '');
    my @bodies = (
        'plan free 60r/m;', "plan free 60r/m 1000r/d; # the smallest\nplan pro 300r/m\n  10000r/d window=sliding ;",
        q(plan "free" '60r/m';), q("plan" free "60r/m" ;), 'plan free 60r/m;default free;',
        'plan free 60r/m; anonymous 30r/m; ban after=2 within=1m for=1m;', 'plan a custom; plan b unlimited;', "plan free 60r/m;\r\n",
        'plan free 60r/m; # }', "#{;\nplan free 60r/m;", 'plan $free 60r/m;', 'plan free 60r/m; plan ${a} 60r/m;', 'plan fr\ee 60r/m;',
        q(plan "fr\"ee" 60r/m;), q(plan fr"ee 60r/m;), q(plan free"" 60r/m;), q(plan "free"60r/m;), q{plan "free")60r/m;}, 'plan free 60r/m', 'plan free 60r/m;;',
        "plan free 60r/m;\n\n}", "plan free 60r/m; }\n", "\nplan free }", '{', 'plan "free 60r/m;', q(plan 'free 60r/m;), "plan free\\", "plan free 60r/m; 'x",
        'plan free fast;', "plan free 60r/m;\nplan free 70r/m;", "plan free 60r/m;\ndefault a b;", 'unknown x;',
        'plan free 100r/m 50r/h;', 'plan free 1r/s 1r/m 1r/h 1r/d 1r/2d;', 'plan 60r/m;', 'plan;', 'plan free#x 60r/m;', '#',
        'plan free 60r/m; default pro;',
    );
    for my $body (@bodies) {
        my $file = write_file('plans.conf', $body);
        my ($exit, $output) = Nginx->test_config(conf => "tollgate_redis main { server 127.0.0.1; }\ntollgate_plans plans { include $file; }
            server { listen unix:%DIR%/http.sock; location / { tollgate plans; return 204; } }");
        my $result = $tollgate->run('simulate', '--plans', $file, $log);
        my $name = $body =~ s/\s/ /gr;
        is($result->{status}, $exit ? 2 : 0, ($exit ? 'refused: ' : 'accepted: ') . $name) or diag($output, $result->{err});
        next unless $exit;
        # The message about the whole table has the line of the block in nginx.conf.
        my ($message, $line) = $output =~ /\[emerg\] (?:\d+#\d+: )?(.*) in \Q$file\E:(\d+)$/m;
        if (defined $line) {
            is($result->{err}, "tollgate: $file: line $line: $message\n", '… with the same message');
        } else {
            ($message) = $output =~ /\[emerg\] (?:\d+#\d+: )?(.*) in \S+nginx.conf:\d+$/m;
            is($result->{err}, "tollgate: $file: $message\n", '… with the same message');
        }
    }
};

subtest 'a configuration of nginx' => sub {
    mkdir "$dir/$_" for qw(conf.d snippets);
    my $log = write_file('of-nginx.json', join '', map { qq({"msec":179542800$_.5,"key_id":"a","plan":"free"}\n) } 1 .. 5);
    my $file = write_file('nginx.conf', "user nobody;\nevents { }\nhttp {\n    include conf.d/*.conf;\n    include none/*.conf;\n    server { location / { return 200 '{'; } }\n}\n");
    write_file('conf.d/gateway.conf', "tollgate_redis main { server 127.0.0.1; }\ntollgate_plans api { include snippets/plans; plan pro 9r/s; }\n");
    write_file('conf.d/other.conf', "tollgate_plans search { plan free 1r/h; }\n");
    write_file('snippets/plans', "plan free 3r/m;\n");
    my $refused = sub { my $result = $tollgate->json('simulate', '--plans', @_, $log); return $result->{refused} };
    is($refused->($file), 4, 'all tables are read, with what they include');
    is($refused->("$dir/snippets/plans"), 2, '… which is not what one of them alone refuses');
    is($refused->("$dir/conf.d/other.conf"), 4, 'a part of the configuration');
    write_file('snippets/plans', "plan free 3r/m;\nplan x fast;\n");
    my $result = $tollgate->run('simulate', '--plans', $file, $log);
    is($result->{status}, 2, 'a mistake in an included file');
    like($result->{err}, qr{\Atollgate: \Q$file\E: \Q$dir\E/conf\.d/gateway\.conf: \Q$dir\E/snippets/plans: line 2: invalid rate "fast"$}m, '… is found there');
    unlink "$dir/snippets/plans";
    like($tollgate->run('simulate', '--plans', $file, $log)->{err}, qr/line 2: cannot read "\S+\/snippets\/plans": No such file or directory$/, 'a file that does not exist');
    write_file('nginx.conf', "events { }\nhttp { server { } }\n");
    like($tollgate->run('simulate', '--plans', $file, $log)->{err}, qr/no "tollgate_plans" block in it$/, 'no table');
};

my $plans = write_file('api.conf', 'plan free 1r/m; plan own custom; plan pro 2r/m;');

sub simulate { return $tollgate->json('simulate', '--plans', $plans, @_) }

sub refusals { my ($result) = @_; return { map { $_->{id} => $_->{refused} } @{ $result->{refusals} } } }

my $combined = write_file('access.log', <<'END');
192.0.2.1 - alice [23/Nov/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 314 "-" "curl/8" "gold"
192.0.2.2 - alice [23/Nov/2026:10:00:59 +0000] "GET /b HTTP/1.1" 429 314 "-" "an \x22agent\x22 [x]" "gold"
192.0.2.1 - - [23/Nov/2026:10:00:59 +0000] "GET / HTTP/1.1" 401 0 "-" "-" "-"

192.0.2.1 - bob [23/Nov/2026:11:01:00 +0100] "" 400 0 "-" "-" "-"
192.0.2.1 - bob [23/Nov/2026:10:01:30
END

subtest 'nginx combined' => sub {
    my $by_user = simulate('--plan', 'free', '--id-field', 'remote_user', $combined);
    is_deeply(refusals($by_user), { alice => 1 }, 'by the user');
    is_deeply([@$by_user{qw(lines unreadable requests refused_in_log)}, $by_user->{skipped}{without_id}], [6, 2, 3, 1, 1], 'the numbers of lines');
    is_deeply($by_user->{first_unreadable}, [
        { log => $combined, line => 4, reason => 'no time' },
        { log => $combined, line => 6, reason => 'a quote or bracket is not closed' },
    ], 'lines that cannot be read');
    is_deeply([@$by_user{qw(first last)}], ['2026-11-23T10:00:01Z', '2026-11-23T10:01:00Z'], 'times in UTC');
    is_deeply(refusals(simulate('--plan', 'free', '--id-field', 'remote_addr', $combined)), { '192.0.2.1' => 1 }, 'by the address');
    my $by_word = simulate('--plan', 'free', '--id-field', '10', $combined);
    is_deeply([refusals($by_word), $by_word->{requests}], [{ gold => 1 }, 2], 'by the number of a word');
};

subtest 'named words' => sub {
    my $log = write_file('named.log', join '', map { "192.0.2.1 [23/Nov/2026:10:00:0$_ +0000] \"GET / HTTP/1.1\" 200 verdict=granted key=k1 plan=free limit=1\n" } 1 .. 3);
    is_deeply(refusals(simulate($log)), { k1 => 2 }, 'as of conf/nginx.conf');
};

subtest 'other JSON' => sub {
    my $log = write_file('other.json', join '', map { qq({"ts":"2026-11-23T10:00:0$_.5Z","who":{"x":1},"user":"u\\u00e9","tier":"pro","units":$_}\n) } 0 .. 3);
    my @fields = ('--id-field', 'user', '--plan-field', 'tier', '--time-field', 'ts');
    is_deeply(refusals(simulate(@fields, $log)), { "u\x{e9}" => 2 }, 'with the names of its members');
    is_deeply(refusals(simulate(@fields, '--cost-field', 'units', $log)), { "u\x{e9}" => 2 }, '… and a cost');
};

subtest 'the text' => sub {
    my $text = $tollgate->run('simulate', '--plans', $plans, '--plan', 'free', '--id-field', 'remote_user', $combined)->{out};
    my $path = quotemeta $combined;
    like($text, qr/\Alines +6\n +2 cannot be read\n +$path line 4: no time\n +$path line 6: a quote or bracket is not closed\n +1 without an id\n/, 'what was read');
    like($text, qr/^requests +3 requests of 2 ids\n +2026-11-23T10:00:01Z to 2026-11-23T10:01:00Z\nrefused +1 request of 1 id\nin the log +1 request refused\n/m, 'what was found');
    like($text, qr/^PLAN +IDS +REQUESTS +REFUSED IDS +REFUSED +LIMITS\nfree +2 +3 +1 +1 +1r\/m\n/m, 'the plans');
    like($text, qr/^ID +.*\nalice +free +2 +1 +1 +2026-11-23T10:00:59Z +2026-11-23T10:00:59Z +minute 2026-11-23T10:00:00Z +1\n\z/m, 'the ids');
    my $escaped = write_file('escape.json', qq({"msec":1.5,"key_id":"a\\u001b[31m","plan":"x"}\n));
    unlike($tollgate->run('simulate', '--plans', $plans, $escaped)->{out}, qr/\e/, 'a terminal interprets nothing of it');
};

subtest 'limits that are not known' => sub {
    my $log = write_file('own.json', join '', map { qq({"msec":$_.5,"key_id":"k","plan":"own"}\n) } 1 .. 5);
    my $result = simulate($log);
    is_deeply([@$result{qw(requests refused without_limits)}], [5, 0, 5], 'are said');
    like($tollgate->run('simulate', '--plans', $plans, $log)->{out}, qr/^ +5 not decided: the limits of custom plans are not known$/m, '… in the text, too');
    is(simulate('--limits', '3r/m', $log)->{refused}, 2, 'may be given');
};

subtest 'lines that are too long, and a last one without an end' => sub {
    my $line = sub { qq({"msec":$_[0].5,"key_id":"k","plan":"free","agent":"$_[1]"}) };
    my $log = write_file('long.json', join "\n", $line->(1, 'x' x 3_000_000), $line->(2, 'x' x 900_000), $line->(3, 'x') . "\r", $line->(4, ''));
    my $result = simulate($log);
    is_deeply([@$result{qw(lines unreadable requests refused)}], [4, 1, 3, 2], 'one is not read');
    is($result->{first_unreadable}[0]{line}, 1, '… the first');
};

subtest 'mistakes' => sub {
    my $log = write_file('k.json', qq({"msec":1.5,"key_id":"k","plan":"free"}\n));
    my $without_plan = write_file('no_plan.json', qq({"msec":1.5,"key_id":"k"}\n));
    my $broken = write_file('broken.gz', "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03nonsense");
    for my $case (
        [2, qr/no line can be read: \Q$plans\E line 1: no time$/, $plans],
        [2, qr/no line has an id: set --id-field, for example to remote_user$/, $combined],
        [2, qr/no line has the field "user"$/, '--id-field', 'user', $log],
        [2, qr/no line has a plan: set --plan or --plan-field$/, $without_plan],
        [2, qr/--plan: no table has the plan "fre" \(did you mean "free"\?\)$/, '--plan', 'fre', $log],
        [2, qr/--limits: invalid rate "fast"$/, '--limits', 'fast', $log],
        [2, qr{--location "/=apj": unknown plan table "apj" \(did you mean "api"\?\)$}, '--location', '/=apj', $log],
        [2, qr/standard input can be read only once$/, '-', '-'],
        [2, qr/cannot open the log \S+: No such file or directory$/, "$dir/none"],
        [2, qr/no plan can be read from the file \S+none: No such file or directory$/, '--plans', "$dir/none", $log],
        [2, qr/\S*api\.conf: duplicate tollgate_plans "api"$/, '--plans', $plans, $log],
        [1, qr/cannot read the log \S+: Is a directory$/, "$dir"],
        [1, qr/cannot read the log \S+broken\.gz: \S/, $broken],
    ) {
        my ($status, $message, @arguments) = @$case;
        my $result = $tollgate->run('simulate', '--plans', $plans, @arguments);
        like($result->{err}, qr/\Atollgate: $message/, "@arguments");
        is($result->{status}, $status, "… status $status");
        is($result->{out}, '', '… and no output');
    }
    is($tollgate->run('simulate', $log)->{status}, 2, 'no plan file');
    is($tollgate->run('simulate', '--plans', $plans)->{status}, 2, 'no log');
};

done_testing;
