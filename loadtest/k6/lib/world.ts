// What is asked for, and what the right answer is: a function of the number, so that ten million links need no table.
// Shared by the harness, which makes the links, and k6, which checks every answer. Pure: neither Node's nor k6's.

export const codeOf = (prefix: string, n: number | string): string => `${prefix}${n}`

export const destinationOf = (seed: string, n: number | string): string =>
  `https://example.org/a/page/of/usual/length/${seed}/${n}?from=quicklink`

/** From 0 to 1, the same for the same number: xorshift-multiply, by Ellis' constants. */
export function randomOf(n: number): number {
  let x = (n + 0x9e3779b9) | 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32
}

/**
 * Which of the links, the most popular first: the inverse of the distribution function of 1 ÷ rank^exponent, taken as
 * continuous. Exponent 0: all alike.
 */
export function zipf(random: number, links: number, exponent: number): number {
  const rank =
    Math.abs(exponent - 1) < 1e-9
      ? (links + 1) ** random
      : (((links + 1) ** (1 - exponent) - 1) * random + 1) ** (1 / (1 - exponent))
  return Math.min(links - 1, Math.floor(rank) - 1)
}
