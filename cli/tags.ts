import type { Command } from 'commander'
import { every, type Tag } from '../clients/typescript/client.ts'
import { sessionOf } from './session.ts'

export function addTagCommands(program: Command): void {
  const tags = program.command('tags').description('what links are filed under')
  tags
    .command('list')
    .description('all, and how many links have each')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .action(async (query: { tenant?: string }, command: Command) => {
      const { api, say } = sessionOf(command)
      const all: Tag[] = []
      const page = (cursor: string | undefined) =>
        say.answer(api.GET('/tags', { params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } } }))
      for await (const tag of every(page)) all.push(tag)
      say.rows(all, ['tag', 'links'], 'There are none. quicklink links edit CODE --tags NAME gives a link one.')
    })
  tags
    .command('rename <tag> <name>')
    .description('on all links; a name that there is already makes one of two')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .action(async (tag: string, name: string, query: { tenant?: string }, command: Command) => {
      const { api, say } = sessionOf(command)
      const asked = api.PATCH('/tags/{tag}', { params: { path: { tag }, query }, body: { name } })
      const now = await say.answer(asked)
      say.made(now, `${tag} is ${now.tag}, on ${now.links} links.`)
    })
  tags
    .command('delete <tag>')
    .description('off all links, which stay')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .action(async (tag: string, query: { tenant?: string }, command: Command) => {
      const { api, say } = sessionOf(command)
      const asked = api.DELETE('/tags/{tag}', { params: { path: { tag }, query } })
      await say.done(asked, `${tag} is on no link any more.`)
    })
}
