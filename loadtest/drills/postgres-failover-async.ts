import { failover, linksLost } from './failover.ts'

export const postgresFailoverAsync = failover('asynchronous', {
  name: 'postgres-failover-async',
  claim:
    'The machine of the Postgres that leads dies, and its standby was behind: what it had not got is lost, and counted. No redirect fails, no code and no hit is given twice.',
  // Otherwise nothing was shown.
  after: [linksLost({ atLeast: 1 })],
})
