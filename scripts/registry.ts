// What an image registry says of a tag: the part of the OCI distribution API that answers without the image itself.

/** Of several architectures. Their digest holds for all of them; that of a single manifest would shut the others out. */
const indexTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]

export interface Reference {
  /** Of the registry; undefined: the usual one, Docker's. */
  readonly host: string | undefined
  readonly repository: string
  readonly tag: string
}

/** `redis:8.0.6`, `prom/prometheus:v3`, `registry.example.org/team/image:1`; a digest behind it is left out. */
export function readReference(image: string): Reference {
  const [name = ''] = image.split('@')
  const at = name.lastIndexOf(':')
  const [first = '', ...rest] = name.slice(0, at).split('/')
  // As Docker tells a host from the first part of a name.
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const repository = isHost ? rest.join('/') : [first, ...rest].join('/')
  const official = !isHost && rest.length === 0
  return { host: isHost ? first : undefined, repository: official ? `library/${repository}` : repository, tag: name.slice(at + 1) }
} // prettier-ignore

/** Its digest, `sha256:…`. Without a host it is asked of `usual`: Docker's registry, or a mirror of it. */
export async function digestOf(image: string, usual: string): Promise<string> {
  const { host, repository, tag } = readReference(image)
  const base =
    host === undefined ? usual : `${/^(localhost|127\.0\.0\.1)(:|$)/.test(host) ? 'http' : 'https'}://${host}`
  const url = `${base}/v2/${repository}/manifests/${tag}`
  const ask = (headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, { method: 'HEAD', headers: { Accept: indexTypes.join(', '), ...headers }, signal: AbortSignal.timeout(20_000) }) // prettier-ignore
  let answer = await ask()
  if (answer.status === 401) answer = await ask({ Authorization: `Bearer ${await tokenFor(answer)}` })
  if (!answer.ok) throw new Error(`${base} answers ${answer.status} for ${image}`)
  const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
  if (!indexTypes.includes(type)) throw new Error(`${image} is an image of one architecture: its digest would shut the others out`) // prettier-ignore
  const digest = answer.headers.get('docker-content-digest') ?? ''
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${base} names no digest of ${image}`)
  return digest
}

/** Who may read is told by another server, which the refusal names. Public images need no password there. */
async function tokenFor(refusal: Response): Promise<string> {
  const challenge = refusal.headers.get('www-authenticate') ?? ''
  const field = (name: string): string => new RegExp(`[ ,]${name}="([^"]*)"`).exec(challenge)?.[1] ?? ''
  if (!challenge.startsWith('Bearer ')) throw new Error(`${refusal.url} wants a password`)
  const url = new URL(field('realm'))
  for (const name of ['service', 'scope']) if (field(name)) url.searchParams.set(name, field(name))
  const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) })
  if (!answer.ok) throw new Error(`${url.origin} answers ${answer.status} and gives no token`)
  const { token, access_token: other } = (await answer.json()) as { token?: string; access_token?: string }
  return token ?? other ?? ''
}
