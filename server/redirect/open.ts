// Reads in one worker, put together: tier 1, the ladder, what is decided, and the port where visitors come.
import type { RequestListener } from 'node:http'
import { changeSeen } from '../config.ts'
import type { Answers } from '../api/answers.ts'
import type { Clicks } from '../clicks/clicks.ts'
import type { Shared } from '../coherence/open.ts'
import type { Near } from '../coherence/open-standby.ts'
import type { Truth } from '../coherence/truth.ts'
import type { Landing, Vouching } from '../coherence/vouching.ts'
import type { Breaker } from '../connections/breaker.ts'
import type { Ground } from '../ground.ts'
import type { HitQuota } from '../hits/hit-quota.ts'
import type { Places } from '../imports/places.ts'
import { limits } from '../limits.ts'
import type { Code } from '../link.ts'
import type { Guard } from '../passwords/guard.ts'
import { createAbsentCodes } from '../rates/absent-codes.ts'
import { connectionsCountedAs } from '../rates/addresses.ts'
import { sparing } from '../telemetry/sparing.ts'
import type { FormStatus } from '../telemetry/metrics.ts'
import type { OnVisit } from '../visits/visits.ts'
import { createAsides, type AsideDeps } from './asides.ts'
import { listen } from './listener.ts'
import { Decisions } from './outcome.ts'
import { createResolver, type Resolver } from './resolve.ts'
import type { Sites } from './sites.ts'
import { createTier1, type Tier1 } from './tier1-local.ts'
import { createTier2, inParts, noTier2 } from './tier2-redis.ts'
import { createTier3 } from './tier3-postgres.ts'
import { createNearTier } from './tier3-standby.ts'

const nowMs = (): number => performance.now()

export function openTier1({ config, metrics }: Ground, vouching: Vouching): Tier1 {
  const { behindMs, livesMs, graceMs } = changeSeen(config)
  const tier1 = createTier1({
    max: config.localCacheMax,
    freshMs: livesMs,
    graceMs,
    staleMaxMs: config.staleMaxS * 1000,
    trustMs: behindMs,
    vouching,
    nowMs,
  })
  metrics.onCollect(() => metrics.vouchedCopies.set(tier1.vouchedSize))
  return tier1
}

interface LadderNeeds {
  readonly tier1: Tier1
  readonly truth: Truth
  /** Undefined: there is none. */
  readonly standby: Near | undefined
  readonly vouching: Vouching
  /** Undefined: there is no Redis. */
  readonly shared: Shared | undefined
  readonly breakers: { readonly postgres: Breaker }
}

export function openLadder({ config, metrics }: Ground, needs: LadderNeeds): Resolver {
  const { tier1, truth, standby, vouching, shared, breakers } = needs
  const landingOf = (code: Code): Landing | undefined => shared?.partitions.of(code).landing
  const onBatch = (size: number): void => metrics.dbBatchSize.observe(size)
  const tier3 = createTier3({
    truth,
    breaker: breakers.postgres,
    config,
    onBatch,
    onUnanswered: (reason) => {
      if (reason === 'queue_full') metrics.shed.inc({ reason: 'db_queue' })
    },
  })
  const tier2 = shared
    ? inParts(
        shared.partitions.map((partition) =>
          createTier2({
            ...partition,
            config,
            onAgeing: (code) => resolver.refresh(code),
            onFallback: (reason) => metrics.dbFallback.inc({ reason }),
          }),
        ),
      )
    : noTier2
  const resolver = createResolver({
    tier1,
    tier2,
    tier3,
    near: standby && createNearTier({ ...standby, vouching, landingOf, config, nowMs, onBatch }),
    onAlone: () => metrics.replicaAlone.inc({ what: 'lookup' }),
    vouching,
    askEveryMs: limits.askEveryMs,
    askMostMs: limits.askMostMs,
    random: Math.random,
    nowMs,
    onFlight: (source) => metrics.lookups.inc({ source }),
    onSaved: () => metrics.lookupsSaved.inc(),
  })
  return resolver
}

interface DecisionNeeds {
  readonly resolver: Resolver
  /** A link ends by one clock for all processes, whatever their machines say: see the drill clock-jumps. */
  readonly nowMs: () => number
  readonly clicks: Clicks
  readonly hits: HitQuota
  readonly guard: Guard
}

export function openDecisions({ config, metrics, log, strangers, absences }: Ground, needs: DecisionNeeds): Decisions {
  const once = sparing(log, Infinity)
  const absentCodes = createAbsentCodes(config, {
    channel: absences,
    nowMs: Date.now,
    onBlocked: () => metrics.rateLimited.inc({ tier: 'address' }),
    onUnheeded(peer, is) {
      metrics.forwardedUnheeded.inc({ peer: is })
      if (is === 'private') once.warn({ peer }, 'X-Forwarded-For comes from an address that TRUST_PROXY does not name')
    },
  })
  return new Decisions({
    ...needs,
    absentCodes,
    onShed: () => metrics.shed.inc({ reason: 'flights' }),
    onEnded: () => metrics.endedRedirects.inc(),
    onError: (err) => strangers.error({ err }, 'a redirect failed'),
  })
}

interface DoorNeeds extends Pick<AsideDeps, 'shortUrlOf' | 'mayPreview'> {
  readonly decisions: Decisions
  readonly sites: Sites
  readonly clicks: Clicks
  readonly onVisit: OnVisit | undefined
  readonly api: RequestListener
  readonly console: RequestListener
  readonly answers: Answers
  readonly places: Places
}

export async function openDoor({ config, metrics, strangers, onClose }: Ground, needs: DoorNeeds) {
  const { answers, places } = needs
  const server = await listen(config, {
    ...needs,
    asides: createAsides({
      ...needs,
      onError: (err) => strangers.error({ err }, 'what is told beside a redirect failed'),
    }),
    onAnswer: (status, seconds, source) => {
      metrics.redirect(status, seconds)
      if (source === 'local') metrics.localHit()
      else if (source === 'redis') metrics.cacheHit.inc({ tier: 'redis' })
      else if (source !== undefined) metrics.cacheMiss.inc()
    },
    onForm: (status) => metrics.passwordForms.inc({ status: String(status) as FormStatus }),
    onHandedOver: (reason) => metrics.handovers.inc({ reason }),
    countedAs: connectionsCountedAs(config),
    isCrowded: () => answers.isCrowded,
    hasOwnBounds: places.isComing,
    onLetGo: () => metrics.shed.inc({ reason: 'connections' }),
    onError: (err) => strangers.error({ err }, 'the listener failed'),
  })
  onClose(server.close)
  return server
}
