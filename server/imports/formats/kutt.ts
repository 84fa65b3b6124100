// Kutt: what its API answers. It tells whether a link has a password, and neither the password nor its hash.
import { has, numberOf, said, some, textOf, timeOf, yesOrNo, type Draft, type Format, type Thing } from './format.ts'

const fromThing = (thing: Thing): Draft[] => [
  {
    code: textOf(thing['address']) ?? '?',
    hasPassword: isTrue(thing['password']),
    fields: {
      url: thing['target'],
      note: some(thing['description']),
      createdAt: timeOf(thing['created_at']),
      expiresAt: timeOf(thing['expire_in']),
      clicks: countOf(thing['visit_count']),
      enabled: isTrue(thing['banned']) ? false : undefined,
    },
    ...(isTrue(thing['banned']) ? { warnings: ['It was banned there: it is disabled here.'] } : {}),
  },
]

/** Since version 3 it is a text as Americans write numbers: 1,234. */
const countOf = (count: unknown): unknown =>
  typeof count === 'string' ? numberOf(count.replaceAll(',', '')) : some(count)

/** Of a database that has no truth values it is a number. */
const isTrue = (value: unknown): boolean => value === true || value === 1

export const kutt: Format = {
  isTable: (columns) => has(columns, 'address', 'target'),
  fromTable: (cell) =>
    fromThing({
      address: cell('address'),
      target: cell('target'),
      description: said(cell('description')),
      created_at: cell('created_at'),
      expire_in: cell('expire_in'),
      visit_count: numberOf(cell('visit_count')),
      password: yesOrNo(cell('password')),
      banned: yesOrNo(cell('banned')),
    }),
  isThing: (thing) => 'address' in thing && 'target' in thing,
  fromThing,
}
