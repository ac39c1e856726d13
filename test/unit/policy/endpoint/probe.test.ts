/** What is found of a server by the keys that it refuses. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { EndpointProbe } from '../../../../src/policy/endpoint/endpointPolicy.ts';
import { EndpointFailure } from '../../../../src/policy/endpoint/failure.ts';
import { probeEndpoint } from '../../../../src/policy/endpoint/probe.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { startAnsweringServer } from '../../../support/answeringServer.ts';
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
  const all = { ...rest, logprobs: true, logprobs_at: 'one', token_ids: true } as const;
  assert.deepEqual(await probeOf([], true), { ...all, neutral: true });
  assert.deepEqual(await probeOf([], false), { ...all, token_ids: false, neutral: true });
  assert.deepEqual(await probeOf(['top_k'], true), { ...all, neutral: false });
  const few = { ...all, token_ids: false, neutral: false };
  assert.deepEqual(await probeOf(['top_k', 'return_token_ids'], true), few);
  const { logprobs_at: none, ...without } = few;
  assert.equal(none, 'one');
  assert.deepEqual(await probeOf(['top_k', 'return_token_ids', 'logprobs', 'max_tokens'], true), {
    ...without,
    logprobs: false,
    length_key: 'max_completion_tokens',
  });
});

it('an address that cannot be reached is said after its first refusal, each of several once', async () => {
  for (const bases of [['http://127.0.0.1:1/v1'], ['http://127.0.0.1:1/v1', 'http://127.0.0.1:2/v1']]) {
    const asked: string[] = [];
    const client = clientOf(bases, {
      exchange: ({ base }) => {
        asked.push(base);
        return Promise.reject(
          new EndpointFailure('again', 'cannot be reached (refused)', { dead: true, absent: true }),
        );
      },
    });
    const settings = { role: 'solver', api: 'chat', model: 'm', stream: false } as const;
    await assert.rejects(
      probeEndpoint(client, settings, NEVER),
      /cannot be reached \(refused\); start its server, or correct policies\.solver\.endpoint\.$/u,
    );
    assert.deepEqual(asked, bases);
  }
});

it('an address that is there, and one beside another that asks to wait, is asked again', async () => {
  const settings = { role: 'solver', api: 'chat', model: 'm', stream: false } as const;
  const reset = new EndpointFailure('again', 'cannot be reached (ECONNRESET)', { dead: true });
  const client = clientOf(['http://127.0.0.1:1/v1'], { retries: 1, exchange: () => Promise.reject(reset) });
  await assert.rejects(probeEndpoint(client, settings, NEVER), /ECONNRESET\), asked 2 times; try again later\.$/u);
});

it('a server that fails is asked again, as ever', async () => {
  let asked = 0;
  const client = clientOf(['http://127.0.0.1:1/v1'], {
    retries: 2,
    exchange: () => {
      asked++;
      return Promise.reject(new EndpointFailure('again', 'failed with 503'));
    },
  });
  const settings = { role: 'solver', api: 'chat', model: 'm', stream: false } as const;
  await assert.rejects(probeEndpoint(client, settings, NEVER), /failed with 503, asked 3 times; try again later\.$/u);
  assert.equal(asked, 3);
});

interface Quirks {
  /** `--logprobs-mode processed_logprobs` in the place of the default. */
  readonly processed?: boolean;
  /** Requests at once up to which a seed decides what is said. */
  readonly seededUpTo?: number;
  /** Whether `logprobs: 0` is taken for none. */
  readonly zeroIsNone?: boolean;
  /** Ids of the prompt, by the number of the request. */
  readonly prompt?: (request: number) => readonly number[];
  /** Log-probabilities of what is sampled at temperature 1. */
  readonly plain?: readonly (number | null)[];
}

/** A server with the fields of vLLM's completions: of its ids, its log-probabilities, and null where one is none. */
async function vllm(
  t: TestContext,
  { processed = false, seededUpTo = 100, zeroIsNone = false, prompt = () => [7, 8, 9], plain = [-2, -1, -0.5] }: Quirks,
): Promise<{ readonly base: string; readonly asked: Readonly<Record<string, unknown>>[] }> {
  const asked: Readonly<Record<string, unknown>>[] = [];
  let waiting: (() => void)[] = [];
  let [most, last] = [0, 0];
  const base = await startAnsweringServer(t, (body, _request, response) => {
    asked.push(body);
    const number = asked.length;
    const answer = (): void => {
      const { seed, temperature, logprobs } = body;
      const isSeeded = typeof seed === 'number' && most <= seededUpTo;
      const given = processed && temperature === 0.05 ? plain.map(() => -1e-6) : plain;
      const choice = {
        index: 0,
        text: `echo ${isSeeded ? String(seed) : `of ${number}`}`,
        finish_reason: 'stop',
        token_ids: given.map((_, index) => index),
        prompt_token_ids: prompt(number),
        logprobs: logprobs === undefined || (zeroIsNone && logprobs === 0) ? null : { token_logprobs: given },
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ model: 'm', choices: [choice], usage: { prompt_tokens: 3, completion_tokens: 3 } }),
      );
    };
    // Requests are answered once no other has come for two turns: so those that come at once are counted together.
    waiting.push(answer);
    last++;
    const mine = last;
    const settle = (turns: number): void => {
      if (mine !== last) {
        return;
      }
      if (turns > 0) {
        setImmediate(settle, turns - 1);
        return;
      }
      most = waiting.length;
      const all = waiting;
      waiting = [];
      for (const one of all) {
        one();
      }
    };
    settle(TURNS);
  });
  return { base, asked };
}
const TURNS = 200;

async function found(t: TestContext, quirks: Quirks): Promise<EndpointProbe & { readonly asked: readonly unknown[] }> {
  const { base, asked } = await vllm(t, quirks);
  const client = clientOf([base], { concurrency: 64, timeLimit: 20_000 });
  const settings = { role: 'solver', api: 'completions', model: 'm', stream: false } as const;
  return { ...(await probeEndpoint(client, settings, NEVER)), asked };
}

it('vLLM as it is by default: log-probabilities of temperature 1, asked for with 0, and every key of sampling', async (t) => {
  const { asked, ...probe } = await found(t, {});
  assert.deepEqual(probe, {
    seeds: 'exact',
    logprobs: true,
    likeliest: 0,
    logprobs_at: 'one',
    token_ids: true,
    length_key: 'max_tokens',
    neutral: true,
    served_as: 'm',
  });
  const keys = { top_k: -1, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0, top_p: 1 };
  for (const body of asked) {
    assert.deepEqual({ ...Object(body), ...keys, logprobs: 0, add_special_tokens: false }, body);
  }
  // One, two for each of three seeds, these again beside 32, and one near temperature 0.
  assert.equal(asked.length, 1 + 6 + 3 + 32 + 1);
});

it('log-probabilities that follow the temperature are told from those that do not, and from what tells nothing', async (t) => {
  assert.equal((await found(t, { processed: true })).logprobs_at, 'sampling');
  assert.equal((await found(t, { plain: [-1e-5, -1e-6] })).logprobs_at, 'unknown');
});

it('a seed that decides alone, and not beside others, decides nothing', async (t) =>
  assert.equal((await found(t, { seededUpTo: 8 })).seeds, 'none'));

it('a missing log-probability is none, and a server that takes 0 for none is asked for 1', async (t) => {
  const missing = await found(t, { plain: [-1, null] });
  assert.deepEqual([missing.logprobs, missing.logprobs_at], [false, undefined]);
  const { logprobs, likeliest } = await found(t, { zeroIsNone: true });
  assert.deepEqual([logprobs, likeliest], [true, 1]);
});

it('servers that read one prompt as different tokens are refused', async (t) => {
  await assert.rejects(
    found(t, { prompt: (request) => (request === 4 ? [7, 8] : [7, 8, 9]) }),
    /The endpoint of the role solver reads one prompt as different tokens/u,
  );
});
