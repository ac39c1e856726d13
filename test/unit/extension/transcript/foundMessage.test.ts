import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFoundMessage } from '../../../../src/extension/transcript/foundMessage.ts';

test('a found message says how it ended, which question it is about and where it is', () => {
  const message = { phase: 'train', iteration: 3, return: 0.66666, leaves: 3 } as const;
  assert.equal(
    describeFoundMessage(message, 'How many\nis 12 + 7?', 'Rate 3e-4'),
    'mean return 0.667 · How many⏎is 12 + 7? · Rate 3e-4, train 3',
  );
  assert.match(describeFoundMessage({ ...message, return: null, leaves: 1 }, 'x', 'y'), /^return not measured · x/u);
  assert.match(
    describeFoundMessage({ ...message, return: 1, leaves: 1 }, 'x'.repeat(500), 'y'),
    /^return 1 · x{100,120}.? · y/u,
  );
});
