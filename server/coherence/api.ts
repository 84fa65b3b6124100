// For the owner, when a redirect looks wrong: what each tier holds of a code, and the ordinary way to make them ask anew.
import { Router } from 'express'
import { z } from 'zod'
import { callerOf, jsonBody, methodNotAllowed, ownerOnly, parseBody, sendJson } from '../api/http.ts'
import type { Config } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import type { RedisConnection } from '../connections/redis.ts'
import { QuickLinkError } from '../errors.ts'
import { isLink, parseCode, type Code, type Known } from '../link.ts'
import { readLink } from '../links/store.ts'
import type { Announcer } from './announce.ts'
import type { Shared } from './open.ts'
import { hintKey, jitteredMs, linkKey, metaKey } from './schema.ts'
import type { Truth } from './truth.ts'

interface CacheApiDeps {
  readonly sql: Sql
  readonly truth: Truth
  readonly announcer: Announcer
  /** Tier 1 of the process that answers. */
  readonly peek: (code: Code) => { known: Known; ageMs: number; fresh: boolean; vouched: boolean } | undefined
  readonly shared: Shared | undefined
  readonly config: Pick<Config, 'metaTtlS' | 'ttlJitter'>
}

const invalidation = z.strictObject({ code: z.string('must be a string') })

export function cacheRouter(deps: CacheApiDeps): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/cache/invalidate')
    .post(ownerOnly, ...jsonBody, async (request, response) => {
      const code = codeFrom(parseBody(invalidation, request).code)
      sendJson(response, 200, { code, version: await touch(deps, code) })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/cache/:code')
    .get(ownerOnly, async (request, response) => {
      const code = codeFrom(request.params.code)
      const [truth] = await deps.truth.read([code])
      const redis = deps.shared && (await inRedis(deps, deps.shared, code))
      const copy = deps.peek(code)
      sendJson(response, 200, {
        code,
        tier1: copy
          ? { ...shown(copy.known), ageMs: Math.round(copy.ageMs), fresh: copy.fresh, vouched: copy.vouched }
          : null,
        redis: redis ?? null,
        postgres: truth === undefined ? null : shown(truth),
        process: process.pid,
        tenant: callerOf(response).tenant,
      })
    })
    .all(methodNotAllowed('GET'))
  return router
}

function codeFrom(text: string): Code {
  const code = parseCode(text)
  if (code === undefined) throw new QuickLinkError('not_found', 'This cannot be the code of a link.')
  return code
}

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

async function inRedis(deps: CacheApiDeps, { redis, cache, ...shared }: Shared, code: Code): Promise<object> {
  const trusted = shared.trusted()
  try {
    const [[held], ttlMs, hintTtlMs, meta] = await Promise.all([
      cache.read([code]),
      redis.pttl(linkKey(code)),
      redis.pttl(hintKey(code)),
      metaOf(deps, redis, code),
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

/** Clicks, end and state, up to META_TTL_S old: whoever looks first puts them there. Null where there is no such link. */
async function metaOf({ sql, config }: CacheApiDeps, redis: RedisConnection, code: Code): Promise<object | null> {
  const [text = null] = await redis.getEach([metaKey(code)])
  const held = parseMeta(text)
  if (held) return held
  const link = await readLink(sql, code, null)
  if (!link) return null
  const endsMs = link.expiresAt?.getTime()
  const meta = {
    c: link.clicks,
    ...(endsMs === undefined ? {} : { e: Math.floor(endsMs / 1000) }),
    s: !link.enabled ? 'disabled' : endsMs !== undefined && endsMs <= Date.now() ? 'expired' : 'active',
  }
  await redis.set(metaKey(code), JSON.stringify(meta), jitteredMs(config.metaTtlS, config.ttlJitter))
  return meta
}

/** Undefined for whatever this cannot have written: it is replaced. */
function parseMeta(text: string | null): object | undefined {
  try {
    const meta = JSON.parse(text ?? 'null') as { c?: unknown } | null
    return typeof meta?.c === 'number' ? meta : undefined
  } catch {
    return undefined
  }
}

const shown = (known: Known): object =>
  isLink(known)
    ? {
        url: known.url,
        version: known.version,
        permanent: known.permanent,
        expiresAt: known.expiresAtS === null ? null : new Date(known.expiresAtS * 1000).toISOString(),
      }
    : { absent: true, version: known.version }
