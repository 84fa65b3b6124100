// The form of a password, read behind node:http: no more of it than a password needs, and not for longer than a person's line
// takes.
import type { IncomingMessage } from 'node:http'
import { limits } from '../limits.ts'
import { FormRefused } from '../passwords/guard.ts'

/** Undefined: there is none in it. What is left of a form that is refused is for node:http to read past. */
export function passwordIn(req: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    const end = (error?: Error): void => {
      clearTimeout(timer)
      req.removeListener('data', onData).removeListener('end', onEnd)
      if (error) reject(error)
    }
    const timer = setTimeout(() => end(new FormRefused('too_slow')), limits.formMs)
    const onData = (part: Buffer): void => {
      length += part.length
      if (length > limits.formBytes) end(new FormRefused('too_large'))
      else parts.push(part)
    }
    const onEnd = (): void => {
      end()
      resolve(new URLSearchParams(Buffer.concat(parts).toString()).get('password') ?? undefined)
    }
    req.on('data', onData).on('end', onEnd)
    // Whoever leaves is answered by nobody, and the attempt is over.
    req.on('error', end).on('close', () => end(new FormRefused('too_slow')))
  })
}
