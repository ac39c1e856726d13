import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ShownReplays } from '../../../../src/extension/sharing/shownReplays.ts';

const asked = { message: 1, team: 'team.yaml', max_evaluator_calls: 9 };

it('a replay is started as its user was shown it, once', () => {
  const shown = new ShownReplays<{ teamHash: string }>();
  shown.add(asked, { teamHash: 'one' });
  assert.throws(() => shown.take({ ...asked, message: 2 }), /The user was not asked about this replay/u);
  assert.deepEqual(shown.take({ ...asked }), { teamHash: 'one' });
  assert.throws(() => shown.take(asked), /The user was not asked about this replay/u);
});

it('of two questions about one call the first counts, so that no other file is started by its answer', () => {
  const shown = new ShownReplays<{ teamHash: string }>();
  shown.add(asked, { teamHash: 'one' });
  shown.add(asked, { teamHash: 'another' });
  assert.deepEqual(shown.take(asked), { teamHash: 'one' });
});

it('questions that nobody answers are forgotten, the oldest first', () => {
  const shown = new ShownReplays<{ teamHash: string }>();
  for (let message = 0; message < 17; message++) {
    shown.add({ ...asked, message }, { teamHash: String(message) });
  }
  assert.throws(() => shown.take({ ...asked, message: 0 }), /Ask again/u);
  assert.deepEqual(shown.take({ ...asked, message: 16 }), { teamHash: '16' });
});
