// Requests the status once a second.

const patience = 2500;
const pause = 1000;

// After each request, calls one of the two: with the status and the time (seconds, of a monotonic clock), or with an
// error message. Never ends.
export async function poll(address, { onStatus, onFailure }) {
    for (;;) {
        const begun = performance.now();
        try {
            const status = await ask(address);
            onStatus(status, clock());
        } catch (error) {
            onFailure(messageOf(error), clock());
        }
        await new Promise(done => setTimeout(done, Math.max(100, begun + pause - performance.now())));
    }
}

const clock = () => (performance.timeOrigin + performance.now()) / 1000;

async function ask(address) {
    // If the page was opened as user:password@host, the browser sends these by itself, but rejects URLs that contain
    // them.
    const url = new URL(address, location.href);
    url.username = url.password = '';
    const response = await fetch(url, {
        headers: { Accept: 'application/json' },
        cache: 'no-store',
        signal: AbortSignal.timeout(patience),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const status = await response.json().catch(() => null);
    if (!Array.isArray(status?.requests) || !status.zone) throw new Error('what answers is no tollgate_status');
    return status;
}

function messageOf(error) {
    if (error.name === 'TimeoutError') return `no answer within ${patience / 1000} s`;
    return error instanceof TypeError ? 'no connection' : error.message;
}
