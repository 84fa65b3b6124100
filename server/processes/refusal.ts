// Why QuickLink cannot start here, as one sentence that names what to change.
import { ConfigError, type Config } from '../config.ts'

/** Its message is for the person who started QuickLink. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

type Listener = Pick<Config, 'host' | 'port' | 'opsHost' | 'opsPort'>

/** Undefined: not a matter of the environment; another attempt may succeed. */
export function refusal(error: unknown, config: Listener, listener: 'public' | 'ops'): string | undefined {
  if (error instanceof ConfigError) return error.message
  const { code, syscall } = error as NodeJS.ErrnoException
  const [prefix, host, port] =
    listener === 'public' ? ['', config.host, config.port] : ['OPS_', config.opsHost, config.opsPort]
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is taken: set ${prefix}PORT to a free one, or stop what listens there.`
    case 'EACCES':
      if (syscall !== 'listen' && syscall !== 'bind') return undefined
      return `Port ${port} is not allowed for this user: set ${prefix}PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine: set ${prefix}HOST to one that is.`
    default:
      return undefined
  }
}
