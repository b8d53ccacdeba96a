// The row of numbers at the top.

import { workers } from './alarms.js';
import { setText } from './element.js';
import * as format from './format.js';
import { refused } from './outcomes.js';
import { leastCount } from './quantile.js';

const maximum = (list, value) =>
    list.reduce((most, one) => value(one) !== null && (most === null || value(one) > value(most)) ? one : most, null);

export function showFigures(point, status) {
    put('requests', format.rate(point.requests), {
        detail: point.requests === null ? '' : `${format.rate(point.requests - point.refused)} not refused`,
    });
    put('refused', format.rate(point.refused), {
        detail: point.refused > 0 ? `${format.percentSign(point.refused / point.requests)} of requests: ${causes(point)}` : '',
    });
    showRedis(point.redis);

    const slowest = maximum(point.redis, one => one.p99);
    const [number, unit] = format.durationParts(slowest?.p99);
    put('round-trip', number, {
        unit,
        detail: slowest ? `of ${format.count(slowest.timed)} calls; p50 ${format.duration(slowest.p50)}${of(slowest, point.redis)}`
                        : unlessFirst(point, tooFew(maximum(point.redis, one => one.timed))),
    });
    put('known', format.percent(point.knownShare), {
        detail: point.keys > 0 ? `${format.rate(point.lookups)} look-ups/s for ${format.rate(point.keys)} keys/s` : unlessFirst(point, 'no keys just now'),
    });
    const fullest = maximum(point.zone.filter(store => !store.fillsUp), store => store.use);
    put('zone', format.percent(fullest?.use), {
        detail: `${fullest ? `${fullest.name}; ` : ''}${format.bytes(status.zone.size_bytes)} in all`,
    });
}

// Nothing is known.
export function clearFigures() {
    for (const tile of document.querySelectorAll('#figures > div')) {
        put(tile.id, format.unknown, { detail: 'not known', unit: '', state: '' });
    }
}

// Why requests are refused, the most frequent cause first.
const causes = point => refused.filter(name => point.outcomes[name] > 0)
    .sort((a, b) => point.outcomes[b] - point.outcomes[a])
    .map(name => `${name} ${format.rate(point.outcomes[name])}`).join(', ');

// A first status says nothing of what happens now.
const unlessFirst = (point, text) => point.requests === null ? '' : text;

const tooFew = one => one?.timed > 0 ? `${format.count(one.timed)} calls, fewer than ${leastCount}` : 'no calls just now';

// The name of a Redis, if there are several.
const of = (one, all) => all.length > 1 ? ` (${one.name})` : '';

function showRedis(all) {
    const away = all.filter(one => one.onFailure !== undefined && one.open > 0);
    const texts = away.length ? ['Unreachable', away.map(one => `${one.name}, ${workers(one)}`).join('; ')]
                              : ['Reachable', all.map(one => one.name).join(', ')];
    put('redis', all.length ? texts[0] : '–', { detail: texts[1], state: away.length ? 'bad' : 'good' });
}

function put(id, number, { unit, detail, state } = {}) {
    const tile = document.getElementById(id);
    setText(tile.querySelector('b'), number);
    setText(tile.querySelector('p'), detail);
    const place = tile.querySelector('span');
    if (place) setText(place, unit ?? place.dataset.unit ?? '');
    if (state !== undefined) tile.dataset.state = state;
}
