/** `--only` and the other places in the stead of all lost episodes, on the real runtime. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Episode } from '../../../../src/domain/episode.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { c3, copyOf, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let recorded = '';
let run = '';
before(async () => {
  ({ folder: recorded, run } = await newRecorded('arithmetic'));
});
after(() => {
  rmSync(recorded, { recursive: true, force: true });
});
const folderFor = (t: TestContext): string => copyOf(t, recorded);

/** The episodes of the greedy evaluation after training. */
const evaluated = (folder: string): Episode[] =>
  withStore(folder, (store) => {
    const last = store.evaluations(run).findLast(({ kind }) => kind === 'greedy') ?? assert.fail();
    return store.episodes({ run, phase: 'evaluate', iteration: last.iteration, offset: 0, limit: 1000 });
  });
const levelOf = (folder: string, { problem }: Episode): string =>
  withStore(folder, (store) => String(store.problem(problem).level));

describe('c3 blame --only', () => {
  it('reads the lost episodes of a level, of one episode, or with a label, and says which', async (t) => {
    const folder = folderFor(t);
    const lost = evaluated(folder).filter((one) => one.return === 0);
    const [first] = lost;
    assert.ok(first !== undefined);
    const level = levelOf(folder, first);
    const alike = lost.filter((one) => levelOf(folder, one) === level);
    assert.ok(alike.length < lost.length, 'the lost episodes are of several levels');
    const found = parseLine(
      (await c3(folder, ['blame', '--only', `level=${level}`, '--budget', '60', '--json'])).stdout,
    );
    assert.deepEqual([found['lost'], found['only']], [alike.length, [{ key: 'level', value: level }]]);
    const all = lost.length;
    assert.match(
      String(found['sentence']),
      new RegExp(`^Of ${String(alike.length)} lost episodes? \\(level ${level}\\) \\d+ \\[`, 'u'),
    );
    const one = parseLine(
      (await c3(folder, ['blame', '--only', `episode=${String(first.leaf)}`, '--budget', '20', '--json'])).stdout,
    );
    assert.equal(one['lost'], 1);
    // Its last message has a case by now, which can have a label.
    const bucket = withStore(folder, (store) =>
      store.requestsOf(run, first.problem).find(({ message }) => message === first.leaf),
    );
    const label = 'a=b "slip" <i>';
    const labelled = await c3(folder, ['label', String(bucket?.id), label]);
    assert.equal(labelled.code, 0, labelled.stderr);
    const { stdout, stderr } = await c3(folder, [
      'blame',
      '--only',
      `label=${label}`,
      '--by',
      'class',
      '--budget',
      '20',
    ]);
    assert.equal(stderr.includes('C3'), false);
    assert.match(stdout, /^Of 1 lost episode \(label a=b "slip" <i>\) /u);
    assert.ok(all > 1);
  });

  it('refuses an unknown key and what no lost episode has, in one sentence, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const counts = withStore(folder, (store) => store.counts());
    const won = evaluated(folder).find((one) => one.return === 1) ?? assert.fail();
    for (const [args, words] of [
      [['--only', 'weather=rain'], /--only selects no episodes by "weather"; give class=, episode=/u],
      [['--only', 'level'], /--only level needs a value/u],
      [['--only', 'level=99'], /No lost episode of the last evaluation has level 99; by level, with/u],
      [['--only', 'class=No Such Class'], /has class No Such Class; by class, with the number of episodes: /u],
      [['--only', `episode=${String(won.leaf)}`], /No lost episode of the last evaluation has episode/u],
      [['--only', 'label=none'], /has label none; none of \d+ has a label/u],
      [['1', '--only', 'level=1'], /either an episode or --only/u],
      [['--team', 'team.yaml'], /has a team of its own, so --team does not apply/u],
    ] as const) {
      const refused = await c3(folder, ['blame', ...args]);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      counts,
    );
  });
});
