import { InvalidArgumentError, type Command } from 'commander'
import { every, type Link } from '../clients/typescript/client.ts'
import { sessionOf } from './session.ts'

interface Wanted {
  readonly code?: string
  readonly url?: string
  readonly permanent?: boolean
  readonly expires?: string
  readonly hits?: number | null
}

export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number above 0.')
}

const monthlyHits = (text: string): number | null => (text === 'none' ? null : wholeNumber(text))

const given = ({ code, url, permanent, expires, hits }: Wanted) => ({
  ...(code === undefined ? {} : { code }),
  ...(url === undefined ? {} : { url }),
  ...(permanent === undefined ? {} : { permanent }),
  ...(expires === undefined ? {} : { expiresAt: expires === 'never' ? null : expires }),
  ...(hits === undefined ? {} : { monthlyHits: hits }),
})

const columns = ['shortUrl', 'url', 'clicks', 'enabled', 'expiresAt', 'tenant']

const options = (command: Command): Command =>
  command
    .option('--permanent', 'answer 301 instead of 302')
    .option('--expires <time>', 'until when it leads there, like 2030-01-31T12:00:00Z, or `never`')
    .option('--hits <number>', 'how often in a month, or `none` for no limit', monthlyHits)

export function addLinkCommands(program: Command): void {
  const links = program.command('links').description('short links')
  options(links.command('create <url>'))
    .description('make one; prints its short URL')
    .option('--code <code>', 'a name of your own')
    .action(async (url: string, wanted: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      const link = await say.answer(api.POST('/links', { body: { ...given(wanted), url } }))
      say.made(link, link.shortUrl)
    })
  links
    .command('list')
    .description('the newest first')
    .option('-q, --search <text>', 'with this in the code or the URL')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .option('--limit <number>', 'at most so many', wholeNumber, 20)
    .action(
      async (wanted: { search?: string; tenant?: string; limit: number }, command: Command) => {
        const { api, say } = sessionOf(command)
        const { search: q, tenant } = wanted
        const query = { ...(q === undefined ? {} : { q }), ...(tenant === undefined ? {} : { tenant }) }
        const found: Link[] = []
        const limit = Math.min(wanted.limit, 100)
        const pages = every((cursor) => say.answer(api.GET('/links', { params: { query: { ...query, limit, ...(cursor === undefined ? {} : { cursor }) } } })))
        for await (const link of pages) if (found.push(link) >= wanted.limit) break
        say.rows(found, columns, 'There are none. quicklink links create URL makes one.')
      },
    ) // prettier-ignore
  links
    .command('show <code>')
    .description('all that is known of it')
    .action(async (code: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.GET('/links/{code}', { params: { path: { code } } })))
    })
  options(links.command('edit <code>'))
    .description('change what is named, and nothing else')
    .option('--url <url>', 'where it leads')
    .option('--no-permanent', 'answer 302')
    .action(async (code: string, wanted: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      // Commander takes --no-permanent for a default of true.
      const { permanent, ...rest } = wanted
      const said = command.getOptionValueSource('permanent') === 'cli' ? { permanent } : {}
      say.thing(await say.answer(api.PATCH('/links/{code}', { params: { path: { code } }, body: given({ ...rest, ...said } as Wanted) })))
    }) // prettier-ignore
  for (const [name, enabled] of [['enable', true], ['disable', false]] as const) {
    links
      .command(`${name} <code>`)
      .description(enabled ? 'let it lead on' : 'visitors are answered 404, within a second')
      .action(async (code: string, _: unknown, command: Command) => {
        const { api, say } = sessionOf(command)
        const link = await say.answer(api.PATCH('/links/{code}', { params: { path: { code } }, body: { enabled } }))
        say.made(link, `${link.shortUrl} is ${name}d.`)
      })
  } // prettier-ignore
  links
    .command('delete <code>')
    .description('for good, within a second')
    .action(async (code: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      await say.done(api.DELETE('/links/{code}', { params: { path: { code } } }), `${code} is deleted.`)
    })
  links
    .command('clicks <code>')
    .description('how often it was followed')
    .option('--by <unit>', '`hour` or `day`', 'day')
    .action(async (code: string, { by }: { by: 'hour' | 'day' }, command: Command) => {
      const { api, say } = sessionOf(command)
      const { buckets } = await say.answer(api.GET('/links/{code}/clicks', { params: { path: { code }, query: { by } } }))
      say.rows(buckets, ['at', 'clicks'], 'Nobody has followed it yet.')
    }) // prettier-ignore
}
