// A clock that jumps, for one process and its children: libfaketime, which programs are loaded with, changes what the system
// says the time is. Time that passes (the monotonic clock, timers) is left as it is, as when an administrator sets the clock.
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Clock {
  /** For whoever is started with it. */
  readonly env: Readonly<Record<string, string>>
  /** Seconds that it is ahead from now on; less than 0: behind. */
  set(seconds: number): void
}

/** Where distributions put it. */
function libraryFile(): string | undefined {
  const given = process.env['LIBFAKETIME']
  const places = ['/usr/lib', ...readdirsOf('/usr/lib').map((name) => `/usr/lib/${name}`), '/usr/lib64']
  const files = [...(given ? [given] : []), ...places.map((place) => `${place}/faketime/libfaketime.so.1`)]
  return files.find((file) => existsSync(file))
}

const readdirsOf = (dir: string): string[] => {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

export function makeClock(dir: string): Clock {
  const file = join(dir, 'clock')
  const set = (seconds: number): void => {
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}s\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  return {
    set,
    env: {
      LD_PRELOAD: libraryFile() ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      // It reads the file again after so many seconds.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  }
}

/** Why there can be none here; undefined: there can. */
export const noClock = (): string | undefined =>
  libraryFile() === undefined ? 'libfaketime is not installed (Debian: apt install faketime)' : undefined
