import assert from 'node:assert/strict';
import { it } from 'node:test';
import { exchangeWithoutKey } from '../../../../src/engine/models/endpoints.ts';
import type { Exchange } from '../../../../src/policy/endpoint/exchange.ts';
import { EndpointFailure } from '../../../../src/policy/endpoint/failure.ts';
import type { Reply } from '../../../../src/policy/endpoint/reply.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';

const KEY = 'a-key-of-no-known-form';
const asking = (key: string | null): Exchange => ({
  base: 'https://a.example/v1',
  api: 'chat',
  key,
  body: {},
  timeLimit: 1000,
});
const reply = (text: string): Reply => ({
  text,
  model: 'm',
  finish: 'end',
  tokens: [1, 2],
  promptTokens: [3],
  logprobs: [-1, -2],
  usage: null,
});
const said = (key: string | null, answer: Reply): Promise<Reply> =>
  exchangeWithoutKey(asking(key), NEVER, () => Promise.resolve(answer));

it('the key that was sent is taken out of an answer, with the tokens that say it', async () => {
  const repeated = await said(KEY, { ...reply(`You sent ${KEY}, ${KEY}.`), model: `m-${KEY}` });
  assert.deepEqual(repeated, { ...reply('You sent ***, ***.'), model: 'm-***', tokens: null, logprobs: null });
});

it('an answer without it is what it was, as one where there is no key, or none that is a secret', async () => {
  assert.deepEqual(await said(KEY, reply('a-key-of-no-known-for')), reply('a-key-of-no-known-for'));
  assert.deepEqual(await said(null, reply(KEY)), reply(KEY));
  assert.deepEqual(await said('none', reply('There is none.')), reply('There is none.'));
});

it('whatever looks like a key is taken out of the words of a failure, which stays the same else', async () => {
  const given = new EndpointFailure('again', 'has too many requests (429): of sk-proj-AbCdEfGhIjKlMnOpQrStUvWx012345', {
    status: 429,
    retryAfter: 7,
    charged: true,
    dead: true,
  });
  await assert.rejects(
    exchangeWithoutKey(asking(KEY), NEVER, () => Promise.reject(given)),
    (error) => {
      assert.ok(error instanceof EndpointFailure);
      const { kind, message, status, retryAfter, charged, dead } = error;
      assert.deepEqual(
        { kind, message, status, retryAfter, charged, dead },
        {
          kind: 'again',
          message: 'has too many requests (429): of sk-proj-[masked]',
          status: 429,
          retryAfter: 7,
          charged: true,
          dead: true,
        },
      );
      return true;
    },
  );
});
