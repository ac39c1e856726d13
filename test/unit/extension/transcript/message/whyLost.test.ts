import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { summarizeLoss } from '../../../../../src/extension/transcript/message/whyLost.ts';
import { DIFF_LIMIT } from '../../../../../src/shared/transcript/wordDiff.ts';
import { openStoreForWriting } from '../../../../../src/store/write/writer.ts';
import { UNIT_RULE } from '../../../../support/headlines.ts';
import { addComparison, addRun, addTree, problem } from '../../storeFixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'c3-why-'));
const writer = openStoreForWriting(join(folder, 'c3.sqlite'), { headlines: UNIT_RULE });
after(() => {
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});
addRun(writer);

/**
 * A tree of two plans with two answers each: the second answer of the first plan was lost, and all of the second
 * plan's.
 */
function lostTree(number: number): {
  readonly plans: readonly number[];
  readonly actors: readonly (readonly number[])[];
} {
  const tree = addTree(writer, {
    iteration: 1,
    problem: problem(number),
    returns: [
      [1, 0],
      [0, 0],
    ],
  });
  return { plans: tree.map(({ plan }) => plan), actors: tree.map(({ actors }) => actors) };
}

const others = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `another ${index}`);

test('an episode that was won has no summary; a message above several episodes means the one that was lost', () => {
  const {
    plans: [plan],
    actors: [[won, lost] = []],
  } = lostTree(1);
  assert.equal(summarizeLoss(writer, won ?? 0), null);
  assert.deepEqual(summarizeLoss(writer, lost ?? 0), {
    leaf: lost,
    return: 0,
    outcome: 'failed',
    decided: false,
    decisive: null,
    best: null,
  });
  assert.equal(summarizeLoss(writer, plan ?? 0)?.leaf, lost);
});

test('a message that hurt is decisive; the best alternative is the one with the highest credit, wherever it was asked from', () => {
  const {
    actors: [[, lost] = []],
  } = lostTree(2);
  const { alternatives } = addComparison(
    writer,
    lost ?? 0,
    0,
    others(16),
    others(16).map(() => 1),
  );
  const why = summarizeLoss(writer, lost ?? 0);
  assert.deepEqual([why?.decided, why?.decisive?.message, why?.decisive?.credit.verdict], [true, lost, 'hurt']);
  assert.ok(alternatives.includes(why?.best?.message ?? 0));
  assert.equal(why?.best?.return, 1);
  // The alternatives themselves were won.
  assert.equal(summarizeLoss(writer, alternatives[0] ?? 0), null);
});

test('with little evidence there is a candidate only, and no better message where none was sampled', () => {
  const {
    actors: [[, lost] = []],
  } = lostTree(3);
  addComparison(writer, lost ?? 0, 0, ['another'], [1]);
  const why = summarizeLoss(writer, lost ?? 0);
  assert.deepEqual([why?.decided, why?.decisive?.message, why?.decisive?.credit.verdict], [false, lost, 'undecided']);
  const {
    actors: [[, worse] = []],
  } = lostTree(4);
  addComparison(writer, worse ?? 0, 0, ['as bad'], [0]);
  assert.equal(summarizeLoss(writer, worse ?? 0)?.best, null);
});

test('texts are cut where they are too long to be compared', () => {
  const [tree] = addTree(writer, {
    iteration: 1,
    problem: problem(5),
    returns: [[0]],
    words: () => 'x'.repeat(2 * DIFF_LIMIT),
  });
  addComparison(writer, tree?.actors[0] ?? 0, 0, ['short'], [1]);
  assert.equal(summarizeLoss(writer, tree?.actors[0] ?? 0)?.decisive?.text.length, DIFF_LIMIT);
});
