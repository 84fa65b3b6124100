// Light, dark, or as the system has it. The choice is a cookie, because the server puts it into the page before its first paint.
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const root = document.documentElement

export const themeNow = (): Theme => themes.find((theme) => theme === root.dataset['theme']) ?? 'system'

export function chooseTheme(theme: Theme): void {
  root.dataset['theme'] = theme
  const life = theme === 'system' ? 0 : 31_536_000
  document.cookie = `quicklink-theme=${theme}; Path=/; Max-Age=${life}; SameSite=Lax`
}
