import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { placesIn } from './paths.ts'
import { alertmanagerConfig, hearersIn, writeForContainer } from './receiver.ts'

const dir = mkdtempSync(join(tmpdir(), 'quicklink-receiver-'))
afterAll(() => rmSync(dir, { recursive: true }))

const url = 'https://hooks.example.org/secret'
const mail = { ALERT_EMAIL: 'a@example.org, b@example.org', ALERT_SMTP: 'smtp.example.org:587' }
const refusal = (env: NodeJS.ProcessEnv) => () => alertmanagerConfig(env)

test('without a receiver nobody is told; a webhook and a mail address are told wherever nobody was', () => {
  expect(hearersIn(alertmanagerConfig({}))).toEqual([])
  expect(hearersIn(alertmanagerConfig({ ALERT_WEBHOOK_URL: url }))).toEqual(['webhook'])
  const both = alertmanagerConfig({ ALERT_WEBHOOK_URL: url, ...mail })
  expect(hearersIn(both)).toEqual(['webhook', 'email'])
  expect(JSON.stringify(both.route)).not.toContain('nobody')
  expect(both.receivers.find(({ name }) => name === 'told')).toEqual({
    name: 'told',
    webhook_configs: [{ url, send_resolved: true }],
    email_configs: [{ to: mail.ALERT_EMAIL, from: 'a@example.org', smarthost: mail.ALERT_SMTP, send_resolved: true }],
  })
})

test('a mail server has an account by name and file, and needs no certificate on this machine', () => {
  const file = join(dir, 'password')
  writeFileSync(file, 'geheim\n')
  const account = { ALERT_SMTP_USER: 'me', ALERT_SMTP_PASSWORD_FILE: file, ALERT_FROM: 'ql@example.org' }
  const emailOf = (env: NodeJS.ProcessEnv): object =>
    (alertmanagerConfig(env).receivers.find(({ name }) => name === 'told')?.['email_configs'] as [object])[0]
  expect(emailOf({ ...mail, ...account })).toMatchObject({
    from: 'ql@example.org',
    auth_username: 'me',
    auth_password: 'geheim',
  })
  expect(emailOf({ ...mail, ...account })).not.toHaveProperty('require_tls')
  expect(emailOf({ ...mail, ALERT_SMTP: 'localhost:25' })).toMatchObject({ require_tls: false })
})

test('what contradicts itself is refused with a sentence that repeats no secret', () => {
  expect(refusal({ ALERT_WEBHOOK_URL: 'hooks.example.org/secret' })).toThrow(
    /^ALERT_WEBHOOK_URL must begin with http:\/\/ or https:\/\/\.$/,
  )
  expect(refusal({ ALERT_EMAIL: 'a@example.org' })).toThrow('ALERT_EMAIL needs ALERT_SMTP=host:port')
  expect(refusal({ ALERT_SMTP: 'smtp.example.org:587' })).toThrow('no ALERT_EMAIL')
  expect(refusal({ ...mail, ALERT_SMTP: 'smtp.example.org' })).toThrow('must be host:port')
  expect(refusal({ ...mail, ALERT_SMTP_USER: 'me' })).toThrow('go together')
  const nowhere = { ALERT_SMTP_USER: 'me', ALERT_SMTP_PASSWORD_FILE: join(dir, 'absent') }
  expect(refusal({ ...mail, ...nowhere })).toThrow(/absent, which cannot be read \(ENOENT\)/)
  expect(refusal({ ALERTMANAGER_CONFIG: join(dir, 'absent') })).toThrow('which is not there')
})

test('a file of its own keeps its receivers, and says who hears by them', () => {
  const file = join(dir, 'own.yml')
  writeFileSync(file, 'route: { receiver: chat }\nreceivers: [{ name: chat, slack_configs: [{ channel: x }] }, { name: idle, email_configs: [] }]') // prettier-ignore
  expect(hearersIn(alertmanagerConfig({ ALERTMANAGER_CONFIG: file }))).toEqual(['slack'])
  expect(hearersIn(alertmanagerConfig({ ALERTMANAGER_CONFIG: file, ALERT_WEBHOOK_URL: url }))).toEqual(['slack'])
})

test('the copy for the container says whether it is another one, and goes with the setting', () => {
  const places = placesIn(dir)
  expect(writeForContainer(places, {})).toBeUndefined()
  const file = places.alertmanagerFile
  expect(writeForContainer(places, { ALERT_WEBHOOK_URL: url })).toEqual({ file, changed: true })
  expect(writeForContainer(places, { ALERT_WEBHOOK_URL: url })).toEqual({ file, changed: false })
  expect(readFileSync(file, 'utf8')).toContain(url)
  // Its reader's alone, as root; else the folder keeps others away.
  chmodSync(dir, 0o700)
  if (process.getuid?.() === 0) expect([statSync(file).uid, statSync(file).mode & 0o777]).toEqual([65534, 0o600])
  writeForContainer(places, {})
  expect(() => statSync(file)).toThrow('ENOENT')
})
