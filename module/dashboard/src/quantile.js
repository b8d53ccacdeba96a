// Quantiles of the values that a histogram counted between two readings.

// A p99 of fewer durations is the longest of them, or nearly so.
export const leastCount = 100;

// Returns the value that a share `q` of the durations did not exceed, in seconds; null if there were fewer than
// leastCount. Durations count as evenly distributed within a class. Durations beyond the last bound count as that bound.
export function quantile(q, older, newer) {
    const total = newer.count - older.count;
    if (!(total >= leastCount)) return null;
    const rank = q * total;
    let bound = 0;
    let below = 0;
    for (const [i, bucket] of newer.buckets.entries()) {
        const upTo = bucket.count - older.buckets[i].count;
        if (upTo >= rank) return bound + (bucket.le - bound) * (rank - below) / (upTo - below);
        bound = bucket.le;
        below = upTo;
    }
    return bound;
}
