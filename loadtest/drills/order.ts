// What `make drill` was asked, from the environment. Whatever cannot be meant ends here, in one sentence with the choices,
// before anything is started.
import { Refusal } from '../../embedded/paths.ts'
import { numberOf, yesOf } from '../report/knobs.ts'
import { drills } from './all.ts'
import { obstacle, type Drill, type Mode, type Options } from './engine/drill.ts'
import { obstacleOnTarget, targetOf } from './engine/target.ts'

type Asked = Pick<Options, 'short' | 'anyhow' | 'mode' | 'target' | 'faultSeconds' | 'rate'>

export interface Order extends Asked {
  readonly chosen: readonly Drill[]
  /** Those of `all` that cannot be run so, each with the reason. */
  readonly leftOut: readonly string[]
  /** In random order, told at the end; its longest pause. */
  readonly gameDay: { readonly longestPauseS: number } | undefined
}

const everyName = (): string => drills.map(({ name }) => name).join(', ')

export function orderIn(env: NodeJS.ProcessEnv): Order {
  const name = env['NAME'] ?? ''
  const target = targetOf(env)
  const asked: Asked = {
    short: yesOf(env, 'SHORT'),
    anyhow: yesOf(env, 'ANYHOW'),
    mode: target === undefined ? modeIn(env) : 'target',
    target,
    faultSeconds: numberOf(env, 'FAULT_SECONDS', { from: 1, to: 600, unit: 'seconds' }),
    rate: numberOf(env, 'RATE', { from: 10, to: 2000, unit: 'requests a second' }),
  }
  const isGameDay = name === 'game-day'
  const wanted = isGameDay ? env['ONLY'] || 'all' : name
  if (!isGameDay && env['ONLY']) throw new Refusal('ONLY is for game days: NAME=… chooses a drill.')
  const named = isGameDay ? 'ONLY=… make game-day' : 'NAME=… make drill'
  const { chosen, leftOut } = wanted === 'all' ? possible(asked) : { chosen: byName(wanted, named, asked), leftOut: [] }
  const longestPauseS = numberOf(env, 'PAUSE_S', { from: 0, to: 86_400, unit: 'seconds' }) ?? 120
  return { ...asked, chosen, leftOut, gameDay: isGameDay ? { longestPauseS } : undefined }
}

function modeIn(env: NodeJS.ProcessEnv): Mode {
  const word = env['MODE'] || 'embedded'
  if (word === 'docker' || word === 'embedded') return word
  throw new Refusal(`MODE is ${word}, but must be docker or embedded.`)
}

function possible(asked: Asked): Pick<Order, 'chosen' | 'leftOut'> {
  const why = new Map(drills.map((drill) => [drill, whyNot(drill, asked)]))
  return {
    chosen: drills.filter((drill) => why.get(drill) === undefined),
    leftOut: [...why.values()].filter((reason) => reason !== undefined),
  }
}

const byName = (names: string, named: string, asked: Asked): Drill[] =>
  names.split(',').map((wanted) => {
    const drill = drills.find(({ name }) => name === wanted)
    if (!drill && wanted === '') throw new Refusal(`Say which drill: ${named}. There are: ${everyName()}.`)
    if (!drill) throw new Refusal(`There is no drill ${wanted}: ${named} takes ${everyName()}.`)
    const why = whyNot(drill, asked)
    if (why !== undefined) throw new Refusal(why)
    return drill
  })

const whyNot = (drill: Drill, asked: Asked): string | undefined =>
  obstacle(drill, asked) ?? (asked.target === undefined ? undefined : obstacleOnTarget(drill))
