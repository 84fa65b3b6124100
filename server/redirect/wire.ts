// What every answer on the raw socket begins and ends with.
import { STATUS_CODES } from 'node:http'
import { limits } from '../limits.ts'

/** Up to the value of `Date`. Names and values in turn, as `writeHead` takes them. */
export function headOf(status: number, fields: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i] ?? ''}: ${fields[i + 1] ?? ''}\r\n`
  return `${head}Date: `
}

const tails = [
  `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(limits.keepAliveMs / 1000)}\r\n\r\n`,
  '\r\nConnection: close\r\n\r\n',
] as const
/** What stands behind the date. */
export const tailOf = (closes: boolean): string => tails[closes ? 1 : 0]
