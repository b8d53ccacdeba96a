// Which plans the plot shows by name, and in which colours.

// Of the plans of a status the `number` with the most requests since nginx started, each with the number of its colour:
// its place in the order of their names. So a plan has the same colour each time the page is opened, whichever plans are
// busy just then.
export function planStyles(plans, number) {
    const byTotal = [...plans].sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1));
    const keys = byTotal.slice(0, number).map(({ key }) => key).sort();
    return new Map(keys.map((key, style) => [key, style]));
}
