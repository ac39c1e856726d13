/** The policy of a role that a server answers over an OpenAI-compatible API. */

import { z } from 'zod';
import type { Sampling } from '../../domain/message.ts';
import { withController } from '../../shared/cancellation.ts';
import { CancelledError, type ErrorAction } from '../../shared/errors.ts';
import type { EndpointApi } from '../../shared/rolePolicies.ts';
import { toPromptMessages, type RenderedContext } from '../../team/render.ts';
import type { PolicyAnswer, PolicyControl, PolicyRequest, RolePolicy, TypedRequest } from '../policy.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { refusedError, type AskControl, type EndpointClient } from './client.ts';
import { EndpointFailure, Unanswered } from './failure.ts';
import type { Reply } from './reply.ts';
import type { TokenCount } from './spending.ts';

/** The findings of an endpoint's probe, which a run stores. */
export const probeSchema = z.object({
  /**
   * exact: equal seeds gave equal answers, and other seeds gave others; none: they did not; unknown:
   * all answers were equal.
   */
  seeds: z.enum(['exact', 'none', 'unknown']),
  /** True if requests may ask for log-probabilities. */
  logprobs: z.boolean(),
  /** Further tokens with log-probabilities in completions. Missing in older runs: 1. */
  likeliest: z.union([z.literal(0), z.literal(1)]).optional(),
  /**
   * The temperature of log-probabilities. sampling: that of the request, as in SGLang, and in vLLM
   * if it is started with `--logprobs-mode processed_logprobs`; one: always 1, as in vLLM by
   * default; unknown: also in older runs. Log-probabilities at 1 cannot be converted to another
   * temperature from the sampled token alone.
   */
  logprobs_at: z.enum(['sampling', 'one', 'unknown']).optional(),
  token_ids: z.boolean(),
  length_key: z.enum(['max_tokens', 'max_completion_tokens']),
  /** True if requests set every sampling key, even to a neutral value. Missing in older runs. */
  neutral: z.boolean().optional(),
  /** The server's name for the model that answered, or null. */
  served_as: z.string().nullable(),
});
export type EndpointProbe = z.infer<typeof probeSchema>;

export type EndpointForm = Pick<EndpointProbe, 'logprobs' | 'likeliest' | 'token_ids' | 'length_key' | 'neutral'>;

const messageSchema = z.looseObject({ role: z.string(), content: z.unknown() });
/** The context of a chat: its messages, or a program's request, which may also have tools. */
const chatSchema = z.union([
  z
    .array(messageSchema)
    .min(1)
    .transform((messages) => ({ messages })),
  z.looseObject({ messages: z.array(messageSchema).min(1) }),
]);

/** Returns the context of a role that is asked by messages, as JSON that can be read back. */
export const writeMessagesContext = (context: RenderedContext): string =>
  JSON.stringify(toPromptMessages(context), null, 1);

/** Upper limits of the tokens that a server's template adds to a prompt and a message. */
const OVERHEAD = 64;
const OVERHEAD_OF_MESSAGE = 16;

/** Returns the most that one attempt can cost. A text has no more tokens than bytes. */
export const computeHighestCost = (context: string, maxNewTokens: number): TokenCount => ({
  prompt: Buffer.byteLength(context) + OVERHEAD + OVERHEAD_OF_MESSAGE * (context.match(/"role"/gu)?.length ?? 0),
  completion: maxNewTokens,
});

/** Returns 31 bits of a stream's name. Every server with seeds accepts them. */
export const toSeed = (streamKey: string): number => Number.parseInt(streamKey.slice(0, 8), 16) >>> 1;

/**
 * Sampling keys with neutral values. For missing keys, servers of open models use the model's
 * generation_config.json or their own defaults, so the sampling would not be what the run says.
 * (vLLM at 002032ee: `to_sampling_params` of entrypoints/openai/completion/protocol.py, and
 * `get_diff_sampling_param` of config/model.py.)
 */
const NEUTRAL = { top_k: -1, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 } as const;

/**
 * Returns the body of a request.
 * @param seed null for none
 */
export function buildRequestBody(
  { api, model, stream }: { readonly api: EndpointApi; readonly model: string; readonly stream: boolean },
  { logprobs, likeliest = 1, token_ids: tokenIds, length_key: lengthKey, neutral = false }: EndpointForm,
  context: string,
  { temperature, topP, topK, maxNewTokens }: Sampling,
  seed: number | null,
): Readonly<Record<string, unknown>> {
  const chat = api === 'chat';
  return {
    model,
    ...(chat
      ? chatSchema.parse(JSON.parse(context))
      : { prompt: context, ...(tokenIds && { add_special_tokens: false }) }),
    [chat ? lengthKey : 'max_tokens']: maxNewTokens,
    temperature,
    top_p: topP,
    ...(neutral && NEUTRAL),
    ...(topK > 0 && { top_k: topK }),
    ...(seed !== null && { seed }),
    ...(logprobs && { logprobs: chat ? true : likeliest }),
    ...(tokenIds && { return_token_ids: true }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

export interface EndpointPolicySettings {
  readonly role: string;
  readonly client: EndpointClient;
  readonly api: EndpointApi;
  readonly model: string;
  readonly stream: boolean;
  readonly probe: EndpointProbe;
  /** Opens the endpoint's line, if it has one. */
  readonly place?: ErrorAction | undefined;
  /** The run's own tokenizer, for answers without token ids or with another vocabulary. */
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>;
}

export class EndpointPolicy implements RolePolicy {
  readonly seeded: boolean;
  private readonly settings: EndpointPolicySettings;

  constructor(settings: EndpointPolicySettings) {
    this.settings = settings;
    this.seeded = settings.probe.seeds === 'exact';
  }

  /**
   * Requests all answers at once, within the endpoint's limits. An answer that cannot be had is
   * lost, and its episode is masked.
   * @throws C3Error if the endpoint refuses, or the spending limit is reached; CancelledError
   */
  answer(requests: readonly PolicyRequest[], { signal, onAnswer, onCharge }: PolicyControl): Promise<PolicyAnswer[]> {
    return withController(signal, async (controller) => {
      const asked = requests.map(async (request, index) => {
        try {
          const answer = await this.ask(request, index, { signal: controller.signal, onCharge });
          onAnswer?.(index, answer);
          return answer;
        } catch (error) {
          controller.abort();
          throw error;
        }
      });
      const settled = await Promise.allSettled(asked);
      // The first error is the cause, not the cancellations that it led to.
      const first = settled.findIndex((one) => one.status === 'rejected' && !(one.reason instanceof CancelledError));
      await asked[first];
      return Promise.all(asked);
    });
  }

  async typed({ text }: TypedRequest): Promise<PolicyAnswer> {
    const tokens = await this.settings.tokenizer.encode(text);
    return { text, tokens, finish: 'typed', prompt: new Int32Array(), logprobs: new Float32Array(), reusedTokens: 0 };
  }

  private async ask(request: PolicyRequest, index: number, control: AskControl): Promise<PolicyAnswer> {
    const { client, role, probe, place: action } = this.settings;
    const { context, sampling, streamKey, place = '' } = request;
    const seed = this.seeded && streamKey !== '' ? toSeed(streamKey) : null;
    const body = buildRequestBody(this.settings, probe, context, sampling, seed);
    try {
      const name = `${place} ${streamKey} ${index}`;
      return await this.said(
        await client.ask(name, body, computeHighestCost(context, sampling.maxNewTokens), control),
        request,
      );
    } catch (error) {
      if (error instanceof Unanswered) {
        return lostAnswer(error);
      }
      throw error instanceof EndpointFailure ? refusedError(role, error, action) : error;
    }
  }

  private async said(
    { text: given, tokens, promptTokens, logprobs, finish, usage }: Reply,
    { context, sampling }: PolicyRequest,
  ): Promise<PolicyAnswer> {
    const { tokenizer, probe } = this.settings;
    // Stored text is UTF-8, which has no lone surrogates.
    const text = given.toWellFormed();
    const ids = promptTokens === null || promptTokens.length > MOST_COUNTED ? null : Int32Array.from(promptTokens);
    const prompt = ids ?? new Int32Array(Math.min(usage?.prompt ?? 0, MOST_COUNTED));
    if (tokens !== null && logprobs !== null) {
      const own = Int32Array.from(tokens);
      const same = await Promise.resolve(tokenizer.decode(own)).catch(() => null);
      if (same === text) {
        const isOfSampling = probe.logprobs_at === 'sampling' || sampling.temperature === 1;
        const kept = isOfSampling && (await this.isOwnPrompt(ids, context)) ? logprobs : [];
        return { text, prompt, tokens: own, logprobs: Float32Array.from(kept), finish, reusedTokens: 0 };
      }
    }
    const encoded = await tokenizer.encode(text);
    return { text, prompt, tokens: encoded, logprobs: new Float32Array(), finish, reusedTokens: 0 };
  }

  /**
   * Returns true if the server tokenized a prompt as the run's tokenizer does. Otherwise the
   * log-probabilities have another context. The template of a chat is not known here; the probe
   * compares the tokens of several servers.
   */
  private async isOwnPrompt(ids: Int32Array | null, context: string): Promise<boolean> {
    const { api, tokenizer } = this.settings;
    if (ids === null || api === 'chat') {
      return true;
    }
    const own = await tokenizer.encode(context);
    return own.length === ids.length && own.every((id, index) => id === ids[index]);
  }
}

/** The most prompt tokens of one request that are counted, because a server may report any number. */
const MOST_COUNTED = 2 ** 22;

const lostAnswer = ({ message: lost, withheld }: Unanswered): PolicyAnswer => ({
  text: '',
  prompt: new Int32Array(),
  tokens: new Int32Array(),
  logprobs: new Float32Array(),
  finish: 'length',
  reusedTokens: 0,
  lost,
  ...(withheld && { withheld }),
});
