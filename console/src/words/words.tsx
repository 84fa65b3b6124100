// Which language the console speaks: the chosen one, else the first of the browser's that it knows.
import { createContext, useContext, useEffect, useState, type ReactNode } from 'react'
import { I18nProvider } from 'react-aria-components/I18nProvider'
import { de } from './de.ts'
import { en, type Words } from './en.ts'

export const languages = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof languages

const catalogues: Readonly<Record<Language, Words>> = { en, de }
const locales: Readonly<Record<Language, string>> = { en: 'en-US', de: 'de-DE' }
const kept = 'quicklink-language'

const isLanguage = (text: string | null | undefined): text is Language =>
  text !== null && text !== undefined && text in languages

function firstLanguage(): Language {
  const chosen = localStorage.getItem(kept)
  if (isLanguage(chosen)) return chosen
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en'
}

interface Speaking {
  readonly language: Language
  readonly words: Words
  readonly speak: (language: Language) => void
}

const Spoken = createContext<Speaking>({ language: 'en', words: en, speak: () => undefined })

export function Speech({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage)
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const speak = (next: Language): void => {
    localStorage.setItem(kept, next)
    setLanguage(next)
  }
  return (
    <Spoken value={{ language, words: catalogues[language], speak }}>
      <I18nProvider locale={locales[language]}>{children}</I18nProvider>
    </Spoken>
  )
}

export const useSpeech = (): Speaking => useContext(Spoken)
export const useWords = (): Words => useContext(Spoken).words

/** What one page says: its words come with the page, not with the first load. */
export const catalogue =
  <W,>(all: Readonly<Record<Language, W>>) =>
  (): W =>
    all[useSpeech().language]

/** Times and numbers, as the language writes them, in the browser's time zone. */
export function useFormats() {
  const { language } = useSpeech()
  const locale =
    locales[language] === 'en-US' ? (navigator.languages.find((tag) => tag.startsWith('en')) ?? 'en') : 'de'
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const count = new Intl.NumberFormat(locale)
  const kB = new Intl.NumberFormat(locale, { style: 'unit', unit: 'kilobyte' })
  const MB = new Intl.NumberFormat(locale, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 })
  const ms = new Intl.NumberFormat(locale, { style: 'unit', unit: 'millisecond' })
  const s = new Intl.NumberFormat(locale, { style: 'unit', unit: 'second', maximumFractionDigits: 1 })
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  return {
    locale,
    day: (at: string): string => day.format(new Date(at)),
    time: (at: string): string => time.format(new Date(at)),
    count: (n: number): string => count.format(n),
    bytes: (n: number): string => (n < 1_000_000 ? kB.format(Math.ceil(n / 1000)) : MB.format(n / 1_000_000)),
    seconds: (n: number): string => (n < 1 ? ms.format(Math.ceil(1000 * n)) : s.format(n)),
    share: (n: number): string => share.format(n),
  }
}
