// The search for keys, and the list of those that were found.

import { element, setText } from '../../src/element.js';
import { ApiError, keyPath } from './api.js';
import { Row, showAtRow } from './dialog.js';
import { readGroups } from './group_operations.js';
import { KeyList } from './list.js';
import { button } from './parts.js';
import { setSecret } from './secret.js';
import { fromLocalInput } from './times.js';

const pageSize = 100;
const states = ['active', 'disabled', 'expired'];
// An issued key: a prefix, 32 random characters and 6 of a checksum.
const isIssuedKey = text => /^[a-z][a-z0-9_]*_[0-9A-Za-z]{38}$/.test(text);
const isId = text => /^[A-Za-z0-9_.-]{1,64}$/.test(text) && !/^\.\.?$/.test(text);

// The pattern that finds a text anywhere in a name; null if the text is a pattern, or empty.
export const patternFor = text => text && !/[*?[\]]/.test(text) ? `*${text}*` : null;

export class Search {
    // `api()` returns the client. `onOpen` receives an id. `onIssue` is called for a new key.
    constructor(place, { api, onOpen, onIssue }) {
        this.api = api;
        this.onOpen = onOpen;
        this.by = new Row({ name: 'by', label: 'Find by', choices: [['name', 'Name'], ['id', 'Id'], ['key', 'Key in clear']] });
        this.text = new Row({ name: 'name', label: 'Name', attributes: { type: 'search' } });
        this.plan = new Row({ name: 'plan', label: 'Plan', options: [] });
        this.state = new Row({ name: 'state', label: 'State', choices: [['', 'any'], ...states.map(one => [one, one])] });
        this.expires = new Row({ name: 'expires_before', label: 'Expires before', attributes: { type: 'datetime-local' } });
        this.group = new Row({ name: 'group', label: 'Group', options: [] });
        this.meta = new Row({ name: 'meta', label: 'Meta', hint: 'A member and its value, such as contract=4711' });
        const filters = [this.plan, this.state, this.expires, this.group, this.meta];
        this.more = element('details', {}, element('summary', {}, 'Plan, state, expiry, group, meta'), ...filters.map(({ place: one }) => one));
        this.rows = [this.text, ...filters];
        const form = element('form', { role: 'search', 'aria-labelledby': 'find-title', novalidate: '' },
            element('div', { class: 'beside' }, this.by.place, this.text.place),
            element('div', { class: 'below' }, this.more, button('Find', { type: 'submit', class: 'primary' })));
        const issue = button('Issue a key');
        place.append(element('div', { class: 'card-head' }, element('h2', { id: 'find-title', tabindex: -1 }, 'Keys'), issue), form);
        this.list = new KeyList(place, {
            loadPage: (after, signal) => this.#loadPage(after, signal), onOpen, onError: error => showAtRow(this.rows, error),
            noneFound: () => this.#proposal(),
        });
        issue.addEventListener('click', onIssue);
        form.addEventListener('submit', event => {
            event.preventDefault();
            this.#find();
        });
        this.by.input.addEventListener('change', () => this.#showKind());
        this.#showKind();
    }

    // The plans to suggest.
    suggest(plans) {
        this.plan.place.querySelector('datalist').replaceChildren(...plans.map(value => element('option', { value })));
    }

    // Reads the groups to suggest. Without an answer, a group is typed.
    async suggestGroups() {
        try {
            const { names } = await readGroups(this.api());
            this.group.place.querySelector('datalist').replaceChildren(...names.map(value => element('option', { value })));
        } catch (error) {
            if (!(error instanceof ApiError)) throw error;
        }
    }

    // Lists all keys.
    start() {
        this.filter = {};
        this.list.start();
    }

    clear() {
        for (const row of this.rows) row.input.value = '';
        this.list.clear();
    }

    #showKind() {
        const kind = this.by.input.value;
        setText(this.text.place.querySelector('label'), { name: 'Name', id: 'Id', key: 'Key' }[kind]);
        // A key is not shown on the screen.
        setSecret(this.text.input, kind === 'key', 'search');
        this.text.input.value = '';
        setText(this.text.hint, {
            name: 'How it begins, or a pattern such as *ltd*', id: 'The whole id', key: 'Whose key is it? It is sent, and not logged.',
        }[kind]);
        this.more.hidden = kind !== 'name';
    }

    async #find() {
        for (const row of this.rows) row.showError('');
        const text = this.text.input.value.trim();
        // A key must not become a part of a URL, which is logged.
        const kind = isIssuedKey(text) ? 'key' : this.by.input.value;
        if (kind === 'name') {
            this.filter = {
                name: text, plan: this.plan.input.value.trim(), state: this.state.input.value,
                expires_before: fromLocalInput(this.expires.input.value), group: this.group.input.value.trim(), meta: this.meta.input.value.trim(),
            };
            this.list.start();
            return;
        }
        try {
            if (!text) throw new Error(`Enter the ${kind}.`);
            if (kind === 'id' && !isId(text)) throw new Error('An id has 1 to 64 letters, digits, _, - and .');
            const { data } = kind === 'id' ? await this.api().ask('GET', keyPath(text))
                : await this.api().ask('POST', 'keys/lookup', { body: { token: text } });
            this.text.input.value = '';
            this.list.showOnly(data);
            this.onOpen(data.id);
        } catch (error) {
            this.text.showError(error.message);
            this.text.input.focus();
        }
    }

    // No name begins so: it may be elsewhere in a name.
    #proposal() {
        const pattern = patternFor(this.filter.name);
        if (!pattern) return [];
        const anywhere = button(`Search for ${pattern}`);
        anywhere.addEventListener('click', () => {
            this.text.input.value = pattern;
            this.#find();
        });
        return [anywhere];
    }

    async #loadPage(after, signal) {
        const { data } = await this.api().ask('GET', 'keys', { query: { ...this.filter, include: 'activity', limit: pageSize, after }, signal });
        return data;
    }
}
