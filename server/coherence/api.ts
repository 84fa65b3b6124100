// For the owner, when a redirect looks wrong: what each tier holds of a code, and the ordinary way to make them ask anew.
import { z } from 'zod'
import {
  codeGiven,
  codeNamed,
  codeShown,
  count,
  domainGiven,
  domainQuery,
  domainShown,
  mustBe,
  tenantShown,
  timeShown,
} from '../api/fields.ts'
import { operationsOf, route, type Route } from '../api/operation.ts'
import type { Config } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import type { PartitionRedis } from '../connections/redis.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import { domainOf, isLink, parseCode, type Code, type Known } from '../link.ts'
import { readLink } from '../links/store.ts'
import type { Announcer } from './announce.ts'
import type { Partition, Shared } from './open.ts'
import { jitteredMs } from './schema.ts'
import type { Truth } from './truth.ts'

const operation = operationsOf('Cache')

interface CacheApiDeps {
  readonly sql: Sql
  readonly truth: Truth
  readonly announcer: Announcer
  readonly names: Names
  /** Tier 1 of the process that answers. */
  readonly peek: (code: Code) => { known: Known; ageMs: number; fresh: boolean; vouched: boolean } | undefined
  readonly shared: Shared | undefined
  readonly config: Pick<Config, 'metaTtlS' | 'ttlJitter'>
}

const held = {
  absent: z.literal(true).optional().meta({ description: 'It knows that there is nothing.' }),
  version: count.optional(),
  url: z.string().optional(),
  permanent: z.boolean().optional(),
  startsAt: timeShown.nullable().optional(),
  expiresAt: timeShown.nullable().optional(),
  expiredUrl: z.string().nullable().optional(),
  forwardQuery: z.boolean().optional(),
}

const caches = z
  .object({
    code: codeShown,
    domain: domainShown,
    tier1: z
      .object({ ...held, ageMs: count, fresh: z.boolean(), vouched: z.boolean() })
      .nullable()
      .meta({ description: 'The memory of the process that answers.' }),
    redis: z
      .object({
        trusted: z.boolean(),
        holds: z.boolean().nullable().meta({ description: 'null: it could not be asked.' }),
        ...held,
        cachedAt: timeShown.nullable().optional(),
        ttlMs: z.int().optional(),
        meta: z
          .object({
            c: count.meta({ description: 'Clicks.' }),
            e: z.int().optional().meta({ description: 'When it ends, in seconds since 1970.' }),
            s: z.enum(['active', 'disabled', 'expired']),
          })
          .nullable()
          .optional()
          .meta({ description: 'Up to META_TTL_S old.' }),
        problem: z.string().optional(),
      })
      .nullable()
      .meta({ description: 'null: there is no Redis.' }),
    postgres: z.object(held).nullable(),
    process: count,
    tenant: tenantShown,
  })
  .meta({ id: 'Caches' })

export const readCache = operation('readCache', 'get', '/cache/{code}', 'owner', {
  summary: 'What each cache holds of a code',
  params: z.object({ code: codeNamed }),
  query: domainQuery,
  answer: { status: 200, what: 'What each of them would answer with.', schema: caches },
})

const invalidation = z
  .strictObject({ code: codeGiven, domain: domainGiven.optional() }, mustBe('a JSON object'))
  .meta({ id: 'Invalidation' })

export const invalidateCache = operation('invalidateCache', 'post', '/cache/invalidate', 'owner', {
  summary: 'Make every cache ask anew for a code',
  body: { schema: invalidation, example: { code: 'spring' } },
  answer: {
    status: 200,
    what: 'The link has a new version, which is announced like any change.',
    schema: z.object({ code: codeShown, domain: domainShown, version: count }).meta({ id: 'Invalidated' }),
  },
  problems: ['not_found'],
})

export const cacheRoutes = (deps: CacheApiDeps): Route[] => [
  route(invalidateCache, async ({ body }) => {
    const slug = parseCode(body.code)
    if (slug === undefined) throw new QuickLinkError('not_found', 'This cannot be the code of a link.')
    const code = deps.names.codeAt(slug, body.domain)
    return { body: { code: slug, domain: domainOf(code), version: await touch(deps, code) } }
  }),
  route(readCache, async ({ caller, params, query }) => {
    const code = deps.names.codeAt(params.code, query.domain)
    const [truth] = await deps.truth.read([code])
    const redis = deps.shared && (await inRedis(deps, deps.shared.partitions.of(code), code))
    const copy = deps.peek(code)
    return {
      body: {
        code: params.code,
        domain: domainOf(code),
        tier1: copy
          ? { ...shown(copy.known), ageMs: Math.round(copy.ageMs), fresh: copy.fresh, vouched: copy.vouched }
          : null,
        redis: redis ?? null,
        postgres: truth === undefined ? null : shown(truth),
        process: process.pid,
        tenant: caller.tenant,
      },
    }
  }),
]

/** The row's trigger announces it like any change: every cache is told the truth anew, with a version of its own. */
async function touch({ sql, truth, announcer }: CacheApiDeps, code: Code): Promise<number> {
  const asOf = announcer.asOf()
  const [row] = await sql.query<{ version: number }>('update links set code = code where code = $1 returning version', [
    code,
  ])
  if (!row) throw new QuickLinkError('not_found', `There is no link ${code}.`)
  const [known] = await truth.read([code])
  if (known) await announcer.announce(code, known, asOf)
  return row.version
}

async function inRedis(
  deps: CacheApiDeps,
  { redis, keys, cache, ...partition }: Partition,
  code: Code,
): Promise<z.input<typeof caches>['redis']> {
  const trusted = partition.trusted()
  try {
    const [[held], ttlMs, hintTtlMs, meta] = await Promise.all([
      cache.read([code]),
      redis.pttl(keys.link(code)),
      redis.pttl(keys.hint(code)),
      metaOf(deps, redis, keys.meta(code), code),
    ])
    if (held === undefined) return { trusted, holds: false, meta }
    const isHint = !isLink(held.known) && held.known.version === 0
    return {
      trusted,
      holds: true,
      ...shown(held.known),
      cachedAt: held.cachedAtS === 0 ? null : new Date(held.cachedAtS * 1000).toISOString(),
      ttlMs: isHint ? hintTtlMs : ttlMs,
      meta,
    }
  } catch {
    return { trusted, holds: null, problem: 'Redis could not be asked' }
  }
}

interface Meta {
  c: number
  e?: number
  s: 'active' | 'disabled' | 'expired'
}

/** Clicks, end and state, up to META_TTL_S old: whoever looks first puts them there. Null where there is no such link. */
async function metaOf(
  { sql, config }: CacheApiDeps,
  redis: PartitionRedis,
  key: string,
  code: Code,
): Promise<Meta | null> {
  const [text = null] = await redis.getEach([key])
  const held = parseMeta(text)
  if (held) return held
  const link = await readLink(sql, code, null)
  if (!link) return null
  const endsMs = link.expiresAt?.getTime()
  const meta: Meta = {
    c: link.clicks,
    ...(endsMs === undefined ? {} : { e: Math.floor(endsMs / 1000) }),
    s: !link.enabled ? 'disabled' : endsMs !== undefined && endsMs <= Date.now() ? 'expired' : 'active',
  }
  await redis.set(key, JSON.stringify(meta), jitteredMs(config.metaTtlS, config.ttlJitter))
  return meta
}

/** Undefined for whatever this cannot have written: it is replaced. */
function parseMeta(text: string | null): Meta | undefined {
  try {
    const meta = JSON.parse(text ?? 'null') as Meta | null
    return typeof meta?.c === 'number' ? meta : undefined
  } catch {
    return undefined
  }
}

const timeOf = (seconds: number | null): string | null =>
  seconds === null ? null : new Date(seconds * 1000).toISOString()

const shown = (known: Known) =>
  isLink(known)
    ? {
        url: known.url,
        version: known.version,
        permanent: known.permanent,
        startsAt: timeOf(known.startsAtS),
        expiresAt: timeOf(known.expiresAtS),
        expiredUrl: known.expiredUrl,
        forwardQuery: known.forwardQuery,
      }
    : { absent: true as const, version: known.version }
