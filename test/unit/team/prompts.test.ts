/** Prompts in the place of a protocol's. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { findPromptFault, findPromptsFault, replacePrompts } from '../../../src/team/prompts.ts';

const PAIR = parseProtocol(
  JSON.stringify([
    { role: 'reasoner', prompt: 'Plan {question}, as {style} would.' },
    { role: 'actor', prompt: 'Solve it.', depends_on: ['reasoner'], max_new_tokens: 9 },
  ]),
  'pair.json',
);

describe('prompts in the place of those of a protocol', () => {
  it('change the prompts of the roles that they name, and nothing else', () => {
    const changed = replacePrompts(PAIR, { actor: 'Answer.' });
    assert.deepEqual(changed, {
      ...PAIR,
      roles: [PAIR.roles[0], { name: 'actor', prompt: 'Answer.', maxNewTokens: 9 }],
    });
    assert.deepEqual(replacePrompts(PAIR, {}), PAIR);
    // A name that every object has is none that was given.
    assert.deepEqual(
      replacePrompts(parseProtocol('[{"role": "toString", "prompt": "x"}]', 'p'), {}).roles[0]?.prompt,
      'x',
    );
  });

  it('may hold what is put in, what the own prompt has, and doubled braces', () => {
    for (const prompt of ['{question}', '{context} {actor_output} {reasoner}', '{{nobody}}', '{style}', '{1} {a b}']) {
      assert.equal(findPromptFault(PAIR, 'reasoner', prompt), null, prompt);
    }
  });

  it('are refused in one sentence', () => {
    for (const [role, prompt, words] of [
      ['reasoner', ' \n', /^The new prompt of the role reasoner is blank; write/u],
      ['actor', 'Be {style}.', /has \{style\}, for which nothing is put in; use \{question\}/u],
    ] as const) {
      assert.match(findPromptFault(PAIR, role, prompt) ?? '', words);
      assert.match(findPromptsFault(PAIR, { [role]: prompt })?.sentence ?? '', words);
    }
    assert.throws(() => findPromptFault(PAIR, 'nobody', 'x'), /no role 'nobody'/u);
    assert.deepEqual(findPromptsFault(PAIR, { reasoner: 'Plan.', acter: 'x' }), {
      path: ['prompts', 'acter'],
      sentence: "the protocol pair has no such role; did you mean 'actor'?",
    });
    assert.equal(findPromptsFault(PAIR, undefined), null);
  });
});
