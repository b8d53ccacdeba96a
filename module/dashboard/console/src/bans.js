// The view of the bans: which ids are banned now, and until when.

import { element, setText } from '../../src/element.js';
import { PagedSection } from './pages.js';
import { linkTo } from './parts.js';
import { distance, time } from './times.js';

const pageSize = 50;

export class BansView {
    constructor(place, api) {
        this.note = element('p', { class: 'hint' });
        this.pages = new PagedSection('Banned now', {
            first: 'First', further: 'Further', none: 'No id is banned.',
            read: async after => {
                const { data: { bans, next, has_subjects: hasSubjects } } = await api().ask('GET', 'bans', { query: { limit: pageSize, after } });
                setText(this.note, hasSubjects === false ? 'Ids without a key are not listed in a Redis Cluster: tollgate ban list shows them.' : '');
                return { entries: bans, next };
            },
            entryOf: ({ id, until, level }) => element('li', {}, linkTo(id),
                element('span', {}, `until ${time(until)} (${distance(until)})`), element('span', { class: 'hint' }, `ban number ${level}`)),
        });
        place.append(element('h2', { id: 'bans-title', tabindex: -1 }, 'Bans'), this.note, this.pages.place);
    }

    show() {
        return this.pages.show();
    }

    clear() {
        setText(this.note, '');
        this.pages.clear();
    }
}
