// Figures and tables as text, alike in every report.

/** Three digits that mean something; all digits before the point. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export const percent = (share: number): string => `${short(100 * share)} %`

/** Of milliseconds, for a sentence. */
export const duration = (ms: number): string =>
  Math.abs(ms) < 1000 ? `${short(Math.round(ms))} ms` : `${short(ms / 1000)} s`

const cell = (text: string | number): string => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')

/** A table of Markdown, and an empty line. */
export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] => [
  `| ${head.map(cell).join(' | ')} |`,
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
  '',
]

/** As it stands in HTML and SVG. */
export const escape = (text: string | number): string =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
