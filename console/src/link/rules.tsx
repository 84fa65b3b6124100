// Rules in their order: the first that fits says where a visitor is led. They are moved by buttons, so by keyboard as well.
import { useRef } from 'react'
import { Button } from 'react-aria-components/Button'
import { Choice, Field } from '../parts/fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { useWords } from '../words/words.tsx'
import { localOf, timeOf, type Rule } from './draft.ts'

type When = Rule['when']

const devices = ['mobile', 'tablet', 'desktop'] as const
const systems = ['android', 'ios', 'windows', 'macos', 'linux', 'chromeos'] as const
const systemNames = { android: 'Android', ios: 'iOS', windows: 'Windows', macos: 'macOS', linux: 'Linux', chromeos: 'ChromeOS' } // prettier-ignore

interface RulesProps {
  readonly rules: readonly Rule[]
  readonly onChange: (rules: readonly Rule[]) => void
  readonly isDisabled: boolean
  readonly problem: string | undefined
}

export function RulesEditor({ rules, onChange, isDisabled, problem }: RulesProps) {
  const words = useWords()
  const list = useRef<HTMLOListElement>(null)
  const move = (from: number, to: number): void => {
    const rule = rules[from]
    if (!rule || to < 0 || to >= rules.length) return
    const next = rules.toSpliced(from, 1)
    onChange(next.toSpliced(to, 0, rule))
    // The keyboard stays with the rule that it has moved.
    const direction = to < from ? 'up' : 'down'
    requestAnimationFrame(() => {
      const buttons = list.current?.children[to]?.querySelectorAll<HTMLButtonElement>('button[data-move]')
      const wanted = [...(buttons ?? [])].find((button) => button.dataset['move'] === direction && !button.disabled)
      ;(wanted ?? buttons?.[direction === 'up' ? 1 : 0])?.focus()
    })
  }
  return (
    <div className="stack">
      <p className="about">{words.rules.about}</p>
      {problem !== undefined && <p className="problem">{problem}</p>}
      <ol className="rules" ref={list}>
        {rules.map((rule, n) => (
          <li key={n} className="rule">
            <div className="row between">
              <h3>{words.rules.nth(n + 1)}</h3>
              <div className="row">
                <MoveButton
                  label={words.rules.up(n + 1)}
                  to="up"
                  isDisabled={isDisabled || n === 0}
                  onPress={() => move(n, n - 1)}
                />
                <MoveButton
                  label={words.rules.down(n + 1)}
                  to="down"
                  isDisabled={isDisabled || n === rules.length - 1}
                  onPress={() => move(n, n + 1)}
                />
                <Button
                  className="button bare"
                  aria-label={words.rules.remove(n + 1)}
                  isDisabled={isDisabled}
                  onPress={() => onChange(rules.toSpliced(n, 1))}
                >
                  <Icon name="trash" />
                </Button>
              </div>
            </div>
            <RuleFields rule={rule} onChange={(changed) => onChange(rules.with(n, changed))} isDisabled={isDisabled} />
          </li>
        ))}
      </ol>
      <Button
        className="button"
        isDisabled={isDisabled || rules.length >= 10}
        onPress={() => onChange([...rules, { url: '', when: { device: 'mobile' } }])}
      >
        <Icon name="plus" />
        {words.rules.add}
      </Button>
    </div>
  )
}

const MoveButton = ({
  label,
  to,
  isDisabled,
  onPress,
}: {
  label: string
  to: 'up' | 'down'
  isDisabled: boolean
  onPress: () => void
}) => (
  <Button className="button bare" aria-label={label} data-move={to} isDisabled={isDisabled} onPress={onPress}>
    <Icon name={to} />
  </Button>
)

/** `from=poster&page=1`, as people write a query. */
const queryText = (query: When['query']): string => new URLSearchParams(query).toString()

function queryOf(text: string): When['query'] {
  const entries = [...new URLSearchParams(text)].filter(([name]) => name !== '')
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function RuleFields({
  rule,
  onChange,
  isDisabled,
}: {
  readonly rule: Rule
  readonly onChange: (rule: Rule) => void
  readonly isDisabled: boolean
}) {
  const words = useWords()
  const { url, when } = rule
  const set = (part: When): void => onChange({ url, when: { ...when, ...part } })
  return (
    <>
      <div className="trio">
        <Choice
          label={words.rules.device}
          value={when.device ?? ''}
          options={[['', words.rules.any], ...devices.map((each) => [each, words.rules.devices[each]] as const)]}
          onChange={(device) => set({ device: device === '' ? undefined : device })}
          isDisabled={isDisabled}
        />
        <Choice
          label={words.rules.os}
          value={when.os ?? ''}
          options={[['', words.rules.any], ...systems.map((each) => [each, systemNames[each]] as const)]}
          onChange={(os) => set({ os: os === '' ? undefined : os })}
          isDisabled={isDisabled}
        />
        <Field
          label={words.rules.language}
          value={when.language ?? ''}
          placeholder={words.rules.any}
          onChange={(language) => set({ language: language.trim() === '' ? undefined : language.trim() })}
          isDisabled={isDisabled}
        />
      </div>
      <details
        className="hint"
        open={when.after !== undefined || when.before !== undefined || when.query !== undefined || undefined}
      >
        <summary>{words.rules.more}</summary>
        <div className="trio">
          <Field
            label={words.rules.after}
            type="datetime-local"
            value={localOf(when.after ?? null)}
            onChange={(at) => set({ after: timeOf(at) ?? undefined })}
            isDisabled={isDisabled}
          />
          <Field
            label={words.rules.before}
            type="datetime-local"
            value={localOf(when.before ?? null)}
            onChange={(at) => set({ before: timeOf(at) ?? undefined })}
            isDisabled={isDisabled}
          />
          <Field
            label={words.rules.query}
            placeholder="from=poster"
            value={queryText(when.query)}
            onChange={(text) => set({ query: queryOf(text) })}
            isDisabled={isDisabled}
          />
        </div>
      </details>
      <Field
        label={words.rules.url}
        type="url"
        placeholder="https://"
        value={url}
        onChange={(next) => onChange({ url: next, when })}
        isDisabled={isDisabled}
      />
    </>
  )
}
