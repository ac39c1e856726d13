/** Which runs are laid beside a run whose models differ, and what is said of them. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { REMOVAL_STATE, summarizeSpread } from '../../../src/domain/stepRows.ts';
import { pairingReport } from '../../../src/report/removal.ts';
import { record } from '../webview/dashboardFixture.ts';

interface Made {
  readonly steps?: number;
  readonly settings?: object;
  readonly small?: boolean;
  readonly mean: number;
}

const ROLES = ['voter1', 'voter2'];
const configOf = ({ settings = {}, small = false, mean }: Made): string =>
  JSON.stringify({
    protocolText: 'voters',
    modelFolder: '/media/large',
    config: {
      title: String(mean),
      seed: mean,
      method: 'ccpo',
      ppo: { learning_rate: 1e-4 },
      ...settings,
      ...(small && { policies: { voter2: { kind: 'model', model: 'small' } } }),
    },
    ...(small && { roles: { voter2: { folder: '/media/small' } } }),
  });

function report(runs: Readonly<Record<string, Made>>, id = 'own'): ReturnType<typeof pairingReport> {
  const made = (run: string): Made => runs[run] ?? { mean: NaN };
  const recordOf = (run: string) => record(run, { method: 'ccpo', steps: made(run).steps ?? 3 });
  const spread = summarizeSpread([0]);
  return pairingReport(
    {
      run: recordOf,
      runs: () => Object.keys(runs).map(recordOf),
      runConfig: (run) => configOf(made(run)),
      methodState: (run) => ({
        name: REMOVAL_STATE,
        version: 1,
        json: { voters: Object.fromEntries(ROLES.map((role) => [role, { mean: made(run).mean, variance: 0.25 }])) },
        tensors: {},
      }),
      stepCredits: () => ({ roles: spread === null ? [] : ROLES.map((role) => ({ role, spread })), variance: null }),
    },
    id,
  );
}

it('runs that differ in models and seed alone are compared, with an interval over those of one pairing', () => {
  const found = report({
    own: { mean: 1 },
    seed: { mean: 3 },
    mixed: { mean: 5, small: true },
    'shorter is left out': { mean: 100, steps: 2 },
    'otherwise configured is left out': { mean: 100, settings: { ppo: { learning_rate: 1 } } },
    'another policy is left out': { mean: 100, settings: { policies: { voter1: { kind: 'own', learns: false } } } },
  });
  assert.deepEqual([found?.models, found?.steps, found?.runs], [['large', 'small'], 3, 3]);
  const [first, , third, fourth, ...others] = found?.contributions ?? [];
  assert.deepEqual([first?.pairing, first?.role, first?.model], ['1 1', 'voter1', 'large']);
  // Of 1 and 3: mean 2, and 12.706 standard errors of 1 to either side.
  assert.deepEqual([first?.contribution.value, first?.contribution.n], [2, 2]);
  assert.ok(Math.abs((first?.contribution.low ?? 0) + 10.706) < 1e-3);
  assert.deepEqual([third?.pairing, third?.model, fourth?.model], ['1 2', 'large', 'small']);
  assert.deepEqual(fourth?.contribution, { value: 5, low: null, high: null, n: 1 });
  assert.deepEqual(others, []);
});

it('there is nothing to compare with one model, or before a step has ended', () => {
  assert.equal(report({ own: { mean: 1 }, seed: { mean: 2 } }), null);
  assert.equal(report({ own: { mean: 1, steps: 0 }, mixed: { mean: 2, steps: 0, small: true } }), null);
});
