// Selects the plans that the plot shows by name, and their colours.

// Returns the `number` plans of a status with the most requests since nginx started, each with the index of its colour.
// The index is the plan's position in the order of names, so a plan has the same colour each time the page is opened,
// regardless of which plans are busy.
export function planStyles(plans, number) {
    const byTotal = [...plans].sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1));
    const keys = byTotal.slice(0, number).map(({ key }) => key).sort();
    return new Map(keys.map((key, style) => [key, style]));
}
