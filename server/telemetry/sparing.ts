// A log for what strangers can cause, at the rate that they like: each kind of line is said once in a while, and says how
// many like it were left out since the last one. So a flood fills no disk and hides no other line.
type Say = (details: object, message: string) => void

export interface Lines {
  readonly info: Say
  readonly warn: Say
  readonly error: Say
}

/** A kind is a level and a message, which stands in the code: there are as many as lines in it. */
export function sparing(log: Lines, everyMs: number, nowMs: () => number = () => performance.now()): Lines {
  const kinds = new Map<string, { readonly saidMs: number; leftOut: number }>()
  const sayer =
    (level: keyof Lines): Say =>
    (details, message) => {
      const kind = `${level} ${message}`
      const last = kinds.get(kind)
      if (last && nowMs() - last.saidMs < everyMs) {
        last.leftOut++
        return
      }
      kinds.set(kind, { saidMs: nowMs(), leftOut: 0 })
      log[level](last && last.leftOut > 0 ? { ...details, leftOut: last.leftOut } : details, message)
    }
  return { info: sayer('info'), warn: sayer('warn'), error: sayer('error') }
}
