// Does this command line reach its QuickLink, and do short URLs lead there? Asked from here, as anybody would.
import type { Command } from 'commander'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

interface Finding {
  /** null: there was nothing to look at. */
  readonly ok: boolean | null
  readonly about: string
  readonly text: string
}

const patienceMs = 5000
const mostSkewMs = 60_000

const isLocal = (url: string): boolean => /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::|\/|$)/.test(url)

/** As a visitor, but neither a click nor a hit. */
async function follow(shortUrl: string, url: string): Promise<Finding> {
  const about = 'Short URLs'
  try {
    const { status, headers } = await fetch(shortUrl, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    })
    if (headers.get('Location') === url) return { ok: true, about, text: `${shortUrl} redirects, as asked from here` }
    const text = `${shortUrl} answers ${status}, and not with its redirect: does PUBLIC_URL of the server lead to it?`
    return { ok: false, about, text }
  } catch {
    return { ok: false, about, text: `nobody answers at ${shortUrl}: does PUBLIC_URL of the server lead to it?` }
  }
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('whether this login works, and short URLs lead to the server')
    .action(async (_: unknown, command: Command) => {
      const { api, say, profile } = sessionOf(command)
      const beganMs = performance.now()
      const asked = api.GET('/limits')
      const { tier } = await say.answer(asked)
      const ms = Math.round(performance.now() - beganMs)
      const dated = Date.parse((await asked).response.headers.get('Date') ?? '')
      const skewMs = Number.isNaN(dated) ? 0 : Math.abs(Date.now() - dated)
      const { items } = await say.answer(api.GET('/links', { params: { query: { limit: 20, enabled: true } } }))
      // Plain ones only: where rules lead depends on who asks.
      const link = items.find(
        ({ expiresAt, rules, url }) =>
          url !== null && rules.length === 0 && (expiresAt === null || Date.parse(expiresAt) > Date.now() + mostSkewMs),
      )
      const isSafe = profile.url.startsWith('https://') || isLocal(profile.url)
      const findings: Finding[] = [
        { ok: true, about: 'Server', text: `${profile.url} answers, within ${ms} ms` },
        { ok: true, about: 'Key', text: `it works, with the tier ${tier}` },
        {
          ok: isSafe,
          about: 'Encryption',
          text: isSafe
            ? 'others cannot read the key on its way'
            : 'others can read the key on its way: quicklink login https://…',
        },
        {
          ok: skewMs <= mostSkewMs,
          about: 'Clock',
          text: `${Math.round(skewMs / 1000)} s beside the server's${skewMs <= mostSkewMs ? '' : ': times that you give mean something else there'}`,
        },
        link?.url
          ? await follow(link.shortUrl, link.url)
          : { ok: null, about: 'Short URLs', text: 'there is no link yet to follow' },
      ]
      const word = ({ ok }: Finding): string => (ok === null ? '–' : ok ? 'ok' : 'not ok')
      say.made(findings, findings.map((one) => `${word(one).padEnd(6)}  ${one.about.padEnd(10)}  ${one.text}`).join('\n'))
      if (findings.some(({ ok }) => ok === false)) throw new Complaint('Something is not ok: see above.', 1)
    }) // prettier-ignore
}
