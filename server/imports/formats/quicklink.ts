// Our own export, and tables that people write by hand: `url`, and whatever else of it they want to say.
import {
  has,
  numberOf,
  said,
  some,
  tagsOf,
  textOf,
  timeOf,
  yesOrNo,
  type Draft,
  type Format,
  type Thing,
} from './format.ts'

const fromThing = (thing: Thing): Draft[] => {
  const { code, domain, hasPassword, ...rest } = thing
  return [
    {
      code: textOf(code),
      domain: typeof domain === 'string' ? domain : undefined,
      hasPassword: hasPassword === true,
      fields: {
        url: some(rest['url']),
        rules: rest['rules'],
        permanent: rest['permanent'],
        enabled: rest['enabled'],
        startsAt: timeOf(rest['startsAt']),
        expiresAt: timeOf(rest['expiresAt']),
        expiredUrl: some(rest['expiredUrl']),
        forwardQuery: rest['forwardQuery'],
        monthlyHits: some(rest['monthlyHits']),
        title: some(rest['title']),
        note: some(rest['note']),
        tags: some(rest['tags']),
        clicks: some(rest['clicks']),
        createdBy: some(rest['createdBy']),
        createdAt: timeOf(rest['createdAt']),
      },
    },
  ]
}

/** Text that is no JSON is refused by the name of its column. */
function jsonOf(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}

export const quicklink: Format = {
  isTable: (columns) => has(columns, 'url') && !columns.has('keyword'),
  fromTable: (cell) =>
    fromThing({
      code: said(cell('code')),
      domain: said(cell('domain')),
      hasPassword: cell('haspassword').toLowerCase() === 'true',
      url: cell('url'),
      rules: jsonOf(cell('rules')),
      permanent: yesOrNo(cell('permanent')),
      enabled: yesOrNo(cell('enabled')),
      startsAt: cell('startsat'),
      expiresAt: cell('expiresat'),
      expiredUrl: cell('expiredurl'),
      forwardQuery: yesOrNo(cell('forwardquery')),
      monthlyHits: numberOf(cell('monthlyhits')),
      title: cell('title'),
      note: cell('note'),
      tags: tagsOf(cell('tags'), '|'),
      clicks: numberOf(cell('clicks')),
      createdBy: cell('createdby'),
      createdAt: cell('createdat'),
    }),
  isThing: (thing) => 'url' in thing,
  fromThing,
}
