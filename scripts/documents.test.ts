import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, normalize } from 'node:path'
import { expect, test } from 'vitest'

const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', '*.md'], { encoding: 'utf8' })
const documents = listed.split('\n').filter((path) => path !== '' && existsSync(path))
const textOf = (path: string): string => readFileSync(path, 'utf8')

/** As a reader of Markdown makes them of its headings. */
const anchorsOf = (path: string): string[] =>
  [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading.toLowerCase().replaceAll(/[^\w\- ]/g, '').trim().replaceAll(' ', '-'),
  ) // prettier-ignore

/** What the links of a document lead to, but do not find. */
function brokenLinksOf(document: string): string[] {
  const links = [...textOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to)
  return links.filter((to) => {
    if (/^[a-z]+:/.test(to)) return false
    const [path = '', anchor = ''] = to.split('#')
    const target = path === '' ? document : normalize(`${dirname(document)}/${path}`)
    if (!existsSync(target)) return true
    return anchor !== '' && target.endsWith('.md') && !anchorsOf(target).includes(anchor)
  })
}

test('every link from one document to another leads somewhere', () => {
  expect(documents).toContain('README.md')
  expect(Object.fromEntries(documents.map((path) => [path, brokenLinksOf(path)]).filter(([, broken]) => broken?.length))).toEqual({}) // prettier-ignore
})

test('README is a page, not a book', () => {
  const words = textOf('README.md')
    .split(/\s+/)
    .filter((word) => /\w/.test(word))
  expect(words.length).toBeLessThanOrEqual(900)
})

test('every command that a document names is one of the Makefile', () => {
  const targets = new Set(Array.from(textOf('Makefile').matchAll(/^([a-z0-9-]+):/gm), ([, name]) => name))
  const named = documents.filter((path) => !path.startsWith('docs/decisions/') && path !== 'CHANGELOG.md')
  for (const path of named) {
    const code = textOf(path).match(/```[^`]*```|`[^`]*`/g) ?? []
    const asked = code.flatMap((text) =>
      Array.from(text.matchAll(/(?:^|[\s`;(&])make (?:-s )?([a-z0-9-]+)/g), ([, name = '']) => name),
    )
    expect(
      asked.filter((name) => !targets.has(name)),
      path,
    ).toEqual([])
  }
})

test('every file that ARCHITECTURE.md names is there', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' }).split('\n')
  const named = Array.from(
    textOf('ARCHITECTURE.md').matchAll(/`([\w./-]+\.(?:ts|lua|sql|md|yml)|[\w./-]+\/)`/g),
    ([, name = '']) => name,
  )
  const isThere = (name: string): boolean =>
    files.some(
      (file) => existsSync(file) && `/${file}`.includes(`/${name}`) && (name.endsWith('/') || file.endsWith(name)),
    )
  expect(named.filter((name) => !isThere(name))).toEqual([])
})
