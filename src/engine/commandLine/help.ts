/** Formats `c3 help` and `c3 COMMAND --help` for the width of the terminal. */

import { wrapWords } from '../../shared/text/wrapped.ts';
import type { Command } from './command.ts';
import {
  toFlag,
  listKnownValues,
  formatValueName,
  type Argument,
  type Declaration,
  type Option,
} from './declared/declaration.ts';

export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Minimum columns for texts beside the names that they explain; narrower ones get them below. */
const MIN_TABLE_COLUMNS = 60;
/** Maximum columns of names that have their texts beside them. */
const MAX_NAME_COLUMNS = 26;
const LEAST_TEXT = 16;

/** Wraps a paragraph with an indent on each line, and a further indent on all lines but the first. */
const wrapParagraph = (text: string, width: number, indent = 0, hanging = 0): string[] =>
  wrapWords(text, Math.max(LEAST_TEXT, width - indent - hanging)).map(
    (line, index) => `${' '.repeat(indent + (index === 0 ? 0 : hanging))}${line}`,
  );

/**
 * Formats names with the text of each beside it, or below it if the terminal is narrow or the name is
 * long.
 * @param longest length of the longest name in all tables that share one column
 */
function formatExplanations(
  rows: readonly (readonly [name: string, text: string])[],
  width: number,
  longest = Math.max(...rows.map(([name]) => name.length)),
): string[] {
  const column = width < MIN_TABLE_COLUMNS ? 6 : 4 + Math.min(longest, MAX_NAME_COLUMNS);
  return rows.flatMap(([name, text]) => {
    const [first = '', ...more] = wrapParagraph(text, width, column);
    const fits = width >= MIN_TABLE_COLUMNS && name.length <= MAX_NAME_COLUMNS;
    return fits ? [`  ${name.padEnd(column - 2)}${first.trimStart()}`, ...more] : [`  ${name}`, first, ...more];
  });
}

/** Formats an option: `--budget N`, or `--only KEY=VALUE ...` if it may be repeated. */
export function formatOption(name: string, option: Option): string {
  const value = formatValueName(option);
  return `${toFlag(name)}${value === '' ? '' : ` ${value}`}${option.kind === 'texts' ? ' ...' : ''}`;
}

/** Returns the sentence of an option or argument, with its possible values and its default. */
export function describeOption(kind: Option | Argument): string {
  const values =
    kind.kind === 'choice' && kind.value !== undefined ? ` One of ${listKnownValues(kind).join(', ')}.` : '';
  const fallback = 'fallback' in kind ? ` Default: ${kind.fallback}.` : '';
  return `${kind.help}${values}${fallback}`;
}

/** Formats the usage line: `c3 export --run RUN ... [OPTION ...]`. */
export function formatUsage({ name, arguments: args, options, rest }: Declaration): string {
  const entries = Object.entries(options);
  const needed = entries.filter(([, { required }]) => required === true);
  return [
    `c3 ${name}`,
    ...Object.values(args).map((one) => (one.optional === true ? `[${formatValueName(one)}]` : formatValueName(one))),
    ...needed.map(([option, kind]) => formatOption(option, kind)),
    ...(needed.length < entries.length ? ['[OPTION ...]'] : []),
    ...(rest === undefined ? [] : [`-- ${rest.value}`]),
  ].join(' ');
}

/** Returns the arguments of a command with their sentences; the arguments after `--` come last. */
export const listArgumentRows = ({ arguments: args, rest }: Declaration): (readonly [name: string, text: string])[] => [
  ...Object.values(args).map((one) => [formatValueName(one), describeOption(one)] as const),
  ...(rest === undefined ? [] : [[rest.value, rest.help] as const]),
];

/** Returns the options of a command with their sentences. */
export const listOptionRows = ({ options }: Declaration): (readonly [name: string, text: string])[] =>
  Object.entries(options).map(([name, option]) => [formatOption(name, option), describeOption(option)] as const);

/** Formats the full help of one command. */
export function formatCommandHelp(declared: Declaration, width: number): string {
  const { summary, details, examples } = declared;
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...lines];
  const table = (rows: readonly (readonly [string, string])[]): string[] =>
    rows.length === 0 ? [] : formatExplanations(rows, width);
  return [
    ...wrapParagraph(`Usage: ${formatUsage(declared)}`, width, 0, 7),
    '',
    ...wrapParagraph(summary, width),
    ...(details === undefined ? [] : ['', ...wrapParagraph(details, width)]),
    ...section('Arguments', table(listArgumentRows(declared))),
    ...section('Options', table(listOptionRows(declared))),
    ...section(
      'Examples',
      examples.flatMap(([line, does]) => [...wrapParagraph(line, width, 2, 4), ...wrapParagraph(does, width, 6)]),
    ),
  ].join('\n');
}

/** Formats the list of all commands, with a sentence for each. */
export function formatOverview(version: string, groups: readonly CommandGroup[], width: number): string {
  const longest = Math.max(...groups.flatMap(({ commands }) => commands.map(({ declared }) => declared.name.length)));
  return [
    ...wrapParagraph(
      `c3 ${version} runs and trains teams of language-model agents, and replays any message for credit.`,
      width,
    ),
    '',
    ...wrapParagraph('Usage: c3 COMMAND [ARGUMENT ...] [OPTION ...]', width, 0, 7),
    ...groups.flatMap(({ title, commands }) => [
      '',
      title,
      ...formatExplanations(
        commands.map(({ declared }) => [declared.name, declared.summary] as const),
        width,
        longest,
      ),
    ]),
    '',
    ...wrapParagraph(
      '`c3 COMMAND --help` explains the arguments and options of a command. ' +
        'Every command that reads or writes a store takes --store PATH (default: .c3/c3.sqlite). ' +
        '--json prints one JSON document.',
      width,
    ),
    ...wrapParagraph(
      'Exit codes: 0 success, 1 the work failed (c3 grade: some lines are masked), 2 wrong arguments or input.',
      width,
    ),
  ].join('\n');
}
