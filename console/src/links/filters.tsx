// What narrows the list, and in which order it is.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { answerOf, api } from '../api.ts'
import { Choice } from '../parts/fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { useShortcut } from '../parts/shortcuts.tsx'
import { useMe } from '../session.tsx'
import { pageState } from '../state.ts'
import { useWords } from '../words/words.tsx'
import { columns, sorts, states, type Column, type Filter, type ListQuery, type useListQuery } from './query.ts'

interface FiltersProps {
  readonly query: ListQuery
  readonly change: ReturnType<typeof useListQuery>['change']
}

export function Filters({ query, change }: FiltersProps) {
  const words = useWords()
  const { filters, sort } = query
  const { tags, domains } = useWhatThereIs()
  return (
    <div className="filters">
      <Search value={filters.q ?? ''} onChange={(q) => change({ q }, true)} />
      <Choice
        label={words.filters.state}
        isLabelHidden
        value={filters.state ?? ''}
        options={[['', words.filters.anyState], ...states.map((each) => [each, words.states[each]] as const)]}
        onChange={(state) => change({ state })}
      />
      {tags.length > 0 && (
        <Choice
          label={words.filters.tag}
          isLabelHidden
          value={filters.tag ?? ''}
          options={[['', words.filters.anyTag], ...tags.map((tag) => [tag, tag] as const)]}
          onChange={(tag) => change({ tag })}
        />
      )}
      {domains.length > 1 && (
        <Choice
          label={words.filters.domain}
          isLabelHidden
          value={filters.domain ?? ''}
          options={[['', words.filters.anyDomain], ...domains.map((host) => [host, host] as const)]}
          onChange={(domain) => change({ domain })}
        />
      )}
      <Choice
        label={words.filters.sort}
        isLabelHidden
        value={sort}
        options={sorts.map((each) => [each, words.filters.sorts[each]] as const)}
        onChange={(each) => change({ sort: each })}
      />
      <Columns chosen={query.columns} onChange={(chosen) => change({ columns: chosen })} />
      <Chips filters={filters} onRemove={(name) => change({ [name]: undefined })} />
    </div>
  )
}

function useWhatThereIs() {
  const { may } = useMe()
  const tags = useQuery({
    queryKey: ['tags'],
    queryFn: () => answerOf(api.GET('/tags', { params: { query: { limit: 100 } } })),
    staleTime: 30_000,
  })
  const domains = useQuery({
    queryKey: ['domains'],
    queryFn: () => answerOf(api.GET('/domains')),
    staleTime: 30_000,
    enabled: may('owner'),
  })
  return {
    tags: tags.data?.items.map(({ tag }) => tag) ?? [],
    domains: [new URL(pageState.publicUrl).host, ...(domains.data?.items.map(({ host }) => host) ?? [])],
  }
}

const pauseMs = 250

function Search({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const words = useWords()
  const [text, setText] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  useShortcut('/', () => field.current?.focus())
  // The address may change without us: by going back.
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text), pauseMs)
    return () => clearTimeout(timer)
    // Only what is typed is waited for.
  }, [text])
  return (
    <div className="search">
      <Icon name="search" />
      <input
        className="input"
        type="search"
        ref={field}
        aria-keyshortcuts="/"
        aria-label={words.filters.search}
        placeholder={`${words.filters.search}   /`}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  )
}

/** Filters that have no field of their own, and all of them where one wants to be rid of one. */
function Chips({
  filters,
  onRemove,
}: {
  readonly filters: ListQuery['filters']
  readonly onRemove: (name: Filter) => void
}) {
  const words = useWords()
  const shown = (['createdBy', 'tenant'] as const).filter((name) => filters[name] !== undefined)
  if (shown.length === 0) return null
  return (
    <ul className="chips">
      {shown.map((name) => (
        <li key={name} className="chip">
          {words.filters[name]}: {filters[name]}
          <Button className="button bare small" aria-label={words.filters.remove} onPress={() => onRemove(name)}>
            <Icon name="close" />
          </Button>
        </li>
      ))}
    </ul>
  )
}

function Columns({
  chosen,
  onChange,
}: {
  readonly chosen: readonly Column[]
  readonly onChange: (chosen: readonly Column[]) => void
}) {
  const words = useWords()
  return (
    <MenuTrigger>
      <Button className="button only-large" aria-label={words.filters.columns}>
        <Icon name="columns" />
      </Button>
      <Popover className="popover" placement="bottom end">
        <Menu
          className="list"
          aria-label={words.filters.columns}
          selectionMode="multiple"
          selectedKeys={chosen}
          onSelectionChange={(keys) => onChange(columns.filter((column) => keys === 'all' || keys.has(column)))}
        >
          {columns.map((column) => (
            <MenuItem key={column} id={column} className="item checked">
              {words.columns[column]}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
