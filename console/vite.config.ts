// How the console becomes files for browsers: see build.ts.
import { defineConfig, type Plugin } from 'vite'

/** What React Aria says in languages that the console does not speak. */
const otherLanguages: Plugin = {
  name: 'only-languages-of-the-console',
  enforce: 'pre',
  load: {
    filter: { id: /\/intl\/.*\/[a-z]{2}-[A-Z]{2}\.mjs$/ },
    handler: (id) => (/\/(?:en-US|de-DE)\.mjs$/.test(id) ? null : 'export default {}'),
  },
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [otherLanguages],
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // The policy of the page lets nothing in that stands in an address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    emptyOutDir: true,
    sourcemap: false,
  },
})
