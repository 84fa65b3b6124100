import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { countryDatabase } from '../../testing/country-database.ts'
import { Countries } from './countries.ts'

let file: string
let errors: string[]
beforeEach(() => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-countries-'))
  file = join(dir, 'countries.mmdb')
  errors = []
  return () => rmSync(dir, { recursive: true, force: true })
})

/** As an update does it: a new file in the place of the old one. */
function put(bytes: Buffer): void {
  writeFileSync(`${file}.new`, bytes)
  renameSync(`${file}.new`, file)
}
const open = (): Countries => new Countries({ file, onError: (_, what) => errors.push(what), lookMs: 1e6 })

it('tells the country of an address of either kind, and none where the database has none', async () => {
  put(countryDatabase({ '192.0.2.0/24': 'DE', '198.51.100.7/32': 'FR', '2001:db8:1::/48': 'JP' }))
  const countries = open()
  await countries.look()
  const found = ['192.0.2.1', '192.0.2.255', '192.0.3.1', '198.51.100.7', '198.51.100.8', '2001:db8:1::5', '2001:db8:2::5', '', 'x', '1.2.3'] // prettier-ignore
  expect(found.map((address) => countries.of(address))).toEqual(['DE', 'DE', undefined, 'FR', undefined, 'JP', undefined, undefined, undefined, undefined]) // prettier-ignore
  countries.stop()
})

it('is read again when the file has changed; one that is none, or gone, leaves what was known', async () => {
  put(countryDatabase({ '192.0.2.0/24': 'DE' }))
  const countries = open()
  await countries.look()
  put(countryDatabase({ '192.0.2.0/24': 'AT' }))
  await countries.look()
  expect([countries.of('192.0.2.1'), errors]).toEqual(['AT', []])
  put(Buffer.from('no database'))
  await countries.look()
  rmSync(file)
  await countries.look()
  expect(countries.of('192.0.2.1')).toBe('AT')
  expect(errors).toHaveLength(2)
  expect(errors[0]).toContain('GEOIP_FILE')
  countries.stop()
})

it('whatever bytes the file has, a visit is told without its country at worst', async () => {
  const whole = countryDatabase({ '192.0.2.0/24': 'DE', '2001:db8::/32': 'JP' })
  for (let at = 0; at < whole.length; at += 3) {
    const bytes = Buffer.from(whole)
    bytes[at] = bytes[at]! ^ 0x5a
    put(bytes)
    const countries = open()
    await countries.look()
    expect([undefined, expect.stringMatching(/^[A-Z]{2}$/)]).toContainEqual(countries.of('192.0.2.1'))
    countries.stop()
  }
})
