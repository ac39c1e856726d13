/**
 * Writes a store with one transcript of 100,000 messages and measures the times of opening and
 * searching it: node test/support/bigTranscript.ts FOLDER [DECISIONS]
 *
 * The store lies in FOLDER/.c3/c3.sqlite, so that the folder can be opened in the editor as a
 * workspace.
 */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TranscriptReading } from '../../src/extension/transcript/reading/transcriptReading.ts';
import { NO_FILTER, type TranscriptTarget } from '../../src/shared/protocols/transcriptProtocol.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRun, addTree, problem } from '../unit/extension/storeFixture.ts';
import { headline, setHeadlines } from './headlines.ts';

export const BIG_RUN = 'big';
/** Actor messages under each plan. */
export const BIG_WIDTH = 9;
const WORDS = ['subtract', 'add', 'carry', 'double', 'halve', 'check', 'guess', 'restate', 'sum', 'product'];

/** Writes the store. @returns its transcript */
export function writeBigTranscript(folder: string, messages: number): TranscriptTarget {
  const store = join(folder, '.c3', 'c3.sqlite');
  mkdirSync(join(folder, '.c3'), { recursive: true });
  const writer = openStoreForWriting(store);
  const plans = Math.round(messages / (BIG_WIDTH + 1));
  const word = (number: number): string => WORDS[number % WORDS.length] ?? '';
  addRun(writer, BIG_RUN, '2026-01-02T03:04:05.000Z');
  writer.insertStep({
    run: BIG_RUN,
    iteration: 1,
    snapshot: 'a'.repeat(64),
    ledger: { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 },
  });
  const tree = addTree(writer, {
    run: BIG_RUN,
    iteration: 1,
    problem: problem(7),
    returns: Array.from({ length: plans }, (_, plan) =>
      Array.from({ length: BIG_WIDTH }, (__, actor) => ((plan * 7 + actor * 3) % 5 < 2 ? 1 : 0)),
    ),
    words: (plan, actor) =>
      actor === null
        ? `plan ${plan}: ${word(plan)} then ${word(plan * 3 + 1)}`
        : `answer ${plan}.${actor} ${word(plan + actor)} ${actor === 4 && plan % 100 === 3 ? 'needle' : ''}`,
  });
  writer.close();
  setHeadlines(
    store,
    tree.map(({ plan }) => ({
      message: plan,
      credit: headline(((plan * 13) % 9) / 9 - 0.45, { low: -1, high: 1, n: BIG_WIDTH, evaluatorCalls: BIG_WIDTH }),
    })),
  );
  return { run: BIG_RUN, phase: 'train', iteration: 1, problem: problem(7).uidSha };
}

function measured<Result>(what: string, work: () => Result): Result {
  const begin = performance.now();
  const result = work();
  console.log(`${what}: ${(performance.now() - begin).toFixed(0)} ms`);
  return result;
}

if (process.argv[1] === import.meta.filename) {
  const folder = resolve(process.argv[2] ?? 'big');
  const target = measured('write', () => writeBigTranscript(folder, Number(process.argv[3] ?? 100_000)));
  const reader = openStoreForReading(join(folder, '.c3', 'c3.sqlite'));
  const reading = measured('open', () => new TranscriptReading(reader, target));
  measured('first window', () => reading.window(reader, 0));
  measured('last window', () => reading.window(reader, reading.sizes.rows - (reading.sizes.rows % 200)));
  for (const query of ['needle', 'carry', 'answer']) {
    const hits = measured(`search "${query}"`, () => reading.search(reader, query));
    console.log(`  ${hits.total} hits`);
  }
  for (const filter of [{ role: 'reasoner' }, { credit: 'negative' }, { outcome: 'lost' }] as const) {
    const filtered = measured(`filter ${JSON.stringify(filter)}`, () =>
      reading.filtered(reader, { ...NO_FILTER, ...filter }, null),
    );
    console.log(`  ${filtered.sizes.matching} of ${filtered.sizes.messages}`);
  }
  reader.close();
}
