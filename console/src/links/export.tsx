// Links as a file: all that the list would show, or those that are chosen. The page fetches it, because a browser that saves what a link leads to says of a
// refusal only that it failed; browsers keep what is long on their disk.
import { useMutation } from '@tanstack/react-query'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { answerOf, api, type Link } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { saveFile } from '../parts/save-file.ts'
import { useComplaint } from '../parts/toasts.tsx'
import { useWords } from '../words/words.tsx'
import { csvOf, ndjsonOf } from './file.ts'
import { exportedOf, type ListQuery } from './query.ts'

const formats = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const
type Format = keyof typeof formats

interface ExportProps {
  readonly className: string
  readonly about: string
  readonly fileOf: (format: Format) => Promise<Blob>
}

function Export({ className, about, fileOf }: ExportProps) {
  const words = useWords()
  const save = useMutation({
    mutationFn: async (format: Format) => saveFile(await fileOf(format), `links.${format}`),
    onError: useComplaint(),
  })
  return (
    <MenuTrigger>
      <Act className={className} isPending={save.isPending}>
        {words.bulk.export}
      </Act>
      <Popover className="popover" placement="bottom end">
        <Menu className="list" aria-label={about}>
          {(['csv', 'ndjson'] as const).map((format) => (
            <MenuItem key={format} className="item" onAction={() => save.mutate(format)}>
              {words.bulk.exports[format]}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

export const ExportFound = ({ query }: { readonly query: ListQuery }) => (
  <Export
    className="button"
    about={useWords().bulk.exportAbout}
    fileOf={(format) =>
      answerOf<Blob>(api.GET('/links/export', { params: { query: { ...exportedOf(query), format } }, parseAs: 'blob' }))
    }
  />
)

/** Nobody is asked: they are here already. */
export const ExportChosen = ({ links }: { readonly links: readonly Link[] }) => (
  <Export
    className="button small"
    about={useWords().bulk.exportChosen}
    fileOf={(format) =>
      Promise.resolve(new Blob([format === 'csv' ? csvOf(links) : ndjsonOf(links)], { type: formats[format] }))
    }
  />
)
