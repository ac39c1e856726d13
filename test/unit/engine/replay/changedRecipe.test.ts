/** Who answers for the roles of a team after a change. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StoredRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { changeRecipe, readChangedServers } from '../../../../src/engine/replay/changedTeam.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const SERVER = { endpoint: 'https://api.example.com/v1/', model_name: 'gpt-4.1' };
const CONFIG = readConfig(
  `policies:
  actor: {endpoint: https://b.example/v1, model_name: b, prices: {input: 1, output: 2}, spending: {money: 3}}
  checker: {model: other}
`,
  'x',
);
const { policies: POLICIES } = CONFIG;

const LOCAL = { endpoint: 'http://127.0.0.1:8000/v1', model_name: 'mine' };

it('a server is asked as a configuration would ask it, within the limit of the one before', () => {
  const roles = { reasoner: SERVER, actor: LOCAL, checker: { snapshot: '0' } };
  const servers = readChangedServers(roles, CONFIG, { tokens: 100 });
  assert.deepEqual(Object.keys(servers), ['reasoner', 'actor']);
  const { reasoner, actor } = servers;
  assert.deepEqual(
    [reasoner?.endpoint, reasoner?.model_name, reasoner?.api, reasoner?.prices.input, reasoner?.spending.money],
    [['https://api.example.com/v1'], 'gpt-4.1', 'chat', 0, null],
  );
  assert.deepEqual(
    [actor?.endpoint, actor?.prices, actor?.spending.money],
    [[LOCAL.endpoint], { input: 0, output: 0 }, 3],
  );
  const same = { endpoint: 'https://b.example/v1/', model_name: 'b' };
  const own = readChangedServers({ actor: same }, CONFIG)['actor'];
  assert.deepEqual([own?.prices, own?.spending.money], [{ input: 1, output: 2 }, 3]);
});

it('a limit of money holds only where a price is known, or nothing leaves the machine', () => {
  const roles = (endpoint: string, more = {}) => ({ reasoner: { ...SERVER, endpoint, ...more } });
  assert.throws(
    () => readChangedServers(roles(SERVER.endpoint), CONFIG, { money: 1 }),
    /is not known, .* limit tokens/u,
  );
  const priced = roles(SERVER.endpoint, { prices: { input: 2, output: 8 } });
  assert.equal(readChangedServers(priced, CONFIG, { money: 1 })['reasoner']?.prices.output, 8);
  assert.ok(readChangedServers(roles('http://127.0.0.1:8000/v1'), CONFIG, { money: 1 })['reasoner']);
  // The limit is that of the configuration here, and the price that of another model.
  for (const server of [SERVER, { ...SERVER, endpoint: 'https://b.example/v1' }]) {
    assert.throws(() => readChangedServers({ actor: server }, CONFIG), /limit tokens/u);
  }
});

it('a server of the configuration is asked as there, also one that judges; prices of the change go first', () => {
  const withJudge = readConfig(
    `policies:
  checker: {endpoint: https://b.example/v1, model_name: b, api: completions, retries: 1, prices: {input: 1, output: 2}}
evaluator: judge
scorer:
  rubric: Is it right?
  labels: labels.jsonl
  judge: {endpoint: https://j.example/v1, model_name: j, prices: {input: 3, output: 4}, spending: {money: 1}}
`,
    'x',
  );
  const roles = {
    actor: { endpoint: 'https://b.example/v1', model_name: 'b' },
    reasoner: { endpoint: 'https://j.example/v1/', model_name: 'j' },
    checker: { endpoint: 'https://b.example/v1', model_name: 'b', prices: { input: 5, output: 6 } },
  };
  const { actor, reasoner, checker } = readChangedServers(roles, withJudge, { money: 1 });
  assert.deepEqual([actor?.api, actor?.retries, actor?.prices], ['completions', 1, { input: 1, output: 2 }]);
  assert.deepEqual([reasoner?.prices, reasoner?.spending.money], [{ input: 3, output: 4 }, null]);
  assert.deepEqual([checker?.api, checker?.prices], ['completions', { input: 5, output: 6 }]);
});

it('what is no server is refused in a sentence', () => {
  for (const [server, words] of [
    [{ ...SERVER, endpoint: 'nowhere' }, /^C3Error: The server for the role actor: endpoint must be an address such/u],
    [{ ...SERVER, model_name: '' }, /^C3Error: The server for the role actor: model_name /u],
  ] as const) {
    assert.throws(() => readChangedServers({ actor: server }, CONFIG), words);
  }
});

it('roles that a change names keep no policy and no weights of their own', () => {
  const weights = { snapshot: 's', run: null, tokenizer: 't', template: null, rendering: null };
  const recipe: StoredRecipe = {
    config: CONFIG,
    ...{
      folder: '/mine',
      modelFolder: '/model',
      protocolText: '',
      protocolSource: '',
      fingerprint: null,
      rendering: null,
    },
    roles: { checker: { ...weights, folder: 'other' }, judge: { ...weights, folder: 'mine' } },
  };
  const changed = { checker: { snapshot: '0' }, reasoner: SERVER };
  const servers = readChangedServers(changed, CONFIG);
  const { config, roles } = changeRecipe(recipe, changed, servers);
  assert.deepEqual(config.policies, { actor: POLICIES?.['actor'], ...servers });
  assert.deepEqual(Object.keys(roles ?? {}), ['judge']);
});
