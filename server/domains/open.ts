// Domains in one process, put together.
import type { Route } from '../api/operation.ts'
import { changeSeen } from '../config.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Databases } from '../connections/databases.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { RedisPartition } from '../connections/open.ts'
import { domainRoutes, type DomainsApiDeps } from './api.ts'
import { KnownDomains, type Domain } from './known.ts'
import { createNames, type Names } from './names.ts'
import { readDomainList } from './store.ts'

interface DomainsDeps extends Pick<DomainsApiDeps, 'parseTarget'> {
  readonly databases: Databases
  /** Where the list is kept for those who start while Postgres is away. */
  readonly partition: RedisPartition | undefined
  readonly onList: (domains: readonly Domain[]) => void
}

export interface Domains {
  readonly known: KnownDomains
  readonly names: Names
  readonly routes: readonly Route[]
  /** Resolves when the first list is known, or when a start has waited long enough for it. */
  first(): Promise<void>
}

export function openDomains({ config }: Ground, { databases, partition, onList, parseTarget }: DomainsDeps): Domains {
  const known = new KnownDomains({ read: () => readDomainList(databases.passes), partition, onList })
  const names = createNames(config.publicUrl, known)
  const heardMs = changeSeen(config).behindMs
  return {
    known,
    names,
    routes: domainRoutes({ sql: databases.api, names, heardMs, parseTarget }),
    first: () => withDeadline(known.first, limits.domainsMs, 'the list of domains').catch(() => undefined),
  }
}
