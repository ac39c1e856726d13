/** Exact replay of 960 replays in batches of 1 to 48. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shuffled } from '../../../determinism/replays.ts';
import { range } from '../../../unit/runtime/nd.ts';
import { manyReplays } from './manyReplays.ts';

manyReplays(24, 48);

it('an order is a permutation that its name decides', () => {
  assert.deepEqual(
    [...shuffled(50, 'a')].sort((a, b) => a - b),
    range(50),
  );
  assert.deepEqual(shuffled(50, 'a'), shuffled(50, 'a'));
  assert.notDeepEqual(shuffled(50, 'a'), shuffled(50, 'b'));
});
