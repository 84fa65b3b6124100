// Where a request in a chunk of bytes ends, and what it asks for, if it is of one strict grammar. It decides *whether* the
// front door deals with a request, never *what a strange one means*: what is not of this grammar goes to node:http as it
// came, and so does the rest of its connection, because where such a request ends is for node:http to say.
// Long because one grammar is read together.
//
//   METHOD target HTTP/1.1 CRLF      one of a few methods; /path, or http://host/path; or HTTP/1.0
//   Name: value CRLF                 a token, and anything but control characters
//   CRLF                             and as many bytes of body as Content-Length says
//
// Narrower than HTTP on purpose: folding, a bare CR or LF, a space before the colon, a second Host all end here. Fields that
// change where a request ends, or what becomes of the connection, are taken in one spelling only, or not at all:
// Content-Length as digits, Connection as `close` or `keep-alive`; no Transfer-Encoding, Upgrade, Expect.

/** Bytes of a request without its body. A browser with many cookies stays below it; node:http takes twice as many. */
const longestHead = 8000
/** node:http refuses more of them, however short: its parser's own bound. */
const mostFields = 1000

/** What the request that was recognised last asks for. One object for all: nobody keeps it. */
export const asked = {
  method: 'GET' as Method,
  /** Between the path's slash and its query, or its end. */
  pathBegin: 0,
  pathEnd: 0,
  /** The host that is meant: of the absolute form, else of the Host field. Both 0: none is named. */
  hostBegin: 0,
  hostEnd: 0,
  /** Its connection ends with the answer. */
  closes: false,
  bodyLength: 0,
}
export type Method = (typeof methods)[number]

/** Not recognised, and never will be, whatever follows. */
export const strange = 0
/** As far as it goes, it may become one. */
export const partial = -1

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'] as const
const methodBytes = methods.map((method) => Buffer.from(`${method} `))

const cr = 13
const lf = 10
const space = 32
const slash = 47
const colon = 58
const question = 63

const inCode = 1
const inName = 2
const inValue = 4
const inHost = 8
const inTarget = 16
/** First letters of names that mean more than themselves, in either case. */
const doubtful = 32
const digit = 64

const kinds = new Uint8Array(256)
const mark = (characters: string, kind: number): void => {
  for (const character of characters) kinds[character.charCodeAt(0)]! |= kind
}
const alphanumeric = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
mark(`${alphanumeric}_-`, inCode)
mark(`${alphanumeric}!#$%&'*+-.^_\`|~`, inName)
mark(`${alphanumeric}.-_:[]`, inHost)
mark('0123456789', digit)
mark('cehptuCEHPTU', doubtful)
for (let byte = 0x21; byte <= 0x7e; byte++) kinds[byte]! |= inTarget | inValue
for (let byte = 0x80; byte <= 0xff; byte++) kinds[byte]! |= inValue
mark(' \t', inValue)

/** Put behind a chunk in which it does not come any more, so that no loop runs past the end. */
const sentinel = Buffer.from('\r\n\r\n')

/** Of the last chunk: where the first byte stands that is not of the grammar. */
let failedAt = 0

/** Where the request that begins at `from` ends, its body apart; or `strange`, or `partial`. */
export function recognise(chunk: Buffer, from: number): number {
  const length = chunk.length
  if (
    (chunk[length - 1] === lf && chunk[length - 2] === cr && chunk[length - 3] === lf && chunk[length - 4] === cr) || // prettier-ignore
    chunk.includes(sentinel, from)
  ) {
    const end = headEnd(chunk, from)
    return end - from > longestHead ? strange : end
  }
  const end = Math.min(length, from + longestHead)
  const whole = headEnd(Buffer.concat([chunk.subarray(from, end), sentinel]), 0)
  if (whole !== strange && from + whole <= end) {
    asked.pathBegin += from
    asked.pathEnd += from
    if (asked.hostEnd > 0) {
      asked.hostBegin += from
      asked.hostEnd += from
    }
    return from + whole
  }
  return (whole !== strange || from + failedAt >= end) && end === length ? partial : strange
}

/** What stands in the path of the request that was recognised last, in this chunk. */
export const pathIn = (chunk: Buffer): string => chunk.toString('latin1', asked.pathBegin, asked.pathEnd)

/** The same behind the first bytes of `key`, which is written over: one text is made, where putting two together makes three. '': too long. */
export function pathBehind(key: Buffer, first: number, chunk: Buffer): string {
  const { pathBegin, pathEnd } = asked
  if (pathEnd - pathBegin > key.length - first) return ''
  let end = first
  for (let at = pathBegin; at < pathEnd; at++) key[end++] = chunk[at] as number
  return key.toString('latin1', 0, end)
}

export const hasQuery = (chunk: Buffer): boolean => chunk[asked.pathEnd] === question

/** What the target of a request says behind its question mark. */
export function queryIn(chunk: Buffer, from: number): string | undefined {
  const target = chunk.indexOf(space, from) + 1
  const text = chunk.toString('latin1', target, chunk.indexOf(space, target))
  return queryOf(text)
}

export function queryOf(target: string): string | undefined {
  const mark = target.indexOf('?')
  return mark === -1 ? undefined : target.slice(mark + 1)
}

/** The host that it names, as it stands there. */
export const hostIn = (chunk: Buffer): string => chunk.toString('latin1', asked.hostBegin, asked.hostEnd)

/** It names this one, spelled like this: told without making a text of it. */
export function namesHost(chunk: Buffer, said: string): boolean {
  const { hostBegin, hostEnd } = asked
  if (hostEnd - hostBegin !== said.length) return false
  for (let i = 0; i < said.length; i++) if (chunk[hostBegin + i] !== said.charCodeAt(i)) return false
  return true
}

/** The values of a field, as node:http joins them. Its name comes in lower case, with its colon. */
export function fieldIn(chunk: Buffer, from: number, end: number, name: Buffer): string | undefined {
  let values: string | undefined
  for (let at = chunk.indexOf(lf, from) + 1; at < end; at = chunk.indexOf(lf, at) + 1) {
    if (!begins(name, chunk, at)) continue
    const value = valueAt(chunk, at + name.length)
    values = values === undefined ? value : `${values}, ${value}`
  }
  return values
}

/** The first value of each of these fields, in one look at all of them. */
export function fieldsIn(chunk: Buffer, from: number, end: number, names: readonly Buffer[]): (string | undefined)[] {
  const values = new Array<string | undefined>(names.length).fill(undefined)
  for (let at = chunk.indexOf(lf, from) + 1; at < end; at = chunk.indexOf(lf, at) + 1) {
    const letter = (chunk[at] as number) | 0x20
    for (let n = 0; n < names.length; n++) {
      const name = names[n] as Buffer
      if (name[0] !== letter || values[n] !== undefined || !begins(name, chunk, at)) continue
      values[n] = valueAt(chunk, at + name.length)
      break
    }
  }
  return values
}

function valueAt(chunk: Buffer, begin: number): string {
  let first = begin
  while (isBlank(chunk[first])) first++
  let last = chunk.indexOf(cr, first)
  while (last > first && isBlank(chunk[last - 1])) last--
  return chunk.toString('latin1', first, last)
}

/** What is trimmed; of all that is called white elsewhere, nothing more. */
const isBlank = (byte: number | undefined): boolean => byte === space || byte === 9

function headEnd(chunk: Buffer, from: number): number {
  let at = methodEnd(chunk, from)
  if (at === 0) return strange
  at = targetEnd(chunk, at)
  if (at === 0) return strange
  at = end(httpBytes, chunk, at)
  if (at === 0) return strange
  // '1' or '0'
  const isOld = chunk[at] === 48
  if (!isOld && chunk[at] !== 49) return fail(at)
  if (chunk[at + 1] !== cr) return fail(at + 1)
  return chunk[at + 2] === lf ? fieldsEnd(chunk, at + 3, isOld) : fail(at + 2)
}
const httpBytes = Buffer.from(' HTTP/1.')

function methodEnd(chunk: Buffer, from: number): number {
  const first = chunk[from]
  for (let n = 0; n < methods.length; n++) {
    const bytes = methodBytes[n] as Buffer
    // Two begin with a P: the one that goes further says where it failed.
    if (bytes[0] !== first || (first === 80 && chunk[from + 1] !== bytes[1] && n !== lastWithP)) continue
    asked.method = methods[n] as Method
    return end(bytes, chunk, from)
  }
  return fail(from)
}
const lastWithP = methods.indexOf('PUT')

function targetEnd(chunk: Buffer, begin: number): number {
  let at = begin
  asked.hostEnd = asked.hostBegin = 0
  if (chunk[at] !== slash) {
    at = authorityEnd(chunk, at)
    if (at === 0) return strange
  }
  asked.pathBegin = ++at
  while (kindAt(chunk, at) & inCode) at++
  if (chunk[at] !== space) {
    while (kindAt(chunk, at) & inTarget && chunk[at] !== question) at++
    asked.pathEnd = at
    while (kindAt(chunk, at) & inTarget) at++
  } else asked.pathEnd = at
  return chunk[at] === space ? at : fail(at)
}

/** Of "http://host:port/path": what it names counts, and `Host` does not (RFC 9112, 3.2.2). */
function authorityEnd(chunk: Buffer, begin: number): number {
  let at = endOfLower(schemeBytes, chunk, begin)
  if (at === 0) return strange
  if (((chunk[at] as number) | 0x20) === 115) at++
  at = end(authorityBytes, chunk, at)
  if (at === 0) return strange
  const host = at
  while (kindAt(chunk, at) & inHost) at++
  asked.hostBegin = host
  asked.hostEnd = at
  return at > host && chunk[at] === slash ? at : fail(at)
}
const schemeBytes = Buffer.from('http')
const authorityBytes = Buffer.from('://')

/** Behind the blank line. */
function fieldsEnd(chunk: Buffer, begin: number, isOld: boolean): number {
  let at = begin
  let hosts = 0
  let connections = 0
  let lengths = 0
  let fields = 0
  asked.closes = isOld
  asked.bodyLength = 0
  while (chunk[at] !== cr) {
    const name = at
    while (kindAt(chunk, at) & inName) at++
    if (at === name || chunk[at] !== colon) return fail(at)
    if (++fields > mostFields) return fail(name)
    let value = at + 1
    if (chunk[value] === space) value++
    if (kindAt(chunk, name) & doubtful) {
      if (begins(hostName, chunk, name)) {
        if (hosts++ > 0) return fail(name)
        const host = value
        value = hostEnd(chunk, value)
        if (asked.hostEnd === 0) {
          asked.hostBegin = host
          asked.hostEnd = value
        }
      } else if (begins(connectionName, chunk, name)) {
        if (connections++ > 0) return fail(name)
        value = connectionEnd(chunk, value)
      } else if (begins(lengthName, chunk, name)) {
        if (lengths++ > 0) return fail(name)
        value = lengthEnd(chunk, value)
      } else {
        for (const doubt of doubts) if (begins(doubt, chunk, name)) return fail(name)
      }
      if (value === 0) return strange
    }
    at = value
    while (kindAt(chunk, at) & inValue) at++
    if (chunk[at] !== cr) return fail(at)
    if (chunk[at + 1] !== lf) return fail(at + 1)
    at += 2
  }
  if (chunk[at + 1] !== lf) return fail(at + 1)
  return hosts === 1 || isOld ? at + 2 : fail(at + 1)
}
const hostName = Buffer.from('host:')
const connectionName = Buffer.from('connection:')
const lengthName = Buffer.from('content-length:')
/** In lower case; what begins like one of these may change where the request ends, or whether the connection stays. */
const doubts = ['expect', 'http2', 'proxy-c', 'trai', 'transfer', 'upgrade:'].map((name) => Buffer.from(name))

/** A name and perhaps a port, and nothing that a proxy could take for something else. */
function hostEnd(chunk: Buffer, begin: number): number {
  let at = begin
  while (kindAt(chunk, at) & inHost) at++
  return at > begin && chunk[at] === cr ? at : fail(at)
}

function connectionEnd(chunk: Buffer, begin: number): number {
  const closes = ((chunk[begin] as number) | 0x20) === closeBytes[0]
  const at = endOfLower(closes ? closeBytes : keepAliveBytes, chunk, begin)
  if (at === 0) return strange
  asked.closes = closes
  return chunk[at] === cr ? at : fail(at)
}
const closeBytes = Buffer.from('close')
const keepAliveBytes = Buffer.from('keep-alive')

function lengthEnd(chunk: Buffer, begin: number): number {
  let at = begin
  while (kindAt(chunk, at) & digit) asked.bodyLength = asked.bodyLength * 10 + (chunk[at++] as number) - 48
  // Eight digits are a hundred megabytes, and no body may be as long.
  if (at - begin > 8) return fail(begin)
  if (at === begin) return fail(at)
  return chunk[at] === cr ? at : fail(at)
}

const kindAt = (chunk: Buffer, at: number): number => kinds[chunk[at] as number] as number

function fail(at: number): typeof strange {
  failedAt = at
  return strange
}

/** Behind these bytes, if they are there. */
function end(bytes: Buffer, chunk: Buffer, at: number): number {
  for (let i = 0; i < bytes.length; i++) if (chunk[at + i] !== bytes[i]) return fail(at + i)
  return at + bytes.length
}

/** As `end`, in either case. What is no letter has none: a CR is not a hyphen. */
function endOfLower(lower: Buffer, chunk: Buffer, at: number): number {
  for (let i = 0; i < lower.length; i++) {
    const wanted = lower[i] as number
    const byte = chunk[at + i] as number
    if ((wanted >= 97 ? byte | 0x20 : byte) !== wanted) return fail(at + i)
  }
  return at + lower.length
}

/** Whether a name begins so; its bytes are those of names. Where it does not is no failure. */
function begins(lower: Buffer, chunk: Buffer, at: number): boolean {
  for (let i = 0; i < lower.length; i++) if (((chunk[at + i] as number) | 0x20) !== lower[i]) return false
  return true
}
