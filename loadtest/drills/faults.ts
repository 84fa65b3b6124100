// The faults that several drills share, each with proof by somebody else: a stranger's round trip, on the way that
// QuickLink takes and past it.
import type { ProxyMode } from '../faults/proxies.ts'
import { roundTripMs } from '../faults/probe.ts'
import type { Drill, Proof, DrillContext } from './engine/drill.ts'

type Dependency = 'redis' | 'postgres'

const title = { redis: 'Redis', postgres: 'Postgres' } as const

export function killed(dependency: Dependency, seconds: number): Pick<Drill, 'fault' | 'heal'> {
  const service = ({ appliance }: DrillContext) => appliance.services[dependency]
  return {
    fault: {
      what: `kill -9 of ${title[dependency]}`,
      inject: (context) => service(context).kill(),
      landed: {
        what: `a stranger is refused by ${title[dependency]}`,
        check: async ({ appliance }) =>
          (await roundTripMs(dependency, appliance.ports[dependency], 1000)) === undefined,
      },
      seconds,
    },
    heal: {
      what: `${title[dependency]} is started on the same port, with what is on its disk`,
      undo: (context) => service(context).start(),
      healed: {
        what: `${title[dependency]} answers`,
        check: (context) => service(context).answers(),
      },
    },
  }
}

/** From the proxy's mode; it is over when a stranger's byte goes there and back again in no time. */
export function throughProxy(
  dependency: Dependency,
  { mode, ms, undo = 'pass' }: { mode: ProxyMode; ms?: number; undo?: ProxyMode },
  fault: { what: string; seconds: number; fixed?: boolean; landed: Proof },
  heal = 'the network is as it was',
): Pick<Drill, 'fault' | 'heal' | 'needsProxies'> {
  return {
    needsProxies: true,
    fault: { ...fault, inject: ({ appliance }) => appliance.proxies.set(dependency, mode, ms) },
    heal: {
      what: heal,
      undo: ({ appliance }) => appliance.proxies.set(dependency, undo),
      healed: {
        what: `a stranger's byte goes to ${title[dependency]} and back in less than 100 ms`,
        check: async (context) => ((await onTheWay(dependency, context)) ?? Infinity) < 100,
      },
    },
  }
}

export const onTheWay = (dependency: Dependency, { appliance }: DrillContext): Promise<number | undefined> =>
  roundTripMs(dependency, appliance.proxies.ports[dependency], 1000)

export const takesAtLeast = (dependency: Dependency, ms: number): Proof => ({
  what: `a stranger's byte takes ${ms} ms or more to ${title[dependency]} and back`,
  check: async (context) => ((await onTheWay(dependency, context)) ?? 0) >= ms - 5,
})

/** A stranger on the same way waits in vain, one past it does not. */
export const unreachable = (dependency: Dependency): Proof => ({
  what: `a stranger gets no answer from ${title[dependency]} on QuickLink's way, but does past it`,
  check: async (context) =>
    (await onTheWay(dependency, context)) === undefined &&
    (await roundTripMs(dependency, context.appliance.ports[dependency], 1000)) !== undefined,
})
