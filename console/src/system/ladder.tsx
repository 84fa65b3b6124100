// The ladder that a redirect climbs, from the socket to the truth: each step with the share that it answered, and how it is.
import type { ReactNode } from 'react'
import { Panel } from '../parts/page.tsx'
import { useFormats } from '../words/words.tsx'
import type { Flow, System } from './use-system.ts'
import { useSystemWords } from './words.ts'

type Breaker = System['workers'][number]['redis']

/** The worst of all workers'. */
export function worstOf(states: readonly Breaker[]): NonNullable<Breaker> {
  return (['open', 'half_open'] as const).find((state) => states.includes(state)) ?? 'closed'
}

export function Ladder({ system, flow }: { readonly system: System; readonly flow: Flow }) {
  const words = useSystemWords()
  const formats = useFormats()
  const { health, workers, lookups, fallbacks, trustAgeS } = system
  const trusting = workers.filter(({ trusted }) => trusted === true).length
  const passed = fallbacks.error + fallbacks.open + fallbacks.timeout + fallbacks.untrusted
  const redis = health.redis === 'off' ? undefined : health.redis
  return (
    <Panel title={words.live} aside={<strong className="figure">{words.answers(formats.count(flow.redirects))}</strong>}>
      <p className="about">{words.liveAbout(flow.isLive ? words.lastMinute : words.sinceStart)}</p>
      <ol className="climb">
        <Step name={words.door}>
          <span>{system.frontDoor === 'http' ? words.doorHttp : words.doorRaw(formats.share(flow.door))}</span>
        </Step>
        <Step name={words.tier1} share={flow.shares.tier1}>
          <span>{words.vouched(formats.count(system.vouchedCopies))}</span>
        </Step>
        <Step name="Redis" share={flow.shares.redis} isAway={redis === undefined} state={redis} breaker={redis && worstOf(workers.map((worker) => worker.redis))}>
          {redis === undefined ? (
            <span>{words.off}</span>
          ) : (
            <>
              <span>{words.trusted(formats.count(trusting), formats.count(workers.length))}</span>
              {trustAgeS !== null && <span>{words.fresh(formats.seconds(trustAgeS))}</span>}
              {passed > 0 && <span>{words.fallbacks(formats.count(passed))}</span>}
            </>
          )}
        </Step>
        <Step name="Postgres" share={flow.shares.postgres} state={health.postgres} breaker={worstOf(workers.map(({ postgres }) => postgres))}>
          <span>{words.truth}</span>
          {lookups.stale > 0 && <span>{words.stale(formats.count(lookups.stale))}</span>}
        </Step>
      </ol>
    </Panel>
  )
} // prettier-ignore

interface StepProps {
  readonly name: string
  readonly share?: number
  readonly isAway?: boolean
  readonly state?: 'up' | 'down' | undefined
  readonly breaker?: NonNullable<Breaker> | undefined
  readonly children: ReactNode
}

function Step({ name, share, isAway = false, state, breaker, children }: StepProps) {
  const words = useSystemWords()
  const formats = useFormats()
  return (
    <li data-away={isAway || undefined}>
      <div className="row wrap">
        <strong>{name}</strong>
        {state && (
          <span className="badge" data-state={state === 'up' ? 'active' : 'disabled'}>
            {words[state]}
          </span>
        )}
        {breaker && (
          <span className="badge" data-state={{ closed: undefined, half_open: 'expired', open: 'disabled' }[breaker]}>
            {words.breaker}: {words.breakers[breaker]}
          </span>
        )}
        {share !== undefined && !isAway && <span className="figure share">{formats.share(share)}</span>}
      </div>
      {share !== undefined && !isAway && (
        <div className="part" aria-hidden="true">
          <i style={{ width: `${100 * share}%` }} />
        </div>
      )}
      <p className="about facts-line">{children}</p>
    </li>
  )
}
