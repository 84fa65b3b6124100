// The same done to several links: by one request for as many as one may have.
import { Complaint } from './output.ts'
import type { components } from '../clients/typescript/api.ts'
import type { sessionOf } from './session.ts'

interface At {
  readonly domain?: string
}

const most = 1000

type Change = components['schemas']['BulkChange']
type Session = ReturnType<typeof sessionOf>

interface Result {
  readonly status: number
  readonly problem?: { readonly detail: string } | undefined
}

const inParts = (codes: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(codes.length / most) }, (_, n) => codes.slice(n * most, (n + 1) * most))

/** A line for each, and the exit code of whoever has not done all. */
function tell({ say }: Session, codes: readonly string[], results: readonly Result[], done: string): void {
  const rows = results.map((result, n) => ({ code: codes[n], result: result.problem?.detail ?? done, ...result }))
  say.rows(rows, ['code', 'result'], 'There are none.', results)
  const refused = results.filter(({ problem }) => problem).length
  if (refused > 0) throw new Complaint(`${refused} of ${results.length} could not be done: see above.`, 1)
}

export async function changeMany(session: Session, codes: readonly string[], query: At, change: Change, done: string): Promise<void> {
  const { api, say } = session
  const results: Result[] = []
  for (const part of inParts(codes)) {
    const asked = api.PATCH('/links/bulk', { params: { query }, body: { codes: part, change } })
    results.push(...(await say.answer(asked)).results)
  }
  tell(session, codes, results, done)
} // prettier-ignore

export async function deleteMany(session: Session, codes: readonly string[], query: At): Promise<void> {
  const { api, say } = session
  const results: Result[] = []
  for (const part of inParts(codes)) {
    const asked = api.DELETE('/links/bulk', { params: { query }, body: { codes: part } })
    results.push(...(await say.answer(asked)).results)
  }
  tell(session, codes, results, 'deleted')
}
