/** Writes the template of a new configuration: every key with its description. */

import { wrapWords } from '../../shared/text/wrapped.ts';
import { listNamedValues, formatConfigValue } from './keyWords.ts';
import { CONFIGURATION, type ConfigKey } from './keys.ts';

const WIDTH = 72;

/** Keys that are written out, with their values; null for the default. All others are commented out. */
const WRITTEN: ReadonlyMap<string, string | null> = new Map([
  ['title', 'My run'],
  ['method', null],
  ['seed', null],
  ['steps', null],
  ['instances_per_step', null],
  ['fanout', null],
  ['evaluator_budget', null],
  ['device', null],
]);

const HEAD = [
  '# A run: who speaks, on what, and how the team learns from it.',
  '# As is, it trains the bundled team. Every key can be omitted:',
  '# the value after a # is the default; remove the # to change it.',
  '# Ctrl+Space lists keys and values, and hovering over one explains it.',
];

/**
 * Returns a configuration that can be run as it is. Removing the `#` before a key changes nothing,
 * since the value is the default. Only the title is not a default.
 */
export function createTemplate(): string {
  return [HEAD.join('\n'), ...CONFIGURATION.keys.map(formatKeyBlock)].join('\n\n') + '\n';
}

function formatKeyBlock(key: ConfigKey): string {
  const names = listNamedValues(key).map(([name]) => name);
  const words = key.kind === 'choice' ? `${key.description} One of: ${names.join(', ')}.` : key.description;
  const line = `${key.name}: ${formatTemplateValue(key)}`;
  return [...wrapWords(words, WIDTH).map((part) => `# ${part}`), WRITTEN.has(key.path) ? line : `# ${line}`].join('\n');
}

/** Formats a value on one line, so that one `#` comments it out. Prefers the short form of a section. */
function formatTemplateValue(key: ConfigKey): string {
  const title = WRITTEN.get(key.path);
  if (typeof title === 'string') {
    return title;
  }
  const short = key.keys.find(({ name }) => name === key.shortFor);
  if (short !== undefined) {
    return formatConfigValue(short.default);
  }
  if (key.kind !== 'section' || key.nullable) {
    return formatConfigValue(key.default);
  }
  return `{${key.keys.map((inner) => `${inner.name}: ${formatConfigValue(inner.default)}`).join(', ')}}`;
}
