// The console: a client of tollgate_admin. The operator's key is only in the Api object.

import { element, setText } from '../../src/element.js';
import * as format from '../../src/format.js';
import { Api, ApiError, isToken } from './api.js';
import { AuditView } from './audit.js';
import { BansView } from './bans.js';
import { Detail } from './detail.js';
import { Row } from './dialog.js';
import { GroupsView } from './groups.js';
import { Idle, longestPause } from './idle.js';
import { issueKey } from './operations.js';
import { Overview } from './overview.js';
import { actions, announce, button, hashOf } from './parts.js';
import { Search } from './search.js';
import { secretAttributes } from './secret.js';

const address = document.querySelector('meta[name=tollgate-admin]').content;
const byId = id => document.getElementById(id);
let api = null;       // null: nobody is signed in
let tables = [];      // the plan tables
const client = () => api;

const search = new Search(byId('find'), { api: client, onOpen: open, onIssue: issue });
const detail = new Detail(byId('detail'), {
    api: client, plans: () => tables, onChange, onBan: (id, isBanned) => search.list.setBanned(id, isBanned),
});
const overview = new Overview(byId('overview'), client);
// What is shown beside the keys, by the name of the view.
const views = {
    groups: new GroupsView(byId('groups'), { api: client, plans: () => tables }),
    bans: new BansView(byId('bans'), client),
    audit: new AuditView(byId('audit'), client),
};
const titles = { keys: 'Keys', groups: 'Groups', bans: 'Bans', audit: 'Audit' };

// --- signing in and out

const keyRow = new Row({ name: 'operator', label: 'Your API key', hint: `With the scope of ${address}`, attributes: secretAttributes });
const signIn = element('form', { class: 'card', novalidate: '' }, keyRow.place,
    actions(button('Sign in', { type: 'submit', class: 'primary' })));
byId('sign-in').append(signIn);

signIn.addEventListener('submit', async event => {
    event.preventDefault();
    const key = keyRow.input.value.trim();
    keyRow.showError('');
    announce('');
    try {
        if (!isToken(key)) throw new ApiError('This is not an API key.');
        const tried = new Api(address, key, error => tried === api && signOut(`You are signed out: ${error.message}.`));
        const [me, plans] = await Promise.all([tried.ask('GET', 'me'), tried.ask('GET', 'plans')]);
        keyRow.input.value = '';
        api = tried;
        idle.note();
        tables = plans.data.tables;
        setText(byId('caller'), `Signed in as ${me.data.name ?? me.data.id}`);
        search.suggest([...new Set(tables.flatMap(table => Object.keys(table.plans)))].sort());
        search.start();
        search.suggestGroups();
        showView(true);
    } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        keyRow.showError(error.message);
        keyRow.input.focus();
    }
});

function signOut(text) {
    api = null;
    tables = [];
    for (const dialog of document.querySelectorAll('dialog')) dialog.close();
    search.clear();
    detail.clear();
    overview.clear();
    for (const view of Object.values(views)) view.clear();
    setText(byId('caller'), '');
    announce(text);
    showView(true);
}

byId('sign-out').addEventListener('click', () => signOut('You are signed out.'));
// The browser may keep a page that was left, with its memory.
addEventListener('pagehide', () => api && signOut('You are signed out.'));

const idle = new Idle();
const signOutIfIdle = () => api && idle.isOver() && signOut(`You are signed out: nothing was done for ${longestPause / 60_000} minutes.`);
// The pause may be over before the first event after it.
for (const kind of ['pointerdown', 'keydown', 'wheel']) {
    addEventListener(kind, () => {
        signOutIfIdle();
        idle.note();
    }, { capture: true, passive: true });
}
document.addEventListener('visibilitychange', signOutIfIdle);
setInterval(signOutIfIdle, 10_000);

// --- views: #keys, #keys/ID, #groups, #groups/GROUP, #bans, #audit

function viewOf(hash) {
    const [, name, id] = /^#(keys|groups|bans|audit)(?:\/(.+))?$/.exec(hash) ?? [null, 'keys'];
    try {
        return { name, id: ['keys', 'groups'].includes(name) && id ? decodeURIComponent(id) : null };
    } catch {
        return { name, id: null };
    }
}

// `moves`: whether the focus goes to the view's heading.
async function showView(moves) {
    const { name, id } = viewOf(location.hash);
    byId('sign-in').hidden = api !== null;
    for (const one of document.querySelectorAll('[data-signed-in]')) one.hidden = api === null;
    for (const one of Object.keys(titles)) byId(one).hidden = api === null || name !== one;
    const shown = name === 'keys' ? id : null;    // the id that is shown beside the list
    byId('keys').toggleAttribute('data-open', shown !== null);
    for (const link of document.querySelectorAll('nav a')) {
        if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
    }
    document.title = `${api === null ? 'Sign in' : id ?? titles[name]} – Tollgate console`;
    if (api === null) {
        keyRow.input.focus();
        return;
    }
    search.list.mark(shown);
    views[name]?.show(id);
    byId('overview').hidden = shown !== null;
    if (name === 'keys' && shown === null) overview.show();
    if (shown === null) detail.clear();
    else detail.show(shown);
    if (!moves) return;
    if (shown !== null) byId('detail-title').focus();
    else byId(name === 'keys' ? 'find-title' : `${name}-title`).focus();
}

addEventListener('hashchange', () => showView(true));
// The news are about what was done last.
document.addEventListener('click', event => event.target.closest('a') && announce(''));

function open(id) {
    announce('');
    if (location.hash === hashOf(id)) showView(true);
    else location.hash = hashOf(id);
}

function issue() {
    issueKey({ api: client, tables, onIssued: id => {
        if (api === null) return;
        search.start();
        location.hash = hashOf(id);
    } });
}

function onChange(id, key) {
    search.list.update(id, key);
    if (key === null && viewOf(location.hash).id === id) history.replaceState(null, '', '#keys');
    if (key === null) showView(true);
}

setText(byId('time-zone'), format.timeZone());
showView(false);
