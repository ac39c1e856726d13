/** What the returns of a run mean: kept by the store for runs of every age, and the same in SQL and in code. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { creditPoolMembers } from '../../../../src/credit/headline.ts';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER, type OutcomeFilter } from '../../../../src/domain/problem.ts';
import { summarizeLoss } from '../../../../src/extension/transcript/message/whyLost.ts';
import { isLost, toOutcome, type ReturnScale } from '../../../../src/shared/credit/returns.ts';
import { RETURN_SCALES } from '../../../../src/store/tables/returnScales.ts';
import { openStoreForWriting, type HeadlineRule, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { addRun, addTree, problem, RUN } from '../../extension/storeFixture.ts';
import { makeEarlier } from '../earlierStore.ts';
import { rawConnection, temporaryFolder } from '../helpers.ts';

/** Two turns, the second worth 0.9: a team that solves both has 1.9. */
const TWO_TURNS: ReturnScale = { low: 0, high: 1.9, solved: 1.9 };
const RULE: HeadlineRule = {
  headlinesOf: creditPoolMembers,
  scaleOf: (config) => (config === '{}' ? TWO_TURNS : null),
};

function storeOf(t: TestContext): { readonly path: string; readonly writer: StoreWriter } {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const writer = openStoreForWriting(path, { headlines: RULE });
  t.after(() => writer.close());
  addRun(writer);
  return { path, writer };
}

test('a team of two turns that gets 1.09 of 1.9 has not won', () => {
  assert.equal(toOutcome(1.09, TWO_TURNS), 'between');
  assert.equal(toOutcome(1, TWO_TURNS), 'between');
  assert.equal(isLost(1.09, TWO_TURNS), true);
  assert.equal(toOutcome(1 + 0.9, TWO_TURNS), 'won');
  // The mean of equal returns misses them by a rounding.
  assert.equal(toOutcome((1.9 + 1.9 + 1.9) / 3, TWO_TURNS), 'won');
  assert.equal(toOutcome(0, TWO_TURNS), 'failed');
});

test('where no evaluator is known, 1 and 0 are success and failure, and any other number is neither', () => {
  assert.deepEqual(
    [-1, 0, 0.5, 1, 87].map((value) => toOutcome(value, null)),
    ['between', 'failed', 'between', 'won', 'between'],
  );
});

test('the problems of a run are filtered by its own scale, as each return is judged', (t) => {
  const { writer } = storeOf(t);
  const returns = [0, 0.4, 1, 1.09, 1.9];
  returns.forEach((value, number) =>
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[value, value]] }),
  );
  const shown = (outcome: OutcomeFilter): number[] =>
    writer
      .problems(
        writer.problemIds({
          run: RUN,
          filter: { ...NO_PROBLEM_FILTER, outcome },
          sort: { ...CLEAREST_FIRST, column: 'appearance', descending: false },
          classes: {},
        }),
      )
      .map(({ meanReturn }) => meanReturn ?? NaN);
  assert.deepEqual(shown('won'), [1.9]);
  assert.deepEqual(shown('lost'), [0, 0.4, 1, 1.09]);
  assert.deepEqual(shown('between'), [0.4, 1, 1.09]);
});

test('an episode between the two is asked why it was lost', (t) => {
  const { writer } = storeOf(t);
  const [tree] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1.09, 1.9]] });
  const [between = 0, won = 0] = tree?.actors ?? [];
  assert.equal(summarizeLoss(writer, between)?.outcome, 'between');
  assert.equal(summarizeLoss(writer, won), null);
});

test('a store of the version before gets the scales of its runs, and one without a rule keeps them open', (t) => {
  const { path, writer } = storeOf(t);
  assert.deepEqual(writer.returnScale(RUN), TWO_TURNS);
  writer.insertRun({
    id: 'recorded',
    method: 'import',
    seed: 0,
    title: '',
    config: '{"other":1}',
    plannedSteps: 0,
    createdAt: '2026-01-02T03:04:05.000Z',
  });
  assert.equal(writer.returnScale('recorded'), null);
  writer.close();
  const db = rawConnection(t, path);
  makeEarlier(db, RETURN_SCALES);
  const bare = openStoreForWriting(path);
  assert.equal(bare.returnScale(RUN), null);
  bare.close();
  const again = openStoreForWriting(path, { headlines: RULE });
  assert.deepEqual([again.returnScale(RUN), again.returnScale('recorded')], [TWO_TURNS, null]);
  again.updateRunConfig(RUN, '{"now":"another"}');
  assert.equal(again.returnScale(RUN), null);
  again.close();
});
