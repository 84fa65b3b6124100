// What every room of a worker stands on: its settings, who it tells what it does, and when it lets go.
import type { Config } from './config.ts'
import { limits } from './limits.ts'
import type { AppDeps } from './processes/worker.ts'
import { sparing, type Lines } from './telemetry/sparing.ts'

export interface Ground extends AppDeps {
  readonly config: Config
  /** Lines of which strangers can cause as many as they like. */
  readonly strangers: Lines
  /** Lines of what goes wrong as long as something is broken. */
  readonly troubles: Lines
  /** Who comes last lets go first; who comes when all is over, at once. */
  onClose(letGo: () => void | Promise<void>): void
}

export const groundOf = (config: Config, deps: AppDeps, acquired: AsyncDisposableStack): Ground => ({
  ...deps,
  config,
  strangers: sparing(deps.log, limits.strangersLineMs),
  troubles: sparing(deps.log, limits.troubleLineMs),
  onClose: (letGo) => (acquired.disposed ? void letGo() : acquired.defer(letGo)),
})
