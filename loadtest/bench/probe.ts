// Loaded into a worker beside the server (`--import`): the bytes that it holds after a collection, told when a signal asks.
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const dir = process.env['QL_HEAP_DIR']
if (dir !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  process.on('SIGUSR2', () => {
    collect()
    writeFileSync(`${dir}/${process.pid}`, String(process.memoryUsage().heapUsed))
  })
}
