// Every regular expression of the server, on 64 kB of what it likes least: pieces of its own alphabet, again and again, and
// then something that fits nowhere. What is quadratic takes seconds there, what is linear a millisecond. Lint looks at the
// same expressions without running them (eslint-plugin-regexp).
import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = new URL('.', import.meta.url).pathname
const usual = 65_536
/** CPU time: a busy machine does not lengthen it. A quadratic expression takes seconds. */
const boundMs = 50

interface Expression {
  readonly where: string
  readonly source: string
  readonly flags: string
}

function expressionsOf(file: string, text: string): Expression[] {
  const found: Expression[] = []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    const where = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      found.push({ where, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    } else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp') {
      const [pattern, flags] = node.arguments ?? []
      if (!pattern || !ts.isStringLiteralLike(pattern) || (flags && !ts.isStringLiteralLike(flags))) {
        throw new Error(`${where} puts a regular expression together: it cannot be judged before it runs`)
      }
      found.push({ where, source: pattern.text, flags: flags?.text ?? '' })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Characters and words that stand in it; a class of characters is any one of them. */
function alphabet({ source }: Expression): { characters: string[]; words: string[] } {
  const classes: Record<string, string> = { d: '0', s: ' ', w: 'a', n: '\n', r: '\r', t: '\t', D: 'a', S: 'a', W: ' ', p: 'a', P: 'a' } // prettier-ignore
  const plain = source
    .replace(/\\[pP]\{[^}]*\}/g, '\\w')
    .replace(/\\u\{?([0-9a-f]+)\}?|\\x([0-9a-f]{2})/gi, (_, u: string, x: string) =>
      String.fromCodePoint(parseInt(u || x, 16)),
    )
    .replace(/\\(.)/g, (_, letter: string) => classes[letter] ?? letter)
    .replace(/\(\?(?:[:=!]|<[=!]|<\w+>)|\{\d+(?:,\d*)?\}/g, '|')
  const words = plain.split(/\[[^\]]*\]|[()|*+?^$]/).filter((word) => word.length > 1 && word.length < 24)
  const characters = new Set([
    ...Array.from(plain.replace(/[()|*+?^$[\]]/g, '')),
    ...(plain.includes('[^') ? ['é'] : []),
    'a',
  ])
  return { characters: [...characters].slice(0, 24), words: [...new Set(words)] }
}

function* worstCases(expression: Expression, length: number): Generator<string> {
  const { characters, words } = alphabet(expression)
  const few = characters.slice(0, 10)
  const pairs = few.flatMap((one) => few.map((other) => one + other))
  const mixed = words.flatMap((word) => few.map((one) => word + one))
  for (const piece of new Set([...characters, ...words, ...pairs, ...mixed])) {
    const pumped = piece.repeat(Math.ceil(length / piece.length))
    for (const end of ['', '\u0000', '"\n']) yield pumped + end
    for (const word of words) yield `${word}${pumped}\u0000`
  }
}

const cpuMs = (run: () => void): number => {
  const began = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(began)
  return (user + system) / 1000
}

/** The first text that takes too long, three times in a row: the first time also compiles. */
function tooSlow(expression: Expression, length = usual): string | undefined {
  const compiled = new RegExp(expression.source, expression.flags)
  const run = (text: string) => (): void => {
    compiled.lastIndex = 0
    if (compiled.global) text.replace(compiled, '')
    else compiled.test(text)
  }
  for (const text of worstCases(expression, length)) {
    if ([1, 2, 3].every(() => cpuMs(run(text)) > boundMs)) {
      return `${expression.where} /${expression.source}/ on ${JSON.stringify(text.slice(0, 40))}…`
    }
  }
  return undefined
}

const files = globSync('**/*.ts', { cwd: root }).filter((file) => !/(^testing\/|\.(test|stub)\.ts$)/.test(file))
const all = files.flatMap((file) => expressionsOf(file, readFileSync(root + file, 'utf8')))

test('no regular expression of the server takes longer than linear time', { timeout: 120_000 }, () => {
  expect(all.length).toBeGreaterThan(40)
  expect(all.flatMap((expression) => tooSlow(expression) ?? [])).toEqual([])
})

test.each(['[a-z][a-z0-9+.-]*:\\/\\/', '(\\/[^\\s"\\\\?]*)\\?[^\\s"\\\\]+', '\\.+$'])(
  'the quadratic /%s/ would be found, on a quarter of that',
  { timeout: 60_000 },
  (source) => expect(tooSlow({ where: 'here', source, flags: 'g' }, usual / 4)).toContain(source),
)
