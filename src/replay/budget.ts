/** Counts the budgets and the cost of a run. */

import type { Ledger, Tokens } from '../domain/run.ts';
import type { PolicyAnswer } from '../policy/policy.ts';
import { C3Error } from '../shared/errors.ts';
import { isReusedAnswer } from './reuse.ts';

/**
 * The evaluator calls that may still be requested, even if their results are reused. Work beyond
 * the limit is refused before it starts.
 */
export class EvaluatorBudget {
  readonly limit: number;
  private reserved = 0;
  private spent = 0;

  /** @param limit evaluator calls; Infinity only counts them */
  constructor(limit: number) {
    this.limit = limit;
  }

  get calls(): number {
    return this.spent;
  }

  /**
   * Checks that more calls fit. Books nothing.
   * @throws C3Error('budget') if this many more calls would exceed the limit
   */
  check(calls: number): void {
    if (this.reserved + calls > this.limit) {
      throw new C3Error(
        'budget',
        `The evaluator budget allows ${this.limit} calls: ${this.reserved} are booked and ${calls} more were asked for; raise evaluator_budget or lower the fan-out.`,
      );
    }
  }

  /**
   * Books calls that are about to be made.
   * @throws C3Error('budget') if they exceed the limit; nothing is booked then
   */
  reserve(calls: number): void {
    this.check(calls);
    this.reserved += calls;
  }

  /**
   * Counts booked calls as made.
   * @throws C3Error('budget') if they were not booked
   */
  spend(calls: number): void {
    if (this.spent + calls > this.reserved) {
      throw new C3Error('budget', 'An evaluator call was made that had not been booked; report this as a bug.');
    }
    this.spent += calls;
  }

  /** Releases calls that were booked and counted but not made, so that others may use them. */
  release(calls: number): void {
    this.reserved -= calls;
    this.spent -= calls;
  }
}

/** Adds up the cost of a run. */
export class LedgerCounter {
  private evaluatorCalls = 0;
  private reusedEvaluations = 0;
  private voteCalls = 0;
  private tokens: Required<Tokens> = { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 };
  private readonly spoken = new Map<string, number>();
  private readonly clock: () => number;
  private readonly started: number;

  /** @param clock returns seconds */
  constructor(clock: () => number) {
    this.clock = clock;
    this.started = clock();
  }

  /** Adds a message. A reused answer counts only with its tokens, separately. */
  addMessage(role: string, answer: PolicyAnswer): void {
    const { prompt, reused, completion, reusedCompletion } = this.tokens;
    this.tokens = isReusedAnswer(answer)
      ? { ...this.tokens, reusedCompletion: reusedCompletion + answer.tokens.length }
      : {
          prompt: prompt + answer.prompt.length,
          reused: reused + answer.reusedTokens,
          completion: completion + answer.tokens.length,
          reusedCompletion,
        };
    this.spoken.set(role, (this.spoken.get(role) ?? 0) + 1);
  }

  addCalls(calls: number): void {
    this.evaluatorCalls += calls;
  }

  /** Adds calls that scored the answers of votes by themselves. */
  addVoteCalls(calls: number): void {
    this.evaluatorCalls += calls;
    this.voteCalls += calls;
  }

  addReusedEvaluations(count: number): void {
    this.reusedEvaluations += count;
  }

  read(): Ledger {
    return {
      evaluatorCalls: this.evaluatorCalls,
      reusedEvaluations: this.reusedEvaluations,
      ...(this.voteCalls > 0 && { voteCalls: this.voteCalls }),
      tokens: this.tokens,
      decisions: Object.fromEntries(this.spoken),
      seconds: this.clock() - this.started,
    };
  }
}
