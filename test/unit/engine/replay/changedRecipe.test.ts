/** Who answers for the roles of a team after a change. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_CHANGE } from '../../../../src/domain/trial.ts';
import type { StoredRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { changeRecipe, readChangedServers } from '../../../../src/engine/replay/tryChange.ts';
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
  const change = { ...NO_CHANGE, roles: { reasoner: SERVER, actor: LOCAL, checker: { snapshot: '0' } } };
  const servers = readChangedServers(change, POLICIES, { tokens: 100 });
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
  const own = readChangedServers({ ...NO_CHANGE, roles: { actor: same } }, POLICIES, undefined)['actor'];
  assert.deepEqual([own?.prices, own?.spending.money], [{ input: 1, output: 2 }, 3]);
});

it('a limit of money holds only where a price is known, or nothing leaves the machine', () => {
  const roles = (endpoint: string) => ({ ...NO_CHANGE, roles: { reasoner: { ...SERVER, endpoint } } });
  assert.throws(
    () => readChangedServers(roles(SERVER.endpoint), POLICIES, { money: 1 }),
    /is not known, .* limit tokens/u,
  );
  assert.ok(readChangedServers(roles('http://127.0.0.1:8000/v1'), POLICIES, { money: 1 })['reasoner']);
  // The limit is that of the configuration here, and the price that of another model.
  for (const server of [SERVER, { ...SERVER, endpoint: 'https://b.example/v1' }]) {
    assert.throws(
      () => readChangedServers({ ...NO_CHANGE, roles: { actor: server } }, POLICIES, undefined),
      /limit tokens/u,
    );
  }
});

it('what is no server is refused in a sentence', () => {
  for (const [server, words] of [
    [{ ...SERVER, endpoint: 'nowhere' }, /^C3Error: The server for the role actor: endpoint must be an address such/u],
    [{ ...SERVER, model_name: '' }, /^C3Error: The server for the role actor: model_name /u],
  ] as const) {
    assert.throws(() => readChangedServers({ ...NO_CHANGE, roles: { actor: server } }, POLICIES, undefined), words);
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
  const change = { ...NO_CHANGE, roles: { checker: { snapshot: '0' }, reasoner: SERVER } };
  const servers = readChangedServers(change, POLICIES, undefined);
  const { config, roles } = changeRecipe(recipe, change, servers);
  assert.deepEqual(config.policies, { actor: POLICIES?.['actor'], ...servers });
  assert.deepEqual(Object.keys(roles ?? {}), ['judge']);
});
