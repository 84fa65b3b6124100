import { failover, linksLost } from './failover.ts'
import { doomedAreAsked } from './links.ts'

export const postgresFailover = failover('synchronous', {
  name: 'postgres-failover',
  claim:
    'The machine of the Postgres that leads dies. Patroni has its standby lead, which has all that was acknowledged. No redirect fails, nothing that was made or disabled is lost, no code and no hit is given twice.',
  after: [linksLost({ atLeast: 0, atMost: 0 }), doomedAreAsked],
})
