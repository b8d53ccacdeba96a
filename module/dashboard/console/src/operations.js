// The operations that have a form.

import { setText } from '../../src/element.js';
import { ApiError, keyPath, RequestNames } from './api.js';
import { openForm, openNewKey } from './dialog.js';
import { changesOf, fields } from './fields.js';
import { choiceOfGroup, readGroups } from './group_operations.js';
import { announce, durabilityText } from './parts.js';
import { planNames, planText } from './plans.js';
import { overlaps } from './rotation.js';

let opening = null;    // the form that waits for the groups

// Opens one form, however often it is asked for until the form is there.
function openKeyForm(options) {
    opening ??= openWithGroups(options).finally(() => {
        opening = null;
    });
    return opening;
}

// A form with the fields of a key, whose hint of the plan follows the input. The group is chosen from those that exist.
async function openWithGroups({ api, tables, key, shown, ...options }) {
    const groups = await groupsOf(api());
    const more = {
        plan: { options: planNames(tables) },
        group: choiceOfGroup(groups, key.group),
    };
    const dialog = openForm({ ...options, fields: shown.map(one => ({ ...one, value: one.toInput(key[one.name]), ...more[one.name] })) });
    const plan = dialog.querySelector('[name=plan]');
    const hint = dialog.querySelector(`#${plan.id}-hint`);
    const show = () => setText(hint, planText(tables, plan.value.trim()) || `Known plans: ${planNames(tables).join(', ')}.`);
    plan.addEventListener('input', show);
    show();
    return dialog;
}

// Without an answer, the group is typed.
async function groupsOf(api) {
    try {
        return await readGroups(api);
    } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { names: [], isComplete: false };
    }
}

const required = (name, message) => Object.assign(new ApiError(message), { field: name });

// Issues a key. `onIssued` receives its id.
export function issueKey({ api, tables, onIssued }) {
    const names = new RequestNames();
    return openKeyForm({
        title: 'Issue a key', label: 'Issue', api, tables, key: {}, shown: fields,
        async submit(inputs) {
            const body = changesOf(inputs);
            if (!body.plan) throw required('plan', 'Enter a plan.');
            const { data, durability } = await api().ask('POST', 'keys', { body, fields: { 'Idempotency-Key': names.of(body) } });
            showNewKey(data, `${data.id} was issued.`, durability).then(() => onIssued(data.id));
        },
    });
}

// A repeated request may have been executed before, and its response lost: then there is no key to show.
function showNewKey({ key, id }, text, durability) {
    announce(text + durabilityText(durability));
    if (key) return openNewKey({ key, id, warning: durabilityText(durability) });
    announce(`${id} has a new key, but the response that showed it was lost. Rotate the key to get another one.`);
    return Promise.resolve();
}

export function editKey(detail) {
    const { id, key, etag, api } = detail;
    return openKeyForm({
        title: `Change ${id}`, label: 'Change', api, tables: detail.plans(), key, shown: fields.filter(({ isOfNewKey }) => !isOfNewKey),
        async submit(inputs) {
            const body = changesOf(inputs, key);
            if (body.plan === null) throw required('plan', 'Enter a plan.');
            if (Object.keys(body).length === 0) return;
            const { durability } = await api().ask('PATCH', keyPath(id), { body, fields: etag ? { 'If-Match': etag } : {} });
            await detail.changed(`${id} was changed.`, durability);
        },
    });
}

export function rotateKey(detail) {
    const { id, etag, api } = detail;
    const names = new RequestNames();
    openForm({
        title: `Rotate the key of ${id}`, label: 'Rotate',
        text: ['A new key is made and shown once. The old key works until the overlap ends.'],
        fields: [{ name: 'overlap', label: 'Overlap', choices: overlaps, value: overlaps[0][0] }],
        async submit({ overlap }) {
            const body = { overlap };
            const { data, durability } = await api().ask('POST', keyPath(id, '/rotate'), {
                body, fields: { 'Idempotency-Key': names.of(body), ...etag ? { 'If-Match': etag } : {} },
            });
            const text = `${id} has a new key.`;
            showNewKey(data, text, durability).then(() => detail.changed(text, durability));
        },
    });
}

// Sets the state of an id. Returns the durability. If the response shows another state, whatever its status is, the id was
// not changed as the operator asked. An id that is enabled may have expired.
export async function setState(api, id, state) {
    const { data, durability } = await api.ask('PATCH', keyPath(id), { body: { state } });
    const isDone = data?.state === state || (state === 'active' && data?.state === 'expired');
    if (!isDone) throw new ApiError(`${id} is not ${state}: its state is ${data?.state ?? 'unknown'}. Try again.`);
    return durability;
}

// A key that must end now is disabled or revoked whatever else has changed: without If-Match.
export function confirmDisable(detail) {
    const { id, api } = detail;
    openForm({
        title: `Disable ${id}`, label: 'Disable', isDangerous: true,
        text: ['Requests with its keys get 401 within 200 ms, until it is enabled again.'],
        async submit() {
            const durability = await setState(api(), id, 'disabled');
            await detail.changed(`${id} is disabled.`, durability);
        },
    });
}

export function confirmReset(detail) {
    const { id, api } = detail;
    openForm({
        title: `Reset the usage of ${id}`, label: 'Reset', isDangerous: true,
        text: ['All windows begin with their whole limits. What was granted today stays in the history; balances and a ban stay.'],
        async submit() {
            const { durability } = await api().ask('DELETE', keyPath(id, '/usage'));
            await detail.changed(`The usage of ${id} is reset.`, durability);
        },
    });
}

export function confirmRevocation(detail) {
    const { id, key, api } = detail;
    openForm({
        title: `Revoke ${id}`, label: 'Revoke', isDangerous: true,
        text: [`The id${key.name ? ` of ${key.name}` : ''} and its keys end now and cannot be restored. Its history stays until it expires.`],
        fields: [{ name: 'confirmation', label: 'Type the id to confirm', hint: id }],
        async submit({ confirmation }) {
            if (confirmation.trim() !== id) throw required('confirmation', 'This is not the id.');
            const { durability } = await api().ask('DELETE', keyPath(id));
            detail.revoked(`${id} is revoked.`, durability);
        },
    });
}
