/** A store with very many problems, written as the engine writes it. */
import { createHash } from 'node:crypto';
import type { Instance } from '../../src/shared/records.ts';
import type { StoreWriter } from '../../src/store/writer.ts';
import type { Headline } from '../../src/shared/headline.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { addRun, addTree, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';

/** Problems of one step, and rows of one transaction. */
const STEP = 5_000;

/** The instance of a number, with a hash of its own. */
export function manyInstance(number: number): Instance {
  const question = `Problem ${String(number)}: a baker has ${String(number % 97)} trays of ${String(number % 13)} loaves and sells ${String(number % 7)} of them; how many are left?`;
  return { uid: `many-${String(number)}`, uidSha: createHash('sha256').update(question).digest('hex'), question, answer: '1', source: number % 3 === 0 ? 'bakery' : 'market', level: number % 5 };
}

/** Appends a run that came to each of so many problems once: a plan with two answers, and a credit for each answer. */
export function addManyProblems(writer: StoreWriter, run: string, problems: number): void {
  addRun(writer, run);
  const given: { readonly message: number; readonly credit: Headline }[] = [];
  for (let from = 0, iteration = 1; from < problems; from += STEP, iteration++) {
    writer.transaction(() => {
      writer.insertStep({ run, iteration, snapshot: 'a'.repeat(64), ledger: LEDGER });
      for (let number = from; number < Math.min(problems, from + STEP); number++) {
        const returns = [number % 3 === 0 ? 0 : 1, number % 2];
        const [tree] = addTree(writer, { run, iteration, instance: manyInstance(number), returns: [returns], words: (_, actor) => (actor === null ? `trays times loaves ${String(number % 97)}` : `left ${String(number % 89)}`) });
        const [first = 0, second = 0] = tree?.actors ?? [];
        const value = (returns[0] ?? 0) - (returns[1] ?? 0);
        for (const [decision, worth] of [[first, value], [second, -value]] as const) {
          given.push({ message: decision, credit: headline(worth, { low: Math.max(-1, worth - 0.4 - (number % 50) / 100), high: Math.min(1, worth + 0.4 + (number % 50) / 100), n: 2, evaluatorCalls: 2 }) });
        }
      }
      writer.finishStep(run, iteration, METRICS, LEDGER);
    });
  }
  setHeadlines(writer.path, given);
}
