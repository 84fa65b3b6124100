// Dub: the CSV of its dashboard, with the columns as it calls them now, or as it did at first. The code is the path of the short link.
import { codeOfUrl, has, numberOf, said, tagsOf, timeOf, type Format } from './format.ts'

export const dub: Format = {
  isTable: (columns) =>
    has(columns, 'short link', 'destination url') || (has(columns, 'link', 'url') && !columns.has('code')),
  fromTable: (cell) => [
    {
      code: codeOfUrl(cell('short link') || cell('link')) || '(the short link of a domain itself)',
      fields: {
        url: cell('destination url') || cell('url'),
        title: said(cell('title')),
        note: said(cell('description')),
        tags: tagsOf(cell('tags'), ','),
        createdAt: timeOf(cell('created at') || cell('createdat')),
        clicks: numberOf(cell('clicks')),
        enabled: isTrue(cell('archived')) ? false : undefined,
      },
      ...(isTrue(cell('archived')) ? { warnings: ['It was archived there: it is disabled here.'] } : {}),
    },
  ],
}

const isTrue = (text: string): boolean => /^(true|yes|1)$/i.test(text)
