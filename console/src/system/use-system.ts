// The figures of the server, asked again and again, and what they were a minute ago: counts go up since the start, and a share that is live is of the last
// minute.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { answerOf, api, type Schemas } from '../api.ts'

export type System = Schemas['System']

const askEveryMs = 5000
const minuteMs = 60_000

interface Seen {
  readonly atMs: number
  readonly system: System
}

export function useSystem() {
  const [seen, setSeen] = useState<readonly Seen[]>([])
  const asked = useQuery({
    queryKey: ['system'],
    queryFn: () => answerOf(api.GET('/system')),
    refetchInterval: askEveryMs,
    staleTime: 0,
  })
  const { data, dataUpdatedAt } = asked
  useEffect(() => {
    if (data === undefined) return
    const now: Seen = { atMs: dataUpdatedAt, system: data }
    // What has been started anew counts from 0 again.
    setSeen((before) => [...before.filter(({ atMs, system }) => atMs > now.atMs - minuteMs && atMs < now.atMs && system.redirects <= data.redirects), now]) // prettier-ignore
  }, [data, dataUpdatedAt])
  return { asked, flow: data && flowOf(data, seen[0]?.system) }
}

export interface Flow {
  readonly isLive: boolean
  readonly redirects: number
  /** Of all that tiers answered. */
  readonly shares: Readonly<Record<keyof System['answered'], number>>
  /** Of all redirects. */
  readonly door: number
}

const left = ({ method, body, unrecognised, partial }: System['handovers']): number => method + body + unrecognised + partial // prettier-ignore

/** Since then, if anybody came since then. */
function flowOf(now: System, then: System | undefined): Flow {
  const isLive = then !== undefined && now.redirects > then.redirects
  const since = (count: (system: System) => number): number => count(now) - (isLive ? count(then) : 0)
  const redirects = since((system) => system.redirects)
  const answered = {
    tier1: since((system) => system.answered.tier1),
    redis: since((system) => system.answered.redis),
    postgres: since((system) => system.answered.postgres),
  }
  const all = Math.max(1, answered.tier1 + answered.redis + answered.postgres)
  return {
    isLive,
    redirects,
    shares: { tier1: answered.tier1 / all, redis: answered.redis / all, postgres: answered.postgres / all },
    door: redirects === 0 ? 1 : Math.max(0, 1 - since((system) => left(system.handovers)) / redirects),
  }
}
