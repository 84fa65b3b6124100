// Which links, as options.
import type { Command } from 'commander'

export interface Filters {
  readonly search?: string
  readonly state?: 'active'
  readonly tag?: string
  readonly url?: string
  readonly createdBy?: string
  readonly createdAfter?: string
  readonly createdBefore?: string
  readonly domain?: string
  readonly tenant?: string
}

export const addFilters = (command: Command): Command =>
  command
    .option('-q, --search <text>', 'with this in the code, the URL or the title')
    .option('--state <state>', '`active`, `scheduled`, `expired` or `disabled`')
    .option('--tag <name>', 'with this tag')
    .option('--url <url>', 'that lead exactly there')
    .option('--created-by <name>', 'made by a key of this name')
    .option('--created-after <time>', 'then or later')
    .option('--created-before <time>', 'earlier')
    .option('--domain <host>', 'of this domain')
    .option('--tenant <id>', 'of one tenant, for the owner')

/** In the names of the API. */
export const filtersIn = ({ search: q, ...filters }: Filters) => ({ ...filters, ...(q === undefined ? {} : { q }) })
