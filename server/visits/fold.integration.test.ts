// What is kept of visits is what has come: exactly, whoever writes it at once, in which order and in how many parts.
// Long because the fold and the upkeep are held against one model.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freshDatabase, migrated } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { sqlState } from '../connections/postgres.ts'
import { upkeep } from '../links/upkeep.ts'
import { dimensions, otherValue, type Cell, type HourOfVisits, type LinkVisits } from './batch.ts'
import { unpack } from './cells.ts'
import { foldVisits } from './fold.ts'
import { encode, estimate } from './hyperloglog.ts'
import { usualTerms, visitTasks } from './keep.ts'
import { figures } from './rows.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const now = Date.UTC(2030, 4, 17, 13, 30)
const thisHour = Math.floor(now / hourMs) * hourMs

const links: number[] = []
const setNow = (ms: number): Promise<unknown> =>
  db.query(
    `create or replace function ql_now() returns timestamptz language sql volatile as $$ select timestamptz '${new Date(ms).toISOString()}' $$`,
  )
const db = await migrated(await freshDatabase())
await setNow(now)
await db.query(`select ql_visit_partitions(ql_now() - interval '30 days', ql_now() + interval '30 days')`)
await db.query(
  `insert into tenants (id, name, tier) values ('acme', 'Acme', 'unlimited'), ('other', 'Other', 'unlimited')`,
)
const made = await db.query<{ id: number }>(
  `insert into links (code, url, tenant) select 'link-' || n, 'https://example.org/', case when n < 3 then 'acme' else 'other' end
     from generate_series(0, 3) as n returning id`,
)
links.push(...made.map(({ id }) => id))
const [tag] = (
  await db.query<{ id: number }>(
    `insert into tags (tenant, key, name) values ('acme', 'spring', 'Spring') returning id`,
  )
).map(({ id }) => id) as [number]
await db.query(`insert into link_tags (tag_id, link_id, created_at) select $1, unnest($2::bigint[]), now()`, [
  tag,
  links.slice(0, 2),
])

const send = (hours: readonly HourOfVisits[], zone = 'UTC'): Promise<void> =>
  db.transaction((sql) => foldVisits(zone)(sql, hours))

const visits = (linkId: number, cells: readonly Cell[], withheld = 0, more: Partial<LinkVisits> = {}): LinkVisits => {
  const total =
    withheld +
    Math.max(0, ...dimensions.map((_, n) => sum(cells.filter(([dimension]) => dimension === n).map((cell) => cell[2]))))
  return {
    linkId,
    total,
    people: total,
    withheld,
    detailed: total,
    atLeast: false,
    visitors: undefined,
    cells,
    ...more,
  }
}
const sum = (numbers: readonly number[]): number => numbers.reduce((all, n) => all + n, 0)

type Told = Record<string, unknown>
/** Every row, as text that two can be compared by. */
async function kept(table: string): Promise<Map<string, Told>> {
  const rows = await db.query<Told & { subject: string; at: Date }>(`select * from ${table} where total > 0`)
  return new Map(
    rows.map((row) => [
      `${row.subject} ${row.at.getTime()}`,
      {
        ...Object.fromEntries(figures.map((name) => [name, row[name]])),
        ...Object.fromEntries(
          dimensions.flatMap((name) => {
            const cells = unpack(row[name] as Buffer | null)
            return cells.size === 0 ? [] : [[name, Object.fromEntries([...cells].sort())]]
          }),
        ),
      },
    ]),
  )
}

const emptyAll = (): Promise<unknown> => db.query('truncate visit_hours, visit_days, visit_months, visit_visitors')

describe('the fold', () => {
  const value = fc.constantFrom('a', 'b', 'Zürich', '日本', 'x'.repeat(64), otherValue)
  const cell = fc
    .tuple(fc.nat(dimensions.length - 1), value, fc.integer({ min: 1, max: 300 }), fc.nat(300))
    .map(([dimension, name, total, people]): Cell => [dimension, name, total, Math.min(total, people)])
  const link = fc.record({ which: fc.nat(3), cells: fc.uniqueArray(cell, { selector: ([d, v]) => `${d} ${v}`, maxLength: 8 }), withheld: fc.nat(3) }) // prettier-ignore
  const hour = fc.record({
    ago: fc.nat(60),
    links: fc.uniqueArray(link, { selector: ({ which }) => which, maxLength: 3 }),
  })
  const page = fc.uniqueArray(hour, { selector: ({ ago }) => ago, maxLength: 3 })

  it('adds every visit to its link, its tenant and its tags, by the hour and by the day, whatever the parts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(page, { maxLength: 5 }), async (pages) => {
        await emptyAll()
        const model = { visit_hours: new Map<string, Told>(), visit_days: new Map<string, Told>() }
        for (const hours of pages) {
          const asked = hours.map(({ ago, links: some }) => ({
            hourMs: thisHour - ago * hourMs,
            links: some.map(({ which, cells, withheld }) => visits(links[which]!, cells, withheld)),
          }))
          await send(asked)
          for (const { hourMs: at, links: some } of asked) for (const one of some) tell(model, at, one)
        }
        for (const table of ['visit_hours', 'visit_days'] as const) {
          expect(await kept(table)).toEqual(model[table])
        }
      }),
      { numRuns: 20 },
    )
  })

  function tell(model: Record<'visit_hours' | 'visit_days', Map<string, Told>>, at: number, one: LinkVisits): void {
    if (one.total === 0) return
    const which = links.indexOf(one.linkId)
    const subjects = [`l/${one.linkId}`, which < 3 ? 't/acme' : 't/other', ...(which < 2 ? [`g/${tag}`] : [])]
    for (const [table, time] of [['visit_hours', at], ['visit_days', at - (at % dayMs)]] as const) {
      for (const subject of subjects) {
        const name = `${subject} ${time}`
        const row: Told = model[table].get(name) ?? Object.fromEntries(figures.map((figure) => [figure, 0]))
        model[table].set(name, row)
        for (const figure of figures) row[figure] = Number(row[figure]) + one[figure]
        for (const [dimension, value, total, people] of one.cells) {
          const values = (row[dimensions[dimension]!] ??= {}) as Record<string, { total: number; people: number }>
          const before = values[value] ?? { total: 0, people: 0 }
          values[value] = { total: before.total + total, people: before.people + people }
        }
      }
    }
  } // prettier-ignore

  it('of two who send at once the same links, tags and tenants in any order loses nothing, and nobody waits in a circle', async () => {
    await emptyAll()
    const some = Array.from({ length: 40 }, (_, n) => n)
    const deadlocks: unknown[] = []
    await Promise.all(
      Array.from({ length: 6 }, async (_, sender) => {
        for (let round = 0; round < 15; round++) {
          const order = sender % 2 === 0 ? some : some.toReversed()
          await send(
            order.map((ago) => ({
              hourMs: thisHour - ago * hourMs,
              links: (sender % 2 === 0 ? links : links.toReversed()).map((id) => visits(id, [[0, 'a', 1, 1], [1, `b${sender}`, 1, 0]])),
            })),
          ).catch((error: unknown) => deadlocks.push(sqlState(error) ?? error))
        }
      }),
    ) // prettier-ignore
    expect(deadlocks).toEqual([])
    const [all] = await db.query<{ n: number }>(
      `select sum(total)::bigint as n from visit_hours where subject = 't/acme'`,
    )
    expect(all?.n).toBe(6 * 15 * 40 * 3)
    const rows = await kept('visit_days')
    const values = [...rows]
      .filter(([name]) => name.startsWith('t/acme '))
      .map(([, row]) => row['utm_source'] as Record<string, { total: number }>)
    expect(sum(values.flatMap((row) => Object.values(row).map(({ total }) => total)))).toBe(6 * 15 * 40 * 3)
  })

  it('keeps the values that come most often when a flood brings half a million others, and the others in one exact number', async () => {
    await emptyAll()
    let n = 0
    for (let page = 0; page < 50; page++) {
      const flood = Array.from({ length: 10_000 }, (): Cell => [0, `flood-${n++}.example`, 1, 1])
      const [first] = links as [number]
      await send([{ hourMs: thisHour, links: [visits(first, [[0, 'news.example', 3, 3], [0, 'search.example', 1, 1], ...flood])] }]) // prettier-ignore
    }
    for (const subject of [`l/${links[0]}`, 't/acme', `g/${tag}`]) {
      for (const table of ['visit_hours', 'visit_days']) {
        const [row] = await db.query<{ referrer: Buffer; total: number }>(
          `select referrer, total from ${table} where subject = $1`,
          [subject],
        )
        const cells = unpack(row!.referrer)
        expect(cells.size).toBe(limits.visitValues + 1)
        expect(cells.get('news.example')).toEqual({ total: 150, people: 150 })
        // The first time it may be among those that are cut.
        expect(cells.get('search.example')?.total).toBeGreaterThan(40)
        expect(sum([...cells.values()].map(({ total }) => total))).toBe(50 * 10_004)
        expect(row!.total).toBe(50 * 10_004)
      }
    }
    const [size] = await db.query<{ bytes: number }>(
      `select sum(pg_column_size(h.*))::bigint as bytes from visit_hours as h`,
    )
    expect(size!.bytes).toBeLessThan(100_000)
  })

  it('counts a visitor of a day once, for the link and for the tenant, and those of another UTC day anew', async () => {
    await emptyAll()
    const registers = (from: number, to: number) =>
      encode(Array.from({ length: to - from }, (_, n) => ((from + n) << 6) | 3))
    const [a, b] = links as [number, number]
    const day = thisHour - (thisHour % dayMs)
    const people = (id: number, from: number, to: number, atLeast = false) =>
      visits(id, [[9, 'person', to - from, to - from]], 0, { visitors: registers(from, to), atLeast })
    await send([{ hourMs: day, links: [people(a, 0, 60), people(b, 30, 90)] }])
    await send([{ hourMs: day + hourMs, links: [people(a, 0, 60), people(b, 30, 90, true)] }])
    await send([{ hourMs: day - hourMs, links: [people(a, 0, 60)] }])
    const rows = await db.query<{ subject: string; at: Date; registers: Buffer; at_least: boolean }>(
      'select * from visit_visitors',
    )
    const told = Object.fromEntries(
      rows.map((row) => [
        `${row.subject} ${(row.at.getTime() - day) / dayMs}`,
        [estimate(row.registers), row.at_least],
      ]),
    )
    const [sixty, ninety] = [estimate(registers(0, 60)), estimate(registers(0, 90))]
    expect(told).toEqual({
      [`l/${a} 0`]: [sixty, false], [`l/${b} 0`]: [sixty, true], 't/acme 0': [ninety, true], [`g/${tag} 0`]: [ninety, true],
      [`l/${a} -1`]: [sixty, false], 't/acme -1': [sixty, false], [`g/${tag} -1`]: [sixty, false],
    }) // prettier-ignore
  })

  it('says that visitors are a lower bound where none of those that were looked at could be counted', async () => {
    await emptyAll()
    const [a, b] = links as [number, number]
    const short = { atLeast: true }
    await send([{ hourMs: thisHour, links: [visits(a, [[9, 'person', 2, 2]], 0, short), visits(b, [], 0, { total: 5, people: 5, ...short })] }]) // prettier-ignore
    const rows = await db.query<{ subject: string; at_least: boolean }>('select subject, at_least from visit_visitors')
    expect(rows).toContainEqual({ subject: `l/${a}`, at_least: true })
    // Nothing of it was looked at, which its totals say already.
    expect(rows.map(({ subject }) => subject)).not.toContain(`l/${b}`)
  })

  it('leaves out what has no time, and what nobody owns any more', async () => {
    await emptyAll()
    const [first] = links as [number]
    const one = [visits(first, [[0, 'a', 1, 1]])]
    await send([
      { hourMs: thisHour + 3 * dayMs, links: one },
      { hourMs: thisHour - (limits.visitsLateDays + 1) * dayMs, links: one },
      { hourMs: 8.64e15, links: one },
      { hourMs: thisHour, links: [visits(999_999, [[0, 'a', 1, 1]])] },
    ])
    expect([...(await kept('visit_hours')), ...(await kept('visit_days'))]).toEqual([])
  })

  it.each([
    // Its days begin at 22:00 UTC in summer; India's half an hour before a full hour.
    ['Europe/Berlin', '2030-05-16T21:00Z', '2030-05-15T22:00Z'],
    ['Europe/Berlin', '2030-05-16T22:00Z', '2030-05-16T22:00Z'],
    ['Asia/Kolkata', '2030-05-16T18:00Z', '2030-05-15T19:00Z'],
    ['Asia/Kolkata', '2030-05-16T19:00Z', '2030-05-16T19:00Z'],
  ])('in %s puts the hour %s into the day that begins at %s', async (zone, at, day) => {
    await emptyAll()
    await send([{ hourMs: Date.parse(at), links: [visits(links[0]!, [[0, 'a', 1, 1]])] }], zone)
    expect([...(await kept('visit_days')).keys()]).toContain(`l/${links[0]} ${Date.parse(day)}`)
  })
})

describe('the upkeep', () => {
  it('makes no partition of the hours and days of a month that it writes, and holds few rows at once', async () => {
    await emptyAll()
    await db.query(
      `insert into visit_days (subject, at, total) select 'l/' || n, '2030-05-03Z', 1 from generate_series(1, ${limits.visitRows} + 1) as n`,
    )
    await setNow(now + 800 * dayMs)
    await db.query('drop table visit_months_2030')
    const partitions = () =>
      db.query(`select relname from pg_class where relkind = 'r' and relispartition and relname not like 'visit_months%' order by 1`)
    const before = await partitions()
    const step = () => db.transaction((sql) => visitTasks(usualTerms).visitDays(sql, 1000))
    // The partition first, which holds up whoever writes until it is there.
    expect(await step()).toEqual({ rows: 0, more: true })
    expect(await step()).toEqual({ rows: limits.visitRows, more: true })
    expect(await step()).toEqual({ rows: 1, more: false })
    expect(await partitions()).toEqual(before)
    expect((await db.query<{ n: number }>('select sum(total)::bigint as n from visit_months'))[0]?.n).toBe(limits.visitRows + 1)
    await setNow(now)
  }) // prettier-ignore

  it('drops hours, makes months of days, closes visitors and forgets what is gone, and the sums stay', async () => {
    await emptyAll()
    const [a, , , d] = links as [number, number, number, number]
    const page = (): HourOfVisits[] => [
      { hourMs: thisHour, links: [visits(a, [[0, 'a', 5, 4], [4, 'DE', 2, 2]], 0, { visitors: encode([67, 131]) }), visits(d, [[0, 'b', 1, 1]])] },
      { hourMs: thisHour - dayMs, links: [visits(a, [[0, 'a', 1, 1], [0, 'c', 2, 2]])] },
    ] // prettier-ignore
    await send(page())
    const failed: unknown[] = []
    const keepUp = () => upkeep(db, (task, error) => failed.push([task, error]), { ...usualTerms, visitsDaysMonths: 12, visitsMonthsYears: 3 }) // prettier-ignore
    const count = async (table: string): Promise<number> =>
      (await db.query<{ n: number }>(`select count(*) as n from ${table}`))[0]!.n
    const tables = ['visit_hours', 'visit_days', 'visit_months', 'visit_visitors']
    const counts = async (): Promise<number[]> => Promise.all(tables.map(count))
    const before = await counts()
    expect(await keepUp()).toMatchObject({ visitDays: 0, visitRegisters: 0 })
    expect(await counts()).toEqual(before)
    await setNow(now + 15 * dayMs)
    expect(await keepUp()).toMatchObject({ visitRegisters: 3 })
    expect(await db.query(`select visitors from visit_visitors where registers is null`)).toEqual(
      Array.from({ length: 3 }, () => ({ visitors: 2 })),
    )
    await setNow(now + 120 * dayMs)
    await keepUp()
    expect(await counts()).toEqual([0, before[1], 0, before[3]])
    await setNow(now + 430 * dayMs)
    expect(await keepUp()).toMatchObject({ visitDays: before[1] })
    expect(await counts()).toEqual([0, 0, 5, 0])
    const month = (await kept('visit_months')).get(`l/${a} ${Date.UTC(2030, 4)}`)
    expect(month).toMatchObject({ total: 8, detailed: 8, referrer: { a: { total: 6, people: 5 }, c: { total: 2, people: 2 } }, country: { DE: { total: 2, people: 2 } } }) // prettier-ignore
    await db.query('delete from links where id = $1', [a])
    await db.query('delete from tags')
    expect(await keepUp()).toMatchObject({ deadVisits: 2 })
    expect([...(await kept('visit_months')).keys()].map((name) => name.split(' ')[0]).sort()).toEqual([
      `l/${d}`,
      't/acme',
      't/other',
    ])
    expect(await count('dead_visits')).toBe(0)
    await setNow(now + 5 * 366 * dayMs)
    await keepUp()
    expect(await counts()).toEqual([0, 0, 0, 0])
    expect(failed).toEqual([])
  })
})
