/** Policies, which answer the requests of roles. */

import type { FinishReason, Sampling } from '../domain/message.ts';
import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { Completion } from '../runtime/generate/generate.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import { onAbort } from '../shared/cancellation.ts';
import type { ServerCost } from '../shared/endpointCost.ts';
import { C3Error } from '../shared/errors.ts';
import type { Held } from '../shared/holds.ts';
import type { PromptMessage } from '../team/render.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface PolicyRequest {
  /** The role that speaks, because a role may have an adapter of its own. */
  readonly role: string;
  /** The exact text of the model input. */
  readonly context: string;
  /**
   * The messages behind the context, for policies that take messages. Missing if a stored context
   * is executed again, which only policies that read its bytes do.
   */
  readonly messages?: readonly PromptMessage[];
  readonly sampling: Sampling;
  /** The stream of random numbers, as 32 hex digits. Empty for a policy without seeds. */
  readonly streamKey: string;
  /** A description of the request for messages, such as `the actor for the problem x`. */
  readonly place?: string;
  /** The question of the problem, for policies that do not read the context's bytes. */
  readonly question?: string;
  /** The number of earlier messages of the same role in the episode. */
  readonly turn?: number;
}

/** A message that a person typed in place of a role's own. */
export interface TypedRequest {
  readonly role: string;
  readonly context: string;
  readonly text: string;
  /** The temperature for its log-probabilities. 0 counts as 1. */
  readonly temperature: number;
}

export interface PolicyAnswer {
  readonly text: string;
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  /** Behavior log-probabilities: full softmax at the sampling temperature. */
  readonly logprobs: Float32Array;
  readonly finish: FinishReason;
  /**
   * The number of tokens that were not computed again: those of the prompt, or of both prompt and
   * answer if an equal request already had the answer.
   */
  readonly reusedTokens: number;
  /** The reason for a missing message if a server gave none. Its episode is masked. */
  readonly lost?: string;
  /** True if the message is withheld for its content, so that asking again does not help. */
  readonly withheld?: boolean;
}

export interface PolicyControl {
  readonly signal: AbortSignal;
  readonly onAnswer?: (index: number, answer: PolicyAnswer) => void;
  /** Receives what a server charges for a request. */
  readonly onCharge?: ((cost: ServerCost) => void) | undefined;
}

/** Answers the requests of a role. */
export interface RolePolicy {
  /** False if its answers do not depend on their stream keys, so that they cannot be reproduced. */
  readonly seeded?: boolean;
  /**
   * Returns answers in the order of the requests. The same request always gets the same answer,
   * whatever other requests are in the list.
   */
  answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]>;
  /** Returns the tokens of a typed message and the log-probabilities that the policy gives them. */
  typed(request: TypedRequest, control: PolicyControl): Promise<PolicyAnswer>;
}

/** Answers the requests of a whole team. */
export interface Policy extends RolePolicy {
  readonly snapshot: string;
  readonly environment: NumericEnvironment;
  /** True if an answer depends on its stream key, so that it can be reproduced. */
  readonly seeded: boolean;
  /** The same for one role. Missing if `seeded` holds for all. */
  readonly seededFor?: (role: string) => boolean;
}

/** The error for a policy whose weights or model are gone or have changed. */
export class PolicyGone extends C3Error {
  constructor(why: string) {
    super('model', why);
  }

  /** Awaits a promise and rewords the message of a PolicyGone error. */
  static async inWords<Result>(taking: Promise<Result>, words: (why: string) => string): Promise<Result> {
    try {
      return await taking;
    } catch (error) {
      throw error instanceof PolicyGone ? new PolicyGone(words(error.message)) : error;
    }
  }
}

/**
 * Returns the policy of a snapshot until it is disposed of.
 * @throws PolicyGone if it is not available
 */
export type PolicySource = (snapshot: string) => Promise<Held<{ readonly policy: Policy }>>;

/** Returns true if the answers of a role can be reproduced from their stream keys. */
export const hasSeeds = ({ seeded, seededFor }: Pick<Policy, 'seeded' | 'seededFor'>, role: string): boolean =>
  seededFor?.(role) ?? seeded;

/**
 * Checks that a context and its answer fit into the model's positions. A context is never cut,
 * because its score would belong to another context.
 * @throws C3Error('input') if they do not fit
 */
export function checkPositions(contextTokens: number, maxNewTokens: number, maxPositions: number, place: string): void {
  if (contextTokens + maxNewTokens <= maxPositions) {
    return;
  }
  throw new C3Error(
    'input',
    `The context of ${place} has ${contextTokens} tokens and its answer may have ${maxNewTokens}, together more than the model's ${maxPositions} positions; lower max_new_tokens, or shorten prompts and questions.`,
  );
}

/** A snapshot of a model on the local runtime. */
export class LocalPolicy implements Policy {
  readonly snapshot: string;
  readonly environment: NumericEnvironment;
  readonly seeded = true;
  private readonly runtime: ModelRuntime;
  private readonly tokenizer: Tokenizer;
  private readonly maxPositions: number;

  /** @param maxPositions of the model, the limit for a context and its answer together */
  constructor(runtime: ModelRuntime, tokenizer: Tokenizer, snapshot: string, maxPositions = Infinity) {
    this.runtime = runtime;
    this.tokenizer = tokenizer;
    this.maxPositions = maxPositions;
    this.snapshot = snapshot;
    this.environment = runtime.environment;
  }

  async answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    const prompts = await this.encodeAll(requests.map(({ context }) => context));
    for (const [index, { sampling, place = `request ${index}` }] of requests.entries()) {
      checkPositions(prompts[index]?.length ?? 0, sampling.maxNewTokens, this.maxPositions, place);
    }
    const answers: PolicyAnswer[] = [];
    const arrive = (index: number, text: string, { tokens, logprobs, finish, reusedTokens }: Completion): void => {
      const answer = { text, prompt: prompts[index] ?? new Int32Array(), tokens, logprobs, finish, reusedTokens };
      answers[index] = answer;
      control.onAnswer?.(index, answer);
    };
    // Texts that are decoded in another process, in the order of their completions.
    const decoding: Promise<void>[] = [];
    const own = new AbortController();
    const release = onAbort(control.signal, () => own.abort());
    const { endToken, otherEndTokens } = this.tokenizer;
    try {
      await this.runtime.generate(
        this.snapshot,
        requests.map(({ role, sampling, streamKey }, index) => ({
          ...sampling,
          role,
          prompt: prompts[index] ?? new Int32Array(),
          endToken,
          otherEndTokens,
          streamKey,
        })),
        {
          signal: own.signal,
          onCompletion: (index, completion) => {
            const text = this.tokenizer.decode(completion.tokens);
            if (typeof text === 'string') {
              arrive(index, text, completion);
              return;
            }
            const decoded = text.then((found) => arrive(index, found, completion));
            // The error also reaches the caller that awaits all of them.
            decoded.catch(() => own.abort());
            decoding.push(decoded);
          },
        },
      );
    } catch (error) {
      // Completions before a cancel still arrive. A text that cannot be decoded is the cause that
      // ended the rest.
      const lost = (await Promise.allSettled(decoding)).find((one) => one.status === 'rejected');
      throw lost !== undefined && !control.signal.aborted ? lost.reason : error;
    } finally {
      release();
    }
    await Promise.all(decoding);
    return answers;
  }

  async typed({ role, context, text, temperature }: TypedRequest, control: PolicyControl): Promise<PolicyAnswer> {
    const [prompt, message] = await Promise.all([this.tokenizer.encode(context), this.tokenizer.encode(text)]);
    const tokens = Int32Array.from([...message, this.tokenizer.endToken]);
    const unused = new Float32Array(tokens.length);
    const messages = [{ tokens, behaviour: unused, reference: unused, advantages: unused }];
    const scored = await this.runtime.score(
      this.snapshot,
      [{ role, prompt, messages }],
      temperature === 0 ? 1 : temperature,
      control.signal,
    );
    return { text, prompt, tokens, logprobs: scored[0]?.[0] ?? unused, finish: 'typed', reusedTokens: 0 };
  }

  /** Encodes each distinct context once. */
  private encodeAll(contexts: readonly string[]): Promise<Int32Array[]> {
    const known = new Map<string, Promise<Int32Array>>();
    const encode = async (context: string): Promise<Int32Array> => this.tokenizer.encode(context);
    return Promise.all(
      contexts.map((context) => {
        const ids = known.get(context) ?? encode(context);
        known.set(context, ids);
        return ids;
      }),
    );
  }
}
