// Notices that nobody uses the page any more.

// In milliseconds.
export const longestPause = 15 * 60_000;

export class Idle {
    // `now` returns the time in milliseconds.
    constructor(now = () => Date.now()) {
        this.now = now;
        this.note();
    }

    // The page is used.
    note() {
        this.last = this.now();
    }

    // Whether it was not used for so long. A computer that slept has not run timers, so the clock decides.
    isOver() {
        return this.now() - this.last >= longestPause;
    }
}
