import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRolePolicy } from '../../../../../src/extension/transcript/message/messageDetail.ts';

const kindOf = (config: unknown, role: string): string | null =>
  readRolePolicy({ runConfig: () => (typeof config === 'string' ? config : JSON.stringify(config)) }, 'run-1', role)
    ?.name ?? null;

describe('policyOfRole', () => {
  it('reads what answered for a role from the stored configuration', () => {
    const recipe = { config: { policies: { checker: { kind: 'scripted', answers: [] } } } };
    assert.equal(kindOf(recipe, 'checker'), 'scripted');
    assert.equal(kindOf(recipe, 'actor'), null);
    assert.equal(kindOf(recipe, 'constructor'), null);
  });

  it('names the weights that answered', () => {
    const recipe = {
      config: { policies: { critic: { kind: 'model', model: '../other' } } },
      roles: { critic: { folder: '/models/other', snapshot: '0123456789abcdef' } },
    };
    const found = readRolePolicy({ runConfig: () => JSON.stringify(recipe) }, 'run-1', 'critic');
    assert.match(found?.words ?? '', /^Another model, .* Weights 0123456789ab of other\.$/);
    assert.equal(found?.capabilities.learns, false);
  });

  it('knows nothing of what it cannot read', () => {
    for (const config of ['', '{', 'null', '[]', { config: { policies: { checker: 'scripted' } } }]) {
      assert.equal(kindOf(config, 'checker'), null);
    }
    assert.equal(kindOf({ config: { policies: { checker: { kind: 'oracle' } } } }, 'checker'), null);
  });
});
