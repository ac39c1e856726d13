/** What answers a context. */
import type { FinishReason, Sampling } from '../domain/message.ts';
import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { Completion } from '../runtime/generate/generate.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import { onAbort } from '../shared/cancellation.ts';
import { C3Error } from '../shared/errors.ts';
import type { Held } from '../shared/holds.ts';
import type { PromptMessage } from '../team/render.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface PolicyRequest {
  /** Who speaks: a role may have an adapter of its own. */
  readonly role: string;
  /** The exact text of the model input. */
  readonly context: string;
  /**
   * What the context was written from, for policies that take messages; missing where a stored context is executed
   * again, which only policies that read its bytes do.
   */
  readonly messages?: readonly PromptMessage[];
  readonly sampling: Sampling;
  /**
   * 32 hex digits: the stream of random numbers that this answer draws from. Empty for a policy that takes no seeds.
   */
  readonly streamKey: string;
  /** Whose answer it is, for messages: `the actor for the problem x`. */
  readonly place?: string;
  /** The question of the problem, for policies that do not read the context's bytes. */
  readonly question?: string;
  /** How often the same role spoke before in the episode, from 0. */
  readonly turn?: number;
}

/** A message that somebody typed in a role's place. */
export interface TypedRequest {
  readonly role: string;
  readonly context: string;
  readonly text: string;
  /** At which its log-probabilities are taken; 0 is taken as 1. */
  readonly temperature: number;
}

export interface PolicyAnswer {
  readonly text: string;
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
  /** Behaviour log-probabilities: full softmax at the sampling temperature. */
  readonly logprobs: Float32Array;
  readonly finish: FinishReason;
  /**
   * Tokens that were not computed again: of the prompt, or all of prompt and answer where an equal request had the
   * answer already.
   */
  readonly reusedTokens: number;
  /** Why there is no message, where a server gave none: its episode is masked. */
  readonly lost?: string;
  /** Whether a missing message is withheld for what it is: asking again is no help. */
  readonly withheld?: boolean;
}

export interface PolicyControl {
  readonly signal: AbortSignal;
  readonly onAnswer?: (index: number, answer: PolicyAnswer) => void;
}

/** What answers the requests of a role. */
export interface RolePolicy {
  /** False where its answers do not depend on their stream keys, so that they cannot be had again. */
  readonly seeded?: boolean;
  /** Answers in the order of the requests; the same request always gets the same answer, whatever is beside it. */
  answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]>;
  /** A message that somebody typed: its tokens and what the policy would have given them. */
  typed(request: TypedRequest, control: PolicyControl): Promise<PolicyAnswer>;
}

/** What answers the requests of a whole team. */
export interface Policy extends RolePolicy {
  readonly snapshot: string;
  readonly environment: NumericEnvironment;
  /**
   * Whether an answer depends on its stream key, so that it can be had again; false for an endpoint that takes no
   * seeds.
   */
  readonly seeded: boolean;
  /** The same for one role; missing where it holds for all. */
  readonly seededFor?: (role: string) => boolean;
}

/** Why what answers cannot be had: its weights or its model are gone, or are others than they were. */
export class PolicyGone extends C3Error {
  constructor(why: string) {
    super('model', why);
  }

  /** What a promise gives; where that is gone, why, in other words. */
  static async inWords<Result>(taking: Promise<Result>, words: (why: string) => string): Promise<Result> {
    try {
      return await taking;
    } catch (error) {
      throw error instanceof PolicyGone ? new PolicyGone(words(error.message)) : error;
    }
  }
}

/** Gives the policy of a snapshot until it is disposed of. @throws PolicyGone where it cannot be had */
export type PolicySource = (snapshot: string) => Promise<Held<{ readonly policy: Policy }>>;

/** Whether the answers of a role can be had again by their stream keys. */
export const takesSeeds = ({ seeded, seededFor }: Pick<Policy, 'seeded' | 'seededFor'>, role: string): boolean =>
  seededFor?.(role) ?? seeded;

/**
 * @throws C3Error('input') where a context and its answer do not fit: a context that was cut would be another one, and
 *   what it led to nobody's score
 */
export function checkRoom(contextTokens: number, maxNewTokens: number, maxPositions: number, place: string): void {
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

  /** @param maxPositions of the model: what context and answer together may take */
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
      checkRoom(prompts[index]?.length ?? 0, sampling.maxNewTokens, this.maxPositions, place);
    }
    const answers: PolicyAnswer[] = [];
    const arrive = (index: number, text: string, { tokens, logprobs, finish, reusedTokens }: Completion): void => {
      const answer = { text, prompt: prompts[index] ?? new Int32Array(), tokens, logprobs, finish, reusedTokens };
      answers[index] = answer;
      control.onAnswer?.(index, answer);
    };
    // Texts that are decoded elsewhere, in the order of their completions.
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
            // Whoever waits for all of them hears of it.
            decoded.catch(() => own.abort());
            decoding.push(decoded);
          },
        },
      );
    } catch (error) {
      // What was generated before a cancel still arrives; a text that cannot be decoded is what ended the rest.
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
