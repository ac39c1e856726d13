import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatStepTurns } from '../../../../src/extension/sidebar/runsModel.ts';

const TEAM = ['first', 'second', 'third'];

function stored(teamtr?: object, more: object = {}): string {
  const config = { method: 'teamtr', adapter: { per: 'role' }, ...(teamtr && { teamtr }), ...more };
  const roles = TEAM.map((role) => ({ role, prompt: 'Say a letter.' }));
  return JSON.stringify({ config, protocolText: JSON.stringify({ name: 'chain', roles }) });
}

test('each turn says who learned, and which of the others were updated before its episodes', () => {
  assert.deepEqual(formatStepTurns(stored(), 1), [
    'Stage 0: first learned from episodes with the team as it was before the step',
    'Stage 1: second learned from episodes with first as updated in this step and third as before it',
    'Stage 2: third learned from episodes with first and second as updated in this step',
  ]);
});

test('where all roles share their weights, a turn moves them all', () => {
  assert.equal(
    formatStepTurns(stored({}, { adapter: null }), 1)[2],
    'Stage 2: third learned from episodes with the weights that all roles share, after the turns of first and second',
  );
});

test('turns that share episodes say who was updated since', () => {
  assert.deepEqual(formatStepTurns(stored({ resample_every: 2 }), 1), [
    'Stage 0: first learned from episodes with the team as it was before the step',
    'Stage 0: second learned from episodes with the team as it was before the step; first was updated since',
    'Stage 1: third learned from episodes with first and second as updated in this step',
  ]);
  assert.equal(
    formatStepTurns(stored({ resample_every: null }), 1)[2],
    'Stage 0: third learned from episodes with the team as it was before the step; first and second were updated since',
  );
});

test('the order is that of the step, and who does not learn has no turn and stays as it was', () => {
  const firstOf = (lines: readonly string[]): string => /: (\w+) learned/u.exec(lines[0] ?? '')?.[1] ?? '';
  assert.equal(firstOf(formatStepTurns(stored({ order: 'reverse' }), 1)), 'third');
  assert.deepEqual(
    [1, 2, 3, 4].map((step) => firstOf(formatStepTurns(stored({ order: 'round_robin' }), step))),
    ['first', 'second', 'third', 'first'],
  );
  assert.deepEqual(formatStepTurns(stored({}, { policies: { first: { kind: 'snapshot' } } }), 1), [
    'Stage 0: second learned from episodes with the team as it was before the step',
    'Stage 1: third learned from episodes with second as updated in this step and first as before it',
  ]);
  for (const order of ['random', 'gain']) {
    assert.deepEqual(formatStepTurns(stored({ order }), 2), [
      `One role learned after the other; which was first is not stored (order: ${order}).`,
    ]);
  }
});

test('nothing is said of another method, and where the team cannot be read', () => {
  for (const config of [stored({}, { method: 'c3' }), '', '{}', '{"config":{"method":"teamtr"},"protocolText":"{"}']) {
    assert.deepEqual(formatStepTurns(config, 1), []);
  }
});
