// A file goes to the server as it is, however long. Not by `fetch`, which does not tell how much of it is sent.
import { ProblemError, type Problem, type Schemas } from '../api.ts'

export type Import = Schemas['Import']
export const formats = ['auto', 'quicklink', 'shlink', 'yourls', 'kutt', 'bitly', 'dub'] as const
export const conflicts = ['skip', 'replace', 'fail'] as const

export interface Asked {
  readonly format: (typeof formats)[number]
  readonly onConflict: (typeof conflicts)[number]
  readonly tenant: string
  readonly domain: string
  readonly dryRun: boolean
}

interface Sending {
  readonly onShare: (share: number) => void
  readonly signal: AbortSignal
}

export function sendFile(file: File, { dryRun, tenant, domain, ...rest }: Asked, { onShare, signal }: Sending): Promise<Import> {
  const query = new URLSearchParams({ ...rest, dryRun: String(dryRun) })
  if (tenant.trim() !== '') query.set('tenant', tenant.trim())
  if (domain.trim() !== '') query.set('domain', domain.trim())
  const { promise, resolve, reject } = Promise.withResolvers<Import>()
  const request = new XMLHttpRequest()
  request.open('POST', `/api/v1/imports?${query.toString()}`)
  request.setRequestHeader('Content-Type', 'application/octet-stream')
  request.responseType = 'json'
  request.upload.onprogress = ({ loaded, total }) => onShare(total === 0 ? 1 : loaded / total)
  request.onload = () => {
    const answer = request.response as unknown
    if (request.status === 202) resolve(answer as Import)
    else {
      const { code = 'strange', detail = '', field } = (answer ?? {}) as Partial<Problem>
      reject(new ProblemError({ code, detail, ...(field === undefined ? {} : { field }) }))
    }
  }
  request.onerror = () => reject(new ProblemError({ code: 'offline', detail: '' }))
  request.onabort = () => reject(new ProblemError({ code: 'stopped', detail: '' }))
  signal.addEventListener('abort', () => request.abort())
  request.send(file)
  return promise
} // prettier-ignore
