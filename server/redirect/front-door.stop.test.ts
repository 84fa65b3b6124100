// A stop of the front door: what was asked is answered, and nobody is waited for in vain.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { answers, ask, type Client, dial, get, start } from './front-door.client.stub.ts'
import { answerLength } from './front-door.stub.ts'

describe.each(['raw', 'http'] as const)('a stop, FRONT_DOOR=%s', (frontDoor) => {
  it('loses no request, and tells every client to go', { timeout: 30_000 }, async () => {
    const { port, close, counted } = await start(frontDoor, { lingerMs: 300, drainMs: 3000 })
    let answered = 0
    const started = new Set<Client>()
    const visit = async (codes: readonly string[], thinksMs: number): Promise<void> => {
      const client = await dial(port)
      for (let i = 0; ; i++) {
        const answer = await ask(client, get(codes[i % codes.length] ?? ''))
        answered++
        started.add(client)
        if (answer.includes('Connection: close')) return client.closed
        if (thinksMs > 0) await sleep(thinksMs)
      }
    }
    const visits = Array.from({ length: 40 }, (_, i) =>
      visit(i % 2 === 0 ? ['Labc123'] : ['Sabc123', 'Labc123', 'Nabc123'], i % 3 === 0 ? 30 : 0),
    )
    while (started.size < visits.length) await sleep(10)
    await sleep(50)
    await close()
    await Promise.all(visits)
    expect(counted.statuses).toHaveLength(answered)
    await expect(dial(port)).rejects.toThrow()
  })

  it('tells who is being answered by the API that it is the last answer', async () => {
    let answer = (): void => undefined
    const begun = new Promise<void>((resolve) => (answer = resolve))
    const { port, close, counted } = await start(frontDoor, { lingerMs: 20, drainMs: 3000 }, undefined, (req, res) => {
      void begun.then(() => answerLength(req, res))
    })
    const client = await dial(port)
    client.socket.write(get('api/x'))
    await waitFor(() => counted.atOnce === 1)
    const stopped = close()
    // Behind the only look for idle connections.
    await sleep(100)
    answer()
    await client.closed
    expect(client.received()).toContain('\r\nConnection: close\r\n')
    await stopped
  })

  it('lets a client that is slow to read have what it was answered', async () => {
    const { port, close, counted } = await start(frontDoor, { lingerMs: 20, drainMs: 3000 })
    const client = await dial(port)
    client.socket.pause()
    client.socket.write(get('Babc123').repeat(1000))
    let before = -1
    await waitFor(() => {
      const isStill = before === counted.statuses.length && before > 0
      before = counted.statuses.length
      return isStill
    })
    const stopped = close()
    await sleep(100)
    client.socket.resume()
    await client.closed
    expect(answers(client.received())).toBe(counted.statuses.length)
    await stopped
  })

  it('does not wait for clients that are idle, nor for ever for those that do not end', async () => {
    const { port, close } = await start(frontDoor, { lingerMs: 20, drainMs: 300 })
    const [idle, used, stuck] = [await dial(port), await dial(port), await dial(port)]
    await ask(used, get('Labc123'))
    stuck.socket.write('GET /Labc123 HTTP/1.1\r\n')
    await sleep(20)
    await close()
    await Promise.all([idle.closed, used.closed, stuck.closed])
  })
})
