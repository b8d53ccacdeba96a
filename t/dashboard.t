# tollgate_dashboard: the page as nginx serves it and as a browser shows it.

use strict;
use warnings;
use utf8;
use lib 't/lib';
use Test::More;
use BackgroundLoad;
use Browser;
use Gateway;
use JSON::PP ();
use RedisCluster;
use Time::HiRes qw(sleep);
use Wait qw(free_port wait_until);

binmode Test::More->builder->$_, ':encoding(UTF-8)' for qw(output failure_output);
plan skip_all => 'a browser tells nothing of the C++ that other tests do not' if $ENV{TOLLGATE_SANITIZE};
my $browser = eval { Browser->start } // plan skip_all => $@ =~ s/\n.*//sr;

is(system('node', '--test', '--test-reporter=dot', glob 't/unit/dashboard/*_test.mjs'), 0, 'unit tests of the page');

my $server = <<'END';
    location = /tollgate/dashboard { tollgate_dashboard; }
    location = /tollgate/status    { tollgate_status; }
    location = /elsewhere          { tollgate_dashboard /tollgate/status; }
    location = /odd                { tollgate_dashboard '/a?"><script>alert(1)</script>&'; }
    location = /strict             { tollgate strict; proxy_pass http://unix:%DIR%/upstream.sock; }
    location = /past/dashboard     { tollgate_dashboard; }
    location = /past/status        { default_type application/json; alias %DIR%/past.json; }
    location = /in_if              { tollgate_dashboard; if ($arg_a) { set $b 1; } }
    location /guarded/ {
        auth_basic operators;
        auth_basic_user_file %DIR%/operators;
        location = /guarded/dashboard { tollgate_dashboard; }
        location = /guarded/status    { tollgate_status; }
    }
END
my $gateway = Gateway->start(
    plans   => 'plan free 1000000r/d; plan spent 1r/d; anonymous 1000000r/d;',
    table   => 'lease=off',            # each granted request is a call
    server  => $server,
    http    => <<'END',
    tollgate_zone 1m;    # its places for unknown keys fill soon
    tollgate_plans strict redis=main unit=tokens { plan free 1r/d; anonymous 1r/d; ban after=3 within=1m for=10m; }
END
    workers => 2,
    files   => { operators => "ops:{PLAIN}secret\n" },
);
$gateway->import_key($_, id => $_, plan => $_) for qw(free spent);
$gateway->import_key('eager', id => 'eager', plan => 'free');
my $host = 'http://' . $gateway->address;

subtest 'the HTTP response' => sub {
    my $r = $gateway->get('/tollgate/dashboard');
    is($r->status, 200, 'exists');
    is($r->header('Content-Type'), 'text/html; charset=utf-8', 'HTML');
    is($r->header('Cache-Control'), 'no-cache', 'a browser revalidates it each time');
    like($r->header('Content-Security-Policy'), qr/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/,
        'the policy allows its script and its style');
    unlike($r->header('Content-Security-Policy'), qr/unsafe|http|\*/, '... and nothing else');
    unlike($r->body, qr/STATUS_URI|<(?:script|link)[^>]+(?:src|href)=(?!"data:)/, 'one self-contained page');
    like($r->body, qr/tollgate top --sort refusals/, 'it says where ids are, which the status does not have');
    like($r->body, qr/Permission is hereby granted/, 'it includes the licence of its libraries');
    like($r->body, qr/<meta name="tollgate-status" content="status">/, 'the default status URI');
    like($gateway->get('/elsewhere')->body, qr{content="/tollgate/status"}, '... or the configured one');
    like($gateway->get('/odd')->body, qr{content="/a\?&quot;&gt;&lt;script&gt;alert\(1\)&lt;/script&gt;&amp;"}, '... which is escaped');
    is($gateway->get('/in_if?a=1')->body, $r->body, 'the same within an `if`');

    my $etag = $r->header('ETag');
    is($gateway->get('/tollgate/dashboard', undef, 'If-None-Match' => $etag)->status, 304, '304 for a matching ETag');
    isnt($gateway->get('/elsewhere')->header('ETag'), $etag, '... which differs if the status URI differs');
    my $head = $gateway->request('HEAD', '/tollgate/dashboard');
    is($head->status . $head->body, 200, 'HEAD has no body');
    is($head->header('Content-Length'), length $r->body, '... but the Content-Length of GET');
    my $post = $gateway->request('POST', '/tollgate/dashboard', {}, 'x');
    is($post->status, 405, 'POST: 405');
    is($post->header('Allow'), 'GET, HEAD', '... with Allow');
};

# A time with its zone.
my $time = qr/\d\d:\d\d:\d\d (?:[A-Z]+|GMT[+-][\d:]+)/;

# The number of the figure with this id, without commas.
sub figure {
    my ($id) = @_;
    return qq{Number(document.querySelector("#$id b").textContent.replace(",", ""))};
}

# An expression: the result of these statements, which can use the pixels of a plot, by default the first.
sub in_plot {
    my ($statements, $selector) = @_;
    $selector //= '#plots canvas';
    return <<"END";
(() => {
    const colour = name => {
        const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
    };
    const canvas = document.querySelector('$selector');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width, height } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const pixel = (x, y) => [0, 1, 2].map(i => data[4 * (y * width + x) + i]);
    const is = (x, y, wanted) => pixel(x, y).every((value, i) => value === wanted[i]) && data[4 * (y * width + x) + 3] === 255;
    const columns = [...Array(width).keys()];
    const rows = [...Array(height).keys()];
    const granted = colour('--granted');
    $statements
})()
END
}

# The number of pixels with the colour of granted requests.
my $pixels = in_plot('return columns.flatMap(x => rows.filter(y => is(x, y, granted))).length;');

subtest 'before any request' => sub {
    is($browser->open("$host/tollgate/dashboard"), 200, 'opens');
    $browser->wait_for(figure('requests') . ' === 0');
    is($browser->eval('document.querySelector("#state").textContent'), 'Live', 'is live');
    is($browser->eval('[...document.querySelectorAll("#plots .empty")].filter(one => !one.hidden).length'), 6, 'each plot says that it has no data');
    is($browser->eval('document.querySelector("#alerts").textContent'), '', 'no alert');
    is($browser->eval($pixels), 0, 'the plot is empty');
};

my @tokens = qw(free free free spent nobody);
my $load = BackgroundLoad->start(
    servers     => [$gateway->address],
    connections => 4,
    token       => sub { sleep 0.003; $tokens[rand @tokens] },
);

# The elements that don't fit in a window of this width: cards, plot headings, tables.
my $misfits = <<'END';
(() => {
    const found = [];
    const name = one => one.id || one.closest('[id]').id + ' ' + one.textContent.slice(0, 20);
    // Until the next status.
    document.querySelector('#requests b').textContent = '123,456';
    document.querySelector('.table td[data-state]').textContent = '✕ unreachable for 1 of 2 workers';
    for (const card of document.querySelectorAll('#figures > div, #figures dt, #figures dd, figure, figcaption')) {
        if (card.scrollWidth > card.clientWidth) found.push(`${name(card)} is wider than its card`);
    }
    for (const card of document.querySelectorAll('#figures > div')) {
        const [number, unit] = ['b', 'span'].map(one => card.querySelector(one)?.getBoundingClientRect());
        if (unit?.width && unit.bottom > number.bottom + 1) found.push(`${card.id} has its unit, or a part of it, on another line`);
        const inside = card.getBoundingClientRect();
        for (const one of card.querySelectorAll('b, span, p, dt')) {
            const range = document.createRange();
            range.selectNodeContents(one);
            if (range.getBoundingClientRect().right > inside.right) found.push(`${card.id}: "${one.textContent}" stands out of its card`);
        }
    }
    for (const table of document.querySelectorAll('.table')) {
        if (table.scrollWidth <= table.clientWidth) continue;
        if (innerWidth >= 1280) found.push(`table ${table.textContent.slice(0, 6)} is cut off`);
        if (!getComputedStyle(table).backgroundAttachment.includes('local')) found.push('a table that scrolls gives no hint of it');
    }
    for (const cell of document.querySelectorAll('.table:not([hidden]) :is(th, td)')) {
        const [table, text] = [cell.closest('.table'), document.createRange()];
        text.selectNodeContents(cell);
        const right = text.getBoundingClientRect().right + table.scrollLeft;
        if (right > table.getBoundingClientRect().left + table.scrollWidth - 8) found.push(`"${cell.textContent}" touches the border`);
    }
    return found;
})()
END

sub fits {
    my ($when) = @_;
    for my $width (1280, 360) {
        $browser->size($width, 900);
        $browser->wait_for("innerWidth === $width");
        # A plot is resized in the next frame.
        $browser->wait_for("[...document.querySelectorAll('.canvas canvas')].every(one => one.clientWidth <= one.closest('.canvas').clientWidth)");
        is_deeply($browser->eval($misfits), [], "$when: everything fits at $width px");
        next unless $ENV{TOLLGATE_SCREENSHOTS};
        for my $scheme (qw(light dark)) {
            $browser->scheme($scheme);
            $browser->screenshot("$ENV{TOLLGATE_SCREENSHOTS}/" . $when =~ s/ /-/gr . "-$width-$scheme.png");
        }
    }
    is_deeply($browser->eval('[...document.querySelectorAll("#figures > div")].map(one => one.id)'),
        [qw(redis refused requests round-trip zone known)], '... what asks for action comes first') if $when eq 'under load';
    is($browser->eval('(([one, two]) => one.offsetTop === two.offsetTop)(document.querySelectorAll("#figures > div"))'), JSON::PP::true,
        '... figures are side by side in a narrow window');
    $browser->size(1440, 900);
}

# The colour of each plan's area in the legend, by plan.
sub plan_colours {
    return $browser->eval('Object.fromEntries([...document.querySelectorAll("#plots figure:nth-of-type(2) .legend li")]'
        . '.map(one => [one.childNodes[1].textContent, one.querySelector("path").getAttribute("fill")]))');
}

# The number of pixels inside the lowest area that have another colour.
my $lines_over_area = in_plot(<<'END');
    const areas = columns.map(x => rows.filter(y => is(x, y, granted))).filter(area => area.length >= 20);
    return [areas.length > 2, areas.reduce((over, area) => over + area.at(-1) - area[0] + 1 - area.length, 0)];
END

# The area above the lowest one, as drawn: the least contrast of the two (WCAG 2.2), and whether it has a
# pattern with such a contrast.
my $next_area = in_plot(<<'END');
    const luminance = rgb => rgb.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (one, other) => (([less, more]) => (more + 0.05) / (less + 0.05))([luminance(one), luminance(other)].sort((a, b) => a - b));
    const names = [...document.querySelectorAll('#plots figure:first-of-type .legend li')].slice(1)
        .map(one => `--${one.childNodes[1].textContent.replaceAll(' ', '-')}`);
    const found = columns.flatMap(x => {
        const top = rows.findIndex(y => is(x, y, granted));
        const next = top < 9 ? undefined : names.find(name => [2, 3, 4].some(above => is(x, top - above, colour(name))));
        return next ? [{ next, x, top }] : [];
    });
    return {
        columns: found.length,
        contrast: Math.min(...found.map(({ next }) => contrast(granted, colour(next)))),
        pattern: found.some(({ next, x }) => {
            const own = rows.filter(y => is(x, y, colour(next)));
            return rows.slice(own[0], own.at(-1)).some(y => contrast(pixel(x, y), colour(next)) >= 3);
        }),
    };
END

subtest 'under load' => sub {
    $browser->wait_for(figure('requests') . ' > 20 && ' . figure('refused') . ' > 5');
    pass('the figures change');
    $browser->wait_for('/[0-9]/.test(document.querySelector("#round-trip b").textContent)');
    like($browser->eval('document.querySelector("#round-trip").textContent'), qr/[\d.]+ (?:µs|ms|s)of [1-9][\d,]{2,} calls; p50 [\d.]+ (?:µs|ms|s)/, 'round trips, and how many');
    like($browser->eval('document.querySelector("#plots figure:nth-of-type(4) .legend").textContent'), qr/p99[\d.]+ (?:µs|ms|s) of [\d,]+ calls/, '... also in the plot');
    cmp_ok($browser->eval(figure('known')), '>', 50, 'keys without a look-up');
    cmp_ok($browser->eval(figure('zone')), '>', 0, 'zone');
    my $legend = $browser->eval('document.querySelector("#plots figure:nth-of-type(1) .legend").textContent');
    like($legend, qr/granted[\d.]+customer over quota[\d.]+unauthenticated[\d.]+/, "outcomes: $legend");
    $legend = $browser->eval('document.querySelector("#plots figure:nth-of-type(2) .legend").textContent');
    like($legend, qr/api: no plan[\d.]+api: free[\d.]+api: spent[\d.]+/, "plans: $legend");
    like($browser->eval('document.querySelector("#plots .canvas").getAttribute("aria-label")'),
        qr/^Requests a second by outcome: granted [\d.]+, customer over quota/, 'a plot has a text description');
    is($browser->eval('[...document.querySelectorAll("#plots .empty")].filter(one => !one.hidden).length'), 0, 'every plot has data');
    like($browser->eval('document.querySelector("#tables").textContent'), qr/main✓ reachable/, 'tables');
    like($browser->eval('document.querySelector("#tables").textContent'), qr/api: no plan/, '... with the same name for requests without a plan as the plots');
    my $units = <<'END';
[...document.querySelectorAll('#tables tr')].filter(one => /^(api|strict): free$/.test(one.cells[0].textContent))
    .map(one => [one.cells[0].textContent, one.lastChild.textContent])
END
    is_deeply({ map { @$_ } @{ $browser->eval($units) } }, { 'api: free' => 'requests', 'strict: free' => 'tokens' }, '... and the unit of each table');
    $browser->wait_for("${lines_over_area}[0]");
    is_deeply($browser->eval($lines_over_area), [JSON::PP::true, 0], 'no gridline is drawn over an area');
    fits('under load');
};

subtest 'why requests are refused' => sub {
    for (1 .. 10) {
        $gateway->get('/strict', 'eager');
        $gateway->get('/strict');
    }
    for my $cause ('customer over quota', 'address over budget', 'banned') {
        $browser->wait_for("document.querySelector('#plots figure:nth-of-type(3) .legend').textContent.includes('$cause')");
        $browser->wait_for("document.querySelector('#refused p').textContent.includes('$cause')");
        pass("$cause: its line, and its part of the figure");
    }
};

subtest 'light and dark' => sub {
    my %shade;
    for my $scheme (qw(light dark)) {
        $browser->scheme($scheme);
        my $background = $browser->eval('getComputedStyle(document.body).backgroundColor');
        my ($red, $green, $blue) = $background =~ /(\d+)/g;
        $shade{$scheme} = $red + $green + $blue;
        $browser->wait_for("$pixels > 20");
        pass("the plot is drawn in the colours of $scheme ($background)");
        # Each second the plot is drawn anew: both are of one drawing.
        $browser->wait_for("(area => area.columns > 20 && area.pattern && (window.nextArea = area))($next_area)");
        pass('... the area above the lowest one has a pattern');
        cmp_ok($browser->eval('window.nextArea')->{contrast}, '>=', 3, '... and contrast with it');
        $browser->screenshot("$ENV{TOLLGATE_SCREENSHOTS}/$scheme.png") if $ENV{TOLLGATE_SCREENSHOTS};
    }
    cmp_ok($shade{light}, '>', 600, 'light is light');
    cmp_ok($shade{dark},  '<', 100, 'dark is dark');
};

subtest 'the pointer' => sub {
    my $times = '[...document.querySelectorAll("#plots figcaption span")].map(one => one.textContent)';
    my $move = sub {
        my ($type) = @_;
        $browser->eval('(() => { const canvas = document.querySelector("#plots canvas"), { right, top } = canvas.getBoundingClientRect();'
            . qq| canvas.dispatchEvent(new MouseEvent("$type", { clientX: right - 30, clientY: top + 60 })); })()|);
    };
    $move->('mousemove');
    like($_, qr/^\d\d:\d\d:\d\d$/, 'each plot has the time at the pointer') for @{ $browser->eval($times) };
    $move->('mouseleave');
    is_deeply($browser->eval($times), [("") x 6], '... until the pointer leaves');
};

subtest 'by keyboard' => sub {
    $browser->press('Tab');
    is($browser->eval('document.activeElement.id'), 'pause', 'Tab moves the focus to the button');
    $browser->press('Enter');
    is($browser->eval('document.querySelector("#pause").getAttribute("aria-pressed")'), 'true', 'Enter presses it');
    like($browser->eval('document.querySelector("#state").textContent'), qr/^Paused at $time$/, 'the page says of when the figures are');
    my $uptime = 'document.querySelector("#node").textContent';
    my $before = $browser->eval($uptime);
    # The page still sends requests: at the third request from now on, the response to the second has been read.
    my $asked = sub { scalar grep { m{/tollgate/status$} } $browser->requests };
    my $first = $asked->();
    wait_until('three requests', sub { $asked->() >= $first + 3 });
    is($browser->eval($uptime), $before, 'and the figures don\'t change');
    $browser->press('Enter');
    $browser->wait_for("$uptime !== " . JSON::PP->new->allow_nonref->encode($before));
    pass('pressed again, the figures change');
};

# The columns with a bar above the plot: their share of all, and what the pointer tells at them.
my $bar_script = <<'END';
    const bad = colour('--bad');
    const marked = columns.filter(x => rows.slice(0, 8).some(y => is(x, y, bad)));
    // The headings while the pointer is at these columns.
    const { left, top } = canvas.getBoundingClientRect();
    const told = marked.map(x => {
        canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: left + x, clientY: top + 60 }));
        return canvas.closest('figure').querySelector('figcaption span').textContent;
    });
    const legend = canvas.closest('figure').querySelector('.legend').textContent;
    canvas.dispatchEvent(new MouseEvent('mouseleave'));
    return { share: marked.length / width, told, legend };
END

# Waits until an alert matches.
sub alert_appears {
    my ($wanted, $name) = @_;
    my $texts;
    wait_until($name, sub {
        $texts = $browser->eval('[...document.querySelectorAll("#alerts p")].map(one => one.textContent)');
        return grep { $_ =~ $wanted } @$texts;
    });
    pass($name);
}

sub no_alert {
    my ($name) = @_;
    $browser->wait_for('document.querySelector("#alerts").textContent === ""');
    pass($name);
}

subtest 'a stopped Redis' => sub {
    $gateway->redis->sigstop;
    $browser->wait_for('/^Redis main is unreachable/.test(document.querySelector("#alerts").textContent)');
    pass('an alert is shown');
    is($browser->eval('document.querySelector("#redis b").textContent'), 'Unreachable', '... in its figure');
    like($browser->eval('document.title'), qr/^✕ Redis main is unreachable/, '... and in the title');
    $browser->wait_for('document.querySelector("#plots .legend").textContent.includes("degraded")');
    pass('requests granted without Redis have their own verdict');
    alert_appears(qr/^Redis main is unreachable for (?:all|1 of 2) workers since $time\. Known keys are served, and counted by this node alone; .* [1-9][\d,]* units are owed to Redis\.$/,
        'the alert says what clients get, and how much is owed');
    is($gateway->get('/', 'unseen')->status, 503, 'a key that the node does not know gets 503');
    alert_appears(qr/^Requests get 503 since $time\. Redis can’t be asked about them\. Now [\d.]+ a second\.$/, '... which raises an alert');
    fits('without Redis');
    $gateway->redis->sigcont;
    no_alert('Redis is reachable again');
    is($browser->eval('document.querySelector("#redis b").textContent'), 'Reachable', '... also in its figure');
    my $marked = $browser->eval(in_plot($bar_script));
    cmp_ok($marked->{share}, '>', 0, 'a bar above the plots remains');
    like(join("\n", @{ $marked->{told} }), qr/^\d\d:\d\d:\d\d · .*Redis main is unreachable/m, '... and the pointer tells of what it is');
};

subtest 'a lost subscription' => sub {
    # Redis closes connections that subscribed to a channel that the ACL no longer allows.
    $gateway->redis->cmd('ACL', 'SETUSER', 'default', 'resetchannels');
    alert_appears(qr/^The subscription to Redis main is lost by 2 of 2 workers since $time\. A change of a key takes effect within a second, and not at once\.$/, 'raises an alert');
    $gateway->redis->cmd('ACL', 'SETUSER', 'default', 'allchannels');
    no_alert('it ends with the subscription');
};
$load->finish;

subtest 'a few calls' => sub {
    # The round trips under load are older than the window.
    $browser->open("$host/tollgate/dashboard");
    $browser->wait_for(figure('requests') . ' === 0');
    $gateway->get('/', 'free') for 1 .. 3;
    my $tile = 'document.querySelector("#round-trip dd").textContent';
    $browser->wait_for("/[1-9][0-9]? calls/.test($tile)");
    like($browser->eval($tile), qr/^–\s*\d+ calls, fewer than 100$/, 'have a count, but no quantile');
    is($browser->eval('document.querySelector("#plots figure:nth-of-type(4) .empty").innerText'), 'Fewer than 100 calls at any time', '... nor a plot');
};

subtest 'the colour of a plan' => sub {
    my %colour;
    for my $order ([qw(free spent)], [qw(spent free)]) {
        $browser->open("$host/tollgate/dashboard");
        $browser->wait_for(figure('requests') . ' === 0');
        for my $plan (@$order) {
            $gateway->get('/', $plan);
            $browser->wait_for("document.querySelector('#plots figure:nth-of-type(2) .legend').textContent.includes('api: $plan')");
        }
        my $colours = plan_colours();
        push @{ $colour{$_} }, $colours->{"api: $_"} for @$order;
    }
    is($colour{$_}[1], $colour{$_}[0], "$_ has the same colour whichever plan is busy first") for qw(free spent);
    isnt($colour{free}[0], $colour{spent}[0], '... and two plans have different colours');
};

subtest 'the places for unknown keys are full' => sub {
    my $full = 'document.querySelector("#tables").textContent.includes("100 % (normal)")';
    my $number = 0;
    until ($browser->eval($full)) {
        $gateway->get('/', 'unknown' . $number++) for 1 .. 100;
        die "they are not full\n" if $number > 20_000;
    }
    pass("full after $number unknown keys");
    cmp_ok($browser->eval(figure('zone')), '<', 5, '... the figure does not count them');
    unlike($browser->eval('document.querySelector("#plots figure:nth-of-type(6) .legend").textContent'), qr/unknown/, '... nor the plot');
};

subtest 'evictions' => sub {
    my @long = map { 'x' x 60 . $_ } 1 .. 100;    # there are few places for records with such ids
    $gateway->import_key($_, id => $_, plan => 'free') for @long;
    $gateway->get('/', $_) for @long;
    alert_appears(qr/^The zone is too small for its long keys since $time\. .* Now [\d.]+ evictions a second\.$/, 'raise an alert');
    no_alert('it ends with them');
};

subtest 'the hour before the page was opened' => sub {
    my $status = $gateway->status;
    my $series = $status->{hour}{series};
    @$series{keys %$series} = map { [(0) x 60] } keys %$series;
    $series->{granted} = [(6000) x 60];
    $series->{unavailable} = [(0) x 30, (1200) x 6, (0) x 24];
    $series->{unreachable} = [(0) x 29, (1) x 6, (0) x 25];
    open my $file, '>', $gateway->nginx->dir . '/past.json' or die $!;
    print $file JSON::PP->new->encode($status);
    close $file;
    $browser->open("$host/past/dashboard");
    $browser->wait_for('document.querySelector("#hour .legend").textContent === "granted100unavailable0"');
    pass('its outcomes are shown');
    my $marked = $browser->eval(in_plot($bar_script, '#hour canvas'));
    cmp_ok($marked->{share}, '>', 0.05, 'the time without Redis is marked');
    cmp_ok($marked->{share}, '<', 0.15, '... and no other');
    like(join("\n", @{ $marked->{told} }), qr/^\d\d:\d\d:\d\d · Redis was unreachable · Requests got 503$/m, 'the pointer tells of what it is');
    is($marked->{legend}, 'granted100unavailable20', '... and what clients got');
    $browser->screenshot("$ENV{TOLLGATE_SCREENSHOTS}/hour.png") if $ENV{TOLLGATE_SCREENSHOTS};
};

subtest 'a phone' => sub {
    $browser->size(360, 800);
    $browser->wait_for('document.documentElement.scrollWidth <= innerWidth');
    pass('nothing overflows');
    my $seen = <<'END';
(() => {
    const table = [...document.querySelectorAll('.table')].find(one => one.querySelector('caption').textContent === 'Plans');
    const heads = [...table.querySelectorAll('thead th')].filter(one => one.getBoundingClientRect().right <= table.getBoundingClientRect().right);
    return [table.scrollLeft, heads.map(one => one.textContent)];
})()
END
    is_deeply([@{ $browser->eval($seen)->[1] }[0 .. 2]], ['Plan', 'Refused/s', 'Refused'], 'what plans were refused is seen without scrolling');
    $browser->size(1440, 900);
};

subtest 'behind a password' => sub {
    my ($port) = $host =~ /(\d+)$/;
    is($browser->open("http://ops:secret\@127.0.0.1:$port/guarded/dashboard"), 200, 'opens');
    $browser->wait_for('document.querySelector("#state").textContent === "Live"');
    pass('the status request sends the password too');
};

subtest 'no errors so far' => sub {
    is_deeply([$browser->complaints], [], 'no error in the console');
    my %asked = map { $_ => 1 } $browser->requests;
    my ($port) = $host =~ /(\d+)$/;
    is_deeply([sort keys %asked], [sort map({ ("$host/$_/dashboard", "$host/$_/status") } qw(tollgate past)),
        "http://ops:secret\@127.0.0.1:$port/guarded/dashboard", "$host/guarded/status"], 'requests went to its own host only');
};

# What the page says without a status: the alert, and every claim beside it.
sub says_nothing_without_a_status {
    my ($reason, $seen) = @_;
    like($browser->eval('document.querySelector("#alerts").textContent'), qr/^The status can’t be read: $reason from \Q$host\E\/tollgate\/status\.$seen$/,
        'the alert names the reason and the URL');
    is_deeply($browser->eval('[...document.querySelectorAll("#figures > div")].map(one => one.querySelector("b").textContent + one.querySelector("p").textContent)'),
        [('–not known') x 6], 'no figure is shown');
    is_deeply($browser->eval('[...document.querySelectorAll("#figures [data-state]")].map(one => one.dataset.state).filter(one => one)'), [], '... nor a state');
    unlike($browser->eval('document.querySelector("main").textContent'), qr/Nothing was|No requests|No calls|No look-ups|is empty/, 'nor is it said that nothing happened');
}

subtest 'an unreachable status' => sub {
    $browser->open("$host/tollgate/dashboard");
    $browser->wait_for('document.querySelector("#state").textContent === "Live"');
    $browser->wait_for('document.querySelector("#plots figure:nth-of-type(3) .empty").textContent === "Nothing was refused"');
    my $conf = $gateway->nginx->{options}{conf};
    (my $without = $conf) =~ s/tollgate_status;/return 404;/ or die;
    $gateway->nginx->reload(conf => $without);
    my $stale = 'document.querySelector("#state").dataset.state === "stale"';
    $browser->wait_for($stale);
    says_nothing_without_a_status('HTTP 404', qr/ It was last read at $time\./);
    is($browser->eval('document.querySelector("#state").textContent'), 'Status can’t be read', 'the state of the page');
    like($browser->eval('document.querySelector("#as-of").innerText'), qr/^As of $time, when the status was last read:$/, 'the tables say of when they are');
    $browser->open("$host/tollgate/dashboard");
    $browser->wait_for($stale);
    says_nothing_without_a_status('HTTP 404', qr//);
    is($browser->eval('document.querySelector("#as-of").innerText'), '', 'there are no tables yet');
    $gateway->nginx->reload(conf => $conf =~ s/tollgate_status;/tollgate_dashboard;/r);
    $browser->wait_for('document.querySelector("#alerts").textContent.includes("not tollgate_status")');
    says_nothing_without_a_status('not tollgate_status, but text/html; charset=utf-8', qr//);
    $gateway->nginx->reload(conf => $conf);
    $browser->wait_for('document.querySelector("#state").textContent === "Live"');
    is($browser->eval('document.querySelector("#as-of").innerText'), '', 'it recovers by itself');
    $browser->wait_for('document.querySelector("#plots figure:nth-of-type(3) .empty").textContent === "Nothing was refused while the status was read"');
    pass('what is not known of the past is not claimed');
    is_deeply([grep { !/Failed to load resource: .*404|ERR_ABORTED|ERR_EMPTY_RESPONSE|ERR_CONNECTION/ } $browser->complaints], [], 'no other errors');
};

subtest 'the policy is in force' => sub {
    my $elsewhere = free_port();
    is($browser->eval("fetch('http://127.0.0.1:$elsewhere/').then(() => 'asked', () => 'refused')"), 'refused', 'a request to another host is refused');
    $browser->eval('(() => { const script = document.createElement("style"); script.textContent = "body { opacity: .3 }"; document.head.append(script); })()');
    is($browser->eval('getComputedStyle(document.body).opacity'), '1', 'an injected style has no effect');
    my $complaints = join "\n", grep { /Content Security Policy/ } $browser->complaints;
    like($complaints, qr{\b$_ }, "by $_") for qw(connect-src style-src);
};

subtest 'the masters of a cluster' => sub {
    my $cluster = RedisCluster->start(masters => 3);
    my $gateway = Gateway->start(
        redis_server => $cluster, plans => 'plan free 1000000r/d;',
        server => 'location = /tollgate/dashboard { tollgate_dashboard; } location = /tollgate/status { tollgate_status; }',
    );
    my @ids = map { "k$_" } 1 .. 20;
    $gateway->import_key($_, id => $_, plan => 'free') for @ids;
    is($gateway->get('/', $_)->status, 200, "$_ is granted") for @ids;
    $browser->open('http://' . $gateway->address . '/tollgate/dashboard');
    my $masters = '[...document.querySelectorAll("#tables .table")].find(one => one.textContent.startsWith("Masters"))';
    $browser->wait_for("(${masters}?.textContent.match(/127\\.0\\.0\\.1:[0-9]+✓ reachable5,46[12]/g) ?? []).length === 3");
    pass('are shown with their slots');
    my $victim = $cluster->master_of('t:quota:{k1}:api');
    my $address = '127.0.0.1:' . $victim->port;
    $victim->kill;
    $gateway->get('/', $_) for @ids;
    $browser->wait_for("${masters}.textContent.includes('$address✕ unreachable')");
    pass('a stopped one is unreachable');
    $browser->wait_for('/^1 of 3 masters of Redis main are unreachable/.test(document.querySelector("#alerts").textContent)');
    pass('an alert is shown');
    $browser->open('http://' . $gateway->address . '/tollgate/dashboard');
    alert_appears(qr/^1 of 3 masters of Redis main are unreachable for .* since $time or earlier\. Of their keys: Known keys are served, /,
        '... whose beginning is not known to a page that was opened later');
    fits('with masters');
    $victim->restart;
    $browser->wait_for('document.querySelector("#alerts").textContent === ""');
    pass('it ends when the master is back');
    $gateway->nginx->stop;
};

undef $browser;
$gateway->nginx->stop;

done_testing;
