// Dub: the CSV of its dashboard. The code is the path of the short link.
import { codeOfUrl, has, numberOf, said, tagsOf, timeOf, type Format } from './format.ts'

export const dub: Format = {
  isTable: (columns) => has(columns, 'short link', 'destination url'),
  fromTable: (cell) => [
    {
      code: codeOfUrl(cell('short link')) || '(the short link of a domain itself)',
      fields: {
        url: cell('destination url'),
        title: said(cell('title')),
        note: said(cell('description')),
        tags: tagsOf(cell('tags'), ','),
        createdAt: timeOf(cell('created at')),
        clicks: numberOf(cell('clicks')),
        enabled: isTrue(cell('archived')) ? false : undefined,
      },
      ...(isTrue(cell('archived')) ? { warnings: ['It was archived there: it is disabled here.'] } : {}),
    },
  ],
}

const isTrue = (text: string): boolean => /^(true|yes|1)$/i.test(text)
