// A button that asks the server: while it waits it keeps the focus, and cannot be pressed twice.
import { Button, type ButtonProps } from 'react-aria-components/Button'

export const Act = ({ isPending = false, type, onPress, ...props }: ButtonProps) => (
  <Button {...props} data-pending={isPending || undefined} {...(isPending ? { type: 'button' } : { type, onPress })} />
)
