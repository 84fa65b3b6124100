// A restore puts one data folder in the place of another, and may be killed between any two steps. So it writes down
// first what it is about to do, and whoever starts Postgres next does what is left of it.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Places, readJson, writeJson } from './paths.ts'
import { withSql } from './sql.ts'

interface Restoring {
  /** Where Postgres looks. */
  readonly data: string
  /** Of the backup, whole. */
  readonly unpacked: string
  /** Where the data of before goes. */
  readonly aside: string
}

/** From here on it will be done. */
export const beginRestore = ({ restoringFile }: Places, restoring: Restoring): void =>
  writeJson(restoringFile, restoring)

const underWay = ({ restoringFile }: Places): Restoring | undefined =>
  readJson<Restoring>(restoringFile) as Restoring | undefined

/** Of a Postgres that is down. Each step is done if it is not done yet. */
export function putInPlace(places: Places): void {
  const { data, unpacked, aside } = underWay(places) ?? {}
  if (data === undefined || unpacked === undefined || aside === undefined) return
  const folder = join(unpacked, 'data')
  if (existsSync(folder)) {
    if (existsSync(data)) renameSync(data, aside)
    renameSync(folder, data)
  }
  const settings = readJson<object>(join(unpacked, 'postgres.json'))
  // Its passwords, but the place and the port of here.
  const { port } = readJson<{ port: number }>(places.postgresFile) ?? {}
  if (settings) writeJson(places.postgresFile, { ...settings, home: dirname(data), ...(port && { port }) })
  const ownerKey = join(unpacked, 'owner-key')
  if (existsSync(ownerKey)) renameSync(ownerKey, places.ownerKeyFile)
}

/** A folder put back is the database of then, bit by bit: only a new epoch tells caches and codes that time went back. */
export async function endRestore(places: Places, url: string): Promise<void> {
  const restoring = underWay(places)
  if (restoring === undefined) return
  await withSql(url, async (sql) => {
    const [made] = await sql.query<{ is: boolean }>("select to_regclass('ql_meta') is not null as is")
    // A database that no server has used has none, and nobody remembers it.
    if (made?.is) await sql.query('update ql_meta set epoch = gen_random_uuid()')
  })
  rmSync(restoring.unpacked, { recursive: true, force: true })
  rmSync(places.restoringFile)
}
