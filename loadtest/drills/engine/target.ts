// A QuickLink that runs already, a staging: TARGET=compose:NAME, a compose project, or TARGET=embedded, what `make up` started
// without Docker. Nothing of it is changed but by the fault, and by the links of the drill, which are removed again.
import { Refusal } from '../../../embedded/paths.ts'
import type { Drill } from './drill.ts'

/** The name of a compose project; undefined: that of `make up`, in DATA_DIR. */
export interface Target {
  readonly project: string | undefined
}

export const targetText = ({ project }: Target): string =>
  project === undefined ? 'the QuickLink of `make up`' : `the compose project ${project}`

/** Undefined: none is given. Refuses without the word of its owner. */
export function targetOf({ TARGET, I_MAY_BREAK_THIS }: NodeJS.ProcessEnv): Target | undefined {
  if (!TARGET) return undefined
  const [, project] = /^compose:([a-z0-9][a-z0-9_-]*)$/.exec(TARGET) ?? []
  if (project === undefined && TARGET !== 'embedded') {
    throw new Refusal(`TARGET is ${TARGET}, but must be embedded, for what \`make up\` started without Docker, or compose:NAME, a compose project on this machine (\`docker compose ls\`).`) // prettier-ignore
  }
  if (I_MAY_BREAK_THIS !== 'yes') {
    throw new Refusal(`The drill breaks ${targetText({ project })} for whoever uses it: I_MAY_BREAK_THIS=yes says that you may.`) // prettier-ignore
  }
  return { project }
}

/** Why a drill cannot be run on a QuickLink that is not its own; undefined: it can. */
export function obstacleOnTarget({ name, settings, needsProxies, startsServer }: Drill): string | undefined {
  const because = (why: string): string => `${name} cannot run on a TARGET, because ${why}.`
  if (settings) return because('it needs settings of its own')
  if (needsProxies === true) return because('no fault proxy is between its QuickLink and its databases')
  if (startsServer === true) return because('it starts the server again itself')
  return undefined
}
