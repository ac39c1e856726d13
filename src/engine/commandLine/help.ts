/** Formats `c3 help` and `c3 COMMAND --help` for the width of the terminal. */
import { wrapped } from '../../shared/text/wrapped.ts';
import type { Command } from './command.ts';
import {
  flagOf,
  knownValues,
  valueWords,
  type Argument,
  type Declaration,
  type Option,
} from './declared/declaration.ts';

export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Minimum columns for texts beside the names that they explain; narrower ones get them below. */
const WIDE = 60;
/** Maximum columns of names that have their texts beside them. */
const MOST_OF_NAMES = 26;
const LEAST_TEXT = 16;

/** Wraps a paragraph with an indent on each line, and a further indent on all lines but the first. */
const paragraph = (text: string, width: number, indent = 0, hanging = 0): string[] =>
  wrapped(text, Math.max(LEAST_TEXT, width - indent - hanging)).map(
    (line, index) => `${' '.repeat(indent + (index === 0 ? 0 : hanging))}${line}`,
  );

/**
 * Formats names with the text of each beside it, or below it if the terminal is narrow or the name is
 * long.
 * @param longest length of the longest name in all tables that share one column
 */
function explained(
  rows: readonly (readonly [name: string, text: string])[],
  width: number,
  longest = Math.max(...rows.map(([name]) => name.length)),
): string[] {
  const column = width < WIDE ? 6 : 4 + Math.min(longest, MOST_OF_NAMES);
  return rows.flatMap(([name, text]) => {
    const [first = '', ...more] = paragraph(text, width, column);
    const fits = width >= WIDE && name.length <= MOST_OF_NAMES;
    return fits ? [`  ${name.padEnd(column - 2)}${first.trimStart()}`, ...more] : [`  ${name}`, first, ...more];
  });
}

/** Formats an option: `--budget N`, or `--only KEY=VALUE ...` if it may be repeated. */
export function optionWords(name: string, option: Option): string {
  const value = valueWords(option);
  return `${flagOf(name)}${value === '' ? '' : ` ${value}`}${option.kind === 'texts' ? ' ...' : ''}`;
}

/** Returns the sentence of an option or argument, with its possible values and its default. */
export function explanation(kind: Option | Argument): string {
  const values = kind.kind === 'choice' && kind.value !== undefined ? ` One of ${knownValues(kind).join(', ')}.` : '';
  const fallback = 'fallback' in kind ? ` Default: ${kind.fallback}.` : '';
  return `${kind.help}${values}${fallback}`;
}

/** Formats the usage line: `c3 export --run RUN ... [OPTION ...]`. */
export function usage({ name, arguments: args, options, rest }: Declaration): string {
  const entries = Object.entries(options);
  const needed = entries.filter(([, { required }]) => required === true);
  return [
    `c3 ${name}`,
    ...Object.values(args).map((one) => (one.optional === true ? `[${valueWords(one)}]` : valueWords(one))),
    ...needed.map(([option, kind]) => optionWords(option, kind)),
    ...(needed.length < entries.length ? ['[OPTION ...]'] : []),
    ...(rest === undefined ? [] : [`-- ${rest.value}`]),
  ].join(' ');
}

/** Returns the arguments of a command with their sentences; the arguments after `--` come last. */
export const argumentRows = ({ arguments: args, rest }: Declaration): (readonly [name: string, text: string])[] => [
  ...Object.values(args).map((one) => [valueWords(one), explanation(one)] as const),
  ...(rest === undefined ? [] : [[rest.value, rest.help] as const]),
];

/** Returns the options of a command with their sentences. */
export const optionRows = ({ options }: Declaration): (readonly [name: string, text: string])[] =>
  Object.entries(options).map(([name, option]) => [optionWords(name, option), explanation(option)] as const);

/** Formats the full help of one command. */
export function commandHelp(declared: Declaration, width: number): string {
  const { summary, details, examples } = declared;
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...lines];
  const table = (rows: readonly (readonly [string, string])[]): string[] =>
    rows.length === 0 ? [] : explained(rows, width);
  return [
    ...paragraph(`Usage: ${usage(declared)}`, width, 0, 7),
    '',
    ...paragraph(summary, width),
    ...(details === undefined ? [] : ['', ...paragraph(details, width)]),
    ...section('Arguments', table(argumentRows(declared))),
    ...section('Options', table(optionRows(declared))),
    ...section(
      'Examples',
      examples.flatMap(([line, does]) => [...paragraph(line, width, 2, 4), ...paragraph(does, width, 6)]),
    ),
  ].join('\n');
}

/** Formats the list of all commands, with a sentence for each. */
export function overview(version: string, groups: readonly CommandGroup[], width: number): string {
  const longest = Math.max(...groups.flatMap(({ commands }) => commands.map(({ declared }) => declared.name.length)));
  return [
    ...paragraph(
      `c3 ${version} runs and trains teams of language-model agents, and replays any message for credit.`,
      width,
    ),
    '',
    ...paragraph('Usage: c3 COMMAND [ARGUMENT ...] [OPTION ...]', width, 0, 7),
    ...groups.flatMap(({ title, commands }) => [
      '',
      title,
      ...explained(
        commands.map(({ declared }) => [declared.name, declared.summary] as const),
        width,
        longest,
      ),
    ]),
    '',
    ...paragraph(
      '`c3 COMMAND --help` explains the arguments and options of a command. ' +
        'Every command that reads or writes a store takes --store PATH (default: .c3/c3.sqlite). ' +
        '--json prints one JSON document.',
      width,
    ),
    ...paragraph(
      'Exit codes: 0 success, 1 the work failed (c3 grade: some lines are masked), 2 wrong arguments or input.',
      width,
    ),
  ].join('\n');
}
