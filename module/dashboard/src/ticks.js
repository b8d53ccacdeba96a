// The ticks of an axis.

// Returns multiples of the first of `steps` whose ticks are at least `space` pixels apart, within [least, most], which
// is `length` pixels long. Uses the largest step if no step is large enough.
function multiples(steps, [least, most], length, space) {
    const step = steps.find(one => one * length >= space * (most - least)) ?? steps.at(-1);
    const ticks = [];
    // A tick is a product, because a sum of steps would accumulate rounding errors.
    for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

const times = [30, 60, 120, 300, 600, 900, 1800];
const decimals = Array.from({ length: 24 }, (_, i) => i - 9)
    .flatMap(exponent => [1, 2, 2.5, 5].map(digits => Number(`${digits}e${exponent}`)));

// The ticks of a time axis, in seconds since 1970. A label is about 60 pixels wide.
export const timeTicks = (range, length) => multiples(times, range, length, 80);

// The ticks of a linear axis.
export const numberTicks = (range, length) => multiples(decimals, range, length, 30);

// The ticks of a logarithmic axis: each power of ten, as its exponent.
export const exponentTicks = range => multiples([1], range, 1, 0);
