import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { placesIn, projectDir } from './paths.ts'
import { onPath } from './redis-process.ts'
import { unit } from './service.ts'

const text = unit(placesIn('/srv/100% "links"'), { PATH: '/usr/bin' })

test('the unit starts and stops what make up and make down do, in this folder', () => {
  expect(text).toContain(`WorkingDirectory=${projectDir}\n`)
  expect(text).toMatch(/^ExecStart="[^"]+\/node" .*appliance\/cli\.ts" "up"$/m)
  expect(text).toMatch(/^ExecStop=.* "down"$/m)
  expect(text).toContain('"DATA_DIR=/srv/100%% \\"links\\""')
})

test('a dollar sign in the place of a program is no variable', () => {
  const { execPath } = process
  process.execPath = '/opt/$NODE/bin/node'
  expect(unit(placesIn('/srv/links'))).toContain('ExecStart="/opt/$$NODE/bin/node" ')
  process.execPath = execPath
})

// Where there is no systemd, nobody can say.
test.skipIf(onPath('systemd-analyze') === undefined)('systemd finds no fault with it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-unit-'))
  writeFileSync(join(dir, 'quicklink.service'), text)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(dir, 'quicklink.service')], {
    encoding: 'utf8',
  })
  rmSync(dir, { recursive: true })
  expect([status, stderr.split('\n').filter((line) => line.includes('quicklink.service'))]).toEqual([0, []])
})
