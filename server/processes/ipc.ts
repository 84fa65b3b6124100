// What a worker and its primary say to each other. Secrets travel here, and never by environment or command line.
import type { BootResult } from '../boot.ts'
import type { ClicksReport } from '../clicks/books.ts'
import type { CounterAnswer, CounterQuestion } from '../rates/primary-counters.ts'
import type { AbsenceReport, AbsenceTotals } from '../rates/shared-absences.ts'
import type { SystemAnswer, SystemQuestion } from '../system/channel.ts'
import type { ReportSlice } from '../telemetry/report.ts'

/** A terminal sends its signals to primary and workers alike; an orchestrator to the primary. */
export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export type ToWorker =
  /** The database has been reached and migrated. */
  | { readonly type: 'boot'; readonly result: BootResult }
  | { readonly type: 'collect'; readonly request: number }
  | CounterAnswer
  | AbsenceTotals
  | SystemAnswer
  /** With a connection that another worker, who does not answer, was given. */
  | { readonly type: 'connection' }
  /** The primary process has closed the listener that it held: it needs it anew. */
  | { readonly type: 'share' }
  | { readonly type: 'stop' }

export type ToPrimary =
  /** It listens to messages now. */
  | { readonly type: 'hello' }
  /** Its event loop turns. So does every other message say. */
  | { readonly type: 'alive' }
  | { readonly type: 'serving'; readonly port: number }
  /** With its listener, where it has one of its own. */
  | { readonly type: 'listener' }
  /** It accepts no more. */
  | { readonly type: 'leaving' }
  /** It cannot work in this environment, and neither could its replacement: a sentence for the person to act on. */
  | { readonly type: 'refused'; readonly sentence: string }
  | CounterQuestion
  | AbsenceReport
  | ClicksReport
  | SystemQuestion
  | ReportSlice
