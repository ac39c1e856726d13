/** `c3 blame` on the real runtime: what it answers, spends, stores and refuses. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { BLAME_VERDICTS } from '../../../../src/shared/records/blame.ts';
import type { Episode } from '../../../../src/shared/records/records.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { c3, copyOf, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

const blame = z.looseObject({
  episode: z.int(),
  verdict: z.enum(BLAME_VERDICTS),
  message: z.int().nullable(),
  messages: z.array(z.int()),
  curve: z.array(
    z.looseObject({
      message: z.int().nullable(),
      role: z.string().nullable(),
      value: z.number(),
      low: z.number(),
      high: z.number(),
      n: z.int(),
    }),
  ),
  evaluatorCalls: z.int(),
  sentence: z.string(),
});

let recorded = '';
let run = '';
before(async () => {
  ({ folder: recorded, run } = await newRecorded('arithmetic'));
});
after(() => {
  rmSync(recorded, { recursive: true, force: true });
});

const episodes = (folder: string): Episode[] =>
  withStore(folder, (store) => store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1000 }));
const lost = (folder: string): Episode => episodes(folder).find((one) => one.return === 0) ?? assert.fail();

async function blamed(folder: string, episode: number, ...args: readonly string[]): Promise<z.infer<typeof blame>> {
  const { code, stdout, stderr } = await c3(folder, ['blame', String(episode), '--json', ...args]);
  assert.equal(code, 0, stderr);
  return blame.parse(parseLine(stdout));
}
const sampled = (folder: string): Episode | undefined =>
  withStore(folder, (store) =>
    store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 100 }).find((one) => one.return === 0),
  );
const requests = (folder: string): number =>
  withStore(folder, (store) => store.countBuckets({ run, origin: 'request' }));
const folderFor = (t: TestContext): string => copyOf(t, recorded);

describe('c3 blame', () => {
  it('reads a lost episode: a curve that ends at its return, one sentence, and pairs that verify', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const chain = withStore(folder, (store) => store.chain(leaf).map(({ id }) => id));
    const found = await blamed(folder, leaf);
    assert.equal(found.episode, leaf);
    assert.deepEqual(
      found.curve.map(({ message }) => message),
      [null, ...chain],
    );
    const end = found.curve.at(-1) ?? assert.fail();
    assert.deepEqual([end.value, end.low, end.high, end.n], [0, 0, 0, 0]);
    assert.ok(found.curve.every(({ value, low, high }) => low <= value && value <= high && low >= 0 && high <= 1));
    assert.ok(found.evaluatorCalls <= 96 && found.evaluatorCalls > 0);
    assert.match(
      found.sentence,
      /^(?:The \w+ lost it: the chance of success fell from|The team rarely solves|Undecided|\w)/u,
    );
    assert.equal(found.message === null, found.verdict !== 'message');
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.equal(verified['identical'], verified['checked']);
  });

  it('goes on from what is stored: the same question again costs nothing once it is decided', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const first = await blamed(folder, leaf, '--budget', '1000');
    assert.notEqual(first.verdict, 'undecided');
    const before = requests(folder);
    const again = await blamed(folder, leaf, '--budget', '1000');
    assert.deepEqual({ ...again, evaluatorCalls: 0, sentence: '' }, { ...first, evaluatorCalls: 0, sentence: '' });
    assert.equal(again.evaluatorCalls, 0);
    assert.equal(requests(folder), before);
  });

  it('says of a greedy episode, and of no other, that it is read at the sampling temperature', async (t) => {
    const folder = folderFor(t);
    const greedy = await c3(folder, ['blame', String(lost(folder).leaf), '--budget', '8']);
    assert.match(greedy.stderr, /was recorded greedily; it is read at the sampling temperature/u);
    const other = await c3(folder, ['blame', String(sampled(folder)?.leaf ?? assert.fail()), '--budget', '8']);
    assert.deepEqual([other.code, other.stderr], [0, '']);
  });

  it('is about the same episode whichever of its messages is named, and keeps to its budget', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const [first] = withStore(folder, (store) => store.chain(leaf));
    const small = await blamed(folder, first?.id ?? 0, '--budget', '1');
    assert.equal(small.episode, leaf);
    assert.equal(small.verdict, 'undecided');
    assert.ok(small.evaluatorCalls <= 1);
    const more = await blamed(folder, leaf, '--budget', '20');
    assert.ok(more.evaluatorCalls <= 20, String(more.evaluatorCalls));
  });

  it('says that an episode was not lost, and samples nothing', async (t) => {
    const folder = folderFor(t);
    const won = episodes(folder).find((one) => one.return === 1) ?? assert.fail();
    const { verdict, evaluatorCalls, sentence } = await blamed(folder, won.leaf);
    assert.deepEqual(
      [verdict, evaluatorCalls, sentence],
      ['won', 0, 'The episode was not lost: choose a message of one that was.'],
    );
  });

  it('refuses what it cannot look at in one sentence, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const before = requests(folder);
    for (const [args, words] of [
      [['blame', '999999'], /no message 999999|999999/u],
      [['blame', 'x'], /needs the number of a message/u],
      [['blame', '1', '--budget', '0'], /--budget needs a whole number of at least 1/u],
      [['blame', '1', '--budget', '100001'], /from 1 to 100,000/u],
    ] as const) {
      const refused = await c3(folder, args);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
    assert.equal(requests(folder), before);
  });
});
