// The audit: who did what to which id, the newest entry first.

import { element } from '../../src/element.js';
import { importedIds, textOf } from './audit_text.js';
import { Row, showAtRow } from './dialog.js';
import { PagedSection } from './pages.js';
import { actions, button, linkTo, linkToGroup } from './parts.js';
import { exactTime, fromLocalInput } from './times.js';

const pageSize = 50;

// A section with the audit.
export class Audit {
    constructor(title, api, onError) {
        this.pages = new PagedSection(title, {
            first: 'Newest', further: 'Older', onError,
            read: async after => {
                const { data } = await api().ask('GET', 'audit', { query: { ...this.filter, order: 'desc', limit: this.size, after } });
                return { entries: data.entries, next: data.has_more ? data.next : null };
            },
            entryOf: entry => this.#entry(entry),
        });
        this.place = this.pages.place;
    }

    // Shows the newest entries that match.
    show(filter, size = pageSize) {
        Object.assign(this, { filter, size });
        return this.pages.show();
    }

    #entry(entry) {
        const { time, actor, action, id } = entry;
        return element('li', {},
            element('span', { class: 'action', 'data-action': action }, action),
            ...id && !this.filter.id ? [linkOf(action, id)] : [],
            element('code', {}, ...detailOf(entry)),
            element('span', { class: 'hint' }, `${exactTime(time)} by ${actor}`));
    }
}

// The ids of an import lead to their keys.
function detailOf(entry) {
    const imported = importedIds(entry);
    return imported ? [imported.head, ...imported.ids.flatMap(id => [' ', linkTo(id)]), imported.end] : [textOf(entry)];
}

// An entry of a group leads to the group.
const linkOf = (action, id) => action.endsWith('-group') ? linkToGroup(id) : linkTo(id);

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
        this.audit.pages.clear();
    }
}
