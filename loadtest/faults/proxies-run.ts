// The fault proxies as a process of their own: whoever started them may die, and anybody who may open the socket of
// their control can heal them.   POST /redis/delay?ms=200 · POST /postgres/pass · GET /
// As a container, it is the fault proxy of the compose file, and the door through which a drill looks in.
import { createServer } from 'node:http'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import type { ProxiesOrder, ProxyMode, ProxyReport } from './proxies.ts'

const { control, targets } = JSON.parse(process.argv[2] ?? '') as ProxiesOrder
const proxies = new Map<string, FaultProxy>()
for (const [name, { at, ...target }] of Object.entries(targets)) proxies.set(name, await startFaultProxy(target, at))

const modes: Record<ProxyMode, (proxy: FaultProxy, ms: number) => Promise<void>> = {
  pass: (proxy) => proxy.pass(),
  refuse: (proxy) => proxy.refuse(),
  'black-hole': (proxy) => proxy.blackHole(),
  delay: (proxy, ms) => proxy.delay(ms),
  strand: (proxy) => proxy.strand(),
  cut: (proxy) => proxy.cut(),
  'drop-replies': (proxy) => proxy.dropReplies(),
}

const report = (): Record<string, ProxyReport> =>
  Object.fromEntries([...proxies].map(([name, { host, port, counters }]) => [name, { host, port, ...counters }]))

async function act(path: string, ms: number): Promise<void> {
  const [, name = '', mode = ''] = path.split('/')
  const proxy = proxies.get(name)
  if (!proxy || !Object.hasOwn(modes, mode)) throw new Error(`no proxy or mode ${path}`)
  await modes[mode as ProxyMode](proxy, ms)
}

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://control')
  const work = request.method === 'POST' ? act(pathname, Number(searchParams.get('ms') ?? 0)) : Promise.resolve()
  work.then(
    () => response.end(JSON.stringify(report())),
    (error: unknown) => response.writeHead(500).end(String(error)),
  )
}).listen(control)
// Process 1 of a container has to see to it itself.
process.on('SIGTERM', () => process.exit(0))
