// The audit: who did what to which id, the newest entry first, in pages.

import { element } from '../../src/element.js';
import { Row, showAtRow } from './dialog.js';
import { actions, button, Section } from './parts.js';
import { exactTime, fromLocalInput } from './times.js';

const pageSize = 50;

// A section with the audit.
export class Audit {
    // `onError` receives an error and returns whether it has shown it.
    constructor(title, api, onError = () => false) {
        Object.assign(this, { api, onError });
        this.newest = button('Newest');
        this.section = new Section(title, this.newest);
        this.place = this.section.place;
        this.newest.addEventListener('click', async () => {
            await this.show(this.filter, this.size);
            this.section.heading.focus();
        });
    }

    // Shows the newest entries that match.
    show(filter, size = pageSize) {
        Object.assign(this, { filter, size });
        return this.#load('');
    }

    #load(after) {
        return this.section.load(async () => {
            const { data } = await this.#read(after);
            this.newest.hidden = after === '';
            const older = button('Older');
            older.addEventListener('click', async () => {
                await this.#load(data.next);
                this.section.heading.scrollIntoView({ block: 'nearest' });
                this.section.content.querySelector('ol')?.focus();
            });
            return [
                data.entries.length
                    ? element('ol', { class: 'entries', tabindex: -1, 'aria-label': 'Entries' }, ...data.entries.map(one => this.#entry(one)))
                    : element('p', {}, data.has_more ? 'No entry in this part of the audit.' : 'No entry.'),
                ...data.has_more ? [actions(older)] : [],
            ];
        });
    }

    async #read(after) {
        try {
            return await this.api().ask('GET', 'audit', { query: { ...this.filter, order: 'desc', limit: this.size, after } });
        } catch (error) {
            if (!this.onError(error)) throw error;
            return { data: { entries: [], has_more: false } };
        }
    }

    #entry({ time, actor, action, id, detail }) {
        return element('li', {},
            element('span', { class: 'action', 'data-action': action }, action),
            ...id && !this.filter.id ? [element('a', { href: `#keys/${encodeURIComponent(id)}` }, id)] : [],
            element('code', {}, detail),
            element('span', { class: 'hint' }, `${exactTime(time)} by ${actor}`));
    }
}

// The view of the whole audit.
export class AuditView {
    constructor(place, api) {
        this.rows = [
            new Row({ name: 'id', label: 'Id' }), new Row({ name: 'actor', label: 'Actor', hint: 'key:ID or USER@HOST' }),
            new Row({ name: 'from', label: 'From', attributes: { type: 'datetime-local' } }),
            new Row({ name: 'to', label: 'To', attributes: { type: 'datetime-local' } }),
        ];
        this.audit = new Audit('Entries', api, error => showAtRow(this.rows, error));
        const form = element('form', { role: 'search', 'aria-labelledby': 'audit-title', class: 'card', novalidate: '' },
            element('div', { class: 'row-grid' }, ...this.rows.map(({ place: row }) => row)),
            actions(button('Find', { type: 'submit', class: 'primary' })));
        place.append(element('h2', { id: 'audit-title', tabindex: -1 }, 'Audit'), form, this.audit.place);
        form.addEventListener('submit', event => {
            event.preventDefault();
            this.show();
        });
    }

    show() {
        for (const row of this.rows) row.showError('');
        const [id, actor, from, to] = this.rows.map(({ input }) => input.value.trim());
        return this.audit.show({ id, actor, from: fromLocalInput(from), to: fromLocalInput(to) });
    }

    clear() {
        for (const { input } of this.rows) input.value = '';
        this.audit.section.show();
    }
}
