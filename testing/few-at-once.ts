// Much to be done by a server, of which only so much is asked at a time.
/** In their order. A hundred at once would wait for one another in the server, longer than it lets them. */
export async function fewAtOnce<T, Result>(
  list: readonly T[],
  atOnce: number,
  work: (each: T) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const rest = list.entries()
  const one = async (): Promise<void> => {
    for (const [n, each] of rest) results[n] = await work(each)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return results
}
