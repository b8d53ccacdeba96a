// The view of the groups: a list of those that have a record; of one, its settings, counters, members and audit.

import { element, setText } from '../../src/element.js';
import { groupPath } from './api.js';
import { Audit } from './audit.js';
import { balancesOf } from './balance.js';
import { openCredit } from './credit.js';
import { errorText } from './dialog.js';
import { confirmGroupDeletion, confirmGroupReset, setGroup } from './group_operations.js';
import { PagedSection } from './pages.js';
import { actions, announce, badge, button, durabilityText, linkTo, linkToGroup, Section } from './parts.js';
import { usageOf } from './usage.js';

const pageSize = 50;
const entriesOfGroup = 10;

// A page of a list of the API as PagedSection reads it.
const pageOf = async (api, path, name, query) => {
    const { data } = await api().ask('GET', path, { query: { limit: pageSize, ...query } });
    return { entries: data[name], next: data.next };
};

export class GroupsView {
    // `api()` returns the client, `plans()` the plan tables.
    constructor(place, { api, plans }) {
        Object.assign(this, { api, plans, id: null });
        const make = button('New group');
        make.addEventListener('click', () => setGroup({ ...this.#context, onDone: id => {
            location.hash = linkToGroup(id).hash;
        } }));
        this.title = element('h2', { id: 'groups-title', tabindex: -1 });
        this.head = element('div', { class: 'card-head' }, this.title, make);
        this.list = new PagedSection('All groups', {
            first: 'First', further: 'Further', none: 'No group has a record.',
            read: after => pageOf(api, 'groups', 'groups', { after }),
            entryOf: ({ id, plan, limits }) => element('li', {}, linkToGroup(id), element('span', {}, plan), element('code', {}, limits ?? '')),
        });
        this.detail = new GroupDetail({ api, plans });
        place.append(this.head, this.list.place, this.detail.place);
    }

    get #context() {
        return { api: this.api, tables: this.plans() };
    }

    // Shows a group, or the list if `id` is null.
    show(id) {
        setText(this.title, id ?? 'Groups');
        this.list.place.hidden = id !== null;
        this.detail.place.hidden = id === null;
        return id === null ? this.list.show() : this.detail.show(id);
    }

    clear() {
        this.list.clear();
        this.detail.clear();
    }
}

class GroupDetail {
    constructor({ api, plans }) {
        Object.assign(this, { api, plans, id: null, group: null });
        const act = (text, attributes, run) => {
            const made = button(text, attributes);
            made.addEventListener('click', () => run({
                api, tables: plans(), id: this.id, group: this.group, onDone: (...done) => this.#changed(...done),
            }));
            return made;
        };
        this.remove = act('Delete the group', { class: 'danger' }, confirmGroupDeletion);
        this.settings = new Section('Settings', act('Change the group', {}, setGroup), this.remove);
        this.credit = act('Credit', { hidden: '' }, ({ id, onDone }) => openCredit({
            api, path: groupPath(id, '/credit'), whose: `the group ${id}`, balances: this.balances, onDone: text => onDone(id, text),
        }));
        this.usage = new Section('Counters of the group', actions(this.credit, act('Reset the counters', {}, confirmGroupReset)));
        this.members = new PagedSection('Members', {
            first: 'First', further: 'Further', none: 'No key has this group.',
            read: after => pageOf(api, 'keys', 'keys', { group: this.id, after }),
            entryOf: ({ id, name, plan, state }) => element('li', {}, linkTo(id), element('span', {}, name ?? ''),
                element('span', { class: 'hint' }, plan), ...state === 'active' ? [] : [badge(state)]),
        });
        this.audit = new Audit('Audit of this group', api);
        this.place = element('div', { class: 'sections', hidden: '' },
            element('p', { class: 'wide' }, element('a', { href: '#groups' }, '← All groups')),
            element('div', { class: 'column' }, this.settings.place, this.usage.place), this.members.place, this.audit.place);
        this.audit.place.classList.add('wide');
    }

    show(id) {
        this.id = id;
        this.group = null;
        for (const part of [this.members, this.audit.pages]) part.clear();
        for (const part of [this.settings, this.usage]) part.show();
        this.#showCredit([]);
        return this.#load();
    }

    clear() {
        this.id = this.group = null;
        for (const part of [this.members, this.audit.pages]) part.clear();
        for (const part of [this.settings, this.usage]) part.show();
        this.#showCredit([]);
    }

    #load() {
        const { id } = this;
        return Promise.all([
            this.settings.load(async () => this.#settingsOf(id)),
            this.usage.load(async () => {
                const answer = await this.api().find(groupPath(id, '/usage'));
                const usage = answer?.data ?? { windows: [] };
                if (id === this.id) this.#showCredit(balancesOf(usage));
                return usageOf(usage, { none: 'Nothing is counted for this group.' });
            }),
            this.members.show(),
            this.audit.show({ id }, entriesOfGroup),
        ]);
    }

    #showCredit(balances) {
        this.balances = balances;
        this.credit.hidden = balances.length === 0;
    }

    async #settingsOf(id) {
        const group = (await this.api().find(groupPath(id)))?.data ?? null;
        if (id === this.id) this.group = group;
        this.remove.hidden = group === null;
        if (group === null) {
            return [element('p', {}, 'The group has no record: its keys have the default plan of tables with by=group, ' +
                'and are refused by those without one.')];
        }
        return [element('dl', { class: 'facts' }, ...[['Plan', group.plan], ['Limits', group.limits ?? 'those of the plan'], ['Billing day', group.billing_day ?? 'the first']].map(([label, text]) =>
            element('div', {}, element('dt', {}, label), element('dd', {}, text))))];
    }

    async #changed(id, text, durability) {
        announce(text + durabilityText(durability));
        if (id === this.id) await this.#load();
    }
}
