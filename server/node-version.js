// Plain JavaScript, because a Node that is too old cannot even read the rest. Import it before anything else.
const oldest = [24, 13]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  process.stderr.write(
    `QuickLink needs Node ${oldest.join('.')} or newer, and this is ${process.versions.node}: ` +
      'run `npm ci`, which brings the right one, and start with `npm run serve`.\n',
  )
  process.exit(1)
}
