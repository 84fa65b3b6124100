// YOURLS: the table yourls_url as a CSV or as mysqldump writes it, and the CSV of its plugins. Addresses of people are not taken over.
import { has, numberOf, said, timeOf, type Format } from './format.ts'

export const yourls: Format = {
  isTable: (columns) => has(columns, 'keyword', 'url') || has(columns, 'source', 'target'),
  fromTable(cell) {
    const keyword = cell('keyword')
    return [
      {
        code: keyword === '' ? cell('source').replace(/^\//, '').replace(/\/$/, '') : keyword,
        fields: {
          url: cell('url') || cell('target'),
          title: said(cell('title')),
          createdAt: timeOf(cell('timestamp')),
          clicks: numberOf(cell('clicks') || cell('hits')),
        },
      },
    ]
  },
}
