import type { Command } from 'commander'
import { every, type Tenant } from '../clients/typescript/client.ts'
import { sessionOf } from './session.ts'

type Tier = Tenant['tier']
type Role = 'viewer' | 'editor' | 'admin' | 'owner'

export function addTenantCommands(program: Command): void {
  const tenants = program.command('tenants').description('teams with links and limits of their own (owner)')
  tenants
    .command('create <id>')
    .description('make one')
    .requiredOption('--name <name>', 'for people')
    .option('--tier <tier>', '`standard`, `plus` or `unlimited`', 'standard')
    .action(async (id: string, { name, tier }: { name: string; tier: Tier }, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.POST('/tenants', { body: { id, name, tier } })))
    })
  tenants
    .command('list')
    .description('all, by their ids')
    .action(async (_: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const all: Tenant[] = []
      const page = (cursor: string | undefined) =>
        say.answer(api.GET('/tenants', { params: { query: { limit: 100, ...(cursor === undefined ? {} : { cursor }) } } }))
      for await (const tenant of every(page)) all.push(tenant)
      say.rows(all, ['id', 'name', 'tier', 'linkQuota', 'createdAt'], 'There are none.')
    }) // prettier-ignore
  tenants
    .command('edit <id>')
    .description('change what is named, and nothing else')
    .option('--name <name>', 'for people')
    .option('--tier <tier>', '`standard`, `plus` or `unlimited`')
    .option('--preview', 'the address of a link with + behind it shows where it leads')
    .option('--no-preview', 'it does not')
    .action(async (id: string, body: { name?: string; tier?: Tier; preview?: boolean }, command: Command) => {
      const { api, say } = sessionOf(command)
      say.thing(await say.answer(api.PATCH('/tenants/{id}', { params: { path: { id } }, body })))
    })
  tenants
    .command('delete <id>')
    .description('it must have no link that may still redirect')
    .action(async (id: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      await say.done(api.DELETE('/tenants/{id}', { params: { path: { id } } }), `${id} is deleted.`)
    })
}

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('keys of a tenant (admin)')
  keys
    .command('create <tenant>')
    .description('make one; it is shown this once')
    .requiredOption('--name <name>', 'for people')
    .option('--role <role>', '`viewer`, `editor` or `admin`')
    .option('--expires <time>', 'until when it is taken, like 2030-01-31T12:00:00Z')
    .action(
      async (id: string, { name, role, expires: expiresAt }: { name: string; role?: Role; expires?: string }, command: Command) => {
        const { api, say } = sessionOf(command)
        const body = { name, ...(role === undefined ? {} : { role }), ...(expiresAt === undefined ? {} : { expiresAt }) }
        const key = await say.answer(api.POST('/tenants/{id}/keys', { params: { path: { id } }, body }))
        say.made(key, key.key)
      },
    ) // prettier-ignore
  keys
    .command('list <tenant>')
    .description('the newest first; never the keys themselves')
    .action(async (id: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const { items } = await say.answer(api.GET('/tenants/{id}/keys', { params: { path: { id } } }))
      say.rows(items, ['id', 'name', 'role', 'expiresAt', 'revokedAt', 'createdAt'], 'There are none.')
    })
  keys
    .command('revoke <tenant> <id>')
    .description('refused everywhere within a second')
    .action(async (id: string, keyId: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const path = { id, keyId }
      await say.done(api.DELETE('/tenants/{id}/keys/{keyId}', { params: { path } }), `${keyId} is revoked.`)
    })
}
