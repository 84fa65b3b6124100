// Links that are chosen, and what can be done to all of them.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { answerOf, api, every, type Link } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { AboveForm, Ask } from '../parts/ask.tsx'
import { TagsField } from '../parts/tags-field.tsx'
import { useComplaint } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { ExportChosen } from './export.tsx'
import { askedOf, type ListQuery } from './query.ts'
import { useBulk } from './use-bulk.ts'

export const keyOf = ({ code, domain }: Pick<Link, 'code' | 'domain'>): string => `${domain ?? ''}/${code}`

export interface Selection {
  readonly has: (link: Link) => boolean
  readonly all: boolean
  readonly some: boolean
  /** With `isRange`, also those from the last one to this one. */
  readonly toggle: (link: Link, isRange: boolean) => void
  readonly toggleAll: () => void
  /** Also those of other pages are chosen. */
  readonly fits: boolean
  readonly chooseFitting: () => Promise<void>
  readonly clear: () => void
  readonly chosen: readonly Link[]
}

/** As many as a page keeps, to take back what is done to them. */
export const mostChosen = 5000

/** Of the page that is shown: what is not seen is not chosen, unless somebody chooses all that fit, on whichever page. */
export function useSelection(links: readonly Link[], query: ListQuery): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const [last, setLast] = useState<string>()
  const of = JSON.stringify([query.filters, query.sort])
  const [fitting, setFitting] = useState<{ readonly of: string; readonly links: readonly Link[] }>()
  const found = fitting?.of === of ? fitting.links : undefined
  const chosen = found ?? links.filter((link) => keys.has(keyOf(link)))
  const chosenKeys = new Set(chosen.map(keyOf))
  const has = (link: Link): boolean => chosenKeys.has(keyOf(link))
  const choose = (next: readonly Link[]): void => {
    setFitting(found && next.length > 0 ? { of, links: next } : undefined)
    setKeys(new Set(next.map(keyOf)))
  }
  return {
    chosen,
    has,
    all: links.length > 0 && links.every(has),
    some: chosen.length > 0,
    fits: found !== undefined,
    toggle(link, isRange) {
      const [from, to] = [links.findIndex((each) => keyOf(each) === last), links.indexOf(link)].sort((a, b) => a - b) as [number, number] // prettier-ignore
      const those = isRange && from >= 0 ? links.slice(from, to + 1) : [link]
      const toggled = new Set(those.map(keyOf))
      const others = chosen.filter((each) => !toggled.has(keyOf(each)))
      choose(has(link) ? others : [...others, ...those])
      setLast(keyOf(link))
    },
    toggleAll: () => choose(links.every(has) ? [] : links),
    async chooseFitting() {
      const next = await linksThatFit(query)
      setFitting({ of, links: next })
      setKeys(new Set())
    },
    clear: () => choose([]),
  }
}

async function linksThatFit(query: ListQuery): Promise<Link[]> {
  const links: Link[] = []
  const page = (cursor: string | undefined) =>
    answerOf(api.GET('/links', { params: { query: { ...askedOf({ ...query, cursor }), limit: 100 } } }))
  for await (const link of every(page)) {
    if (links.push(link) === mostChosen) break
  }
  return links
}

interface SelectionBarProps {
  readonly selection: Selection
  /** There are other pages. */
  readonly hasMore: boolean
}

export function SelectionBar({ selection, hasMore }: SelectionBarProps) {
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
            {chosen.length === mostChosen && ` ${words.bulk.most}`}
          </strong>
          {hasMore && selection.all && !selection.fits && <ChooseFitting selection={selection} />}
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
            onPress={() => void bulk.canRemake(chosen).then((can) => (can ? bulk.remove(chosen) : setAsked('remove')), () => setAsked('remove'))} // prettier-ignore
          >
            {words.links.delete}
          </Act>
          <ExportChosen links={chosen} />
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

function ChooseFitting({ selection: { chooseFitting } }: { readonly selection: Selection }) {
  const words = useWords()
  const choose = useMutation({
    mutationFn: chooseFitting,
    onError: useComplaint(),
  })
  return (
    <Act className="button small" isPending={choose.isPending} onPress={() => choose.mutate()}>
      {words.bulk.chooseFitting}
    </Act>
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
