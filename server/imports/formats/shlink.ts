// Shlink: the CSV of its web client, and what its API answers. Its links forward a visitor's query unless they say otherwise.
import { has, numberOf, said, some, tagsOf, textOf, timeOf, type Draft, type Format, type Thing } from './format.ts'

const asThing = (value: unknown): Thing => (typeof value === 'object' && value !== null ? (value as Thing) : {})

const visitsOf = (thing: Thing): unknown => asThing(thing['visitsSummary'])['total'] ?? thing['visitsCount']

const warningsOf = (thing: Thing, maxVisits: unknown): string[] => [
  ...(maxVisits === undefined || maxVisits === null
    ? []
    : [`It had at most ${textOf(maxVisits)} visits in its life: here a link has a number of hits in a month.`]),
  ...(thing['hasRedirectRules'] === true ? ['Its redirect rules are not in this file: give it rules here.'] : []),
]

/** Until version 4 a link could lead elsewhere by device, and its lists say where. */
const rulesOf = (thing: Thing): object[] | undefined => {
  const rules = Object.entries(asThing(thing['deviceLongUrls'])).flatMap(([device, url]) =>
    url === null ? [] : { when: device === 'desktop' ? { device } : { os: device }, url },
  )
  return rules.length === 0 ? undefined : rules
}

const fromThing = (thing: Thing): Draft[] => {
  const { validSince, validUntil, maxVisits } = asThing(thing['meta'])
  return [
    {
      code: textOf(thing['shortCode']) ?? '?',
      fields: {
        url: thing['longUrl'],
        rules: rulesOf(thing),
        title: some(thing['title']),
        tags: some(thing['tags']),
        createdAt: timeOf(thing['dateCreated']),
        startsAt: timeOf(validSince),
        expiresAt: timeOf(validUntil),
        forwardQuery: thing['forwardQuery'] ?? true,
        clicks: some(visitsOf(thing)),
      },
      warnings: warningsOf(thing, maxVisits),
    },
  ]
}

export const shlink: Format = {
  isTable: (columns) => has(columns, 'shortcode', 'longurl'),
  fromTable: (cell) => [
    {
      code: cell('shortcode'),
      fields: {
        url: cell('longurl'),
        title: said(cell('title')),
        tags: tagsOf(cell('tags'), '|'),
        createdAt: timeOf(cell('createdat')),
        forwardQuery: true,
        clicks: numberOf(cell('visits')),
      },
    },
  ],
  isThing: (thing) => 'shortCode' in thing && 'longUrl' in thing,
  fromThing,
}
