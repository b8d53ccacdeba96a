// Formats numbers for people. An unknown number is a dash.

export const unknown = '–';
const known = format => value => value === null || value === undefined || Number.isNaN(value) ? unknown : format(value);
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// Rounds to two or three significant digits.
function brief(value) {
    if (value >= 100) return whole.format(value);
    return value >= 1 ? value.toFixed(1).replace(/\.0$/, '') : String(Number(value.toPrecision(2)));
}

export const count = known(value => whole.format(value));
export const rate = known(brief);
export const percent = known(value => brief(100 * value));
export const percentSign = known(value => `${brief(100 * value)} %`);

// Seconds as [number, unit].
export function durationParts(seconds) {
    if (seconds === null || seconds === undefined) return [unknown, ''];
    if (seconds >= 1) return [brief(seconds), 's'];
    return seconds >= 0.001 ? [brief(seconds * 1e3), 'ms'] : [brief(seconds * 1e6), 'µs'];
}

export const duration = seconds => durationParts(seconds).join(' ').trim();

export function uptime(seconds) {
    const [days, hours, minutes] = [86400, 3600, 60].map((unit, i, units) => Math.floor((i ? seconds % units[i - 1] : seconds) / unit));
    if (days) return `${days} d ${hours} h`;
    if (hours) return `${hours} h ${minutes} min`;
    return minutes ? `${minutes} min` : `${seconds} s`;
}

export function bytes(value) {
    return value >= 1 << 20 ? `${brief(value / (1 << 20))} MiB` : `${brief(value / 1024)} KiB`;
}

const toSeconds = { hour: '2-digit', minute: '2-digit', second: '2-digit' };
const timeOfDay = new Intl.DateTimeFormat('en-GB', toSeconds);
const timeAndZone = new Intl.DateTimeFormat('en-GB', { ...toSeconds, timeZoneName: 'short' });
const minuteOfDay = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

export const time = seconds => timeOfDay.format(seconds * 1000);
// For a sentence.
export const timeInZone = seconds => timeAndZone.format(seconds * 1000);
export const timeZone = () => timeAndZone.formatToParts().find(({ type }) => type === 'timeZoneName').value;
const minute = seconds => minuteOfDay.format(seconds * 1000);

// For an axis: shows seconds only if needed.
export const times = all => all.map(all.some(one => one % 60 !== 0) ? time : minute);
