import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { RunSummary } from '../../../src/domain/run.ts';
import { reportJson, reportPage, runReport } from '../../../src/report/report.ts';
import { quantile } from '../../../src/report/run.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { headline, setHeadline } from '../../support/headlines.ts';
import {
  addRequest,
  addRun,
  addTree,
  problem,
  LEDGER,
  METRICS,
  RUN,
  temporaryStore,
} from '../extension/storeFixture.ts';
import { assertBalanced, assertSelfContained, textOf } from './page.ts';

const SNAPSHOT = 'a'.repeat(64);

function storeFor(t: TestContext): StoreWriter {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  return writer;
}

function addStep(writer: StoreWriter, iteration: number, meanReturn: number | null, calls = 0): void {
  const ledger = { ...LEDGER, evaluatorCalls: calls };
  writer.insertStep({ run: RUN, iteration, snapshot: SNAPSHOT, ledger });
  if (meanReturn !== null) {
    writer.finishStep(RUN, iteration, { ...METRICS, meanReturn }, ledger);
  }
}

const measure = {
  before: { value: 0.25, low: 0.2, high: 0.3, n: 40 },
  after: { value: 0.5, low: 0.4, high: 0.6, n: 40 },
  difference: { value: 0.25, low: 0.125, high: 0.375, n: 40 },
};
const SUMMARY: RunSummary = {
  run: RUN,
  method: 'c3',
  seed: 7,
  steps: 2,
  evaluatorCalls: 96,
  lostEvaluatorCalls: 3,
  tokens: { prompt: 5000, reused: 1000, completion: 2000 },
  decisions: { reasoner: 32, actor: 64 },
  accuracy: measure,
  passAt1: { before: null, after: null, difference: null },
  seconds: 12.3,
  store: '/home/somebody/c3.sqlite',
};

describe('runReport', () => {
  it('has the learning curve with intervals over problems, and none where the mean is another', (t) => {
    const writer = storeFor(t);
    addStep(writer, 1, 0.75, 4);
    // Means 1/2 and 1 over two problems: t(0.975, 1) = 12.7062 times the standard error 1/4.
    addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
    addTree(writer, { iteration: 1, problem: problem(2), returns: [[1, 1]] });
    addStep(writer, 2, 0.5, 8);
    addTree(writer, {
      iteration: 2,
      problem: problem(1),
      returns: [
        [1, null],
        [0, 0],
      ],
    });
    addTree(writer, { iteration: 2, problem: problem(2), returns: [[1, 1]] });
    addStep(writer, 3, null, 12);
    const [first, second, third] = runReport(writer, RUN).steps;
    assert.ok(first?.meanReturn?.low !== undefined && first.meanReturn.low !== null && first.meanReturn.high !== null);
    assert.deepEqual(
      [first.meanReturn.value, first.meanReturn.n, first.episodes, first.evaluatorCalls],
      [0.75, 2, 4, 4],
    );
    assert.ok(Math.abs(first.meanReturn.high - first.meanReturn.low - 2 * 12.7062 * 0.25) < 1e-3);
    assert.deepEqual(second?.meanReturn, { value: 0.5, low: null, high: null, n: 2 });
    assert.equal(third?.meanReturn, null);
  });

  it('reports accuracy and cost as the summary does, without the path of the store', (t) => {
    const writer = storeFor(t);
    addStep(writer, 1, 0.5);
    writer.updateRunStatus(RUN, 'done', '2026-01-02T04:04:05.000Z', SUMMARY);
    const report = runReport(writer, RUN);
    assert.deepEqual(report.summary?.accuracy, measure);
    assert.deepEqual(report.cost, {
      evaluatorCalls: 96,
      reusedEvaluations: 0,
      tokens: SUMMARY.tokens,
      decisions: SUMMARY.decisions,
      seconds: 12.3,
    });
    const page = reportPage(report);
    assert.match(
      textOf(page),
      /Greedy accuracy on held-out problems: 25\.0 % before, 50\.0 % after \( ?\+25\.0 points ? \[\+12\.5, \+37\.5\]\), n 40\./u,
    );
    assert.match(textOf(page), /at most 3 further evaluator calls/u);
    assert.match(textOf(page), /sampled, before not measured/u);
    assert.ok(!page.includes('somebody') && !reportJson(report).includes('somebody'));
  });

  it('knows what was measured before training of a run that was cancelled, and the curve of one that was evaluated on the way', (t) => {
    const writer = storeFor(t);
    const share = (value: number): { value: number; low: number; high: number; n: number } => ({
      value,
      low: value - 0.1,
      high: value + 0.1,
      n: 40,
    });
    writer.insertEvaluation(RUN, { iteration: 1, step: 0, kind: 'greedy', result: share(0.25) });
    writer.updateRunStatus(RUN, 'cancelled', '2026-01-02T04:04:05.000Z', null);
    const stopped = runReport(writer, RUN);
    assert.deepEqual(stopped.evaluations, [{ step: 0, accuracy: share(0.25), passAt1: null }]);
    const words = textOf(reportPage(stopped));
    assert.match(
      words,
      /Greedy accuracy on held-out problems before training: 25\.0 %, n 40; after it: not measured\./u,
    );
    assert.match(words, /greedy, before 25\.0 %/u);
    assert.ok(!words.includes('Accuracy over training'));
    // Nothing could be scored after step 1.
    writer.insertEvaluation(RUN, { iteration: 6, step: 1, kind: 'sampled', result: null });
    writer.insertEvaluation(RUN, { iteration: 7, step: 2, kind: 'greedy', result: share(0.375) });
    const report = runReport(writer, RUN);
    assert.deepEqual(
      report.evaluations.map(({ step, accuracy, passAt1 }) => [step, accuracy?.value, passAt1]),
      [
        [0, 0.25, null],
        [1, undefined, null],
        [2, 0.375, null],
      ],
    );
    const page = reportPage(report);
    assertBalanced(page);
    assertSelfContained(page);
    assert.match(
      textOf(page),
      /step greedy 95 % interval sampled 95 % interval n 0 0\.250 \[0\.150, 0\.350\] not measured 40 1 not measured not measured 0/u,
    );
    assert.match(page, /greedy ends at 0\.375 after 2 steps/u);
  });

  it('puts the messages first whose credit is clearest, each once', (t) => {
    const writer = storeFor(t);
    const [a, b, c] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1], [0], [0]] });
    const bucket = writer.message(a?.plan ?? 0).bucket ?? 0;
    const credit = { estimator: 'loo', n: 8, evaluatorCalls: 8, interval: 'newcombe' };
    for (const [plan, value, low, high] of [
      [a?.plan, 1, -0.25, 1],
      [b?.plan, -0.5, -0.75, -0.375],
      [c?.plan, 0.25, 0.125, 0.5],
    ] as const) {
      writer.insertCredit(bucket, plan ?? 0, { ...credit, value, low, high });
      setHeadline(writer.path, plan ?? 0, headline(value, { low, high }));
    }
    const request = addRequest(writer, b?.plan ?? 0, ['other'], [1]);
    writer.insertCredit(request.bucket, b?.plan ?? 0, {
      ...credit,
      value: -0.75,
      low: null,
      high: null,
      interval: 'none',
    });
    const report = runReport(writer, RUN);
    assert.deepEqual(
      report.credited.map(({ message, credit: { value } }) => [message, value]),
      [
        [b?.plan, -0.5],
        [c?.plan, 0.25],
        [a?.plan, 1],
      ],
    );
    assert.deepEqual(report.creditByRole, [
      { role: 'reasoner', n: 3, low: -0.5, lowerQuartile: -0.125, median: 0.25, upperQuartile: 0.625, high: 1 },
    ]);
    assert.deepEqual(report.replays, {
      requests: 1,
      replays: 1,
      verified: { identical: 0, different: 0, notComparable: 0, unverified: 1 },
    });
  });

  it('spreads the points of a long run evenly and counts the others', (t) => {
    const writer = storeFor(t);
    writer.transaction(() => {
      for (let step = 1; step <= 1000; step++) {
        addStep(writer, step, 0.5);
      }
    });
    const { steps, leftOut } = runReport(writer, RUN);
    assert.deepEqual([steps.length, steps[0]?.step, steps.at(-1)?.step], [200, 1, 1000]);
    assert.deepEqual(leftOut, [{ what: 'steps between those of the learning curve', count: 800 }]);
  });

  it('is a whole page without anything from elsewhere, whatever the run is called, also where nothing was measured', (t) => {
    const { writer, ...store } = temporaryStore();
    t.after(() => store.remove());
    const hostile = '<script>alert(1)</script>" onload="x \u202e';
    writer.insertRun({
      id: RUN,
      method: hostile,
      seed: 7,
      title: hostile,
      config: JSON.stringify({ config: { title: hostile } }),
      plannedSteps: 3,
      createdAt: hostile,
    });
    const report = runReport(writer, RUN);
    const page = reportPage(report);
    assertBalanced(page);
    assertSelfContained(page);
    assert.match(textOf(page), /Credit was not measured/u);
    assert.equal(reportPage(runReport(writer, RUN)), page);
    assert.deepEqual(JSON.parse(reportJson(report)), report);
  });

  it('says so for a run that is not there', (t) =>
    assert.throws(() => runReport(storeFor(t), 'none'), /There is no run none/u));
});

it('takes quantiles between order statistics, as numpy does', () => {
  assert.deepEqual(
    [0, 0.25, 0.5, 0.75, 1].map((share) => quantile([1, 2, 3, 4], share)),
    [1, 1.75, 2.5, 3.25, 4],
  );
  assert.equal(quantile([7], 0.25), 7);
});
