// Where an axis has ticks.

// Multiples of the first of `steps` with which ticks lie at least `space` pixels apart, within [least, most], which is
// `length` pixels long. The largest step where none is large enough.
function multiples(steps, [least, most], length, space) {
    const step = steps.find(one => one * length >= space * (most - least)) ?? steps.at(-1);
    const ticks = [];
    // A tick is a product: a sum of steps would collect rounding errors.
    for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

const times = [30, 60, 120, 300];
const decimals = Array.from({ length: 24 }, (_, i) => i - 9)
    .flatMap(exponent => [1, 2, 2.5, 5].map(digits => Number(`${digits}e${exponent}`)));

// Of an axis of times, in seconds since 1970. A label is some 60 pixels wide.
export const timeTicks = (range, length) => multiples(times, range, length, 80);

// Of an axis of numbers.
export const numberTicks = (range, length) => multiples(decimals, range, length, 30);

// Of an axis of logarithms: each power of ten, as its exponent.
export const exponentTicks = range => multiples([1], range, 1, 0);
