// What happened to requests, from the bottom of a stack to its top: granted requests, then refused ones. The names are
// the verdicts of the status, but `limited` has two causes.

const overQuota = 'customer over quota';
const overBudget = 'address over budget';

const passed = ['granted', 'degraded', 'bypassed'];

export const refused = [overQuota, overBudget, 'banned', 'unauthenticated', 'forbidden', 'unavailable'];

export const outcomes = [...passed, ...refused, 'abandoned'];

// The counts by outcome of a row of the status, from its counts by verdict. A request without a plan has no valid key:
// it is limited because its address has spent `anonymous`.
export function outcomesOf({ plan }, { limited, ...others }) {
    return { ...others, [overQuota]: plan ? limited : 0, [overBudget]: plan ? 0 : limited };
}

// The same from totals of all plans, which have the limited addresses apart.
export function outcomesOfTotals({ limited, limited_addresses: addresses, ...others }) {
    return { ...others, [overQuota]: limited - addresses, [overBudget]: addresses };
}
