// Bitly: the CSV of its dashboard, and what its API answers. A link may have its own path and others that people have chosen: each of
// them becomes a link here. Clicks are of all of them together, so the first one has them.
import { codeOfUrl, numberOf, some, tagsOf, timeOf, type Draft, type Format, type Thing } from './format.ts'

function fromLinks(links: readonly unknown[], fields: Thing, isArchived: boolean): Draft[] {
  const codes = new Set(links.filter((link) => typeof link === 'string').map(codeOfUrl).filter((code) => code !== '')) // prettier-ignore
  const { clicks, ...rest } = fields
  return Array.from(codes, (code, n) => ({
    code,
    fields: { ...rest, ...(n === 0 ? { clicks } : {}), ...(isArchived ? { enabled: false } : {}) },
    ...(isArchived ? { warnings: ['It was archived there: it is disabled here.'] } : {}),
  }))
}

export const bitly: Format = {
  isTable: (columns) => (columns.has('link') || columns.has('custom link')) && (columns.has('destination url') || columns.has('long_url')), // prettier-ignore
  fromTable: (cell) =>
    fromLinks(
      [cell('custom link'), cell('link')],
      {
        url: cell('destination url') || cell('long_url'),
        title: some(cell('title')),
        tags: tagsOf(cell('tags').replaceAll('|', ','), ','),
        createdAt: timeOf(cell('created at') || cell('created_at') || cell('created') || cell('date created')),
        clicks: numberOf(cell('clicks') || cell('engagements')),
      },
      cell('archived').toLowerCase() === 'true',
    ),
  isThing: (thing) => 'long_url' in thing && ('link' in thing || 'id' in thing),
  fromThing: (thing) =>
    fromLinks(
      [...(Array.isArray(thing['custom_bitlinks']) ? (thing['custom_bitlinks'] as unknown[]) : []), thing['link'] ?? thing['id']], // prettier-ignore
      {
        url: thing['long_url'],
        title: some(thing['title']),
        tags: some(thing['tags']),
        createdAt: timeOf(thing['created_at']),
      },
      thing['archived'] === true,
    ),
}
