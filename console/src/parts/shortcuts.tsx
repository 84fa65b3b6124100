// Keys that do something wherever one is. They are silent while somebody types or is asked, and can be switched off, because who speaks to the browser
// types by accident.
import { useEffect, useRef, useState } from 'react'
import { catalogue } from '../words/words.tsx'
import { Above } from './dialog.tsx'
import { OnOff } from './fields.tsx'

const kept = 'quicklink-shortcuts'
const areOn = (): boolean => localStorage.getItem(kept) !== 'off'

const isElsewhere = (target: EventTarget | null): boolean =>
  document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]') !== null ||
  (target instanceof Element && target.closest('input:not([type="checkbox"]), textarea, select') !== null)

/** `isOn`: where there is nothing to do, the key means nothing. */
export function useShortcut(key: string, act: () => void, isOn = true): void {
  const latest = useRef(act)
  // With braces: what an effect answers is called when it ends.
  useEffect(() => {
    latest.current = act
  })
  useEffect(() => {
    if (!isOn) return
    const listen = (event: KeyboardEvent): void => {
      const { ctrlKey, metaKey, altKey, repeat, target } = event
      if (event.key !== key || ctrlKey || metaKey || altKey || repeat || !areOn() || isElsewhere(target)) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [key, isOn])
}

const en = {
  title: 'Keyboard shortcuts',
  on: 'Shortcuts',
  onAbout: 'Single keys. They are silent while you type.',
  keys: { n: 'New link', '/': 'Search links', l: 'Links', s: 'Statistics', '?': 'This list' },
}
const de: typeof en = {
  title: 'Tastenkürzel',
  on: 'Tastenkürzel',
  onAbout: 'Einzelne Tasten. Beim Tippen schweigen sie.',
  keys: { n: 'Neuer Link', '/': 'Links suchen', l: 'Links', s: 'Statistik', '?': 'Diese Liste' },
}
export const useShortcutWords = catalogue({ en, de })

export function Shortcuts({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const words = useShortcutWords()
  const [isOn, setOn] = useState(areOn)
  return (
    <Above title={words.title} isOpen={isOpen} onClose={onClose}>
      <dl className="facts">
        {Object.entries(words.keys).map(([key, what]) => (
          <div key={key} className="meter">
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <OnOff
        label={words.on}
        about={words.onAbout}
        value={isOn}
        onChange={(on) => {
          localStorage.setItem(kept, on ? 'on' : 'off')
          setOn(on)
        }}
      />
    </Above>
  )
}
