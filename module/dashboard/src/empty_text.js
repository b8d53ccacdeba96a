// The text of a plot without values.

// `none` says that nothing happened. It is claimed only of times whose status is known.
export function emptyText(points, none) {
    if (points.at(-1)?.gap) return 'Not known: the status can’t be read';
    if (points.every(point => point.gap || point.requests === null)) return 'Not known yet';
    return points.some(point => point.gap) ? `${none} while the status was read` : none;
}
