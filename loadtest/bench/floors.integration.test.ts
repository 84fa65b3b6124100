import { afterAll, expect, test } from 'vitest'
import { hot, hotCode, startPeer } from './arena.ts'
import { ask } from '../../embedded/ask.ts'
import { checkAnswers } from './check-answers.ts'
import { isInstalled, startProxy } from './proxies.ts'
import { shapes } from './visitors.ts'
import { freePort } from '../../embedded/process.ts'
import { waitFor } from '../../embedded/wait.ts'

const endings: (() => void)[] = []
afterAll(() => {
  for (const end of endings) end()
})

const started = async (kind: Parameters<typeof startPeer>[0]): Promise<string> => {
  const peer = await startPeer(kind)
  endings.push(peer.end)
  return peer.url
}

test('both floors answer every shape of request as QuickLink has to', async () => {
  const [http, net, netClose] = await Promise.all([started('http'), started('net'), started('netClose')])
  for (const { load, proxy } of shapes) {
    await checkAnswers(http, load)
    if (proxy === undefined) await checkAnswers(load.closes ? netClose : net, load)
  }
  const closing = shapes.find(({ load }) => load.closes)?.load
  if (closing) await expect(checkAnswers(net, closing)).rejects.toThrow('a connection that stays')
})

test('nginx and HAProxy answer one link by themselves, as the bare servers do', async () => {
  for (const proxy of (['nginxAlone', 'haproxyAlone'] as const).filter(isInstalled)) {
    const own = await freePort()
    endings.push(startProxy(proxy, { own, upstream: 0 }, undefined).end)
    await waitFor(async () => (await ask(`http://127.0.0.1:${own}`, `/${hotCode}`)).status === 302)
    await checkAnswers(`http://127.0.0.1:${own}`, hot)
  }
})

const here = (['nginx', 'nginxSet', 'haproxy', 'haproxySet'] as const).filter(isInstalled)
test.runIf(here.length > 0)('each proxy that is installed passes them on, with each of its settings', async () => {
  const upstream = Number(new URL(await started('http')).port)
  for (const proxy of here) {
    const own = await freePort()
    endings.push(startProxy(proxy, { own, upstream }, undefined).end)
    const [shape] = shapes.filter((each) => each.proxy === proxy)
    await waitFor(async () => {
      await checkAnswers(`http://127.0.0.1:${own}`, shape?.load ?? shapes[0]!.load)
      return true
    })
  }
})
