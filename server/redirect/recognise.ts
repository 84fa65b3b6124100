// Whether a chunk of bytes is exactly one plain GET of a well-formed code. It decides *whether* the front door answers,
// never *what a strange request means*: whatever is not of this grammar, or might mean more than "GET this, and I stay",
// goes to node:http as it came.
//
//   GET /code HTTP/1.1 CRLF      code: 3 to 64 of 0-9 A-Z a-z _ -
//   Name: value CRLF             letters, digits, hyphens; values of printable ASCII; exactly one Host
//   CRLF                         and nothing after it
//
// Narrower than HTTP on purpose: tabs, folding, obs-text, a bare CR or LF, underscores in names, a second request behind
// the first all end here. `Connection: keep-alive`, which browsers send, says what HTTP/1.1 means anyway and names no
// other field; any other value of it is for node:http.

/** Bytes. A browser with many cookies stays below it; what is longer can afford the longer way. */
const longestRequest = 4096
const shortestRequest = 'GET /abc HTTP/1.1\r\nHost:a\r\n\r\n'.length
const codeBegins = 'GET /'.length

const cr = 13
const lf = 10
const space = 32
const colon = 58

const inCode = 1
const inName = 2
const inValue = 4
const inHost = 8
/** First letters of names that mean more than a plain GET, in either case. */
const doubtful = 16

const kinds = new Uint8Array(256)
const mark = (characters: string, kind: number): void => {
  for (const character of characters) kinds[character.charCodeAt(0)]! |= kind
}
const alphanumeric = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
mark(`${alphanumeric}_-`, inCode)
mark(`${alphanumeric}-`, inName)
mark(`${alphanumeric}.-_:[]`, inHost)
mark('cehkptuCEHKPTU', doubtful)
for (let byte = 0x20; byte <= 0x7e; byte++) kinds[byte]! |= inValue

const request = Buffer.from(' HTTP/1.1\r\n')
const keepAlive = Buffer.from('keep-alive')

/** Where the code ends (it begins at 5), or 0: not recognised. */
export function plainGet(chunk: Buffer): number {
  const length = chunk.length
  if (length < shortestRequest || length > longestRequest) return 0
  // Looked at first: a blank line at the end also stops every loop below.
  if (!(chunk[length - 1] === lf && chunk[length - 2] === cr && chunk[length - 3] === lf && chunk[length - 4] === cr)) {
    return 0
  }
  // "GET /"
  if (!(chunk[0] === 71 && chunk[1] === 69 && chunk[2] === 84 && chunk[3] === 32 && chunk[4] === 47)) return 0
  let at = codeBegins
  while (kindAt(chunk, at) & inCode) at++
  const end = at
  if (end - codeBegins < 3 || end - codeBegins > 64 || !stands(request, chunk, at)) return 0
  at = headersEnd(chunk, at + request.length)
  return at === length - 2 ? end : 0
}

/** Code of a chunk that `plainGet` has recognised. */
export const codeIn = (chunk: Buffer, end: number): string => chunk.toString('latin1', codeBegins, end)

/** Where the blank line begins, or 0 at the first doubt. */
function headersEnd(chunk: Buffer, begin: number): number {
  let at = begin
  let hosts = 0
  while (chunk[at] !== cr) {
    const name = at
    while (kindAt(chunk, at) & inName) at++
    if (at === name || chunk[at] !== colon) return 0
    let value = at + 1
    if (chunk[value] === space) value++
    if (kindAt(chunk, name) & doubtful) {
      const meaning = meaningOf(chunk, name, at, value)
      if (meaning === 'doubt') return 0
      if (meaning === 'host') hosts++
    }
    at = value
    while (kindAt(chunk, at) & inValue) at++
    if (chunk[at] !== cr || chunk[at + 1] !== lf) return 0
    at += 2
  }
  return hosts === 1 ? at : 0
}

/** In lower case; what begins like one of these may change where the request ends, or whether the connection stays. */
const doubts = ['con', 'exp', 'http2', 'keep', 'proxy', 'te', 'trai', 'tran', 'upgrade:'].map((name) =>
  Buffer.from(name),
)

function meaningOf(chunk: Buffer, name: number, nameEnd: number, value: number): 'host' | 'doubt' | 'plain' {
  if (begins(hostName, chunk, name)) return isHost(chunk, value) ? 'host' : 'doubt'
  if (begins(connectionName, chunk, name)) {
    const valueEnd = value + keepAlive.length
    return nameEnd + 2 === value && stands(keepAlive, chunk, value) && chunk[valueEnd] === cr ? 'plain' : 'doubt'
  }
  for (const doubt of doubts) if (begins(doubt, chunk, name)) return 'doubt'
  return 'plain'
}
const hostName = Buffer.from('host:')
const connectionName = Buffer.from('connection:')

/** A name and perhaps a port, and nothing that a proxy could take for something else. */
function isHost(chunk: Buffer, begin: number): boolean {
  let at = begin
  while (kindAt(chunk, at) & inHost) at++
  return at > begin && chunk[at] === cr
}

const kindAt = (chunk: Buffer, at: number): number => kinds[chunk[at] as number] as number

/** These bytes are there. The blank line at the end keeps it inside the chunk. */
function stands(bytes: Buffer, chunk: Buffer, at: number): boolean {
  for (let i = 0; i < bytes.length; i++) if (chunk[at + i] !== bytes[i]) return false
  return true
}

/** As `stands`, for lower-case letters and what has no case among the bytes of a name. */
function begins(lower: Buffer, chunk: Buffer, at: number): boolean {
  for (let i = 0; i < lower.length; i++) if (((chunk[at + i] as number) | 0x20) !== lower[i]) return false
  return true
}
