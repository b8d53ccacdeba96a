// The fields of a key: in the forms, and as facts.

import { fromLocalInput, time, toLocalInput } from './times.js';

const text = {
    toInput: value => value ?? '',
    fromInput: input => input.trim() || null,
    shown: value => value,
};
const words = {
    toInput: value => (value ?? []).join(' '),
    fromInput: input => input.split(/\s+/).filter(Boolean),
    shown: value => value.join(' '),
};

const day = {
    toInput: value => String(value ?? ''),
    // The API refuses what is no number.
    fromInput: input => /^\d+$/.test(input.trim()) ? Number(input) : input.trim() || null,
    shown: value => String(value),
};

// `none`: what an empty value means. `isOfNewKey`: cannot be changed later.
export const fields = [
    { name: 'id', label: 'Id', ...text, isOfNewKey: true,
      hint: 'Up to 64 letters, digits, _, - and . It cannot be changed. Empty: one is made.' },
    { name: 'name', label: 'Name', ...text, none: 'none' },
    { name: 'plan', label: 'Plan', ...text, isRequired: true, none: 'none' },
    { name: 'group', label: 'Group', ...text, none: 'none',
      hint: 'Plan tables with by=group count its ids together. An id that changes its group begins with new counts.' },
    { name: 'limits', label: 'Limits', ...text, none: 'those of the plan', hint: 'Only for custom plans, such as 5000r/m 1000000r/d.' },
    { name: 'billing_day', label: 'Billing day', ...day, none: 'the first', attributes: { inputmode: 'numeric' },
      hint: 'The day on which months begin, in UTC. Another day ends the running month when a month would end by either. Empty: the first.' },
    { name: 'expires', label: 'Expires', toInput: toLocalInput, fromInput: fromLocalInput, shown: time, none: 'never',
      attributes: { type: 'datetime-local', step: 1 }, hint: 'In the time zone of this browser. Empty: never.' },
    { name: 'scopes', label: 'Scopes', ...words, none: 'none', hint: 'Separated by spaces.' },
    { name: 'from', label: 'Addresses', ...words, none: 'any',
      hint: 'From which the key may be used, such as 192.0.2.0/24 2001:db8::/32. Empty: any.' },
    { name: 'prefix', label: 'Prefix of new keys', ...text, none: 'tg', hint: 'Such as acme_live. Empty: tg.' },
];

// The members of a body for the API: the values of the form that differ from those of `key`, which is empty for a new one.
export function changesOf(inputs, key = {}) {
    const taken = fields.filter(({ name }) => name in inputs).map(({ name, toInput, fromInput }) =>
        [name, fromInput(inputs[name]), fromInput(toInput(key[name]))]);
    return Object.fromEntries(taken.filter(([, value, before]) => JSON.stringify(value) !== JSON.stringify(before)));
}

// The fields of a key as [label, text].
export function factsOf(key) {
    const shown = fields.filter(({ isOfNewKey }) => !isOfNewKey).map(({ name, label, shown: show, none }) => {
        const value = key[name];
        return [label, value === null || value === undefined || value.length === 0 ? none : show(value)];
    });
    const meta = typeof key.meta === 'string' ? [['Meta', key.meta]]
        : Object.entries(key.meta ?? {}).map(([name, value]) => [`Meta: ${name}`, String(value)]);
    return [...shown, ...meta];
}
