/**
 * Reads command-line arguments strictly as a command declares them. The error for an unknown option
 * names the nearest one.
 */

import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { C3Error, toErrorMessage, findNearestName } from '../../shared/errors.ts';
import {
  toFlag,
  joinWithOr,
  formatValueName,
  embedSentence,
  type Argument,
  type Declaration,
  type Given,
  type Option,
} from './declared/declaration.ts';

/** Maximum characters of a wrong value that an error repeats. */
const SHOWN = 40;
/** A setting for `--override`: a dotted key, `=` and a value. */
const SETTING = /^[A-Za-z_][\w.]*=/;

/** The value that util.parseArgs returns for an option. */
type Parsed = string | boolean | (string | boolean)[] | undefined;

/** Adds `--override` before each further setting: the published scripts take several after one option. */
function repeatOverrideFlag(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  let inOverride = false;
  return args.flatMap((argument, index) => {
    const isFirst = args[index - 1] === '--override';
    inOverride = isFirst || argument.startsWith('--override=') || (inOverride && SETTING.test(argument));
    return inOverride && index < end && !isFirst && !argument.startsWith('-') ? ['--override', argument] : [argument];
  });
}

/** Joins an option and a negative number after it, as in `--score -1`. util.parseArgs takes `-1` for an option. */
function joinNegativeNumbers(args: readonly string[], options: ParseArgsOptionsConfig): string[] {
  const joined: string[] = [];
  for (const argument of args) {
    const before = joined.includes('--') ? '' : (joined.at(-1) ?? '');
    if (/^-[\d.]/.test(argument) && before.startsWith('--') && options[before.slice(2)]?.type === 'string') {
      joined[joined.length - 1] = `${before}=${argument}`;
    } else {
      joined.push(argument);
    }
  }
  return joined;
}

/** Splits arguments at `--`, if the command takes arguments after it. */
export function splitAtDashes(
  declared: Pick<Declaration, 'rest'>,
  args: readonly string[],
): { readonly own: readonly string[]; readonly rest: readonly string[] } {
  const at = declared.rest === undefined ? -1 : args.indexOf('--');
  return at === -1 ? { own: args, rest: [] } : { own: args.slice(0, at), rest: args.slice(at + 1) };
}

/**
 * Reads the arguments of one command.
 * @returns a value of the declared type for each argument and option
 * @throws C3Error('input') for unknown arguments, and for required ones that are missing
 */
export function readArguments<Declared extends Declaration>(
  declared: Declared,
  args: readonly string[],
): Given<Declared> {
  const { own, rest } = splitAtDashes(declared, args);
  const { name: command, options } = declared;
  refuseUnknown(
    command,
    own,
    Object.keys(options).map((name) => toFlag(name).slice(2)),
  );
  const { values, positionals } = parseDeclaredArguments(declared, own);
  const entries = Object.entries(declared.arguments);
  const extra = positionals[entries.length];
  if (extra !== undefined) {
    throw new C3Error(
      'input',
      `c3 ${command} takes ${entries.length === 0 ? 'no argument' : `at most ${entries.length}`}; ` +
        `${JSON.stringify(extra.slice(0, 80))} is one too many.`,
    );
  }
  const valueOf = (name: string): Parsed => values[toFlag(name).slice(2)];
  const given: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(entries.map(([name, one], at) => [name, readArgument(command, name, one, positionals[at])])),
    ...Object.fromEntries(
      Object.entries(options).map(([name, option]) => [name, readOption(command, name, option, valueOf(name))]),
    ),
    named: new Set(Object.keys(options).filter((name) => valueOf(name) !== undefined)),
    rest,
  };
  return given as Given<Declared>;
}

/** @throws C3Error('input') for an option that the command does not have, naming the nearest one */
function refuseUnknown(command: string, args: readonly string[], options: readonly string[]): void {
  for (const argument of args) {
    if (argument === '--') {
      return;
    }
    const name = /^--([^=]+)/.exec(argument)?.[1];
    if (name === undefined || options.includes(name)) {
      continue;
    }
    const nearest = findNearestName(name, options);
    const known =
      options.length === 0 ? 'it has none.' : `its options are ${options.map((one) => `--${one}`).join(', ')}`;
    const advice = nearest === undefined ? known : `did you mean --${nearest}?`;
    throw new C3Error('input', `c3 ${command} has no option --${name}; ${advice}`);
  }
}

/** Returns the options by their names on the command line, and the arguments. @throws C3Error('input') */
function parseDeclaredArguments(
  { name, options }: Declaration,
  args: readonly string[],
): { readonly values: Readonly<Record<string, Parsed>>; readonly positionals: readonly string[] } {
  const config: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(options).map(([option, { kind }]) => [
      toFlag(option).slice(2),
      { type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'texts' },
    ]),
  );
  try {
    const each = Object.hasOwn(options, 'override') ? repeatOverrideFlag(args) : args;
    return parseArgs({
      args: joinNegativeNumbers(each, config),
      options: config,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw new C3Error('input', `c3 ${name}: ${toErrorMessage(error).split('.')[0] ?? ''}; see \`c3 ${name} --help\`.`);
  }
}

function readOption(command: string, name: string, option: Option, value: Parsed): unknown {
  const flag = toFlag(name);
  if (option.kind === 'flag') {
    return value === true;
  }
  if (option.kind === 'texts') {
    return Array.isArray(value) ? value.map(String) : [];
  }
  if (typeof value !== 'string') {
    if (option.required === true) {
      const needed =
        option.kind === 'choice'
          ? `with one of ${option.choices.join(', ')}`
          : `${formatValueName(option)}: ${embedSentence(option.help)}`;
      throw new C3Error('input', `c3 ${command} needs ${flag} ${needed}.`);
    }
    return 'fallback' in option ? option.fallback : null;
  }
  switch (option.kind) {
    case 'whole':
      return readWhole(flag, value, option.least);
    case 'amount':
      return readAmount(flag, value, option.least);
    case 'choice':
      return readChoice(flag, value, option.choices);
    default:
      return value;
  }
}

function readArgument(command: string, name: string, argument: Argument, value: string | undefined): unknown {
  if (value === undefined && argument.optional === true) {
    return 'fallback' in argument ? argument.fallback : null;
  }
  if (argument.kind === 'row') {
    const row = /^\d+$/.test(value ?? '') ? Number(value) : NaN;
    if (!Number.isSafeInteger(row) || row < 1) {
      const what = embedSentence(argument.help.split('. ')[0] ?? '');
      throw new C3Error('input', `c3 ${command} needs ${what}, for example \`c3 ${command} 17\`.`);
    }
    return row;
  }
  if (value === undefined) {
    throw new C3Error('input', `c3 ${command} needs ${embedSentence(argument.help)}.`);
  }
  return argument.kind === 'choice' ? readChoice(name.toUpperCase(), value, argument.choices) : value;
}

/** @throws C3Error('input') unless the value is a whole number of at least `least` */
function readWhole(flag: string, value: string, least: number): number {
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number) || number < least) {
    throw new C3Error(
      'input',
      `${flag} needs a whole number of at least ${least}, not ${JSON.stringify(value.slice(0, SHOWN))}.`,
    );
  }
  return number;
}

/** @throws C3Error('input') unless the value is a number of at least `least` */
function readAmount(flag: string, value: string, least = -Infinity): number {
  const number = value.trim() === '' ? NaN : Number(value);
  if (!Number.isFinite(number) || number < least) {
    const bound = least === -Infinity ? '' : ` of at least ${least}`;
    throw new C3Error(
      'input',
      `${flag} must be a number${bound}, such as 0.25, not ${JSON.stringify(value.slice(0, SHOWN))}.`,
    );
  }
  return number;
}

/** @throws C3Error('input') for any value that is not a choice, naming the nearest choice */
function readChoice(what: string, value: string, choices: readonly string[]): string {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) {
    const shown = value.slice(0, SHOWN);
    const nearest = findNearestName(shown, choices);
    throw new C3Error(
      'input',
      `${what} is ${joinWithOr(choices)}, not ${JSON.stringify(shown)}` +
        (nearest === undefined ? '.' : `; did you mean ${nearest}?`),
    );
  }
  return found;
}
