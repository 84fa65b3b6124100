// Which country an address is in: by a database in MaxMind's format that the operator brings, read again when the file
// has changed. None is bundled: those that may be are wrong too often, or want to be named wherever they are used.
import { stat, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { Reader, type Response } from 'mmdb-lib'
import { limits } from '../limits.ts'

interface CountriesOptions {
  readonly file: string
  readonly onError: (error: unknown, what: string) => void
  /** Of `limits`, so that a test can have another. */
  readonly lookMs?: number
}

export class Countries {
  readonly #options: CountriesOptions
  #reader: Reader<Response> | undefined
  #read = ''
  #looking: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout

  constructor(options: CountriesOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.look(), options.lookMs ?? limits.geoipLookMs)
    this.#timer.unref()
    void this.look()
  }

  /** ISO 3166, two letters. Undefined: not known. */
  of(address: string): string | undefined {
    if (this.#reader === undefined || isIP(address) === 0) return undefined
    try {
      return codeIn(this.#reader.get(address))
    } catch (error) {
      // A file that is torn in the middle opens all the same.
      this.#reader = undefined
      this.#options.onError(error, `GEOIP_FILE ${this.#options.file} is damaged: countries are unknown`)
      return undefined
    }
  }

  /** Reads the file if it is another one. Never rejects: what was read last stays. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const { file, onError } = this.#options
    try {
      const { mtimeMs, size, ino } = await stat(file)
      const version = `${mtimeMs} ${size} ${ino}`
      if (version === this.#read) return
      if (size > limits.geoipBytes) throw new Error(`it has more than ${limits.geoipBytes} bytes`)
      const reader = new Reader(await readFile(file))
      this.#read = version
      this.#reader = reader
    } catch (error) {
      onError(error, `GEOIP_FILE names ${file}, which cannot be read as a database in MaxMind's format`)
    }
  }
}

/** MaxMind and DB-IP nest it, others have it at the top. */
function codeIn(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return undefined
  const { country, registered_country: registered, country_code: code } = record as Record<string, unknown>
  for (const found of [isoOf(country), code, country, isoOf(registered)]) {
    if (typeof found === 'string' && /^[A-Za-z]{2}$/.test(found)) return found.toUpperCase()
  }
  return undefined
}

const isoOf = (place: unknown): unknown =>
  typeof place === 'object' && place !== null ? (place as Record<string, unknown>)['iso_code'] : undefined
