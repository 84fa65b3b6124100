// Who is connected. Where there are too many, of one address or altogether, the connection that has been quiet for longest
// makes room for the newcomer: a client that holds connections and asks nothing loses them, and no newcomer
// is locked out.
//
// It costs nothing per request: when a connection was last used is known to whoever serves it, and is looked at only when
// there is no room, and then for many newcomers at once.
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Who serves a connection at the moment. */
export interface Holder {
  /** When it last asked, or came. */
  readonly lastMs: number
  /** It has asked, and has not been answered yet. */
  readonly isWaiting: boolean
}

export interface GuestsOptions {
  readonly most: number
  readonly mostPerAddress: number
  /** What its connections are counted under; undefined: of this address there may be as many as there is room for. */
  readonly countedAs: (address: string | undefined) => string | undefined
  readonly onLetGo: () => void
}

interface Guest {
  readonly socket: Duplex
  readonly address: string | undefined
  readonly house: House | undefined
  holder: Holder
}

/** Of those who leave for newcomers, so many are looked for at once: a 64th of all. */
const share = 64
/** Above every time: who waits goes after all who do not. */
const waitsMs = 1e12

class House {
  readonly guests = new Set<Guest>()
  /** Who goes next, the last first, and how quiet it was when it was chosen. */
  #leaving: [Guest, number][] = []

  nextToLeave(): Guest | undefined {
    return this.#chosen() ?? (this.#choose(), this.#chosen())
  }

  #chosen(): Guest | undefined {
    for (let next = this.#leaving.pop(); next !== undefined; next = this.#leaving.pop()) {
      const [guest, quiet] = next
      if (this.guests.has(guest) && quietOf(guest) === quiet) return guest
    }
    return undefined
  }

  #choose(): void {
    const all = Float64Array.from(this.guests, quietOf).sort()
    const count = Math.ceil(all.length / share)
    const last = all[count - 1] ?? 0
    const chosen = Array.from(this.guests, (guest): [Guest, number] => [guest, quietOf(guest)])
    this.#leaving = chosen
      .filter(([, quiet]) => quiet <= last)
      .sort(([, a], [, b]) => b - a)
      .slice(-count)
  }
}

const quietOf = ({ holder }: Guest): number => holder.lastMs + (holder.isWaiting ? waitsMs : 0)

export class Guests {
  readonly #options: GuestsOptions
  readonly #all = new House()
  readonly #bySocket = new Map<Duplex, Guest>()
  readonly #byAddress = new Map<string, House>()

  constructor(options: GuestsOptions) {
    this.#options = options
  }

  admit(socket: Socket, hold: (socket: Duplex) => Holder): void {
    const { most, mostPerAddress, countedAs } = this.#options
    const address = countedAs(socket.remoteAddress)
    const neighbours = address === undefined ? undefined : this.#byAddress.get(address)
    if (neighbours !== undefined && neighbours.guests.size >= mostPerAddress) this.#makeRoom(neighbours)
    if (this.#all.guests.size >= most) this.#makeRoom(this.#all)
    const house = address === undefined ? undefined : this.#houseOf(address)
    const guest: Guest = { socket, address, house, holder: hold(socket) }
    house?.guests.add(guest)
    this.#all.guests.add(guest)
    this.#bySocket.set(socket, guest)
    socket.once('close', () => this.#leave(guest))
  }

  /** Somebody else serves it now. */
  handedOver(socket: Duplex, holder: Holder): void {
    const guest = this.#bySocket.get(socket)
    if (guest) guest.holder = holder
  }

  #houseOf(address: string): House {
    let house = this.#byAddress.get(address)
    if (house === undefined) this.#byAddress.set(address, (house = new House()))
    return house
  }

  #makeRoom(house: House): void {
    const guest = house.nextToLeave()
    if (guest === undefined) return
    this.#options.onLetGo()
    // Its 'close' comes later; the next newcomer may be here before.
    this.#leave(guest)
    guest.socket.destroy()
  }

  #leave(guest: Guest): void {
    const { socket, address, house } = guest
    this.#all.guests.delete(guest)
    this.#bySocket.delete(socket)
    house?.guests.delete(guest)
    if (address !== undefined && house?.guests.size === 0) this.#byAddress.delete(address)
  }
}
