import { openAsBlob, statSync, writeFileSync } from 'node:fs'
import { extname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

interface Wanted {
  readonly format?: 'auto'
  readonly onConflict?: 'skip'
  readonly dryRun?: true
  readonly domain?: string
  readonly tenant?: string
  readonly wait?: true
  readonly refused?: string
}

/** As what a file is sent: what is in it is found out there. */
const types: Readonly<Record<string, string>> = { '.json': 'application/json', '.ndjson': 'application/x-ndjson', '.sql': 'application/sql' } // prettier-ignore

export function addImport(program: Command): void {
  program
    .command('import <file>')
    .description('links of QuickLink, Shlink, YOURLS, Kutt, Bitly or Dub')
    .option('--format <format>', 'whose file it is, where that is not recognised')
    .option('--on-conflict <rule>', '`skip`, `replace` or `fail`: where the code is there already')
    .option('--dry-run', 'makes nothing, and says what would be')
    .option('--domain <host>', 'where the links go; else to the default domain')
    .option('--tenant <id>', 'whose they become, for the owner')
    .option('--wait', 'until it is done; exit code 1 where rows were refused')
    .option('--refused <file>', 'rows that were refused are written there (waits, too)')
    .action(async (path: string, { wait, refused, dryRun, ...wanted }: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      const file = await fileAt(path)
      const query = { ...wanted, ...(dryRun === true ? { dryRun } : {}) }
      const begun = await say.answer(
        api.POST('/imports', {
          params: { query },
          body: file as unknown as string,
          bodySerializer: (body: unknown) => body as Blob,
          headers: { 'Content-Type': types[extname(path).toLowerCase()] ?? 'text/csv' },
        }),
      )
      if (wait !== true && refused === undefined) {
        say.made(begun, `${begun.rows} links are waiting to be imported: quicklink imports show ${begun.id}`)
        return
      }
      const { id } = begun
      const read = () => say.answer(api.GET('/imports/{id}', { params: { path: { id } } }))
      let now = begun
      while (now.endedAt === null) {
        progress(now)
        await pause(500)
        now = await read()
      }
      if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
      if (refused !== undefined && now.refused > 0) {
        const list = await say.answer(api.GET('/imports/{id}/refused', { params: { path: { id } }, parseAs: 'text' }))
        writeFileSync(refused, list)
      }
      say.thing(now)
      if (now.skipped > 0) console.error(`${now.skipped === 1 ? '1 row has a code that is' : `${now.skipped} rows have codes that are`} there already, and changed nothing: --on-conflict replace makes of the links what the file says.`) // prettier-ignore
      if (now.dryRun) console.error('This was a dry run, which makes nothing: import the file without --dry-run.')
      if (now.state === 'failed') throw new Complaint(now.failure ?? 'It has failed.', 1)
      if (now.refused > 0) throw new Complaint(`${now.refused === 1 ? '1 row was' : `${now.refused} rows were`} refused: ${refused ?? `quicklink imports refused ${id}`} says why.`, 1) // prettier-ignore
    })
  const imports = program.command('imports').description('how far imports are')
  imports
    .command('list')
    .description('newest first')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .action(async (query: { tenant?: string }, command: Command) => {
      const { api, say } = sessionOf(command)
      const { items } = await say.answer(api.GET('/imports', { params: { query } }))
      say.rows(items, ['id', 'state', 'format', 'rows', 'created', 'replaced', 'skipped', 'refused', 'createdAt'], 'There are none. quicklink import FILE begins one.') // prettier-ignore
    })
  imports
    .command('show <id>')
    .description('all that is known of it')
    .action(async (id: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.GET('/imports/{id}', { params: { path: { id } } })))
    })
  imports
    .command('refused <id>')
    .description('the rows that were refused, as CSV')
    .action(async (id: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const asked = api.GET('/imports/{id}/refused', { params: { path: { id } }, parseAs: 'text' })
      process.stdout.write(await say.answer(asked))
    })
  imports
    .command('delete <id>')
    .description('end it and forget it; what it has made stays')
    .action(async (id: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      await say.done(api.DELETE('/imports/{id}', { params: { path: { id } } }), `${id} is forgotten.`)
    })
}

/** Read as it is sent, however large it is. */
async function fileAt(path: string): Promise<Blob> {
  try {
    if (!statSync(path).isFile()) throw new Complaint(`${path} is not a file.`, 2)
    return await openAsBlob(path)
  } catch (error) {
    if (error instanceof Complaint) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new Complaint(code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read (${code}).`, 2)
  }
}

const width = 30

/** On a terminal: how much of it is done. */
function progress(now: { readonly rows: number; readonly created: number; readonly replaced: number; readonly skipped: number; readonly refused: number }): void {
  if (!process.stderr.isTTY) return
  const done = now.created + now.replaced + now.skipped + now.refused
  const full = Math.round((width * done) / Math.max(1, now.rows))
  process.stderr.write(`\r[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${done} of ${now.rows} `)
} // prettier-ignore
