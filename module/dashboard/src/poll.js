// Requests the status once a second.

import { addressOf } from './address.js';

const patience = 2500;
const pause = 1000;

// After each request, calls one of the two: with the status and the time (seconds, of a monotonic clock), or with the
// reason why there is no status, which names the URL. Never ends.
export async function poll(address, { onStatus, onFailure }) {
    const url = addressOf(address);
    for (;;) {
        const begun = performance.now();
        try {
            const status = await ask(url);
            onStatus(status, clock());
        } catch (error) {
            onFailure(reasonOf(error, url), clock());
        }
        await new Promise(done => setTimeout(done, Math.max(100, begun + pause - performance.now())));
    }
}

const clock = () => (performance.timeOrigin + performance.now()) / 1000;

// What the server answered instead of the status.
class WrongAnswer extends Error {}

async function ask(url) {
    const response = await fetch(url, {
        headers: { Accept: 'application/json' },
        cache: 'no-store',
        signal: AbortSignal.timeout(patience),
    });
    if (!response.ok) throw new WrongAnswer(`HTTP ${response.status} from ${response.url}`);
    const text = await response.text();
    let status = null;
    try {
        status = JSON.parse(text);
    } catch {
        // It has another format.
    }
    if (!Array.isArray(status?.requests) || !status.zone) {
        throw new WrongAnswer(`not tollgate_status, but ${response.headers.get('Content-Type')} from ${response.url}`);
    }
    return status;
}

function reasonOf(error, url) {
    if (error instanceof WrongAnswer) return error.message;
    return error.name === 'TimeoutError' ? `no answer from ${url} within ${patience / 1000} s` : `no connection to ${url}`;
}
