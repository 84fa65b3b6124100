import type { Router } from 'express'
import { expect, test } from 'vitest'
import { operations } from '../../testing/operations.ts'
import { auditRoutes } from '../audit/api.ts'
import { cacheRoutes } from '../coherence/api.ts'
import { domainRoutes } from '../domains/api.ts'
import { hitRoutes } from '../hits/api.ts'
import { importRoutes } from '../imports/api.ts'
import { linkRoutes } from '../links/api.ts'
import { bulkRoutes } from '../links/bulk-api.ts'
import { memberRoutes } from '../members/api.ts'
import { usageRoutes } from '../quotas/api.ts'
import { sessionRoutes } from '../sessions/api.ts'
import { tenantRoutes } from '../tenants/api.ts'
import { systemRoutes } from '../system/api.ts'
import { statsRoutes } from '../visits/api.ts'
import { describe } from './openapi.ts'
import { routerOf } from './router.ts'

/** Their handlers are not asked. */
const nothing = {} as never
const routes = [
  bulkRoutes,
  linkRoutes,
  importRoutes,
  hitRoutes,
  usageRoutes,
  tenantRoutes,
  sessionRoutes,
  domainRoutes,
  memberRoutes,
  auditRoutes,
  statsRoutes,
  cacheRoutes,
  systemRoutes,
].flatMap((routesOf) => routesOf(nothing))

/** `GET /links/{code}`, of every layer that answers something. */
function walk(router: Router): string[] {
  return router.stack.flatMap(({ route }) => {
    const methods = (route?.stack ?? []).map((layer): string | undefined => layer.method)
    const path = (route?.path ?? '').replace(/:(\w+)/g, '{$1}')
    return [...new Set(methods)]
      .filter((method) => method !== undefined)
      .map((method) => `${method.toUpperCase()} ${path}`)
  })
}

test('no route without a declaration, and no declaration without a route', () => {
  const { paths = {} } = describe(operations)
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(walk(routerOf(routes)).sort()).toEqual(described.sort())
})

test('every operation has a name of its own', () => {
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
})
