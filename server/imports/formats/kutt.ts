// Kutt: what its API answers. It tells whether a link has a password, and neither the password nor its hash.
import { has, numberOf, said, some, textOf, timeOf, yesOrNo, type Draft, type Format, type Thing } from './format.ts'

const fromThing = (thing: Thing): Draft[] => [
  {
    code: textOf(thing['address']) ?? '?',
    hasPassword: thing['password'] === true,
    fields: {
      url: thing['target'],
      note: some(thing['description']),
      createdAt: timeOf(thing['created_at']),
      expiresAt: timeOf(thing['expire_in']),
      clicks: some(thing['visit_count']),
      enabled: thing['banned'] === true ? false : undefined,
    },
    ...(thing['banned'] === true ? { warnings: ['It was banned there: it is disabled here.'] } : {}),
  },
]

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
