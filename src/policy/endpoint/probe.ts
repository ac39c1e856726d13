/** What an endpoint can do, found out by asking it: nothing of it is assumed. */
import { C3Error } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { refusedError, type EndpointClient } from './client.ts';
import { bodyOf, messagesContext, mostOf, type EndpointForm, type EndpointProbe } from './endpointPolicy.ts';
import { EndpointFailure, Unanswered } from './failure.ts';
import type { Reply } from './reply.ts';

const QUESTION = 'Write a few words that nobody expects.';
const SAMPLING = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 16 };
/** Each is asked twice. */
const SEEDS = [11, 12, 13];

/** From what says most to what every server understands. */
const FORMS: readonly EndpointForm[] = [
  { logprobs: true, token_ids: true, length_key: 'max_tokens', neutral: true },
  { logprobs: true, token_ids: true, length_key: 'max_tokens' },
  { logprobs: true, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_tokens' },
  { logprobs: false, token_ids: false, length_key: 'max_completion_tokens' },
];

/**
 * Asks an endpoint which keys it knows, and whether equal seeds give equal answers.
 * @throws C3Error naming the role, where it does not answer at all; C3Error('budget'); CancelledError
 */
export async function probeEndpoint(
  client: EndpointClient,
  settings: { readonly role: string; readonly api: EndpointApi; readonly model: string; readonly stream: boolean },
  signal: AbortSignal,
): Promise<EndpointProbe> {
  const { role, api } = settings;
  const context =
    api === 'chat'
      ? messagesContext({ system: '', user: '', messages: [{ role: 'user', content: QUESTION }] })
      : QUESTION;
  const ask = (form: EndpointForm, seed: number | null, attempt: number): Promise<Reply> =>
    client.ask(
      `probe ${String(seed)} ${String(attempt)}`,
      bodyOf(settings, form, context, SAMPLING, seed),
      mostOf(context, SAMPLING.maxNewTokens),
      signal,
    );
  try {
    const { form, reply } = await knownForm(ask);
    const answers = await Promise.all(
      SEEDS.map((seed) =>
        Promise.all([ask(form, seed, 0), ask(form, seed, 1)]).catch((error: unknown) => {
          // A server that refuses the key `seed` takes none.
          if (isRefusedForm(error)) {
            return null;
          }
          throw error;
        }),
      ),
    );
    return {
      seeds: seedsOf(answers),
      logprobs: form.logprobs && reply.logprobs !== null,
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
        { cause: error },
      );
    }
    throw error instanceof EndpointFailure ? refusedError(role, error) : error;
  }
}

async function knownForm(
  ask: (form: EndpointForm, seed: null, attempt: number) => Promise<Reply>,
): Promise<{ readonly form: EndpointForm; readonly reply: Reply }> {
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

/** Requests of a probe at most. */
export const MOST_PROBES = FORMS.length + 2 * SEEDS.length;

const isRefusedForm = (error: unknown): boolean =>
  error instanceof EndpointFailure && (error.status === 400 || error.status === 422);

/** @param answers of each seed; null where it was refused */
function seedsOf(answers: readonly (readonly [Reply, Reply] | null)[]): EndpointProbe['seeds'] {
  const said = ({ text, finish }: Reply): string => JSON.stringify([text, finish]);
  if (answers.some((pair) => pair === null || said(pair[0]) !== said(pair[1]))) {
    return 'none';
  }
  const texts = new Set(answers.flatMap((pair) => (pair === null ? [] : [said(pair[0])])));
  // Equal answers to all seeds do not show that a seed has any effect.
  return texts.size > 1 ? 'exact' : 'unknown';
}
