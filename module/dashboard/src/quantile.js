// Quantiles of what a histogram counted between two readings of it.

// The value that a share `q` of the durations didn't exceed, in seconds; null where there were none. Within a class
// durations count as spread evenly. What is longer than the last bound counts as that bound.
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
