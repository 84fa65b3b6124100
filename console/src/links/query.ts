// What the list shows: all of it is in the address, so that it can be kept, sent and gone back to.
import { useSearchParams } from 'wouter'

export const states = ['active', 'scheduled', 'expired', 'disabled'] as const
export const sorts = ['newest', 'oldest', 'updated', 'clicks'] as const
export const columns = ['target', 'tags', 'clicks', 'created', 'creator', 'ends'] as const
export type State = (typeof states)[number]
export type Sort = (typeof sorts)[number]
export type Column = (typeof columns)[number]

const usualColumns: readonly Column[] = ['target', 'tags', 'clicks', 'created']
const filters = ['q', 'tag', 'state', 'domain', 'createdBy', 'tenant'] as const
export type Filter = (typeof filters)[number]

export interface ListQuery {
  readonly filters: Readonly<Partial<Record<Filter, string>>>
  readonly sort: Sort
  readonly columns: readonly Column[]
  readonly cursor: string | undefined
}

const oneOf = <T extends string>(words: readonly T[], text: string | null): T | undefined =>
  words.find((word) => word === text)

export function readQuery(params: URLSearchParams): ListQuery {
  const given: Partial<Record<Filter, string>> = {}
  for (const name of filters) {
    const text = params.get(name)
    if (text) given[name] = text
  }
  if (!oneOf(states, given.state ?? null)) delete given.state
  const named = params.get('columns')?.split(',')
  return {
    filters: given,
    sort: oneOf(sorts, params.get('sort')) ?? 'newest',
    columns: named ? columns.filter((column) => named.includes(column)) : usualColumns,
    cursor: params.get('cursor') ?? undefined,
  }
}

/** As the API asks for them, all of them. */
export const exportedOf = ({ filters: { state, ...rest } }: ListQuery) => ({
  ...rest,
  ...(state === undefined ? {} : { state: state as State }),
})

export const askedOf = (query: ListQuery) => ({
  ...exportedOf(query),
  ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  sort: query.sort,
  limit: 50,
})

type Change = Partial<Record<Filter | 'sort' | 'cursor', string | undefined>> & { readonly columns?: readonly Column[] }

export function useListQuery() {
  const [params, setParams] = useSearchParams()
  const change = ({ columns: chosen, ...rest }: Change, replace = false): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        // Another list begins at its first page.
        if (!('cursor' in rest) && chosen === undefined) next.delete('cursor')
        for (const [name, value] of Object.entries<string | undefined>(rest)) {
          if (value === undefined || value === '') next.delete(name)
          else next.set(name, value)
        }
        if (chosen) next.set('columns', chosen.join(','))
        return next
      },
      { replace },
    )
  return { query: readQuery(params), change }
}
