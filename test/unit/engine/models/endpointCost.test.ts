import assert from 'node:assert/strict';
import { it } from 'node:test';
import { replayCosts } from '../../../../src/engine/models/endpointCost.ts';
import { describeCost } from '../../../../src/shared/endpointCost.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { rolePolicySchema } from '../../../../src/training/keys/policyKeys.ts';
import { PAIR_TEXT } from '../../training/tinyTeam.ts';

it('a replay says requests, tokens and money at most, and what is spent of the limit', () => {
  const protocol = parseProtocol(PAIR_TEXT, 'pair.json');
  const [first = '', second = ''] = protocol.occurrences.map(({ role }) => role);
  const endpoint = rolePolicySchema.parse({
    endpoint: 'http://127.0.0.1:1/v1/',
    model_name: 'm',
    prices: { input: 1, output: 2 },
    spending: { tokens: 5000, money: 0.25 },
  });
  const team = {
    protocol,
    policies: { [first]: endpoint, [second]: endpoint },
    sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 10 },
    // 0.0005 are known, and 0.0009 follow from the prices.
    spent: () => ({
      ...{ calls: 2, prompt: 1000, completion: 200, money: 0.0005 },
      unpriced: { prompt: 500, completion: 200 },
    }),
  };
  const request = { alternatives: 3, replays: 2, text: null };
  const longest = Math.max(...protocol.roles.map(({ maxNewTokens }) => maxNewTokens ?? 10));
  // The context, all prompts of the protocol, the margin of a request, and what may be said before the last message.
  const prompt = 100 + Buffer.byteLength(JSON.stringify(protocol)) + 64 + 8 * longest;
  const costs = replayCosts(request, team, 0, 100);
  // The three, and then these and the message itself, each continued twice.
  assert.deepEqual(
    costs.map(({ role, requests, tokens }) => [role, requests, tokens]),
    [
      [first, 3, 3 * (prompt + longest)],
      [second, 8, 8 * (prompt + longest)],
    ],
  );
  assert.equal(costs[1]?.money.toFixed(9), ((8 * (prompt + 2 * longest)) / 1e6).toFixed(9));
  assert.deepEqual([costs[0]?.spent.tokens, costs[0]?.local], [1200, true]);
  assert.match(
    costs.map(describeCost)[1] ?? '',
    /^At most 8 requests to the endpoint of the role \w+, [\d,]+ tokens and 0\.\d+ of money; spent of the limit of the run and its replays: 1,200 of 5,000 tokens, 0\.0014 of 0\.25 of money\.$/,
  );
  assert.deepEqual(
    replayCosts({ ...request, text: 'own' }, { ...team, policies: { [second]: endpoint } }, 1, 0).map(
      ({ requests }) => requests,
    ),
    [3],
  );
  assert.deepEqual(replayCosts(request, { ...team, policies: {} }, 0, 0), []);
});
