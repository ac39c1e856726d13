/**
 * Writes the page of the guide with all configuration keys from the schema of run configurations.
 * Run it after a change of a key: npm run reference
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  listNamedValues,
  formatKeyDefault,
  describeKeyType,
  formatConfigValue,
} from '../../src/extension/configuration/keyWords.ts';
import { CONFIGURATION, type ConfigKey } from '../../src/extension/configuration/keys.ts';
import { wrapWords } from '../../src/shared/text/wrapped.ts';

export const KEY_REFERENCE = join(import.meta.dirname, '..', '..', 'media', 'guide', 'configuration-reference.md');
const WIDTH = 100;

const HEAD = `# Configuration reference

[Contents](README.md) · [Configurations](configuration.md)

<!-- Made by npm run reference from src/training/keys. Change the keys there. -->

Every key of a \`*.c3.yaml\` is optional. Each entry has the key, its values, its default and its
meaning. A key without a version came in 0.1.0. ROLE stands for the name of a role.`;

/** Returns the page as Markdown. */
export function keyReference(): string {
  const { keys } = CONFIGURATION;
  const sections = keys.filter(isSection);
  const links = ['[The run](#the-run)', ...sections.map(({ name }) => `[\`${name}\`](#${name})`)];
  const parts = [
    ['## The run', ...keys.filter((key) => !isSection(key)).map(keyEntry)],
    ...sections.map((section) => [
      `## \`${section.name}\``,
      describeSection(section),
      ...keysIn(section).map(keyEntry),
    ]),
  ];
  return `${[HEAD, inLines(['Sections:', `${links.join(', ')}.`]), ...parts.flat()].join('\n\n')}\n`;
}

const isSection = (key: ConfigKey): boolean => keysIn(key).length > 0;

/**
 * Lists all keys of a section, including those of nested sections and lists and of user-defined
 * names.
 */
const keysIn = ({ keys, entry, item }: ConfigKey): readonly ConfigKey[] =>
  [...keys, ...(entry?.keys ?? []), ...(item?.keys ?? [])].flatMap((key) => [key, ...keysIn(key)]);

function describeSection(key: ConfigKey): string {
  const value = formatKeyDefault(key);
  return inLines([key.description, ...(value === null ? [] : [`Default: \`${value}\`.`]), ...describeHistory(key)]);
}

/** Formats one key with its values, default, meaning and names. */
function keyEntry(key: ConfigKey): string {
  const value = key.default === null && !key.nullable ? null : formatKeyDefault(key);
  const facts = value === null ? describeKeyType(key) : `${describeKeyType(key)}; default \`${value}\``;
  const name = key.path.replace('*', 'ROLE');
  return [
    inLines([`- **\`${name}\`** (${facts}).`, key.description, ...describeHistory(key)], '  '),
    ...listNamedValues(key).map(([choice, words]) => `  ${inLines([`- \`${choice}\`: ${words}`], '    ')}`),
  ].join('\n');
}

/**
 * Describes the version that introduced a key, and the behavior of earlier runs if it is not the
 * default.
 */
const describeHistory = ({ since, earlier, default: value }: ConfigKey): string[] => [
  ...(since === null ? [] : [`Since ${since}.`]),
  ...(earlier === undefined || earlier === value
    ? []
    : [`Runs recorded without the key used \`${formatConfigValue(earlier)}\`.`]),
];

/** Wraps sentences into lines. All lines except the first are indented. */
const inLines = (sentences: readonly string[], indent = ''): string =>
  wrapWords(sentences.join(' '), WIDTH - indent.length).join(`\n${indent}`);

if (import.meta.main) {
  writeFileSync(KEY_REFERENCE, keyReference());
}
