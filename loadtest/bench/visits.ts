// What analytics cost a redirect: CPU time per request with VISITS=full beside VISITS=off, of servers that are otherwise the
// same, in turns within one run; all that looking at visits takes, outside of requests too, is in it. Through either door:
// one hot link, of which few visits are looked at, and 2,000 links that are all in tier 1, of which as many as may be. The hot
// link is held to a ratio; of the others as many a second are looked at however fast the machine is, so what they cost is told
// as a share of one processor. Ends with 1 where one of them costs more than wanted.
//   npm run -s bench:visits          SECONDS=1.5 REPETITIONS=7
import { hot, loadLinks, openArena, trusted, warmRedis, type Arena } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import { checkAll, measureAll, repetitionsRange, secondsRange, type Subject } from './subjects.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'

const wanted = 1.15
/** Of a processor, for `VISITS_DETAIL_PER_S` visits. */
const wantedShare = 0.15
const links = 2000
const headers: Load['headers'] = [
  ...browserHeaders,
  ['Referer', 'https://news.example.org/a/page'],
  ['Sec-Purpose', 'none'],
]
const hotOne = 'one hot link'
const loads: Readonly<Record<string, Load>> = {
  [hotOne]: { ...hot, headers },
  '2,000 links': { paths: { kind: 'uniform', prefix: 'link-', count: links }, headers, status: 302 },
}
const doors = ['raw', 'http'] as const
const nameOf = (door: string, what: string, visits: string): string => `${door}, ${what}, VISITS=${visits}`

async function subjects(arena: Arena): Promise<Subject[]> {
  const first = await arena.quickLink({})
  await loadLinks(arena.stand, links)
  await first.stop()
  const made: Subject[] = []
  for (const door of doors) {
    for (const visits of ['off', 'full']) {
      const env = { REDIS_URL: arena.stand.redis.url, LOCAL_CACHE_MAX: '10000', FRONT_DOOR: door, VISITS: visits }
      const server = await arena.quickLink(env)
      await trusted(server)
      for (const [what, load] of Object.entries(loads)) {
        const name = nameOf(door, what, visits)
        made.push({ name, what: name, server, load })
      }
    }
  }
  await warmRedis(arena.stand, links)
  await checkAll(made)
  return made
}

await command(async () => {
  const how = {
    seconds: numberOf(process.env, 'SECONDS', secondsRange) ?? 1.5,
    repetitions: numberOf(process.env, 'REPETITIONS', repetitionsRange) ?? 7,
    warmUpS: 1,
  }
  await using arena = await openArena()
  const results = await measureAll(arena, await subjects(arena), how, () => undefined)
  let dear = 0
  for (const door of doors) {
    for (const what of Object.keys(loads)) {
      const [off, full] = ['off', 'full'].map((visits) => results[nameOf(door, what, visits)]!)
      const ratio = full!.cpuUs.median / off!.cpuUs.median
      const share = ((full!.cpuUs.median - off!.cpuUs.median) * full!.rps.median) / 1e6
      const good = what === hotOne ? ratio <= wanted : share <= wantedShare
      if (!good) dear++
      const cpu = `${full!.cpuUs.median.toFixed(1)} µs of CPU per request, ${off!.cpuUs.median.toFixed(1)} without`
      const rate = `${Math.round(full!.rps.median)}/s`
      console.log(`${good ? 'good  ' : 'DEARER'}  ${ratio.toFixed(3)}  FRONT_DOOR=${door}, ${what}: ${cpu}; ${rate}; ${(100 * share).toFixed(1)} % of a processor; ${full!.failed + off!.failed} failed`) // prettier-ignore
    }
  }
  return dear === 0 ? 0 : 1
})
