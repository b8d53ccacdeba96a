import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantile } from '../../../module/dashboard/src/quantile.js';

// A histogram with counts in classes up to 1, 2 and 4 s, and above.
function histogram(...classes) {
    let count = 0;
    const buckets = [1, 2, 4].map((le, i) => ({ le, count: count += classes[i] }));
    return { count: count + classes[3], buckets };
}
const none = histogram(0, 0, 0, 0);

test('a quantile lies within its class, as if the class were filled evenly', () => {
    assert.equal(quantile(0.5, none, histogram(100, 0, 0, 0)), 0.5);
    assert.equal(quantile(0.5, none, histogram(0, 100, 0, 0)), 1.5);
    assert.equal(quantile(0.75, none, histogram(50, 50, 0, 0)), 1.5);
    assert.equal(quantile(0.99, none, histogram(98, 0, 2, 0)), 3);
});

test('only what came between the two readings counts', () => {
    assert.equal(quantile(0.5, histogram(1000, 0, 0, 5), histogram(1000, 0, 100, 5)), 3);
});

test('what is longer than the last bound counts as that bound', () => {
    assert.equal(quantile(0.99, none, histogram(100, 0, 0, 100)), 4);
});

test('fewer than 100 have no quantile', () => {
    assert.equal(quantile(0.99, none, histogram(0, 100, 0, 0)), 1.99);
    assert.equal(quantile(0.99, none, histogram(0, 99, 0, 0)), null);
    assert.equal(quantile(0.5, none, none), null);
    assert.equal(quantile(0.5, histogram(3, 2, 1, 1), histogram(3, 2, 1, 100)), null);
});
