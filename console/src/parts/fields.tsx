// Fields of forms: each with its label, what it is for, and what is wrong with it.
import type { ReactNode } from 'react'
import { FieldError } from 'react-aria-components/FieldError'
import { Input } from 'react-aria-components/Input'
import { Label } from 'react-aria-components/Label'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { Button } from 'react-aria-components/Button'
import { Select, SelectValue } from 'react-aria-components/Select'
import { SwitchButton, SwitchField } from 'react-aria-components/Switch'
import { Text } from 'react-aria-components/Text'
import { TextArea } from 'react-aria-components/TextArea'
import { TextField } from 'react-aria-components/TextField'
import { Icon } from './icon.tsx'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly about?: ReactNode
  /** What the server said of it. */
  readonly problem?: string | undefined
  readonly type?: 'text' | 'url' | 'password' | 'search' | 'number' | 'datetime-local' | 'color'
  readonly isRequired?: boolean
  readonly isDisabled?: boolean
  readonly placeholder?: string
  readonly lines?: number
  readonly autoComplete?: string
  readonly autoFocus?: boolean
  readonly suffix?: ReactNode
}

export function Field(props: FieldProps) {
  const { label, value, onChange, about, problem, type = 'text', lines, suffix, placeholder, ...rest } = props
  return (
    <TextField
      className="field"
      value={value}
      onChange={onChange}
      type={type}
      isInvalid={problem !== undefined}
      {...rest}
    >
      <Label>{label}</Label>
      {lines === undefined ? (
        <div className="row">
          <Input className="input" placeholder={placeholder} step={type === 'datetime-local' ? 1 : undefined} />
          {suffix}
        </div>
      ) : (
        <TextArea className="input" rows={lines} placeholder={placeholder} />
      )}
      {about !== undefined && (
        <Text slot="description" className="about">
          {about}
        </Text>
      )}
      <FieldError className="problem">{problem}</FieldError>
    </TextField>
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly (readonly [value: T, name: string])[]
  readonly onChange: (value: T) => void
  /** The label is for those who do not see what is chosen from. */
  readonly isLabelHidden?: boolean
  readonly isDisabled?: boolean
}

export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
  isLabelHidden = false,
  isDisabled = false,
}: ChoiceProps<T>) {
  return (
    <Select
      className="field"
      aria-label={isLabelHidden ? label : undefined}
      value={value}
      isDisabled={isDisabled}
      onChange={(key) => {
        const chosen = options.find(([each]) => each === key)
        if (chosen) onChange(chosen[0])
      }}
    >
      {!isLabelHidden && <Label>{label}</Label>}
      <Button className="button select">
        <SelectValue />
        <Icon name="chevron" />
      </Button>
      <Popover className="popover">
        <ListBox className="list" aria-label={label}>
          {options.map(([each, name]) => (
            <ListBoxItem key={each} id={each} className="item" textValue={name}>
              {name}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  )
}

interface OnOffProps {
  readonly label: string
  readonly about?: string
  readonly value: boolean
  readonly onChange: (value: boolean) => void
  readonly isDisabled?: boolean
}

export const OnOff = ({ label, about, value, onChange, isDisabled = false }: OnOffProps) => (
  <SwitchField isSelected={value} onChange={onChange} isDisabled={isDisabled}>
    <SwitchButton className="switch">
      <span className="track" aria-hidden="true" />
      <span>
        <span className="name">{label}</span>
        {about !== undefined && <span className="about">{about}</span>}
      </span>
    </SwitchButton>
  </SwitchField>
)
