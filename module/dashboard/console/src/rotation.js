// The keys of an id, and what a rotation waits for.

import { element } from '../../src/element.js';
import { distance, time } from './times.js';

export const overlaps = [
    ['24h', '24 hours'], ['1h', '1 hour'], ['7d', '7 days'], ['30d', '30 days'], ['0', 'None: all earlier keys end at once'],
];

// What is known of the use of the old key since the rotation: 'used', 'unused', or 'unclear', because the API tells only
// the minute of the last use. null: there is no old key.
export function oldKeyUse(digests) {
    const old = digests.find(({ retiring }) => retiring);
    const current = digests.find(({ retiring }) => !retiring);
    if (!old || !current) return null;
    const used = old.used ? Date.parse(old.used) : -Infinity;
    const rotated = Date.parse(current.created);
    if (used > rotated) return 'used';
    return used + 60_000 > rotated ? 'unclear' : 'unused';
}

function rotationText(digests) {
    const old = digests.find(({ retiring }) => retiring);
    const end = old?.expires ? `It works until ${time(old.expires)} (${distance(old.expires)}).` : '';
    return {
        used: `The old key is still used: last ${distance(old?.used)}. ${end} Then its requests get 401.`,
        unclear: `The old key was used in the minute of the rotation, and not later. ${end}`,
        unused: `The old key was not used since the rotation. ${end}`,
    }[oldKeyUse(digests)];
}

const year = 366 * 86_400_000;

function lastUse({ used, created }) {
    if (used) return `${time(used)} (${distance(used)})`;
    return Date.now() - Date.parse(created) < year ? 'not used' : 'not within 366 days';
}

// Elements for the `digests` of a key.
export function keysOf(digests) {
    const use = oldKeyUse(digests);
    return [
        ...use ? [element('p', { class: 'rotation', 'data-use': use }, rotationText(digests))] : [],
        ...digests.length ? [] : [element('p', {}, 'All keys of this id have ended.')],
        ...digests.map(digest => element('dl', { class: 'facts' }, ...[
            [digest.retiring ? 'Old key' : 'Key', digest.hint ? `ends with ${digest.hint}` : 'its end is not known'],
            ['SHA-256', `${digest.sha256.slice(0, 12)}…`],
            ['Stored', time(digest.created)],
            ['Last use', lastUse(digest)],
            ['Ends', digest.expires ? `${time(digest.expires)} (${distance(digest.expires)})` : 'never'],
        ].map(([label, text]) => element('div', {}, element('dt', {}, label), element('dd', {}, text))))),
    ];
}
