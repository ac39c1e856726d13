import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PolicyAnswer, PolicyRequest } from '../../../src/policy/policy.ts';
import { ScriptedPolicy } from '../../../src/policy/scripted.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import type { ScriptRow } from '../../../src/shared/rolePolicies.ts';
import { hashContext } from '../../../src/team/contextKey.ts';
import { errorOfKind, NEVER } from '../replay/helpers.ts';

const LETTERS = { encode: (text: string): Int32Array => Int32Array.from(text, (letter) => letter.charCodeAt(0)) };

const request = (changes: Partial<PolicyRequest> = {}): PolicyRequest => ({
  role: 'checker',
  context: 'Check.\n\nProblem:\n2 + 2?\n',
  question: '2 + 2?',
  turn: 0,
  sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 2 },
  streamKey: 'ab'.repeat(16),
  ...changes,
});

const said = async (answers: readonly ScriptRow[], ...requests: PolicyRequest[]): Promise<string[]> =>
  (await new ScriptedPolicy({ answers }, null).answer(requests, NEVER)).map(({ text }) => text);

describe('ScriptedPolicy', () => {
  it('gives the answer of the first row whose conditions hold', async () => {
    const own = hashContext('other bytes').key;
    const rows = [
      { context_key: own, answer: 'by key' },
      { question: ' 2 + 2? ', turn: 2, answer: 'by question, second time' },
      { question: '2 + 2?', answer: 'by question' },
      { turn: 3, answer: 'third time' },
      { answer: 'anything else' },
    ];
    assert.deepEqual(
      await said(
        rows,
        request({ context: 'other bytes' }),
        request({ turn: 1 }),
        request(),
        request({ question: '3 + 3?', turn: 2 }),
        request({ question: '3 + 3?' }),
      ),
      ['by key', 'by question, second time', 'by question', 'third time', 'anything else'],
    );
  });

  it('keeps the order of the table over what a row is found by', async () => {
    const key = hashContext(request().context).key;
    assert.deepEqual(await said([{ answer: 'first' }, { context_key: key, answer: 'key' }], request()), ['first']);
    const rows = [
      { turn: 1, answer: 'turn' },
      { question: '2 + 2?', answer: 'question' },
    ];
    assert.deepEqual(await said(rows, request()), ['turn']);
  });

  it('needs every condition of a row', async () => {
    const key = hashContext(request().context).key;
    const rows = [{ context_key: key, question: 'another', answer: 'wrong' }, { answer: 'right' }];
    assert.deepEqual(await said(rows, request()), ['right']);
  });

  it('gives equal requests equal answers whatever their stream', async () =>
    assert.deepEqual(await said([{ answer: '4' }], request(), request({ streamKey: 'cd'.repeat(16) })), ['4', '4']));

  it('has the tokens of an answer where a tokenizer is there, none of them computed, and no log-probabilities', async () => {
    const policy = new ScriptedPolicy({ answers: [{ answer: 'four' }] }, LETTERS);
    const heard: [number, PolicyAnswer][] = [];
    const [answer] = await policy.answer([request()], { ...NEVER, onAnswer: (index, one) => heard.push([index, one]) });
    assert.deepEqual(answer, {
      text: 'four',
      prompt: new Int32Array(),
      tokens: LETTERS.encode('four'),
      logprobs: new Float32Array(),
      finish: 'end',
      reusedTokens: 4,
    });
    assert.deepEqual(heard, [[0, answer]]);
    const typed = await policy.typed({ role: 'checker', context: '', text: 'five', temperature: 1 });
    assert.deepEqual([typed.text, typed.tokens, typed.finish], ['five', LETTERS.encode('five'), 'typed']);
  });

  it('says in one sentence what it has no answer for', async () => {
    await assert.rejects(
      said([{ question: '1 + 1?', answer: '2' }], request({ place: 'the checker for the problem "q-1"' })),
      errorOfKind(
        'input',
        /script of the role checker has no answer for the checker for the problem "q-1" \(context key \d+, turn 1\); add one to policies\.checker\.answers/,
      ),
    );
  });

  it('stops where it is cancelled', async () => {
    const cancelled = { signal: AbortSignal.abort() };
    await assert.rejects(
      new ScriptedPolicy({ answers: [{ answer: '4' }] }, null).answer([request()], cancelled),
      CancelledError,
    );
  });
});
