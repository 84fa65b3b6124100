// `npm run dashboards` writes RUNBOOK.md as the page that the alerts' links open: a browser does not show Markdown, and the
// service whose alert rings cannot serve it. Grafana has it in its public folder, Prometheus under /user.
import { readFileSync } from 'node:fs'
import { Marked } from 'marked'

export const runbookFile = new URL('user/runbook.html', import.meta.url)

/** As readers of Markdown make it of a heading. A dashboard knows an alert by its name alone, so that is one, too. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

const style = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 1rem; overflow-wrap: break-word }
h2, h3 { margin-top: 2.5rem; scroll-margin-top: 1rem }
h2:target, h3:target, h2:has(:target) { background: #f5b70055; outline: .5rem solid #f5b70055 }
code { background: #8883; border-radius: 3px; padding: .1em .3em }
pre { overflow-x: auto }
pre code { display: block; padding: .8em }
nav { columns: 18rem; margin: 1.5rem 0 }
nav a { display: block; break-inside: avoid }
`

const isHere = (href: string): boolean => /^(#|https?:)/.test(href)

/** One file, which needs nothing else and no script. */
export function asPage(markdown: string): string {
  const headings: string[] = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, text, depth }) {
        if (depth === 2) headings.push(text)
        const content = this.parser.parseInline(tokens)
        const ofAlert = text.startsWith('QuickLink') ? `<a id="${text}"></a>` : ''
        return `<h${depth} id="${anchorOf(text)}">${ofAlert}${content}</h${depth}>\n`
      },
      // Other documents of the repository are not beside it.
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        return isHere(href) ? `<a href="${href}">${content}</a>` : content
      },
    },
  })
  const body = marked.parse(markdown, { async: false })
  const [title = '', ...rest] = body.split(/(?<=<\/h1>\n)/)
  const list = headings.map((heading) => `<a href="#${anchorOf(heading)}">${heading}</a>`).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>QuickLink: runbook</title>
<style>${style}</style>
</head>
<body>
${title}<nav>
${list}
</nav>
${rest.join('')}</body>
</html>
`
}

export const runbookPage = (): string => asPage(readFileSync(new URL('../RUNBOOK.md', import.meta.url), 'utf8'))
