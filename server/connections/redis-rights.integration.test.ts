// QuickLink's user in Redis may do what QuickLink does, and nothing else. All integration tests have their servers use it.
import { expect, test } from 'vitest'
import { askRedis } from '../../embedded/redis-process.ts'
import { startTestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, redisCommand, startRedisServer, waitFor } from '../../testing/services.ts'

const redis = await startRedisServer()

test.each([
  ['a key of another program', 'GET session:1'],
  ['the same, from a script', `EVAL "return redis.call('GET', 'session:1')" 0`],
  ['to write one', 'SET session:1 mine'],
  ['a channel of another program', 'PUBLISH events hello'],
  ['all channels', 'PSUBSCRIBE *'],
  ['all keys at once', 'KEYS ql:*'],
  ['to empty it', 'FLUSHALL'],
  ['to set it up', 'CONFIG SET dir /tmp'],
  ['to see the settings', 'CONFIG GET requirepass'],
  ['to change the users', 'ACL SETUSER quicklink +@all ~*'],
  ['to see what others do', 'MONITOR'],
  ['to cut others off', 'CLIENT KILL TYPE normal'],
  ['to keep code there', 'FUNCTION LOAD "#!lua name=mine"'],
  ['to make it follow another', 'REPLICAOF 127.0.0.1 1'],
  ['to move data elsewhere', 'MIGRATE 127.0.0.1 1 ql:v1:cursor 0 100'],
])('it is refused %s', async (_, command) => {
  const { port, password } = new URL(redis.url)
  expect(await askRedis(Number(port), password, command, '127.0.0.1', 'quicklink')).toMatch(
    /^-(NOPERM|ERR The user executing the script can't access)/,
  )
})

test('a server that redirects, limits, counts and forgets is refused nothing', async () => {
  const ask = async (command: string): Promise<string> => (await redisCommand(redis.url, command)) ?? ''
  const app = await startTestApp({
    databaseUrl: await freshDatabase(),
    redisUrl: redis.url,
    env: { DYNAMIC_TTL: 'on', RATE_LIMIT_STORE: 'redis', REDIS_TIMEOUT_MS: '1000' },
  })
  await ask('ACL LOG RESET')
  await waitFor(async () => (await app.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 30_000 })
  const tenant = await newTenant(app, 'a')
  const limited = { url: 'https://example.org/', code: 'limited', monthlyHits: 1000 }
  expect((await tenant.api('POST', '/links', limited)).status).toBe(201)
  const hot = await app.create('https://example.org/hot')
  for (let n = 0; n < 150; n++) await Promise.all([app.get(`/${hot}`), app.get('/limited'), app.get(`/absent-${n}`)])
  const held = ['ql:v1:cursor', 'ql:v1:hot:*', 'ql:v1:404:*', 'links:limited:hits:*', 'quota:tenant:a:*', '*creates*']
  for (const pattern of held) {
    await waitFor(async () => (await ask(`KEYS ${pattern}`)) !== '*0', { deadlineMs: 25_000, everyMs: 100 })
  }
  await app.api('PATCH', `/links/${hot}`, { enabled: false })
  await app.api('POST', '/tenants/a/quota/sync')
  await tenant.api('DELETE', '/links/limited')
  // Another database: everything of codes goes.
  await ask('SET ql:v1:cursor of-nobody')
  await waitFor(async () => !(await ask('GET ql:v1:cursor')).includes('of-nobody'), { deadlineMs: 30_000 })
  expect(await ask('ACL LOG')).toBe('*0')
})
