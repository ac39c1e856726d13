import assert from 'node:assert/strict';
import { it } from 'node:test';
import { asksServers, readSection, parseStoredConfig, parseStoredRecipe } from '../../../src/domain/run.ts';

it('a row without a recipe, or with another one than is expected, has no key', () => {
  for (const text of ['', '[1]', 'null', '"config"', '{"config":', '{"config":[]}', '{"config":null}']) {
    assert.deepEqual(parseStoredConfig(text), {}, text);
    // An imported run has none, and no role of it is asked without a team file.
    assert.equal(asksServers(text), false, text);
  }
  assert.deepEqual(parseStoredConfig('{"config":{"seed":1}}'), { seed: 1 });
  assert.deepEqual(readSection(parseStoredRecipe('{"roles":1}'), 'roles'), {});
  assert.deepEqual(readSection({}, 'constructor'), {});
});

it('a run asks servers where one answers for a role, or scores', () => {
  const of = (config: object): boolean => asksServers(JSON.stringify({ config }));
  assert.equal(of({ policies: { actor: { kind: 'endpoint' } } }), true);
  assert.equal(of({ policies: { actor: { kind: 'vscode' } } }), true);
  assert.equal(of({ policies: { actor: { kind: 'scripted' } }, scorer: null }), false);
  assert.equal(of({ scorer: { judge: { kind: 'vscode' } } }), true);
});
