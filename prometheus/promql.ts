// Just enough of PromQL and of the rule files for the tests; promtool judges the grammar.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}

export function rulesIn(file: string): Rule[] {
  const { groups } = parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as RuleFile
  return groups.flatMap(({ rules }) => rules)
}

const words = new Set(
  'sum min max avg count rate increase histogram_quantile clamp_max clamp_min vector absent count_over_time max_over_time avg_over_time or and unless on by bool group_left'.split(
    ' ',
  ),
)

/** The names of the metrics that an expression reads. */
export function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replace(/\b(by|on|group_left|without|ignoring)\s*\([^)]*\)/g, '')
    .replace(/(?<![\w:])\d[\w.]*/g, '')
  return (bare.match(/[a-zA-Z_:][\w:]*/g) ?? []).filter((word) => !words.has(word))
}

/** `0.9` of `… < 0.9 and …`. */
export function thresholdOf(expr: string): number {
  const [, first = '', second = '1'] = /[<>]=?\s*([\d.e]+)(?:\s*\*\s*([\d.]+))?/.exec(expr) ?? []
  return Number(first) * Number(second)
}
