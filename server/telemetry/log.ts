// JSON lines, or something pleasant on a terminal. Nothing secret may get into a log: what is known to be secret is
// never passed here, and each finished line is scrubbed all the same, because libraries put URLs into their messages.
import { isatty } from 'node:tty'
import { pino, type DestinationStream, type Logger } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { secretSettings } from '../config.ts'
import { limits } from '../limits.ts'
import { openLogWriter, type LogWriter } from './log-writer.ts'
import { scrub, shorten } from './scrub.ts'

export type Log = Logger

interface LogOptions {
  readonly logLevel: string
}

const secretFields = ['authorization', 'password', 'key', 'salt', ...secretSettings]
const maxCauses = 3

/** A few known fields: what libraries hang onto their errors (connection parameters, rows, statements) stays out. */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: shorten(String(error), limits.loggedMessage) }
  const { code } = error as NodeJS.ErrnoException
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error.cause
  return {
    type: error.name,
    message: shorten(error.message, limits.loggedMessage),
    ...(code === undefined ? {} : { code }),
    ...(depth === 0 && error.stack ? { stack: shorten(error.stack, limits.loggedStack) } : {}),
    ...(inner === undefined || depth >= maxCauses ? {} : { cause: describeError(inner, depth + 1) }),
  }
}

export interface OpenLog extends LogWriter {
  readonly log: Log
}

export function openLog(config: LogOptions & { readonly logFile: string | undefined }): OpenLog {
  const writer = openLogWriter(config.logFile)
  if (config.logFile !== undefined || !isatty(1)) return { log: createLog(config, writer), ...writer }
  const pretty = prettyFactory({ ignore: 'pid', translateTime: 'SYS:HH:MM:ss.l' })
  const write = (line: string): void => writer.write(pretty(line))
  return { log: createLog(config, { ...writer, write }), ...writer }
}

export function createLog(config: LogOptions, destination: DestinationStream): Log {
  return pino(
    {
      level: config.logLevel,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error), error: (error: unknown) => describeError(error) },
      redact: { paths: [...secretFields, ...secretFields.map((field) => `*.${field}`)], censor: '***' },
      hooks: { streamWrite: scrub },
    },
    destination,
  )
}
