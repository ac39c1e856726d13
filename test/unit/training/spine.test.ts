/** How the calls of a spine are split, and whole runs of it. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { LocalPolicy } from '../../../src/policy/policy.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { verifyReplays } from '../../../src/replay/verify.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { countFanoutCalls } from '../../../src/team/rounds.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { planSpineFanout, findSpineFault, measureSpread } from '../../../src/training/methods/spine.ts';
import { held } from '../../support/held.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { CHAIN, CHECKPOINTS, PAIR as TWO } from '../replay/helpers.ts';
import { teamFolder, tinyWorld } from './tinyRun.ts';
import { FOUR } from './tinyTeam.ts';

const settings = (overrides: readonly string[] = []): ReturnType<typeof readConfig> =>
  readConfig('', 'x', ['shape=spine', ...overrides]);

describe('spineFanout', () => {
  it('splits the budget evenly, the first positions getting what is left over', () => {
    assert.deepEqual(planSpineFanout(settings(), TWO, null), [5, 4]);
    assert.deepEqual(planSpineFanout(settings(), CHAIN, null), [3, 3, 3, 2]);
    assert.deepEqual(planSpineFanout(settings(['evaluator_budget=4']), CHAIN, null), [2, 2, 2, 1]);
    // An alternative to the draft costs two calls.
    const fanout = planSpineFanout(settings(['evaluator_budget=9']), CHECKPOINTS, null);
    assert.equal(countFanoutCalls(CHECKPOINTS, fanout, 'spine') <= 9, true);
    assert.deepEqual(fanout, [3, 4]);
  });

  it('gives a role that does not learn no alternatives', () => {
    const scripted = ['policies={first: {answers: [{answer: x}]}, third: {answers: [{answer: x}]}}'];
    assert.deepEqual(planSpineFanout(settings(scripted), CHAIN, null), [1, 5, 1, 4]);
  });

  it('takes more where returns vary more, so that the variance of the gradient is least', () => {
    const none = ['evaluator_budget=19', 'credit.lone_messages=none'];
    // The sum of V / m, so m goes with the root of V: 2, 1, 1 and 0.5 of 18.
    assert.deepEqual(planSpineFanout(settings(none), CHAIN, [4, 1, 1, 0.25]), [9, 5, 5, 3]);
    // Where every message adds as much, whole episodes teach most: each of their messages learns.
    assert.deepEqual(planSpineFanout(settings(), CHAIN, [4, 3, 2, 1]), [8, 1, 1, 1]);
    // Where the first adds nearly all, alternatives behind it save its noise.
    assert.deepEqual(planSpineFanout(settings(), TWO, [1, 0.02]), [7, 2]);
    const scripted = ['policies={first: {answers: [{answer: x}]}, third: {answers: [{answer: x}]}}'];
    assert.deepEqual(planSpineFanout(settings(scripted), CHAIN, [1, 1, 0.1, 0.1]), [1, 7, 1, 2]);
  });

  it('is even where nothing was measured, or nothing varied', () => {
    for (const spread of [null, [null, null, null, null], [0, 0, 0, 0]]) {
      assert.deepEqual(planSpineFanout(settings(), CHAIN, spread), [3, 3, 3, 2]);
    }
  });

  it('says so where the budget pays for no alternative', () => {
    assert.match(findSpineFault(settings(['evaluator_budget=1']), TWO) ?? '', /pays for no more than the episode/u);
    assert.equal(findSpineFault(settings(['evaluator_budget=2']), TWO), null);
  });
});

describe('spreadOf', () => {
  it('is the variance of the returns behind leave-one-out credits', () => {
    const returns = [1, 0, 0.5, 0.25];
    const mean = returns.reduce((sum, one) => sum + one, 0) / 4;
    const variance = returns.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 3;
    const messages = returns.map((one) => ({ bucket: 7, position: 1, credit: (4 / 3) * (one - mean) }));
    const [first, second] = measureSpread([...messages, { bucket: 8, position: 0, credit: 0.4 }], 2);
    assert.equal(first, null);
    assert.ok(Math.abs((second ?? 0) - variance) < 1e-12);
  });
});

describe('a run with a spine', () => {
  let team: Awaited<ReturnType<typeof teamFolder>>;
  before(async () => {
    team = await teamFolder();
  });
  after(() => team.remove());

  for (const shape of ['spine', 'spine_rho']) {
    it(`asks for its budget, learns, verifies, and comes to the same weights over an interruption: ${shape}`, async (t) => {
      const options = {
        protocol: FOUR,
        overrides: [`shape=${shape}`, 'steps=3', 'evaluation.instances=0', 'evaluator_budget=9'],
        evaluation: [],
      };
      const whole = await tinyWorld(t, team.folder);
      const summary = await whole.start(options);
      assert.equal(summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), 3 * 3 * 9);
      const weights = whole.store.snapshotsOfRun('run-1').map(({ id }) => id);
      assert.equal(new Set(weights).size, 4, 'every step learns');
      const counts = [1, 2, 3].map((iteration) => {
        const buckets = whole.store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 1000 });
        return ['planner', 'left', 'right', 'integrator'].map((role) =>
          buckets
            .filter((one) => one.iteration === iteration && one.role === role && one.alternatives.length > 1)
            .reduce((sum, one) => sum + one.alternatives.length, 0),
        );
      });
      assert.deepEqual(counts[0], [9, 9, 9, 9]);
      assert.equal(
        counts.some((one) => one.join() !== counts[0]?.join()),
        shape === 'spine_rho',
        JSON.stringify(counts),
      );
      const { host, store } = whole;
      const tokenizer = await loadTokenizer(team.folder);
      const replays = store.replaysOfRun('run-1', 0, 1000);
      const report = await verifyReplays(
        store,
        replays,
        async (snapshot) => {
          if (!(await host.snapshots()).includes(snapshot)) {
            await host.loadSnapshot(store.snapshots(snapshot)[0]?.file ?? '');
          }
          return held({ policy: new LocalPolicy(host, tokenizer, snapshot) });
        },
        { protocol: FOUR, evaluator: answerEvaluator, returnBound: 10 },
        { signal: new AbortController().signal },
      );
      assert.deepEqual([report.identical, report.checked], [replays.length, replays.length]);

      const cut = await tinyWorld(t, team.folder);
      const signal = makeSignalAbortedWhen(() => cut.store.countSteps('run-1') === 2);
      await assert.rejects(cut.start({ ...options, control: { signal } }), CancelledError);
      await cut.resume(options);
      assert.deepEqual(
        cut.store.snapshotsOfRun('run-1').map(({ id }) => id),
        weights,
      );
    });
  }
});
