import type { Command } from 'commander'
import { quickLink } from '../clients/typescript/client.ts'
import { Complaint } from './output.ts'
import { saveProfile } from './profile.ts'
import { readSecret } from './secret.ts'
import { sayOf } from './session.ts'

const keys = `
Your key is one that an admin has made for you (quicklink keys create), or, as the owner, what \`make -s owner-key\` prints
on the server:  make -s owner-key | quicklink login https://go.example.org`

export function addLogin(program: Command): void {
  program
    .command('login <url>')
    .description('remember a server and your key, which is read from the standard input')
    .addHelpText('after', keys)
    .action(async (url: string, _: unknown, command: Command) => {
      if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Complaint(`${url} is no URL: quicklink login https://go.example.org`, 2)
      const key = (await readSecret('Key')).trim()
      if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw new Complaint('No key was given: quicklink login URL <file-with-the-key', 2)
      const { origin } = new URL(url)
      const { profile = 'default' } = command.optsWithGlobals<{ profile?: string }>()
      await sayOf(origin, false).answer(quickLink({ url: origin, key }).GET('/limits'))
      console.log(`Remembered as ${profile} in ${saveProfile(process.env, profile, { url: origin, key })}.`)
    }) // prettier-ignore
}
