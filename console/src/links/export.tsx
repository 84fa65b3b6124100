// All links that the list would show, as a file. The browser itself asks for it, so that it may be as long as it likes.
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { useWords } from '../words/words.tsx'
import type { ListQuery } from './query.ts'

export function Export({ query: { filters } }: { readonly query: ListQuery }) {
  const words = useWords()
  const hrefOf = (format: string): string =>
    `/api/v1/links/export?${new URLSearchParams({ ...filters, format }).toString()}`
  return (
    <MenuTrigger>
      <Button className="button">{words.bulk.export}</Button>
      <Popover className="popover" placement="bottom end">
        <Menu className="list" aria-label={words.bulk.exportAbout}>
          {(['csv', 'ndjson'] as const).map((format) => (
            <MenuItem key={format} className="item" href={hrefOf(format)} download={`links.${format}`}>
              {words.bulk.exports[format]}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
