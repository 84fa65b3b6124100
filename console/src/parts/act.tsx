// A button that asks the server: while it waits it says so, keeps the focus, and cannot be pressed twice.
import { Button, type ButtonProps } from 'react-aria-components/Button'
import { ProgressBar } from 'react-aria-components/ProgressBar'
import type { ReactNode } from 'react'
import { useWords } from '../words/words.tsx'

export function Act({ children, ...props }: Omit<ButtonProps, 'children'> & { readonly children: ReactNode }) {
  const words = useWords()
  return (
    <Button {...props}>
      {children}
      {props.isPending === true && (
        <ProgressBar className="visually-hidden" aria-label={words.loading} isIndeterminate />
      )}
    </Button>
  )
}
