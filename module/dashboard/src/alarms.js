// What is wrong at a point, and what clients get meanwhile: see module/docs/faults.md.

import * as format from './format.js';

// By `on_failure`.
const served = {
    local: 'Known keys are served, and counted by this node alone; keys that it does not know get 503.',
    allow: 'Known keys are served without being counted; keys that this node does not know get 503.',
    deny: 'Requests that need Redis get 503.',
};

// The alarms of a point. `previous`: the point before it. Each alarm: { key, title, extent, text, detail }. The text is
// about clients and remains the same while the alarm lasts. The detail has the numbers that change.
export function alarmsOf(point, previous) {
    if (point.gap) return [{ key: 'status', title: 'The status could not be read' }];
    const configured = point.redis.filter(one => one.onFailure !== undefined);
    return [
        ...configured.filter(one => one.open > 0).map(unreachable),
        ...configured.filter(one => isUnsubscribed(one) && previous?.redis?.some(earlier => earlier.name === one.name && isUnsubscribed(earlier)))
            .map(unsubscribed),
        ...point.outcomes.unavailable > 0 ? [unavailable(point)] : [],
        ...point.zone.filter(store => !store.fillsUp && store.evictions > 0).map(evicting),
    ];
}

export const workers = one => one.open >= one.workers ? 'for all workers' : `for ${one.open} of ${one.workers} workers`;

// In a cluster, one unreachable master does not concern the keys of the others.
function unreachable(one) {
    const away = one.masters.filter(master => !master.reachable).length;
    const some = away > 0 && away < one.masters.length;
    return {
        key: `redis ${one.name}`,
        title: some ? `${away} of ${one.masters.length} masters of Redis ${one.name} are unreachable` : `Redis ${one.name} is unreachable`,
        extent: workers(one),
        text: `${some ? 'Of their keys: ' : ''}${served[one.onFailure]}`,
        detail: one.owed > 0 ? `${format.count(one.owed)} units are owed to Redis.` : '',
    };
}

// Without Redis, no worker is subscribed. A worker that has just started subscribes at once: a single point says nothing.
const isUnsubscribed = one => one.open === 0 && one.subscribed < one.workers;

const unsubscribed = one => ({
    key: `subscription ${one.name}`,
    title: `The subscription to Redis ${one.name} is lost`,
    extent: `by ${one.workers - one.subscribed} of ${one.workers} workers`,
    text: 'A change of a key takes effect within a second, and not at once.',
});

const unavailable = point => ({
    key: 'unavailable',
    title: 'Requests get 503',
    text: 'Redis can’t be asked about them.',
    detail: `Now ${format.rate(point.outcomes.unavailable)} a second.`,
});

const evicting = store => ({
    key: `evictions ${store.name}`,
    title: `The zone is too small for its ${store.name}`,
    text: 'Nothing is refused for it, but Redis is called again for what was evicted.',
    detail: `Now ${format.rate(store.evictions)} evictions a second.`,
});
