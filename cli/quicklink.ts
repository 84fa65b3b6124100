#!/usr/bin/env node
// quicklink, the command line. Exit codes: 0 done · 1 the server said no · 2 asked wrongly · 3 nobody answered.
import { Command } from 'commander'
import { addTagCommands } from './tags.ts'
import { addKeyCommands, addTenantCommands } from './tenants.ts'
import { addDoctor } from './doctor.ts'
import { addDomainCommands } from './domains.ts'
import { addExport } from './export.ts'
import { addImport } from './import.ts'
import { addLinkCommands } from './links.ts'
import { addLogin } from './login.ts'
import { completion } from './completion.ts'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'
import { addStats } from './stats.ts'

function makeProgram(): Command {
  const program = new Command('quicklink')
    .description('Short links of a QuickLink server.')
    .option('--json', 'print JSON, for programs')
    .option('--profile <name>', 'a server of `quicklink login --profile`')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .addHelpText(
      'after',
      '\nWithout a login it is the QuickLink of this folder, or the one that QUICKLINK_URL and QUICKLINK_KEY name.\n\n' +
        'Exit codes: 0 done, 1 the server said no, 2 asked wrongly, 3 nobody answered.',
    )
  addLogin(program)
  addLinkCommands(program)
  addExport(program)
  addImport(program)
  addStats(program)
  addTagCommands(program)
  addDomainCommands(program)
  addTenantCommands(program)
  addKeyCommands(program)
  program
    .command('limits [tenant]')
    .description('what is used of your limits, or (for the owner) of a tenant')
    .action(async (id: string | undefined, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const asked = id === undefined ? api.GET('/limits') : api.GET('/tenants/{id}/limits', { params: { path: { id } } })
      const { tier, ...windows } = await say.answer(asked)
      const rows = Object.entries(windows).map(([of, window]) => ({ [tier]: limitNames[of] ?? of, ...window }))
      say.rows(rows, [tier, 'used', 'limit', 'remaining', 'resetsAt'], 'There are none.', { tier, ...windows })
    }) // prettier-ignore
  addDoctor(program)
  program
    .command('completion')
    .description('a script for bash or zsh: eval "$(quicklink completion)"')
    .action(() => console.log(completion(program)))
  helpfulAfterErrors(program)
  return program
}

const limitNames: Readonly<Record<string, string>> = {
  creates: 'creates in an hour',
  failedCreates: 'failed creates in an hour',
  changes: 'changes in an hour',
  aggregate: 'creates of all tenants in an hour',
}

/** Who asked wrongly is told the help of the command that he asked for. */
function helpfulAfterErrors(command: Command, path: string = command.name()): void {
  command.showHelpAfterError(`Try ${path} --help.`)
  for (const under of command.commands) helpfulAfterErrors(under, `${path} ${under.name()}`)
}

/** Runs it to its exit code. */
async function main(argv: readonly string[]): Promise<number> {
  // Whoever reads along may leave: `quicklink links list | head`.
  process.stdout.on('error', () => process.exit(0))
  try {
    await makeProgram().parseAsync([...argv], { from: 'user' })
    return 0
  } catch (error) {
    if (!(error instanceof Complaint)) throw error
    console.error(error.message)
    return error.exitCode
  }
}

process.exitCode = await main(process.argv.slice(2))
