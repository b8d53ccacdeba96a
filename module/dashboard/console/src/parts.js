// Small parts that several views have.

import { element, setText } from '../../src/element.js';
import { ApiError } from './api.js';

export const button = (text, attributes = {}) => element('button', { type: 'button', ...attributes }, text);

// A row of buttons.
export const actions = (...buttons) => element('p', { class: 'actions' }, ...buttons);

// A link to an id.
export const linkTo = id => element('a', { href: hashOf(id) }, id);
export const hashOf = id => `#keys/${encodeURIComponent(id)}`;

// A link to a group.
export const linkToGroup = id => element('a', { href: `#groups/${encodeURIComponent(id)}` }, id);

// Announces a result at the top of the page, also to screen readers.
export const announce = text => setText(document.getElementById('news'), text);

// "banned", "disabled": a state with a sign in addition to its colour.
export const badge = state => element('span', { class: 'badge', 'data-state': state }, state);

// What a failover may do to a change; see `Tollgate-Durability`.
export const durabilityText = durability => durability ? ` A failover may undo this change (${durability}): look again later.` : '';

// A section with a heading, whose content may fail to load: it then shows the error and a button to try again.
export class Section {
    constructor(title, ...besideTitle) {
        this.heading = element('h3', { tabindex: -1 }, title);
        this.content = element('div', { class: 'content' });
        this.place = element('section', { class: 'card' }, element('div', { class: 'card-head' }, this.heading, ...besideTitle), this.content);
    }

    show(...children) {
        this.content.replaceChildren(...children);
    }

    // Shows what `load` returns, or its error. Returns whether it succeeded.
    async load(load) {
        try {
            this.show(...await load());
            return true;
        } catch (error) {
            if (error.name === 'AbortError') return false;
            if (!(error instanceof ApiError)) throw error;
            const again = button('Try again');
            again.addEventListener('click', async () => {
                await this.load(load);
                this.heading.focus();
            });
            this.show(element('p', { class: 'error', role: 'alert' }, `${error.message} `), again);
            return false;
        }
    }
}
