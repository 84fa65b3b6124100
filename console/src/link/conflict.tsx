// Somebody else was faster: both versions, side by side, and one of them is chosen.
import { Button } from 'react-aria-components/Button'
import { Above } from '../parts/dialog.tsx'
import { useWords } from '../words/words.tsx'
import type { Draft } from './draft.ts'

interface ConflictProps {
  /** What both have begun with. */
  readonly base: Draft
  readonly mine: Draft
  readonly theirs: Draft
  readonly onMine: () => void
  readonly onTheirs: () => void
  readonly onClose: () => void
}

const names = ['url', 'title', 'tags', 'note', 'startsAt', 'expiresAt', 'expiredUrl', 'monthlyHits', 'forwardQuery', 'permanent', 'rules'] as const // prettier-ignore

export function Conflict({ base, mine, theirs, onMine, onTheirs, onClose }: ConflictProps) {
  const words = useWords()
  const shown = (value: Draft[(typeof names)[number]]): string => {
    if (typeof value === 'string') return value === '' ? '–' : value.replace('T', ' ')
    if (typeof value === 'boolean') return value ? words.yes : words.no
    return value.length === 0 ? '–' : value.map((each) => (typeof each === 'string' ? each : `${Object.entries(each.when).map(([name, is]) => `${name} ${JSON.stringify(is)}`).join(', ')} → ${each.url}`)).join('; ') // prettier-ignore
  }
  const differs = (one: Draft, other: Draft, name: (typeof names)[number]): boolean =>
    JSON.stringify(one[name]) !== JSON.stringify(other[name])
  const touched = names.filter((name) => differs(base, mine, name) || differs(base, theirs, name))
  return (
    <Above title={words.conflict.title} isOpen onClose={onClose} isWide>
      <p>{words.conflict.about}</p>
      <div className="scroll" tabIndex={0} role="region" aria-label={words.conflict.title}>
        <table className="plain">
          <thead>
            <tr>
              <td />
              <th scope="col">{words.conflict.yours}</th>
              <th scope="col">{words.conflict.theirs}</th>
            </tr>
          </thead>
          <tbody>
            {touched.map((name) => (
              <tr key={name}>
                <th scope="row">{words.link[name]}</th>
                <td>{shown(differs(base, mine, name) ? mine[name] : theirs[name])}</td>
                <td>{shown(theirs[name])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="dialog-end">
        <Button className="button" onPress={onTheirs}>
          {words.conflict.takeTheirs}
        </Button>
        <Button className="button strong" onPress={onMine}>
          {words.conflict.keepMine}
        </Button>
      </div>
    </Above>
  )
}
