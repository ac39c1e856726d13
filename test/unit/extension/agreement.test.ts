/**
 * For one run the rows of the transcript, the side bar, the dashboard and the store say the same, to the digits shown.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { StepHistories } from '../../../src/extension/dashboard/stepHistories.ts';
import {
  formatAlternativeLabel,
  formatBucketLabel,
  describeCredit,
} from '../../../src/extension/sidebar/bucketWords.ts';
import { listBucketNodes } from '../../../src/extension/sidebar/bucketsModel.ts';
import { formatRoundDescription, formatRunDescription } from '../../../src/extension/sidebar/runWords.ts';
import { listChildren, Limits, type RoundNode } from '../../../src/extension/sidebar/runsModel.ts';
import { TranscriptReading } from '../../../src/extension/transcript/reading/transcriptReading.ts';
import { findingReport, runReport } from '../../../src/report/report.ts';
import { signed as signedInReports } from '../../../src/report/words.ts';
import type { TranscriptRow } from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { formatPercent1, signed } from '../../../webview/common/format.ts';
import { returnFigure, varianceFigure } from '../../../webview/dashboard/stepFigures.ts';
import { describeRow } from '../../../webview/transcript/tree/row.ts';
import { addMadeRun, CALLS, openMade } from '../../integration/dashboardStore.ts';
import { view } from '../webview/dashboardFixture.ts';

const RUN = 'made';
const STEPS = 12;
const folder = mkdtempSync(join(tmpdir(), 'c3-agreement-'));
let store: StoreWriter;

before(() => {
  store = openMade(join(folder, 'c3.sqlite'));
  addMadeRun(store, { id: RUN, title: 'Made', seed: 3, steps: STEPS, accuracy: [0.425, 0.615] });
});
after(() => {
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The rows of a step's transcript, without the question. */
function rowsOf(iteration: number): readonly TranscriptRow[] {
  const [episode] = store.episodes({ run: RUN, phase: 'train', iteration, offset: 0, limit: 1 });
  const reading = new TranscriptReading(store, {
    run: RUN,
    phase: 'train',
    iteration,
    problem: episode?.problem ?? '',
  });
  return reading.window(store, 0).filter(({ message }) => message !== null);
}

const steps = (): readonly number[] => Array.from({ length: STEPS }, (_, index) => index + 1);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Leave-one-out credit by its definition (C3, equation 6): a message's mean return less the mean of its siblings'. */
function creditOf(row: TranscriptRow, rows: readonly TranscriptRow[]): number {
  const siblings = rows.filter(
    (other) => other !== row && other.role === row.role && parentOf(other, rows) === parentOf(row, rows),
  );
  return (row.return ?? NaN) - mean(siblings.map((other) => other.return ?? NaN));
}

const parentOf = (row: TranscriptRow, rows: readonly TranscriptRow[]): number | undefined =>
  rows.findLast((above) => above.index < row.index && above.depth < row.depth)?.index;

test('a message has one credit: by its definition from the returns shown, in its row, its bucket, its tip and its report', () => {
  let told = 0;
  for (const iteration of steps()) {
    const rows = rowsOf(iteration);
    assert.equal(rows.length, 6);
    for (const row of rows) {
      const credit = creditOf(row, rows);
      assert.match(
        describeRow({ ...row, verification: null, other: null, events: null, outcome: null }),
        new RegExp(`; credit ${signed(credit).replace('+', '\\+')} \\[`, 'u'),
      );
      const { message } = row;
      assert.ok(message !== null);
      const bucket = store.bucketsFor(message)[0];
      const alternative = bucket?.alternatives.find(({ message: one }) => one === message);
      assert.ok(alternative?.credit);
      assert.equal(formatAlternativeLabel(alternative), `${signed(credit)}, return ${(row.return ?? NaN).toFixed(2)}`);
      assert.ok(describeCredit(alternative.credit).startsWith(`credit ${signed(credit)}, 95 % `));
      const reported = findingReport(store, message)
        .buckets.flatMap(({ alternatives }) => alternatives)
        .find((one) => one.message === message);
      assert.equal(signedInReports(reported?.credit?.value ?? NaN, 2), signed(credit));
      told++;
    }
  }
  assert.equal(told, 6 * STEPS);
});

test('the bucket that comes first is the one with the largest credit of all rows', () => {
  const largest = Math.max(
    ...steps().flatMap((iteration) => rowsOf(iteration).map((row) => Math.abs(row.credit?.value ?? NaN))),
  );
  const [first] = listBucketNodes(store, RUN, 'credit', null, new Limits());
  assert.ok(first?.kind === 'bucket');
  assert.equal(formatBucketLabel(first.ranked, 'credit').replace(/^\S+ [+\u2212]/u, ''), largest.toFixed(2));
});

test('a step has one mean return, one variance and one count of episodes: from its rows, in the side bar, on the dashboard', () => {
  const histories = new StepHistories();
  while (histories.advance(store, RUN)) {}
  const shown = view([[store.run(RUN), histories.rows(RUN)]]);
  const cells = (figure: ReturnType<typeof returnFigure>): string[][] =>
    figure.table(shown).rows.map((row) => row.cells.map(({ text }) => text));
  const [returns, variances] = [cells(returnFigure()), cells(varianceFigure())];
  const rounds = new Map(
    listChildren(store, listChildren(store, null, new Limits())[0] ?? null, new Limits())
      .filter((node): node is RoundNode => node.kind === 'round')
      .map((node) => [node.iteration, node]),
  );
  for (const iteration of steps()) {
    const rows = rowsOf(iteration);
    const leaves = rows.filter(({ role }) => role === 'actor').map((row) => row.return ?? NaN);
    const node = rounds.get(iteration);
    assert.ok(node);
    assert.equal(formatRoundDescription(node), `mean return ${mean(leaves).toFixed(2)}, ${leaves.length} episodes`);
    assert.deepEqual(returns[iteration - 1], [String(iteration), mean(leaves).toFixed(3), String(leaves.length)]);
    const contexts = [...Map.groupBy(rows, (row) => `${row.role} ${String(parentOf(row, rows))}`).values()].map(
      (group) => {
        const credits = group.map((row) => row.credit?.value ?? NaN);
        return mean(credits.map((credit) => (credit - mean(credits)) ** 2));
      },
    );
    const variance = mean(contexts);
    assert.deepEqual(variances[iteration - 1], [
      String(iteration),
      variance === 0 ? '0.0000' : variance.toFixed(4),
      String(contexts.length),
    ]);
  }
});

test('a run has one accuracy and one bill: in the store, the side bar, the dashboard and its report', () => {
  const record = store.run(RUN);
  const { before: first, after: last } = record.summary?.accuracy ?? {};
  assert.ok(first && last);
  assert.equal(
    formatRunDescription({ run: record, status: 'done' }),
    `${STEPS} of ${STEPS} steps, ${formatPercent1(first.value)} \u2192 ${formatPercent1(last.value)}`,
  );
  const report = runReport(store, RUN);
  assert.equal(report.summary?.accuracy.after?.value, last.value);
  const histories = new StepHistories();
  while (histories.advance(store, RUN)) {}
  assert.equal(
    histories.rows(RUN).reduce((sum, { cost }) => sum + cost.evaluatorCalls, 0),
    record.summary?.evaluatorCalls,
  );
  assert.equal(record.summary?.evaluatorCalls, CALLS * STEPS);
});
