/**
 * Compares what this checkout computes with what another one does, to the bit, on this machine.
 *
 *   node test/exact/compare.ts --save FILE            records this checkout
 *   node test/exact/compare.ts FILE                   compares this checkout with a record
 *   node test/exact/compare.ts OTHER_CHECKOUT         records the other checkout, then compares
 *   ... --only TEXT                                   only the runs whose name holds the text, such as "arithmetic c3"
 *
 * Both checkouts must be built. Weights depend on the kind of processor, so a record is of use on its machine alone.
 */

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cases, record, recordSchema, type Outcome } from './record.ts';

const HERE = resolve(import.meta.dirname, '../..');
const GOLDEN = join(HERE, 'test/fixtures/golden/qwen2');

type Outcomes = Readonly<Record<string, Outcome>>;

async function recordAll(checkout: string, isAsked: (name: string) => boolean): Promise<Outcomes> {
  const folder = await mkdtemp(join(tmpdir(), 'c3-exact-'));
  const outcomes: Record<string, Outcome> = {};
  try {
    for (const [index, one] of cases(GOLDEN)
      .filter(({ name }) => isAsked(name))
      .entries()) {
      const started = performance.now();
      outcomes[one.name] = await record(checkout, one, join(folder, String(index)));
      console.log(`${one.name}: ${((performance.now() - started) / 1000).toFixed(0)} s`);
    }
    return outcomes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where an outcome differs from the one before; what was added since is no difference. */
function differences(now: Outcome | undefined, before: Outcome): string[] {
  if (now === undefined) {
    return ['not recorded'];
  }
  const found = now.weights.join() === before.weights.join() ? [] : ['weights'];
  const unequal = (kind: string, a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] =>
    Object.entries(b).flatMap(([name, value]) => (a[name] === value ? [] : [`${kind} ${name}`]));
  const tables = Object.entries(before.tables).flatMap(([table, columns]) =>
    unequal(table, now.tables[table] ?? {}, columns),
  );
  return [
    ...found,
    ...unequal('file', now.files, before.files),
    ...tables,
    ...unequal('c3', now.answers, before.answers),
  ];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { save: { type: 'string' }, only: { type: 'string', default: '' } },
});
const { save, only } = values;
const [other] = positionals;
const isAsked = (name: string): boolean => name.includes(only);
if (save !== undefined) {
  await writeFile(save, JSON.stringify(await recordAll(HERE, isAsked), null, 1));
  console.log(`Recorded in ${save}.`);
} else if (other === undefined) {
  console.error('Give a record or another checkout to compare with, or --save FILE.');
  process.exitCode = 2;
} else {
  const isFolder = (await stat(other)).isDirectory();
  const before = isFolder
    ? await recordAll(resolve(other), isAsked)
    : recordSchema.parse(JSON.parse(await readFile(other, 'utf8')));
  const now = await recordAll(HERE, (name) => isAsked(name) && name in before);
  const compared = Object.entries(before).filter(([name]) => isAsked(name));
  const different = compared
    .map(([name, outcome]) => ({ name, found: differences(now[name], outcome) }))
    .filter(({ found }) => found.length > 0);
  for (const { name, found } of different) {
    console.log(`${name} differs: ${found.join(', ')}`);
  }
  console.log(`${compared.length - different.length} of ${compared.length} runs are equal.`);
  if (different.length > 0) {
    process.exitCode = 1;
  }
}
