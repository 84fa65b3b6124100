// Links that are here already, as the API writes those that it exports: the same columns, and the same guard against formulas.
import type { Link } from '../api.ts'

const names = ['code', 'domain', 'shortUrl', 'url', 'title', 'note', 'tags', 'enabled', 'permanent', 'startsAt', 'expiresAt', 'expiredUrl', 'forwardQuery', 'monthlyHits', 'rules', 'hasPassword', 'clicks', 'state', 'tenant', 'createdBy', 'createdAt', 'updatedAt'] as const // prettier-ignore

function textOf(link: Link, name: (typeof names)[number]): string {
  if (name === 'tags') return link.tags.join('|')
  if (name === 'rules') return link.rules.length === 0 ? '' : JSON.stringify(link.rules)
  return String(link[name] ?? '')
}

function cellOf(text: string): string {
  const plain = /^[=+\-@\t\r']/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

export const csvOf = (links: readonly Link[]): string =>
  [names, ...links.map((link) => names.map((name) => textOf(link, name)))]
    .map((row) => `${row.map(cellOf).join(',')}\r\n`)
    .join('')

export const ndjsonOf = (links: readonly Link[]): string => links.map((link) => `${JSON.stringify(link)}\n`).join('')
