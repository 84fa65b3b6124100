// What is shared, in parts: a single Redis is one, a cluster has many, and every code and tenant is in one of them.
import { partitionOf } from './slots.ts'

export class Partitions<P> {
  readonly all: readonly P[]

  /** At least one. */
  constructor(all: readonly P[]) {
    this.all = all
  }

  indexOf(name: string): number {
    return this.all.length === 1 ? 0 : partitionOf(name, this.all.length)
  }

  of(name: string): P {
    return this.all[this.indexOf(name)]!
  }

  map<Q>(make: (part: P, index: number) => Q): Partitions<Q> {
    return new Partitions(this.all.map(make))
  }

  /** In their order, by the partition of their names. */
  group<T>(items: readonly T[], nameOf: (item: T) => string): Map<number, T[]> {
    const groups = new Map<number, T[]>()
    for (const item of items) {
      const index = this.indexOf(nameOf(item))
      const group = groups.get(index)
      if (group) group.push(item)
      else groups.set(index, [item])
    }
    return groups
  }
}
