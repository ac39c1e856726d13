/** A model that an environment asks: its failure is a sentence, and a cancelled question is none. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Policy } from '../../../src/policy/policy.ts';
import { createAsker } from '../../../src/replay/unfold.ts';
import { CancelledError, C3Error } from '../../../src/shared/errors.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { problems, ScriptedPolicy } from './helpers.ts';

const PROMPT = { system: 'Review.', user: 'def f(n): ...' };

/** What is said of one question that fails so. */
async function asked(failure: Error, aborted: boolean): Promise<unknown> {
  const [problem] = problems(1);
  const own: Policy = new ScriptedPolicy(() => assert.fail());
  const policy: Policy = {
    snapshot: own.snapshot,
    environment: own.environment,
    seeded: true,
    typed: (...given) => own.typed(...given),
    answer: () => Promise.reject(failure),
  };
  const signal = aborted ? AbortSignal.abort() : new AbortController().signal;
  return createAsker({ policy, render: renderPlain }, problem ?? assert.fail(), String, signal)(PROMPT, 1);
}

it('a policy that fails gives the sentence of its failure', async () => {
  assert.deepEqual(await asked(new C3Error('input', 'The context is too long.'), false), {
    failed: 'The context is too long.',
  });
});

it('a question that is cancelled is no failure of the policy', async () => {
  await assert.rejects(asked(new CancelledError(), false), CancelledError);
  await assert.rejects(asked(new C3Error('input', 'The server was left.'), true), /was left/u);
});
