// What an entry of the audit says, for people.

import { unitsText } from './balance.js';

// The values in a detail such as `plan=pro name="A shop"`, by their names; null if the text is another one, or was cut.
export function valuesIn(text) {
    const values = new Map();
    const rest = text.replace(/([a-z]+)=("(?:[^"\\]|\\.)*"|[^\s"]+)(?: |$)/gy, (_, name, value) => {
        values.set(name, value);
        return '';
    });
    return rest === '' && values.size > 0 ? values : null;
}

// The detail of a credit, such as "5,000 units in api, reference order-4711"; null if it was cut, or is another one.
function creditText(detail) {
    const [, units, reference, table] = /^units=(\d+) reference=(\S+) table=(\S+)$/.exec(detail) ?? [];
    return table ? `${unitsText(Number(units))} in ${table}, reference ${reference}` : null;
}

// The detail; of a change, with what each value has replaced: `plan free → pro`.
export function textOf({ action, detail, before }) {
    if (action === 'credit' || action === 'credit-group') return creditText(detail) ?? detail;
    if (!before) return detail;
    const [set, replaced] = [detail, before].map(valuesIn);
    if (!set || !replaced) return `${detail} (before: ${before})`;
    return [...set].map(([name, value]) => replaced.has(name) ? `${name} ${replaced.get(name)} → ${value}` : `${name}=${value}`).join(', ');
}

// The ids that an import names in its detail, such as `3 of 3 records: a b …`, and the text before and after them.
export function importedIds({ action, detail }) {
    const [, head, ids, end] = (action === 'import' && /^(.*records:)((?: [A-Za-z0-9_.-]+)+)( …|…)?$/.exec(detail)) || [];
    return ids ? { head, ids: ids.trim().split(' '), end: end ?? '' } : null;
}
