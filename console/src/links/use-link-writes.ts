// What is done to links from anywhere: each says what happened, and how to take it back where that can be.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { answerOf, api, done, linkKey, named, type Link, type Schemas } from '../api.ts'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useWords } from '../words/words.tsx'

/** Without the scheme, as people write it. */
export const shortOf = ({ shortUrl }: Pick<Link, 'shortUrl'>): string => shortUrl.replace(/^https?:\/\//, '')

type NewLink = Schemas['NewLink']

/** What makes a link again that was deleted: all but a password, which nobody can read. */
export function remake(link: Link): NewLink | undefined {
  if (link.url === null || link.hasPassword) return undefined
  const { code, domain, url, title, tags, note, enabled, permanent, forwardQuery, expiredUrl, monthlyHits, rules } =
    link
  const isFuture = (at: string | null): at is string => at !== null && Date.parse(at) > Date.now()
  return {
    ...{ code, url, title, tags, note, enabled, permanent, forwardQuery, expiredUrl, monthlyHits, rules },
    ...(domain === null ? {} : { domain }),
    ...(isFuture(link.startsAt) ? { startsAt: link.startsAt } : {}),
    ...(isFuture(link.expiresAt) ? { expiresAt: link.expiresAt } : {}),
  }
}

export function useLinkWrites(tenant: string) {
  const words = useWords()
  const queries = useQueryClient()
  const seen = async (link: Link): Promise<void> => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['links'] }),
      queries.invalidateQueries({ queryKey: linkKey(link) }),
    ])
  }
  const onError = useComplaint()

  const change = useMutation({
    mutationFn: ({ link, body }: { link: Link; body: Schemas['LinkChange'] }) =>
      answerOf(api.PATCH('/links/{code}', { params: named(link), body })),
    onSuccess: seen,
    onError,
  })
  const create = useMutation({
    mutationFn: (body: NewLink) => answerOf(api.POST('/links', { body })),
    onSuccess: seen,
  })
  const remove = useMutation({
    mutationFn: (link: Link) => done(api.DELETE('/links/{code}', { params: named(link) })),
    onSuccess: (_done, link) => {
      // A tenant gets back the code that it has deleted; the owner would get another tenant's code for itself.
      const again = link.tenant === tenant ? remake(link) : undefined
      // By a promise: the page that began it may be gone by then.
      const undo = (): void =>
        void create.mutateAsync(again!).then(() => toast({ text: words.links.restored(link.code) }), onError)
      toast({
        text: words.links.deleted(link.code),
        actions: again ? [{ label: words.undo, act: undo }] : [],
      })
      return queries.invalidateQueries({ queryKey: ['links'] })
    },
    onError,
  })
  const setEnabled = (link: Link, enabled: boolean, isUndo = false): void => {
    const undo = { label: words.undo, act: () => setEnabled(link, !enabled, true) }
    const text = enabled ? words.links.enabled(link.code) : words.links.disabled(link.code)
    // What goes wrong is said by the mutation itself.
    void change.mutateAsync({ link, body: { enabled } }).then(
      () => toast({ text, actions: isUndo ? [] : [undo] }),
      () => undefined,
    )
  }
  return { change, create, remove, setEnabled }
}
