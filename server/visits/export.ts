// What is kept of the visits of links, in lines for another database: all of it that fits, as it was at one moment. A line has one value of one
// dimension; the one that comes first has the totals.
import type { ExportTurns } from '../api/export-turns.ts'
import { route, type Caller, type Route } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Names } from '../domains/names.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { dimensions } from './batch.ts'
import { unpack } from './cells.ts'
import * as operations from './operations.ts'
import { figures, type Figures } from './rows.ts'

const dayMs = 86_400_000

type KeptRow = Figures & { code: Code; tenant: string; at: Date; unit: 'hour' | 'day' | 'month' } & Record<
    (typeof dimensions)[number],
    Buffer | null
  >

export function visitExportRoute(turns: ExportTurns, names: Names): Route {
  async function* parts(caller: Caller, asked: Range): AsyncGenerator<string> {
    const read = turns<KeptRow>(caller.tenant, () => ({ ...rowsSql(asked), step: limits.visitsExportStep }))
    for await (const rows of read) yield rows.map((row) => linesOf(names, row)).join('')
  }
  return route(operations.exportVisits, ({ caller, query: { tenant, by, ...asked } }) => {
    if (tenant !== undefined && tenant !== caller.tenant && !caller.isOwner) {
      throw new QuickLinkError('forbidden', "Only the owner may ask for what is another tenant's.")
    }
    const to = asked.to ?? new Date()
    const from = asked.from ?? new Date(to.getTime() - 30 * dayMs)
    if (from >= to) throw invalid('from', 'from must be earlier than to.')
    const range = { from, to, by, tenant: tenant ?? (caller.isOwner ? null : caller.tenant) }
    return Promise.resolve({ type: 'application/x-ndjson', parts: () => parts(caller, range) })
  })
}

interface Range {
  readonly from: Date
  readonly to: Date
  readonly by: 'hour' | 'day'
  /** null: of all. */
  readonly tenant: string | null
}

/** Days that are old are in their months already, or will soon be. */
const tables = { hour: [['visit_hours', 'hour']], day: [['visit_days', 'day'], ['visit_months', 'month']] } as const // prettier-ignore

/** Link by link, so that each is a look into an index. */
function rowsSql({ from, to, by, tenant }: Range) {
  const columns = [...figures, ...dimensions].map((name) => `kept.${name}`).join(', ')
  const text = tables[by].map(
    ([table, unit]) => `select links.code, links.tenant, kept.at, '${unit}' as unit, ${columns}
      from links join ${table} as kept on kept.subject = 'l/' || links.id
      where links.deleted_at is null and kept.at >= $1 and kept.at < $2 ${tenant === null ? '' : 'and links.tenant = $3'}`,
  )
  return { text: text.join(' union all '), values: [from, to, ...(tenant === null ? [] : [tenant])] }
}

function linesOf(names: Names, row: KeptRow): string {
  const { code, domain } = names.shown(row.code)
  const which = { at: row.at.toISOString(), by: row.unit, tenant: row.tenant, domain, code }
  const { total, people, withheld, detailed } = row
  let lines = `${JSON.stringify({ ...which, dimension: '', value: '', total, people, withheld, detailed })}\n`
  for (const dimension of dimensions) {
    for (const [value, count] of unpack(row[dimension])) {
      lines += `${JSON.stringify({ ...which, dimension, value, ...count })}\n`
    }
  }
  return lines
}
