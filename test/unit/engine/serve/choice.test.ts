import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  toChoice,
  FollowedChoice,
  countFinalCharacters,
  findStop,
  type Delta,
} from '../../../../src/engine/serve/choice.ts';

/** A tokenizer of single bytes: characters of several bytes are incomplete until their last one. */
const bytes = { decode: (ids: Int32Array): string => Buffer.from([...ids]).toString('utf8') };
const tokensOf = (text: string): Int32Array => Int32Array.from(Buffer.from(text, 'utf8'));
const completion = (text: string) => {
  const tokens = tokensOf(text);
  return { tokens, logprobs: Float32Array.from(tokens, (_, index) => -index), finish: 'end', promptTokens: 3 } as const;
};

describe('finalLength', () => {
  it('holds back what may begin a stop text, or become another character', () => {
    assert.equal(countFinalCharacters('abc', []), 3);
    assert.equal(countFinalCharacters('abc\uFFFD', []), 3);
    assert.equal(countFinalCharacters('abEN', ['END']), 2);
    assert.equal(countFinalCharacters('abEN', ['END', 'bENx']), 1);
    assert.equal(countFinalCharacters('abENx', ['END']), 5);
  });
});

it('the first of several stop texts counts', () => {
  assert.equal(findStop('a--b##', ['##', '--']), 1);
  assert.equal(findStop('##ab--', ['--', '##']), 0);
  assert.equal(findStop('ab', ['##']), -1);
});

it('a choice ends with the token that completes a stop text, and its text before that', async () => {
  const { text, tokens, logprobs, finish } = await toChoice(bytes, completion('né END more'), ['END']);
  assert.deepEqual([text, tokens.length, logprobs.length, finish], ['né ', 7, 7, 'stop']);
  assert.equal((await toChoice(bytes, { ...completion('né'), finish: 'length' }, ['END'])).finish, 'length');
});

it('what is said piece by piece is the choice, and a stop text is heard of once', async () => {
  const said: Delta[] = [];
  let stopped = 0;
  const followed = new FollowedChoice(
    bytes,
    ['END'],
    (delta) => said.push(delta),
    () => stopped++,
  );
  for (const [index, token] of tokensOf('né EN END more').entries()) {
    followed.push(token, -index);
    await Promise.resolve();
  }
  const got = await new Promise<ReturnType<FollowedChoice['stoppedAt']>>((resolve) => {
    setImmediate(() => resolve(followed.stoppedAt(3)));
  });
  assert.ok(got !== null);
  const choice = await toChoice(bytes, got, ['END']);
  await followed.end(choice);
  assert.equal(stopped, 1);
  assert.equal(said.map(({ text }) => text).join(''), 'né EN ');
  assert.deepEqual(
    said.flatMap(({ tokens }) => tokens),
    [...tokensOf('né EN END')],
  );
  assert.ok(said.length > 1);
});
