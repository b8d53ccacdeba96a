// A section with a list in pages, of which it shows one.

import { element } from '../../src/element.js';
import { ApiError } from './api.js';
import { actions, button, Section } from './parts.js';

export class PagedSection {
    // `read(after)` returns { entries, next }, where `next` is null after the last page; `entryOf` makes the element of an
    // entry. `first` and `further` are the texts of the buttons, `none` that of a page without entries. `onError` receives
    // an error and returns whether it has shown it.
    constructor(title, { read, entryOf, first, further, none = 'No entry.', onError = () => false }) {
        Object.assign(this, { read, entryOf, further, none, onError });
        this.first = button(first);
        this.section = new Section(title, this.first);
        this.place = this.section.place;
        this.first.addEventListener('click', async () => {
            await this.show();
            this.section.heading.focus();
        });
    }

    // Shows the first page, or that after a place.
    show(after = '') {
        return this.section.load(async () => {
            let { entries, next } = await this.#page(after);
            // The gateway may examine a part of the list without an entry.
            while (!entries.length && next !== null) ({ entries, next } = await this.#page(next));
            this.first.hidden = after === '';
            const further = button(this.further);
            further.addEventListener('click', async () => {
                await this.show(next);
                this.section.heading.scrollIntoView({ block: 'nearest' });
                this.section.content.querySelector('ol')?.focus();
            });
            return [
                entries.length
                    ? element('ol', { class: 'entries', tabindex: -1, 'aria-label': 'Entries' }, ...entries.map(this.entryOf))
                    : element('p', {}, this.none),
                ...next === null ? [] : [actions(further)],
            ];
        });
    }

    clear() {
        this.section.show();
    }

    async #page(after) {
        try {
            return await this.read(after);
        } catch (error) {
            if (!(error instanceof ApiError) || !this.onError(error)) throw error;
            return { entries: [], next: null };
        }
    }
}
