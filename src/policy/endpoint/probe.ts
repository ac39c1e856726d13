/** Finds out an endpoint's capabilities by asking it. Nothing is assumed. */

import type { Sampling } from '../../domain/message.ts';
import { C3Error, type ErrorAction } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { refusedError, type EndpointClient } from './client.ts';
import {
  buildRequestBody,
  writeMessagesContext,
  computeHighestCost,
  type EndpointForm,
  type EndpointProbe,
} from './endpointPolicy.ts';
import { EndpointFailure, Unanswered } from './failure.ts';
import type { Reply } from './reply.ts';

const QUESTION = 'Write a few words that nobody expects.';
const SAMPLING = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 16 };
/** Each seed is asked twice, and once more together with `OTHERS` other requests. */
const SEEDS = [11, 12, 13];
const OTHERS = 32;
/** Sampled tokens are almost certain here, if log-probabilities are of this temperature. */
const COLD = { ...SAMPLING, temperature: 0.05 };
/** Limits in nats: tokens are almost certain above the first, but not below the second. */
const [CERTAIN, UNCERTAIN] = [-0.001, -0.01];

/** Forms of requests, from the most informative one to one that every server understands. */
const FORMS: readonly EndpointForm[] = [
  { logprobs: true, likeliest: 0, token_ids: true, length_key: 'max_tokens', neutral: true },
  { logprobs: true, likeliest: 0, token_ids: true, length_key: 'max_tokens' },
  { logprobs: true, likeliest: 0, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_completion_tokens' },
];

/**
 * Asks an endpoint which keys it knows, if equal seeds give equal answers, also beside other
 * requests, and which temperature its log-probabilities have. (The forms and quirks of vLLM are
 * those of its sources at 002032ee, 055e47c2, 27873cab, 00153c8b and 0100a212; none of it is
 * assumed.)
 * @throws C3Error that names the role, if it does not answer at all (without retries if nothing
 *   listens at its addresses), or if its servers tokenize one prompt differently;
 *   C3Error('budget'); CancelledError
 */
export async function probeEndpoint(
  client: EndpointClient,
  settings: {
    readonly role: string;
    readonly api: EndpointApi;
    readonly model: string;
    readonly stream: boolean;
    /** Opens the endpoint's line, if it has one. */
    readonly place?: ErrorAction | undefined;
  },
  signal: AbortSignal,
): Promise<EndpointProbe> {
  const { role, api, place: action } = settings;
  const context =
    api === 'chat'
      ? writeMessagesContext({ system: '', user: '', messages: [{ role: 'user', content: QUESTION }] })
      : QUESTION;
  const replies: Reply[] = [];
  const ask: Ask = async (form, seed, attempt, sampling = SAMPLING) => {
    const reply = await client.ask(
      `probe ${String(seed)} ${attempt}`,
      buildRequestBody(settings, form, context, sampling, seed),
      computeHighestCost(context, sampling.maxNewTokens),
      // After its first answer the endpoint is known to exist, so an address that cannot be reached
      // may be busy.
      { signal, firstRefusal: replies.length === 0 },
    );
    replies.push(reply);
    return reply;
  };
  try {
    const known = await findForm(ask);
    const { form, reply } = api === 'completions' ? await withLikeliest(known, ask) : known;
    const seeds = await probeSeeds(form, ask);
    const logprobs = form.logprobs && reply.logprobs !== null;
    const ids = new Set(replies.flatMap(({ promptTokens }) => (promptTokens === null ? [] : [promptTokens.join()])));
    if (ids.size > 1) {
      throw new C3Error(
        'input',
        `The endpoint of the role ${role} reads one prompt as different tokens; give addresses whose servers have one tokenizer and one chat template.`,
        { action },
      );
    }
    return {
      seeds,
      logprobs,
      ...(api === 'completions' && { likeliest: form.likeliest ?? 0 }),
      ...(logprobs && { logprobs_at: probeTemperature(await ask(form, null, ATTEMPTS, COLD), replies) }),
      token_ids: form.token_ids && reply.tokens !== null,
      length_key: form.length_key,
      neutral: form.neutral ?? false,
      served_as: reply.model,
    };
  } catch (error) {
    if (error instanceof Unanswered) {
      throw new C3Error(
        'engine',
        `The endpoint of the role ${role} does not answer: ${error.message}; try again later.`,
        { cause: error, action },
      );
    }
    throw error instanceof EndpointFailure ? refusedError(role, error, action) : error;
  }
}

type Ask = (form: EndpointForm, seed: number | null, attempt: number, sampling?: Sampling) => Promise<Reply>;
interface KnownForm {
  readonly form: EndpointForm;
  readonly reply: Reply;
}

async function findForm(ask: Ask): Promise<KnownForm> {
  let last: unknown;
  for (const [attempt, form] of FORMS.entries()) {
    try {
      return { form, reply: await ask(form, null, attempt) };
    } catch (error) {
      if (!isRefusedForm(error)) {
        throw error;
      }
      last = error;
    }
  }
  throw last;
}

/** Tries to request one further token, for servers that take 0 to mean no log-probabilities. */
async function withLikeliest({ form, reply }: KnownForm, ask: Ask): Promise<KnownForm> {
  if (!form.logprobs || reply.logprobs !== null) {
    return { form, reply };
  }
  const other = { ...form, likeliest: 1 } as const;
  try {
    return { form: other, reply: await ask(other, null, FORMS.length) };
  } catch (error) {
    if (isRefusedForm(error)) {
      return { form, reply };
    }
    throw error;
  }
}

/** The number of requests without a seed before the last one. */
const ATTEMPTS = FORMS.length + 1;
/** The most requests of a probe. */
export const MOST_PROBES = ATTEMPTS + 1 + 3 * SEEDS.length + OTHERS;

/** The most requests to a server that may have one API or the other. */
export const MOST_DISCOVERIES = FORMS.length + MOST_PROBES;

/** Returns true if a probe failed because the server has no such API, or none for the model. */
export const isApiMissing = (error: unknown): boolean =>
  error instanceof C3Error &&
  error.cause instanceof EndpointFailure &&
  (isRefusedForm(error.cause) || error.cause.status === 404 || error.cause.status === 405);

const isRefusedForm = (error: unknown): boolean =>
  error instanceof EndpointFailure && (error.status === 400 || error.status === 422);

const makeAnswerKey = ({ text, finish }: Reply): string => JSON.stringify([text, finish]);

/** Finds out if seeds determine answers, alone and beside other requests in a batch. */
async function probeSeeds(form: EndpointForm, ask: Ask): Promise<EndpointProbe['seeds']> {
  const ofSeed = async (seed: number): Promise<readonly string[] | null> => {
    try {
      return (await Promise.all([ask(form, seed, 0), ask(form, seed, 1)])).map(makeAnswerKey);
    } catch (error) {
      // A server that refuses the key `seed` has no seeds.
      if (isRefusedForm(error)) {
        return null;
      }
      throw error;
    }
  };
  const answers = await Promise.all(SEEDS.map(ofSeed));
  if (answers.some((pair) => pair === null || pair[0] !== pair[1])) {
    return 'none';
  }
  // Equal answers to all seeds do not show that a seed has any effect.
  if (new Set(answers.map((pair) => pair?.[0])).size < 2) {
    return 'unknown';
  }
  const again = SEEDS.map((seed) => ask(form, seed, 2));
  // Every other request has no seed, because programs beside this one may use none. Their answers
  // do not matter.
  const others = Array.from({ length: OTHERS }, (_, index) => ask(form, index % 2 === 0 ? null : 100 + index, 2));
  const [beside] = await Promise.all([Promise.all(again), Promise.allSettled(others)]);
  return beside.every((reply, index) => makeAnswerKey(reply) === answers[index]?.[0]) ? 'exact' : 'none';
}

/**
 * Returns the temperature of log-probabilities. Tokens that are sampled near 0 are almost certain
 * in the distribution that they are drawn from, but not at temperature 1. Medians are compared
 * because two tokens may be equally likely.
 * @param cold an answer that was sampled near 0
 * @param warm answers that were sampled at 1
 */
function probeTemperature(cold: Reply, warm: readonly Reply[]): 'sampling' | 'one' | 'unknown' {
  const near = findMedian(cold.logprobs ?? []);
  const far = findMedian(warm.filter((reply) => reply !== cold).flatMap(({ logprobs }) => logprobs ?? []));
  if (near === null || far === null || far > UNCERTAIN) {
    // If the model is also certain at 1, the two cannot be told apart.
    return 'unknown';
  }
  return near > CERTAIN ? 'sampling' : near < UNCERTAIN ? 'one' : 'unknown';
}

function findMedian(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}
