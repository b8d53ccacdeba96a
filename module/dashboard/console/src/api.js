// The client of tollgate_admin.

import { addressOf } from '../../src/address.js';

// An operation may take a minute.
const patience = 65_000;

// A request that failed. `message` is for people; `code` is that of the Error body, or empty; `status` is 0 without a
// response; `retryAfter` is in seconds, or null.
export class ApiError extends Error {
    constructor(message, { status = 0, code = '', retryAfter = null } = {}) {
        super(message);
        Object.assign(this, { status, code, retryAfter });
    }
}

// What the Authorization field can hold (RFC 6750).
export const isToken = text => /^[A-Za-z0-9._~+/-]{1,512}=*$/.test(text);

export class Api {
    #key;

    // `address`: of the location of tollgate_admin. `key`: the operator's key. `onRefused` is called when the API
    // refuses this key, with the error.
    constructor(address, key, onRefused) {
        this.address = addressOf(address);
        this.#key = key;
        this.onRefused = onRefused;
    }

    // Returns { data, etag, durability }: the body, or null if there is none; the version of the key; and whether a
    // failover may undo the change. `path` is relative to the location. Throws ApiError.
    async ask(method, path, { query = {}, body, fields = {}, signal } = {}) {
        const url = new URL(path, this.address);
        for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
        const response = await this.#fetch(url, {
            method,
            headers: {
                Accept: 'application/json',
                Authorization: `Bearer ${this.#key}`,
                ...body === undefined ? {} : { 'Content-Type': 'application/json' },
                ...fields,
            },
            body: body === undefined ? undefined : JSON.stringify(body),
            cache: 'no-store',
            redirect: 'error',
            signal: AbortSignal.any([AbortSignal.timeout(patience), ...signal ? [signal] : []]),
        });
        const data = response.status === 204 ? null : await this.#dataOf(response);
        if (!response.ok) this.#fail(response, data);
        return { data, etag: response.headers.get('ETag'), durability: response.headers.get('Tollgate-Durability') };
    }

    // Reads what a path names, as ask() does; null if nothing has this name.
    async find(path, options) {
        try {
            return await this.ask('GET', path, options);
        } catch (error) {
            if (error instanceof ApiError && error.code === 'unknown_id') return null;
            throw error;
        }
    }

    async #fetch(url, options) {
        try {
            return await fetch(url, options);
        } catch (error) {
            if (error.name === 'AbortError') throw error;
            throw new ApiError(error.name === 'TimeoutError' ? `No answer from ${url.pathname} within ${patience / 1000} s.`
                : `No connection to ${url.origin}${url.pathname}.`);
        }
    }

    async #dataOf(response) {
        try {
            return await response.json();
        } catch (error) {
            if (error.name === 'AbortError') throw error;
            throw new ApiError(`${new URL(response.url).pathname} does not answer as tollgate_admin: HTTP ${response.status}, ` +
                `${response.headers.get('Content-Type') ?? 'no body'}.`, { status: response.status });
        }
    }

    #fail(response, data) {
        const retryAfter = Number(response.headers.get('Retry-After')) || null;
        const message = typeof data?.message === 'string' ? data.message : `HTTP ${response.status}`;
        const error = new ApiError(message, { status: response.status, code: data?.code ?? '', retryAfter });
        if (response.status === 401) this.onRefused(error);
        throw error;
    }
}

export const groupPath = (id, below = '') => `groups/${encodeURIComponent(id)}${below}`;
export const keyPath = (id, below = '') => `keys/${encodeURIComponent(id)}${below}`;

// Names for requests that may be repeated: the same for the same body, so that a repetition executes nothing twice.
// crypto.randomUUID does not exist on pages without TLS.
export class RequestNames {
    #names = new Map();

    of(body) {
        const text = JSON.stringify(body);
        if (!this.#names.has(text)) {
            const bytes = crypto.getRandomValues(new Uint8Array(16));
            this.#names.set(text, `console-${[...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')}`);
        }
        return this.#names.get(text);
    }
}
