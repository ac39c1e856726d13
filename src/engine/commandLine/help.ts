/** What `c3 help` and `c3 COMMAND --help` say, in lines of the terminal's width. */
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

/** Commands that belong together. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Columns from which on texts stand beside the names that they explain, and not below them. */
const WIDE = 60;
/** Columns that names take at most beside their texts. */
const MOST_OF_NAMES = 26;
const LEAST_TEXT = 16;

/** A paragraph, each line with the indent before it, all lines but the first with as many spaces more. */
const paragraph = (text: string, width: number, indent = 0, hanging = 0): string[] =>
  wrapped(text, Math.max(LEAST_TEXT, width - indent - hanging)).map(
    (line, index) => `${' '.repeat(indent + (index === 0 ? 0 : hanging))}${line}`,
  );

/**
 * Names with the text of each beside it; below it where the terminal is narrow or the name too long.
 * @param longest the longest name, of all the tables that are to have one column
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

/** `--budget N`; `--only KEY=VALUE ...` of one that may be repeated. */
export function optionWords(name: string, option: Option): string {
  const value = valueWords(option);
  return `${flagOf(name)}${value === '' ? '' : ` ${value}`}${option.kind === 'texts' ? ' ...' : ''}`;
}

/** The sentence of an option or an argument, with the values that it takes and the one that it has unless given. */
export function explanation(kind: Option | Argument): string {
  const values = kind.kind === 'choice' && kind.value !== undefined ? ` One of ${knownValues(kind).join(', ')}.` : '';
  const fallback = 'fallback' in kind ? ` Default: ${kind.fallback}.` : '';
  return `${kind.help}${values}${fallback}`;
}

/** `c3 export --run RUN ... [OPTION ...]`: what a command needs, and whether it takes more. */
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

/** The arguments of a command with their sentences. The arguments after `--` come last. */
export const argumentRows = ({ arguments: args, rest }: Declaration): (readonly [name: string, text: string])[] => [
  ...Object.values(args).map((one) => [valueWords(one), explanation(one)] as const),
  ...(rest === undefined ? [] : [[rest.value, rest.help] as const]),
];

/** The options of a command, each with its sentence. */
export const optionRows = ({ options }: Declaration): (readonly [name: string, text: string])[] =>
  Object.entries(options).map(([name, option]) => [optionWords(name, option), explanation(option)] as const);

/** All that is known of one command. */
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

/** All commands, a sentence each. */
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
        'Every command that reads or writes a store takes --store PATH (.c3/c3.sqlite unless given). ' +
        '--json prints one JSON document.',
      width,
    ),
    ...paragraph(
      'Exit codes: 0 done, 1 the work failed (of grade: some lines are masked), 2 the arguments or input are wrong.',
      width,
    ),
  ].join('\n');
}
