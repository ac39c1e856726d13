/** Budgets and the running cost of a run. */
import type { Ledger, Tokens } from '../domain/run.ts';
import type { PolicyAnswer } from '../policy/policy.ts';
import { C3Error } from '../shared/errors.ts';
import { isReusedAnswer } from './reuse.ts';

/**
 * Evaluator calls that may still be asked for, whether they are made or known from an equal one. Work that would go
 * beyond is refused before it starts.
 */
export class EvaluatorBudget {
  readonly limit: number;
  private reserved = 0;
  private spent = 0;

  /** @param limit evaluator calls; Infinity where only counting is wanted */
  constructor(limit: number) {
    this.limit = limit;
  }

  get calls(): number {
    return this.spent;
  }

  /** @throws C3Error('budget') when this many more calls would exceed the limit; nothing is booked */
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
   * @throws C3Error('budget') when they exceed the limit; nothing is booked then
   */
  reserve(calls: number): void {
    this.check(calls);
    this.reserved += calls;
  }

  /** Counts a call that was booked. @throws C3Error('budget') for one that was not */
  spend(calls: number): void {
    if (this.spent + calls > this.reserved) {
      throw new C3Error('budget', 'An evaluator call was made that had not been booked; report this as a bug.');
    }
    this.spent += calls;
  }

  /** Gives back calls that were booked and counted, and not made: others may be made in their place. */
  release(calls: number): void {
    this.reserved -= calls;
    this.spent -= calls;
  }
}

/** Adds up what a run costs. */
export class LedgerCounter {
  private evaluatorCalls = 0;
  private reusedEvaluations = 0;
  private voteCalls = 0;
  private tokens: Required<Tokens> = { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 };
  private readonly spoken = new Map<string, number>();
  private readonly clock: () => number;
  private readonly started: number;

  /** @param clock seconds */
  constructor(clock: () => number) {
    this.clock = clock;
    this.started = clock();
  }

  /** Of an answer that was taken from an equal request only its tokens are counted, apart. */
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

  /** Calls that scored answers of votes by themselves. */
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
