import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  buildRequestBody,
  EndpointPolicy,
  writeMessagesContext,
  computeHighestCost,
  toSeed,
  type EndpointProbe,
} from '../../../../src/policy/endpoint/endpointPolicy.ts';
import type { PolicyAnswer } from '../../../../src/policy/policy.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { clientOf } from './manyRequests.ts';

const SAMPLING = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 6 };
const FORM = { logprobs: true, token_ids: true, length_key: 'max_completion_tokens' } as const;

it('a context of messages is those messages, and its body has them again', () => {
  const context = writeMessagesContext({ system: 'Plan. "quoted"', user: 'é' });
  const body = buildRequestBody({ api: 'chat', model: 'm', stream: true }, FORM, context, SAMPLING, 7);
  assert.deepEqual(body, {
    model: 'm',
    messages: [
      { role: 'system', content: 'Plan. "quoted"' },
      { role: 'user', content: 'é' },
    ],
    max_completion_tokens: 6,
    temperature: 1,
    top_p: 1,
    seed: 7,
    logprobs: true,
    return_token_ids: true,
    stream: true,
    stream_options: { include_usage: true },
  });
  const plain = buildRequestBody({ api: 'completions', model: 'm', stream: false }, FORM, 'text', SAMPLING, null);
  assert.deepEqual(plain, {
    model: 'm',
    prompt: 'text',
    add_special_tokens: false,
    max_tokens: 6,
    temperature: 1,
    top_p: 1,
    logprobs: 1,
    return_token_ids: true,
  });
});

it('a body names every key of sampling where the server takes them, so that no default of its own decides', () => {
  const bodyWith = (topK: number): unknown =>
    buildRequestBody(
      { api: 'completions', model: 'm', stream: false },
      { logprobs: false, token_ids: false, length_key: 'max_tokens', neutral: true },
      'text',
      { ...SAMPLING, topK },
      null,
    );
  const rest = { min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 };
  const plain = { model: 'm', prompt: 'text', max_tokens: 6, temperature: 1, top_p: 1 };
  assert.deepEqual(bodyWith(0), { ...plain, top_k: -1, ...rest });
  assert.deepEqual(bodyWith(20), { ...plain, top_k: 20, ...rest });
});

it('the most that a request can cost is a token for each byte, and a margin', () => {
  assert.deepEqual(computeHighestCost('é', 6), { prompt: 2 + 64, completion: 6 });
  assert.deepEqual(computeHighestCost('{"role": "user"}', 6), { prompt: 16 + 64 + 16, completion: 6 });
});

it('a seed has 31 bits of its stream', () => {
  assert.equal(toSeed(`ffffffff${'0'.repeat(24)}`), 2 ** 31 - 1);
  assert.equal(toSeed(`00000002${'0'.repeat(24)}`), 1);
});

/** What a policy makes of an answer with ids and log-probabilities: a token is a letter. */
async function answered(
  logprobsAt: EndpointProbe['logprobs_at'],
  temperature: number,
  promptTokens: readonly number[] | null,
): Promise<PolicyAnswer | undefined> {
  const client = clientOf(['http://127.0.0.1:1/v1'], {
    exchange: () =>
      Promise.resolve({
        text: 'ab',
        model: 'm',
        finish: 'end',
        tokens: [97, 98],
        promptTokens,
        logprobs: [-1, -2],
        usage: { prompt: 3, completion: 2 },
      }),
  });
  const probe = { seeds: 'none', logprobs: true, token_ids: true, length_key: 'max_tokens', served_as: 'm' } as const;
  const policy = new EndpointPolicy({
    role: 'solver',
    client,
    api: 'completions',
    model: 'm',
    stream: false,
    probe: { ...probe, logprobs_at: logprobsAt },
    tokenizer: {
      encode: (text) => Promise.resolve(Int32Array.from(Buffer.from(text))),
      decode: (ids) => Promise.resolve(Buffer.from(ids).toString()),
    },
  });
  const request = { role: 'solver', context: 'abc', sampling: { ...SAMPLING, temperature }, streamKey: '' };
  const [answer] = await policy.answer([request], { signal: NEVER });
  return answer;
}

it('prompt ids are kept as the server gives them; without them, as many as it counts', async () => {
  assert.deepEqual([...((await answered('sampling', 1, [97, 98, 99]))?.prompt ?? [])], [97, 98, 99]);
  assert.deepEqual([...((await answered('sampling', 1, null))?.prompt ?? [])], [0, 0, 0]);
});

it('log-probabilities are none where they are of another prompt or of another temperature than was sampled with', async () => {
  const kept = async (...given: Parameters<typeof answered>): Promise<readonly number[]> => [
    ...((await answered(...given))?.logprobs ?? []),
  ];
  assert.deepEqual(await kept('sampling', 0.7, [97, 98, 99]), [-1, -2]);
  assert.deepEqual(await kept('one', 1, [97, 98, 99]), [-1, -2]);
  assert.deepEqual(await kept('one', 1, [97, 98]), []);
  assert.deepEqual(await kept('one', 1, [97, 98, 100]), []);
  for (const at of ['one', 'unknown', undefined] as const) {
    assert.deepEqual(await kept(at, 0.7, [97, 98, 99]), []);
  }
});
