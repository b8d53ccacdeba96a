// Times for people. The API has times in UTC (RFC 3339), or null.

const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const ofDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en');
const units = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];

export const time = text => whole.format(new Date(text));
// Within a day, without the date.
export const momentOf = text => (Math.abs(Date.parse(text) - Date.now()) < 86_400_000 ? ofDay : whole).format(new Date(text));

export const exactTime = text => exact.format(new Date(text));

// "in 3 hours", "2 minutes ago".
export function distance(text, now = Date.now()) {
    const seconds = Math.round((Date.parse(text) - now) / 1000);
    const [unit, length] = units.find(([, least]) => Math.abs(seconds) >= least) ?? units.at(-1);
    return relative.format(Math.trunc(seconds / length), unit);
}

// For the value of <input type="datetime-local">, which has no zone: the time in the zone of the browser.
export function toLocalInput(text) {
    if (!text) return '';
    const date = new Date(text);
    return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function fromLocalInput(text) {
    return text ? `${new Date(text).toISOString().slice(0, 19)}Z` : null;
}

// The UTC day that is so many days before today, such as 2026-11-23.
export const dayBefore = (days, now = Date.now()) => new Date(now - days * 86_400_000).toISOString().slice(0, 10);
