// `npm run -s console`: the console as the server sends it, in console/dist. What was built from the same sources is kept.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const here = import.meta.dirname
const root = join(here, '..')
const dist = join(here, 'dist')
const madeOf = join(dist, 'sources')

/** All that a build depends on: our files, and the packages by their hashes. */
function hashOfSources(): string {
  const inFolder = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  const files = [
    ...inFolder(join(here, 'src')),
    ...['index.html', 'vite.config.ts', 'build.ts'].map((name) => join(here, name)),
    ...['clients/typescript/api.ts', 'clients/typescript/client.ts', 'package-lock.json'].map((name) =>
      join(root, name),
    ),
  ]
  const hash = createHash('sha256')
  for (const file of files.toSorted()) hash.update(relative(root, file)).update('\0').update(readFileSync(file))
  return hash.digest('hex')
}

const compressBr = promisify(brotliCompress)
const compressGz = promisify(gzip)

/** Once here, so that no server does it, and better than one would. */
async function compress(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => /\.(?:js|css|svg)$/.test(name))
  await Promise.all(
    names.map(async (name) => {
      const bytes = readFileSync(join(folder, name))
      const best = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
      writeFileSync(join(folder, `${name}.br`), await compressBr(bytes, best))
      writeFileSync(join(folder, `${name}.gz`), await compressGz(bytes, { level: 9 }))
    }),
  )
}

const wanted = hashOfSources()
const isThere = (): boolean => existsSync(madeOf) && readFileSync(madeOf, 'utf8') === wanted

if (isThere()) console.log('The console is built already.')
else {
  const beganMs = performance.now()
  console.log('Building the console (some seconds)')
  const made = join(here, `dist.${randomBytes(4).toString('hex')}`)
  try {
    // Here and not above: whoever has no packages of developers may have the build.
    const { build } = await import('vite')
    await build({ configFile: join(here, 'vite.config.ts'), logLevel: 'error', build: { outDir: made } })
    await compress(join(made, 'assets'))
    writeFileSync(join(made, 'sources'), wanted)
    rmSync(dist, { recursive: true, force: true })
    try {
      renameSync(made, dist)
    } catch (error) {
      // Somebody else has built the same meanwhile.
      if (!isThere()) throw error
    }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  console.log(`The console is built (${((performance.now() - beganMs) / 1000).toFixed(1)} s).`)
}
