// Dialogs: forms with their errors, and the key that is shown once.

import { element, setText } from '../../src/element.js';
import { actions, button } from './parts.js';
import { ApiError } from './api.js';

let made = 0;

function openDialog(title, ...children) {
    const heading = element('h2', { id: `dialog-${++made}` }, title);
    const dialog = element('dialog', { 'aria-labelledby': heading.id }, heading, ...children);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}

// A form in a dialog. `fields`: { name, label, hint, value, attributes, choices, options, isRequired }. `choices`: [value, label]
// of a select; `options`: suggested values. `text`: paragraphs above. `submit` receives the values by name; if it throws,
// the error is shown at the field that its message names, or below. The dialog closes otherwise.
export function openForm({ title, text = [], fields = [], label, isDangerous = false, submit }) {
    const rows = fields.map(one => new Row(one));
    const error = element('p', { class: 'error', role: 'alert' });
    const send = button(label, { type: 'submit', class: isDangerous ? 'danger' : 'primary' });
    const cancel = button('Cancel');
    const form = element('form', { novalidate: '' }, ...text.map(one => element('p', {}, one)), ...rows.map(({ place }) => place), error,
        actions(send, cancel));
    const dialog = openDialog(title, form);
    cancel.addEventListener('click', () => dialog.close());
    let isBusy = false;
    dialog.addEventListener('cancel', event => isBusy && event.preventDefault());
    form.addEventListener('submit', async event => {
        event.preventDefault();
        if (isBusy) return;
        setText(error, '');
        for (const row of rows) row.showError('');
        isBusy = true;
        send.setAttribute('aria-disabled', 'true');
        try {
            await submit(Object.fromEntries(rows.map(row => [row.name, row.input.value])));
            dialog.close();
        } catch (thrown) {
            if (!(thrown instanceof ApiError)) throw thrown;
            if (!showAtRow(rows, thrown)) setText(error, errorText(thrown));
        } finally {
            isBusy = false;
            send.removeAttribute('aria-disabled');
        }
    });
    return dialog;
}

// A label, an input, a hint and an error.
export class Row {
    constructor({ name, label, hint, value = '', attributes = {}, choices, options, isRequired = false }) {
        const id = `field-${++made}`;
        this.name = name;
        this.hint = element('span', { class: 'hint', id: `${id}-hint` }, hint ?? '');
        this.error = element('span', { class: 'error', id: `${id}-error` });
        const described = { id, name, 'aria-describedby': `${id}-hint ${id}-error`, autocomplete: 'off', spellcheck: 'false' };
        this.input = choices
            ? element('select', { id, name, 'aria-describedby': described['aria-describedby'] },
                ...choices.map(([one, text]) => element('option', { value: one }, text)))
            : element('input', {
                type: 'text', ...described, ...attributes, list: options ? `${id}-options` : null, 'aria-required': isRequired || null,
            });
        if (!choices || value) this.input.value = value;
        this.place = element('p', { class: 'row' }, element('label', { for: id }, label), this.input,
            ...options ? [element('datalist', { id: `${id}-options` }, ...options.map(one => element('option', { value: one })))] : [],
            this.hint, this.error);
    }

    showError(text) {
        setText(this.error, text);
        if (text) this.input.setAttribute('aria-invalid', 'true');
        else this.input.removeAttribute('aria-invalid');
    }
}

// Shows an error at the row that its message names, as in "limits: …". Returns whether there is such a row.
export function showAtRow(rows, error) {
    const row = rows.find(({ name }) => error.message.startsWith(`${name}:`) || error.field === name);
    if (!row) return false;
    row.showError(error.message.replace(`${row.name}:`, '').trim());
    row.input.focus();
    return true;
}

// An error, and what to do about it.
export function errorText(error) {
    const message = /[.!?]$/.test(error.message) ? error.message : `${error.message}.`;
    if (error.status === 412) {
        return 'This id has changed since it was shown, and the request was refused: close this form, and look at the present values.';
    }
    if (error.code === 'concurrent_change') return `${message} Try again.`;
    if (error.status === 429) return `${message} Try again in ${error.retryAfter ?? 1} s.`;
    if (error.status === 503 || error.status === 0) return `${message} It is not known whether the request was executed: try again.`;
    return message;
}

// Shows a new key until the operator says that it is stored. It is in no other place of the page.
export function openNewKey({ key, id, warning }) {
    const input = element('textarea', {
        readonly: '', rows: 2, class: 'key', 'aria-label': `The key of ${id}`, spellcheck: 'false', autocomplete: 'off',
    });
    input.value = key;
    const copied = element('span', { role: 'status' });
    const copy = button('Copy', { class: 'primary' });
    const done = button('The key is stored');
    const dialog = openDialog(`The new key of ${id}`,
        element('p', {}, `This is the only time that the key is shown. Nobody can show it again.${warning}`),
        element('p', { class: 'row' }, input), actions(copy, done, copied));
    // Escape must not lose the key. A browser closes a dialog on the second Escape, whatever the handler does.
    dialog.setAttribute('closedby', 'none');
    dialog.addEventListener('cancel', event => event.preventDefault());
    const warn = event => event.preventDefault();
    addEventListener('beforeunload', warn);
    dialog.addEventListener('close', () => {
        removeEventListener('beforeunload', warn);
        input.value = '';
    });
    copy.addEventListener('click', async () => setText(copied, await copyOf(input) ? 'Copied'
        : 'The browser does not allow copying: select the key and copy it.'));
    done.addEventListener('click', () => dialog.close());
    copy.focus();
    return new Promise(closed => dialog.addEventListener('close', closed));
}

// Without TLS, a page has no navigator.clipboard.
async function copyOf(input) {
    try {
        await navigator.clipboard.writeText(input.value);
        return true;
    } catch {
        input.select();
        return document.execCommand('copy');
    }
}
