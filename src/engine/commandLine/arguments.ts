/** Command-line arguments, read strictly: an unknown option names the nearest one. */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { C3Error, messageOf, nearestName } from '../../shared/errors.ts';

export interface ParsedArguments {
  readonly values: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;
  readonly positionals: readonly string[];
}

/** A setting as `--override` takes it: a dotted key, `=` and a value. */
const SETTING = /^[A-Za-z_][\w.]*=/;

/** The arguments with `--override` before each setting that follows one, as the published scripts take several. */
function withEachOverride(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  let inOverride = false;
  return args.flatMap((argument, index) => {
    const isFirst = args[index - 1] === '--override';
    inOverride = isFirst || argument.startsWith('--override=') || (inOverride && SETTING.test(argument));
    return inOverride && index < end && !isFirst && !argument.startsWith('-') ? ['--override', argument] : [argument];
  });
}

/**
 * Parses the arguments of one command. `--override` takes one setting or several.
 * @param most positional arguments allowed
 * @throws C3Error('input')
 */
export function readArguments(
  command: string,
  args: readonly string[],
  options: ParseArgsOptionsConfig,
  most: number,
): ParsedArguments {
  for (const argument of args) {
    if (argument === '--') {
      break;
    }
    const name = /^--([^=]+)/.exec(argument)?.[1];
    if (name === undefined || Object.hasOwn(options, name)) {
      continue;
    }
    const nearest = nearestName(name, Object.keys(options));
    const advice =
      nearest === undefined
        ? `its options are ${Object.keys(options)
            .map((option) => `--${option}`)
            .join(', ')}`
        : `did you mean --${nearest}?`;
    throw new C3Error('input', `c3 ${command} has no option --${name}; ${advice}`);
  }
  let parsed: ReturnType<typeof parseArgs>;
  try {
    const each = Object.hasOwn(options, 'override') ? withEachOverride(args) : [...args];
    parsed = parseArgs({ args: each, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new C3Error('input', `c3 ${command}: ${messageOf(error).split('.')[0] ?? ''}; see \`c3 help\`.`);
  }
  const extra = parsed.positionals[most];
  if (extra !== undefined) {
    throw new C3Error(
      'input',
      `c3 ${command} takes ${most === 0 ? 'no argument' : `at most ${String(most)}`}; ${JSON.stringify(extra.slice(0, 80))} is one too many.`,
    );
  }
  return { values: parsed.values, positionals: parsed.positionals };
}

/** A string option. */
export function text(parsed: ParsedArguments, name: string): string | null {
  const value = parsed.values[name];
  return typeof value === 'string' ? value : null;
}

/** An option that may be given several times. */
export function texts(parsed: ParsedArguments, name: string): readonly string[] {
  const value = parsed.values[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** A whole number of at least `least`, or the default. */
export function whole(parsed: ParsedArguments, name: string, least: number, fallback: number): number {
  const value = text(parsed, name);
  if (value === null) {
    return fallback;
  }
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number) || number < least) {
    throw new C3Error(
      'input',
      `--${name} needs a whole number of at least ${String(least)}, not ${JSON.stringify(value.slice(0, 40))}.`,
    );
  }
  return number;
}

/** The message that a command is about. */
export function messageNumber(command: string, parsed: ParsedArguments): number {
  const given = parsed.positionals[0] ?? '';
  const message = /^\d+$/.test(given) ? Number(given) : NaN;
  if (!Number.isSafeInteger(message) || message < 1) {
    throw new C3Error('input', `c3 ${command} needs the number of a message, for example \`c3 ${command} 17\`.`);
  }
  return message;
}
