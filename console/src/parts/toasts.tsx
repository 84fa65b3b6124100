// What has just happened, and how to take it back. Screen readers hear it; it goes by itself, but not while somebody is there.
import { useEffect, useState, useSyncExternalStore } from 'react'
import { Button } from 'react-aria-components/Button'
import { useWords } from '../words/words.tsx'
import { Icon } from './icon.tsx'
import { sentenceOf } from './page.tsx'

export interface Toast {
  readonly text: string
  readonly kind?: 'good' | 'bad'
  readonly actions?: readonly { readonly label: string; readonly act: () => void }[]
}

interface Shown extends Toast {
  readonly id: number
}

const mostAtOnce = 3
const lifeMs = 8000

let shown: readonly Shown[] = []
let last = 0
const listeners = new Set<() => void>()

function change(next: readonly Shown[]): void {
  shown = next
  for (const listener of listeners) listener()
}

export const toast = (one: Toast): void => change([...shown, { ...one, id: ++last }].slice(-mostAtOnce))

/** Says what went wrong. */
export function useComplaint(): (error: unknown) => void {
  const words = useWords()
  return (error) => toast({ kind: 'bad', text: sentenceOf(error, words) })
}

const dismiss = (id: number): void => change(shown.filter((each) => each.id !== id))

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function Toasts() {
  const words = useWords()
  const toasts = useSyncExternalStore(subscribe, () => shown)
  const [isHeld, setHeld] = useState(false)
  const first = toasts[0]?.id
  useEffect(() => {
    if (first === undefined || isHeld) return
    const timer = setTimeout(() => dismiss(first), lifeMs)
    return () => clearTimeout(timer)
  }, [first, isHeld])
  return (
    <section
      aria-label={words.toasts.label}
      className="toasts"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <div role="status" aria-live="polite">
        {toasts.map(({ id, text, kind = 'good', actions = [] }) => (
          <div key={id} className="toast" data-kind={kind}>
            <Icon name={kind === 'good' ? 'check' : 'alert'} />
            <p>{text}</p>
            {actions.map(({ label, act }) => (
              <Button
                key={label}
                className="button small"
                onPress={() => {
                  dismiss(id)
                  act()
                }}
              >
                {label}
              </Button>
            ))}
            <Button className="button bare small" aria-label={words.close} onPress={() => dismiss(id)}>
              <Icon name="close" />
            </Button>
          </div>
        ))}
      </div>
    </section>
  )
}
