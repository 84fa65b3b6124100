// Redis and Postgres as a fault sees them, in either mode. Every act may be repeated: undoing what is undone is nothing.
import { join } from 'node:path'
import { running } from '../../embedded/cluster.ts'
import { type Places, Refusal, readJson } from '../../embedded/paths.ts'
import { postgresVersion, startPostgres } from '../../embedded/postgres.ts'
import { family, isOurs, signalAll, until } from '../../embedded/process.ts'
import { askRedis, configFileIn } from '../../embedded/redis-process.ts'
import { startRedis } from '../../embedded/redis.ts'

export interface Service {
  /** At once and without a word, as the kernel's out-of-memory killer does. */
  kill(): Promise<void>
  /** On the same port, with what is on its disk. Returns when it answers. */
  start(): Promise<void>
  /** Connections stay open, nothing answers. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Asked directly, past any proxy. */
  answers(): Promise<boolean>
}

export interface Services {
  readonly redis: Service
  readonly postgres: Service
}

const silent = (): void => undefined

/** Those of `make up` without Docker, by their data folder. */
export function embeddedServices(places: Places): Services {
  return {
    redis: processService(
      () => redisPid(places),
      () => startRedis(places, silent),
      () => redisAnswers(places),
    ),
    postgres: processService(
      () => postgresPid(places),
      () => startPostgres(places, 1, silent),
      async () => /^\d/.test((await postgresVersion(places))?.version ?? ''),
    ),
  }
}

export function redisPid({ redisFile, redisDir }: Places): number | undefined {
  const pid = readJson<{ pid: number }>(redisFile)?.pid
  return isOurs(pid, configFileIn(redisDir)) ? pid : undefined
}

export function postgresPid({ postgresFile }: Places): number | undefined {
  const home = readJson<{ home: string }>(postgresFile)?.home
  return home === undefined ? undefined : running(join(home, 'data'))?.pid
}

async function redisAnswers({ redisFile }: Places): Promise<boolean> {
  const known = readJson<{ port: number; password: string }>(redisFile)
  return (await askRedis(known?.port ?? 0, known?.password ?? '', 'PING')) === '+PONG'
}

function processService(
  pidOf: () => number | undefined,
  begin: () => Promise<unknown>,
  answers: () => Promise<boolean>,
): Service {
  const signal = (name: NodeJS.Signals): Promise<void> => {
    const pid = pidOf()
    if (pid !== undefined) signalAll(family(pid), name)
    return Promise.resolve()
  }
  return {
    answers,
    async kill() {
      await signal('SIGKILL')
      if (!(await until(() => pidOf() === undefined, 5000, 10))) throw new Refusal('It does not die.')
    },
    async start() {
      await begin()
      if (!(await until(answers, 20_000, 20))) throw new Refusal('It was started, but does not answer.')
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  }
}
