// Names every image of the compose files and the Dockerfile by tag and digest, as the registry knows the tag today: what is
// pulled is then what was looked at, whoever has changed the tag since. `npm run images`; again, to follow the tags.
// REGISTRY=https://… asks a mirror instead of Docker's registry. All of them or none: where one has no answer, no file changes.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { digestOf } from './registry.ts'

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const registry = process.env['REGISTRY'] || 'https://registry-1.docker.io'
const files = [...globSync('docker-compose*.yml', { cwd: root }), 'Dockerfile'].map((name) => join(root, name))

/** `REDIS_IMAGE:-redis:8.0.6` in a compose file, `ARG NODE_IMAGE=node:24` in the Dockerfile; ours is built, not pulled. */
const named = /(?<=_IMAGE(?::-|=))([a-z0-9][\w./-]*:[\w.-]+)(@sha256:[0-9a-f]{64})?/g

const texts = new Map(files.filter(existsSync).map((file) => [file, readFileSync(file, 'utf8')]))
const images = new Set(
  [...texts.values()].flatMap((text) => Array.from(text.matchAll(named), ([, image = '']) => image)),
)

try {
  const digests = new Map<string, string>()
  for (const image of [...images].toSorted()) digests.set(image, await digestOf(image, registry))
  let changed = 0
  for (const [file, text] of texts) {
    const pinned = text.replace(named, (_, image: string) => `${image}@${digests.get(image) ?? ''}`)
    if (pinned === text) continue
    writeFileSync(file, pinned)
    changed++
  }
  console.log(`${images.size} images by tag and digest, ${changed} files changed`)
} catch (error) {
  const { message, cause } = error as Error
  const why = cause instanceof Error && cause.message ? `${message}: ${cause.message}` : message
  console.error(`Nothing was changed, because not every digest could be asked for (${why}).`)
  process.exitCode = 1
}
