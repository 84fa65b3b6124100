// What stands beside the ladder: what needs a look, and how changes, clicks and workers are.
import { Icon } from '../parts/icon.tsx'
import { Panel } from '../parts/page.tsx'
import { useFormats } from '../words/words.tsx'
import type { System } from './use-system.ts'
import { useSystemWords } from './words.ts'

export function Checks({ system }: { readonly system: System }) {
  const words = useSystemWords()
  const found = useFindings(system)
  return (
    <Panel title={words.checks}>
      {found.length === 0 ? (
        <p className="well">
          <Icon name="check" /> {words.allWell}
        </p>
      ) : (
        <ul className="findings">
          {found.map((what) => (
            <li key={what}>
              <Icon name="alert" /> <span>{what}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="about">{words.doctor}</p>
    </Panel>
  )
}

function useFindings(system: System): string[] {
  const { check } = useSystemWords()
  const formats = useFormats()
  const { health, workers, clicks } = system
  const many = (where: (worker: System['workers'][number]) => boolean): number => workers.filter(where).length
  const counted = (n: number, say: (n: string) => string): string | false => n > 0 && say(formats.count(n))
  const open = { Redis: many(({ redis }) => redis === 'open'), Postgres: many(({ postgres }) => postgres === 'open') }
  const untrusting = many(({ trusted }) => trusted === false)
  const silent = many(({ serving }) => !serving)
  const said = [
    health.redis === 'down' && check.redisDown,
    health.postgres === 'down' && check.postgresDown,
    ...Object.entries(open).map(([dependency, n]) => n > 0 && check.breaker(dependency, n)),
    health.redis === 'up' && untrusting > 0 && check.untrusted(untrusting),
    silent > 0 && check.silent(silent),
    // What is on its way for a second is no matter.
    health.postgres === 'down' && counted(clicks.spooled, check.spooled),
    counted(clicks.dropped, check.dropped),
    counted(system.staleAnswersFound, check.stale),
    counted(system.shed, check.shed),
    counted(system.upkeepFailures, check.upkeep),
    counted(system.logDropped, check.log),
    counted(system.workerRestarts, check.restarts),
  ]
  return said.filter((each) => each !== false)
}

export function Beside({ system: { changes, clicks, workers } }: { readonly system: System }) {
  const words = useSystemWords()
  const formats = useFormats()
  const seen = changes.seen === 0 ? words.noChanges : changes.p99AtMostS === null ? words.slow : words.within(formats.seconds(changes.p99AtMostS)) // prettier-ignore
  return (
    <Panel title={words.workers}>
      <dl className="facts">
        <dt>{words.changes}</dt>
        <dd>{seen}</dd>
        <dt>{words.clicks}</dt>
        <dd>
          {formats.count(clicks.spooled)}{' '}
          <span className="about">
            {words.clicksAbout(formats.count(clicks.persisted), formats.count(clicks.dropped))}
          </span>
        </dd>
        {workers.map(({ number, serving, restarts }) => (
          <div key={number} className="meter">
            <dt>{words.worker(number)}</dt>
            <dd>
              <span className="badge" data-state={serving ? 'active' : 'disabled'}>
                {serving ? words.serving : words.silent}
              </span>
              {restarts > 0 && <span className="about"> {words.restarts(formats.count(restarts))}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
