// Colours of reports and plots: what each means, on light and on dark paper. Whoever draws writes `var(--name)`, so that a
// page follows its reader without a script.

/** On light paper, on dark paper. */
const colours = {
  paper: ['#ffffff', '#14171c'],
  ink: ['#1c2024', '#e8eaed'],
  soft: ['#5b626a', '#a2abb5'],
  grid: ['#e2e5e9', '#2d333b'],
  good: ['#0b6e4f', '#3ecf8e'],
  warn: ['#8a5a00', '#f0b429'],
  bad: ['#a3201b', '#ff7b72'],
  // Okabe and Ito's, without the yellow, which vanishes on paper.
  blue: ['#0072b2', '#5ab4ec'],
  orange: ['#d55e00', '#ff9457'],
  green: ['#009e73', '#3fd0a4'],
  pink: ['#b8589a', '#e29ccb'],
  sky: ['#3f97cf', '#8fd0ff'],
  amber: ['#c98a00', '#f2c14e'],
  grey: ['#7c848c', '#8b949e'],
  baseline: ['#eaf3ed', '#17231c'],
  fault: ['#fbe5de', '#34201c'],
  recovery: ['#e4edf8', '#172533'],
  after: ['#f3f3ee', '#1e2126'],
} as const

type Colour = keyof typeof colours

export const colour = (name: Colour): string => `var(--${name})`

/** Of a line or an area, by what it shows: the same in every plot. */
const meanings: Readonly<Record<string, Colour>> = {
  p50: 'blue', p95: 'sky', p99: 'orange', 'p99.9': 'pink', slowest: 'grey',
  redirects: 'green', '301': 'green', '302': 'green', '404': 'grey', '429': 'amber', '503': 'orange', none: 'bad', wrong: 'bad', 'other or none': 'bad', offered: 'ink',
  'tier 1': 'green', Redis: 'blue', Postgres: 'pink',
  server: 'orange', generator: 'grey', 'other programs': 'amber', idle: 'soft',
} // prettier-ignore
const others: readonly Colour[] = ['blue', 'orange', 'green', 'pink', 'sky', 'amber', 'grey', 'ink']

export const colourOf = (series: string, n: number): string => colour(meanings[series] ?? others[n % others.length]!)

const phases: readonly Colour[] = ['baseline', 'fault', 'recovery', 'after']
export const shadeOf = (phase: string, n: number): string =>
  colour(phases.find((known) => known === phase) ?? (n % 2 === 0 ? 'after' : 'recovery'))

const declared = (paper: 0 | 1): string =>
  Object.entries(colours).map(([name, pair]) => `--${name}:${pair[paper]}`).join(';') // prettier-ignore

/** What pages and plots begin their style with. */
export const themeStyle = `:root{color-scheme:light dark;${declared(0)}}
@media (prefers-color-scheme: dark){:root{${declared(1)}}}
@media print{:root{color-scheme:light;${declared(0)}}}`
