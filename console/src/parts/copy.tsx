// Copying an address. Where the browser refuses, the address itself is in reach of a hand.
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { useWords } from '../words/words.tsx'
import { Icon } from './icon.tsx'

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

const shownMs = 1500

interface CopyButtonProps {
  readonly text: string
  /** What is copied, for who does not see where the button stands. */
  readonly label: string
  readonly withWord?: boolean
}

export function CopyButton({ text, label, withWord = false }: CopyButtonProps) {
  const words = useWords()
  const [outcome, setOutcome] = useState<'copied' | 'refused'>()
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), shownMs)
    return () => clearTimeout(timer)
  }, [outcome])
  const said = outcome === undefined ? undefined : words.copying[outcome]
  return (
    <Button
      className={withWord ? 'button' : 'button bare'}
      aria-label={withWord ? undefined : (said ?? `${words.copying.copy}: ${label}`)}
      onPress={() => void copy(text).then((isCopied) => setOutcome(isCopied ? 'copied' : 'refused'))}
    >
      <Icon name={outcome === 'copied' ? 'check' : outcome === 'refused' ? 'alert' : 'copy'} />
      {withWord && <span>{said ?? words.copying.copy}</span>}
    </Button>
  )
}
