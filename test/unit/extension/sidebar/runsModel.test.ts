import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunSummary, ShownStatus } from '../../../../src/domain/run.ts';
import { estimateOverallPercent, formatProgress, formatStage } from '../../../../src/extension/run/progressWords.ts';
import {
  formatEpisodeLabel,
  formatEpisodeReturn,
  formatRoundDescription,
  formatRunDescription,
} from '../../../../src/extension/sidebar/runWords.ts';
import { listChildren, Limits, PAGE, TOP, type RunsNode } from '../../../../src/extension/sidebar/runsModel.ts';
import { addRun, addTree, problem, LEDGER, METRICS, RUN, temporaryStore } from '../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;
const SNAPSHOT = 'a'.repeat(64);

before(() => {
  addRun(writer);
  addRun(writer, 'newer', '2026-02-02T00:00:00.000Z');
  for (let iteration = 1; iteration <= 2; iteration++) {
    writer.insertStep({ run: RUN, iteration, snapshot: SNAPSHOT, ledger: LEDGER });
  }
  writer.finishStep(RUN, 1, METRICS, LEDGER);
  for (let number = 0; number < PAGE + 5; number++) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[number === 0 ? null : 1]] });
  }
  addTree(writer, { phase: 'evaluate', iteration: 1, problem: problem(1), returns: [[0]] });
  addTree(writer, { phase: 'evaluate', iteration: 4, problem: problem(1), returns: [[1]] });
});
after(() => store.remove());

function find(nodes: readonly RunsNode[], id: string): RunsNode {
  const node = nodes.find((candidate) => candidate.id === id);
  assert.ok(node, `no ${id} in ${nodes.map((candidate) => candidate.id).join(', ')}`);
  return node;
}

test('runs are newest first, and their evaluations around their steps', () => {
  const limits = new Limits();
  const runs = listChildren(writer, null, limits);
  assert.deepEqual(
    runs.map((node) => node.id),
    ['newer', RUN],
  );
  const rounds = listChildren(writer, find(runs, RUN), limits);
  assert.deepEqual(
    rounds.map((node) => node.kind === 'round' && `${node.label}: ${formatRoundDescription(node)}`),
    [
      'Evaluation before, greedy: 1 episode',
      'Step 1: mean return 0.50, 105 episodes',
      'Step 2: unfinished, 0 episodes',
      'Evaluation after, sampled: 1 episode',
    ],
  );
  assert.deepEqual(listChildren(writer, find(runs, 'newer'), limits), []);
});

test('a long list ends in "Load more", which grows that list only', () => {
  const limits = new Limits();
  const rounds = listChildren(writer, find(listChildren(writer, null, limits), RUN), limits);
  const step = find(rounds, `${RUN}/train/1`);
  const first = listChildren(writer, step, limits);
  assert.equal(first.length, PAGE + 1);
  const more = first.at(-1);
  assert.ok(more?.kind === 'more' && more.left === 5 && more.parent === step);
  limits.grow(more.list);
  const all = listChildren(writer, step, limits);
  assert.equal(all.length, PAGE + 5);
  assert.equal(new Set(all.map((node) => node.id)).size, all.length);
  assert.equal(limits.of(TOP), PAGE);
});

test('a masked episode is distinguished from one that returned 0', () => {
  const limits = new Limits();
  const step = find(listChildren(writer, find(listChildren(writer, null, limits), RUN), limits), `${RUN}/train/1`);
  const words = listChildren(writer, step, limits)
    .slice(0, 2)
    .map(
      (node) => node.kind === 'episode' && `${formatEpisodeLabel(node.episode)} ${formatEpisodeReturn(node.episode)}`,
    );
  assert.deepEqual(words, [
    'Question 0: what is 0 + 1? masked: the evaluator failed',
    'Question 1: what is 1 + 1? return 1',
  ]);
});

test('a run is described by its steps, and by its accuracy once both are measured', () => {
  const run = writer.run(RUN);
  const words = (summary: RunSummary | null, status: ShownStatus = 'done'): string =>
    formatRunDescription({ run: { ...run, summary }, status });
  assert.equal(words(null, 'running'), '1 of 3 steps');
  assert.equal(words(null, 'interrupted'), 'interrupted, 1 of 3 steps');
  const remaining = (of: string, status: ShownStatus = 'running'): string =>
    formatRunDescription({ run, status }, { run: of, remainingSeconds: 130 });
  assert.deepEqual(
    [remaining(RUN), remaining('another'), remaining(RUN, 'interrupted')],
    ['1 of 3 steps, about 2 min left', '1 of 3 steps', 'interrupted, 1 of 3 steps'],
  );
  const interval = (value: number): { value: number; low: null; high: null; n: number } => ({
    value,
    low: null,
    high: null,
    n: 10,
  });
  const none = { before: null, after: null, difference: null };
  const summary = {
    run: RUN,
    method: 'c3',
    seed: 1,
    steps: 3,
    evaluatorCalls: 0,
    tokens: LEDGER.tokens,
    decisions: {},
    passAt1: none,
    seconds: 0,
    store: '',
  };
  assert.equal(words({ ...summary, accuracy: none }), '1 of 3 steps');
  assert.equal(
    words({ ...summary, accuracy: { before: interval(0.624), after: interval(0), difference: null } }),
    '1 of 3 steps, 62.4 % → 0.0 %',
  );
  assert.equal(formatStage({ stage: 'train', done: 3, total: 20 }), 'Training, step 3 of 20');
  assert.equal(
    formatProgress({ stage: 'train', done: 3, total: 20, remainingSeconds: 130 }),
    'Training, step 3 of 20, about 2 min left',
  );
  assert.equal(
    formatProgress({ stage: 'train', done: 3, total: 20, remainingSeconds: null }),
    'Training, step 3 of 20',
  );
  assert.equal(formatStage({ stage: 'load', done: 0, total: 0 }), 'Loading');
  assert.equal(
    formatStage({ stage: 'load', done: 345_000_000, total: 1_000_000_000 }),
    'Loading, 34 %',
    'loading counts bytes',
  );
  const stages = (['load', 'evaluate-before', 'train', 'evaluate-after'] as const).flatMap((stage) =>
    [0, 1, 2].map((done) => estimateOverallPercent({ stage, done, total: 2 })),
  );
  assert.deepEqual(
    stages,
    stages.toSorted((a, b) => a - b),
  );
  assert.deepEqual([stages[0], stages.at(-1)], [0, 100]);
});

test('a step of method teamtr has a line for the turn of each role', () => {
  const own = temporaryStore();
  try {
    const protocolText = JSON.stringify({ roles: [{ role: 'first' }, { role: 'second' }] });
    const config = JSON.stringify({ config: { method: 'teamtr', adapter: { per: 'role' } }, protocolText });
    const run = { id: 'turns', method: 'teamtr', seed: 1, title: 'Turns', config, plannedSteps: 1 };
    own.writer.insertRun({ ...run, createdAt: '2026-01-02T03:04:05.000Z' });
    own.writer.insertSnapshot({ id: SNAPSHOT, run: 'turns', iteration: 0, base: SNAPSHOT, file: null });
    own.writer.insertStep({ run: 'turns', iteration: 1, snapshot: SNAPSHOT, ledger: LEDGER });
    const limits = new Limits();
    const rounds = listChildren(own.writer, find(listChildren(own.writer, null, limits), 'turns'), limits);
    const [step] = rounds;
    assert.ok(step?.kind === 'round');
    assert.deepEqual(step.turns, [
      'Stage 0: first learned from episodes with the team as it was before the step',
      'Stage 1: second learned from episodes with first as updated in this step',
    ]);
  } finally {
    own.remove();
  }
});
