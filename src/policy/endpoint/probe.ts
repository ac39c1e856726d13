/** What an endpoint can do, found out by asking it: nothing of it is assumed. */
import type { Sampling } from '../../domain/message.ts';
import { C3Error, type ErrorAction } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { refusedError, type EndpointClient } from './client.ts';
import { bodyOf, messagesContext, mostOf, type EndpointForm, type EndpointProbe } from './endpointPolicy.ts';
import { EndpointFailure, Unanswered } from './failure.ts';
import type { Reply } from './reply.ts';

const QUESTION = 'Write a few words that nobody expects.';
const SAMPLING = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 16 };
/** Each is asked twice, and once more beside so many others. */
const SEEDS = [11, 12, 13];
const OTHERS = 32;
/** So near to 0 the sampled token is all but certain, wherever log-probabilities are of this temperature. */
const COLD = { ...SAMPLING, temperature: 0.05 };
/** Log-probabilities, in nats, of what is all but certain, and of what is not. */
const [CERTAIN, UNCERTAIN] = [-0.001, -0.01];

/** From what says most to what every server understands. */
const FORMS: readonly EndpointForm[] = [
  { logprobs: true, likeliest: 0, token_ids: true, length_key: 'max_tokens', neutral: true },
  { logprobs: true, likeliest: 0, token_ids: true, length_key: 'max_tokens' },
  { logprobs: true, likeliest: 0, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_completion_tokens' },
];

/**
 * Asks an endpoint which keys it knows, whether equal seeds give equal answers, also beside other requests, and which
 * temperature its log-probabilities are of. (The forms and quirks of vLLM are those of its sources at 002032ee,
 * 055e47c2, 27873cab, 00153c8b and 0100a212; none of it is assumed.)
 * @throws C3Error naming the role, where it does not answer at all, with no further attempt where nothing listens at
 *   its addresses, or its servers read one prompt as several; C3Error('budget'); CancelledError
 */
export async function probeEndpoint(
  client: EndpointClient,
  settings: {
    readonly role: string;
    readonly api: EndpointApi;
    readonly model: string;
    readonly stream: boolean;
    /** Opens the endpoint's line; where it has none, nothing is opened. */
    readonly place?: ErrorAction | undefined;
  },
  signal: AbortSignal,
): Promise<EndpointProbe> {
  const { role, api, place: action } = settings;
  const context =
    api === 'chat'
      ? messagesContext({ system: '', user: '', messages: [{ role: 'user', content: QUESTION }] })
      : QUESTION;
  const replies: Reply[] = [];
  const ask: Ask = async (form, seed, attempt, sampling = SAMPLING) => {
    const reply = await client.ask(
      `probe ${String(seed)} ${attempt}`,
      bodyOf(settings, form, context, sampling, seed),
      mostOf(context, sampling.maxNewTokens),
      signal,
      // Once it has answered, it is there: what cannot be reached then may be busy.
      replies.length === 0,
    );
    replies.push(reply);
    return reply;
  };
  try {
    const known = await knownForm(ask);
    const { form, reply } = api === 'completions' ? await withLikeliest(known, ask) : known;
    const seeds = await seedsOf(form, ask);
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
      ...(logprobs && { logprobs_at: temperatureOf(await ask(form, null, ATTEMPTS, COLD), replies) }),
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

async function knownForm(ask: Ask): Promise<KnownForm> {
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

/** A form that asks for one further token where a server takes 0 for no log-probabilities. */
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

/** Requests with no seed before the last. */
const ATTEMPTS = FORMS.length + 1;
/** Requests of a probe at most. */
export const MOST_PROBES = ATTEMPTS + 1 + 3 * SEEDS.length + OTHERS;

const isRefusedForm = (error: unknown): boolean =>
  error instanceof EndpointFailure && (error.status === 400 || error.status === 422);

const saidBy = ({ text, finish }: Reply): string => JSON.stringify([text, finish]);

/** Whether seeds decide what is said: alone, and beside others, where some servers sample them together. */
async function seedsOf(form: EndpointForm, ask: Ask): Promise<EndpointProbe['seeds']> {
  const ofSeed = async (seed: number): Promise<readonly string[] | null> => {
    try {
      return (await Promise.all([ask(form, seed, 0), ask(form, seed, 1)])).map(saidBy);
    } catch (error) {
      // A server that refuses the key `seed` takes none.
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
  // Every other one has no seed, as a program beside this one may have none; whether they are answered does not matter.
  const others = Array.from({ length: OTHERS }, (_, index) => ask(form, index % 2 === 0 ? null : 100 + index, 2));
  const [beside] = await Promise.all([Promise.all(again), Promise.allSettled(others)]);
  return beside.every((reply, index) => saidBy(reply) === answers[index]?.[0]) ? 'exact' : 'none';
}

/**
 * The temperature that log-probabilities are of. Sampled near 0, tokens are nearly certain in the distribution that
 * they are drawn from, and are what they were in that of temperature 1. Medians, since two tokens may be as likely.
 * @param cold what was sampled near 0
 * @param warm what was sampled at 1
 */
function temperatureOf(cold: Reply, warm: readonly Reply[]): 'sampling' | 'one' | 'unknown' {
  const near = medianOf(cold.logprobs ?? []);
  const far = medianOf(warm.filter((reply) => reply !== cold).flatMap(({ logprobs }) => logprobs ?? []));
  if (near === null || far === null || far > UNCERTAIN) {
    // Where the model is certain at 1 too, nothing tells them apart.
    return 'unknown';
  }
  return near > CERTAIN ? 'sampling' : near < UNCERTAIN ? 'one' : 'unknown';
}

function medianOf(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}
