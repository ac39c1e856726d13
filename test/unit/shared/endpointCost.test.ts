/** What work costs at the servers of both sides of a comparison. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sumCostsByRole, type EndpointCost } from '../../../src/shared/endpointCost.ts';

it('costs of a role stay on this machine only where those of both sides do', () => {
  const cost = (local: boolean): EndpointCost => ({
    role: 'solver',
    requests: 2,
    tokens: 10,
    money: 0,
    spent: { tokens: 0, money: 0 },
    limit: { tokens: null, money: null },
    local,
  });
  for (const [before, after] of [
    [false, true],
    [true, false],
    [true, true],
  ] as const) {
    const [sum] = sumCostsByRole([cost(before), cost(after)]);
    assert.deepEqual([sum?.local, sum?.requests, sum?.tokens], [before && after, 4, 20]);
  }
});
