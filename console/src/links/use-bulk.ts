// What is done to several links at once, by requests for up to 1,000 links of a domain. It says how many it was done to, why not to the others, and
// takes back what it has done, where that can be.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { answerOf, api, problemOf, type Link, type Schemas } from '../api.ts'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useWords } from '../words/words.tsx'
import { remake } from './use-link-writes.ts'

type Change = Schemas['BulkChange']

interface Outcome {
  readonly done: readonly Link[]
  /** Why not, in the words of the server. */
  readonly refused: readonly string[]
}

interface Result {
  readonly status: number
  readonly problem?: { readonly detail: string }
}
type Asker = (links: readonly Link[], query: { readonly domain?: string }) => Promise<readonly Result[]>

async function inCalls(links: readonly Link[], ask: Asker, most = 1000): Promise<Outcome> {
  const done: Link[] = []
  const refused: string[] = []
  for (const [domain, ofDomain] of Map.groupBy(links, (link) => link.domain)) {
    for (let n = 0; n < ofDomain.length; n += most) {
      const those = ofDomain.slice(n, n + most)
      // What was done before a call that fails is told, and can be taken back.
      const results = await ask(those, domain === null ? {} : { domain }).catch((error: unknown) => {
        if (done.length === 0) throw error
        const { code, message } = problemOf(error)
        return those.map(() => ({ status: 0, problem: { detail: message || code } }))
      })
      for (const [n, { status, problem }] of results.entries()) {
        const link = those[n]
        if (link && status >= 200 && status < 300) done.push(link)
        else refused.push(problem?.detail ?? '')
      }
    }
  }
  return { done, refused }
}

const changeAll = (links: readonly Link[], change: Change): Promise<Outcome> =>
  inCalls(links, async (those, query) => {
    const body = { codes: those.map(({ code }) => code), change }
    return (await answerOf(api.PATCH('/links/bulk', { params: { query }, body }))).results
  })

const removeAll = (links: readonly Link[]): Promise<Outcome> =>
  inCalls(links, async (those, query) => {
    const body = { codes: those.map(({ code }) => code) }
    return (await answerOf(api.DELETE('/links/bulk', { params: { query }, body }))).results
  })

/** A tenant gets back the codes that it has deleted. Fewer at once: they go there whole. */
const remakeAll = (links: readonly Link[]): Promise<Outcome> =>
  inCalls(
    links,
    async (those) => (await answerOf(api.POST('/links/bulk', { body: { links: those.flatMap((link) => remake(link) ?? []) } }))).results, // prettier-ignore
    100,
  )

/** As the server tells tags apart. */
const keyOf = (tag: string): string => tag.toLowerCase()

interface Step {
  readonly act: () => Promise<Outcome>
  readonly say: (n: number) => string
  /** Of those that it was done to. */
  readonly undo?: (done: readonly Link[]) => Step | undefined
}

export function useBulk(tenant: string, onDone: () => void) {
  const words = useWords()
  const queries = useQueryClient()
  const onError = useComplaint()
  // By a promise, not by a mutation: who takes something back may be on another page by then.
  const run = async ({ act, say, undo }: Step): Promise<void> => {
    const { done, refused } = await act()
    const back = done.length > 0 ? undo?.(done) : undefined
    const actions = back ? [{ label: words.undo, act: () => void run(back).catch(onError) }] : []
    if (done.length > 0) toast({ text: say(done.length), actions })
    if (refused.length > 0) toast({ kind: 'bad', text: words.bulk.refused(refused.length, refused[0] ?? '') })
    await queries.invalidateQueries({ queryKey: ['links'] })
    await queries.invalidateQueries({ queryKey: ['link'] })
    await queries.invalidateQueries({ queryKey: ['tags'] })
  }
  const doing = useMutation({ mutationFn: run, onSuccess: onDone, onError })
  const change = (links: readonly Link[], body: Change, back: Change): void =>
    doing.mutate({
      act: () => changeAll(links, body),
      say: words.bulk.changed,
      undo: (done) => ({ act: () => changeAll(done, back), say: words.bulk.takenBack }),
    })
  return {
    isPending: doing.isPending,
    // Only those that it is new to: what is taken back is what was done.
    tag: (links: readonly Link[], tags: readonly string[]): void => {
      const lacks = (link: Link): string[] => {
        const has = new Set(link.tags.map(keyOf))
        return tags.filter((tag) => !has.has(keyOf(tag)))
      }
      const each = [...Map.groupBy(links, (link) => lacks(link).join('\n')).values()]
        .map((those) => ({ those, lacks: those[0] ? lacks(those[0]) : [] }))
        .filter(({ lacks }) => lacks.length > 0)
      if (each.length === 0) return onDone()
      const ofAll = async (change: (lacks: string[]) => Change, done?: readonly Link[]): Promise<Outcome> => {
        const taken = done && new Set(done)
        const outcomes: Outcome[] = []
        for (const { lacks, those } of each) {
          const some = taken ? those.filter((link) => taken.has(link)) : those
          if (some.length > 0) outcomes.push(await changeAll(some, change(lacks)))
        }
        return { done: outcomes.flatMap(({ done }) => done), refused: outcomes.flatMap(({ refused }) => refused) }
      }
      doing.mutate({
        act: () => ofAll((addTags) => ({ addTags })),
        say: words.bulk.changed,
        undo: (done) => ({ act: () => ofAll((removeTags) => ({ removeTags }), done), say: words.bulk.takenBack }),
      })
    },
    untag: (links: readonly Link[], tag: string): void =>
      change(links.filter(({ tags }) => tags.includes(tag)), { removeTags: [tag] }, { addTags: [tag] }), // prettier-ignore
    setEnabled: (links: readonly Link[], enabled: boolean): void => {
      const others = links.filter((link) => link.enabled !== enabled)
      if (others.length > 0) change(others, { enabled }, { enabled: !enabled })
      else onDone()
    },
    remove: (links: readonly Link[]): void =>
      doing.mutate({
        act: () => removeAll(links),
        say: words.bulk.deleted,
        undo: (done) => {
          const back = done.filter((link) => link.tenant === tenant && remake(link) !== undefined)
          return back.length === 0 ? undefined : { act: () => remakeAll(back), say: words.bulk.restored }
        },
      }),
    /** All of it: by whom, of what, and as many as may be made in this hour; nobody has to be asked. */
    canRemake: async (links: readonly Link[]): Promise<boolean> => {
      if (!links.every((link) => link.tenant === tenant && remake(link) !== undefined)) return false
      const { creates } = await answerOf(api.GET('/limits'))
      return creates.remaining === null || creates.remaining >= links.length
    },
  }
}
