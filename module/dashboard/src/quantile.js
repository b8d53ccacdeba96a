// Quantiles of the values that a histogram counted between two readings.

// Returns the value that a share `q` of the durations did not exceed, in seconds; null if there were none. Durations
// count as evenly distributed within a class. Durations beyond the last bound count as that bound.
export function quantile(q, older, newer) {
    const total = newer.count - older.count;
    if (!(total > 0)) return null;
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
