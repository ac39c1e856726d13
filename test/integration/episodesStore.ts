/** A store with very many problems, written as the engine writes it. */
import { createHash } from 'node:crypto';
import type { Instance } from '../../src/shared/records/records.ts';
import type { StoreWriter } from '../../src/store/write/writer.ts';
import type { Headline } from '../../src/shared/credit/headline.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { addMessage, addRun, addTree } from '../unit/extension/storeFixture.ts';

interface Given {
  readonly message: number;
  readonly credit: Headline;
}

/** Problems of one transaction. */
const TOGETHER = 10_000;
/** One of so many problems was trained on, and has credits; the others were evaluated. */
const TRAINED = 20;

/** The instance of a number, with a hash of its own. */
export function manyInstance(number: number): Instance {
  const question = `Problem ${String(number)}: a baker has ${String(number % 97)} trays of ${String(number % 13)} loaves and sells ${String(number % 7)} of them; how many are left?`;
  return {
    uid: `many-${String(number)}`,
    uidSha: createHash('sha256').update(question).digest('hex'),
    question,
    answer: '1',
    source: number % 3 === 0 ? 'bakery' : 'market',
    level: number % 5,
  };
}

/** Appends a run that came to each of so many problems. */
export function addManyProblems(writer: StoreWriter, run: string, problems: number): void {
  addRun(writer, run);
  const given: Given[] = [];
  for (let from = 0; from < problems; from += TOGETHER) {
    writer.transaction(() => {
      for (let number = from; number < Math.min(problems, from + TOGETHER); number++) {
        const instance = manyInstance(number);
        if (number % TRAINED === 0) {
          given.push(...addTrained(writer, run, number, instance));
        } else {
          addEvaluated(writer, run, number, instance);
        }
      }
    });
  }
  setHeadlines(writer.path, given);
}

function addTrained(writer: StoreWriter, run: string, number: number, instance: Instance): readonly Given[] {
  const [first = 0, second = 0] = addTree(writer, {
    run,
    iteration: 1,
    instance,
    returns: [[number % 3 === 0 ? 0 : 1], [number % 2]],
    words: (plan, actor) =>
      actor === null ? `plan ${String(plan)} of ${String(number)}` : `left ${String(number % 89)}`,
  }).map(({ plan }) => plan);
  const value = (number % 199) / 100 - 0.99;
  return [[first, value] as const, [second, -value] as const].map(([message, worth]) => ({
    message,
    credit: headline(worth, { low: Math.max(-1, worth - 0.4), high: Math.min(1, worth + 0.4), n: 2 }),
  }));
}

function addEvaluated(writer: StoreWriter, run: string, number: number, instance: Instance): void {
  writer.insertInstances([instance]);
  const leaf = addMessage(writer, {
    run,
    phase: 'evaluate',
    iteration: 1,
    instance,
    role: 'actor',
    position: 0,
    parent: null,
    bucket: null,
    index: 0,
    text: `left ${String(number % 89)}`,
  });
  writer.insertEpisode({
    run,
    phase: 'evaluate',
    iteration: 1,
    instance: instance.uidSha,
    leaf,
    return: number % 2,
    rule: 'exact',
    evaluatorCalls: 1,
  });
}
