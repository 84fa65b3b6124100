// `make up`, `make down`, `make logs`, `make status`, for the mode without Docker.
import { down } from './down.ts'
import { logs } from './logs.ts'
import { Refusal } from './paths.ts'
import { status } from './status.ts'
import { placesFrom, up } from './up.ts'

const say = (line: string): void => {
  console.log(line)
}

const commands: Record<string, () => Promise<void>> = {
  up: () => up(process.env, say),
  down: () => down(placesFrom(process.env), say),
  logs: () => logs(placesFrom(process.env)),
  status: () => status(placesFrom(process.env), say),
}

const command = commands[process.argv[2] ?? '']
if (!command) {
  console.error(`Usage: node embedded/cli.ts ${Object.keys(commands).join('|')}`)
  process.exit(2)
}
try {
  await command()
  // Processes that outlive this one still have handles here.
  process.exit(0)
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exit(1)
}
