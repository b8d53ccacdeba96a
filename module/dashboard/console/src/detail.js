// One id: its fields, keys, usage, history, ban and audit, and what can be done to it.

import { element, setText } from '../../src/element.js';
import { ApiError, keyPath } from './api.js';
import { Audit } from './audit.js';
import { balancesOf, readPaces } from './balance.js';
import { openCredit } from './credit.js';
import { Row, errorText } from './dialog.js';
import { factsOf } from './fields.js';
import { actions, announce, badge, button, durabilityText, Section } from './parts.js';
import { confirmDisable, confirmReset, confirmRevocation, editKey, rotateKey, setState } from './operations.js';
import { keysOf } from './rotation.js';
import { distance, time } from './times.js';
import { historyOf, lastDays, usageOf } from './usage.js';

const entriesOfId = 10;

export class Detail {
    // `api()` returns the client, `plans()` the plan tables. `onChange` receives an id and its key, or null after a
    // revocation. `onBan` receives an id and whether it is banned.
    constructor(place, { api, plans, onChange, onBan }) {
        Object.assign(this, { place, api, plans, onChange, onBan, id: null });
        this.audit = new Audit('Audit of this id', api);
    }

    clear() {
        this.id = this.key = null;
        this.place.replaceChildren();
    }

    // Reads and shows an id. Returns when its key is shown; the rest follows.
    async show(id) {
        this.id = id;
        this.title = element('h2', { id: 'detail-title', tabindex: -1 }, id);
        this.state = element('span');
        this.subtitle = element('p', { class: 'hint' });
        // The buttons remain, so that the focus returns to them when a dialog closes.
        const act = (text, attributes, run) => {
            const made = button(text, attributes);
            made.addEventListener('click', run);
            return made;
        };
        this.able = act('Disable', {}, () => this.key.state === 'disabled' ? this.#enable() : confirmDisable(this));
        this.actions = actions(act('Change', {}, () => editKey(this)), act('Rotate', {}, () => rotateKey(this)),
            this.able, act('Revoke', { class: 'danger' }, () => confirmRevocation(this)));
        this.error = element('p', { class: 'error', role: 'alert' });
        const refresh = button('Refresh');
        refresh.addEventListener('click', async () => {
            await this.#load();
            announce(`${this.id} was read again.`);
        });
        this.facts = new Section('Settings');
        this.keys = new Section('Keys');
        this.reset = act('Reset', {}, () => confirmReset(this));
        this.credit = act('Credit', { hidden: '' }, () => this.#credit());
        this.usage = new Section('Usage', actions(this.credit, this.reset));
        this.ban = new Section('Ban');
        this.period = new Row({ name: 'period', label: 'Days', choices: [['30', 'last 30'], ['90', 'last 90'], ['365', 'last 365']] });
        this.history = new Section('History', this.period.place);
        this.period.input.addEventListener('change', () => this.#loadHistory());
        this.sections = element('div', { class: 'sections' }, element('div', { class: 'column' }, this.facts.place, this.usage.place),
            element('div', { class: 'column' }, this.keys.place, this.ban.place), this.history.place, this.audit.place);
        this.history.place.classList.add('wide');
        this.audit.place.classList.add('wide');
        this.place.replaceChildren(element('p', { class: 'back' }, element('a', { href: '#keys' }, '← All keys')),
            element('div', { class: 'head' },
                element('div', {}, element('div', { class: 'title' }, this.title, this.state), this.subtitle), refresh),
            this.actions, this.error, this.sections);
        for (const part of this.#ofKey) part.hidden = true;
        await this.#load();
    }

    // What is shown only of an id with a key.
    get #ofKey() {
        return [this.actions, this.reset, this.facts.place, this.keys.place];
    }

    async #load() {
        const { id } = this;
        const isKnown = await this.#loadKey();
        if (id !== this.id) return;
        this.#loadRest();
        return isKnown;
    }

    // Without a key, an id may be a subject, which has a usage.
    async #loadKey() {
        const { id } = this;
        setText(this.error, '');
        try {
            const { data, etag } = await this.api().ask('GET', keyPath(id));
            if (id === this.id) this.#showKey(data, etag);
        } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            if (id !== this.id) return;
            this.key = null;
            for (const part of this.#ofKey) part.hidden = true;
            setText(this.error, error.code === 'unknown_id'
                ? `No key has the id ${id}. If requests are counted for it without a key, its usage is shown.`
                : errorText(error));
        }
    }

    #showKey(key, etag) {
        Object.assign(this, { key, etag });
        setText(this.title, key.name ?? key.id);
        // A customer who is banned is not active: the ban is read next.
        this.state.replaceChildren(...key.state === 'active' ? [] : [badge(key.state)]);
        setText(this.subtitle, `${key.id}${key.created ? ` · issued ${time(key.created)}` : ''}`);
        for (const part of this.#ofKey) part.hidden = false;
        setText(this.able, key.state === 'disabled' ? 'Enable' : 'Disable');
        this.facts.show(element('dl', { class: 'facts' }, ...factsOf(key).map(([label, text]) =>
            element('div', {}, element('dt', {}, label), element('dd', {}, text)))));
        this.keys.show(...keysOf(key.digests));
    }

    #loadRest() {
        this.#loadUsage();
        this.#loadBan();
        this.#loadHistory();
        this.#loadAudit();
    }

    #loadUsage() {
        const { id, credit } = this;
        return this.usage.load(async () => {
            const { data } = await this.api().ask('GET', keyPath(id, '/usage'));
            // The operator may have been signed out meanwhile, or have gone to another id.
            if (id !== this.id) return [];
            this.balances = balancesOf(data);
            credit.hidden = this.balances.length === 0;
            return usageOf(data, { paces: await readPaces(this.api(), id, this.balances, this.plans()) });
        });
    }

    #loadAudit() {
        return this.audit.show({ id: this.id }, entriesOfId);
    }

    #loadHistory() {
        const days = lastDays(Number(this.period.input.value));
        const path = keyPath(this.id, '/history');
        return this.history.load(async () => historyOf((await this.api().ask('GET', path, { query: days })).data, days));
    }

    #loadBan() {
        const path = keyPath(this.id, '/ban');
        const { id } = this;
        return this.ban.load(async () => {
            const { data } = await this.api().ask('GET', path);
            if (id === this.id) this.#showState(data.banned);
            return this.#banOf(data);
        });
    }

    #showState(isBanned) {
        this.onBan(this.id, isBanned);
        if (this.key?.state === 'active') this.state.replaceChildren(badge(isBanned ? 'banned' : 'active'));
    }

    #banOf({ banned, until, level, strikes, since }) {
        const text = banned ? `Banned until ${time(until)} (${distance(until)}): requests get 429. It is ban number ${level}.`
            : strikes > 0 ? `Not banned. ${strikes} ${strikes === 1 ? 'strike' : 'strikes'} since ${time(since)}.`
                : 'Not banned, and no strikes.';
        const lift = button('Lift the ban');
        lift.addEventListener('click', () => this.#act(async () => {
            const { durability } = await this.api().ask('DELETE', keyPath(this.id, '/ban'));
            await this.changed(`The ban of ${this.id} is lifted.`, durability);
            this.ban.heading.focus();
        }, this.ban));
        return [element('p', { 'data-banned': banned ? '' : null }, text), ...banned || strikes > 0 ? [actions(lift)] : []];
    }

    #enable() {
        return this.#act(async () => {
            await this.changed(`${this.id} is enabled.`, await setState(this.api(), this.id, 'active'));
        });
    }

    // An id without a key, a subject, may have a balance as well.
    #credit() {
        const { id } = this;
        openCredit({ api: this.api, path: keyPath(id, '/credit'), whose: id, balances: this.balances, onDone: async text => {
            if (id !== this.id) return;
            announce(text);
            await Promise.all([this.#loadUsage(), this.#loadAudit()]);
        } });
    }

    // Runs an operation that has no form. Shows its error in the section, or else below the buttons.
    async #act(operation, section) {
        setText(this.error, '');
        try {
            await operation();
        } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            if (section) section.content.append(element('p', { class: 'error', role: 'alert' }, errorText(error)));
            else setText(this.error, errorText(error));
        }
    }

    // After a change: reads the id again.
    async changed(text, durability) {
        // The operator may have been signed out meanwhile, or have gone to another id.
        if (this.key === null) return;
        announce(text + durabilityText(durability));
        await this.#load();
        this.onChange(this.id, this.key);
    }

    // After a revocation.
    revoked(text, durability) {
        const { id } = this;
        announce(text + durabilityText(durability));
        this.onChange(id, null);
    }
}
