import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endpointCosts } from '../../../../src/engine/replay/endpointCost.ts';
import { rolePolicySchema } from '../../../../src/training/config/policyKeys.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { PAIR_TEXT } from '../../training/tinyTeam.ts';

it('a replay says how many requests it makes at most, and what they may cost', () => {
  const protocol = parseProtocol(PAIR_TEXT, 'pair.json');
  const [first = '', second = ''] = protocol.occurrences.map(({ role }) => role);
  const endpoint = rolePolicySchema.parse({
    endpoint: 'http://127.0.0.1:1/v1/',
    model_name: 'm',
    prices: { input: 1, output: 2 },
    spending: { tokens: 5000, money: 0.25 },
  });
  const request = { alternatives: 3, replays: 2, text: null };
  assert.deepEqual(endpointCosts(request, protocol, 0, { [first]: endpoint, [second]: endpoint }), [
    `At most 3 requests to the endpoint of the role ${first}; at most 5,000 tokens and 0.25 of money for all of them.`,
    // The three and the message itself, each continued twice.
    `At most 8 requests to the endpoint of the role ${second}; at most 5,000 tokens and 0.25 of money for all of them.`,
  ]);
  assert.deepEqual(
    endpointCosts({ ...request, text: 'own' }, protocol, 1, { [second]: endpoint }).map((line) => line.slice(0, 18)),
    ['At most 3 requests'],
  );
  assert.deepEqual(endpointCosts(request, protocol, 0, {}), []);
});
