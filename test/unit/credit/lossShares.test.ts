/** What loses episodes, of teams whose every chance is known. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { measureLossShares, type EpisodeLosses } from '../../../src/credit/lossShares.ts';
import { measureLosses, type MessageSamples } from '../../../src/credit/valueCurve.ts';

const RANGE = { low: 0, high: 1 };
const lostBy = (problem: string, plan: number, answer: number): EpisodeLosses => ({
  problem,
  parts: new Map([
    ['plan', plan],
    ['answer', answer],
  ]),
});

function randomFrom(seed: number): () => number {
  const stream = openStream(seed, 0);
  let position = 0;
  return () => uniform(stream, position++);
}

describe('the shares of what was within reach', () => {
  it('are of the sums over episodes, add up to 1, and are negative for a role that won some back', () => {
    const { withinReach, shares } = measureLossShares(
      [lostBy('a', 0.5, 0.25), lostBy('b', 0.25, 0), lostBy('c', 0.75, -0.5), lostBy('d', 0, 0)],
      8,
    );
    // 1.25 of 4 episodes, for 8.
    assert.equal(withinReach.value, 2.5);
    assert.deepEqual([shares.get('plan')?.value, shares.get('answer')?.value], [1.2, -0.2]);
  });

  it('are none where nothing was within reach, which is the surer the more was read', () => {
    const read = (count: number): EpisodeLosses[] => Array.from({ length: count }, (_, at) => lostBy(`${at}`, 0, 0));
    assert.deepEqual(measureLossShares([], 0), { withinReach: { value: 0, low: 0, high: 0, n: 0 }, shares: new Map() });
    const [few, many] = [measureLossShares(read(3), 100), measureLossShares(read(100), 100)];
    assert.deepEqual([few.withinReach.value, few.withinReach.low, few.shares.size], [0, 0, 0]);
    assert.ok((many.withinReach.high ?? 0) < 4 && (few.withinReach.high ?? 0) > 50);
  });

  it('count episodes of one problem as one observation', () => {
    const one = [lostBy('a', 0.5, 0), lostBy('b', 0, 0.25), lostBy('c', 0.25, 0.25)];
    const [once, often] = [measureLossShares(one, 3), measureLossShares([...one, ...one, ...one, ...one], 12)];
    for (const role of ['plan', 'answer']) {
      const [a, b] = [once.shares.get(role), often.shares.get(role)];
      assert.deepEqual([a?.value, a?.low, a?.high], [b?.value, b?.low, b?.high]);
    }
  });

  it('hold the truth in 95 % of samples of episodes, each read by four pairs', () => {
    const random = randomFrom(3410);
    // A plan is sound with a chance of the problem's own, an answer to a sound plan with another one.
    const problems = Array.from({ length: 4000 }, () => ({ plan: random(), answer: 0.3 + 0.7 * random() }));
    const wins = (chance: number): number => (random() < chance ? 1 : 0);
    const lost = problems.map(({ plan, answer }) => {
      for (;;) {
        const sound = wins(plan) === 1;
        if (!sound || wins(answer) === 0) {
          return { plan, answer, sound };
        }
      }
    });
    const within = lost.reduce((sum, { plan, answer }) => sum + plan * answer, 0) / lost.length;
    const byPlan =
      lost.reduce((sum, { plan, answer, sound }) => sum + plan * answer - (sound ? answer : 0), 0) /
      lost.length /
      within;
    const trials = 400;
    let [reach, share] = [0, 0];
    for (let trial = 0; trial < trials; trial++) {
      const read = Array.from({ length: 60 }, (_, at): EpisodeLosses => {
        const { plan, answer, sound } = lost[Math.floor(random() * lost.length)] ?? assert.fail();
        const fresh = (): number => wins(plan) * wins(answer);
        const messages: MessageSamples[] = [
          { terminal: false, pairs: [1, 2, 3, 4].map(() => [sound ? wins(answer) : 0, fresh()] as const) },
          { terminal: true, pairs: [1, 2, 3, 4].map(() => [0, sound ? wins(answer) : 0] as const) },
        ];
        const [first = NaN, second = NaN] = measureLosses({ range: RANGE, end: 0, messages }, 4) ?? [];
        return lostBy(String(at), first, second);
      });
      const { withinReach, shares } = measureLossShares(read, 100);
      reach += (withinReach.low ?? 0) <= 100 * within && 100 * within <= (withinReach.high ?? 100) ? 1 : 0;
      const plan = shares.get('plan');
      share += (plan?.low ?? -Infinity) <= byPlan && byPlan <= (plan?.high ?? Infinity) ? 1 : 0;
    }
    // 95 % less twice what 400 trials leave open.
    assert.ok(reach >= 0.928 * trials && share >= 0.928 * trials, `${reach} and ${share} of ${trials}`);
  });
});
