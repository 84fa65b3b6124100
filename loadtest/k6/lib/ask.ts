// One request, and whether its answer was the right one. Wrong is what a visitor would be misled by: another destination,
// a 404 for a link, a redirect for none. Failed is no answer, or one that says that there is none now.
import http, { type RefinedResponse, type ResponseType } from 'k6/http'
import exec from 'k6/execution'
import { Counter } from 'k6/metrics'
import { setting } from './plan.ts'
import { codeOf, destinationOf, randomOf, zipf } from './world.ts'

const base = __ENV['URL'] || 'http://127.0.0.1:8080'
const prefix = __ENV['PREFIX'] || 'ql-load-'
const seed = __ENV['SEED'] || '1'
export const links = setting('LINKS', 10_000)
const exponent = setting('ZIPF', 1)

const wrong = new Counter('wrong_answers')
const failed = new Counter('failed_answers')
const timeout = '3s'
// Which answers are right is decided here, not by k6.
http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 }))
let told = 0

/** One of each VU is enough to know what it was. */
function note(counter: Counter, what: string): void {
  counter.add(1)
  if (told++ < 1) console.error(what)
}

type Answer = RefinedResponse<ResponseType | undefined>

function judge(answer: Answer, path: string, right: boolean, expected: string): void {
  const { status, error } = answer
  if (right) return
  if (status === 0) note(failed, `${path}: no answer (${error})`)
  else if (status >= 500 || status === 429) note(failed, `${path}: ${status} instead of ${expected}`)
  else note(wrong, `${path}: ${status} ${answer.headers['Location'] ?? ''} instead of ${expected}`)
}

/** What is right besides the usual answer. */
type OrElse = (answer: Answer) => boolean
const nothing: OrElse = () => false
/** Whoever asks for many absent codes is told to stop, unless his address is on the list of those who may. */
export const slowDown: OrElse = ({ status }) => status === 429
/** Nobody can say at the moment. */
export const refusal: OrElse = ({ status, headers }) => status === 503 && headers['Retry-After'] !== undefined

/** Expects a redirect to the destination; null: that there is no such link. */
export function visit(path: string, destination: string | null, orElse = nothing): Answer {
  const answer = http.get(`${base}/${path}`, { redirects: 0, timeout })
  const right =
    destination === null ? answer.status === 404 : answer.status === 302 && answer.headers['Location'] === destination
  judge(answer, path, right || orElse(answer), destination ?? '404')
  return answer
}

export const visitLink = (n: number, orElse = nothing): Answer =>
  visit(codeOf(prefix, n), destinationOf(seed, n), orElse)

/** Of all arrivals of the run, by whoever they are served: the same run asks for the same. */
export const arrival = (): number => exec.scenario.iterationInTest
/** Differs by phase, so that no two phases ask alike. */
const salt = (): number => exec.scenario.startTime % 1_000_003
export const drawn = (): number => randomOf(Math.imul(arrival(), 2) + salt())
export const popular = (): number => zipf(drawn(), links, exponent)
export const anyOf = (count: number): number => Math.floor(drawn() * count)

/** The API, as the owner. The answer is expected to have this status. */
export function api(method: string, path: string, expected: number, body?: object): Answer {
  const answer = http.request(method, `${base}/api/v1${path}`, body === undefined ? null : JSON.stringify(body), {
    headers: { Authorization: `Bearer ${__ENV['OWNER_KEY'] ?? ''}`, 'Content-Type': 'application/json' },
    timeout,
  })
  judge(answer, `${method} ${path}`, answer.status === expected, String(expected))
  return answer
}

export const newCode = (word: string): string => `${prefix}${word}-${seed}-${exec.scenario.name}-${arrival()}`
