// A file, dropped or chosen.
import { Button } from 'react-aria-components/Button'
import { DropZone } from 'react-aria-components/DropZone'
import { FileTrigger } from 'react-aria-components/FileTrigger'
import { Text } from 'react-aria-components/Text'
import { useFormats } from '../words/words.tsx'
import { useImportWords } from './words.ts'

interface FileFieldProps {
  readonly file: File | undefined
  readonly onFile: (file: File) => void
}

export function FileField({ file, onFile }: FileFieldProps) {
  const words = useImportWords()
  const formats = useFormats()
  return (
    <DropZone
      className="drop"
      getDropOperation={() => 'copy'}
      onDrop={({ items }) => {
        const first = items.find((item) => item.kind === 'file')
        if (first?.kind === 'file') void first.getFile().then(onFile)
      }}
    >
      <Text slot="label">{file ? words.chosen(file.name, formats.bytes(file.size)) : words.drop}</Text>
      <FileTrigger
        onSelect={(files) => {
          const chosen = files?.[0]
          if (chosen) onFile(chosen)
        }}
      >
        <Button className="button">{words.choose}</Button>
      </FileTrigger>
      <span className="about">{words.about}</span>
    </DropZone>
  )
}
