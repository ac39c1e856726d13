/**
 * What the dashboard reads of the store: the steps of runs, what runs reached, and the way from a point to its round.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Ledger, RunSummary } from '../../../../src/domain/run.ts';
import { RunOutcomes } from '../../../../src/extension/dashboard/dashboardSession.ts';
import { StepHistories } from '../../../../src/extension/dashboard/stepHistories.ts';
import { NO_FILTER } from '../../../../src/extension/sidebar/runsFilter.ts';
import { listChildren, findRound, Limits, PAGE, findParent } from '../../../../src/extension/sidebar/runsModel.ts';
import { filterSameTask, type RunTask } from '../../../../src/shared/protocols/dashboardProtocol.ts';
import { addRun, addTree, problem, METRICS, RUN, temporaryStore } from '../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;
const SNAPSHOT = 'a'.repeat(64);
const STEPS = 250;

const ledger = (calls: number): Ledger => ({
  evaluatorCalls: calls,
  tokens: { prompt: 100 * calls, reused: 30 * calls, completion: 10 * calls },
  decisions: {},
  seconds: calls,
});
const interval = (value: number) => ({ value, low: value - 0.1, high: value + 0.1, n: 50 });
const summary = (before: number | null, after: number | null, steps: number): RunSummary => ({
  run: '',
  method: 'c3',
  seed: 7,
  steps,
  evaluatorCalls: 0,
  tokens: { prompt: 0, reused: 0, completion: 0 },
  decisions: {},
  seconds: 0,
  store: '',
  accuracy: {
    before: before === null ? null : interval(before),
    after: after === null ? null : interval(after),
    difference: null,
  },
  passAt1: { before: null, after: null, difference: null },
});

before(() => {
  addRun(writer);
  // One episode was evaluated before: one call, two messages of 3 prompt and 3 completion tokens each.
  addTree(writer, { phase: 'evaluate', iteration: 1, problem: problem(1), returns: [[1]] });
  for (let iteration = 1; iteration <= STEPS; iteration++) {
    writer.insertStep({ run: RUN, iteration, snapshot: SNAPSHOT, ledger: ledger(0) });
    writer.finishStep(RUN, iteration, METRICS, ledger(5 * iteration));
  }
  writer.insertStep({ run: RUN, iteration: STEPS + 1, snapshot: SNAPSHOT, ledger: ledger(0) });
  addTree(writer, { iteration: 150, problem: problem(2), returns: [[1, 0]] });
});
after(() => store.remove());

function readAll(histories: StepHistories, run = RUN): void {
  while (histories.advance(writer, run)) {}
}

test('steps are read in slices, once, up to the one that continues; each costs what the ledger grew by', () => {
  const asked: number[] = [];
  const reader = {
    ...writer,
    steps: (run: string, offset: number, limit: number) => {
      asked.push(limit);
      return writer.steps(run, offset, limit);
    },
  };
  const histories = new StepHistories();
  assert.equal(histories.advance(reader, RUN), true);
  assert.ok(histories.rows(RUN).length < STEPS / 5, 'a slice');
  while (histories.advance(reader, RUN)) {}
  const rows = histories.rows(RUN);
  assert.deepEqual(
    rows.map(({ iteration }) => iteration),
    Array.from({ length: STEPS }, (_, index) => index + 1),
  );
  assert.deepEqual(
    rows[0]?.cost,
    { evaluatorCalls: 4, tokens: { prompt: 494, reused: 150, completion: 44, reusedCompletion: 0 } },
    'the evaluation before is not part of the first step',
  );
  assert.deepEqual(rows[1]?.cost, {
    evaluatorCalls: 5,
    tokens: { prompt: 500, reused: 150, completion: 50, reusedCompletion: 0 },
  });
  assert.equal(rows[149]?.episodes, 2);
  asked.length = 0;
  histories.advance(reader, RUN);
  assert.deepEqual([asked.length, histories.rows(RUN).length], [1, STEPS]);
});

test('an evaluation that continues when a run is first looked at is counted whole', () => {
  addRun(writer, 'live');
  const histories = new StepHistories();
  assert.equal(histories.advance(writer, 'live'), false);
  addTree(writer, { run: 'live', phase: 'evaluate', iteration: 2, problem: problem(3), returns: [[1], [0], [1]] });
  writer.insertStep({ run: 'live', iteration: 1, snapshot: SNAPSHOT, ledger: ledger(0) });
  writer.finishStep('live', 1, METRICS, ledger(8));
  readAll(histories, 'live');
  assert.equal(histories.rows('live')[0]?.cost.evaluatorCalls, 5);
});

test('only so many runs are kept, and one that was forgotten is read anew', () => {
  const histories = new StepHistories();
  readAll(histories);
  for (let number = 0; number < 12; number++) {
    addRun(writer, `other-${number}`);
    histories.advance(writer, `other-${number}`);
  }
  assert.deepEqual(histories.rows(RUN), []);
  readAll(histories);
  assert.equal(histories.rows(RUN).length, STEPS);
});

test('a finished run is one outcome: its accuracy at the end against the tokens of training alone', () => {
  const outcomes = new RunOutcomes();
  writer.updateRunStatus(RUN, 'done', '2026', summary(0.5, 0.7, STEPS));
  addRun(writer, 'untrained');
  writer.updateRunStatus('untrained', 'done', '2026', summary(0.5, null, 0));
  addRun(writer, 'unevaluated');
  writer.updateRunStatus('unevaluated', 'done', '2026', summary(null, null, 3));
  addRun(writer, 'stopped');
  writer.updateRunStatus('stopped', 'cancelled', '2026', null);
  const runs = [RUN, 'untrained', 'unevaluated', 'stopped'].map((id) => writer.run(id));
  assert.deepEqual(outcomes.of(runs), []);
  while (outcomes.advance(writer, runs)) {}
  assert.deepEqual(
    outcomes.of(runs).map(({ run, tokens, accuracy }) => [run, tokens, accuracy.value]),
    [
      [RUN, 110 * 5 * STEPS - 12, 0.7],
      ['untrained', 0, 0.5],
    ],
  );
});

test('the side bar finds any round, far down a list or not, and the way up from it', () => {
  const limits = new Limits();
  const step = findRound(writer, { run: RUN, phase: 'train', iteration: 150 }, limits)?.node;
  assert.deepEqual([step?.id, step?.episodes], [`${RUN}/train/150`, 2]);
  assert.ok(step);
  const run = findParent(writer, step);
  assert.ok(run?.kind === 'run' && run.id === RUN);
  assert.equal(findParent(writer, run), undefined);
  assert.ok(
    listChildren(writer, run, limits).some(({ id }) => id === step.id),
    'the list above holds it',
  );
  assert.ok(!listChildren(writer, run, new Limits()).some(({ id }) => id === step.id));
  const [episode] = listChildren(writer, step, limits);
  assert.ok(episode?.kind === 'episode');
  assert.equal(findParent(writer, episode)?.id, step.id);
  assert.equal(
    findRound(writer, { run: RUN, phase: 'evaluate', iteration: 1 }, limits)?.node.label,
    'Evaluation before, greedy',
  );
  for (const [phase, iteration] of [
    ['train', STEPS + 9],
    ['train', 0],
    ['evaluate', 3],
    ['evaluate', 9],
    ['replay', 1],
  ] as const) {
    assert.equal(findRound(writer, { run: RUN, phase, iteration }, limits), undefined);
  }
  assert.equal(limits.of(RUN), 2 * PAGE);
  // A filter stays where the tree holds the round under it; else it has to go, or the round could not be shown.
  for (const [words, stays] of [
    ['', true],
    [RUN, true],
    ['nothing like it', false],
  ] as const) {
    const filter = { ...NO_FILTER, words };
    const found = findRound(writer, { run: RUN, phase: 'train', iteration: 150 }, limits, filter);
    assert.equal(found?.filter === filter, stays, words);
    assert.ok(
      listChildren(writer, null, limits, found?.filter).some(({ id }) => id === RUN),
      'the tree holds the run',
    );
  }
  assert.throws(() => findRound(writer, { run: 'none', phase: 'train', iteration: 1 }, limits), /no run none/);
});

test('only runs of the same task are laid over a run, whatever was selected', () => {
  const task = (key: string): RunTask => ({ key, label: key });
  const tasks: Readonly<Record<string, RunTask>> = {
    a: task('sums'),
    b: task('sums'),
    c: task('code'),
    d: task('sums'),
  };
  const taskOfRun = (run: string): RunTask | undefined => tasks[run];
  assert.deepEqual(filterSameTask(['b', 'c', 'a', 'd'], 'a', taskOfRun), ['b', 'd']);
  assert.deepEqual(filterSameTask(['a', 'b'], 'c', taskOfRun), []);
});
