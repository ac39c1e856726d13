/** Writes the template of a new configuration: every key with its description. */
import { wrapped } from '../../shared/text/wrapped.ts';
import { choicesOf, valueWords } from './keyWords.ts';
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
export function templateText(): string {
  return [HEAD.join('\n'), ...CONFIGURATION.keys.map(keyBlock)].join('\n\n') + '\n';
}

function keyBlock(key: ConfigKey): string {
  const names = choicesOf(key).map(([name]) => name);
  const words = key.kind === 'choice' ? `${key.description} One of: ${names.join(', ')}.` : key.description;
  const line = `${key.name}: ${valueOf(key)}`;
  return [...wrapped(words, WIDTH).map((part) => `# ${part}`), WRITTEN.has(key.path) ? line : `# ${line}`].join('\n');
}

/** Formats a value on one line, so that one `#` comments it out. Prefers the short form of a section. */
function valueOf(key: ConfigKey): string {
  const title = WRITTEN.get(key.path);
  if (typeof title === 'string') {
    return title;
  }
  const short = key.keys.find(({ name }) => name === key.shortFor);
  if (short !== undefined) {
    return valueWords(short.default);
  }
  if (key.kind !== 'section' || key.nullable) {
    return valueWords(key.default);
  }
  return `{${key.keys.map((inner) => `${inner.name}: ${valueWords(inner.default)}`).join(', ')}}`;
}
