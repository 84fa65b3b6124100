// Tags of a link: typed one after the other, with those that there are already.
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { answerOf, api } from '../api.ts'
import { useWords } from '../words/words.tsx'
import { Icon } from './icon.tsx'

interface TagsFieldProps {
  readonly tags: readonly string[]
  readonly onChange: (tags: readonly string[]) => void
  readonly problem?: string | undefined
  readonly isDisabled?: boolean
}

export function TagsField({ tags, onChange, problem, isDisabled = false }: TagsFieldProps) {
  const words = useWords()
  const id = useId()
  const [text, setText] = useState('')
  const known = useQuery({
    queryKey: ['tags'],
    queryFn: () => answerOf(api.GET('/tags', { params: { query: { limit: 100 } } })),
    staleTime: 30_000,
  })
  const add = (): void => {
    const fresh = text.split(/[,|]/).map((each) => each.trim()).filter((each) => each !== '' && !tags.includes(each)) // prettier-ignore
    if (fresh.length > 0) onChange([...tags, ...new Set(fresh)])
    setText('')
  }
  return (
    <div className="field">
      <label htmlFor={id}>{words.link.tags}</label>
      <div className="input tags-input" data-disabled={isDisabled || undefined}>
        {tags.map((tag) => (
          <span key={tag} className="tag">
            {tag}
            <Button
              className="button bare tiny"
              aria-label={words.link.removeTag(tag)}
              isDisabled={isDisabled}
              onPress={() => onChange(tags.filter((each) => each !== tag))}
            >
              <Icon name="close" />
            </Button>
          </span>
        ))}
        <input
          id={id}
          list={`${id}-known`}
          value={text}
          disabled={isDisabled}
          aria-describedby={`${id}-about`}
          onChange={({ target }) => setText(target.value)}
          onBlur={add}
          onKeyDown={(event) => {
            if ((event.key === 'Enter' || event.key === ',') && text.trim() !== '') {
              event.preventDefault()
              add()
            } else if (event.key === 'Backspace' && text === '') onChange(tags.slice(0, -1))
          }}
        />
        <datalist id={`${id}-known`}>
          {known.data?.items
            .filter(({ tag }) => !tags.includes(tag))
            .map(({ tag }) => (
              <option key={tag} value={tag} />
            ))}
        </datalist>
      </div>
      <span id={`${id}-about`} className={problem === undefined ? 'about' : 'problem'}>
        {problem ?? words.link.tagsAbout}
      </span>
    </div>
  )
}
