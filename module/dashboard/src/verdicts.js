// The verdicts, from the bottom of a stack to its top: granted requests, then refused ones.

const passed = ['granted', 'degraded', 'bypassed'];

export const refused = ['limited', 'banned', 'unauthenticated', 'forbidden', 'unavailable'];

export const verdicts = [...passed, ...refused, 'abandoned'];
