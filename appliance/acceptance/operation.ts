// What whoever runs it does from day to day, and on the day when the database is lost.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { compose, composed, docker, idsOf, inService, linesOf } from '../compose.ts'
import { loadPanelsAnswer } from './monitoring.ts'
import { api, createLink, dataDir, down, leftOver, make, ownerKey, redirects, replicated, run, secrets, traffic, visit } from './stand.ts' // prettier-ignore

/** The k6 of the compose file loads the appliance from inside its network, and Prometheus hears of it. */
export function isLoaded(): void {
  let hasRun = false
  test("the load profile's k6 runs `steady` against the appliance, every redirect right", async ({ skip }) => {
    const { code } = await compose(['--profile=load', 'run', '--rm', '--no-deps', '--no-TTY', '--quiet-pull', 'k6', 'version']) // prettier-ignore
    skip(code !== 0, 'there is no image of k6 (with `make k6`, .ci/stand-ins.sh builds one)')
    const env = { NAME: 'steady', SHORT: 'yes', K6: 'docker', RATE: '100', DATASET: '2000' }
    const { text } = await run('loadtest/load/load.ts', [], env)
    // How fast it was says nothing on a machine that does everything else at the same time.
    for (const kind of ['wrong', 'failed']) expect(text).toContain(`ok     baseline: ${kind} answers: 0 (0)`)
    hasRun = true
  })
  test("k6's figures are in Prometheus, and the panels that show them have data", async ({ skip }) => {
    skip(!hasRun, 'it did not run')
    await loadPanelsAnswer()
  })
}

export function doctor(allIsWell: () => void): void {
  const complaints = async (): Promise<string[]> =>
    (await make('doctor')).text.split('\n').filter((line) => line.startsWith('not ok'))
  // Only an operator can say who that is.
  const nobodyHears = expect.stringContaining('Somebody hears the alerts: nobody') as string
  test('`make doctor` is all ok, but for somebody who hears the alerts', async () => {
    await expect.poll(complaints, { timeout: 60_000, interval: 2000 }).toEqual([nobodyHears])
    allIsWell()
  })
  test('`make doctor` names maxmemory-policy when that is changed by hand', async () => {
    const cli = 'REDISCLI_AUTH=$(cat /run/quicklink/operator) redis-cli --user operator'
    const set = (policy: string): Promise<string> =>
      inService('redis', ['sh', '-c', `${cli} config set maxmemory-policy ${policy}`])
    await set('allkeys-lru')
    const found = await complaints()
    await set('volatile-lru')
    expect(found).toEqual([
      expect.stringContaining('maxmemory-policy: allkeys-lru, but must be volatile-lru'),
      nobodyHears,
    ])
  })
}

export function restarts(): void {
  test('a second `up` changes nothing, and a restart keeps secrets and links', async () => {
    const running = (): Promise<string[]> => idsOf('quicklink', 'redis', 'postgres', 'grafana')
    // Not the secrets themselves: what differs is shown.
    const kept = async (): Promise<string> =>
      createHash('sha256')
        .update([...(await secrets()), await ownerKey()].join())
        .digest('hex')
    const [ids, before] = [await running(), await kept()]
    await composed(['up', '-d', '--wait'])
    expect(await running(), 'containers were replaced').toEqual(ids)
    await down()
    await composed(['up', '-d', '--wait'])
    expect(await kept(), 'the secrets are others').toBe(before)
    await redirects('first', 'https://example.com/first')
  })
  test('a stop is a clean one, within its grace period', async () => {
    const [id = ''] = await idsOf('quicklink')
    const beganMs = performance.now()
    await composed(['stop', 'quicklink'])
    expect(performance.now() - beganMs).toBeLessThan(12_000)
    expect((await docker(['inspect', '-f', '{{.State.ExitCode}}', id])).text.trim()).toBe('0')
    await composed(['up', '-d', '--wait'])
  })
}

/** Whoever is told listens on this machine, where the network of what may reach outside has its gateway. */
export function isTold(): void {
  test('`make up` is told of a webhook, and `make test-alert` reaches it', async () => {
    const edge = `${process.env['COMPOSE_PROJECT_NAME'] ?? ''}_edge`
    const gateway = (await docker(['network', 'inspect', '-f', '{{(index .IPAM.Config 0).Gateway}}', edge])).text.trim()
    const heard: string[] = []
    const hook = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => heard.push(chunk.toString())).on('end', () => response.end())
    })
    await new Promise<void>((resolve) => hook.listen(0, gateway, resolve))
    const { port } = hook.address() as AddressInfo
    try {
      expect(await make('test-alert')).toMatchObject({
        code: 1,
        text: expect.stringMatching(/^Nobody is told/) as string,
      })
      expect(await make('up', { ALERT_WEBHOOK_URL: `http://${gateway}:${port}/secret` })).toMatchObject({ code: 0 })
      expect(await make('test-alert')).toMatchObject({
        code: 0,
        text: expect.stringContaining('taken by webhook') as string,
      })
      expect(heard.join('')).toContain('QuickLinkTestAlert')
    } finally {
      hook.close()
    }
  })
}

const ask = (sql: string): Promise<string> =>
  inService('postgres', ['psql', '--username=postgres', '--dbname=quicklink', '--tuples-only', '--no-align', `--command=${sql}`]) // prettier-ignore

/** What a dump could lose without anybody noticing: who owns what, and which triggers fire always. */
const structure = async (): Promise<string[]> =>
  linesOf(
    await ask(`select format('%s %s', relkind, relname), relowner::regrole::text from pg_class where relnamespace = 'public'::regnamespace
    union all select format('trigger %s', tgname), tgenabled::text from pg_trigger where not tgisinternal
    union all select 'database', datdba::regrole::text from pg_database where datname = 'quicklink'
    union all select rolname, format('%s %s', rolsuper, pg_has_role(oid, 'pg_read_all_data', 'usage')) from pg_roles
    order by 1, 2`),
  )

async function backedUp(): Promise<string> {
  expect(await make('backup')).toMatchObject({ code: 0 })
  const folder = join(dataDir, 'backups')
  return join(folder, readdirSync(folder).find((name) => name.startsWith('quicklink-')) ?? '')
}

async function loseTheDatabase(): Promise<void> {
  await down()
  const volume = (await leftOver()).find((name) => name.endsWith('_postgres')) ?? ''
  expect(await docker(['volume', 'rm', volume])).toMatchObject({ code: 0 })
  await composed(['up', '-d', '--wait'])
}

export function restores(): void {
  test('after the loss of the database, a restored backup redirects as then, and no code is given twice', async () => {
    const handedOut = new Set<string>()
    const createSome = async (url: string): Promise<void> => {
      for (let made = 0; made < 20; made++) {
        const code = await createLink(url)
        expect(handedOut).not.toContain(code)
        handedOut.add(code)
      }
    }
    await createLink('https://example.com/then', 'restored')
    await createSome('https://example.com/before')
    const whole = await structure()
    const some = ['trigger links_draw_version|A', 'database|quicklink', 'backup|f t', 'quicklink|f f']
    expect(whole).toEqual(expect.arrayContaining(some))
    const file = await backedUp()
    // What the backup does not know: caches do, and must forget it.
    await api('PATCH', '/links/restored', { url: 'https://example.com/later' })
    await redirects('restored', 'https://example.com/later')
    await createSome('https://example.com/after')
    await loseTheDatabase()
    expect(await visit('/restored'), 'the empty database still has links').toMatchObject({ status: 404 })
    expect(await make('restore', { FILE: file })).toMatchObject({ code: 0 })
    await redirects('first', 'https://example.com/first')
    await redirects('restored', 'https://example.com/then')
    expect(await structure()).toEqual(whole)
    await createSome('https://example.com/again')
  })
  test('a file that is no backup changes nothing', async () => {
    expect(await make('restore', { FILE: 'README.md' })).toMatchObject({ code: 1 })
    await redirects('restored', 'https://example.com/then')
  })
}

export function upgrades(codes: readonly string[]): void {
  test('two replicas behind the proxy are replaced under load, and no redirect fails', async () => {
    // Another commit makes another image.
    const env = { ...replicated, COMMIT: 'f'.repeat(40) }
    const running = async (): Promise<string[]> => linesOf(await composed(['ps', '-q', 'quicklink'], { env }))
    await composed(['up', '-d', '--wait', '--remove-orphans'], { env })
    const before = await running()
    expect(before).toHaveLength(2)
    await redirects('first', 'https://example.com/first')
    const visits = traffic(codes, 100)
    const upgraded = await make('upgrade', env)
    await sleep(1000)
    expect(await visits.end()).toEqual([])
    expect(upgraded).toMatchObject({ code: 0 })
    const after = await running()
    expect(after).toHaveLength(2)
    expect(
      after.filter((id) => before.includes(id)),
      'they were not replaced',
    ).toEqual([])
  })
}
