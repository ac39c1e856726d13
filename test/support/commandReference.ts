/**
 * Writes the command reference of the guide from the declarations of the commands: the whole page
 * from its heading on. Run it after a change of a declaration: npm run reference
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROUPS } from '../../src/engine/commandLine/commands.ts';
import type { Declaration } from '../../src/engine/commandLine/declared/declaration.ts';
import { listArgumentRows, listOptionRows, formatUsage } from '../../src/engine/commandLine/help.ts';
import { wrapWords } from '../../src/shared/text/wrapped.ts';

export const COMMAND_PAGE = join(import.meta.dirname, '..', '..', 'media', 'guide', 'command-line.md');
const HEADING = '## All commands\n';
const WIDTH = 100;

/** Returns the page with the current reference. */
export function withReference(page: string): string {
  const at = page.indexOf(HEADING);
  if (at === -1) {
    throw new Error(`${COMMAND_PAGE} has no heading "${HEADING.trim()}".`);
  }
  return `${page.slice(0, at)}${reference()}`;
}

function reference(): string {
  const groups = GROUPS.flatMap(({ title, commands }) => [
    `### ${title}`,
    ...commands.flatMap(({ declared }) => commandLines(declared)),
  ]);
  return [HEADING.trim(), 'This part is made from what the commands declare, as `c3 COMMAND --help` is.', ...groups]
    .join('\n\n')
    .concat('\n');
}

/** Returns the paragraphs of one command. */
function commandLines(declared: Declaration): string[] {
  const { name, summary, details, examples } = declared;
  const rows = [...listArgumentRows(declared), ...listOptionRows(declared)];
  const widest = Math.max(...examples.map(([line]) => line.length));
  return [
    `#### c3 ${name}`,
    wrapWords(details === undefined ? summary : `${summary} ${details}`, WIDTH).join('\n'),
    ['```', formatUsage(declared), '```'].join('\n'),
    ...(rows.length === 0 ? [] : [rows.map(([term, text]) => item(`\`${term}\`: ${text}`)).join('\n')]),
    ['```sh', ...examples.map(([line, does]) => `${line.padEnd(widest)} # ${does}`), '```'].join('\n'),
  ];
}

/** Formats a list item, wrapped to the width of the page. */
const item = (text: string): string => `- ${wrapWords(text, WIDTH - 2).join('\n  ')}`;

if (import.meta.main) {
  writeFileSync(COMMAND_PAGE, withReference(readFileSync(COMMAND_PAGE, 'utf8')));
}
