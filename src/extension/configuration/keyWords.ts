/** Describes keys in words: permitted values, default and meaning. */

import type { ConfigKey } from './keys.ts';

const KINDS = {
  section: 'section',
  list: 'list',
  choice: 'one of the names below',
  boolean: 'true or false',
  whole: 'whole number',
  number: 'number',
  text: 'text',
} as const;
const PATHS = {
  folder: 'path of a folder',
  protocol: 'path of a JSON or YAML file',
  rows: 'path of a JSON Lines or CSV file',
} as const;

/** Formats a value for a configuration, on one line. */
export function formatConfigValue(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(formatConfigValue).join(', ')}]`;
  }
  // A text that YAML would read as another value keeps its quotes.
  if (typeof value === 'string') {
    return /^[\p{L}_][\p{L}\p{N}_./-]*$/u.test(value) && !/^(?:null|true|false)$/iu.test(value)
      ? value
      : JSON.stringify(value);
  }
  return JSON.stringify(value);
}

/** Describes the permitted values, as in `whole number, above 0, at most 64`. */
export function describeKeyType(key: ConfigKey): string {
  const kind = key.names === null ? KINDS[key.kind] : PATHS[key.names];
  const of =
    key.item === null
      ? ''
      : ` of ${key.item.kind === 'choice' ? 'the names below' : `${KINDS[key.item.kind]}s${describeBounds(key.item)}`}`;
  return `${kind}${of}${describeBounds(key)}${key.nullable ? ', or null' : ''}`;
}

/** Formats the default of a key, or returns null for a section, which has the defaults of its keys. */
export function formatKeyDefault(key: ConfigKey): string | null {
  return key.kind === 'section' && !key.nullable ? null : formatConfigValue(key.default);
}

/** Describes a key on one line, as in `whole number, above 0; default 36`. */
export function summarizeKey(key: ConfigKey): string {
  const value = formatKeyDefault(key);
  return value === null ? describeKeyType(key) : `${describeKeyType(key)}; default ${value}`;
}

/** Describes a key in Markdown: its meaning, permitted values, default and named values. */
export function formatKeyMarkdown(key: ConfigKey): string {
  const value = formatKeyDefault(key);
  const facts = `${capitalizeFirst(describeKeyType(key))}.${value === null ? '' : ` Default: \`${value}\`.`}`;
  const below =
    key.kind === 'section'
      ? key.keys.map((inner) => `- \`${inner.name}\`: ${inner.description}`)
      : listNamedValues(key).map(([name, words]) => `- \`${name}\`: ${words}`);
  return [`**${key.path}**`, key.description, facts, ...(below.length === 0 ? [] : [below.join('\n')])].join('\n\n');
}

/** Describes a named value of a key in Markdown. */
export function formatChoiceMarkdown(key: ConfigKey, choice: string): string {
  return `**${key.path}: ${choice}**\n\n${key.choices.get(choice) ?? ''}`;
}

/** Returns the named values of a key, or of its items, with their meanings. */
export function listNamedValues(key: ConfigKey): readonly (readonly [name: string, words: string])[] {
  return [...(key.item ?? key).choices];
}

function describeBounds({ low, high }: ConfigKey): string {
  const lowWords = low === null ? '' : low.inclusive ? `, from ${low.value}` : `, above ${low.value}`;
  const highWords =
    high === null
      ? ''
      : high.inclusive
        ? `, at most ${high.value.toLocaleString('en')}`
        : `, below ${high.value.toLocaleString('en')}`;
  return `${lowWords}${highWords}`;
}

function capitalizeFirst(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
