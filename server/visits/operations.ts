// What the API offers about visits.
import { z } from 'zod'
import { codeNamed, count, domainAsked, tenantIdGiven, timeGiven, timeShown } from '../api/fields.ts'
import { operationsOf } from '../api/operation.ts'
import { tagNamed } from '../links/input.ts'
import { dimensions } from './batch.ts'
import { units } from './stats.ts'
import { timeZoneSchema } from './time-zone.ts'

const operation = operationsOf('Statistics')

const asked = {
  from: timeGiven
    .optional()
    .meta({ description: 'By default 30 days before `to`. The hour that it falls into counts whole.' }),
  to: timeGiven.optional().meta({ description: 'By default now.' }),
  by: z
    .enum(units, `must be one of ${units.join(', ')}`)
    .default('day')
    .meta({ description: 'How long a bucket of `series` is.' }),
  tz: timeZoneSchema.default('UTC').meta({
    description: 'The time zone, by its IANA name, whose days, weeks (from Monday) and months `series` has.',
    examples: ['Europe/Berlin'],
  }),
  dimension: z
    .enum(dimensions, `must be one of ${dimensions.join(', ')}`)
    .default('referrer')
    .meta({ description: 'Whose values `top` has.' }),
  people: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((word) => word === 'true')
    .default(false)
    .meta({
      description: '`top` by people, not by all visits.',
      override: ({ jsonSchema }) => {
        delete jsonSchema.enum
        jsonSchema.type = 'boolean'
      },
    }),
}

const whose = {
  tenant: tenantIdGiven.optional().meta({ description: "Whose. Others than one's own only the owner may ask for." }),
}

const counts = { total: count, people: count }

export const statsShown = z
  .object({
    from: timeShown.meta({
      description: 'Where it begins: at a full hour, or where what is kept of that time begins.',
    }),
    to: timeShown,
    by: z.enum(units),
    tz: z.string(),
    dimension: z.enum(dimensions),
    total: count.meta({ description: 'Visits: every redirect.' }),
    people: count.meta({ description: 'Those of people: no bots, no previews of links, no prefetches.' }),
    withheld: count.meta({
      description: 'Of the people: those who ask not to be counted further. Nothing else is known of them.',
    }),
    visitors: count
      .optional()
      .meta({ description: 'Different people, to about 2 %, where all of it is one day in UTC. Days count whole.' }),
    dailyVisitors: count.optional().meta({
      description:
        'Where it is several days: the sum of the different people of each. Who came on two days is counted twice.',
    }),
    atLeast: z.boolean().meta({ description: 'There were at least so many visitors: not every visit was looked at.' }),
    sampled: z.boolean().meta({
      description: 'Not every visit was looked at: values are estimates, and their `error` says how good they are.',
    }),
    detailed: count.meta({ description: 'How many visits were looked at.' }),
    series: z.array(z.object({ at: timeShown, ...counts })).meta({ description: 'Without gaps.' }),
    top: z.array(
      z.object({
        value: z.string(),
        ...counts,
        error: count.meta({ description: 'How far off `total` may be, in 95 of 100 cases. 0: it is exact.' }),
      }),
    ),
    other: z.object(counts).meta({ description: 'Values that are not in `top`.' }),
    unknown: z
      .object(counts)
      .meta({ description: 'Visits that say nothing of it: of referrers, those that came directly.' }),
    before: z
      .object({ from: timeShown, to: timeShown, ...counts })
      .meta({ description: 'The time before, of the same length.' }),
    notes: z.array(z.string()).meta({ description: 'What to know of these figures, in sentences.' }),
  })
  .meta({ id: 'Stats' })

export type StatsShown = z.input<typeof statsShown>

const about =
  '`top`, `other`, `unknown` and `withheld` add up to `total`. One dimension at a time: what is kept cannot say how many visits have two values at once. Hours are kept for ' +
  '90 days, days for two years, months for ever, unless the operator has set other times; before that, a day or a month stands at its beginning. With `Accept: text/csv` the answer is a table for spreadsheets.'

const answer = { status: 200, what: 'The figures.', schema: statsShown, stream: ['text/csv'] } as const

export const readLinkStats = operation('readLinkStats', 'get', '/links/{code}/stats', 'viewer', {
  summary: 'Who followed a link',
  about,
  params: z.object({ code: codeNamed }),
  query: z.strictObject({ domain: domainAsked, ...asked }),
  answer,
})

export const readStats = operation('readStats', 'get', '/stats', 'viewer', {
  summary: 'Who followed all links of a tenant',
  about,
  query: z.strictObject({ ...whose, ...asked }),
  answer,
  problems: ['forbidden'],
})

export const readTagStats = operation('readTagStats', 'get', '/tags/{tag}/stats', 'viewer', {
  summary: 'Who followed the links of a tag',
  about: `Counted from when a link is given the tag until it is taken off, and with the tag until it is merged or deleted. ${about}`,
  params: tagNamed,
  query: z.strictObject({ ...whose, ...asked }),
  answer,
  problems: ['forbidden'],
})

export const exportVisits = operation('exportVisits', 'get', '/visits/export', 'viewer', {
  summary: 'Export what is kept of visits',
  about:
    'For another database. Of each link and hour or day a line with its totals (`dimension` and `value` are empty), and one for each value of each dimension; in no order, as it all was at one moment, as fast as you read it. ' +
    "Of links that are there; the owner gets those of all tenants, or of one. What a dimension's lines leave of the total is `withheld` or unknown; `(other)` is what was beyond 500 values. " +
    'A tenant has one export at a time, of links or of visits. One that breaks off ends its connection without an end of the answer, which clients report as an error.',
  query: z.strictObject({
    ...whose,
    from: timeGiven.optional().meta({ description: 'By default 30 days before `to`.' }),
    to: timeGiven.optional().meta({ description: 'By default now.' }),
    by: z
      .enum(['hour', 'day'], 'must be hour or day')
      .default('day')
      .meta({ description: 'Hours are there for 90 days. Of days that are older than two years the months are told.' }),
  }),
  answer: { status: 200, what: 'The figures.', stream: ['application/x-ndjson'] },
  problems: ['forbidden'],
})
