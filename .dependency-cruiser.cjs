// The import rules of the design: rooms by what the system does, one door per library.
const tests = '(\\.test\\.ts|\\.stub\\.ts)$|^(testing|contract)/|/(model|acceptance|browser)/'

/** A library may be imported from `door` only. */
const door = (library, path) => ({
  name: `one-door-for-${library}`,
  comment: `${library} enters through ${path}`,
  severity: 'error',
  from: { path: '^server/', pathNot: [path, tests] },
  to: { path: `(^|/)node_modules/(@types/)?${library}/` },
})

module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'reading-does-not-know-writing',
      severity: 'error',
      from: { path: '^server/redirect/', pathNot: tests },
      to: { path: '^server/links/' },
    },
    {
      name: 'writing-does-not-know-reading',
      severity: 'error',
      from: { path: '^server/links/', pathNot: tests },
      to: { path: '^server/redirect/' },
    },
    {
      name: 'the-domain-imports-no-room',
      severity: 'error',
      from: { path: '^server/(link|errors)\\.ts$' },
      to: { path: '^server/' },
    },
    {
      name: 'only-the-process-knows-the-app',
      severity: 'error',
      from: { path: '^server/', pathNot: ['^server/main\\.ts$', tests] },
      to: { path: '^server/app\\.ts$' },
    },
    {
      name: 'nobody-but-tests-knows-tests',
      comment: 'and what makes the types of the client from all operations',
      severity: 'error',
      from: { pathNot: [tests, '^scripts/client-types'] },
      to: { path: tests },
    },
    {
      name: 'the-server-stands-alone',
      comment: 'the image has nothing else',
      severity: 'error',
      from: { path: '^server/', pathNot: tests },
      to: { path: '^(appliance|cli|clients|embedded|grafana|loadtest|prometheus|scripts)/' },
    },
    {
      name: 'what-is-embedded-knows-the-server-alone',
      comment: 'whoever needs a Postgres, a Redis or a wait stands above it: tests, load, drills, the appliance',
      severity: 'error',
      from: { path: '^embedded/', pathNot: tests },
      to: { path: '^(appliance|grafana|loadtest|prometheus|scripts)/' },
    },
    {
      name: 'the-console-knows-the-api-alone',
      comment: 'what it can do, anybody can; and nobody but who builds it needs what it is made of',
      severity: 'error',
      from: { path: '^console/', pathNot: tests },
      to: { path: '^[^/]+/', pathNot: '^(clients/typescript/|console/|node_modules/)', dependencyTypesNot: ['core'] },
    },
    {
      name: 'nobody-knows-the-console',
      severity: 'error',
      from: { pathNot: '^console/' },
      to: { path: '^console/' },
    },
    {
      name: 'the-client-stands-alone',
      comment: 'it is packed by itself; and the command line knows the server by the client only',
      severity: 'error',
      from: { path: '^(clients|cli)/', pathNot: tests },
      to: { path: '^[^/]+/', pathNot: '^(clients/typescript/|cli/|node_modules/)', dependencyTypesNot: ['core'] },
    },
    {
      name: 'the-fault-proxy-needs-three-files',
      comment: 'those that its container mounts: see docker-compose.yml and faults/containers.ts',
      severity: 'error',
      from: { path: '^loadtest/faults/(fault-proxy|proxies-run)\\.ts$' },
      to: {
        path: '^[^/]+/',
        pathNot: '^(loadtest/faults/fault-proxy|embedded/(process|wait))\\.ts$|^node_modules/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'only-what-is-installed-with-the-server',
      severity: 'error',
      from: { path: '^server/', pathNot: tests },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    door('pg', '^server/connections/'),
    door('pg-connection-string', '^server/connections/parameters'),
    door('ioredis', '^server/connections/'),
    door('opossum', '^server/connections/'),
    door('prom-client', '^(server/telemetry/|loadtest/bench/probe-run)'),
    door('pino', '^server/telemetry/'),
    door('pino-pretty', '^server/telemetry/'),
    door(
      'express',
      '^server/((redirect|links|tenants|sessions|oidc|api|imports)/|coherence/api\\.ts$|(quotas|hits)/(api|open)\\.ts$)',
    ),
    door(
      'lru-cache',
      '^server/(redirect/(tier1|qr|rules)|tenants/(callers|attempts|directory)|rates/(absent-codes|shared-absences)|visits/(agent|doorkeeper))',
    ),
    door('isbot', '^server/visits/agent'),
    door('my-ua-parser', '^server/visits/agent'),
    door('mmdb-lib', '^server/visits/countries'),
    door('csv-parse', '^server/imports/formats/table'),
    door('@streamparser/json', '^server/imports/formats/json'),
    door('qr', '^server/redirect/qr'),
    door('negotiator', '^server/redirect/rules'),
    door('proxy-addr', '^server/rates/client-address'),
    door('openid-client', '^server/oidc/provider'),
    door('cookie', '^server/sessions/cookie'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(\\.quicklink|(cli|clients/typescript|console)/dist[^/]*|loadtest/(reports|results))/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
