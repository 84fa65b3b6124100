// What becomes of each row of a part: the one place that says so. It looks at nothing but what it is given, in the order of the file.
import type { Code } from '../link.ts'
import type { OnConflict } from './store.ts'

/** A row, and what Postgres knows of its code. */
export interface Candidate {
  readonly line: number
  /** Which of its rows: a line may speak of two links. */
  readonly place: number
  readonly code: Code | null
  /** Why it cannot be a link; null: it can. */
  readonly refused: string | null
  /** Whose the code is; null: nobody's. */
  readonly tenant: string | null
  /** Its tenant has deleted it. */
  readonly isDeleted: boolean
  /** An earlier row of this dry run would have made it. */
  readonly isTried: boolean
}

export interface Circumstances {
  readonly tenant: string
  readonly onConflict: OnConflict
  /** Places that the tenant has left; null: as many as it likes. */
  readonly room: number | null
  /** Of a full quota. */
  readonly quotaReason: string
}

export interface Decided {
  /** Places of rows, each in the order of the file. */
  readonly create: readonly number[]
  readonly replace: readonly number[]
  readonly replaced: number
  readonly skipped: number
  readonly refused: ReadonlyMap<number, string>
  /** The import ends here, and nothing of this part is done. */
  readonly failure?: string
}

type Fate = 'made' | { readonly reason: string }

export const isTaken = (code: string): string => `The code ${code} is taken: choose another one.`

export function decide(rows: readonly Candidate[], { tenant, onConflict, room, quotaReason }: Circumstances): Decided {
  const create: number[] = []
  /** The last row of a code has the last word, and those before it are nothing that anybody could see. */
  const replace = new Map<Code, number>()
  const refused = new Map<number, string>()
  const fates = new Map<Code, Fate>()
  let [replaced, skipped] = [0, 0]

  const make = ({ place }: Candidate): Fate => {
    if (room !== null && create.length >= room) return refuse(place, quotaReason)
    create.push(place)
    return 'made'
  }
  const refuse = (place: number, reason: string): Fate => {
    refused.set(place, reason)
    return { reason }
  }
  const meet = (row: Candidate & { readonly code: Code }): Fate => {
    if (onConflict === 'skip') skipped++
    else {
      replaced++
      replace.set(row.code, row.place)
    }
    return 'made'
  }

  for (const row of rows) {
    const { code, place } = row
    if (row.refused !== null) refuse(place, row.refused)
    else if (code === null) make(row)
    else {
      const before = fates.get(code)
      const isOwn = row.isTried || before === 'made' || (row.tenant === tenant && !row.isDeleted)
      const isOthers = row.tenant !== null && row.tenant !== tenant
      if ((isOwn || isOthers) && onConflict === 'fail') {
        const failure = `Row ${row.line}: the code ${code} is taken, and onConflict is fail. What was made before it stays.`
        return { create: [], replace: [], replaced: 0, skipped: 0, refused: new Map(), failure }
      }
      if (typeof before === 'object') refuse(place, before.reason)
      else if (isOthers) fates.set(code, refuse(place, isTaken(code)))
      else fates.set(code, isOwn ? meet({ ...row, code }) : make(row))
    }
  }
  return { create, replace: [...replace.values()].sort((a, b) => a - b), replaced, skipped, refused }
}
