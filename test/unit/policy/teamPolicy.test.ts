import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasSeeds, type PolicyAnswer } from '../../../src/policy/policy.ts';
import { createTeamPolicy, withRolePolicies } from '../../../src/policy/teamPolicy.ts';
import { NEVER, SAMPLING, ScriptedPolicy } from '../replay/helpers.ts';

const POLICIES = { checker: { kind: 'scripted', answers: [{ answer: 'Right.' }] } } as const;
const asked = (role: string, context: string) => ({ role, context, sampling: SAMPLING, streamKey: 'ab'.repeat(16) });

describe('teamPolicy', () => {
  it('is the policy of the model where no role has one of its own', () => {
    const model = new ScriptedPolicy();
    assert.equal(createTeamPolicy(model, undefined, null), model);
    assert.equal(createTeamPolicy(model, {}, null), model);
  });

  it('gives each request to the policy of its role, and answers in the order of the requests', async () => {
    const model = new ScriptedPolicy(({ context }) => `model: ${context}`);
    const heard: [number, string][] = [];
    const team = createTeamPolicy(model, POLICIES, null);
    const answers = await team.answer([asked('actor', 'a'), asked('checker', 'b'), asked('actor', 'c')], {
      ...NEVER,
      onAnswer: (index: number, { text }: PolicyAnswer) => heard.push([index, text]),
    });
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['model: a', 'Right.', 'model: c'],
    );
    assert.deepEqual(
      heard.sort(([a], [b]) => a - b),
      [
        [0, 'model: a'],
        [1, 'Right.'],
        [2, 'model: c'],
      ],
    );
    assert.deepEqual([team.snapshot, team.environment, team.seeded], [model.snapshot, model.environment, true]);
    assert.deepEqual(
      model.requests.map(({ context }) => context),
      ['a', 'c'],
    );
  });

  it('takes seeds for the roles that others answer for, whatever answered for them before', () => {
    const unseeded = Object.assign(new ScriptedPolicy(), { seeded: false });
    const team = withRolePolicies(new ScriptedPolicy(), new Map([['actor', unseeded]]));
    const other = withRolePolicies(team, new Map([['checker', unseeded]]));
    const again = withRolePolicies(team, new Map([['actor', new ScriptedPolicy()]]));
    assert.deepEqual(
      [team, other, again].map((one) => [
        ...['actor', 'checker', 'solver'].map((role) => hasSeeds(one, role)),
        one.seeded,
      ]),
      [
        [false, true, true, false],
        [false, false, true, false],
        [true, true, true, true],
      ],
    );
  });

  it('lets the policy of a role take what somebody typed for it', async () => {
    const team = createTeamPolicy(new ScriptedPolicy(), POLICIES, null);
    const typed = { context: '', text: 'No.', temperature: 1 };
    assert.equal((await team.typed({ ...typed, role: 'checker' }, NEVER)).logprobs.length, 0);
    assert.equal((await team.typed({ ...typed, role: 'actor' }, NEVER)).logprobs.length, 3);
  });
});
