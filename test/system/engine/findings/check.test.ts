/** `c3 keep` and `c3 check` on the real runtime, in the store of a finding and away from it. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { FINDING_VERDICTS } from '../../../../src/domain/answer.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { c3, copyOf, errorOf, parseLine, withStore, type Finished } from '../../../unit/engine/workspace.ts';

const TEAM = join(import.meta.dirname, '../../../../media/team');

const report = z.looseObject({
  findings: z.array(
    z.looseObject({
      file: z.string(),
      verdict: z.enum(FINDING_VERDICTS),
      difference: z.object({ value: z.number(), low: z.number(), high: z.number(), n: z.int() }).nullable(),
      passed: z.boolean().nullable(),
      differs: z.array(z.string()),
      sentence: z.string(),
      error: z.string().nullable(),
    }),
  ),
  sentence: z.string(),
});

let recorded = '';
let run = '';
let message = 0;
let file = '';
before(async () => {
  ({ folder: recorded, run } = await newRecorded('arithmetic'));
  message = lost(recorded);
  const done = await c3(recorded, ['keep', String(message), '--draws', '60', '--json']);
  assert.equal(done.code, 0, done.stderr);
  file = relative(recorded, String(parseLine(done.stdout)['file']));
});
after(() => rmSync(recorded, { recursive: true, force: true }));

/** A first message of an episode that the trained team lost. */
const lost = (folder: string): number =>
  withStore(folder, (store) => {
    const last = store.evaluations(run).findLast(({ kind }) => kind === 'greedy') ?? assert.fail();
    const query = { run, phase: 'evaluate', iteration: last.iteration, offset: 0, limit: 1000 } as const;
    const { leaf } = store.episodes(query).find((one) => one.return === 0) ?? assert.fail();
    return store.chain(leaf)[0]?.id ?? assert.fail();
  });

/** Changes the text of a copy's finding. */
const edit = (folder: string, from: string | RegExp, to: string): void =>
  writeFileSync(join(folder, file), readFileSync(join(folder, file), 'utf8').replace(from, to));
const checkIn = (folder: string, ...args: readonly string[]): Promise<Finished> =>
  c3(folder, ['check', '--json', ...args]);
const only = ({ stdout }: Finished): z.infer<typeof report>['findings'][number] =>
  report.parse(parseLine(stdout)).findings[0] ?? assert.fail();

/** The folder of a finding without the store that it is from. */
const alone = (t: TestContext): string => copyOf(t, join(recorded, 'findings'));

describe('c3 check', () => {
  it('draws a finding again exactly, in its store and from the exported model without one', async (t) => {
    const folder = copyOf(t, recorded);
    const before = withStore(folder, (store) => store.counts());
    const done = await checkIn(folder, 'findings', '--junit', 'out.xml');
    assert.equal(done.code, 0, done.stderr);
    const found = only(done);
    assert.deepEqual([found.verdict, found.difference?.value, found.differs], ['held', 0, []]);
    assert.match(readFileSync(join(folder, 'out.xml'), 'utf8'), /tests="1" failures="0" errors="0" skipped="0"/u);
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      before,
    );
    const moved = alone(t);
    const exported = await c3(folder, ['export', '--run', run, '--format', 'model', '--out', join(moved, 'model')]);
    assert.equal(exported.code, 0, exported.stderr);
    const there = only(await checkIn(moved, '.', '--model', 'model'));
    assert.deepEqual([there.verdict, there.difference?.value, there.differs], ['held', 0, []]);
  });

  it('says what differs with another model, and what is missing without one', async (t) => {
    const moved = alone(t);
    const missing = await checkIn(moved, '.');
    assert.equal(missing.code, 1);
    assert.match(String(only(missing).error), /^Its weights, [0-9a-f]{12}, are not here: .* or --model DIR/u);
    const { stdout } = await c3(moved, ['check', '.', '--model', TEAM]);
    assert.match(stdout, /Changed since then: the weights are [0-9a-f]{12}, and were [0-9a-f]{12}\./u);
  });

  it('fails where a finding is worse than it expects', async (t) => {
    const folder = copyOf(t, recorded);
    edit(folder, 'expect: held', 'expect: fixed');
    const { code, stdout } = await c3(folder, ['check']);
    assert.equal(code, 1);
    assert.match(stdout, /^✗ findings\/.*\n.*\n +Held: .*\n1 finding: 1 held\. 1 worse than expected\.\n$/u);
  });

  it('refuses what cannot be kept or checked in one sentence, before anything is drawn', async (t) => {
    const folder = copyOf(t, recorded);
    for (const [args, words] of [
      [['keep', 'x'], /needs the number of a message/u],
      [['keep', '999999'], /999999/u],
      [['keep', String(message)], /already exists and was left unchanged/u],
      [['keep', String(message), '--out', 'more', '--draws', '5'], /--draws needs a whole number of at least 20/u],
      [['keep', String(message), '--out', 'more', '--draws', '5000'], /has 20 to 1000 draws/u],
      [['keep', String(message), '--expect', 'worse'], /--expect is held or fixed/u],
      [['check', 'none'], /none/u],
      [['check', '.c3'], /holds no \*\.finding\.yaml/u],
      [['check', file, '--model', 'none'], /--model .*none is not there/u],
    ] as const) {
      const refused = await c3(folder, args);
      assert.equal(refused.code, 2, args.join(' '));
      assert.match(errorOf(refused), words);
    }
    edit(folder, /^message:/mu, 'mesage:');
    const refused = await checkIn(folder, 'findings');
    assert.equal(refused.code, 2);
    assert.match(errorOf(refused), /mesage: unknown key; did you mean message\?/u);
  });
});
