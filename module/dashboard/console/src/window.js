// Which rows of a long list are in the document.

// Returns [first, end] of the rows that a scroller of `height` pixels shows at `top`, and `around` more on each side.
export function visibleRows({ top, height, rowHeight, rows, around }) {
    const first = Math.floor(top / rowHeight) - around;
    const end = Math.ceil((top + height) / rowHeight) + around;
    return [Math.max(0, Math.min(first, rows)), Math.max(0, Math.min(end, rows))];
}

// The row that a key leads to from row `active` (-1: none), or null if the key does not move.
export function rowAfterKey(key, { active, rows, page }) {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows - 1 }[key];
    return to === undefined || rows === 0 ? null : Math.max(0, Math.min(to, rows - 1));
}
