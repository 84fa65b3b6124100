// Loaded into the server of `make up` (node --import): while it runs, its log and those of its Postgres and Redis stay bounded.
// Each is renamed, and its writer begins a new one, so that no line is lost: QuickLink notices by itself, Redis opens its log
// for every line, Postgres is told.
import cluster from 'node:cluster'
import { placesIn, rotate, type Places } from './paths.ts'
import { rotatePostgresLog } from './postgres.ts'
import { logFileIn } from './redis-process.ts'

const everyMs = 2000

function rotateAll(places: Places): void {
  try {
    rotate(places.logFile)
    rotate(logFileIn(places.redisDir))
    rotatePostgresLog(places)
  } catch {
    // Somebody else moved one away, or the folder is not writable: nothing that may end a server.
  }
}

const dataDir = process.env['DATA_DIR']
if (cluster.isPrimary && dataDir) {
  const places = placesIn(dataDir)
  setInterval(() => rotateAll(places), everyMs).unref()
}
