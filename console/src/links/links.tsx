// The list of links.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components/Button'
import { answerOf, api } from '../api.ts'
import { Link as To } from 'wouter'
import { Empty, Page, Waiting } from '../parts/page.tsx'
import { statsOf } from '../stats/query.ts'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { ExportFound } from './export.tsx'
import { Filters } from './filters.tsx'
import { askedOf, useListQuery } from './query.ts'
import { SelectionBar, useSelection } from './selection.tsx'
import { Shorten } from './shorten.tsx'
import { Table } from './table.tsx'

export function Links() {
  const words = useWords()
  const { may } = useMe()
  const { query, change } = useListQuery()
  const asked = askedOf(query)
  const page = useQuery({
    queryKey: ['links', asked],
    queryFn: () => answerOf(api.GET('/links', { params: { query: asked } })),
    placeholderData: keepPreviousData,
  })
  const isFiltered = Object.keys(query.filters).length > 0
  const selection = useSelection(page.data?.items ?? [], query)
  const hasNone = page.data?.items.length === 0
  // Where there is none at all there is nothing to look for.
  const isNew = hasNone && !isFiltered && query.cursor === undefined
  return (
    <Page title={words.links.title} actions={!isNew && <ExportFound query={query} />}>
      {may('editor') && <Shorten />}
      {!isNew && <Filters query={query} change={change} />}
      {query.filters.tag !== undefined && (
        <To to={statsOf({ tag: query.filters.tag, tenant: query.filters.tenant })}>
          {words.filters.statsOfTag(query.filters.tag)}
        </To>
      )}
      <Waiting of={page} />
      {isNew && (
        <Empty
          title={words.links.noneYet}
          about={may('editor') ? words.links.noneYetEditor : words.links.noneYetViewer}
        />
      )}
      {hasNone && !isNew && (
        <Empty title={words.links.noneFound} about={words.links.noneFoundAbout}>
          <Button
            className="button"
            onPress={() =>
              change({ q: '', tag: '', state: '', domain: '', createdBy: '', tenant: '', cursor: undefined })
            }
          >
            {words.links.clearFilters}
          </Button>
        </Empty>
      )}
      {page.data && !hasNone && (
        <div className={page.isPlaceholderData ? 'stale' : undefined} aria-busy={page.isPlaceholderData}>
          <Table
            links={page.data.items}
            columns={query.columns}
            onTag={(tag) => change({ tag })}
            selection={may('editor') ? selection : undefined}
          />
          <SelectionBar selection={selection} hasMore={query.cursor !== undefined || page.data.nextCursor !== null} />
          <nav className="pages" aria-label={words.links.pages}>
            {query.cursor !== undefined && (
              <Button className="button" onPress={() => change({ cursor: undefined })}>
                {words.links.first}
              </Button>
            )}
            {page.data.nextCursor !== null && (
              <Button className="button" onPress={() => change({ cursor: page.data.nextCursor ?? undefined })}>
                {words.links.next}
              </Button>
            )}
          </nav>
        </div>
      )}
    </Page>
  )
}
