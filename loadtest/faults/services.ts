// Redis and Postgres as a fault sees them, in either mode. Every act may be repeated: undoing what is undone is nothing.
import type { Daemon } from '../../embedded/daemon.ts'
import { type Places, Refusal, readJson } from '../../embedded/paths.ts'
import { postgresDaemon, postgresVersion, startPostgres } from '../../embedded/postgres.ts'
import { until } from '../../embedded/wait.ts'
import { askRedis } from '../../embedded/redis-process.ts'
import { redisDaemon, startRedis } from '../../embedded/redis.ts'

export interface Service extends Pick<Daemon, 'kill' | 'pause' | 'resume'> {
  /** On the same port, with what is on its disk. Returns when it answers. */
  start(): Promise<void>
  /** Asked directly, past any proxy. */
  answers(): Promise<boolean>
}

export type Services = ReturnType<typeof embeddedServices>

const silent = (): void => undefined

/** Those of `make up` without Docker, by their data folder. */
export const embeddedServices = (places: Places, workers = 1) => ({
  redis: serviceOf(
    redisDaemon(places),
    () => startRedis(places, silent),
    () => redisAnswers(places),
  ),
  postgres: serviceOf(
    postgresDaemon(places),
    () => startPostgres(places, workers, silent),
    async () => /^\d/.test((await postgresVersion(places))?.version ?? ''),
  ),
})

async function redisAnswers({ redisFile }: Places): Promise<boolean> {
  const known = readJson<{ port: number; password: string }>(redisFile)
  return (await askRedis(known?.port ?? 0, known?.password ?? '', 'PING')) === '+PONG'
}

export const serviceOf = (
  { kill, pause, resume }: Pick<Daemon, 'kill' | 'pause' | 'resume'>,
  begin: () => Promise<unknown>,
  answers: () => Promise<boolean>,
): Service => ({
  kill,
  pause,
  resume,
  answers,
  async start() {
    await begin()
    if (!(await until(answers, 30_000, 20))) throw new Refusal('It was started, but does not answer.')
  },
})
