import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import {
  measureContextDrift,
  measureCoordination,
  pluginVariation,
  estimateStability,
} from '../../../src/diagnostics/teamwork.ts';

const close = (found: number | undefined, expected: number, within = 1e-12): void =>
  assert.ok(Math.abs((found ?? NaN) - expected) <= within, `${String(found)} is not ${expected}`);

it('counts the questions on which all roles agree on the correct answer', () => {
  const right = { answers: ['12', '12'], solved: true };
  const found = measureCoordination([
    [right],
    [{ answers: ['12', '12'], solved: false }],
    [{ answers: ['12', '7'], solved: true }],
    [right, { answers: ['12', null], solved: true }],
    [],
  ]);
  assert.deepEqual([found?.value, found?.n], [(1 + 0.5) / 4, 4]);
  assert.ok(found !== null && (found.low ?? 1) < found.value && (found.high ?? 0) > found.value);
  // Where nobody states an answer, or one agent only, there is nothing to agree on.
  assert.equal(
    measureCoordination([[{ answers: [null, null], solved: true }], [{ answers: [null, '1'], solved: true }]]),
    null,
  );
  assert.equal(measureCoordination([]), null);
});

it('measures total variation by the shares of contexts', () => {
  close(pluginVariation(['a', 'a', 'b', 'c'], ['a', 'b', 'b', 'd']), 0.5);
  close(pluginVariation(['a', 'b'], ['a', 'b', 'a', 'b']), 0);
  close(pluginVariation(['a'], ['b']), 1);
});

const context = (group: string, key: string) => ({ group, key: `${group} ${key}` });

it('compares halves of as many contexts of every question and role, beside two halves of one policy', () => {
  const stage = (keys: string, group = 'q') => Array.from(keys, (key) => context(group, key));
  // The halves of the first stage are aab and abb; the later stages come with bbb and ccc.
  const found = measureContextDrift([[stage('aaabbb'), stage('abbbab'), stage('cccccc')]]) ?? assert.fail();
  close(found.samePolicy.value, 2 / 3);
  close(found.plugIn.value, 2 / 3 + 1);
  close(found.excess.value, 1);
  assert.deepEqual([found.plugIn.n, found.plugIn.low], [1, null]);
  assert.equal(measureContextDrift([[stage('aabb')], []]), null);
  assert.equal(measureContextDrift([[stage('aabb'), stage('a')]]), null);
});

it('finds the drift beyond chance where there is one, and none where there is none', () => {
  // Two distributions over eight contexts whose total variation is 1/4, and one compared with itself.
  const drawn = (step: number, stage: number, moved: boolean) => {
    const stream = openStream(step, stage);
    return Array.from({ length: 200 }, (_, place) => {
      const at = Math.floor(uniform(stream, place) * 8);
      return context('q', String(moved && at < 2 ? 7 : at));
    });
  };
  const steps = (moved: boolean) =>
    Array.from({ length: 40 }, (_, step) => [drawn(step, 1, false), drawn(step, 2, moved)]);
  const [still, moved] = [measureContextDrift(steps(false)), measureContextDrift(steps(true))];
  assert.ok(still !== null && moved !== null);
  assert.ok((still.excess.low ?? 1) <= 0 && (still.excess.high ?? -1) >= 0, JSON.stringify(still.excess));
  assert.ok(still.plugIn.value > 0.05, 'the plug-in estimate alone would show a drift');
  assert.ok((moved.excess.low ?? 0) > 0 && moved.plugIn.value > 0.25, JSON.stringify(moved));
  assert.ok(Math.abs(moved.plugIn.value - 0.25) < 0.1);
});

it('gives the stability of gains an interval', () => {
  // The sample standard deviation of 0.1, 0.3 and -0.1.
  const found = estimateStability([0, 0.1, 0.4, 0.3]) ?? assert.fail();
  close(found.value, 0.2);
  assert.equal(found.n, 3);
  assert.ok(found.low !== null && found.low <= 0.2 && (found.high ?? 0) >= 0.2);
  assert.deepEqual([estimateStability([0, 1]), estimateStability([0, null, 1, 2])], [null, null]);
});
