// The form of a series.

// Returns { x, y } for the values of a series. A value is a mean of the time since the point before: it is constant in
// this time. A line between two means would be a slope where a rate changed at once. `y` is null where there is no value.
export function stepsOf(points, values) {
    return values.flatMap((y, i) => {
        const before = points[i - 1];
        const end = { x: points[i].time, y };
        return y === null || !before || before.gap ? [end] : [{ x: before.time, y }, end];
    });
}
