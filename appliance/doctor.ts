// `make doctor`: what has to be true before and in production, asked of the running appliance itself. One line each, with
// the reason; the exit code says whether all are true.
import type { Say } from '../embedded/paths.ts'
import { howToBeTold } from '../embedded/receiver.ts'
import { redisPoints } from './doctor-redis.ts'
import { finding, nothingFound, type Patient, type Points } from './patient.ts'
import { whoHears } from './test-alert.ts'

const proofMs = 5000
const domainsAtOnce = 20

/** Each further domain is asked, as a visitor would, for what only this QuickLink can say there. */
const domainPoints = ({ ops }: Patient): Points => ({
  async 'Domains lead here'() {
    const { workers } = JSON.parse(await ops('/statusz')) as { workers: { status: { domains?: object } | null }[] }
    const domains = Object.entries(workers.find(({ status }) => status?.domains)?.status?.domains ?? {}) as [
      string,
      string,
    ][]
    const astray: string[] = []
    for (let at = 0; at < domains.length; at += domainsAtOnce) {
      const asked = domains.slice(at, at + domainsAtOnce).map(async ([base, proof]) => {
        const wrong = await strayOf(base, proof)
        if (wrong !== undefined) astray.push(`${base} ${wrong}`)
      })
      await Promise.all(asked)
    }
    const well =
      domains.length === 0 ? 'there is none besides the default one' : `${domains.length} of ${domains.length}`
    return nothingFound(astray.sort(), well, 'its DNS, or the proxy in front, leads elsewhere: ')
  },
})

/** Undefined: it leads here. */
async function strayOf(base: string, proof: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(proofMs)
    const answer = await fetch(`${base}/.well-known/quicklink`, { signal, redirect: 'manual' })
    const said = (await answer.text()).slice(0, 100).trim()
    return said === proof ? undefined : `answers ${answer.status}, and not as this QuickLink does`
  } catch (error) {
    const { message, cause } = error as Error
    return `does not answer (${cause instanceof Error ? cause.message : message})`
  }
}

interface Replica {
  readonly fit: boolean
  readonly isStandby: boolean
  readonly lagS: number | null
}

/** What workers say of the server that DATABASE_READ_URL leads to. */
const standbyPoints = ({ ops }: Patient): Points => ({
  async 'The standby near by'() {
    const { workers } = JSON.parse(await ops('/statusz')) as { workers: { status: { replica?: Replica } | null }[] }
    const replicas = workers.flatMap(({ status }) => status?.replica ?? [])
    const [replica] = replicas
    if (replica === undefined) return finding(true, 'there is none (DATABASE_READ_URL): the primary is asked')
    const lagS = Math.max(...replicas.map((each) => each.lagS ?? Infinity))
    if (lagS === Infinity) return finding(false, 'it has never answered: look at DATABASE_READ_URL, and at its log')
    if (!replica.isStandby) {
      return finding(false, 'DATABASE_READ_URL leads to a server that is no standby: it spares the primary nothing, and does not serve while that is away') // prettier-ignore
    }
    const behind = `${lagS.toFixed(1)} s behind the primary, its heartbeat included`
    const isFit = replicas.every(({ fit }) => fit)
    return finding(isFit, isFit ? behind : `${behind}, or it does not answer: the primary is asked instead`)
  },
})

/** Well either way: it is for the operator to know. */
const durabilityPoints = ({ postgres }: Patient): Points => ({
  async 'What a lost Postgres takes with it'() {
    const commit = await postgres('show synchronous_commit')
    if (commit === 'off') {
      return finding(
        false,
        'synchronous_commit is off: changes that were acknowledged less than a second ago are gone after a crash. Set it to on',
      )
    }
    const standbys = await postgres('show synchronous_standby_names')
    if (standbys === '' || commit === 'local') {
      const why = standbys === '' ? 'synchronous_standby_names is empty' : 'synchronous_commit is local'
      return finding(
        true,
        `${why}: what was acknowledged is on this disk alone. With it goes all since the last backup, or what a standby has not yet received`,
      )
    }
    return finding(
      true,
      `nothing that was acknowledged: it is on a standby, too (synchronous_standby_names = ${standbys})`,
    )
  },
})

/** Whoever may say X-Forwarded-For says who counts as whom: it has to be the proxy, and nobody else. */
const proxyPoints = ({ ops, settings, open }: Patient): Points => ({
  async 'The port behind the proxy'() {
    const trustProxy = String((await settings())['trustProxy'])
    if (trustProxy === 'off') return finding(true, 'TRUST_PROXY is off: a visitor is who connects')
    const where = (await open()).join(', ')
    if (where === '') return finding(true, 'only the proxy reaches it')
    const reached = `can be reached without the proxy, by ${where}`
    // A hop that is counted is believed, whoever it is.
    return /^\d+$/.test(trustProxy)
      ? finding(false, `${reached}: who does may pass for anybody. Let only the proxy reach it, or name its address in TRUST_PROXY`) // prettier-ignore
      : finding(true, `${reached}; only TRUST_PROXY=${trustProxy} is believed`)
  },
  async 'Visitors behind a proxy are told apart'() {
    const text = await ops('/metrics')
    const unheeded = (peer: string): number =>
      Number(text.split(`\nquicklink_forwarded_unheeded_total{peer="${peer}"} `)[1]?.split('\n', 1)[0] ?? 0)
    const [near, far] = [unheeded('private'), unheeded('public')]
    if (near > 0) {
      return finding(false, `${near} requests for absent codes came through a proxy that TRUST_PROXY does not name: it decides for all its visitors together`) // prettier-ignore
    }
    return finding(true, far > 0 ? `${far} strangers' X-Forwarded-For were not believed` : 'nobody forwards unasked')
  },
})

const serverPoints = ({ ops, settings, redis, prometheus, alertmanager, exposed, leaks }: Patient): Points => ({
  /** What the front door leaves to node:http costs twice: a field that is not of its grammar, or a proxy that sends bodies. */
  async 'Redirects at the front door'() {
    if ((await settings())['frontDoor'] === 'http') return 'not here'
    const samples = (await ops('/metrics')).split('\n')
    const sumOf = (name: string): number =>
      samples
        .filter((line) => line.startsWith(`${name}{`) && !/reason="(?:api|aside)"/.test(line))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    const all = sumOf('quicklink_redirects_total')
    const left = sumOf('quicklink_front_door_handovers_total')
    const share = all === 0 ? 0 : left / all
    const text = `${(share * 100).toFixed(1)} % of ${all} redirects were left to node:http`
    const why = ': quicklink_front_door_handovers_total says why (reason), and what comes before QuickLink sends it so'
    return finding(all < 1000 || share <= 0.05, share > 0.05 ? text + why : text)
  },
  async Timeouts() {
    const { redisTimeoutMs, dbTimeoutMs } = await settings()
    const sound = Number(redisTimeoutMs) <= 50 && Number(dbTimeoutMs) <= 100
    const advice = sound ? '' : ': 50 and 100 are recommended (REDIS_TIMEOUT_MS, DB_TIMEOUT_MS)'
    return finding(sound, `Redis ${String(redisTimeoutMs)} ms, Postgres ${String(dbTimeoutMs)} ms${advice}`)
  },
  async 'Health asks Redis and Postgres'() {
    const { redis, postgres } = JSON.parse(await ops('/readyz')) as { redis?: string; postgres?: string }
    const text = `Postgres is ${postgres ?? 'not asked'}, Redis is ${redis ?? 'not asked'}`
    return finding(postgres === 'up' && redis !== 'down', text)
  },
  async 'Metrics of hits and misses'() {
    const text = await ops('/metrics')
    const names = ['quicklink_cache_hit_total', 'quicklink_cache_miss_total']
    return nothingFound(
      names.filter((name) => !text.includes(`\n${name}`)),
      'exported',
      'missing: ',
    )
  },
  async 'Alerts on the hit rate'() {
    if (!prometheus) return 'not here'
    const text = await prometheus('/api/v1/rules?type=alert')
    const { data } = JSON.parse(text) as { data: { groups: { rules: { name: string; health: string }[] }[] } }
    const rules = data.groups.flatMap(({ rules }) => rules)
    const sick = rules.filter(({ health }) => health === 'err').map(({ name }) => name)
    const count = rules.filter(({ name }) => name === 'QuickLinkCacheHitRateLow').length
    if (sick.length > 0) return finding(false, `rules that cannot be evaluated: ${sick.join(', ')}`)
    return finding(count >= 2, `${rules.length} rules loaded, ${count} of them on the hit rate`)
  },
  async 'Somebody hears the alerts'() {
    if (!alertmanager) return finding(false, 'nobody: install prometheus and alertmanager, then `make up`')
    const hearers = await whoHears(alertmanager)
    if (hearers.length === 0) return finding(false, `nobody: ${howToBeTold}`)
    return finding(true, `by ${hearers.join(' and ')}; \`make test-alert\` shows that it arrives`)
  },
  async 'Circuit breaker for Redis'() {
    if (!redis) return 'not here'
    // One line per state; where workers differ, several of them are 1.
    const open = /^quicklink_breaker_state\{dependency="redis",state="(\w+)"\} 1$/gm
    const states = Array.from((await ops('/metrics')).matchAll(open), ([, state]) => state).join(' and ')
    const { breakerFailures, breakerWindowMs, breakerOpenMs } = await settings()
    const rule = `more than ${String(breakerFailures)} failures in ${String(breakerWindowMs)} ms open it for ${String(breakerOpenMs)} ms`
    return finding(states === 'closed', `${states || 'none'}; ${rule}`)
  },
  async 'Local cache for hot links'() {
    const { localCacheMax, localCacheTtlMs } = await settings()
    return finding(Number(localCacheMax) > 0, `${String(localCacheMax)} entries for ${String(localCacheTtlMs)} ms`)
  },
  'Databases are not published': async () => nothingFound(await exposed(), 'only from inside', 'reachable: '),
  'Secrets stay secret': async () => nothingFound(await leaks(), 'in files that only their users read'),
})

export async function examine(patient: Patient, say: Say): Promise<void> {
  const points: Points = {
    ...redisPoints(patient),
    ...serverPoints(patient),
    ...durabilityPoints(patient),
    ...standbyPoints(patient),
    ...proxyPoints(patient),
    ...domainPoints(patient),
    ...patient.more,
  }
  const counts = { ok: 0, 'not ok': 0, '-': 0 }
  for (const [name, ask] of Object.entries(points)) {
    const found = await Promise.try(ask).catch((error: unknown) =>
      finding(false, `could not be asked: ${(error as Error).message}`),
    )
    const mark = found === 'not here' ? '-' : found.ok ? 'ok' : 'not ok'
    counts[mark]++
    say(`${mark.padEnd(7)} ${name}: ${found === 'not here' ? 'not part of this mode' : found.text}`)
  }
  say(`\n${counts.ok} ok, ${counts['not ok']} not ok`)
  process.exitCode = counts['not ok'] === 0 ? 0 : 1
}
