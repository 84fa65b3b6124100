// What the API offers about many links at once.
import { operation } from '../api/operation.ts'
import { exportSchema } from './filters.ts'

export const exportLinks = operation({
  id: 'exportLinks',
  method: 'get',
  path: '/links/export',
  group: 'Links',
  needs: 'viewer',
  summary: 'Export links',
  about:
    'All that fit, the oldest first, as they were at one moment, as fast as you read them. Filters go together as you like. ' +
    'A tenant has one export at a time. Of a link with a password neither that nor where it leads is told. **CSV**: tags have a ' +
    "`|` between them, rules are JSON, nothing is an empty cell; a cell that would begin with one of `= + - @`, a tab, a line's end or `'` has a `'` before it, " +
    'so that no spreadsheet takes it for a formula: take one off where a cell begins with one. An export that breaks off ends its connection without an end of the answer, which clients report as ' +
    'an error.',
  query: exportSchema,
  answer: { status: 200, what: 'The links.', stream: ['text/csv', 'application/x-ndjson'] },
  problems: ['forbidden', 'not_found'],
})
