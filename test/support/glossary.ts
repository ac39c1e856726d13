/**
 * Writes the glossary of the interface from docstrings of the domain. A docstring with a line
 * `@term KEY [NAME]` is the meaning of that word. Run it after a change of such a docstring: npm
 * run glossary
 */

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const GLOSSARY = join(ROOT, 'src', 'shared', 'text', 'glossary.ts');
/** Glob of the files that define the words. */
const SOURCES = 'src/{domain,shared}/**/*.ts';
/** The words in the order of display: episodes and replays, then credit, then training. */
const ORDER = [
  ...['problem', 'episode', 'message', 'role', 'context', 'return', 'alternative', 'replay', 'bucket'],
  ...['credit', 'interval', 'n', 'effectiveN', 'stream', 'rho', 'withinReach'],
  ...['policy', 'snapshot', 'run', 'step'],
] as const;

/**
 * Reads the words by their keys, in order.
 * @throws Error if a word has no docstring, several ones, or no place in the order
 */
export function readGlossary(): Readonly<Record<string, Omit<Term, 'key'>>> {
  const found = globSync(SOURCES, { cwd: ROOT }).flatMap((file) => termsIn(readFileSync(join(ROOT, file), 'utf8')));
  const unknown = found.find(({ key }) => !ORDER.some((one) => one === key));
  if (unknown !== undefined) {
    throw new Error(`The word ${unknown.key} has no place in the order of test/support/glossary.ts.`);
  }
  return Object.fromEntries(
    ORDER.map((word) => {
      const [term, another] = found.filter(({ key }) => key === word);
      if (term === undefined || another !== undefined) {
        throw new Error(`The word ${word} needs one docstring with "@term ${word}", and no second one.`);
      }
      return [word, { name: term.name, meaning: term.meaning }];
    }),
  );
}

interface Term {
  readonly key: string;
  readonly name: string;
  readonly meaning: string;
}

function termsIn(text: string): Term[] {
  return [...text.matchAll(/\/\*\*((?:(?!\*\/)[^])*?)\* @term (\w+)(?: ([^\n]*))?\n/gu)].map(
    ([, said = '', key = '', name = key]) => ({
      key,
      name,
      meaning: said
        .replaceAll(/\s*\n\s*\*/gu, '')
        .replaceAll(/\s+/gu, ' ')
        .trim(),
    }),
  );
}

/** Formats a text as one string literal if it fits a line, otherwise as several. */
const inLines = (text: string): string =>
  text.length <= 110
    ? JSON.stringify(text)
    : [...text.matchAll(/.{1,100}(?:\s|$)/gu)].map(([line]) => JSON.stringify(line)).join(' + ');

if (import.meta.main) {
  writeFileSync(
    GLOSSARY,
    `/** What the words of the panels mean. Made from docstrings by test/support/glossary.ts: change them there. */

export const GLOSSARY = {
${Object.entries(readGlossary())
  .map(([key, { name, meaning }]) => `${key}: { name: ${JSON.stringify(name)}, meaning: ${inLines(meaning)} },`)
  .join('\n')}
} as const satisfies Readonly<
  Record<string, { readonly name: string; readonly meaning: string }>
>;

export type TermName = keyof typeof GLOSSARY;
`,
  );
}
