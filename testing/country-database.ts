// A database of countries in MaxMind's format (version 2), as small as it can be: a binary tree of address bits with 24 bits
// per record, the data behind it, and the metadata at the end. https://maxmind.github.io/MaxMind-DB/
import { isIPv4 } from 'node:net'

type Node = [Branch, Branch]
type Branch = Node | string | undefined

export function countryDatabase(networks: Readonly<Record<string, string>>): Buffer {
  const root: Node = [undefined, undefined]
  for (const [network, country] of Object.entries(networks)) add(root, network, country)
  const nodes: Node[] = []
  const number = (node: Node): void => {
    nodes.push(node)
    for (const branch of node) if (Array.isArray(branch)) number(branch)
  }
  number(root)
  const countries = [...new Set(Object.values(networks))]
  const records = countries.map((country) => map({ country: map({ iso_code: text(country) }) }))
  const places = countries.map((_, n) => Buffer.concat(records.slice(0, n)).length)
  const valueOf = (branch: Branch): number => {
    if (branch === undefined) return nodes.length
    // 16 bytes of zeros part the tree from the data.
    if (typeof branch === 'string') return nodes.length + 16 + places[countries.indexOf(branch)]!
    return nodes.indexOf(branch)
  }
  const tree = Buffer.alloc(nodes.length * 6)
  nodes.forEach((node, n) => node.forEach((branch, side) => tree.writeUIntBE(valueOf(branch), n * 6 + side * 3, 3)))
  const metadata = map({
    node_count: uint(6, nodes.length),
    record_size: uint(5, 24),
    ip_version: uint(5, 6),
    database_type: text('Test-Country'),
    languages: Buffer.from([0, 4]),
    binary_format_major_version: uint(5, 2),
    binary_format_minor_version: uint(5, 0),
    build_epoch: uint(6, 1_700_000_000),
    description: map({ en: text('countries of a test') }),
  })
  return Buffer.concat([tree, Buffer.alloc(16), ...records, Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'), metadata])
}

function add(root: Node, network: string, country: string): void {
  const [address = '', length = ''] = network.split('/')
  // IPv4 has the first 96 bits zero.
  const bits = isIPv4(address)
    ? '0'.repeat(96) + bitsOf(address.split('.').map(Number), 8)
    : bitsOf(groups(address), 16)
  const end = Number(length) + (isIPv4(address) ? 96 : 0)
  let node = root
  for (let n = 0; n < end - 1; n++) {
    const side = Number(bits[n])
    const next = node[side]
    node = Array.isArray(next) ? next : (node[side] = [undefined, undefined] as Node)
  }
  node[Number(bits[end - 1])] = country
}

const bitsOf = (numbers: readonly number[], width: number): string =>
  numbers.map((one) => one.toString(2).padStart(width, '0')).join('')

function groups(address: string): number[] {
  const [head = '', tail = ''] = address.split('::')
  const [left, right] = [head, tail].map((part) =>
    part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)),
  )
  return [...left!, ...new Array<number>(8 - left!.length - right!.length).fill(0), ...right!]
}

const text = (value: string): Buffer => Buffer.concat([Buffer.from([(2 << 5) | value.length]), Buffer.from(value)])

function map(fields: Readonly<Record<string, Buffer>>): Buffer {
  const all = Object.entries(fields)
  return Buffer.concat([Buffer.from([(7 << 5) | all.length]), ...all.flatMap(([name, value]) => [text(name), value])])
}

/** Of 16 bits (5) or of 32 (6). */
function uint(type: 5 | 6, value: number): Buffer {
  const bytes = Buffer.from(value.toString(16).padStart(8, '0'), 'hex')
  return Buffer.concat([Buffer.from([(type << 5) | 4]), bytes])
}
