// The colours of page.css, and the dashes of lines.

export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 3, 2, 3, 2, 3]];
