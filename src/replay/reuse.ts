/**
 * Reuses results that are determined already. Equal requests (context, stream, sampling, role) get
 * the same answer bit for bit, and equal messages in the same place of the same problem get the
 * same score. The first of equal ones is paid for, and the others take its result. Every sample
 * still has a row of its own.
 */

import type { Problem } from '../domain/problem.ts';
import type { Evaluator, Graded } from '../evaluate/evaluator.ts';
import type { PolicyAnswer, PolicyRequest } from '../policy/policy.ts';
import type { EpisodeCost } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import { countScoresThrough } from '../team/rounds.ts';

/**
 * Returns for every request the index of the first equal one, or its own index. A greedy answer
 * draws no random numbers, so its stream does not matter. Without a stream (a policy without seeds)
 * no answer determines another.
 * @param requests of one policy, all with the same sampling
 */
export function findFirstEquals(requests: readonly PolicyRequest[]): number[] {
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

/** Returns the answer of an equal request, with prompt and answer counted as reused. */
export const reusedAnswer = (answer: PolicyAnswer): PolicyAnswer => ({
  ...answer,
  reusedTokens: answer.prompt.length + answer.tokens.length,
});

/**
 * Returns true if an answer was taken from an equal request. A shared prompt is reused at most in
 * full, and no answer is empty.
 */
export const isReusedAnswer = ({ prompt, reusedTokens }: Pick<PolicyAnswer, 'prompt' | 'reusedTokens'>): boolean =>
  reusedTokens > prompt.length;

/** The parts of a message at a scored position that determine its score. */
export interface ScoredMessage {
  readonly problem: Problem;
  readonly position: number;
  readonly contextKey: string;
  readonly text: string;
}

/** The evaluations of one piece of work. Masked results are not reused. */
export class ScoreBook {
  private readonly known = new Map<string, Promise<Graded>>();

  /**
   * Returns the score of a message, or that of an equal one if it was requested already.
   * @throws the errors of the evaluator, such as CancelledError
   */
  async score(
    evaluator: Evaluator,
    message: ScoredMessage,
    signal?: AbortSignal,
  ): Promise<{ readonly graded: Graded; readonly reused: boolean }> {
    const evaluate = (): Promise<Graded> => evaluator.evaluate(message.problem, message.text, signal);
    const name = makeScoreKey(message);
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

/** Returns a key that is the same for equal messages. */
export const makeScoreKey = ({ problem, position, contextKey, text }: ScoredMessage): string =>
  `${problem.uidSha} ${position} ${contextKey} ${text}`;

/**
 * Counts reused evaluations from the rows: the scored messages of each episode up to its leaf,
 * minus its calls.
 * @param origin null for the run's own
 */
export function countReused(costs: readonly EpisodeCost[], origin: EpisodeCost['origin'], protocol: Protocol): number {
  return costs.reduce((total, cost) => {
    if (cost.origin !== origin) {
      return total;
    }
    const scored = countScoresThrough(protocol, cost.position);
    // Imported episodes may name more calls than they need.
    return total + Math.max(0, scored * cost.episodes - cost.evaluatorCalls);
  }, 0);
}
