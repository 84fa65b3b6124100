// What a worker and its primary say to each other. Secrets travel here, and never by environment or command line.
import type { ClicksReport } from '../clicks/books.ts'
import type { CounterAnswer, CounterQuestion } from '../limits/primary-counters.ts'
import type { ReportSlice } from '../telemetry/report.ts'

/** A terminal sends its signals to primary and workers alike; an orchestrator to the primary. */
export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export type ToWorker<Boot> =
  /** The database has been reached and migrated. */
  | { readonly type: 'boot'; readonly result: Boot }
  | { readonly type: 'collect'; readonly request: number }
  | CounterAnswer
  | { readonly type: 'stop' }

export type ToPrimary =
  /** It listens to messages now. */
  | { readonly type: 'hello' }
  | { readonly type: 'serving'; readonly port: number }
  /** It cannot work in this environment, and neither could its replacement: a sentence for the person to act on. */
  | { readonly type: 'refused'; readonly sentence: string }
  | CounterQuestion
  | ClicksReport
  | ReportSlice
