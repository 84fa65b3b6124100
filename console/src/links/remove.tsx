// A link is deleted at once where that can be taken back. Only where it cannot, somebody is asked.
import { useState, type ReactNode } from 'react'
import type { Link } from '../api.ts'
import { Ask } from '../parts/ask.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { remake, shortOf, useLinkWrites } from './use-link-writes.ts'

export function useRemove(
  link: Link,
  onRemoved: () => void = () => undefined,
): { remove: () => void; question: ReactNode } {
  const words = useWords()
  const { tenant } = useMe()
  const [isAsking, setAsking] = useState(false)
  const writes = useLinkWrites(tenant)
  const removeNow = (): void => {
    setAsking(false)
    writes.remove.mutate(link, { onSuccess: onRemoved })
  }
  const canUndo = link.tenant === tenant && remake(link) !== undefined
  return {
    remove: canUndo ? removeNow : () => setAsking(true),
    question: (
      <Ask
        title={words.links.deleteAsk(shortOf(link))}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        act={words.links.delete}
        onAct={removeNow}
      >
        <p>{words.links.deleteForGood}</p>
      </Ask>
    ),
  }
}
