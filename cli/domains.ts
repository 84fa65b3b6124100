import type { Command } from 'commander'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

interface Wanted {
  readonly tenants?: string
  readonly rootUrl?: string
  readonly notFoundUrl?: string
}

const addFields = (command: Command): Command =>
  command
    .option('--tenants <ids>', 'who may make links there besides the owner, with commas between')
    .option('--root-url <url>', 'where its / leads, or `none`')
    .option('--not-found-url <url>', 'where a visitor is sent whose link is not there, or `none`')

const fieldsOf = ({ tenants, rootUrl, notFoundUrl }: Wanted) => ({
  ...(tenants === undefined ? {} : { tenants: tenants.split(',').map((id) => id.trim()).filter((id) => id !== '') }),
  ...(rootUrl === undefined ? {} : { rootUrl: rootUrl === 'none' ? null : rootUrl }),
  ...(notFoundUrl === undefined ? {} : { notFoundUrl: notFoundUrl === 'none' ? null : notFoundUrl }),
}) // prettier-ignore

export function addDomainCommands(program: Command): void {
  const domains = program.command('domains').description('further hosts of short URLs, each with links of its own (owner)')
  addFields(domains.command('create <host>'))
    .description('make one, once its name leads to this server')
    .action(async (host: string, wanted: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.POST('/domains', { body: { host, ...fieldsOf(wanted) } })))
    })
  domains
    .command('list')
    .description('by their hosts')
    .action(async (_: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const { items } = await say.answer(api.GET('/domains'))
      say.rows(items, ['host', 'tenants', 'rootUrl', 'notFoundUrl'], 'There are none but the default one.')
    })
  addFields(domains.command('edit <host>'))
    .description('change what is named, and nothing else')
    .action(async (host: string, wanted: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      const body = fieldsOf(wanted)
      if (Object.keys(body).length === 0) throw new Complaint('Say what to change: quicklink domains edit --help', 2)
      say.thing(await say.answer(api.PATCH('/domains/{host}', { params: { path: { host } }, body })))
    })
  domains
    .command('delete <host>')
    .description('its links answer 404 from then on')
    .action(async (host: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      await say.done(api.DELETE('/domains/{host}', { params: { path: { host } } }), `${host} is deleted.`)
    })
} // prettier-ignore
