// The database's volume is lost, and a dump brings the links back.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { composed, docker, inService } from '../compose.ts'
import { api, createLink, dataDir, down, leftOver, make, redirects, visit } from './stand.ts'
import { check, step } from './steps.ts'

async function backedUp(): Promise<string> {
  const { code, text } = await make('backup')
  check(code === 0, text)
  const folder = join(dataDir, 'backups')
  return join(folder, readdirSync(folder).find((name) => name.startsWith('quicklink-')) ?? '')
}

async function loseTheDatabase(): Promise<void> {
  await down()
  const volume = (await leftOver()).find((name) => name.endsWith('_postgres')) ?? ''
  check((await docker(['volume', 'rm', volume])).code === 0, 'the volume could not be removed')
  await composed(['up', '-d', '--wait'])
}

const ask = (sql: string): Promise<string> =>
  inService('postgres', ['psql', '--username=postgres', '--dbname=quicklink', '--tuples-only', '--no-align', `--command=${sql}`]) // prettier-ignore

/** What a dump could lose without anybody noticing: who owns what, and which triggers fire always. */
const structure = (): Promise<string> =>
  ask(`select format('%s %s', relkind, relname), relowner::regrole::text from pg_class where relnamespace = 'public'::regnamespace
    union all select format('trigger %s', tgname), tgenabled::text from pg_trigger where not tgisinternal
    union all select 'database', datdba::regrole::text from pg_database where datname = 'quicklink'
    union all select rolname, format('%s %s', rolsuper, pg_has_role(oid, 'pg_read_all_data', 'usage')) from pg_roles
    order by 1, 2`)

async function restored(): Promise<string> {
  const handedOut = new Set<string>()
  const createSome = async (url: string): Promise<void> => {
    for (let made = 0; made < 20; made++) {
      const code = await createLink(url)
      check(!handedOut.has(code), `${code} was handed out twice`)
      handedOut.add(code)
    }
  }
  await createLink('https://example.com/then', 'restored')
  await createSome('https://example.com/before')
  const whole = await structure()
  for (const line of ['trigger links_draw_version|A', 'database|quicklink', 'backup|f t', 'quicklink|f f']) {
    check(whole.split('\n').includes(line), `not there: ${line}`)
  }
  const file = await backedUp()
  // What the backup does not know: caches do, and must forget it.
  await api('PATCH', '/links/restored', { url: 'https://example.com/later' })
  await redirects('restored', 'https://example.com/later')
  await createSome('https://example.com/after')
  await loseTheDatabase()
  check((await visit('/restored')).status === 404, 'the empty database still has links')
  const { code, text } = await make('restore', { FILE: file })
  check(code === 0, text)
  await redirects('first', 'https://example.com/first')
  await redirects('restored', 'https://example.com/then')
  const now = await structure()
  check(now === whole, `before:\n${whole}\nrestored:\n${now}`)
  return (await createSome('https://example.com/again'), `${handedOut.size} codes, all different`)
}

export async function restores(): Promise<void> {
  await step(
    'after the loss of the database, a restored backup redirects as then, and no code is given twice',
    restored,
  )
  await step('a file that is no backup changes nothing', async () => {
    const { code, text } = await make('restore', { FILE: 'README.md' })
    check(code === 1, text)
    await redirects('restored', 'https://example.com/then')
    return undefined
  })
}
