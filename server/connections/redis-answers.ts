// Errors that are answers: Redis can be reached, and says why it has not done this.

/** A hand, or another program, has put something else under this key. */
const isOtherType = (error: unknown): boolean => startsWith(error, /^WRONGTYPE\b/)

/** Of a cluster: this slot is elsewhere, or nowhere at the moment. */
export const redirects = (error: unknown): boolean => startsWith(error, /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|CROSSSLOT)\b/)

/** It says nothing of others that ask the same server. */
export const isAnswer = (error: unknown): boolean => isOtherType(error) || redirects(error)

const startsWith = (error: unknown, word: RegExp): boolean => error instanceof Error && word.test(error.message)
