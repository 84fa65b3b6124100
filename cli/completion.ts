import type { Command } from 'commander'

/** For bash, and for zsh by its own bridge to bash' completion: the names of commands, then those of their options. */
export function completion(program: Command): string {
  const lines: string[] = []
  const add = (command: Command, path: string): void => {
    const names = command.commands.map((each) => each.name())
    const flags = [...command.options, ...program.options].map(({ long }) => long)
    lines.push(`    '${path}') words='${[...names, ...flags, '--help'].join(' ')}' ;;`)
    for (const each of command.commands) add(each, `${path} ${each.name()}`.trim())
  }
  add(program, '')
  return `if [ -n "\${ZSH_VERSION-}" ]; then autoload -U +X bashcompinit && bashcompinit; fi
_quicklink() {
  local path='' words='' word n=1
  while [ "$n" -lt "$COMP_CWORD" ]; do
    word="\${COMP_WORDS[n]}"; n=$((n + 1))
    case "$word" in -*) ;; *) [ "$n" -le 3 ] && path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${lines.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _quicklink quicklink`
}
