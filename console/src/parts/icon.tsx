// Small drawings of lines, in the colour of the text. They say nothing that a word beside them does not say.
const paths = {
  links: 'M9.5 14.5l5-5M11 6.5l1.2-1.2a4.2 4.2 0 0 1 6 6L17 12.5M13 17.5l-1.2 1.2a4.2 4.2 0 0 1-6-6L7 11.5',
  stats: 'M4 20h16M6.500 16v-5M12 16V5M17.500 16V9',
  imports: 'M12 4v11M7 10.500l5 5 5-5M4 20h16',
  keys: 'M14.5 9.5h.01M12 12l-8 8h4v-3h3v-3h2M16 3a5 5 0 1 1-2.6 9.3L12 12l-.3-1.4A5 5 0 0 1 16 3z',
  tenants:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6M18 14a6.5 6.5 0 0 1 3.5 6',
  members: 'M10 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2.500 20.500a7.500 7.500 0 0 1 13-5M19 15v6M16 18h6',
  domains:
    'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c2.5 2.6 3.8 5.6 3.8 9s-1.3 6.4-3.8 9c-2.5-2.6-3.8-5.6-3.8-9S9.500 5.600 12 3z',
  system: 'M4 5h16v5H4zM4 14h16v5H4zM7.500 7.500h.01M7.500 16.500h.01',
  audit: 'M12 7v5l3.500 2M12 21a9 9 0 1 0-8.500-6M3 20v-5h5',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500a7.500 7.500 0 0 1 15 0',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  alert: 'M12 8v5M12 16.500h.01M12 3l9.500 17h-19z',
  close: 'M6 6l12 12M18 6L6 18',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  up: 'M12 19V5M6 11l6-6 6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  menu: 'M4 7h16M4 12h16M4 17h16',
  out: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  columns: 'M4 4h16v16H4zM9.500 4v16M14.500 4v16',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  back: 'M19 12H5M11 6l-6 6 6 6',
  chevron: 'M7 10l5 5 5-5',
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className="icon" data-name={name} viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)

export const Mark = () => (
  <svg className="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
    <rect x="2" y="8" width="12" height="8" rx="4" />
    <rect x="10" y="8" width="12" height="8" rx="4" />
  </svg>
)
