// CSV as RFC 4180 has it, for whoever opens it: a spreadsheet takes a cell that begins with one of these characters for a formula, so an
// apostrophe is put before it, and before an apostrophe, too: who takes one off each cell that begins with one has what was there.
// Why it is not a library's: docs/decisions/0030-in-bulk.md.
const isObeyed = /^[=+\-@\t\r']/
const isQuoted = /[",\r\n]/

const cellOf = (text: string): string => {
  const plain = isObeyed.test(text) ? `'${text}` : text
  return isQuoted.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

export const csvLine = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`
