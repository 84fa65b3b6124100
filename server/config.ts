// Every environment variable: default, unit, limit and reason. A set that cannot work is refused with one sentence
// that names the variable to change. Nothing else in the project reads the environment of the server.
// Long because every setting stands here, with its reason.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { groupPlacesSchema } from './oidc/roles.ts'
import { addressesSchema, trustProxySchema } from './rates/addresses.ts'
import { tiersSchema } from './tenants/tiers.ts'
import { timeZoneSchema } from './visits/time-zone.ts'

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

interface Setting<T> {
  readonly schema: z.ZodType<T>
  readonly fallback: string | undefined
  readonly why: string
}

const setting = <T>(schema: z.ZodType<T>, fallback: string | undefined, why: string) => ({ schema, fallback, why })

const number = (form: RegExp, what: string, fallback: number, [min, max]: [number, number], why: string) => {
  const must = `must be a ${what} from ${min} to ${max}`
  const within = z
    .string()
    .regex(form, must)
    .transform(Number)
    .refine((n) => n >= min && n <= max, must)
  return setting(within, String(fallback), why)
}
const whole = (fallback: number, min: number, max: number, why: string) =>
  number(/^\d+$/, 'whole number', fallback, [min, max], why)
const share = (fallback: number, max: number, why: string) =>
  number(/^(\d+(\.\d+)?|\.\d+)$/, 'number', fallback, [0, max], why)

const oneOf = <const T extends string>(words: readonly [T, ...T[]], fallback: T | undefined, why: string): Setting<T> =>
  setting(z.enum(words, `must be one of: ${words.join(', ')}`), fallback, why)

const text = (fallback: string | undefined, why: string): Setting<string> => setting(z.string().min(1), fallback, why)

const url = (protocols: readonly string[], why: string): Setting<string> =>
  setting(
    z
      .string()
      .refine(
        (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
        `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
      ),
    undefined,
    why,
  )

const isIssuer = (value: string): boolean => {
  if (!URL.canParse(value)) return false
  const { protocol, hostname, search, hash } = new URL(value)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && search === '' && hash === ''
}

export interface HostPort {
  readonly host: string
  readonly port: number
}

const hosts = (why: string): Setting<HostPort[]> =>
  setting(
    z
      .string()
      .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'must be a list like host:26379,host:26379')
      .transform((list) =>
        list.split(',').map((pair) => {
          const [host = '', port = ''] = pair.split(':')
          return { host, port: Number(port) }
        }),
      ),
    undefined,
    why,
  )

/** Of OpenID Connect Core, 5.1: what people say of themselves. */
const ownClaims =
  'name given_name family_name middle_name nickname preferred_username profile picture website email email_verified gender birthdate zoneinfo locale phone_number phone_number_verified address updated_at'.split(' ') // prettier-ignore

const exampleSecrets = /^(.)\1*$|change.?me|example|password|secret.?key|your.?(key|salt|secret)|0123456789|abcdefgh/i

const secret = (why: string): Setting<string> =>
  setting(
    z
      .string()
      .min(32, 'must have at least 32 characters')
      .max(512, 'must have at most 512 characters')
      .refine((value) => !exampleSecrets.test(value), 'looks like an example value: generate a random one'),
    undefined,
    why,
  )

const cores = availableParallelism()

/** Names here are the environment's in camel case: `redisTimeoutMs` is REDIS_TIMEOUT_MS. */
export const settings = {
  port: whole(8080, 0, 65535, 'redirects, API and pages'),
  host: text('0.0.0.0', 'the address that PORT is bound to'),
  opsPort: whole(9464, 0, 65535, 'health and metrics; never published'),
  opsHost: text('127.0.0.1', 'loopback, so that metrics are not public by accident'),
  publicUrl: url(['http:', 'https:'], 'what short URLs begin with; without it http://localhost:$PORT'),
  rootUrl: url(['http:', 'https:'], 'where / leads; without it a small page says what this is'),
  grafanaUrl: url(['http:', 'https:'], 'where Grafana is, for the page of the system in the console'),
  runbookUrl: url(['http:', 'https:'], 'where the runbook is, for the same page'),
  console: oneOf(['on', 'off'], 'on', 'the web console under /console'),
  databaseUrl: url(['postgres:', 'postgresql:'], 'the truth'),
  databaseDirectUrl: url(
    ['postgres:', 'postgresql:'],
    'past a pooler, or as another role: for migrations and indexes; without it DATABASE_URL',
  ),
  databaseReadUrl: url(
    ['postgres:', 'postgresql:'],
    'a standby near by: for lookups and for figures; without it DATABASE_URL',
  ),
  replicaLagMaxS: whole(5, 1, 3600, 'how far behind a standby may be; beyond it the primary is asked'),
  redisUrl: url(['redis:', 'rediss:', 'unix:'], 'the shared cache; without it the Redis tier is off'),
  redisCaFile: text(
    undefined,
    'certificates that the one of a rediss:// has to be signed by, instead of the usual ones; with REDIS_CLUSTER it means TLS',
  ),
  redisSentinels: hosts('Sentinels to ask for the primary, instead of REDIS_URL'),
  redisSentinelName: text(undefined, "the primary's name at the Sentinels"),
  redisCluster: hosts('some nodes of a Redis Cluster, instead of REDIS_URL'),
  redisPartitions: whole(
    64,
    1,
    1024,
    'parts that what is shared is divided into in a cluster, for as long as it lives: another number begins empty',
  ),
  redisUsername: text(undefined, 'the user at the nodes of REDIS_CLUSTER; without it the default one'),
  redisPassword: text(undefined, 'where the URL does not carry it, for Sentinel-managed servers, and for a cluster'),
  ownerKey: secret("the owner's API key; without it one is generated once per database"),
  codeSalt: secret('the secret of the shortcodes; without it one is generated once per database'),
  dataDir: text('.quicklink', 'the owner key, the click spool, embedded data'),
  workers: whole(cores, 1, 64, 'processes that serve; one per core'),
  frontDoor: oneOf(['raw', 'http'], 'raw', 'how tier-1 hits are answered'),
  linkTtlS: whole(3600, 1, 86_400, 'life of a link in Redis: freshness against hit rate'),
  notFoundTtlS: whole(300, 1, 86_400, 'life of an absence in Redis: short, so that errors heal'),
  metaTtlS: whole(900, 1, 86_400, 'life of the figures for admins'),
  hotTtlS: whole(3600, 1, 86_400, 'life of the access frequency of hot links'),
  ttlJitter: share(0.08, 0.5, 'spread of lifetimes, so that keys made together do not end together'),
  redisTimeoutMs: whole(50, 1, 10_000, 'deadline of a Redis answer on the redirect path'),
  dbTimeoutMs: whole(100, 1, 10_000, 'deadline of a Postgres answer on the redirect path'),
  apiDbTimeoutMs: whole(2000, 1, 10_000, 'deadline of a Postgres statement of the API'),
  localCacheMax: whole(1000, 1, 1_000_000, 'entries of tier 1, per process'),
  localCacheTtlMs: whole(
    100,
    1,
    1000,
    'life of a tier-1 entry that passes do not vouch for; over a second would break the promise about changes',
  ),
  breakerFailures: whole(5, 1, 1000, 'more failures than this within the window open a breaker'),
  breakerWindowMs: whole(10_000, 100, 600_000, 'how long a failure counts'),
  breakerOpenMs: whole(30_000, 100, 600_000, 'how long Redis is left alone'),
  dbBreakerOpenMs: whole(1000, 100, 600_000, 'how long Postgres is left alone: short, nothing else knows the truth'),
  earlyRefreshZone: share(0.2, 0.9, 'last part of a lifetime in which a hit may refresh the key'),
  earlyRefreshChance: share(0.05, 1, 'chance of that, per hit'),
  relayIntervalMs: whole(200, 10, 10_000, 'how often a process asks for changes, for tier 1 and for its Redis'),
  trustMs: whole(800, 50, 60_000, 'how long it then trusts that Redis, and vouches for links in tier 1'),
  staleMaxS: whole(21_600, 0, 604_800, 'how long an answer may outlive its life while Postgres is away'),
  hitQuotaUngrantable: oneOf(['allow', 'reject'], 'allow', 'what to do when nobody can grant hits'),
  rateLimitStore: oneOf(['redis', 'memory'], undefined, 'where creates are counted; redis if there is one'),
  rateLimitAggregatePerHour: whole(2000, 1, 1_000_000, 'creates of all standard tenants together'),
  notFoundPerMinute: whole(
    120,
    1,
    1_000_000,
    '404s of one address, of all workers together, before it is told 429 for absent codes',
  ),
  scanAllowlist: setting(
    addressesSchema,
    'loopback',
    'addresses that are never held to it, nor to a share of the connections',
  ),
  importMaxMb: whole(
    512,
    1,
    100_000,
    'bound of the file of one import; as much of it waits in Postgres until it is worked off',
  ),
  spoolMaxMb: whole(256, 1, 1_000_000, 'bound of the click spool on disk'),
  visits: oneOf(
    ['off', 'totals', 'full'],
    'full',
    'what is told of visits: nothing but clicks, people apart from bots, or everything',
  ),
  visitsDetailPerS: whole(
    2000,
    1,
    5000,
    'visits per second and process that are looked at; the others are told by weight',
  ),
  geoipFile: text(undefined, "a database of countries in MaxMind's format; without it countries are unknown"),
  honourDnt: oneOf(['on', 'off'], 'on', 'visitors with DNT or Sec-GPC are counted, and nothing else is told of them'),
  visitsTz: setting(timeZoneSchema, 'UTC', 'the time zone whose days and months visits are kept by'),
  visitsHoursDays: whole(90, 30, 3650, 'days that visits are kept by the hour'),
  visitsDaysMonths: whole(24, 1, 240, 'months that they are kept by the day, and visitors at all'),
  visitsMonthsYears: whole(0, 0, 100, 'years that they are kept by the month; 0: for ever'),
  dynamicTtl: oneOf(['on', 'off'], 'off', 'lifetimes by traffic and change frequency'),
  oidcIssuer: setting(
    z
      .string()
      .refine(isIssuer, 'must be a URL that begins with https:// (http:// only on this machine), and has no ? or #'),
    undefined,
    'the identity provider that people sign in by (OpenID Connect)',
  ),
  oidcClientId: text(undefined, 'what QuickLink is called there'),
  oidcClientSecret: text(undefined, 'how it proves that'),
  oidcScopes: setting(
    z
      .string()
      .regex(/^openid( [\x21\x23-\x5b\x5d-\x7e]+)*$/, 'must begin with openid, and have one space between words'),
    'openid profile',
    'what is asked for of who signs in; some providers want `groups`, too',
  ),
  oidcGroupsClaim: setting(
    z
      .string()
      .min(1)
      .refine(
        (claim) => !ownClaims.includes(claim),
        'must be a claim that nobody chooses for himself: who may change his own would choose his role',
      ),
    'groups',
    'the claim that has the groups of who signs in',
  ),
  oidcRoles: setting(groupPlacesSchema, undefined, 'who is let in, as what: group=tenant:role,…; the first that fits'),
  trustProxy: setting(trustProxySchema, 'off', 'which hops may set X-Forwarded-*: off, a number of hops, or addresses'),
  tiers: setting(tiersSchema, '{}', 'JSON that overrides what the tiers standard and plus allow'),
  logLevel: oneOf(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'how much is logged'),
  logFile: text(undefined, 'where, instead of standard output; who renames the file need not say so'),
} satisfies Record<string, Setting<unknown>>

type Settings = typeof settings
type ValueOf<K extends keyof Settings> = z.output<Settings[K]['schema']>
/** Settings that may stay unset; `loadConfig` fills the others that have no fallback from what is known. */
type Optional =
  | 'rootUrl' | 'grafanaUrl' | 'runbookUrl' | 'redisUrl' | 'redisSentinels' | 'redisSentinelName' | 'redisCluster' | 'redisUsername' | 'redisPassword' | 'ownerKey' | 'codeSalt' | 'geoipFile' | 'logFile'
  | 'databaseDirectUrl' | 'databaseReadUrl' | 'redisCaFile'
  | 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret' | 'oidcRoles' // prettier-ignore

export type Config = { readonly [K in Exclude<keyof Settings, Optional>]: ValueOf<K> } & {
  readonly [K in Optional]: ValueOf<K> | undefined
} & { readonly files: Files }

/** In no log, and nowhere shown or kept by the commands. A URL has a password in it. */
export const secretSettings = [
  'ownerKey', 'codeSalt', 'databaseUrl', 'databaseDirectUrl', 'databaseReadUrl', 'redisUrl', 'redisPassword', 'oidcClientSecret',
] as const // prettier-ignore

/** May also be given as NAME_FILE, so that a secret need not stand in the environment. */
export const fileSettings = [...secretSettings, 'tiers'] as const
type FileSetting = (typeof fileSettings)[number]

/** Which files settings come from. */
export type Files = Readonly<Partial<Record<FileSetting, string>>>

export const envName = (key: string): string => key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()

function readFile(said: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`${said} names ${file}, which cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function filesIn(env: NodeJS.ProcessEnv): Files {
  const named = fileSettings.map((key) => [key, env[`${envName(key)}_FILE`]] as const).filter(([, file]) => file)
  for (const [key] of named) {
    const name = envName(key)
    if (env[name]) throw new ConfigError(`${name} and ${name}_FILE are both set: remove one of them.`)
  }
  return Object.fromEntries(named)
}

/** A setting as its file says it now: what is secret may be exchanged. As it was before where that cannot be used at the moment. */
export function again<T extends string | undefined>(
  { files }: Partial<Pick<Config, 'files'>>,
  key: 'databaseUrl' | 'databaseDirectUrl' | 'databaseReadUrl' | 'redisUrl' | 'redisPassword',
  before: T,
): T | string {
  const file = files?.[key]
  if (file === undefined) return before
  try {
    return settings[key].schema.parse(readFileSync(file, 'utf8').trim())
  } catch {
    return before
  }
}

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const files = filesIn(env)
  const values: Record<string, unknown> = { files }
  for (const [key, { schema, fallback }] of Object.entries<Setting<unknown>>(settings)) {
    const file = files[key as FileSetting]
    const text = file === undefined ? env[envName(key)] : readFile(`${envName(key)}_FILE`, file)
    // Compose mounts a file in any case: the one that stands for no secret is empty. Of all others an empty one is a mistake.
    const isNone = text === '' && (file === undefined || key === 'oidcClientSecret')
    const raw = (isNone ? undefined : text) ?? fallback
    if (raw === undefined) continue
    const parsed = schema.safeParse(raw)
    if (!parsed.success) throw new ConfigError(`${envName(key)} ${parsed.error.issues[0]?.message ?? 'is not valid'}.`)
    values[key] = parsed.data
  }
  const given = values as Partial<Config>
  const config = values as unknown as Config
  const filled = {
    ...config,
    publicUrl: (given.publicUrl ?? `http://localhost:${config.port}`).replace(/(?<!\/)\/+$/, ''),
    rateLimitStore: given.rateLimitStore ?? (hasRedis(config) ? 'redis' : 'memory'),
  }
  refuseContradictions(filled)
  return filled
}

export const hasRedis = (config: Pick<Config, 'redisUrl' | 'redisSentinels' | 'redisCluster'>): boolean =>
  [config.redisUrl, config.redisSentinels, config.redisCluster].some((given) => given !== undefined)

const promisedMs = 1000

/**
 * Promise 4, term by term: how long what was before a change may be served after its commit. A link that passes vouch for
 * has the first and the last of them: it may be served for as long as a Redis may be trusted, from the beginning of a pass.
 */
export function changeSeen(config: Pick<Config, 'trustMs' | 'localCacheTtlMs' | 'redisTimeoutMs'>) {
  /** What a trusted Redis may be behind, and so what is read from it. */
  const behindMs = config.trustMs
  /** The life of what was read, in tier 1. */
  const livesMs = config.localCacheTtlMs
  /** What it may outlive that while its successor is under way: not more than Redis may take, and what is left. */
  const graceMs = Math.max(0, Math.min(config.redisTimeoutMs, promisedMs - behindMs - livesMs))
  return { behindMs, livesMs, graceMs, withinMs: behindMs + livesMs + graceMs }
}

function refuseContradictions(config: Config): void {
  const rules: [boolean, string][] = [
    [!config.databaseUrl, 'DATABASE_URL is missing: set it to the URL of the Postgres database, e.g. postgres://user@host/quicklink.'],
    [!!config.redisUrl && !!config.redisSentinels, 'REDIS_URL and REDIS_SENTINELS are both set: remove one of them.'],
    [!!config.redisCluster && !!(config.redisUrl ?? config.redisSentinels), 'REDIS_CLUSTER and REDIS_URL or REDIS_SENTINELS are both set: remove one of them.'],
    [!!config.redisUsername && !config.redisCluster, 'REDIS_USERNAME is for REDIS_CLUSTER: put the name into REDIS_URL.'],
    [!!config.redisSentinels && !config.redisSentinelName, 'REDIS_SENTINEL_NAME is missing: REDIS_SENTINELS needs the name of the primary.'],
    [config.rateLimitStore === 'redis' && !hasRedis(config), 'RATE_LIMIT_STORE is redis, but there is no REDIS_URL: set one, or set RATE_LIMIT_STORE=memory.'],
    [config.linkTtlS < config.notFoundTtlS, 'LINK_TTL_S must not be shorter than NOT_FOUND_TTL_S.'],
    [config.trustMs < 2 * config.relayIntervalMs, 'TRUST_MS must be at least twice RELAY_INTERVAL_MS, or Redis would be distrusted between two passes.'],
    [changeSeen(config).withinMs > promisedMs, 'TRUST_MS and LOCAL_CACHE_TTL_MS together must not exceed 1000: a change must be seen within a second.'],
    [config.apiDbTimeoutMs < config.dbTimeoutMs, 'API_DB_TIMEOUT_MS must not be shorter than DB_TIMEOUT_MS.'],
    [!config.oidcIssuer && !!(config.oidcClientId ?? config.oidcRoles), 'OIDC_ISSUER is missing: set it to the URL of the identity provider, or remove the other OIDC_… settings.'],
    [!!config.oidcIssuer && !config.oidcClientId, 'OIDC_CLIENT_ID is missing: OIDC_ISSUER needs the id that the identity provider has given QuickLink.'],
    [!!config.oidcIssuer && !config.oidcClientSecret, 'OIDC_CLIENT_SECRET is missing: put what the identity provider has given QuickLink into a file, and name it in OIDC_CLIENT_SECRET_FILE.'],
    [!!config.oidcIssuer && !config.oidcRoles, 'OIDC_ROLES is missing: without it nobody is let in. Say which group is which role, like OIDC_ROLES=staff=acme:editor.'],
    [config.port !== 0 && config.port === config.opsPort, 'PORT and OPS_PORT must differ.'],
    [!!config.redisCaFile && !config.redisCluster && !config.redisUrl?.startsWith('rediss:'), 'REDIS_CA_FILE is set, but REDIS_URL does not begin with rediss://: Redis would be spoken to in the clear.'],
  ] // prettier-ignore
  for (const [broken, sentence] of rules) if (broken) throw new ConfigError(sentence)
  if (config.redisCaFile) readFile('REDIS_CA_FILE', config.redisCaFile)
  for (const key of ['databaseUrl', 'databaseDirectUrl', 'databaseReadUrl'] as const) {
    const given = new URL(config[key] ?? config.databaseUrl).searchParams
    for (const part of ['sslrootcert', 'sslcert', 'sslkey']) {
      const file = given.get(part)
      if (file) readFile(`${part} in ${envName(key)}`, file)
    }
  }
}
