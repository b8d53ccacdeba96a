// The operations on groups that have a form, and the choice of a group.

import { ApiError, groupPath } from './api.js';
import { openForm } from './dialog.js';
import { changesOf, fields } from './fields.js';
import { planNames, planText } from './plans.js';

const mostPages = 5;

// The groups that have a record: { names, isComplete }. Of very many, the first ones.
export async function readGroups(api) {
    const names = [];
    let after = '';
    for (let pages = 0; pages < mostPages && after !== null; ++pages) {
        const { data } = await api.ask('GET', 'groups', { query: { limit: 100, after } });
        names.push(...data.groups.map(({ id }) => id));
        after = data.next;
    }
    return { names, isComplete: after === null };
}

// What the field of a group in a form has in addition: choices, or suggestions if there are too many groups.
export function choiceOfGroup({ names, isComplete }, current) {
    if (!isComplete) return { options: names };
    const others = current && !names.includes(current) ? [[current, `${current} (without a record)`]] : [];
    return { choices: [['', 'none'], ...names.map(name => [name, name]), ...others] };
}

const ofGroups = tables => tables.filter(({ by }) => by === 'group');

const fieldsOfGroup = fields.filter(({ name }) => ['plan', 'limits', 'billing_day'].includes(name));

// Sets the plan, the limits and the billing day of a group, or makes one if there is no `id`.
export function setGroup({ api, tables, id = null, group = null, onDone }) {
    const counting = ofGroups(tables);
    const plans = counting.length ? counting : tables;
    openForm({
        title: id ? `Change the group ${id}` : 'New group', label: id ? 'Change' : 'Make',
        fields: [
            ...id ? [] : [{ name: 'group', label: 'Group', hint: 'Up to 64 letters, digits, _, - and .', isRequired: true }],
            ...fieldsOfGroup.map(field => ({
                ...field, value: field.toInput(group?.[field.name]),
                ...field.name === 'plan' && {
                    options: planNames(plans), hint: planNames(plans).map(plan => planText(plans, plan)).slice(0, 4).join(' · '),
                },
            })),
        ],
        async submit({ group: entered, ...inputs }) {
            const name = id ?? entered.trim();
            if (!name) throw Object.assign(new ApiError('Enter the name of the group.'), { field: 'group' });
            const body = { plan: inputs.plan.trim(), ...changesOf(inputs, group ?? {}) };
            if (!body.plan) throw Object.assign(new ApiError('Enter a plan.'), { field: 'plan' });
            const { durability } = await api().ask('PATCH', groupPath(name), { body });
            await onDone(name, id ? `The group ${name} was changed.` : `The group ${name} was made.`, durability);
        },
    });
}

export function confirmGroupReset({ api, id, onDone }) {
    openForm({
        title: `Reset the counters of the group ${id}`, label: 'Reset', isDangerous: true,
        text: ['The windows of the group begin with their whole limits. Its balances and the counts of its ids remain.'],
        async submit() {
            const { durability } = await api().ask('DELETE', groupPath(id, '/usage'));
            await onDone(id, `The counters of the group ${id} are reset.`, durability);
        },
    });
}

export function confirmGroupDeletion({ api, id, onDone }) {
    openForm({
        title: `Delete the group ${id}`, label: 'Delete', isDangerous: true,
        text: ['Its record is removed; its keys keep the group. They have the default plan of tables with by=group then, or are refused.'],
        async submit() {
            const { durability } = await api().ask('DELETE', groupPath(id));
            await onDone(id, `The group ${id} is deleted.`, durability);
        },
    });
}
