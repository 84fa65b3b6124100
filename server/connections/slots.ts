// Which slot of a Redis Cluster a key lies in, and tags for partitions: as far from one another as they can be, so that
// nodes with as many slots have as many partitions. (Of random tags some node has a third more than its share.)
export const slotCount = 16_384

/** CRC16 as Redis takes it (XMODEM), of ASCII. */
function crc16(text: string): number {
  let crc = 0
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at) << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1
  }
  return crc
}

/** Only what stands between the first { and the next } counts, where there is something. */
export function slotOf(key: string): number {
  const [, tag] = /^[^{]*\{([^}]+)\}/.exec(key) ?? []
  return crc16(tag ?? key) % slotCount
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/**
 * A tag for each of so many partitions. Their number is a part of it: the partitions of another number have other keys, so
 * that what they have kept is not taken for these ones'.
 */
export function tagsFor(partitions: number): string[] {
  const wanted = new Map(
    Array.from({ length: partitions }, (_, n) => [Math.floor(((n + 0.5) * slotCount) / partitions), n]),
  )
  const tags = Array.from<string>({ length: partitions })
  const begin = partitions.toString(36)
  for (let n = 0; wanted.size > 0; n++) {
    const [a, b, c] = [n % 62, Math.floor(n / 62) % 62, Math.floor(n / 3844)]
    const name = `${begin}${letters.charAt(c)}${letters.charAt(b)}${letters.charAt(a)}`
    const slot = crc16(name) % slotCount
    const partition = wanted.get(slot)
    if (partition === undefined) continue
    wanted.delete(slot)
    tags[partition] = `{${name}}`
  }
  return tags
}

/** The partition of a code or a tenant: FNV-1a of its name. The same for ever, or what is in Redis would be in the wrong place. */
export function partitionOf(name: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % partitions
}
