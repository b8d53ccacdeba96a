// What the plan tables say of a plan.

export const planNames = tables => [...new Set(tables.flatMap(({ plans }) => Object.keys(plans)))].sort();

function limitsOf({ rates = [], custom, unlimited, in_flight: flights, over }) {
    return [...rates, over && '(soft)', custom && 'the limits of the key', unlimited && 'no limits', flights && `${flights} in flight`].filter(Boolean).join(' ');
}

// What a plan is in each table that has it.
export const planText = (tables, plan) => tables.filter(({ plans }) => Object.hasOwn(plans, plan))
    .map(({ name, plans }) => `${name}: ${limitsOf(plans[plan])}`).join('; ');
