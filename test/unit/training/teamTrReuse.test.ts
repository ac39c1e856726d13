/** Method teamtr where turns learn from the episodes of an earlier one: what they count. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import type { Divergence } from '../../../src/training/divergence.ts';
import type { Outcome, Update } from '../../../src/training/methods/method.ts';
import { listMethodRemarks } from '../../../src/training/methods/methods.ts';
import { teamTr } from '../../../src/training/methods/teamTr.ts';
import { TINY_CONFIG } from './tinyRun.ts';
import { PAIR } from './tinyTeam.ts';

const configOf = (...overrides: readonly string[]) =>
  readConfig(TINY_CONFIG, 'tiny.c3.yaml', ['method=teamtr', 'adapter={per: role}', ...overrides]);

/** By how much each role's messages become likelier in the two episodes. */
const FACTORS: Readonly<Record<string, readonly number[]>> = { a: [2, 0.5], b: [3, 1], c: [1, 1], d: [1, 1] };

const moved = (role: string): Divergence => ({
  messages: 2,
  k1: 0,
  k3: 0.0095,
  gain: 0,
  moves: (FACTORS[role] ?? []).map((factor, index) => ({
    episode: index + 1,
    problem: 'x',
    worth: 0,
    place: 0,
    logRatio: Math.log(factor),
    tokens: [Math.log(factor)],
  })),
});

function asked(...overrides: readonly string[]): Update[] {
  const updates = teamTr.updates({
    settings: configOf('teamtr.reuse=weighted', ...overrides),
    iteration: 1,
    state: { json: { beta: {}, gain: {} }, tensors: {} },
    roles: ['a', 'b', 'c', 'd'],
    nodes: [],
    random: () => () => 0.5,
  }) as Generator<Update, void, Outcome>;
  const made: Update[] = [];
  for (let next = updates.next({}); next.done !== true;) {
    const update = next.value;
    made.push(update);
    next = updates.next(
      update.kind === 'divergence'
        ? { divergence: new Map((update.roles ?? []).map((role) => [role, moved(role)])) }
        : {},
    );
  }
  return made;
}

/** What episodes 1 and 2 count for each role that learns; null: nothing is said of them. */
const countsIn = (updates: readonly Update[]): (number[] | null)[] =>
  updates.flatMap((update) =>
    update.kind === 'policy'
      ? [update.weights === undefined ? null : [1, 2].map((id) => Number(update.weights?.get(id)?.toFixed(9)))]
      : [],
  );

it('weighs stale episodes by every role updated since they were sampled', () => {
  const naive = ['teamtr.resample_every=null'];
  assert.deepEqual(countsIn(asked(...naive)), [null, [2, 0.5], [6, 0.5], [6, 0.5]]);
  assert.deepEqual(countsIn(asked(...naive, 'teamtr.weight_cap=4')), [null, [2, 0.5], [4, 0.5], [4, 0.5]]);
  // Fresh episodes begin anew.
  assert.deepEqual(countsIn(asked('teamtr.resample_every=2')), [null, [2, 0.5], null, [1, 1]]);
  assert.deepEqual(countsIn(asked('teamtr.resample_every=1')), [null, null, null, null]);
  assert.deepEqual(countsIn(asked(...naive, 'teamtr.reuse=as_is')), [null, null, null, null]);
});

it('measures the weights on all messages of the updated roles, also where a part is held out', () => {
  const updates = asked('teamtr.resample_every=null', 'teamtr.held_out=2');
  const third = updates.filter(({ kind }) => kind === 'keep').length;
  assert.equal(third, 4);
  const whole = updates.flatMap((update) =>
    update.kind === 'divergence' && update.batch === undefined ? [update.roles ?? []] : [],
  );
  assert.deepEqual(whole, [['a'], ['a', 'b'], ['a', 'b', 'c']]);
  // What the surrogate gains is measured with the same weights as it is learned from.
  for (const [index, update] of updates.entries()) {
    const before = updates[index - 1];
    if (update.kind === 'divergence' && before?.kind === 'policy') {
      assert.equal(update.weights, before.weights);
    }
  }
});

it('says where the weights say nothing', () => {
  const remarks = (...overrides: readonly string[]): string => listMethodRemarks(configOf(...overrides), PAIR).join();
  assert.match(
    remarks('teamtr.reuse=weighted'),
    /^teamtr\.reuse: weighted has no effect with teamtr\.resample_every: 1/u,
  );
  assert.equal(remarks('teamtr.reuse=weighted', 'teamtr.resample_every=null'), '');
  assert.equal(remarks(), '');
});
