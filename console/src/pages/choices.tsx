// What everybody chooses for this browser.
import { useState } from 'react'
import { Choice } from '../parts/fields.tsx'
import { chooseTheme, themeNow, themes } from '../theme.ts'
import { languages, useSpeech } from '../words/words.tsx'

export function Language() {
  const { language, words, speak } = useSpeech()
  const options = Object.entries(languages) as [typeof language, string][]
  return <Choice label={words.choices.language} value={language} options={options} onChange={speak} />
}

export function ThemeChoice() {
  const { words } = useSpeech()
  const [theme, setTheme] = useState(themeNow)
  return (
    <Choice
      label={words.choices.theme}
      value={theme}
      options={themes.map((each) => [each, words.choices.themes[each]] as const)}
      onChange={(chosen) => {
        chooseTheme(chosen)
        setTheme(chosen)
      }}
    />
  )
}
