// Bodies that may be large are held in memory from their first byte until they are answered. So their number is bounded, and one tenant has
// a share of it only; what finds no room is refused before it is read.
import type { RequestHandler } from 'express'
import { limits } from '../limits.ts'
import { unavailable } from '../errors.ts'
import type { Caller } from './operation.ts'

const tenants = new Map<string, number>()
let all = 0

/** Counts a request until it is answered, or its connection is gone. */
export const largeBody: RequestHandler = (_request, response, next) => {
  const { tenant } = response.locals['caller'] as Caller
  const own = tenants.get(tenant) ?? 0
  if (all >= limits.bulkRequests || own >= limits.bulkRequestsPerTenant) {
    // What is being sent is not read.
    response.setHeader('Connection', 'close')
    throw unavailable('Too many requests for many links are under way: try again when one has been answered.')
  }
  if (response.closed) return
  all++
  tenants.set(tenant, own + 1)
  response.once('close', () => {
    all--
    const left = (tenants.get(tenant) ?? 1) - 1
    if (left === 0) tenants.delete(tenant)
    else tenants.set(tenant, left)
  })
  next()
}
