// A list of keys of any length: only the rows around the visible ones are in the document, and further pages are loaded as
// the list is scrolled. A listbox: arrows, Page Up, Page Down, Home and End move; Enter opens.

import { element, setText } from '../../src/element.js';
import * as format from '../../src/format.js';
import { badge, button } from './parts.js';
import { rowAfterKey, visibleRows } from './window.js';

const around = 10;    // rows beyond the visible ones
const ahead = 100;    // a page is loaded if fewer rows follow

export class KeyList {
    // `loadPage` receives the value of `after` and a signal, and returns { keys, next }. `onOpen` receives an id.
    // `onError` receives an error and returns whether it has shown it.
    // `noneFound` returns what to propose if there is no key.
    constructor(place, { loadPage, onOpen, onError, noneFound }) {
        this.onError = onError;
        this.noneFound = noneFound;
        this.loadPage = loadPage;
        this.onOpen = onOpen;
        this.sizer = element('div', { role: 'presentation' });
        this.box = element('div', { class: 'list', role: 'listbox', tabindex: 0, 'aria-labelledby': 'find-title' }, this.sizer);
        this.state = element('span', { role: 'status' });
        this.error = element('span', { class: 'error', role: 'alert' });
        this.again = button('Try again');
        this.head = element('div', { class: 'list-head', 'aria-hidden': 'true' },
            ...['Name and id', 'Plan', 'Today', 'State'].map(text => element('span', {}, text)));
        this.proposal = element('span');
        place.append(this.head, this.box, element('p', { class: 'list-state' }, this.state, this.proposal, this.error, this.again));
        this.box.addEventListener('scroll', () => this.#draw());
        this.box.addEventListener('keydown', event => this.#onKey(event));
        this.box.addEventListener('click', event => this.#onClick(event));
        this.again.addEventListener('click', () => this.#fill());
        new ResizeObserver(() => this.#draw()).observe(this.box);
        this.clear();
    }

    // Forgets all keys and stops loading.
    clear() {
        this.loading?.abort();
        this.loading = null;
        Object.assign(this, { keys: [], next: '', active: -1, opened: null, rows: new Map() });
        this.sizer.replaceChildren();
        this.box.removeAttribute('aria-activedescendant');
        this.box.scrollTop = 0;
        this.head.hidden = this.box.hidden = this.again.hidden = true;
        this.proposal.replaceChildren();
        setText(this.state, '');
        setText(this.error, '');
    }

    // Loads the list from its beginning.
    start() {
        const { opened } = this;
        this.clear();
        this.opened = opened;
        this.#fill();
    }

    // Shows one key in place of a search.
    showOnly(key) {
        this.clear();
        this.keys = [shownOf(key)];
        this.next = null;
        this.#place();
        this.#tell(false);
    }

    focus() {
        this.box.focus();
    }

    // Marks the id that is shown beside the list; null: none.
    mark(id) {
        this.opened = id;
        this.#redraw();
    }

    // A key has changed; null: its id does not exist any more.
    update(id, key) {
        const index = this.keys.findIndex(one => one.id === id);
        if (index < 0) return;
        const { isBanned, today } = this.keys[index];
        if (key) this.keys[index] = { ...shownOf(key), isBanned, today };
        else this.keys.splice(index, 1);
        this.active = Math.min(this.active, this.keys.length - 1);
        this.#redraw();
    }

    setBanned(id, isBanned) {
        const key = this.keys.find(one => one.id === id);
        if (!key || key.isBanned === isBanned) return;
        key.isBanned = isBanned;
        this.#redraw();
    }

    get #rowHeight() {
        return 3.4 * parseFloat(getComputedStyle(document.documentElement).fontSize);
    }

    #window() {
        const { scrollTop: top, clientHeight: height } = this.box;
        return visibleRows({ top, height, rowHeight: this.#rowHeight, rows: this.keys.length, around });
    }

    // Loads pages until enough rows follow the visible ones.
    async #fill() {
        if (this.loading) return;
        const loading = this.loading = new AbortController();
        this.again.hidden = true;
        setText(this.error, '');
        try {
            while (this.next !== null && this.#window()[1] + ahead > this.keys.length) {
                this.#tell(true);
                const { keys, next } = await this.loadPage(this.next, loading.signal);
                if (loading.signal.aborted) return;
                this.keys.push(...keys.map(shownOf));
                this.next = next;
                this.#place();
            }
            this.#tell(false);
            if (this.keys.length === 0) this.proposal.replaceChildren(...this.noneFound());
        } catch (error) {
            if (loading.signal.aborted || error.name === 'AbortError') return;
            setText(this.state, '');
            if (!this.onError(error)) setText(this.error, `${error.message} `);
            this.again.hidden = false;
        } finally {
            if (this.loading === loading) this.loading = null;
        }
    }

    #tell(isLoading) {
        const count = `${format.count(this.keys.length)} ${this.keys.length === 1 ? 'key' : 'keys'}`;
        setText(this.state, isLoading ? this.keys.length ? `${count}, loading …` : 'Searching …'
            : this.next !== null ? `${count}, scroll for more` : this.keys.length ? `${count}, all shown` : 'No key was found.');
    }

    #place() {
        this.head.hidden = this.box.hidden = this.keys.length === 0;
        this.sizer.style.height = `${this.keys.length * this.#rowHeight}px`;
        this.#draw();
    }

    #redraw() {
        this.rows.clear();
        this.sizer.replaceChildren();
        this.#place();
    }

    #draw() {
        if (this.keys.length === 0) return;
        const [first, end] = this.#window();
        const wanted = new Set(Array.from({ length: end - first }, (_, i) => first + i));
        if (this.active >= 0) wanted.add(this.active);
        for (const [index, row] of this.rows) {
            if (wanted.has(index)) continue;
            row.remove();
            this.rows.delete(index);
        }
        for (const index of wanted) {
            if (!this.rows.has(index)) this.rows.set(index, this.#rowOf(index));
            this.rows.get(index).setAttribute('aria-setsize', this.next === null ? this.keys.length : -1);
        }
        // Also if the active row has moved because another one was removed.
        if (this.active >= 0) this.box.setAttribute('aria-activedescendant', `option-${this.active}`);
        if (this.next !== null && end + ahead > this.keys.length && this.again.hidden) this.#fill();
    }

    #rowOf(index) {
        const { id, name, plan, state, isBanned, today } = this.keys[index];
        const row = element('div', {
            class: 'option', role: 'option', id: `option-${index}`, 'aria-posinset': index + 1,
            'aria-selected': String(id === this.opened), 'data-active': index === this.active ? '' : null,
        }, element('b', {}, name ?? id), element('span', { class: 'of-id' }, name ? id : ''), element('span', { class: 'of-plan' }, plan ?? ''),
        element('span', { class: 'of-day', title: 'Used today (UTC)' }, format.count(today)), badge(isBanned && state === 'active' ? 'banned' : state));
        row.style.transform = `translateY(${index * this.#rowHeight}px)`;
        // The order in the document is that of the list, also for screen readers that walk through it.
        const after = [...this.rows].filter(([other]) => other > index).sort(([a], [b]) => a - b)[0]?.[1] ?? null;
        this.sizer.insertBefore(row, after);
        return row;
    }

    #onKey(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            if (this.active >= 0) this.onOpen(this.keys[this.active].id);
            return;
        }
        const page = Math.max(1, Math.floor(this.box.clientHeight / this.#rowHeight) - 1);
        const to = rowAfterKey(event.key, { active: this.active, rows: this.keys.length, page });
        if (to === null) return;
        event.preventDefault();
        this.#activate(to);
    }

    #onClick(event) {
        const row = event.target.closest('.option');
        const found = [...this.rows].find(([, one]) => one === row);
        if (!found) return;
        this.#activate(found[0]);
        this.onOpen(this.keys[found[0]].id);
    }

    // Makes a row the active one, and scrolls to it.
    #activate(index) {
        this.rows.get(this.active)?.removeAttribute('data-active');
        this.active = index;
        const top = index * this.#rowHeight;
        const { scrollTop, clientHeight } = this.box;
        if (top < scrollTop) this.box.scrollTop = top;
        else if (top + this.#rowHeight > scrollTop + clientHeight) this.box.scrollTop = top + this.#rowHeight - clientHeight;
        this.#draw();
        this.rows.get(index).setAttribute('data-active', '');
    }
}

// Of 100,000 keys, only what a row shows is kept.
const shownOf = ({ id, name, plan, state, activity }) => ({
    id, name, plan, state, isBanned: Boolean(activity?.banned_until), today: activity ? usedToday(activity) : null,
});

// A request is counted in each of its tables: the largest count.
export const usedToday = ({ today }) => Math.max(0, ...today.map(({ units }) => units));
