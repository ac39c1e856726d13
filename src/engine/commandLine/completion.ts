/** Generates shell scripts that complete commands, options and their values, from the declarations. */

import {
  toFlag,
  listKnownValues,
  formatValueName,
  type Argument,
  type Declaration,
  type Option,
} from './declared/declaration.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** Returns the script for a shell. */
export function buildCompletionScript(shell: Shell, declared: readonly Declaration[]): string {
  return { bash: buildBashScript, zsh: buildZshScript, fish: buildFishScript }[shell](declared);
}

const listFlags = ({ options }: Declaration): readonly string[] => [...Object.keys(options).map(toFlag), '--help'];

/** Quotes a text as one word of a shell, in single quotes. */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Groups keys by their values, in the order in which the values first occur. */
function groupKeysByValue(
  pairs: readonly (readonly [key: string, value: string])[],
): (readonly [value: string, keys: string[]])[] {
  const found = new Map<string, string[]>();
  for (const [key, value] of pairs) {
    found.set(value, [...(found.get(value) ?? []), key]);
  }
  return [...found];
}

/** Returns the call of the bash function that offers the values of an option or argument. */
function buildBashOffer(kind: Option | Argument): string {
  const values = listKnownValues(kind);
  if (values.length > 0) {
    return `_c3_words ${quoteForShell(values.join(' '))}`;
  }
  return kind.kind === 'file' ? '_c3_paths -f' : kind.kind === 'folder' ? '_c3_paths -d' : ':';
}

function buildBashScript(declared: readonly Declaration[]): string {
  const cases = (pairs: readonly (readonly [key: string, value: string])[]): string[] =>
    groupKeysByValue(pairs).map(([offer, keys]) => `    ${keys.map(quoteForShell).join(' | ')}) ${offer} ;;`);
  const values = declared.flatMap(({ name, options }) =>
    Object.entries(options)
      .filter(([, { kind }]) => kind !== 'flag')
      .map(([option, kind]) => [`${name} ${toFlag(option)}`, buildBashOffer(kind)] as const),
  );
  const args = declared.flatMap(({ name, arguments: taken }) => {
    const offer = Object.values(taken)
      .map(buildBashOffer)
      .find((one) => one !== ':');
    return offer === undefined ? [] : [[name, offer] as const];
  });
  const names = declared.map(({ name }) => name).join(' ');
  return `# Completes c3 in bash: eval "$(c3 completion bash)"
_c3_words() {
  COMPREPLY=($(compgen -W "$1" -- "$word"))
}
_c3_paths() {
  compopt -o filenames 2> /dev/null
  local IFS=$'\\n'
  COMPREPLY=($(compgen "$1" -- "$word"))
}
_c3_options() {
  case $command in
${cases(declared.map((one) => [one.name, `_c3_words ${quoteForShell(listFlags(one).join(' '))}`])).join('\n')}
  esac
}
_c3() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  # Bash takes --by=turn for three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _c3_words ${quoteForShell(`${names} help --help --version`)}
    return
  fi
  if [[ " \${COMP_WORDS[*]:0:COMP_CWORD} " == *' -- '* ]]; then
    _c3_paths -f
    return
  fi
  case "$command $before" in
${cases(values).join('\n')}
    'help help') _c3_words ${quoteForShell(names)} ;;
    *) if [[ $word == -* ]]; then _c3_options; else _c3_argument; fi ;;
  esac
}
_c3_argument() {
  case $command in
${cases(args).join('\n')}
    *) _c3_options ;;
  esac
}
complete -F _c3 c3`;
}

/** Returns the value name and the action that zsh offers for an option or argument. */
function buildZshOffer(kind: Option | Argument): string {
  const values = listKnownValues(kind);
  const action =
    values.length > 0
      ? `(${values.join(' ')})`
      : kind.kind === 'file'
        ? '_files'
        : kind.kind === 'folder'
          ? '_files -/'
          : ' ';
  return `${formatValueName(kind).replaceAll(':', '\\:')}:${action}`;
}

/** Formats a sentence for the brackets of zsh. */
const escapeZshHelp = (text: string): string => `[${text.replaceAll(/[[\]:\\]/gu, '\\$&')}]`;

function buildZshScript(declared: readonly Declaration[]): string {
  const specs = ({ options, arguments: args, rest }: Declaration): string[] => [
    ...Object.entries(options).map(([name, option]) => {
      const value = option.kind === 'flag' ? '' : `:${buildZshOffer(option)}`;
      return `${option.kind === 'texts' ? '*' : ''}${toFlag(name)}${value === '' ? '' : '='}${escapeZshHelp(option.help)}${value}`;
    }),
    `--help${escapeZshHelp('Explains the command.')}`,
    ...Object.values(args).map((one, index) => `${index + 1}:${buildZshOffer(one)}`),
    ...(rest === undefined ? [] : ['*:PROGRAM:_files']),
  ];
  return `#compdef c3
# Completes c3 in zsh: eval "$(c3 completion zsh)"
_c3() {
  local -a commands=(
${declared.map(({ name, summary }) => `    ${quoteForShell(`${name}:${summary.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=\${words[2]}
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
${declared.map((one) => `    ${one.name}) _arguments ${specs(one).map(quoteForShell).join(' ')} ;;`).join('\n')}
  esac
}
compdef _c3 c3`;
}

/** Returns the fish options that offer the values of an option or argument. */
function buildFishOffer(kind: Option | Argument): string {
  const values = listKnownValues(kind);
  if (values.length > 0) {
    return ` -a ${quoteForShell(values.join(' '))}`;
  }
  return kind.kind === 'file' ? ' -F' : kind.kind === 'folder' ? " -a '(__fish_complete_directories)'" : '';
}

function buildFishScript(declared: readonly Declaration[]): string {
  const names = declared.map(({ name }) => name).join(' ');
  return `# Completes c3 in fish: c3 completion fish | source
function __c3_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]
end
complete -c c3 -f
complete -c c3 -n 'test (count (commandline -opc)) -eq 1' -l version -d 'Prints the version.'
complete -c c3 -l help -d 'Explains the command.'
complete -c c3 -n '__c3_command help' -a ${quoteForShell(names)}
${declared.flatMap(buildFishLines).join('\n')}`;
}

function buildFishLines({ name, summary, options, arguments: args, rest }: Declaration): string[] {
  const within = `complete -c c3 -n '__c3_command ${name}'`;
  return [
    `complete -c c3 -n 'test (count (commandline -opc)) -eq 1' -a ${name} -d ${quoteForShell(summary)}`,
    ...Object.entries(options).map(([option, kind]) => {
      const value = kind.kind === 'flag' ? '' : ` -r${kind.kind === 'file' ? '' : ' -f'}${buildFishOffer(kind)}`;
      return `${within} -l ${toFlag(option).slice(2)} -d ${quoteForShell(kind.help)}${value}`;
    }),
    ...Object.values(args)
      .map(buildFishOffer)
      .filter((offer) => offer !== '')
      .map((offer) => `${within}${offer}`),
    ...(rest === undefined ? [] : [`${within} -F`]),
  ];
}
