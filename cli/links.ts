import type { Command } from 'commander'
import { every, type Link } from '../clients/typescript/client.ts'
import { addFilters, filtersIn, type Filters } from './filters.ts'
import { addFields, listOf, fieldsOf, wholeNumber, type Wanted } from './link-fields.ts'
import { addLookCommands } from './look.ts'
import { changeMany, deleteMany } from './many.ts'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

const columns = ['shortUrl', 'url', 'title', 'tags', 'clicks', 'state', 'expiresAt', 'tenant']

interface Listed extends Filters {
  readonly sort?: 'newest'
  readonly limit: number
}

interface At {
  readonly domain?: string
}

type Edited = Wanted & At & { readonly url?: string; readonly addTags?: string; readonly removeTags?: string }

/** The link that is meant, for a call of the API. */
const named = (code: string, { domain }: At) => ({ path: { code }, query: domain === undefined ? {} : { domain } })

const withDomain = (command: Command): Command =>
  command.option('--domain <host>', 'of this domain; else of the default one')

export function addLinkCommands(program: Command): void {
  const links = program.command('links').description('short links')
  withDomain(addFields(links.command('create <url>')))
    .description('make one; prints its short URL')
    .option('--code <code>', 'a name of your own')
    .option('--reuse', 'where there is a plain link of yours to this URL already, that one')
    .action(async (url: string, { code, domain, reuse, ...wanted }: Wanted & At & { code?: string; reuse?: true }, command: Command) => {
      const { api, say } = sessionOf(command)
      const own = { ...(code === undefined ? {} : { code }), ...(domain === undefined ? {} : { domain }) }
      const body = { ...(await fieldsOf(wanted)), ...own, url }
      const query = reuse ? { onExisting: 'return' as const } : {}
      const link = await say.answer(api.POST('/links', { params: { query }, body }))
      say.made(link, link.shortUrl)
    })
  addFilters(links.command('list'))
    .description('those that fit all that is said')
    .option('--sort <order>', '`newest`, `oldest`, `updated` or `clicks`', 'newest')
    .option('--limit <number>', 'at most so many', wholeNumber, 20)
    .action(async ({ limit: most, sort, ...wanted }: Listed, command: Command) => {
      const { api, say } = sessionOf(command)
      const filters = filtersIn(wanted)
      const query = { ...filters, ...(sort === undefined ? {} : { sort }), limit: Math.min(most, 100) }
      const found: Link[] = []
      const pages = every((cursor) =>
        say.answer(api.GET('/links', { params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } } })),
      )
      for await (const link of pages) if (found.push(link) >= most) break
      const isAll = Object.keys(filters).length === 0
      say.rows(found, columns, isAll ? 'There are none. quicklink links create URL makes one.' : 'None fits.')
    })
  withDomain(links.command('show <code>'))
    .description('all that is known of it')
    .action(async (code: string, at: At, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.GET('/links/{code}', { params: named(code, at) })))
    })
  withDomain(addFields(links.command('edit <code...>')))
    .description('change what is named, and nothing else; of several links, the same')
    .option('--url <url>', 'where it leads')
    .option('--add-tags <names>', 'to those that each has, with commas between')
    .option('--remove-tags <names>', 'from those that each has')
    .action(async (codes: string[], { url, domain, addTags, removeTags, ...wanted }: Edited, command: Command) => {
      const session = sessionOf(command)
      const { api, say } = session
      const body = { ...(await fieldsOf(wanted)), ...(url === undefined ? {} : { url }) }
      const tags = {
        ...(addTags === undefined ? {} : { addTags: listOf(addTags) }),
        ...(removeTags === undefined ? {} : { removeTags: listOf(removeTags) }),
      }
      const at = domain === undefined ? {} : { domain }
      const [code] = codes
      if (Object.keys({ ...body, ...tags }).length === 0) {
        throw new Complaint('Say what to change: quicklink links edit --help', 2)
      }
      if (code === undefined || codes.length > 1 || Object.keys(tags).length > 0) {
        return changeMany(session, codes, at, { ...body, ...tags }, 'changed')
      }
      say.thing(await say.answer(api.PATCH('/links/{code}', { params: named(code, at), body })))
    })
  for (const [name, enabled] of [['enable', true], ['disable', false]] as const) {
    withDomain(links.command(`${name} <code...>`))
      .description(enabled ? 'let it lead on' : 'visitors are answered 404, within a second')
      .action(async (codes: string[], at: At, command: Command) => {
        const session = sessionOf(command)
        const { api, say } = session
        const [code] = codes
        if (code === undefined || codes.length > 1) return changeMany(session, codes, at, { enabled }, `${name}d`)
        const link = await say.answer(api.PATCH('/links/{code}', { params: named(code, at), body: { enabled } }))
        say.made(link, `${link.shortUrl} is ${name}d.`)
      })
  }
  withDomain(links.command('delete <code...>'))
    .description('for good, within a second')
    .action(async (codes: string[], at: At, command: Command) => {
      const session = sessionOf(command)
      const { api, say } = session
      const [code] = codes
      if (code === undefined || codes.length > 1) return deleteMany(session, codes, at)
      await say.done(api.DELETE('/links/{code}', { params: named(code, at) }), `${code} is deleted.`)
    })
  addLookCommands(links)
  withDomain(links.command('clicks <code>'))
    .description('how often it was followed')
    .option('--by <unit>', '`hour` or `day`', 'day')
    .action(async (code: string, { by, ...at }: At & { by: 'hour' | 'day' }, command: Command) => {
      const { api, say } = sessionOf(command)
      const { path, query } = named(code, at)
      const { buckets } = await say.answer(api.GET('/links/{code}/clicks', { params: { path, query: { ...query, by } } }))
      say.rows(buckets, ['at', 'clicks'], 'Nobody has followed it yet.')
    })
} // prettier-ignore
