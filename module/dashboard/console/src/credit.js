// The form that credits a balance of an id or a group.

import { ApiError } from './api.js';
import { leftText, unitsText } from './balance.js';
import { openForm } from './dialog.js';
import { durabilityText } from './parts.js';

const wrong = (name, message) => Object.assign(new ApiError(message), { field: name });

// The body for the API of what was entered. `tables`: those with a balance. Throws ApiError.
export function creditOf({ units, reference, table }, tables) {
    const chosen = tables.length === 1 ? tables[0] : table;
    if (!chosen) throw wrong('table', 'Choose a table.');
    // A separator could be one of thousands or of decimals.
    if (!/^\d{1,16}$/.test(units.trim())) throw wrong('units', 'Enter a whole number, in digits alone.');
    if (!reference.trim()) throw wrong('reference', 'Enter a reference.');
    return { units: Number(units), reference: reference.trim(), table: chosen };
}

// The result for people. `whose` is the id, or "the group ID".
export function creditedText(whose, units, { table, unit, credited, left, repeated }) {
    const rest = `${whose} has ${leftText(left, credited, unit)} in ${table}.`;
    return `${repeated ? 'This reference was credited before: nothing has changed.' : `${unitsText(units, unit)} credited.`} Now ${rest}`;
}

// `path`: of the resource that credits. `balances`: the windows of the usage that are balances. `onDone` receives the result
// as a text.
export function openCredit({ api, path, whose, balances, onDone }) {
    const tables = balances.map(({ table }) => table);
    const rests = balances.map(({ table, unit, limit, remaining }) => `${table}: ${leftText(remaining, limit, unit)}`);
    const isOne = tables.length === 1;
    // A credit in a wrong table could not be corrected: none is chosen.
    const choices = [['', 'Choose one'], ...rests.map((rest, i) => [tables[i], rest])];
    openForm({
        title: `Credit ${whose}`, label: 'Credit', text: ['A credit cannot be taken back.'],
        fields: [
            ...isOne ? [] : [{ name: 'table', label: 'Table', choices }],
            { name: 'units', label: 'Units', attributes: { inputmode: 'numeric' }, isRequired: true, hint: isOne ? `${rests[0]}.` : '' },
            { name: 'reference', label: 'Reference', isRequired: true,
              hint: 'What the units are for, such as the number of an order. Each reference is credited once.' },
        ],
        async submit(inputs) {
            const body = creditOf(inputs, tables);
            const { data, durability } = await api().ask('POST', path, { body });
            await onDone(creditedText(whose, body.units, data) + durabilityText(durability));
        },
    });
}
