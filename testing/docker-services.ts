// The shared Postgres and Redis as containers, where a Docker engine answers and has the images or can pull them.
import { join } from 'node:path'
import { GenericContainer, ImageName, type StartedTestContainer, Wait, getContainerRuntimeClient } from 'testcontainers'
import { newPassword, projectDir } from '../embedded/paths.ts'
import { quicklinkUser } from '../embedded/redis-process.ts'

const images = {
  postgres: process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:18',
  redis: process.env['TEST_REDIS_IMAGE'] ?? 'redis:8',
}

/** Undefined where there is no engine or no way to the images. */
export async function startDockerServices(redisDatabases: number) {
  if (!(await haveImages())) return undefined
  const password = newPassword()
  const containers = await allOrNone([startPostgres(password), startRedis(password, redisDatabases)])
  const [postgres, redis] = containers
  const at = (container: StartedTestContainer, port: number): string =>
    `${container.getHost()}:${container.getMappedPort(port)}`
  return {
    adminUrl: `postgres://postgres:${password}@${at(postgres, 5432)}/postgres`,
    redisUrl: `redis://quicklink:${password}@${at(redis, 6379)}`,
    async stop(): Promise<void> {
      await Promise.all(containers.map((container) => container.stop()))
    },
  }
}

async function allOrNone(starts: [Promise<StartedTestContainer>, Promise<StartedTestContainer>]) {
  const settled = await Promise.allSettled(starts)
  const failed = settled.find((each) => each.status === 'rejected')
  if (!failed) return Promise.all(starts)
  for (const each of settled) if (each.status === 'fulfilled') await each.value.stop()
  throw failed.reason
}

async function haveImages(): Promise<boolean> {
  try {
    const client = await getContainerRuntimeClient()
    for (const image of Object.values(images)) {
      const name = ImageName.fromString(image)
      if (!(await client.image.exists(name))) await client.image.pull(name)
    }
    return true
  } catch {
    return false
  }
}

const startPostgres = (password: string): Promise<StartedTestContainer> =>
  new GenericContainer(images.postgres)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=300'])
    .withExposedPorts(5432)
    // The image starts it twice: first for its own set-up.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start()

function startRedis(password: string, databases: number): Promise<StartedTestContainer> {
  const users = ['--requirepass', password, '--user', ...quicklinkUser(password)]
  return new GenericContainer(images.redis)
    .withCopyFilesToContainer([{ source: join(projectDir, 'redis', 'redis.conf'), target: '/redis.conf' }])
    .withCommand(['redis-server', '/redis.conf', ...users, '--databases', String(databases), '--save', ''])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start()
}
