import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCapabilities, isLearningRole, requireCapability } from '../../../src/shared/rolePolicies.ts';
import { errorOfKind } from '../replay/helpers.ts';

const POLICIES = { checker: { kind: 'scripted', answers: [{ answer: 'Right.' }] } } as const;

describe('capabilitiesOf', () => {
  it('knows what a scripted role cannot do', () => {
    assert.deepEqual(findCapabilities(POLICIES, 'checker'), {
      tokens: false,
      logprobs: false,
      samples: false,
      learns: false,
    });
    assert.equal(isLearningRole(POLICIES, 'actor'), true);
    assert.equal(isLearningRole(POLICIES, 'constructor'), true);
    assert.equal(isLearningRole(undefined, 'checker'), true);
  });
});

describe('requireCapability', () => {
  it('says which role, what is missing and what to do', () => {
    requireCapability(POLICIES, 'actor', 'samples', 'type a message');
    assert.throws(
      () => requireCapability(POLICIES, 'checker', 'samples', 'type a message to compare it with'),
      errorOfKind(
        'input',
        /^The policy of the role checker is scripted: it has one answer .*; type a message to compare it with\.$/,
      ),
    );
  });
});
