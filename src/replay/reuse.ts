/**
 * Results that are determined already. The same request (context, stream, sampling, speaker) gets the same answer, bit
 * for bit, and an equal message in the same place of the same problem the same score: the first of equals is paid for,
 * the others take its result. Every sample keeps its row all the same.
 */
import type { Problem } from '../domain/problem.ts';
import type { Evaluator, Graded } from '../evaluate/evaluator.ts';
import type { PolicyAnswer, PolicyRequest } from '../policy/policy.ts';
import type { EpisodeCost } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import { scoredThrough } from '../team/rounds.ts';

/**
 * For every request the index of the first that is equal to it; its own where there is none. A greedy answer draws
 * nothing, so its stream does not count. Without a stream (a policy that takes no seeds) no answer is determined by
 * another.
 * @param requests of one policy, all with the same sampling
 */
export function firstEquals(requests: readonly PolicyRequest[]): number[] {
  const contexts = new Map<string, Map<string, number>>();
  return requests.map(({ role, context, sampling, streamKey }, index) => {
    if (streamKey === '') {
      return index;
    }
    const known = contexts.get(context) ?? new Map<string, number>();
    contexts.set(context, known);
    const name = `${sampling.temperature === 0 ? 'greedy' : streamKey} ${role}`;
    const first = known.get(name) ?? index;
    known.set(name, first);
    return first;
  });
}

/** The answer of an equal request, with nothing computed for it: neither its prompt nor itself. */
export const reusedAnswer = (answer: PolicyAnswer): PolicyAnswer => ({
  ...answer,
  reusedTokens: answer.prompt.length + answer.tokens.length,
});

/**
 * Whether an answer was taken from an equal request. A prompt that others share is reused at most in full, and no
 * answer is empty.
 */
export const isReusedAnswer = ({ prompt, reusedTokens }: Pick<PolicyAnswer, 'prompt' | 'reusedTokens'>): boolean =>
  reusedTokens > prompt.length;

/** A message at a scored position, as far as its score depends on it. */
export interface ScoredMessage {
  readonly problem: Problem;
  readonly position: number;
  readonly contextKey: string;
  readonly text: string;
}

/**
 * What was evaluated in one piece of work. A masked result is not determined: an equal message is evaluated by itself.
 */
export class ScoreBook {
  private readonly known = new Map<string, Promise<Graded>>();

  /**
   * The score of a message, from an equal one where that has been asked for.
   * @throws what the evaluator throws, as CancelledError
   */
  async score(
    evaluator: Evaluator,
    message: ScoredMessage,
    signal?: AbortSignal,
  ): Promise<{ readonly graded: Graded; readonly reused: boolean }> {
    const evaluate = (): Promise<Graded> => evaluator.evaluate(message.problem, message.text, signal);
    const name = nameOf(message);
    const known = this.known.get(name);
    if (known === undefined) {
      const own = evaluate();
      this.known.set(name, own);
      return { graded: await own, reused: false };
    }
    const graded = await known;
    return graded.score === null ? { graded: await evaluate(), reused: false } : { graded, reused: true };
  }
}

/** Names equal messages alike. */
export const nameOf = ({ problem, position, contextKey, text }: ScoredMessage): string =>
  `${problem.uidSha} ${position} ${contextKey} ${text}`;

/**
 * Evaluations whose result was reused, from the rows: an episode has one call for each scored message up to its leaf,
 * less those that were reused.
 * @param origin null: the run's own
 */
export function countReused(costs: readonly EpisodeCost[], origin: EpisodeCost['origin'], protocol: Protocol): number {
  return costs.reduce((total, cost) => {
    if (cost.origin !== origin) {
      return total;
    }
    const scored = scoredThrough(protocol, cost.position);
    // What was imported may name more calls than its episodes need.
    return total + Math.max(0, scored * cost.episodes - cost.evaluatorCalls);
  }, 0);
}
