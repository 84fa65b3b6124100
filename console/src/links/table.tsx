// Links as rows; on a narrow screen, as cards. The roles are said, because cards would lose them.
import { useRef, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger, Separator } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { Link as To, useLocation } from 'wouter'
import type { Link } from '../api.ts'
import { CopyButton, copy } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { toast } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useFormats, useWords } from '../words/words.tsx'
import type { Column } from './query.ts'
import { keyOf, type Selection } from './selection.tsx'
import { useRemove } from './remove.tsx'
import { pathOfLink } from './shorten.tsx'
import { shortOf, useLinkWrites } from './use-link-writes.ts'

interface TableProps {
  readonly links: readonly Link[]
  readonly columns: readonly Column[]
  readonly onTag: (tag: string) => void
  /** undefined: there is nothing that could be done to them. */
  readonly selection: Selection | undefined
}

export function Table({ links, columns, onTag, selection }: TableProps) {
  const words = useWords()
  return (
    <table role="table" className="links" aria-label={words.links.title}>
      <thead role="rowgroup">
        <tr role="row">
          {selection && (
            <th role="columnheader" scope="col" className="choose">
              <input
                type="checkbox"
                aria-label={words.bulk.chooseAll}
                checked={selection.all}
                ref={(box) => {
                  if (box) box.indeterminate = selection.some && !selection.all
                }}
                onChange={selection.toggleAll}
              />
            </th>
          )}
          <th role="columnheader" scope="col">
            {words.columns.link}
          </th>
          {columns.map((column) => (
            <th key={column} role="columnheader" scope="col" data-column={column}>
              {words.columns[column]}
            </th>
          ))}
          <th role="columnheader" scope="col">
            <span className="visually-hidden">{words.columns.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {links.map((link) => (
          <Row key={keyOf(link)} link={link} columns={columns} onTag={onTag} selection={selection} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ link, columns, onTag, selection }: { readonly link: Link } & Omit<TableProps, 'links'>) {
  const words = useWords()
  const { tenant } = useMe()
  return (
    <tr role="row" data-state={link.state}>
      {selection && (
        <td role="cell" className="choose">
          <input
            type="checkbox"
            aria-label={words.bulk.choose(shortOf(link))}
            checked={selection.has(link)}
            // A click comes from the space bar, too; with Shift it is from the last one to this one.
            onClick={({ shiftKey }) => selection.toggle(link, shiftKey)}
            readOnly
          />
        </td>
      )}
      <td role="cell" className="what">
        <div className="short">
          <To to={pathOfLink(link)}>{shortOf(link)}</To>
          <CopyButton text={link.shortUrl} label={shortOf(link)} />
          {link.state !== 'active' && (
            <span className="badge" data-state={link.state}>
              {words.states[link.state]}
            </span>
          )}
          {link.tenant !== tenant && <span className="badge">{link.tenant}</span>}
        </div>
        <Title link={link} />
      </td>
      {columns.map((column) => (
        <td key={column} role="cell" data-column={column} data-name={words.columns[column]}>
          <Cell link={link} column={column} onTag={onTag} />
        </td>
      ))}
      <td role="cell" className="end">
        <RowMenu link={link} />
      </td>
    </tr>
  )
}

function Cell({
  link,
  column,
  onTag,
}: {
  readonly link: Link
  readonly column: Column
  readonly onTag: (tag: string) => void
}) {
  const words = useWords()
  const formats = useFormats()
  switch (column) {
    case 'target':
      return <Target link={link} />
    case 'tags':
      return (
        <span className="tags">
          {link.tags.map((tag) => (
            <Button key={tag} className="tag" onPress={() => onTag(tag)} aria-label={words.filters.onlyTag(tag)}>
              {tag}
            </Button>
          ))}
        </span>
      )
    case 'clicks':
      return formats.count(link.clicks)
    case 'created':
      return <time dateTime={link.createdAt}>{formats.day(link.createdAt)}</time>
    case 'creator':
      return link.createdBy
    case 'ends':
      return link.expiresAt === null ? '–' : <time dateTime={link.expiresAt}>{formats.day(link.expiresAt)}</time>
  }
}

/** The server keeps http and https only; whatever it was told, nothing else becomes an address here. */
export const Target = ({ link: { url, hasPassword } }: { readonly link: Pick<Link, 'url' | 'hasPassword'> }) => {
  const words = useWords()
  if (url === null)
    return (
      <span className="target about">
        <Icon name="lock" /> {words.link.guarded}
      </span>
    )
  return (
    <span className="target">
      {hasPassword && <Icon name="lock" />}
      {/^https?:\/\//i.test(url) ? (
        <a href={url} target="_blank" rel="noopener noreferrer" title={url}>
          {url.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '')}
        </a>
      ) : (
        url
      )}
    </span>
  )
}

/** The title is changed where it stands. */
function Title({ link }: { readonly link: Link }) {
  const words = useWords()
  const { tenant, may } = useMe()
  const { change } = useLinkWrites(tenant)
  const [draft, setDraft] = useState<string>()
  const isLeaving = useRef(false)
  const keep = (): void => {
    if (draft !== undefined && !isLeaving.current && draft.trim() !== (link.title ?? '')) {
      change.mutate({ link, body: { title: draft.trim() === '' ? null : draft.trim() } })
    }
    isLeaving.current = false
    setDraft(undefined)
  }
  if (draft === undefined) {
    const shown = change.isPending ? change.variables.body.title : link.title
    if (!may('editor')) return <span className="title">{shown}</span>
    return (
      <Button
        className="title"
        onPress={() => setDraft(link.title ?? '')}
        aria-label={shown == null ? `${words.link.addTitle}: ${link.code}` : `${words.link.changeTitle}: ${shown}`}
      >
        {shown ?? <span className="about">{words.link.addTitle}</span>}
      </Button>
    )
  }
  return (
    <input
      className="input title-input"
      aria-label={words.link.title}
      autoFocus
      maxLength={200}
      value={draft}
      onChange={({ target }) => setDraft(target.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        isLeaving.current = event.key === 'Escape'
        event.currentTarget.blur()
      }}
    />
  )
}

function RowMenu({ link }: { readonly link: Link }) {
  const words = useWords()
  const { tenant, may } = useMe()
  const [, go] = useLocation()
  const { setEnabled } = useLinkWrites(tenant)
  const { remove, question } = useRemove(link)
  const act: Readonly<Record<string, () => void>> = {
    open: () => go(pathOfLink(link)),
    copy: () => void copy(link.shortUrl).then((isCopied) => toast({ kind: isCopied ? 'good' : 'bad', text: isCopied ? words.shorten.copied(shortOf(link)) : words.copying.refused })), // prettier-ignore
    toggle: () => setEnabled(link, !link.enabled),
    remove,
  }
  return (
    <>
      {question}
      <MenuTrigger>
        <Button className="button bare" aria-label={words.links.actionsOf(link.code)}>
          <Icon name="more" />
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu className="list" onAction={(key) => act[String(key)]?.()}>
            <MenuItem id="open" className="item">
              {may('editor') ? words.links.edit : words.links.open}
            </MenuItem>
            <MenuItem id="copy" className="item">
              {words.links.copyShort}
            </MenuItem>
            {may('editor') && (
              <>
                <MenuItem id="toggle" className="item">
                  {link.enabled ? words.links.disable : words.links.enable}
                </MenuItem>
                <Separator className="line" />
                <MenuItem id="remove" className="item danger">
                  {words.links.delete}
                </MenuItem>
              </>
            )}
          </Menu>
        </Popover>
      </MenuTrigger>
    </>
  )
}
