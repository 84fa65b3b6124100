// Which visits are looked at, while they come. Every link has a fair sample of its own (a reservoir), so that one link in
// everybody's hands does not take the room of the others; all of them share a fixed number of slots. What finds no slot is
// told by weight: it is counted all the same.
//
// The counts that decide stand beside those of the clicks (Tally), so that a visit that is not looked at costs an increment
// and a comparison.
import { limits } from '../limits.ts'

/** Of a copy of a link, since the last swap. As many as are wanted may exist per link. */
export interface Sampling {
  readonly linkId: number
  /** Its visits. */
  seen: number
  /** Which of them is to be left next: the first that counts as many. */
  next: number
  /** Where its sample is; undefined: it has none yet. */
  slots: number[] | undefined
  /** Slots that it may have. */
  most: number
}

export const sampling = (linkId: number): Sampling => ({
  linkId,
  seen: 0,
  next: 1,
  slots: undefined,
  most: limits.visitsPerLink,
})

/** A copy's visits, and those of them that are in slots. */
export interface Stratum {
  readonly linkId: number
  readonly seen: number
  readonly slots: readonly number[]
}

export interface Taken {
  readonly strata: readonly Stratum[]
  readonly slots: Buffer
  readonly used: number
  /** Visits that were left and had to go again, or found no slot. */
  readonly dropped: number
}

/** Until a link has had so many times its sample, each visit draws; from then on it is drawn how many are passed over. */
const drawsEach = 16
/** Slots that are looked at for one whose link has most. */
const looks = 8

export class Ring {
  readonly #size: number
  readonly #random: () => number
  #slots: Buffer
  #spare: Buffer
  #owners: (Sampling | undefined)[]
  #used = 0
  #touched: Sampling[] = []
  /** Visits of links without a slot that have come while there was none. */
  #late = 0
  #dropped = 0

  constructor(size: number, random: () => number = Math.random) {
    this.#size = size
    this.#random = random
    this.#slots = Buffer.alloc(size * limits.visitBytes)
    this.#spare = Buffer.alloc(size * limits.visitBytes)
    this.#owners = new Array<Sampling | undefined>(size).fill(undefined)
  }

  /** The hot path. True: it may have a `place`. */
  wants(sampling: Sampling): boolean {
    return ++sampling.seen >= sampling.next
  }

  /** Where it is to be left among the slots; -1: it has none. */
  place(sampling: Sampling): number {
    if (sampling.seen === 1) {
      if (this.#touched.length >= limits.clickLinks) {
        sampling.seen = 0
        return -1
      }
      this.#touched.push(sampling)
    }
    const slot = this.#slotFor(sampling)
    return slot === -1 ? -1 : slot * limits.visitBytes
  }

  get slots(): Buffer {
    return this.#slots
  }

  /** All that has come since the last time. The slots are the caller's until the next one. */
  swap(): Taken {
    const strata = this.#touched.map((sampling): Stratum => {
      const { linkId, seen, slots } = sampling
      sampling.seen = 0
      sampling.next = 1
      sampling.slots = undefined
      sampling.most = limits.visitsPerLink
      return { linkId, seen, slots: slots ?? [] }
    })
    const taken = { strata, slots: this.#slots, used: this.#used, dropped: this.#dropped }
    this.#slots = this.#spare
    this.#spare = taken.slots
    this.#owners.fill(undefined, 0, this.#used)
    this.#touched = []
    this.#used = this.#late = this.#dropped = 0
    return taken
  }

  #slotFor(sampling: Sampling): number {
    const held = (sampling.slots ??= [])
    if (held.length < sampling.most) {
      const slot = this.#used < this.#size ? this.#used++ : this.#takeAway(held.length)
      if (slot !== -1) {
        this.#owners[slot] = sampling
        held.push(slot)
        sampling.next = sampling.seen + 1
        return slot
      }
      if (held.length === 0) {
        this.#dropped++
        return -1
      }
      // A sample that grew again would prefer those who come late.
      sampling.most = held.length
    }
    const { seen } = sampling
    const draws = seen <= drawsEach * held.length
    this.#sayNext(sampling)
    if (draws && this.#random() * seen >= held.length) return -1
    return held[this.#below(held.length)]!
  }

  /** When the next visit is, of a sample that is full: `n` visits are passed over with the chance that none of them is chosen. */
  #sayNext(sampling: Sampling): void {
    const { seen } = sampling
    const size = sampling.slots!.length
    const passed = (seen - (size - 1) / 2) * ((1 - this.#random()) ** (-1 / size) - 1)
    sampling.next = seen < drawsEach * size ? seen + 1 : seen + 1 + Math.floor(Math.min(passed, 1e12))
  }

  /** A slot of a link that has more of them, for one that has `held`. -1: there is none. */
  #takeAway(held: number): number {
    let slot = this.#below(this.#size)
    for (let look = 1; look < looks; look++) {
      const other = this.#below(this.#size)
      if (this.#owners[other]!.slots!.length > this.#owners[slot]!.slots!.length) slot = other
    }
    const owner = this.#owners[slot]!
    const has = owner.slots!.length
    // Where every link has one, each visit has the same chance of being among them.
    const isDrawn = held === 0 && has === 1 && this.#random() * (this.#size + ++this.#late) < this.#size
    if (has <= held + 1 && !isDrawn) return -1
    owner.slots!.splice(owner.slots!.indexOf(slot), 1)
    if (owner.slots!.length === 0) owner.next = owner.seen + 1
    else {
      owner.most = owner.slots!.length
      this.#sayNext(owner)
    }
    this.#dropped++
    return slot
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}
