// The colours of theme.css, the dashes of lines, and the patterns of areas.

export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// By style.
export const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 3, 2, 3, 2, 3]];

// The pattern of a style. The colours of even styles have one luminance, those of odd styles another: two areas with the
// same pattern differ in luminance.
export const patternOf = style => Math.floor(style / 2);

export const patternSize = 10;

// The strokes of each pattern in a square of patternSize, as path data.
const strokes = ['', 'M0 10l10-10', 'M0 0l10 10', 'M0 5h10', 'M5 0v10'];

// The strokes of a pattern in a rectangle, as path data. Strokes also begin outside, so that squares fit together.
export function patternPath(pattern, width, height) {
    let path = '';
    for (let x = -patternSize; x <= width; x += patternSize) {
        for (let y = -patternSize; y <= height; y += patternSize) {
            path += strokes[pattern].replace(/^M(\d+) (\d+)/, (_, left, top) => `M${x + Number(left)} ${y + Number(top)}`);
        }
    }
    return path;
}

export const patterns = strokes.length;
