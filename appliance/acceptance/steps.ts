// One line per claim: what was shown, how long it took, and what there is to say about it.
export const counts = { passed: 0, failed: 0 }

export async function step(claim: string, work: () => Promise<string | undefined>): Promise<void> {
  const beganMs = performance.now()
  const seconds = (): string => `${((performance.now() - beganMs) / 1000).toFixed(1)} s`
  try {
    const said = await work()
    counts.passed++
    console.log(`ok      ${claim} (${seconds()}${said ? `; ${said}` : ''})`)
  } catch (error) {
    counts.failed++
    console.log(`FAILED  ${claim} (${seconds()})\n        ${(error as Error).stack ?? String(error)}`)
  }
}

export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what)
}
