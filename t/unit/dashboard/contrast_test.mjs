import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { outcomes, refused } from '../../../module/dashboard/src/outcomes.js';
import { dashes, patternOf, patterns, patternPath } from '../../../module/dashboard/src/style.js';

const css = readFileSync(new URL('../../../module/dashboard/theme.css', import.meta.url), 'utf8');
const colours = text => Object.fromEntries([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
const [light, dark] = css.split('@media (prefers-color-scheme: dark)').map(colours);
const schemes = { light, dark: { ...light, ...dark } };

// The contrast ratio of WCAG 2.2.
function luminance(hex) {
    const [red, green, blue] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one, other) {
    const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
}

const series = [...[1, 2, 3, 4, 5, 6].map(number => `series-${number}`), 'series-others'];
const colourOf = name => name.replaceAll(' ', '-');
const stacks = { outcomes: outcomes.map(colourOf), plans: series };
const lines = { refused: refused.map(colourOf), others: series.slice(0, -1) };

const pairs = names => names.flatMap((one, i) => names.slice(i + 1).map((other, j) => [[one, i], [other, i + 1 + j]]));

for (const [scheme, colour] of Object.entries(schemes)) {
    // The pairs with less contrast than `least`, as texts.
    const below = (least, all) => all.filter(([one, other]) => !(contrast(colour[one], colour[other]) >= least))
        .map(([one, other]) => `${one} on ${other}`);

    test(`${scheme}: areas and lines stand out from the card`, () => {
        assert.deepEqual(below(3, [...stacks.outcomes, ...stacks.plans].map(name => [name, 'card'])), []);
    });

    test(`${scheme}: neighbours in a stack differ`, () => {
        for (const names of Object.values(stacks)) assert.deepEqual(below(3, names.slice(1).map((name, i) => [name, names[i]])), []);
    });

    test(`${scheme}: any two areas differ in luminance or pattern, because those between them may be empty`, () => {
        for (const names of Object.values(stacks)) {
            const alike = pairs(names).filter(([[, i], [, j]]) => patternOf(i) === patternOf(j));
            assert.deepEqual(below(3, alike.map(([[one], [other]]) => [one, other])), []);
        }
    });

    test(`${scheme}: any two lines differ in luminance or dashes`, () => {
        for (const names of Object.values(lines)) {
            const alike = pairs(names).filter(([[, i], [, j]]) => String(dashes[i]) === String(dashes[j]));
            assert.deepEqual(below(3, alike.map(([[one], [other]]) => [one, other])), []);
            assert.ok(names.length <= dashes.length);
        }
    });

    test(`${scheme}: text can be read, states stand out`, () => {
        const texts = ['text', 'muted', 'good', 'bad'];
        assert.deepEqual(below(4.5, texts.flatMap(name => ['page', 'card'].map(ground => [name, ground]))), []);
        assert.deepEqual(below(4.5, ['text', 'muted', 'bad'].map(name => [name, 'bad-card'])), []);
        assert.deepEqual(below(3, [['focus', 'page'], ['focus', 'card'], ['bad', 'page']]), []);
    });
}

test('patterns differ, and there is one for each pair of styles', () => {
    const paths = Array.from({ length: patterns }, (_, i) => patternPath(i, 10, 10));
    assert.equal(new Set(paths).size, patterns);
    for (const names of Object.values(stacks)) assert.ok(patternOf(names.length - 1) < patterns);
});
