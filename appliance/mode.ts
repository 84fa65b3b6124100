// Docker or embedded? The first start decides and is remembered: a later start in the other mode would begin with an
// empty database, as if the links were lost. So nothing but MODE switches, and then it is said.
import { Refusal } from '../embedded/paths.ts'

export type Mode = 'docker' | 'embedded'

export interface Circumstances {
  /** MODE, as it was given. */
  readonly forced: string | undefined
  /** What the mode file says. */
  readonly remembered: string | undefined
  /** Why Docker cannot be used; undefined: it can. */
  readonly dockerProblem: () => Promise<string | undefined>
}

export interface Choice {
  readonly mode: Mode
  /** What a person should know about it. */
  readonly note?: string
}

/** For a start. */
export async function chooseMode({ forced, remembered, dockerProblem }: Circumstances): Promise<Choice> {
  const wanted = parsed(forced, 'MODE is')
  const known = parsed(remembered, 'The mode file says')
  const mode = wanted ?? known
  if (mode === 'embedded') return { mode, ...switched(known, mode) }
  const problem = await dockerProblem()
  if (mode === undefined) return { mode: problem === undefined ? 'docker' : 'embedded' }
  if (problem === undefined) return { mode, ...switched(known, mode) }
  throw new Refusal(
    wanted
      ? `MODE=docker needs Docker, but ${problem}.`
      : `The links of this folder are in Docker, but ${problem}. (MODE=embedded starts without Docker, and without them.)`,
  )
}

/** For everything else: what was started here, if anything was. */
export function currentMode({ forced, remembered }: Pick<Circumstances, 'forced' | 'remembered'>): Mode {
  return parsed(forced, 'MODE is') ?? parsed(remembered, 'The mode file says') ?? 'embedded'
}

const switched = (known: Mode | undefined, mode: Mode): { note?: string } =>
  known === undefined || known === mode
    ? {}
    : {
        note:
          `Switching from ${known} to ${mode}, which has links of its own. ` +
          `Those of before stay where they are: \`make down\` and \`MODE=${known} make up\` bring them back.`,
      }

function parsed(word: string | undefined, who: string): Mode | undefined {
  const mode = word?.trim()
  if (!mode) return undefined
  if (mode === 'docker' || mode === 'embedded') return mode
  throw new Refusal(`${who} ${mode}, but must be docker or embedded.`)
}
