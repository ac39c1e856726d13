/** What is found of a server by the keys that it refuses. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EndpointFailure } from '../../../../src/policy/endpoint/failure.ts';
import { probeEndpoint } from '../../../../src/policy/endpoint/probe.ts';
import type { EndpointProbe } from '../../../../src/policy/endpoint/endpointPolicy.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { clientOf } from './manyRequests.ts';

/** The probe of a server that refuses some keys, and gives ids of tokens where it knows how to. */
async function probeOf(refused: readonly string[], hasIds: boolean): Promise<Partial<EndpointProbe>> {
  const client = clientOf(['http://127.0.0.1:1/v1'], {
    exchange: ({ body }) => {
      const key = Object.keys(body).find((one) => refused.includes(one));
      if (key !== undefined) {
        return Promise.reject(new EndpointFailure('refused', `refuses ${key}`, { status: 400 }));
      }
      const [tokens, logprobs] = [
        hasIds && body['return_token_ids'] === true ? [1] : null,
        'logprobs' in body ? [-1] : null,
      ];
      const text = `echo ${String(body['seed'])}`;
      return Promise.resolve({ text, model: 'm', finish: 'end', tokens, promptTokens: null, logprobs, usage: null });
    },
  });
  const settings = { role: 'solver', api: 'chat', model: 'm', stream: false } as const;
  return probeEndpoint(client, settings, NEVER);
}

it('a server gets the keys that it does not refuse, and no more', async () => {
  const rest = { seeds: 'exact', served_as: 'm', length_key: 'max_tokens' } as const;
  const all = { ...rest, logprobs: true, token_ids: true };
  assert.deepEqual(await probeOf([], true), { ...all, neutral: true });
  assert.deepEqual(await probeOf([], false), { ...all, token_ids: false, neutral: true });
  assert.deepEqual(await probeOf(['top_k'], true), { ...all, neutral: false });
  const few = { ...all, token_ids: false, neutral: false };
  assert.deepEqual(await probeOf(['top_k', 'return_token_ids'], true), few);
  assert.deepEqual(await probeOf(['top_k', 'return_token_ids', 'logprobs', 'max_tokens'], true), {
    ...few,
    logprobs: false,
    length_key: 'max_completion_tokens',
  });
});
