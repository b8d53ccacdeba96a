// The verdicts, from the bottom of a stack to its top: what was let through, then what was refused.

const passed = ['granted', 'degraded', 'bypassed'];

export const refused = ['limited', 'banned', 'unauthenticated', 'forbidden', 'unavailable'];

export const verdicts = [...passed, ...refused, 'abandoned'];
