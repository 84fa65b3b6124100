// How many different visitors, without keeping who they were: HyperLogLog with 4,096 registers of 6 bits (1.6 % error).
// Few visitors are a sorted list of the registers that are not zero; a link with 20 a day takes 61 bytes, not 3 kB.
//
//   1, then three bytes per register: 12 bits of its index, 6 of its rank     sparse
//   2, then 4,096 ranks of 6 bits                                             dense
import { isDeepStrictEqual } from 'node:util'

/** As they are kept and sent. */
export type Registers = Uint8Array

const indexBits = 12
const count = 1 << indexBits
const sparseForm = 1
const denseForm = 2
const denseBytes = 1 + (count * 6) / 8
/** Beyond it a list would soon be no shorter. */
const sparseMost = 200
/** Of a hash of 64 bits. */
const highestRank = 64 - indexBits + 1

/** The register that a hash of at least 8 random bytes means, and its rank, in one number. */
export function registerOf(hash: Buffer): number {
  const high = hash.readUInt32BE(0)
  const low = hash.readUInt32BE(4)
  const index = high >>> (32 - indexBits)
  const rest = (high << indexBits) >>> 0
  const zeros = rest === 0 ? 32 - indexBits + Math.clz32(low) : Math.clz32(rest)
  return (index << 6) | Math.min(zeros + 1, highestRank)
}

/** Of registers as `registerOf` tells them, in any order and as often as they come. */
export function encode(registers: Iterable<number>): Registers {
  const ranks = new Map<number, number>()
  for (const register of registers) raise(ranks, register >>> 6, register & 63)
  return pack(ranks)
}

/** The registers that are not zero. Undefined: it is none of ours. */
export function decode(bytes: Registers): Map<number, number> | undefined {
  const ranks = new Map<number, number>()
  if (bytes[0] === sparseForm && bytes.length % 3 === 1) {
    for (let at = 1; at < bytes.length; at += 3) {
      const register = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
      const index = register >>> 6
      if (index >= count) return undefined
      raise(ranks, index, register & 63)
    }
  } else if (bytes[0] === denseForm && bytes.length === denseBytes) {
    for (let index = 0; index < count; index++) raise(ranks, index, rankAt(bytes, index))
  } else return undefined
  for (const rank of ranks.values()) if (rank > highestRank) return undefined
  return ranks
}

/** What both have seen. One that is none of ours says nothing. */
export function merge(a: Registers, b: Registers): Registers {
  if (isDeepStrictEqual(a, b)) return a
  const ranks = decode(a) ?? new Map<number, number>()
  for (const [index, rank] of decode(b) ?? []) raise(ranks, index, rank)
  return pack(ranks)
}

/** How many visitors it has seen, about. */
export function estimate(bytes: Registers): number {
  const ranks = decode(bytes) ?? new Map<number, number>()
  const zeros = count - ranks.size
  let sum = zeros
  for (const rank of ranks.values()) sum += 2 ** -rank
  const alpha = 0.7213 / (1 + 1.079 / count)
  const raw = (alpha * count * count) / sum
  // While many registers are zero, their number says more.
  const linear = count * Math.log(count / zeros)
  return Math.round(zeros > 0 && raw <= 2.5 * count ? linear : raw)
}

function raise(ranks: Map<number, number>, index: number, rank: number): void {
  if (rank > (ranks.get(index) ?? 0)) ranks.set(index, rank)
}

function pack(ranks: Map<number, number>): Registers {
  const sorted = [...ranks].sort(([a], [b]) => a - b)
  if (sorted.length <= sparseMost) {
    const bytes = new Uint8Array(1 + sorted.length * 3)
    bytes[0] = sparseForm
    sorted.forEach(([index, rank], n) => {
      const register = (index << 6) | rank
      bytes.set([register >>> 16, (register >>> 8) & 255, register & 255], 1 + n * 3)
    })
    return bytes
  }
  const bytes = new Uint8Array(denseBytes)
  bytes[0] = denseForm
  for (const [index, rank] of sorted) setRank(bytes, index, rank)
  return bytes
}

/** Four ranks in three bytes. */
function rankAt(bytes: Registers, index: number): number {
  const bit = index * 6
  const at = 1 + (bit >>> 3)
  const two = (bytes[at]! << 8) | (bytes[at + 1] ?? 0)
  return (two >>> (10 - (bit & 7))) & 63
}

function setRank(bytes: Registers, index: number, rank: number): void {
  const bit = index * 6
  const at = 1 + (bit >>> 3)
  const two = rank << (10 - (bit & 7))
  bytes[at]! |= two >>> 8
  if (at + 1 < bytes.length) bytes[at + 1]! |= two & 255
}
