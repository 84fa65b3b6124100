// A disk that is full, as several drills have it.
import type { SmallDisk } from '../faults/small-disk.ts'
import { repeat } from '../measure/repeat.ts'
import type { Drill, DrillContext } from './engine/drill.ts'

const diskOf = ({ appliance }: DrillContext): SmallDisk => {
  if (!appliance.disk) throw new Error('this drill needs a disk of its own')
  return appliance.disk
}

let stop: (() => Promise<void>) | undefined

/** What its own programs remove meanwhile is no room for them either: somebody else has taken it. */
function fill(context: DrillContext): void {
  const disk = diskOf(context)
  disk.fill()
  stop = repeat(50, () => Promise.resolve(disk.fill()))
}

async function makeRoom(context: DrillContext): Promise<void> {
  await stop?.()
  stop = undefined
  diskOf(context).makeRoom()
}

export function fullDisk(what: string, seconds: number): Pick<Drill, 'fault' | 'heal' | 'notInDocker'> {
  return {
    notInDocker: 'its disk is mounted on this machine',
    fault: {
      what: `the disk of ${what} is full`,
      inject: (context) => Promise.resolve(fill(context)),
      landed: {
        what: 'a stranger who writes there is told that no space is left (ENOSPC)',
        check: (context) => diskOf(context).isFull(),
      },
      seconds,
    },
    heal: {
      what: 'it has room again',
      undo: makeRoom,
      healed: { what: 'a stranger can write there', check: (context) => !diskOf(context).isFull() },
    },
  }
}
