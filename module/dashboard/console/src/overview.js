// What the start page answers first: how much there is, who is banned or refused, which keys are new, and which end soon.

import { element } from '../../src/element.js';
import * as format from '../../src/format.js';
import { keyPath } from './api.js';
import { actions, badge, button, linkTo, Section } from './parts.js';
import { distance, time } from './times.js';

const day = 86_400_000;
const shown = 8;                // ids in a section
const fresh = 30_000;           // for so many milliseconds, the page is not read again
const expiresWithin = 30 * day;
// The longest of these in which not too many keys were issued for one page.
const newWithin = [7 * day, day, day / 24];

const rfc3339 = moment => `${new Date(moment).toISOString().slice(0, 19)}Z`;

// The ids that are banned, the latest end first; then those that are refused most.
export const byTrouble = bans => [...bans].sort((one, other) =>
    Number(other.banned) - Number(one.banned) || (one.banned ? Date.parse(other.until) - Date.parse(one.until) : other.strikes - one.strikes));

export class Overview {
    // `api()` returns the client.
    constructor(place, api) {
        Object.assign(this, { place, api, at: -Infinity });
        const refresh = button('Refresh all');
        refresh.addEventListener('click', () => this.#load());
        this.totals = new Section('Totals', refresh);
        this.trouble = new Section('Banned, and refused most');
        this.added = new Section('New keys');
        this.ending = new Section('Expiring within 30 days');
        this.sections = [this.totals, this.trouble, this.added, this.ending];
        place.append(...this.sections.map(({ place: one }) => one));
    }

    // Shows what was read lately, or reads it.
    show() {
        return Date.now() - this.at < fresh ? undefined : this.#load();
    }

    clear() {
        this.at = -Infinity;
        for (const section of this.sections) section.show();
    }

    #load() {
        this.at = Date.now();
        for (const section of [this.trouble, this.added, this.ending]) section.show(element('p', { class: 'hint' }, 'Searching …'));
        return Promise.all([
            this.totals.load(() => this.#totals()), this.trouble.load(() => this.#trouble('')), this.added.load(() => this.#added()),
            this.ending.load(() => this.#ending('')),
        ]);
    }

    async #get(path, query) {
        return (await this.api().ask('GET', path, { query })).data;
    }

    async #totals() {
        const { keys, groups } = await this.#get('totals');
        return [element('p', { class: 'totals' }, element('span', {}, element('b', {}, format.count(keys)), keys === 1 ? ' key' : ' keys'),
            element('a', { href: '#groups' }, element('b', {}, format.count(groups)), groups === 1 ? ' group' : ' groups'))];
    }

    async #trouble(after) {
        const { bans, next } = await this.#get('bans', { include: 'strikes', limit: 100, after });
        const named = await Promise.all(byTrouble(bans).slice(0, shown).map(async ban =>
            // A subject has no key, and so no name.
            ({ ...ban, name: (await this.api().find(keyPath(ban.id)))?.data.name })));
        return [
            named.length ? listOf(named.map(({ id, name, banned, until, strikes }) => entry({ id, name },
                banned ? badge('banned') : '', banned ? `until ${time(until)}` : `${format.count(strikes)} ${strikes === 1 ? 'strike' : 'strikes'}`)))
                : element('p', {}, 'Nobody is banned, and nobody has strikes.'),
            ...rest(bans.length > shown || next !== null, next, () => this.trouble.load(() => this.#trouble(next))),
            ...named.length ? [element('p', {}, element('a', { href: '#bans' }, 'All bans'))] : [],
        ];
    }

    async #added() {
        let page;
        let within;
        for (within of newWithin) {
            page = await this.#get('keys', { created_from: rfc3339(Date.now() - within), limit: 100 });
            if (page.next === null) break;
        }
        const newest = page.keys.slice(-shown).reverse();
        const period = { [7 * day]: '7 days', [day]: '24 hours', [day / 24]: 'hour' }[within];
        const count = page.next === null ? format.count(page.keys.length) : 'more than 100';
        return [
            element('p', { class: 'hint' }, page.keys.length || page.next !== null ? `In the last ${period}: ${count}.` : 'None in the last 7 days.'),
            ...newest.length ? [listOf(newest.map(key => entry(key, '', `${key.plan} · ${distance(key.created)}`)))] : [],
        ];
    }

    async #ending(after) {
        const query = { state: 'active', expires_before: rfc3339(Date.now() + expiresWithin), limit: shown, after };
        const { keys, next } = await this.#get('keys', query);
        return [
            keys.length ? listOf(keys.map(key => entry(key, '', `${distance(key.expires)}, ${time(key.expires)}`)))
                : element('p', {}, next === null ? 'None.' : 'None of those that were examined.'),
            ...rest(next !== null, next, () => this.ending.load(() => this.#ending(next))),
        ];
    }
}

const listOf = entries => element('ol', { class: 'entries' }, ...entries);
const entry = ({ id, name }, state, detail) =>
    element('li', {}, linkTo(id), element('span', {}, name ?? ''), state, element('span', { class: 'hint' }, detail));

// There are more than those that are shown; and a button if further ids were not examined yet.
function rest(hasMore, next, search) {
    if (!hasMore) return [];
    if (next === null) return [element('p', { class: 'hint' }, 'There are more.')];
    const further = button('Search on');
    further.addEventListener('click', search);
    return [element('p', { class: 'hint' }, 'Not all ids were examined.'), actions(further)];
}
