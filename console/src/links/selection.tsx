// Links that are chosen, and what can be done to all of them.
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import type { Link } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { AboveForm, Ask } from '../parts/ask.tsx'
import { TagsField } from '../parts/tags-field.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { useBulk } from './use-bulk.ts'

export const keyOf = ({ code, domain }: Pick<Link, 'code' | 'domain'>): string => `${domain ?? ''}/${code}`

export interface Selection {
  readonly has: (link: Link) => boolean
  readonly all: boolean
  readonly some: boolean
  /** With `isRange`, also those from the last one to this one. */
  readonly toggle: (link: Link, isRange: boolean) => void
  readonly toggleAll: () => void
  readonly clear: () => void
  readonly chosen: readonly Link[]
}

/** Of the page that is shown: what is not seen is not chosen. */
export function useSelection(links: readonly Link[]): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const [last, setLast] = useState<string>()
  const chosen = links.filter((link) => keys.has(keyOf(link)))
  return {
    chosen,
    has: (link) => keys.has(keyOf(link)),
    all: links.length > 0 && chosen.length === links.length,
    some: chosen.length > 0,
    toggle(link, isRange) {
      const next = new Set(chosen.map(keyOf))
      const [from, to] = [links.findIndex((each) => keyOf(each) === last), links.indexOf(link)].sort((a, b) => a - b) as [number, number] // prettier-ignore
      const those = isRange && from >= 0 ? links.slice(from, to + 1) : [link]
      const isOn = !next.has(keyOf(link))
      for (const each of those) {
        if (isOn) next.add(keyOf(each))
        else next.delete(keyOf(each))
      }
      setKeys(next)
      setLast(keyOf(link))
    },
    toggleAll: () => setKeys(new Set(chosen.length === links.length ? [] : links.map(keyOf))),
    clear: () => setKeys(new Set()),
  }
}

export function SelectionBar({ selection }: { readonly selection: Selection }) {
  const words = useWords()
  const { tenant } = useMe()
  const { chosen, clear } = selection
  const [asked, setAsked] = useState<'tag' | 'remove'>()
  const close = (): void => setAsked(undefined)
  const bulk = useBulk(tenant, clear)
  const tags = [...new Set(chosen.flatMap((link) => link.tags))].sort()
  return (
    <>
      {chosen.length > 0 && (
        <div className="save" role="toolbar" aria-label={words.bulk.label}>
          <strong className="count" role="status">
            {words.bulk.chosen(chosen.length)}
          </strong>
          <Act className="button small" isPending={bulk.isPending} onPress={() => setAsked('tag')}>
            {words.bulk.tag}
          </Act>
          {tags.length > 0 && (
            <MenuTrigger>
              <Button className="button small">{words.bulk.untag}</Button>
              <Popover className="popover" placement="top">
                <Menu className="list" onAction={(tag) => bulk.untag(chosen, String(tag))}>
                  {tags.map((tag) => (
                    <MenuItem key={tag} id={tag} className="item" textValue={tag}>
                      {tag}
                    </MenuItem>
                  ))}
                </Menu>
              </Popover>
            </MenuTrigger>
          )}
          {[true, false].map((enabled) => (
            <Act
              key={String(enabled)}
              className="button small"
              isPending={bulk.isPending}
              onPress={() => bulk.setEnabled(chosen, enabled)}
            >
              {enabled ? words.links.enable : words.links.disable}
            </Act>
          ))}
          <Act
            className="button small danger"
            isPending={bulk.isPending}
            onPress={() => (bulk.canRemake(chosen) ? bulk.remove(chosen) : setAsked('remove'))}
          >
            {words.links.delete}
          </Act>
          <Button className="button small bare" onPress={clear}>
            {words.bulk.clear}
          </Button>
        </div>
      )}
      <TagThem
        isOpen={asked === 'tag'}
        n={chosen.length}
        onClose={close}
        onTags={(added) => {
          close()
          bulk.tag(chosen, added)
        }}
      />
      <Ask
        title={words.bulk.deleteAsk(chosen.length)}
        isOpen={asked === 'remove'}
        onClose={close}
        act={words.links.delete}
        onAct={() => {
          close()
          bulk.remove(chosen)
        }}
      >
        <p>{words.bulk.deleteForGood}</p>
      </Ask>
    </>
  )
}

function TagThem({
  isOpen,
  n,
  onClose,
  onTags,
}: {
  readonly isOpen: boolean
  readonly n: number
  readonly onClose: () => void
  readonly onTags: (tags: readonly string[]) => void
}) {
  const words = useWords()
  const [tags, setTags] = useState<readonly string[]>([])
  return (
    <AboveForm
      title={words.bulk.tagTitle(n)}
      isOpen={isOpen}
      onClose={onClose}
      act={words.bulk.tag}
      onAct={() => {
        onTags(tags)
        setTags([])
      }}
      isDisabled={tags.length === 0}
    >
      <TagsField tags={tags} onChange={setTags} />
    </AboveForm>
  )
}
