/** The dashboard's numbers are those of `c3 diagnose --json` and of the store, for the same run. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { addCosts } from '../../../../src/domain/stepRows.ts';
import { readRunOutcome } from '../../../../src/extension/dashboard/dashboardSession.ts';
import { sumEvaluationCosts, StepHistories } from '../../../../src/extension/dashboard/stepHistories.ts';
import { isRecord } from '../../../../src/shared/guard.ts';
import { c3, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

function valueOf(document: Readonly<Record<string, unknown>>, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), document);
}

for (const [method, every] of [
  ['c3', 0],
  ['magrpo', 0],
  ['c3', 1],
] as const) {
  test(`accuracy, cost and variance of a run of ${method}, evaluated every ${every} steps, are those of its diagnosis`, async () => {
    // A diagnosis compares the alternatives of one bucket, whatever a step compared them with.
    const keys = ['steps=3', `method=${method}`, `evaluation.every=${every}`, 'credit.merge_contexts=false'];
    const overrides = keys.flatMap((override) => ['--override', override]);
    const run = String(parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json', ...overrides])).stdout)['run']);
    const diagnosis = parseLine((await c3(workspace, ['diagnose', '--run', run, '--json'])).stdout);
    withStore(workspace, (store) => {
      const histories = new StepHistories();
      while (histories.advance(store, run)) {}
      const rows = histories.rows(run);
      assert.equal(rows.length, 3);
      const { summary } = store.run(run);
      assert.equal(valueOf(diagnosis, 'accuracy', 'greedy', 'value'), summary?.accuracy.after?.value);
      assert.equal(valueOf(diagnosis, 'passAtK', '1', 'value'), summary?.passAt1.after?.value);

      // All steps and all evaluations together are the run's ledger.
      const evaluations = sumEvaluationCosts(store, run, store.evaluationNumbers(run), () => true);
      const steps = addCosts(...rows.map(({ cost }) => cost));
      const all = addCosts(evaluations, steps);
      assert.deepEqual(
        [all.evaluatorCalls, all.tokens],
        [valueOf(diagnosis, 'ledger', 'evaluatorCalls'), valueOf(diagnosis, 'ledger', 'tokens')],
      );
      for (const { iteration, cost } of rows) {
        assert.deepEqual(cost.tokens, store.roundCost({ run, phase: 'train', iteration }).tokens, `step ${iteration}`);
      }
      assert.equal(readRunOutcome(store, store.run(run))?.tokens, steps.tokens.prompt + steps.tokens.completion);

      // Greedy and sampled at every step that has them, the last those of the summary.
      const curve = valueOf(diagnosis, 'evaluations');
      assert.ok(Array.isArray(curve));
      assert.deepEqual(
        curve.map((point: unknown) => (isRecord(point) ? point['step'] : null)),
        every === 0 ? [0, 3] : [0, 1, 2, 3],
      );
      assert.deepEqual(curve[0], { step: 0, accuracy: summary?.accuracy.before, passAt1: summary?.passAt1.before });
      assert.deepEqual(curve.at(-1), { step: 3, accuracy: summary?.accuracy.after, passAt1: summary?.passAt1.after });

      // The mean over all contexts, from the means of the steps.
      if (method === 'c3') {
        const variances = rows.flatMap(({ credits }) => credits.variance ?? []);
        const contexts = variances.reduce((sum, { contexts: n }) => sum + n, 0);
        const mean = variances.reduce((sum, { value, contexts: n }) => sum + n * value, 0) / contexts;
        assert.ok(mean > 0, 'the team is not always right or wrong');
        assert.equal(contexts, valueOf(diagnosis, 'variance', 'n'));
        assert.ok(Math.abs(mean - Number(valueOf(diagnosis, 'variance', 'value'))) < 1e-12);
        for (const { metrics, credits } of rows) {
          assert.ok(Math.abs(metrics.creditVariance - (credits.variance?.value ?? 0)) < 1e-12);
        }
      }
      assert.deepEqual(
        [...new Set(rows.flatMap(({ credits }) => credits.roles.map(({ role }) => role)))].sort(),
        Object.keys(Object(valueOf(diagnosis, 'byRole')) as object).sort(),
      );
    });
  });
}
